#!/usr/bin/env python3
"""Fills the expected results of sqllogictest files with PostgreSQL's answers, so that the expectations are not our own.

usage: record.py FILE.test...      rewrites every file in place

A file consists of records, separated by blank lines (README.md). A paragraph of plain SQL is a record in the making: its statements, each
ended by a semicolon at the end of a line, become `statement ok`, `statement error SQLSTATE` or `query TYPES SORT` according to what
PostgreSQL does. Records that exist already are run again and get new results. Records behind `onlyif stele` are kept as they are; those
behind `skipif stele` run here and not in Stele. `--! message` before a statement records the message of an error too; `--! rowsort` and
`--! nosort` overrule the guess about the order of rows. `--! stele` makes one statement run in Stele only.
"""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "diff"))
import pg  # noqa: E402

INTS = {20, 21, 23}
REALS = {700, 701}
NUMERIC = 1700


def type_letter(t):
    oid, mod = t
    if oid in INTS:
        return "I"
    # The digits of a numeric result are not compared unless its scale is declared or the test says T; its value is.
    if oid in REALS or (oid == NUMERIC and mod < 0):
        return "R"
    return "T"


def outer_order(sql):
    """True when ORDER BY stands outside all parentheses."""
    s = re.sub(r"--[^\n]*", " ", re.sub(r"'(?:[^']|'')*'", "''", sql.lower()))
    depth, out = 0, []
    for ch in s:
        depth += (ch == "(") - (ch == ")")
        out.append(ch if depth == 0 else " ")
    return re.search(r"\border\s+by\b", "".join(out)) is not None


def run(conn, sql, flags, sort=None, had=""):
    """One finished record, as lines. had: its letters until now; a T of a numeric stays, so that its digits count."""
    try:
        r = conn.exec(sql)
    except pg.Error as e:
        text = f" {e.message}" if "message" in flags else ""
        return [f"statement error {e.state}{text}", sql]
    if not r.types:
        return ["statement ok", sql]
    for row in r.rows:
        for v in row:
            if v is not None and ("\n" in v or "\t" in v or (v and not v.strip() and len(row) == 1)):
                raise SystemExit(f"value {v!r} cannot be written in a test: {sql}")
    if sort is None:
        sort = "nosort" if "nosort" in flags or ("rowsort" not in flags and (len(r.rows) < 2 or outer_order(sql))) else "rowsort"
    rows = [["NULL" if v is None else "(empty)" if v == "" else v for v in row] for row in r.rows]
    if sort == "rowsort":
        rows.sort()
    letters = [type_letter(t) for t in r.types]
    if len(had) == len(letters):
        letters = ["T" if h == "T" and t[0] == NUMERIC else x for h, t, x in zip(had, r.types, letters)]
    out = [f"query {''.join(letters)} {sort}", sql, "----"]
    return out + ["\t".join(row) for row in rows]


def split(text):
    """Statements of a bare paragraph, each with its flags and the comments before it."""
    flags, lines, notes = set(), [], []
    for line in text:
        m = re.match(r"^--!\s*(.*)$", line)
        if m:
            flags |= set(m.group(1).split())
        elif line.startswith("--") and not lines:
            notes.append("#" + line[2:])
        else:
            lines.append(line)
            in_body = sum(x.count("$$") for x in lines) % 2 == 1  # a routine's, between dollars
            if line.rstrip().endswith(";") and not in_body:
                yield "\n".join(lines).rstrip().rstrip(";").rstrip(), flags, notes
                flags, lines, notes = set(), [], []
    if lines:
        yield "\n".join(lines), flags, notes
    elif notes:
        yield None, flags, notes


def record(server, path):
    conn = server.connect("template1")
    name = "rec"
    conn.exec(f"drop database if exists {name}")
    conn.exec(f"create database {name} template template0")
    conn.close()
    conn = server.connect(name)
    with open(path, encoding="utf-8") as f:
        paragraphs = re.split(r"\n[ \t]*\n", f.read().strip("\n"))
    out = []
    for p in paragraphs:
        lines = [x for x in p.split("\n")]
        head = []
        while lines and (lines[0].startswith("#") or re.match(r"^(skipif|onlyif|hash-threshold|halt)\b", lines[0])):
            head.append(lines.pop(0))
        if not lines:
            if head:
                out.append("\n".join(head))
            continue
        stele_only = any(re.match(r"^onlyif\s+stele", h) or re.match(r"^skipif\s+postgresql", h) for h in head)
        if stele_only:
            out.append("\n".join(head + lines))
            continue
        first = lines[0]
        if re.match(r"^statement\b", first):
            flags = {"message"} if re.match(r"^statement error \w{5} \S", first) else set()
            out.append("\n".join(head + run(conn, "\n".join(lines[1:]), flags)))
        elif re.match(r"^query\b", first):
            sql = lines[1:]
            if "----" in sql:
                sql = sql[: sql.index("----")]
            words = first.split()
            out.append("\n".join(head + run(conn, "\n".join(sql), set(), words[2] if len(words) > 2 else None, words[1] if len(words) > 1 else "")))
        else:
            for sql, flags, notes in split(lines):
                if sql is None:
                    out.append("\n".join(head + notes))
                elif "stele" in flags:
                    out.append("\n".join(head + notes + ["onlyif stele", "statement ok", sql]))
                else:
                    out.append("\n".join(head + notes + run(conn, sql, flags)))
                head = []
    conn.close()
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n\n".join(out) + "\n")


def forget_files():
    """Files that COPY tests wrote: another user may own them."""
    for f in glob.glob("/tmp/stele_copy_*"):
        os.unlink(f)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    forget_files()
    server = pg.Server()
    try:
        for path in sys.argv[1:]:
            record(server, path)
            print(path)
    finally:
        server.stop()
        forget_files()


main()
