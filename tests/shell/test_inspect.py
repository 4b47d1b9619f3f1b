#!/usr/bin/env python3
"""stele check and stele log: a directory that was saved, one that a kill -9 left, every kind of damage; options; one that is open.

usage: test_inspect.py [--build DIR]      last line: N passed, N failed
"""
import glob
import json
import os
import re
import shutil
import subprocess

from program import Program

P = Program("inspect")
STELE, DIR, sh, check, path, files = P.stele, P.dir, P.sh, P.check, P.path, P.files
MAKE = """create table t (a int primary key, b text);
insert into t select i, 'row ' || i from generate_series(1, 1000) i;
create view v as select * from t;
checkpoint;
insert into t values (2000, 'it''s'), (2001, null);
update t set b = 'set' where a in (1, 2);
delete from t where a = 3;
create sequence s;
select nextval('s');
create schema more;
create table more.u as select * from t;
"""


def crash(name, sql, *options):
    """What a database leaves whose process is killed behind the last statement."""
    sh(name, "--durable", "--quiet", *options, stdin=sql + "\\! kill -9 $PPID\n")


def good():
    sh("saved", "--quiet", stdin=MAKE)
    rc, out, err = sh("check", "saved")
    check("saved", rc == 0 and err == "" and "rows of table public.t" in out and "0 of them not as they should be" in out, (rc, out, err))
    crash("crashed", MAKE)
    before = files("crashed")
    rc, out, err = sh("check", "crashed")
    check("crashed", rc == 0 and err == "" and "redo log with 7 records" in out, (rc, out, err))
    check("all files are named", all(f"  {n}: " in out for n in before), (sorted(before), out))
    check("nothing was written", files("crashed") == before)
    rc, out, _ = sh("check", "crashed", "--quiet")
    check("quiet", (rc, out) == (0, ""), out)
    rc, out, _ = sh("check", "crashed", "--json")
    rows = [json.loads(x) for x in out.splitlines()]
    check("json", rc == 0 and {r["file"] for r in rows} == set(before) | {""} and all(r["state"] == "good" for r in rows), out)


def older():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for source in sorted(glob.glob(os.path.join(root, "tests", "fixtures", "directory-*", "directory"))):
        name = os.path.basename(os.path.dirname(source))
        shutil.copytree(source, path(name))
        rc, out, err = sh("check", name)
        check(f"of an older version: {name}", rc == 0 and err == "" and files(name) == files(source), (rc, out, err))
    for source in sorted(glob.glob(os.path.join(root, "tests", "fixtures", "crashed-*"))):
        name = os.path.basename(source)
        shutil.copytree(os.path.join(source, "directory"), path(name))
        with open(os.path.join(source, "contents.csv"), encoding="utf-8") as f:
            want = f.read()
        rc, out, err = sh("check", name)
        check(f"of an older version: {name}", rc == 0 and err == "", (rc, out, err))
        rc, out, err = sh("log", name)
        check(f"its log: {name}", rc == 0 and "catalog" in out and "rows public.t" in out, (rc, out, err))
        for how in (("--readonly",), ()):
            rc, out, err = sh("--quiet", "--csv", *how, name, "-f", os.path.join(source, "contents.sql"))
            check(f"recovered: {name} {how}", "last" in out if how else (rc, out, err) == (0, want, ""), (rc, out, err))


def unused():
    shutil.copytree(path("crashed"), path("litter"))
    for name in ("g2/77.tab", "g2/1f.catalog", "g2/notes", "g9/catalog", "CURRENT.tmp"):
        os.makedirs(os.path.dirname(path("litter", name)), exist_ok=True)
        with open(path("litter", name), "w") as f:
            f.write("x")
    rc, out, _ = sh("check", "litter")
    check("unused files are no damage", rc == 0, out)
    for name in ("g2/77.tab", "g2/1f.catalog", "g2/notes", "g9/catalog", "CURRENT.tmp"):
        check(f"unused {name}", re.search(rf"^unused +\d+  {re.escape(name)}: ", out, re.M), out)


def damage():
    whole = files("crashed")
    for name, data in whole.items():
        if name == "LOCK":
            continue
        for at in {0, len(data) // 3, len(data) // 2, len(data) - 1}:
            shutil.rmtree(path("broken"), ignore_errors=True)
            shutil.copytree(path("crashed"), path("broken"))
            with open(path("broken", name), "r+b") as f:
                f.seek(at)
                f.write(bytes([data[at] ^ 4]))
            rc, out, err = sh("check", "broken")
            line = re.search(rf"^(damaged|incomplete) +\d+  {re.escape(name)}: .*\n +(.*)", out, re.M)
            check(f"{name} at {at}", rc == 1 and line and name in line.group(2) and "offset" in line.group(2), (rc, out, err))
        os.remove(path("broken", name))
        rc, out, _ = sh("check", "broken", "-q")
        check(f"{name} is missing", rc == 1 and re.search(rf"^missing +0  {re.escape(name)}: ", out, re.M), (rc, out))


def refused():
    rc, out, err = sh("check", "none")
    check("no database", rc == 1 and "58P01" in err, (rc, out, err))
    p = subprocess.Popen([STELE, "crashed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=DIR)
    p.stdin.write(b"select 1;\n")
    p.stdin.flush()
    while b"row" not in p.stdout.readline():
        pass
    for command in ("check", "log"):
        rc, out, err = sh(command, "crashed")
        check(f"{command} of one that is open", rc == 1 and "55006" in err and "HINT" in err, (rc, out, err))
    p.communicate(b"\\q!\n")
    p = subprocess.Popen([STELE, "saved", "--readonly"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=DIR)
    p.stdin.write(b"select 1;\n")
    p.stdin.flush()
    while b"row" not in p.stdout.readline():
        pass
    rc, out, err = sh("check", "saved")
    check("beside one that reads", rc == 0, (rc, out, err))
    p.communicate(b"\\q\n")
    for args in (("check",), ("check", "a", "b"), ("check", "a", "--what"), ("log",), ("log", "a", "--limit"), ("log", "a", "--limit", "0"),
                 ("log", "a", "--from", "12"), ("log", "a", "--from", "0/xyz"), ("log", "a", "b")):
        rc, out, err = sh(*args)
        check(f"options {args}", rc == 2 and "--help" in err, (rc, out, err))
    for command in ("check", "log"):
        rc, out, err = sh(command, "--help")
        check(f"{command} --help", rc == 0 and out.startswith(f"usage: stele {command}"), out)


def log():
    crash("logged", MAKE)
    rc, out, err = sh("log", "logged")
    whose = re.match(r"g2/log of database [0-9a-f]{16}, timeline 1:\n", out)
    check("whose", whose, out)
    parts = [" ".join(x.split()[2:] if "/" in x[:20] else x.split()) for x in out.splitlines()[1:]]
    check("parts", rc == 0 and err == "" and [re.sub(r"[0-9a-f]+(-\d+)?\.(catalog|tab)", r"FILE", p) for p in parts] ==
          ["rows public.t, 2 inserted", "rows public.t, 2 updated", "rows public.t, 1 deleted", "create sequence public.s", "sequence public.s up to 33",
           "create schema more", "create table more.u", "table more.u in FILE"], out)
    rc, out, err = sh("log", "logged", "--verbose")
    check("rows", "insert row (0,1000): a='2000', b='it''s'" in out and "a='2001', b=NULL" in out and out.count("b='set'") == 2 and "delete row (0,2)\n" in out, out)
    places = [json.loads(x) for x in sh("log", "logged", "--json")[1].splitlines()]
    check("json", places[0]["kind"] == "rows" and (places[0]["generation"], places[0]["timeline"]) == (2, 1) and len(places[0]["database"]) == 16 and places[0]["inserted"] == 2 and places[4] == {**places[4], "kind": "sequence", "object": "public.s", "last": 33}, places)
    third = places[2]["lsn"]
    rc, out, err = sh("log", "logged", "--from", third, "--limit", "1")
    check("from and limit", rc == 0 and out.splitlines()[1].split()[0] == third and len(out.splitlines()) == 2, out)
    rc, out, err = sh("log", "logged", "--json", "-v", "--limit", "1")
    check("rows as json", [json.loads(x).get("values") for x in out.splitlines()] == [None, {"a": "2000", "b": "it's"}, {"a": "2001", "b": None}], out)
    rc, out, err = sh("log", "saved")
    check("no log", (rc, out, err) == (0, "", ""), (rc, out, err))
    sh("logged", "--durable", "--quiet", stdin="select 1;")
    rc, out, err = sh("log", "logged")
    check("recovered", (rc, err) == (0, "") and out == "", (rc, out, err))


def timing():
    share = r"^Time: [\d.]+ ms, [\d.]+ ms of it for the redo log$"
    sql = "create table t (a int);\n\\timing on\ninsert into t values (1);\n"
    rc, out, _ = sh("timed", "--durable", "--quiet", stdin=sql)
    check("the log's share of a statement's time", rc == 0 and re.search(share, out, re.M), out)
    rc, out, _ = sh("untimed", "--quiet", stdin=sql)
    check("without a log there is none", rc == 0 and re.search(r"^Time: [\d.]+ ms$", out, re.M), out)
    rc, out, _ = sh("timed", "--durable", "--quiet", stdin="set synchronous_commit = off;\n\\timing on\ninsert into t values (1);\n")
    check("nor where it is not waited for", rc == 0 and re.search(r"^Time: [\d.]+ ms$", out, re.M), out)
    with open(path("calls.csv"), "w") as f:
        f.write("a\n1\n2\n")
    rc, out, err = sh("timed", "--durable", stdin="create procedure put (a int) language plpgsql as $$ begin insert into t values (a); end $$;\n\\timing on\n"
                      "\\bulk put calls.csv\n")
    check("of a bulk", re.search(r"^Time: .* \(footprints .*\), and [\d.]+ ms for the redo log$", out, re.M), (out, err))


P.run([("good", good), ("older", older), ("unused", unused), ("damage", damage), ("refused", refused), ("log", log), ("timing", timing)])
P.end()
