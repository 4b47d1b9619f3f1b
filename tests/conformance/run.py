#!/usr/bin/env python3
"""How much of PostgreSQL 15 is here: the share of statements on which both agree, by feature.

usage: run.py [--build DIR] [--row NAME]... [--verbose] [--floor]     runs rows in Stele and compares with the recorded answers
       run.py --record [--row NAME]...                                asks a private PostgreSQL 15 for the answers

A row is ROW.sql, plain statements that are run one after the other in one session of an empty database, and ROW.jsonl, a line for
each of them with what PostgreSQL answers (README.md). Two answers agree when both are errors with the same SQLSTATE, or both have
the same rows (numbers without a declared scale by their values, to 1e-9) and the same command tag. Of those that agree the table
says how many also have the same error text, and how many are the same to the letter: text, detail and hint of an error; names and
types of columns and all digits of a result.

The exit status is 1 when a row agrees on less than floor.txt says; --floor writes that file from what was found.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import hashlib
import json
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HANG = 120  # seconds without an answer
FLOOR = os.path.join(HERE, "floor.txt")

# What separates statements: a semicolon outside of quotes, dollar quotes and comments.
TOKEN = re.compile(r"""
    --[^\n]*                                      # comments
  | /\*.*?\*/
  | [eE]'(?:[^'\\]|''|\\.)*'                      # strings
  | '(?:[^']|'')*'
  | "(?:[^"]|"")*"
  | \$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$
  | \w+
  | .
""", re.X | re.S)


def statements(row):
    """The statements of a row's file, without comments before them and the semicolon."""
    with open(os.path.join(HERE, row + ".sql"), encoding="utf-8") as f:
        text = f.read()
    out, parts = [], []
    for m in TOKEN.finditer(text):
        word = m.group()
        if word == ";":
            out.append("".join(parts).strip())
            parts = []
        elif parts or not (word.isspace() or word.startswith(("--", "/*"))):
            parts.append(word)
    if "".join(parts).strip():
        raise SystemExit(f"{row}.sql does not end with a semicolon")
    return out


def key(sql):
    """Ties an answer to its statement."""
    return hashlib.sha1(sql.encode()).hexdigest()[:6]


def answers(row):
    with open(os.path.join(HERE, row + ".jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


# ---- answers of PostgreSQL ----------------------------------------------------------------------

def postgres_answer(conn, pg, sql, type_names):
    try:
        r = conn.exec(sql)
    except pg.Error as e:
        out = {"state": e.state, "message": e.message}
        for name, letter in (("detail", "D"), ("hint", "H")):
            if e.fields.get(letter):
                out[name] = e.fields[letter]
        return out
    if not r.names:
        return {"tag": r.tag}
    types = []
    for oid, mod in r.types:
        # types of users may be renamed; those of the system are asked for once
        if oid >= 16384 or (oid, mod) not in type_names:
            type_names[oid, mod] = conn.exec(f"select pg_catalog.format_type({oid}, {mod})").rows[0][0]
        types.append(type_names[oid, mod])
    return {"tag": r.tag, "names": r.names, "types": types, "rows": r.rows}


def record(rows):
    sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))
    import pg
    server = pg.Server()
    try:
        for row in rows:
            admin = server.connect("template1")
            admin.exec('drop database if exists ":memory:"')
            for (role,) in admin.exec("select rolname from pg_roles where oid >= 16384").rows:
                admin.exec(f'drop role "{role}"')
            # the names that Stele has for the user and for a database in memory
            admin.exec("create role stele superuser login")
            admin.exec('create database ":memory:" owner stele template template0')
            version = admin.exec("show server_version_num").rows[0][0]
            admin.close()
            if version[:2] != "15":
                raise SystemExit(f"answers are PostgreSQL 15's; this one is {version}")
            conn, type_names, lines = pg.Conn(f"host={server.dir} user=stele dbname=:memory:"), {}, []
            for sql in statements(row):
                answer = postgres_answer(conn, pg, sql, type_names)
                lines.append(json.dumps({"key": key(sql), **answer}, ensure_ascii=False))
            conn.close()
            with open(os.path.join(HERE, row + ".jsonl"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
            failed = sum('"state"' in line for line in lines)
            print(f"{row}: {len(lines)} statements, {failed} of them errors", flush=True)
    finally:
        server.stop()


# ---- answers of Stele ---------------------------------------------------------------------------

class Stele:
    """A session of an empty database in memory."""

    def __init__(self):
        sys.path.insert(0, os.path.join(ROOT, "python"))
        from stele import _lib
        self.m, self.lib = _lib, _lib.lib
        vp, i64 = ctypes.c_void_p, ctypes.c_int64
        self.lib.stele_step.argtypes = [vp]
        self.lib.stele_column_text.restype = vp
        self.lib.stele_column_text.argtypes = [vp, i64, ctypes.POINTER(i64)]
        db, self.conn = vp(), vp()
        if self.lib.stele_open(b":memory:", None, ctypes.byref(db), None) or self.lib.stele_connect(db, ctypes.byref(self.conn)):
            raise SystemExit("cannot open a database")

    def error(self):
        info = self.m.ErrorInfo()
        self.lib.stele_error(self.conn, ctypes.byref(info))
        out = {"state": info.sqlstate.decode(), "message": (info.message or b"").decode("utf-8", "replace")}
        for name in ("detail", "hint"):
            if getattr(info, name):
                out[name] = getattr(info, name).decode("utf-8", "replace")
        return out

    def value(self, stmt, column):
        n = ctypes.c_int64()
        p = self.lib.stele_column_text(stmt, column, ctypes.byref(n))
        return None if p is None else ctypes.string_at(p, n.value).decode("utf-8", "replace")

    def answer(self, sql):
        raw, stmt = ctypes.create_string_buffer(sql.encode()), ctypes.c_void_p()
        if self.lib.stele_prepare(self.conn, ctypes.addressof(raw), len(raw) - 1, ctypes.byref(stmt), None):
            return self.error()
        if not stmt:
            return {"tag": ""}
        try:
            rows = []
            while (status := self.lib.stele_step(stmt)) == self.m.ROW:
                rows.append([self.value(stmt, k) for k in range(self.lib.stele_column_count(stmt))])
            if status != self.m.DONE:
                return self.error()
            out = {"tag": self.lib.stele_command_tag(stmt).decode()}
            width = self.lib.stele_column_count(stmt)
            if width:
                out["names"] = [self.lib.stele_column_name(stmt, k).decode() for k in range(width)]
                out["types"] = [self.lib.stele_column_type(stmt, k).decode() for k in range(width)]
                out["rows"] = rows
            return out
        finally:
            self.lib.stele_finalize(stmt)


def child(row, skip):
    """Prints Stele's answers, a line each; a process of its own, so that a crash is an answer too."""
    db = Stele()
    for i, sql in enumerate(statements(row)):
        answer = {"state": "crash", "message": "the process ends or hangs"} if i in skip else db.answer(sql)
        print(json.dumps(answer), flush=True)
    os._exit(0)


def stele_answers(row, build):
    """Starts again without a statement that ended the process."""
    count, skip = len(statements(row)), set()
    env = dict(os.environ, STELE_LIBRARY=os.path.join(os.path.abspath(build), "release", "libstele.so.0"), PGTZ="UTC")
    while True:
        cmd = [sys.executable, os.path.abspath(__file__), "--child", row, "--skip", ",".join(map(str, skip))]
        p = subprocess.Popen(cmd, env=env, stdout=subprocess.PIPE, text=True)
        got = []
        try:
            text, _ = p.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            p.kill()
            text, _ = p.communicate()
        got = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        if len(got) == count:
            return got
        skip.add(len(got))
        if len(skip) > 20:
            raise SystemExit(f"{row}: the process ended with {p.returncode} at more than 20 statements")


# ---- comparison ---------------------------------------------------------------------------------

NUMBERS = {"numeric", "real", "double precision"}


def same_value(a, b, number):
    if a == b or not number or a is None or b is None:
        return a == b
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=0.0) or (math.isnan(x) and math.isnan(y))


def same_rows(want, got, types):
    number = [t in NUMBERS for t in types]
    return len(want) == len(got) and all(
        len(w) == len(g) and all(same_value(a, b, n) for a, b, n in zip(w, g, number)) for w, g in zip(want, got))


def ordered(sql):
    """Whether ORDER BY stands outside of all parentheses."""
    depth, words = 0, []
    for m in TOKEN.finditer(sql.lower()):
        depth += (m.group() == "(") - (m.group() == ")")
        if depth == 0 and m.group().isidentifier():
            words.append(m.group())
    return ("order", "by") in zip(words, words[1:])


def compare(sql, want, got):
    """What is different, or "" when both agree, and how far: message and letter."""
    if "state" in want or "state" in got:
        if "state" not in want:
            return "refused", False, False
        if "state" not in got:
            return "accepted", False, False
        if want["state"] != got["state"]:
            return "sqlstate", False, False
        message = want["message"] == got["message"]
        return "", message, message and all(want.get(k) == got.get(k) for k in ("detail", "hint"))
    if ("rows" in want) != ("rows" in got):
        return "result", False, False
    rows, mine = want.get("rows", []), got.get("rows", [])
    types = want.get("types", [])
    if not ordered(sql):
        rows, mine = (sorted(r, key=lambda x: [(v is None, v or "") for v in x]) for r in (rows, mine))
    if want["tag"] != got["tag"] or not same_rows(rows, mine, types):
        return "result", False, False
    return "", True, rows == mine and all(want.get(k) == got.get(k) for k in ("names", "types"))


def shown(answer):
    if "state" in answer:
        more = "".join(f"\n           {k}: {answer[k]}" for k in ("detail", "hint") if k in answer)
        return f"{answer['state']}: {answer['message']}{more}"
    if "rows" not in answer:
        return answer["tag"]
    head = ", ".join(f"{n} {t}" for n, t in zip(answer["names"], answer["types"]))
    lines = ["|".join("NULL" if v is None else v for v in row) for row in answer["rows"][:20]]
    return f"{answer['tag']} ({head})" + "".join("\n           " + x for x in lines)


def run_row(row, build, verbose):
    """Counts of a row, and what to print of it."""
    sqls, want = statements(row), answers(row)
    if [key(s) for s in sqls] != [w["key"] for w in want]:
        raise SystemExit(f"{row}.jsonl is not of these statements: run.py --record --row {row}")
    count = dict.fromkeys(["statements", "agree", "errors", "messages", "letter", "refused", "accepted", "sqlstate", "result"], 0)
    said = []
    for i, (sql, w, g) in enumerate(zip(sqls, want, stele_answers(row, build)), 1):
        what, message, letter = compare(sql, w, g)
        count["statements"] += 1
        count[what or "agree"] += 1
        if not what:
            count["errors"] += "state" in w
            count["messages"] += "state" in w and message
            count["letter"] += letter
        if what or (verbose > 1 and not letter):
            said.append(f"{row} {i} [{what or 'letter'}] {sql};\n    wanted {shown(w)}\n    got    {shown(g)}")
    return count, said


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def line(name, c, floor=None):
    mark = "" if floor is None or percent(c["agree"], c["statements"]) >= floor else f"  below {floor:.1f}"
    return (f"{name:24}{c['statements']:6}{c['agree']:7}{percent(c['agree'], c['statements']):7.1f}{percent(c['messages'], c['errors']):10.1f}"
            f"{percent(c['letter'], c['agree']):8.1f}{c['refused']:9}{c['accepted']:9}{c['sqlstate']:9}{c['result']:7}{mark}")


def read_floor():
    if not os.path.exists(FLOOR):
        return {}
    with open(FLOOR, encoding="utf-8") as f:
        return {x.split()[0]: float(x.split()[1]) for x in f if x.strip() and not x.startswith("#")}


def write_floor(shares):
    with open(FLOOR, "w", encoding="utf-8") as f:
        f.write("# The share of statements, in percent, below which run.py fails; run.py --floor writes it.\n")
        f.writelines(f"{row} {share:.1f}\n" for row, share in sorted(shares.items()))


def run(rows, o):
    floor, total, shares, below = read_floor(), {}, {}, 0
    print(f"{'':24}{'number':>6}{'agree':>7}{'%':>7}{'messages':>10}{'letter':>8}{'refused':>9}{'accepted':>9}{'sqlstate':>9}{'result':>7}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for row, (count, said) in zip(rows, pool.map(lambda row: run_row(row, o.build, o.verbose), rows)):
            if said and o.verbose:
                print("\n".join(said), flush=True)
            print(line(row, count, floor.get(row)), flush=True)
            # rounded down, so that the share that was written is never above the one that was found
            shares[row] = math.floor(10 * percent(count["agree"], count["statements"])) / 10
            below += shares[row] < floor.get(row, 0.0)
            total = {k: total.get(k, 0) + n for k, n in count.items()}
    print(line("total", total))
    if o.floor:
        write_floor({**floor, **shares})
    elif below:
        print(f"{below} of {len(rows)} rows agree on less than floor.txt says")
        return 1
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build"), help="where make has built Stele")
    p.add_argument("--row", action="append", help="only this row; may be repeated")
    p.add_argument("--record", action="store_true", help="ask PostgreSQL 15 for the answers, and write them")
    p.add_argument("--verbose", "-v", action="count", default=0, help="print what differs; twice: also what is not the same to the letter")
    p.add_argument("--floor", action="store_true", help="write the shares found as those to keep")
    p.add_argument("--child", help=argparse.SUPPRESS)
    p.add_argument("--skip", default="", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.child:
        return child(o.child, {int(x) for x in o.skip.split(",") if x})
    rows = o.row or sorted(os.path.splitext(os.path.basename(f))[0] for f in glob.glob(os.path.join(HERE, "*.sql")))
    return record(rows) if o.record else run(rows, o)


if __name__ == "__main__":
    sys.exit(main())
