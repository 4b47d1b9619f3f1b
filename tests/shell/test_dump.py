#!/usr/bin/env python3
"""stele dump: what is dumped and restored dumps to the same bytes, over databases that the corpus makes and over directories that
older versions saved (tests/fixtures); PostgreSQL takes the same dump and has the same data; every option; errors; interrupted dumps.

usage: test_dump.py [--build DIR]      last line: N passed, N failed
"""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))
import pg  # noqa: E402

from program import Program  # noqa: E402

P = Program("dump")
STELE, DIR, sh, check = P.stele, P.dir, P.sh, P.check
COMPLETE = "--\n-- Stele database dump complete\n--\n\n"
# Statements rich in definitions, and values of all types.
CORPUS = ("ddl/clauses ddl/foreign_keys ddl/generated ddl/comments ddl/indexes ddl/like ddl/matviews ddl/rename_checks ddl/sequences ddl/storage_options ddl/tables ddl/under_views ddl/view_columns ddl/views dml/constraints dml/through_views "
          "ddl/alter_routine types/arrays_tables types/money types/datetime types/floats types/other pl/names pl/routines pl/sql_bodies select/dependencies review_keys").split()


def make(name, sql):
    """A directory made by these statements; those that fail do not matter here."""
    shutil.rmtree(os.path.join(DIR, name), ignore_errors=True)
    return sh(name, "--quiet", stdin=sql)


def difference(x, y):
    return next((f"line {i}: {p!r} / {q!r}" for i, (p, q) in enumerate(zip(x.split("\n"), y.split("\n"))) if p != q), "one is longer")


def round_trip(name, directory):
    """Dumps, restores and dumps again: the first dump, or None."""
    before = P.files(directory)
    rc, dump, err = sh("dump", directory)
    check(f"{name}: dump", rc == 0 and err == "" and dump.endswith(COMPLETE), (rc, err))
    check(f"{name}: the directory is as it was", P.files(directory) == before)
    shutil.rmtree(os.path.join(DIR, "restored"), ignore_errors=True)
    rc, out, err = sh("restored", "--quiet", "-v", "ON_ERROR_STOP=1", stdin=dump)
    out = re.sub(r" +setval *\n-+\n *-?\d+\n\(1 row\)\n\n", "", out)
    check(f"{name}: restore", (rc, out, err) == (0, "", ""), (rc, out, err))
    rc, again, err = sh("dump", "restored")
    check(f"{name}: the same dump", rc == 0 and again == dump, (rc, err, difference(dump, again)))
    return dump


# ---- the corpus ------------------------------------------------------------------------------------------


def statements(path):
    """The statements of a file in sqllogictest format but for those that take tables and views away."""
    out = []
    for record in re.split(r"\n\s*\n", open(path, encoding="utf-8").read()):
        m = re.search(r"^(?:statement|query)[^\n]*\n(.*?)(?:\n----.*)?$", record, re.S | re.M)
        sql = m.group(1).split("\n----")[0].strip() if m else ""
        if sql and not re.match(r"(drop\s+(table|view|sequence)|copy)\b", sql, re.I):
            out.append(sql if sql.endswith(";") else sql + "\n;")
    return "\n".join(out) + "\n"


def corpus(server):
    for name in CORPUS:
        make("corpus", statements(os.path.join(ROOT, "tests", "sql", name + ".test")))
        dump = round_trip(name, "corpus")
        if name.startswith(("types/", "ddl/view", "ddl/foreign", "ddl/sequences", "ddl/generated", "ddl/indexes", "ddl/comments", "ddl/like", "ddl/matviews", "dml/through")):
            in_postgres(name, dump, server)


# ---- PostgreSQL ------------------------------------------------------------------------------------------


def psql(server, *args, stdin=""):
    cmd = [os.path.join(server.bin, "psql"), "-X", "-q", "-h", server.dir, "-U", "postgres", "-v", "ON_ERROR_STOP=1", *args]
    p = subprocess.run(cmd, input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def in_postgres(name, dump, server):
    """PostgreSQL runs the dump, and COPY writes there what the dump has."""
    sql = "set client_min_messages = warning; drop schema public cascade; create schema public;\n" + dump
    rc, out, err = psql(server, "-o", "/dev/null", stdin=sql)
    check(f"{name}: PostgreSQL restores it", (rc, err) == (0, ""), err)
    data = re.findall(r"^COPY ([^\n]*) FROM stdin;\n(.*?)^\\\.$", dump, re.M | re.S)
    rc, out, err = psql(server, stdin="".join(f"copy {target} to stdout;\n\\echo --end\n" for target, _ in data))
    check(f"{name}: PostgreSQL has the same data", rc == 0 and out == "".join(rows + "--end\n" for _, rows in data), err or difference(out, "".join(rows + "--end\n" for _, rows in data)))


# ---- directories of older versions ------------------------------------------------------------------------


def fixtures(server):
    for source in sorted(glob.glob(os.path.join(ROOT, "tests", "fixtures", "directory-*"))):
        name = os.path.basename(source)
        shutil.copytree(os.path.join(source, "directory"), os.path.join(DIR, name))
        with open(os.path.join(source, "contents.csv"), encoding="utf-8", newline="") as f:
            want = f.read()
        dump = round_trip(name, name)
        for directory in (name, "restored"):
            rc, out, err = sh(directory, "--quiet", "--csv", "-f", os.path.join(source, "contents.sql"))
            check(f"{name}: contents of {directory}", (rc, err) == (0, "") and out == want, (rc, err, difference(want, out)))
        in_postgres(name, re.sub(r"\nWITH \(expected_rows = \d+\)", "", dump), server)
        for sql, state in (("insert into everything(id) values (1)", "23505"), ("insert into everything(id) values (-1)", "23514"), ("insert into everything(id) values (null)", "23502"),
                           ("update everything set id = 10 where id = 1", "23503"), ("insert into child(id, a, b) values (9, 9, 'x')", "23503"), ("insert into parent values (9, 'q', 'first')", "23505"),
                           ("insert into calling(id) values (1000)", "23514"), ("delete from everything where id = 6", "23503")):
            for directory in (name, "restored"):
                rc, out, err = sh(directory, "-c", sql)
                check(f"{name}: {sql} in {directory}", rc == 1 and err.startswith(f"ERROR:  {state}:"), (rc, out, err))


# ---- views whose relations have changed ------------------------------------------------------------------


def views():
    """A view keeps its columns, whatever its relations are called and have by now; so does its dump."""
    make("views", """create table t(a int primary key, b text, c int);
create table u(a int, d int);
insert into t values (1, 'x', 2), (2, 'y', 3);
insert into u values (1, 9);
create view v1 as select * from t;
create view v2 as table t;
create view v3 as select t.a, x.d from only t join public.u as x(k, d) on k = t.a where t.a in (select /* from u */ a from u);
create view v4 as select * from t natural join u;
create view v5 as select x.a, x.bb, count(*) from t * as x(a, bb) group by x.a;
create view v6 as select v1.*, y.d from v1, u y;
create view v7 as with t as (select 1 as z) select * from t, public . t as t2;
create view v8 as with q as (select * from t as x(aa) where exists (select * from t)) select q.*, (select max(b) from t) m from q;
create view v9 as select a from "u" -- u
;
create view v10 as with uu as (select 7 as d) select u.d from u;
alter table t add column z int default 5;
alter table u add column b text default 'q';
alter table u rename column a to aa;
alter table t rename to "T t";
alter table u rename to uu;
""")
    dump = round_trip("changed relations", "views")
    check("a natural join keeps its columns", "(SELECT a, b, c FROM public.\"T t\") AS t natural join (SELECT aa AS a, d FROM public.uu) AS u;" in dump, dump)
    check("a view on a key comes after it", dump.find("CREATE VIEW v5") > dump.find("PRIMARY KEY") > dump.find("CREATE VIEW v1") > 0, dump)
    sql = "".join(f"select * from v{i} order by 1;" for i in range(1, 11))
    old, new = sh("views", "--csv", "-c", sql), sh("restored", "--csv", "-c", sql)
    check("the views have the same rows", old == new and old[0] == 0 and len(old[1]) > 100, (old, new))
    return dump


# ---- unique indexes --------------------------------------------------------------------------------------


def indexes(server):
    """Those that are no constraints, and those whose keys are computed, are saved, loaded, dumped and enforced."""
    make("indexes", """create table t(id int primary key, a text, b int, "C c" int, unique (a, id));
create unique index plain on t (b, id);
create unique index lower_b on t (lower(a), b) where "C c" > 0;
create unique index "Sum" on t (("C c" + b)) where not id in (1, 2) and a <> 'x -- y';
create unique index equal_nulls on t (a, "C c") nulls not distinct;
insert into t values (1, 'Ann', 1, 1), (2, null, 2, null), (3, 'Bob', 3, 0);
""")
    dump = round_trip("unique indexes", "indexes")
    check("their statements", names(dump, "INDEX") == ["Sum", "equal_nulls", "lower_b", "plain"], dump)
    check("as PostgreSQL writes them", "\nCREATE UNIQUE INDEX lower_b ON t USING btree (lower(a), b) WHERE (\"C c\" > 0);\n" in dump, dump)
    in_postgres("unique indexes", dump, server)
    for directory in ("indexes", "restored"):
        for values, key in (("4, 'ANN', 1, 9", "Key (lower(a), b)=(ann, 1)"), ("4, 'x', 2, 1", 'Key (("C c" + b))=(3)'), ("4, null, 9, null", 'Key (a, "C c")=(null, null)')):
            rc, out, err = sh(directory, "-c", f"insert into t values ({values})")
            check(f"{values} in {directory}", rc == 1 and "23505" in err and f"DETAIL:  {key} already exists." in err, (rc, out, err))
        rc, out, err = sh(directory, "-c", "\\d t")
        check(f"\\d in {directory}", '"lower_b" UNIQUE, btree (lower(a), b) WHERE ("C c" > 0)' in out and '"plain" UNIQUE, btree (b, id)' in out, out)


def types(server):
    """Enumerated types are saved, loaded and dumped with the order of their labels, composite types with their fields,
    behind those that are in them, range types behind their subtypes, and tables behind those whose rows they have."""
    make("types", """create type "Mood" as enum ('sad', 'it''s ok');
alter type "Mood" add value 'so' before 'it''s ok';
create table t(id int primary key, m "Mood" default 'sad', ms "Mood"[]);
create function f(m "Mood") returns "Mood" language sql as 'select m';
create type "In" as (m "Mood", "n N" numeric(6,2));
create type "Around" as (i "In", ms "Mood"[], x "In"[]);
create type "Moods R" as range (subtype = "Mood", multirange_type_name = "Many");
create type spans as range (subtype = text, collation = "C");
alter type spans rename to "Spans";
create type "With" as (r "Moods R", n numrange);
create table ranges(r "Moods R", m "Many", s "Spans"[], w "With", d daterange unique default '[2020-01-01,)');
insert into ranges values ('[sad,so]', '{[sad,so),["it''s ok",]}', array[spans('a', 'b c')], row('empty', '[1.0,2.50]'));
create table a_row(a "Around", t t);
create function g(p "In") returns "Mood" language sql as 'select p.m';
insert into t values (1, 'so', '{so}'), (2, 'it''s ok', null), (3, default, null);
insert into a_row select row(row('so', 1.5), '{sad}', array[row(null, 2)::"In"])::"Around", t from t where id = 1;
""")
    dump = round_trip("types", "types")
    in_postgres("types", dump, server)
    for directory in ("types", "restored"):
        rc, out, err = sh(directory, "-A", "-t", "-c", "select id, f(m), ms from t order by m desc")
        check(f"values in {directory}", (rc, out, err) == (0, "2|it's ok|\n1|so|{so}\n3|sad|\n", ""), (rc, out, err))
        rc, out, err = sh(directory, "-A", "-t", "-c", "select a, t, g((a).i) from a_row")
        row = """("(so,1.50)",{sad},"{""(,2.00)""}")|(1,so,{so})|so\n"""
        check(f"rows in {directory}", (rc, out, err) == (0, row, ""), (rc, out, err))
        rc, out, err = sh(directory, "-A", "-t", "-c", """select r @> 'so'::"Mood", * from ranges where d @> date '2020-01-01'""")
        row = """t|[sad,so]|{[sad,so),["it's ok",)}|{"[a,\\"b c\\")"}|(empty,"[1.0,2.50]")|[2020-01-01,)\n"""
        check(f"ranges in {directory}", (rc, out, err) == (0, row, ""), (rc, out, err))
        rc, out, err = sh(directory, "-c", "\\d t")
        check(f"\\d in {directory}", '"Mood"[]' in out, out)


def domains(server):
    """Domains are saved, loaded and dumped behind what they are over, and what calls routines behind these."""
    make("domains", '''create domain "Pos" as int default 7 check (value > 0);
create domain even as "Pos" not null check (value % 2 = 0);
alter domain even add constraint small check (value < 100) not valid;
create function short(x text) returns bool language sql as 'select length(x) < 4';
create domain word as varchar(9) check (short(value)) default 'w';
create table t(id int primary key, e even, p "Pos", w word);
create function f(e even) returns "Pos" language plpgsql as 'begin return e; end';
insert into t values (1, 2, 3, 'abc'), (2, 4, default, default);
alter domain "Pos" drop default;
''')
    dump = round_trip("domains", "domains")
    in_postgres("domains", dump, server)
    for directory in ("domains", "restored"):
        rc, out, err = sh(directory, "-A", "-t", "-c", "select id, f(e), p, w from t order by id")
        check(f"values in {directory}", (rc, out, err) == (0, "1|2|3|abc\n2|4|7|w\n", ""), (rc, out, err))
        rc, out, err = sh(directory, "-A", "-t", "-c", "\\dD", "-c", "\\dT")
        want = ("public|Pos|integer||||CHECK (value > 0)\n"
                "public|even|Pos||not null|7|CHECK (value % 2 = 0) CHECK (value < 100) NOT VALID\n"
                "public|word|character varying(9)|||'w'|CHECK (short(value))\n"
                "public|Pos|\npublic|even|\npublic|word|\n")
        check(f"\\dD in {directory}", (rc, out, err) == (0, want, ""), (rc, out, err))
        rc, out, err = sh(directory, "-c", "insert into t values (3, 3, 1, 'a')")
        check(f"conditions in {directory}", 'violates check constraint "even_check"' in err, (rc, out, err))


ROLES = """create role joe login connection limit 2 password 'x' valid until '2030-01-01';
create role "Odd grp";
create role boss createdb;
grant "Odd grp" to joe with admin option;
comment on role boss is 'it''s';
alter role joe set search_path to public, pg_catalog;
alter role boss set work_mem = '8MB';
create table t(a serial, b text, c int);
create view v as select 1 as x;
create type e as enum('a');
create domain d as int;
create function f(a int, b text) returns int language sql as 'select a';
create procedure p(inout x int) language plpgsql as 'begin x := 1; end';
create sequence s;
alter table t owner to boss;
alter view v owner to joe;
alter type e owner to joe;
alter domain d owner to joe;
alter function f(int, text) owner to boss;
alter procedure p(int) owner to boss;
alter sequence s owner to joe;
grant select, insert on t to joe with grant option;
grant update (b), insert (b, c) on t to "Odd grp";
set session authorization joe;
grant select on t to "Odd grp", public;
reset session authorization;
revoke execute on function f from public;
grant usage on type e to boss;
grant execute on procedure p to joe with grant option;
revoke update, delete on t from boss;
grant usage on sequence t_a_seq to joe;
grant all on s to "Odd grp";
alter default privileges for role joe grant select on tables to boss;
alter default privileges for role joe in schema public grant execute on functions to boss;
alter default privileges for role joe revoke usage on types from public;
"""
# What is there of owners and grants, wherever it is.
GRANTED = ("select relname, pg_get_userbyid(relowner), relacl from pg_class where relname in ('t', 'v', 's', 't_a_seq') order by 1; "
           "select attname, attacl from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by 1; "
           "select proname, pg_get_userbyid(proowner), proacl from pg_proc where proname in ('f', 'p') order by 1; "
           "select typname, pg_get_userbyid(typowner), typacl from pg_type where typname in ('e', 'd') order by 1; "
           "select pg_get_userbyid(defaclrole), defaclobjtype, defaclacl from pg_default_acl order by 1, 2; "
           "select rolname, rolcanlogin, rolcreatedb, rolconnlimit, rolpassword, rolvaliduntil, rolconfig, shobj_description(oid, 'pg_authid') from pg_roles where oid >= 16384 order by 1; "
           "select roleid::regrole, member::regrole, admin_option from pg_auth_members where member::regrole::text !~ '^pg_' order by 1, 2;")


def roles(server):
    """Owners and grants are saved, dumped and restored, roles with --roles; PostgreSQL then shows the same."""
    rc, out, err = make("roles", ROLES)
    check("roles: made", (rc, out, err) == (0, "", ""), (rc, out, err))
    rc, granted, err = sh("roles", "-A", "-t", "-P", "null=", "-c", GRANTED)
    check("roles: reopened", rc == 0 and "joe=a*r*/boss" in granted and "\\\"Odd grp\\\"=r/joe" in granted, (rc, granted, err))
    rc, dump, err = sh("dump", "roles", "--roles")
    check("--roles", rc == 0 and err == "" and dump.index("CREATE ROLE boss") < dump.index("CREATE TABLE"), (rc, err))
    shutil.rmtree(os.path.join(DIR, "with_roles"), ignore_errors=True)
    rc, out, err = sh("with_roles", "--quiet", "-v", "ON_ERROR_STOP=1", stdin=dump)
    check("--roles: restore", rc == 0 and err == "", (rc, err))
    check("--roles: the same dump", sh("dump", "with_roles", "--roles") == (0, dump, ""))
    check("--roles: the same grants", sh("with_roles", "-A", "-t", "-P", "null=", "-c", GRANTED) == (0, granted, ""))
    rc, out, err = psql(server, "-o", "/dev/null", stdin="set client_min_messages = warning; drop schema public cascade; create schema public; grant usage on schema public to public;\n" + dump)
    check("--roles: PostgreSQL restores it", (rc, err) == (0, ""), err)
    rc, out, err = psql(server, "-A", "-t", stdin="set timezone = 'UTC';\n" + GRANTED)
    check("--roles: PostgreSQL has the same grants", (rc, out) == (0, granted), err or difference(granted, out))
    psql(server, stdin='drop owned by joe; drop owned by boss; drop owned by "Odd grp"; drop role joe, boss, "Odd grp";')
    rc, out, err = sh("dump", "roles", "-O", "-x")
    check("-O -x", rc == 0 and "OWNER TO" not in out and "GRANT" not in out and "REVOKE" not in out, (rc, err))
    rc, out, err = sh("dump", "roles", "--no-owner")
    check("--no-owner", rc == 0 and "OWNER TO" not in out and "GRANT" in out, (rc, err))
    rc, out, err = sh("dump", "roles", "--no-privileges")
    check("--no-privileges", rc == 0 and "OWNER TO" in out and "GRANT" not in out, (rc, err))


# ---- options ---------------------------------------------------------------------------------------------

OPTIONS = """create function f(x int default 1) returns int language sql as $$ select x $$;
create procedure p(a int, inout b int) language plpgsql as $$ begin b := a; end $$;
create table b_parent(id int primary key, t text);
create table a_child(id int primary key, p int unique deferrable references b_parent match full on update cascade on delete set null (p) deferrable initially deferred, n numeric(5, 2), d double precision, bo boolean, by bytea, a int[], bi bit(3), vb varbit(9)[], fb "bit", dflt int default f(), check (f(id) > 0));
create table "Odd ""name"("x y" text);
create table none();
create table x1(a boolean, b text default 'x');
alter table x1 alter a set default true and false;
insert into b_parent values (1, E'it''s \\\\ a\\ttab\\nand a line'), (2, null);
insert into a_child values (1, 1, 1.5, -0.0::float8, true, '\\x00ff', '{1,null}', '101', '{1,null,xff}', X'a'), (2, null, null, 'NaN', null, null, null, null, null, null);
insert into "Odd ""name" values ('v'), (E'returns\\r\\nand \\\\ one');
create view b_view as select id, t from b_parent where f(id) = 1;
create view a_view as select * from b_view;
"""


def names(dump, kind):
    return re.findall(rf"^-- Name: (.*); Type: {kind}$", dump, re.M)


def options(server):
    make("d", OPTIONS)
    full = round_trip("options", "d")
    check("order of tables", names(full, "TABLE") == ['Odd "name', "b_parent", "a_child", "none", "x1"] and names(full, "VIEW") == ["b_view", "a_view"], full)
    rc, schema, err = sh("dump", "d", "-s")
    check("-s", rc == 0 and "COPY" not in schema and names(schema, "VIEW") == ["b_view", "a_view"] and schema.endswith(COMPLETE), (rc, schema, err))
    check("--schema-only", sh("dump", "--schema-only", "d") == (0, schema, ""))
    rc, data, err = sh("dump", "-a", "d")
    check("-a", rc == 0 and "CREATE" not in data and "ALTER" not in data and data.count("COPY ") == 5 and data.endswith(COMPLETE), (rc, data, err))
    check("--data-only", sh("dump", "d", "--data-only") == (0, data, ""))
    p = subprocess.run(["sh", "-c", 'exec "$0" dump d >&-', STELE], stderr=subprocess.PIPE, timeout=600, cwd=DIR)
    check("a closed standard output", p.returncode == 1 and b"Bad file descriptor" in p.stderr and sh("dump", "d") == (0, full, ""), p)
    make("long", f"create table {'a' * 60}(x int);")
    check("a pattern of many *", sh("dump", "long", "-t", "*a" * 20 + "b")[0] == 1)
    shutil.rmtree(os.path.join(DIR, "parts"), ignore_errors=True)
    check("schema and data apart", sh("parts", "--quiet", "-v", "ON_ERROR_STOP=1", stdin=schema + data) == (0, "", "") and sh("dump", "parts") == (0, full, ""))
    rc, inserts, err = sh("dump", "d", "--inserts")
    check("--inserts", rc == 0 and "COPY" not in inserts and "INSERT INTO b_parent (id, t) VALUES (1, 'it''s \\ a\ttab\nand a line');\nINSERT INTO b_parent (id, t) VALUES (2, NULL);\n" in inserts, (rc, inserts, err))
    check("--inserts: literals", "VALUES (1, 1, 1.50, '-0', 't', '\\x00ff', '{1,NULL}', '101', '{1,NULL,11111111}', '1010', 1);" in inserts and "VALUES (2, NULL, NULL, 'NaN', NULL," in inserts, inserts)
    make("names", "create domain numeric_code as text; create type numericals as enum ('a, b'); "
                  "create table \"a \"\" (\"(g text generated always as (c || 1) stored, i numeric, c numeric_code, e numericals); insert into \"a \"\" (\"(i, c, e) values ('NaN', '1); drop table x; --', 'a, b'), (-1.5, '2', null);")
    rc, out, err = sh("dump", "names", "--inserts")
    check("--inserts: types called like numbers", rc == 0 and "VALUES ('NaN', '1); drop table x; --', 'a, b');" in out and "VALUES (-1.5, '2', NULL);" in out, (rc, out, err))
    make("inserted", "")
    check("--inserts restored", sh("inserted", "--quiet", "-v", "ON_ERROR_STOP=1", stdin=inserts) == (0, "", "") and sh("dump", "inserted") == (0, full, ""))
    in_postgres("options", full, server)
    rc, out, err = psql(server, stdin="set client_min_messages = error; drop schema public cascade; create schema public;" + inserts)
    check("--inserts in PostgreSQL", (rc, err) == (0, ""), err)
    clean(full, server)
    patterns()
    rc, out, err = sh("dump", "d", "-o", "file.sql")
    check("-o", (rc, out, err) == (0, "", "") and open(os.path.join(DIR, "file.sql")).read() == full, (rc, out, err))
    check("--file=", sh("dump", "--file=file2.sql", "d") == (0, "", "") and open(os.path.join(DIR, "file2.sql")).read() == full)
    rc, out, err = sh("i", "--quiet", "-v", "ON_ERROR_STOP=1", "-c", "\\i file.sql")
    check("\\i", (rc, out, err) == (0, "", "") and sh("dump", "i") == (0, full, ""), (rc, out, err))
    rc, out, err = sh("dump", "--help")
    check("--help", rc == 0 and out.startswith("usage: stele dump") and err == "" and "stele dump" in sh("--help")[1], (rc, out, err))


def clean(full, server):
    rc, out, err = sh("dump", "d", "-c")
    drops = re.findall(r"^(?:DROP|ALTER TABLE \S+ (?:DROP|ALTER COLUMN \S+ DROP)) .*$", out, re.M)
    check("-c", rc == 0 and out.replace("\n".join(drops) + "\n\n", "") == full and drops[-1] == 'DROP TABLE "Odd ""name";', (rc, out, err))
    check("-c twice", sh("inserted", "--quiet", "-v", "ON_ERROR_STOP=1", stdin=out) == (0, "", "") and sh("dump", "inserted") == (0, full, ""))
    rc, out, err = psql(server, stdin=out)
    check("-c in PostgreSQL", (rc, err) == (0, ""), err)
    rc, out, err = sh("dump", "d", "--clean", "--if-exists")
    check("--if-exists", rc == 0 and "DROP TABLE IF EXISTS a_child;" in out, (rc, out, err))
    for directory in ("fresh", "inserted"):
        rc, o, err = sh(directory, "--quiet", "-v", "ON_ERROR_STOP=1", stdin=out)
        check(f"--if-exists: {directory}", rc == 0 and "ERROR" not in err and sh("dump", directory) == (0, full, ""), (rc, o, err))
    rc, o, err = psql(server, stdin="set client_min_messages = error;" + out)
    check("--if-exists in PostgreSQL", (rc, err) == (0, ""), err)


def patterns():
    for args, tables, has in ((["-t", "b_parent"], ["b_parent"], []), (["-t", "B_*"], ["b_parent"], ["b_view"]), (["-t", "a_child", "--table=none"], ["a_child", "none"], []),
                              (["-t", "?_child"], ["a_child"], []), (["-tpublic.b_parent"], ["b_parent"], []), (["-t", '"Odd ""name"'], ['Odd "name'], []),
                              (["-t", "*e*", "-t", "nope"], ['Odd "name', "b_parent", "none"], ["b_view", "a_view"])):
        rc, out, err = sh("dump", "d", *args)
        check(f"{' '.join(args)}", rc == 0 and err == "" and names(out, "TABLE") == tables and names(out, "TABLE DATA") == tables and names(out, "VIEW") == has and "FUNCTION" not in out, (rc, out, err))
    rc, out, err = sh("dump", "d", "-t", "a_child")
    check("-t: with constraints", "a_child_p_fkey FOREIGN KEY (p) REFERENCES b_parent(id) MATCH FULL ON UPDATE CASCADE ON DELETE SET NULL (p) DEFERRABLE INITIALLY DEFERRED;" in out and "UNIQUE (p) DEFERRABLE;" in out and "SET DEFAULT f();" in out and "PRIMARY KEY" in out, out)
    for pattern in ("nope", '"B_parent"', '"b_*"', "child", "other.b_parent"):
        rc, out, err = sh("dump", "d", "-t", pattern)
        check(f"-t {pattern}", rc == 1 and "no matching tables were found" in err and COMPLETE not in out, (rc, out, err))


# ---- errors ----------------------------------------------------------------------------------------------


def errors():
    for args, what in (((), "which database?"), (("d", "x"), 'too many arguments (first is "x")'), (("d", "-y"), 'unrecognized option "-y"'), (("d", "--insert"), "unrecognized option"),
                       (("d", "-t"), 'option "-t" needs a value'), (("d", "--file"), "needs a value"), (("d", "-s", "-a"), "cannot be used together"), (("d", "-a", "-c"), "cannot be used together"),
                       (("d", "--if-exists"), "requires option -c/--clean"), (("d", "--memory-limit", "1MB"), '"1MB" is no number of bytes'), (("d", "--memory-limit=-1"), "is no number"), ((":memory:",), "is no directory")):
        rc, out, err = sh("dump", *args)
        check(f"dump {' '.join(args)}", rc == 2 and out == "" and what in err, (rc, out, err))
    os.mkdir(os.path.join(DIR, "other"))
    for directory, state in (("nowhere", "58P01"), ("other", "58P01"), ("file.sql", "")):
        rc, out, err = sh("dump", directory)
        check(f"dump {directory}", rc == 1 and out == "" and f'cannot open "{directory}"' in err and state in err, (rc, out, err))
    check("nothing was made", not os.path.exists(os.path.join(DIR, "nowhere")) and os.listdir(os.path.join(DIR, "other")) == [])
    rc, out, err = sh("dump", "d", "-o", "nowhere/file")
    check("-o nowhere/file", rc == 1 and 'cannot open "nowhere/file"' in err, (rc, out, err))
    p = subprocess.Popen([STELE, "d"], cwd=DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdin.write(b"\\echo open\n")
    p.stdin.flush()
    p.stdout.readline()
    rc, out, err = sh("dump", "d")
    check("a directory in use", rc == 1 and "55006" in err, (rc, out, err))
    p.communicate()
    shutil.copytree(os.path.join(DIR, "d"), os.path.join(DIR, "damaged"))
    file = glob.glob(os.path.join(DIR, "damaged", "g*", "catalog"))[0]
    with open(file, "r+b") as f:
        f.seek(100)
        old = f.read(2)
        f.seek(100)
        f.write(bytes(b ^ 0xff for b in old))
    rc, out, err = sh("dump", "damaged")
    check("a damaged directory", rc == 1 and out == "" and "XX001" in err, (rc, out, err))
    make("broken", "create table t(a int); create function f() returns setof t language sql as $$ select 1 $$; create view v as select * from f(); alter table t rename to u;")
    rc, out, err = sh("dump", "broken")
    check("what cannot be made again is warned of", rc == 0 and 'warning: FUNCTION "f()": type "t" does not exist' in err and 'warning: VIEW "v"' in err and out.endswith(COMPLETE), (rc, out, err))


# ---- dumps that end early --------------------------------------------------------------------------------


def early():
    make("big", "create table t(a int, b text); insert into t select i, repeat('x', 100) from generate_series(1, 40000) g(i); create table z(a int); insert into z values (1);")
    rc, whole, err = sh("dump", "big")
    check("a large table", rc == 0 and len(whole) > 4000000 and whole.endswith(COMPLETE), (rc, err))
    check("in little memory", sh("dump", "big", "--memory-limit", "12000000") == (0, whole, ""))
    rc, out, err = sh("dump", "big", "--memory-limit=1000000")
    check("in too little memory", rc == 1 and out == "" and "53400" in err, (rc, out, err))
    for args in ([], ["--inserts"]):
        for sig in (signal.SIGINT, signal.SIGTERM):
            # A background job of a shell ignores SIGINT, and what it starts does, too.
            p = subprocess.Popen([STELE, "dump", "big", *args], cwd=DIR, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            out = p.stdout.read(200000)  # it waits for the rest to be read
            p.send_signal(sig)
            time.sleep(0.05)
            rest, err = p.communicate()
            text = (out + rest).decode()
            check(f"{args} {sig.name}", p.returncode == 128 + sig and "complete" not in text and b"the dump is not complete" in err, (p.returncode, text[-200:], err))
        p = subprocess.Popen([STELE, "dump", "big", *args], cwd=DIR, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.read(1000)
        p.stdout.close()
        err = p.stderr.read()
        check(f"{args}: a closed pipe", p.wait() == 128 + signal.SIGPIPE and err == b"", (p.returncode, err))
        limit = 1000000
        p = subprocess.run([STELE, "dump", "big", "-o", "cut.sql", *args], cwd=DIR, capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        text = open(os.path.join(DIR, "cut.sql")).read()
        check(f"{args}: a file that can grow no more", p.returncode == 1 and b"cannot write to cut.sql" in p.stderr and b"not complete" in p.stderr and COMPLETE not in text and 0 < len(text) <= limit, (p.returncode, p.stderr))
    for args in (["-o", "/dev/full"], ["-s", "-o", "/dev/full"]):
        rc, out, err = sh("dump", "big", *args)
        check(f"{args}", rc == 1 and "cannot write to /dev/full: No space left on device" in err and "not complete" in err, (rc, out, err))
    with open("/dev/full", "w") as full:
        p = subprocess.run([STELE, "dump", "d"], cwd=DIR, stdout=full, stderr=subprocess.PIPE)
    check("standard output is full", p.returncode == 1 and b"cannot write to standard output" in p.stderr, (p.returncode, p.stderr))


SERVER = pg.Server()
P.run([("corpus", lambda: corpus(SERVER)), ("fixtures", lambda: fixtures(SERVER)), ("views", views), ("indexes", lambda: indexes(SERVER)), ("types", lambda: types(SERVER)), ("domains", lambda: domains(SERVER)), ("roles", lambda: roles(SERVER)), ("options", lambda: options(SERVER)), ("errors", errors), ("early", early)])
SERVER.stop()
P.end()
