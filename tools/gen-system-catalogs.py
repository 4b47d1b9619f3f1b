#!/usr/bin/env python3
"""Writes what the catalogs have of PostgreSQL's own objects, from PostgreSQL 15: types, functions, operators, casts and keywords that there are here
too (src/session/system/builtin_*.inc, src/sql/bind/operator_functions.inc), and the views that are queries over the catalogs (src/catalog/system_views.def).

usage: gen-system-catalogs.py      needs build/stele, which says what it knows

A function, operator or cast is taken when Stele takes a call of it with NULLs of its types. Catalogs themselves, and views whose rows are
made by a function, stand in src/catalog/system_relations.def, which is written by hand.
"""
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))
import pg  # noqa: E402

TYPES = """bool bytea char name int8 int2 int2vector int4 regproc text oid tid xid cid oidvector json bpchar varchar date time float4 float8
timestamp timestamptz interval timetz bit varbit numeric uuid jsonb jsonpath pg_lsn money xid8 regprocedure regoper regoperator regclass regcollation regtype
regrole regnamespace regconfig regdictionary unknown record void trigger any anyelement anyarray anynonarray anyenum anycompatible
anycompatiblearray anycompatiblenonarray cstring internal int4range int8range numrange tsrange tstzrange daterange int4multirange
int8multirange nummultirange tsmultirange tstzmultirange datemultirange anyrange anymultirange anycompatiblerange
anycompatiblemultirange""".split()
# Views of pg_catalog that are queries here too; of information_schema all are, but for those below.
VIEWS = """pg_tables pg_views pg_indexes pg_matviews pg_roles pg_user pg_shadow pg_group pg_rules pg_policies pg_sequences pg_stat_sys_tables
pg_stat_user_tables pg_stat_sys_indexes pg_stat_user_indexes pg_statio_sys_tables pg_statio_user_tables pg_statio_user_indexes
pg_statio_sys_indexes pg_statio_user_sequences pg_statio_sys_sequences""".split()
# Of privileges that are given, options of foreign objects, and transforms: by hand.
BY_HAND = re.compile(r"pg_options_to_table|aclexplode")
HAND_NAMES = re.compile(r"role_.*|.*foreign.*|transforms|udt_privileges|usage_privileges|element_types|data_type_privileges|column_options|"
                        r"(_pg_)?user_mapping.*")
# Types of columns that there are not here, and information_schema's domains.
COLUMN_TYPES = {"aclitem": "text", "_aclitem": "_text", "anyarray": "_text", "_xid": "_text", "pg_node_tree": "text",
                "inet": "text", "xid8": "text", "sql_identifier": "name", "cardinal_number": "int4", "character_data": "varchar",
                "yes_or_no": "varchar", "time_stamp": "timestamptz"}
HEAD = "/* {} Written by tools/gen-system-catalogs.py. */\n/* clang-format off */\n"


def query(conn, sql):
    return [["" if v is None else v for v in row] for row in conn.exec(sql).rows]


def write(name, head, rows):
    path = os.path.join(ROOT, "src", name)
    with open(path, "w") as f:
        f.write(HEAD.format(head))
        for row in rows:
            f.write("{" + ", ".join(row) + "},\n")
    print(f"{name}: {len(rows)}")


def text(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def boolean(s):
    return "1" if s == "t" else "0"


def known(sql):
    """Whether Stele takes the statement; that the call fails for its NULLs does not matter."""
    r = subprocess.run([os.path.join(ROOT, "build", "stele"), "-c", sql], capture_output=True, text=True)
    state = re.search(r"ERROR: +(\w{5}):", r.stderr + r.stdout)
    return not state or state.group(1) in ("22004", "22023", "22P02", "55000")


def null(type_name):
    poly = {"anyelement": "int4", "anynonarray": "int4", "anycompatible": "int4", "anycompatiblenonarray": "int4", "any": "int4",
            "anyarray": "int4[]", "anycompatiblearray": "int4[]", "anyrange": "int4range", "anymultirange": "int4multirange",
            "anycompatiblerange": "int4range", "anycompatiblemultirange": "int4multirange"}
    name = poly.get(type_name, type_name)
    return f"null::{name[1:]}[]" if name.startswith("_") else f'null::"{name}"' if name in ("char", "bit") else f"null::{name}"


def views(conn):
    case = " ".join(f"when '{a}' then '{b}'" for a, b in COLUMN_TYPES.items())
    rows = query(conn, f"""select n.nspname, c.oid, c.relname, string_agg(a.attname || ' ' || case t.typname {case} else t.typname end, ', '
        order by attnum), pg_get_viewdef(c.oid) from pg_class c join pg_namespace n on n.oid = relnamespace join pg_attribute a on
        a.attrelid = c.oid join pg_type t on t.oid = a.atttypid where relkind = 'v' and nspname in ('pg_catalog', 'information_schema') and
        attnum > 0 group by 1, 2, 3 order by n.nspname desc, c.relname""")
    out = []
    for schema, oid, name, cols, sql in rows:
        by_hand = BY_HAND.search(sql) or HAND_NAMES.fullmatch(name)
        if (schema == "pg_catalog" and name not in VIEWS) or (schema == "information_schema" and by_hand):
            continue
        out.append(f"SYSTEM_VIEW({oid}, {schema}, {name},\n{wrapped(cols)},\n{wrapped(rewritten(sql))})\n")
    path = os.path.join(ROOT, "src", "catalog", "system_views.def")
    with open(path, "w") as f:
        f.write("""/* system_views.def - PostgreSQL 15's system views that are queries over its catalogs, as pg_get_viewdef has them.
 *
 * SYSTEM_VIEW(oid, schema, name, columns, query); see system_relations.def. Written by tools/gen-system-catalogs.py. The
 * definitions are PostgreSQL's: Portions Copyright (c) 1996-2022, PostgreSQL Global Development Group; PostgreSQL License.
 */
/* clang-format off */
""" + "".join(out))
    print(f"system_views.def: {len(out)}")


def wrapped(s):
    s = s.strip().rstrip(";").replace("\\", "\\\\").replace('"', '\\"')
    lines = textwrap.wrap(s, width=105, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f'            "{line}{" " if i < len(lines) - 1 else ""}"' for i, line in enumerate(lines))


def rewritten(sql):
    """Functions of whole rows and of rows as results, written out; information_schema's functions without their schema."""
    sql = re.sub(r"\s+", " ", sql)
    for name, base, own in (("_pg_truetypid", "typbasetype", "atttypid"), ("_pg_truetypmod", "typtypmod", "atttypmod")):
        sql = re.sub(rf"information_schema\.{name}\((\w+)\.\*, (\w+)\.\*\)",
                     rf"CASE WHEN \2.typtype = 'd' THEN \2.{base} ELSE \1.{own} END", sql)
    sql = re.sub(r"nameconcatoid\((\w+\.\w+), (\w+\.\w+)\)", r"(\1 || '_'::text || (\2)::text)::name", sql)
    call = r"information_schema\._pg_expandarray\(((?:[^()]|\([^()]*(?:\([^()]*\))?[^()]*\))+)\) AS (\w+)"
    sql = re.sub(call, r"unnest(\1) AS \2, generate_series(1, cardinality(\1)) AS \2_n", sql)
    sql = re.sub(r"\((\w+)\.(\w+)\)\.x\b", r"\1.\2", sql)
    sql = re.sub(r"\((\w+)\.(\w+)\)\.n\b", r"\1.\2_n", sql)
    return sql.replace("information_schema._pg_", "_pg_")


def types(conn):
    names = ",".join(f"'{n}','_{n}'" for n in TYPES if n not in ("any", "void")) + ",'any','void'"
    rows = query(conn, f"""select oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typelem, typarray, typalign, typstorage,
        typcollation, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid, typsubscript::oid,
        typanalyze::oid from pg_type where typnamespace = 11 and typname in ({names}) order by oid::int""")
    write("session/system/builtin_types.inc", "PostgreSQL 15's pg_type, of the types that there are here.",
          [[r[0], text(r[1]), r[2], boolean(r[3]), f"'{r[4]}'", f"'{r[5]}'", boolean(r[6]), r[7], r[8], f"'{r[9]}'", f"'{r[10]}'", r[11],
            "{" + ", ".join(r[12:]) + "}"] for r in rows])
    return {f for r in rows for f in r[12:]}, {r[0] for r in rows}


def operators(conn, there):
    rows = query(conn, """select o.oid, oprname, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate,
        oprcode::oid, oprrest::oid, oprjoin::oid, coalesce(l.typname, ''), r.typname from pg_operator o left join pg_type l on l.oid = oprleft
        join pg_type r on r.oid = oprright where oprnamespace = 11 order by o.oid::int""")
    rows = [r for r in rows if r[6] in there and (r[5] in there or r[5] == "0") and r[7] in there]
    rows = [r for r in rows if known(f"select {null(r[13]) if r[13] else ''} operator(pg_catalog.{r[1]}) {null(r[14])}")]
    all_oids = {r[0] for r in rows}
    write("session/system/builtin_operators.inc", "PostgreSQL 15's pg_operator, of the operators that there are here.",
          [[r[0], text(r[1]), f"'{r[2]}'", boolean(r[3]), boolean(r[4]), *r[5:8], *(x if x in all_oids else "0" for x in r[8:10]), *r[10:13]]
           for r in rows])
    names = dict(query(conn, "select oid, proname from pg_proc where pronamespace = 11"))
    calls = {(names[r[10]], r[1], r[13], r[14]) for r in rows if not re.search(r"\b(any\w*|record|unknown)\b", r[13] + " " + r[14])}
    write("sql/bind/operator_functions.inc", "PostgreSQL 15's functions behind the operators that there are here.",
          [[text(f), text(op), text(left) if left else "NULL", text(right)] for f, op, left, right in sorted(calls)])
    return {f for r in rows for f in r[10:13]}


def casts(conn, there):
    rows = query(conn, """select c.oid, castsource, casttarget, castfunc, castcontext, castmethod, s.typname, t.typname from pg_cast c join
        pg_type s on s.oid = castsource join pg_type t on t.oid = casttarget order by c.oid::int""")
    rows = [r for r in rows if r[1] in there and r[2] in there and known(f"select ({null(r[6])})::{null(r[7])[6:]}")]
    write("session/system/builtin_casts.inc", "PostgreSQL 15's pg_cast, of the casts that there are here.",
          [[*r[:4], f"'{r[4]}'", f"'{r[5]}'"] for r in rows])
    return {r[3] for r in rows}


def functions(conn, there, named):
    rows = query(conn, """select p.oid, proname, prokind, proisstrict, proretset, provolatile, prorettype, proargtypes::text, prosrc,
        array_to_string(array(select t.typname from unnest(proargtypes) with ordinality a (o, n) join pg_type t on t.oid = a.o order by n), ' ')
        from pg_proc p where pronamespace = 11 order by p.oid::int""")
    out = []
    for r in rows:
        args = r[9].split()
        if r[0] not in named:
            if r[6] not in there or not set(r[7].split()) <= there or {"internal", "cstring", "anyenum", "record", "trigger"} & set(args):
                continue
            call = f'"{r[1]}"({", ".join(null(a) for a in args)})' if args or r[2] != "a" else f'"{r[1]}"(*)'
            if not known(f"select {call}{' over ()' if r[2] == 'w' else ''}"):
                continue
        out.append([r[0], text(r[1]), f"'{r[2]}'", boolean(r[3]), boolean(r[4]), f"'{r[5]}'", r[6], text(r[7])])
    write("session/system/builtin_procs.inc", "PostgreSQL 15's pg_proc, of the functions that there are here or that its other catalogs name.",
          out)


def operator_classes(conn, there):
    rows = query(conn, """select c.oid, opcmethod, opcname, opcfamily, opcintype, opcdefault, opckeytype, opfname from pg_opclass c
        join pg_opfamily f on f.oid = opcfamily order by opcmethod::int, c.oid::int""")
    write("session/system/builtin_opclasses.inc", "PostgreSQL 15's pg_opclass, for types that there are here.",
          [[*r[:2], text(r[2]), *r[3:5], boolean(r[5]), r[6], text(r[7])] for r in rows if r[4] in there])


def keywords(conn):
    rows = query(conn, "select word, catcode, barelabel from pg_get_keywords() order by 1")
    write("session/system/builtin_keywords.inc", "PostgreSQL 15's keywords.", [[text(r[0]), f"'{r[1]}'", boolean(r[2])] for r in rows])


def main():
    server = pg.Server()
    try:
        conn = server.connect()
        views(conn)
        named, there = types(conn)
        operator_classes(conn, there)
        keywords(conn)
        # Of access methods, of types that a database defines, and of pg_range.
        named |= set("3 330 331 332 333 334 335 750 751 2400 2401 2597 2598 2290 2291 2402 2403 3506 3507 3532 3533 6179 3816 3834 3835 3836 3837 3916 "
                     "4231 4232 4233 4234 4242 3914 3915 3928 3922 3923 3924 3925 3929 3930 "
                     "1644 1645 1646 1647 1648 1649 1650 1651 1652 1653 1654 1655".split())
        functions(conn, there, named | operators(conn, there) | casts(conn, there))
    finally:
        server.stop()


main()
