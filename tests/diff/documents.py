#!/usr/bin/env python3
"""Random documents of json and jsonb, whole and damaged, and operators and functions over them, in Stele and in PostgreSQL.

Of a damaged document the message, detail and context must be PostgreSQL's; of other statements the result, and whether there is an error
in the data.

usage: documents.py [--build DIR] [--seconds N] [--seed S] [--rounds N] [--set NAME=VALUE]...

Every round has a seed of its own: `--seed S --rounds 1` runs one again. The last line is `N passed, N failed`.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numeric  # noqa: E402
import pg  # noqa: E402

KEYS = ["a", "b", "aa", "bb", "c d", "\u00e9", "", "1", "z"]
INDEXES = ["0", "1", "-1", "2", "-3", "7"]
NUMBERS = ["0", "1", "-1", "1.0", "1.00", "2.50", "-0", "-0.0", "1e2", "1.5E-3", "10", "12345678901234567890.5", "3"]
PIECES = ["x", "y", "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u00e9", "\u00e9", "\\ud83d\\ude04", " ", "\\u0001", "{", ",", "]"]


def quoted(sql):
    return "'" + sql.replace("'", "''") + "'"


def blank(r):
    return r.choice(["", "", "", " ", "\t", "  "])


def key(r):
    k = r.choice(KEYS)
    return '"' + "".join(f"\\u{ord(c):04x}" if r.random() < 0.1 else c for c in k) + '"'


def document(r, depth):
    """JSON text."""
    k = r.random()
    if depth == 0 or k < 0.3:
        if r.random() < 0.35:
            return '"' + "".join(r.choice(PIECES) for _ in range(r.randint(0, 4))) + '"'
        return r.choice(NUMBERS + ["true", "false", "null"])
    n = r.choice([0, 1, 1, 2, 3, 4])
    if k < 0.6:
        return "[" + blank(r) + ("," + blank(r)).join(document(r, depth - 1) + blank(r) for _ in range(n)) + "]"
    return "{" + blank(r) + ",".join(f"{blank(r)}{key(r)}{blank(r)}:{blank(r)}{document(r, depth - 1)}{blank(r)}" for _ in range(n)) + "}"


def damaged(r):
    s = document(r, 3)
    for _ in range(r.randint(1, 2)):
        at = r.randint(0, len(s))
        s = s[:at] + r.choice(["", ",", ":", "{", "]", "}", "x", "\"", "\\", "\\u12", "\\ud800", "\\u0000", "1", "-", ".", "e", "\n", "\x01", "tru", "\u00e9"]) + s[at + r.randint(0, 2):]
    return s


def path(r):
    return "array[" + ", ".join(quoted(r.choice(KEYS + INDEXES)) for _ in range(r.randint(0, 3))) + "]::text[]"


def jsonb(r, depth):
    k = r.random()
    if depth == 0 or k < 0.15:
        return "b" if r.random() < 0.6 else quoted(document(r, 2)) + "::jsonb"
    v = f"({jsonb(r, depth - 1)})"
    return r.choice([
        lambda: f"{v} -> {quoted(r.choice(KEYS))}", lambda: f"{v} -> ({r.choice(INDEXES)})", lambda: f"{v} #> {path(r)}", lambda: f"{v} || ({jsonb(r, depth - 1)})",
        lambda: f"{v} - {quoted(r.choice(KEYS))}::text", lambda: f"{v} - ({r.choice(INDEXES)})", lambda: f"{v} - {path(r)}", lambda: f"{v} #- {path(r)}",
        lambda: f"jsonb_set({v}, {path(r)}, {jsonb(r, 0)}, {r.choice(['true', 'false'])})", lambda: f"jsonb_insert({v}, {path(r)}, {jsonb(r, 0)}, {r.choice(['true', 'false'])})",
        lambda: f"jsonb_strip_nulls({v})", lambda: f"jsonb_build_array({v}, j, 1.50)", lambda: f"jsonb_build_object({quoted(r.choice(KEYS))}, {v}, {quoted(r.choice(KEYS))}, id)",
        lambda: f"to_jsonb({text(r, depth - 1)})", lambda: "j::jsonb"])()


def text(r, depth):
    v = f"({jsonb(r, depth)})" if r.random() < 0.6 else "j"
    t = "jsonb" if v != "j" else "json"
    return r.choice([f"{v} ->> {quoted(r.choice(KEYS))}", f"{v} ->> ({r.choice(INDEXES)})", f"{v} #>> {path(r)}", f"{v}::text", f"{t}_typeof({v})", f"{t}_strip_nulls({v})::text",
                     f"{t}_array_length({v})::text", f"({v} -> {quoted(r.choice(KEYS))})::text", f"({v} #> {path(r)})::text",
                     f"jsonb_pretty({v}::jsonb)", f"json_build_object('k', {v}, 'i', id)::text", f"to_json({v}::text)::text"])


def condition(r):
    a, b = f"({jsonb(r, 1)})", f"({jsonb(r, 1)})"
    return r.choice([f"{a} {r.choice(numeric.COMPARE)} {b}", f"{a} @> {b}", f"{a} <@ {b}", f"{a} ? {quoted(r.choice(KEYS))}", f"{a} ?| {path(r)}", f"{a} ?& {path(r)}"])


def statements(r):
    rows = ", ".join(f"({i}, {quoted(document(r, 3))}, {quoted(document(r, 3))})" if r.random() > 0.1 else f"({i}, null, null)" for i in range(r.randint(1, 8)))
    yield "create table t(id int, j json, b jsonb)"
    yield f"insert into t values {rows}"
    for _ in range(12):
        yield f"select {quoted(damaged(r))}::{r.choice(['json', 'jsonb'])}"
    for _ in range(12):
        yield f"select id, {text(r, 2)} from t order by id"
        yield f"select id from t where {condition(r)} order by id"
    yield "select id, b from t order by b, id"
    yield "select count(distinct b), count(*) from t"
    yield "select min(id), count(*) from t group by b order by 1"
    yield "select x.id, y.id from t x join t y on x.b = y.b order by 1, 2"
    yield "select jsonb_agg(b order by id), json_agg(j order by id), jsonb_object_agg(id, b), json_object_agg(id, j order by id) from t"
    yield "select json_agg(x order by id)::jsonb, to_jsonb(array_agg(id order by id)) from t x"
    yield f"select id, e.* from t, jsonb_each({jsonb(r, 1)}) e order by id, e.key"
    yield f"select id, e from t, jsonb_array_elements({jsonb(r, 1)}) e order by id, e"
    yield f"select id, key, value from t, json_each_text(({jsonb(r, 1)})::json) order by id, key"


def story(state, message, detail, context):
    """What is told of a damaged document."""
    return ["error", state, message, detail, next((c for c in context.split("\n") if c.startswith("JSON data")), "")]


def exact(sql):
    return re.match(r"select '.*'::jsonb?$", sql, re.S)


def ask_stele(st, sql):
    if not exact(sql):
        return numeric.ask_stele(st, sql)
    said = st.raw(sql)
    m = re.match(r"ERROR:  (\w{5}): ([^\n]*)", said)
    if not m:
        return ["no error"]
    part = {k: v for k, v in re.findall(r"^(DETAIL|CONTEXT):  (.*?)(?=^[A-Z]+:  |^LINE |\Z)", said, re.M | re.S)}
    return story(m.group(1), m.group(2), part.get("DETAIL", "").rstrip("\n"), part.get("CONTEXT", "").rstrip("\n"))


def ask_postgres(conn, sql):
    if not exact(sql):
        return numeric.ask_postgres(conn, sql)
    try:
        conn.exec(sql)
        return ["no error"]
    except pg.Error as e:
        return story(e.state, e.message, e.fields.get("D", ""), e.context)


if __name__ == "__main__":
    sys.exit(numeric.main(__doc__, statements, ask_stele, ask_postgres))
