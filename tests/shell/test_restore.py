#!/usr/bin/env python3
"""stele restore, and the forms of stele dump that it reads: plain and compressed files, directories; damage, dumps that are not complete,
errors; all or nothing.

usage: test_restore.py [--build DIR]      last line: N passed, N failed
"""
import os
import re
import shutil

from program import Program

P = Program("restore")
DIR, sh, check, path, files = P.dir, P.sh, P.check, P.path, P.files
MAKE = """create table t (a int primary key, b text, c text[], d numeric);
insert into t select i, e'x\\t\\n\\\\' || i, array['a', null], i / 7.0 from generate_series(1, 3000) i;
create table "odd ""na
me" (x int generated always as identity, y int, z int generated always as (y + 1) stored);
insert into "odd ""na
me" (y) select i from generate_series(1, 10) i;
create table u (id int references t (a), v text default 'q');
insert into u select i from generate_series(1, 500) i;
create table nothing (a int);
create sequence s;
select nextval('s');
create view v as select * from t;
create materialized view mv as select count(*) from t;
create schema more;
create table more.x as select 1 as one;
create type mood as enum ('sad', 'ok');
create table m (x mood);
insert into m values ('ok'), (null);
"""


def make():
    sh("db", "--quiet", stdin=MAKE)
    for args in (("-o", "plain.sql"), ("-o", "packed.sql.zst"), ("-d", "one", "-j", "1"), ("-d", "many", "--jobs=4")):
        rc, out, err = sh("dump", "db", *args)
        check(f"dump {args}", (rc, out, err) == (0, "", ""), (rc, out, err))
    check("the same files by one thread and by four", files("one") == files("many"))
    check("compressed", os.path.getsize(path("packed.sql.zst")) < os.path.getsize(path("plain.sql")) / 3)


def plain():
    with open(path("plain.sql")) as f:
        return f.read()


def restored(name, rc, out, err):
    check(f"{name}: restore", (rc, out, err) == (0, "", ""), (rc, out, err))
    rc, again, err = sh("dump", name)
    check(f"{name}: the same dump", rc == 0 and again == plain(), err)


def round_trips():
    for source in ("plain.sql", "packed.sql.zst", "one", "many"):
        restored("r-" + source, *sh("restore", source, "r-" + source))
    restored("r-stdin", *sh("restore", "-", "r-stdin", stdin=plain()))
    restored("r-jobs", *sh("restore", "many", "r-jobs", "-j", "3"))
    rc, out, err = sh("r-file", "--quiet", "-v", "ON_ERROR_STOP=1", "-f", "packed.sql.zst")
    check("a script may be compressed", rc == 0 and err == "", (rc, err))
    rc, out, err = sh("dump", "db", "-d", "parts", "-t", "t", "-a")
    check("data of one table", rc == 0 and re.findall(r"^table .* \d+ (\w+)", files("parts")["MANIFEST"].decode(), re.M) == ["t"], files("parts")["MANIFEST"])
    sh("into", "--quiet", stdin="create table t (a int primary key, b text, c text[], d numeric); create table kept as select 1 as a;")
    rc, out, err = sh("restore", "parts", "into")
    check("into what there is", rc == 0 and sh("into", "-At", "-c", "select count(*), (select count(*) from kept) from t")[1] == "3000|1\n", (rc, err))
    rc, out, err = sh("dump", "db", "-d", "schema", "-s")
    check("no data", rc == 0 and set(files("schema")) == {"MANIFEST", "before.sql.zst", "after.sql.zst"}, files("schema").keys())
    rc, out, err = sh("restore", "schema", "r-schema")
    check("restored without data", rc == 0 and sh("r-schema", "-At", "-c", "select count(*) from u")[1] == "0\n", (rc, err))


def refused(name, source, said, database="new", **more):
    before = files(database) if os.path.exists(path(database)) else None
    rc, out, err = sh("restore", source, database, **more)
    check(f"{name}: refused", rc == 1 and re.search(said, err) is not None, (rc, out, err))
    check(f"{name}: nothing is left", (files(database) if os.path.exists(path(database)) else None) == before)


def damage():
    for name, data in files("one").items():
        for how in ("flip", "cut", "gone"):
            shutil.rmtree(path("broken"), ignore_errors=True)
            shutil.copytree(path("one"), path("broken"))
            if how == "gone":
                os.remove(path("broken", name))
            else:
                with open(path("broken", name), "wb") as f:
                    at = len(data) // 2
                    f.write(data[:at] + bytes([data[at] ^ 8]) + data[at + 1:] if how == "flip" else data[:at])
            refused(f"{name} {how}", "broken", re.escape(name))
    with open(path("packed.sql.zst"), "rb") as f:
        data = f.read()
    for how, bad in (("cut", data[:-5]), ("flip", data[:900] + bytes([data[900] ^ 1]) + data[901:])):
        with open(path("bad.sql.zst"), "wb") as f:
            f.write(bad)
        refused(f"compressed {how}", "bad.sql.zst", "bad.sql.zst")
    with open(path("half.sql"), "w") as f:
        f.write(plain()[:plain().rindex("--\n-- Stele database dump complete")])
    refused("without its end", "half.sql", "half.sql is no complete dump")
    refused("without its end, from stdin", "-", "standard input is no complete dump", stdin="create table t (a int);\n")
    with open(path("wrong.sql"), "w") as f:
        f.write(plain().replace("COPY u", "COPY nowhere"))
    refused("an error in it", "wrong.sql", r"wrong.sql:\d+: ERROR: +42P01")


def all_or_nothing():
    sh("full", "--quiet", stdin="create table kept as select 1 as a; create table more_of as select 2 as b; create table t (x int);")
    refused("a table is there", "plain.sql", "42P07", "full")
    refused("a table is there, from a directory", "one", "42P07", "full")
    check("what was there", sh("full", "-At", "-c", "select a from kept")[1] == "1\n")


def errors():
    refused("no dump", "none", "cannot open")
    os.makedirs(path("empty"), exist_ok=True)
    refused("no dump in a directory", "empty", "no MANIFEST")
    rc, out, err = sh("dump", "db", "-d", "one")
    check("a directory that is not empty", rc == 1 and "cannot make directory" in err, (rc, err))
    rc, out, err = sh("dump", "db", "-d", "empty")
    check("an empty one", rc == 0, (rc, err))
    for args in (("restore",), ("restore", "a"), ("restore", "a", "b", "c"), ("restore", "a", "b", "-j"), ("restore", "a", "b", "-j", "0"), ("restore", "a", ":memory:"),
                 ("restore", "a", "b", "--what"), ("dump", "db", "-j", "2"), ("dump", "db", "-d", "x", "-o", "y"), ("dump", "db", "-d", "x", "--inserts")):
        rc, out, err = sh(*args)
        check(f"options {args}", rc == 2 and "--help" in err, (rc, out, err))
    rc, out, err = sh("restore", "--help")
    check("help", rc == 0 and out.startswith("usage: stele restore"), out)


def of_postgresql():
    """As pg_dump writes files since August 2025: no commands between \\restrict and \\unrestrict."""
    text = "\\restrict {0}\n\ncreate table r (a int);\ncopy r (a) from stdin;\n1\n\\.\n{1}--\n-- PostgreSQL database dump complete\n--\n\n\\unrestrict {0}\n\n"
    key = "a" * 63
    with open(path("pg.sql"), "w") as f:
        f.write(text.format(key, ""))
    rc, out, err = sh("restore", "pg.sql", "of_pg")
    check("a file of pg_dump", (rc, err) == (0, ""), (rc, out, err))
    rc, out, err = sh("of_pg", "-At", "-c", "select a from r")
    check("its rows", (rc, out) == (0, "1\n"), (rc, out, err))
    with open(path("evil.sql"), "w") as f:
        f.write(text.format(key, "\\! touch made\n"))
    refused("a command in it", "evil.sql", r"backslash commands are restricted; only \\unrestrict is allowed")
    check("it has not run", not os.path.exists(path("made")))


P.run([("make", make), ("of PostgreSQL", of_postgresql), ("round trips", round_trips), ("damage", damage), ("all or nothing", all_or_nothing), ("errors", errors)])
P.end()
