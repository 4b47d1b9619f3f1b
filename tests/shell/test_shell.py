#!/usr/bin/env python3
"""The shell as users drive it: options, formats, backslash commands, errors, exit codes, Ctrl-C, database directories.

usage: test_shell.py [--build DIR]      last line: N passed, N failed
"""
import json
import os
import re
import signal
import subprocess

from program import Program

P = Program("shell")
STELE, DIR, sh, check = P.stele, P.dir, P.sh, P.check


def path(name, text=None):
    p = os.path.join(DIR, name)
    if text is not None:
        with open(p, "w") as f:
            f.write(text)
    return p


def bulks():
    setup = ("create table acc(id int primary key, bal bigint not null); insert into acc select i, 100 from generate_series(1, 3) g(i);"
             "create procedure pay(a int, m bigint, out now bigint) language plpgsql as $$ begin update acc set bal = bal - m where id = a returning bal into now; "
             "if now < 0 then raise exception 'short of %', -now; end if; end $$;\n")
    calls = path("calls.csv", '1,60\n1,"60"\n2,1\n3,\n')
    rc, out, err = sh("-f", path("bulk.sql", setup + f"\\bulk pay {calls}\nselect sum(bal) from acc;\n"), "--csv")
    check("\\bulk", re.search(r'^call,sqlstate,message,now\n1,,,40\n2,P0001,short of 20,\n3,,,99\n4,23502,"null value in .*",\nBULK 4, 2 failed \(vm, kset, d 2, w0 3, c 0\)$', out, re.M) and out.endswith("sum\n239\n") and "call 2: ERROR:  P0001: short of 20" in err, (rc, out, err))
    take = ("create table counter(c int primary key, n int not null); insert into counter values (1, 0), (2, 0); create table ticket(id int primary key, k int);"
            "create procedure next_id(k int, fails boolean, out id int) language plpgsql as $$ begin update counter set n = n + 1 where c = k returning n into id; if fails then raise exception 'late'; end if; insert into ticket values (id, k); end $$;\n")
    numbers, late = path("numbers.csv", "2,f\n" * 300), path("late.csv", "2,f\n" * 299 + "2,t\n")
    rc, out, err = sh("--timing", "-f", path("bulk.sql", take + f"\\bulk next_id {numbers}\n"), "--csv")
    check("\\bulk: numbers of one counter in one set", "\n300,,,300\nBULK 300, 0 failed (vm, kset, d 1, w0 300, c 0)" in out and "take from one counter do so beside each other" in out, (rc, out, err))
    rc, out, err = sh("--timing", "-f", path("bulk.sql", take + f"\\bulk next_id {late}\n" + "".join(f"\\bulk next_id {numbers}\n" for _ in range(2))), "--csv")
    check("\\bulk: a number that is not taken after all", "BULK 300, 1 failed (vm, kset, d 300" in out and "was undone" in out and out.count("d 300") == 3, (rc, out, err))
    bad = path("bad.csv", "1,5\n2,x\n")
    rc, out, err = sh("-f", path("bulk.sql", setup + f"\\bulk pay {bad}\nselect sum(bal) from acc;\n"), "--csv")
    check("\\bulk with a bad value", rc == 0 and '1,,,95\n2,22P02,"invalid input syntax for type bigint: ""x""",\nBULK 2, 1 failed' in out and out.endswith("sum\n295\n") and "call 2: ERROR:  22P02" in err, (rc, out, err))
    bad = path("bad.csv", "y,5\n1,5\n99999999999,1\n2,6\n3,z\n")
    rc, out, err = sh("-f", path("bulk.sql", setup + f"\\bulk pay {bad}\n"), "--csv")
    check("\\bulk with bad values around", re.search(r"\n1,22P02,.*,\n2,,,95\n3,22003,.*,\n4,,,94\n5,22P02,.*,\nBULK 5, 3 failed", out), (rc, out, err))
    short = path("short.csv", "1,5\n2\n")
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", "-f", path("bulk.sql", setup + f"\\bulk pay {short}\nselect sum(bal) from acc;\n"), "--csv")
    check("\\bulk with a line of other fields", rc == 3 and "line 2: 1 fields, but the procedure takes 2" in err and "BULK" not in out, (rc, out, err))
    more = "create procedure pay(a text) language plpgsql as $$ begin insert into acc values (length(a), 1); end $$;\n"
    words = path("words list.csv", "abcd\nef\n")
    text = setup + more + f"\\bulk 'pay(int, bigint)' {calls} bulk_order=any bulk_strategy=tpl\nshow bulk_order;\n\\bulk pay(text) '{words}'\n"
    rc, out, err = sh("-f", path("bulk.sql", text), "--csv")
    check("\\bulk of one of two, with settings", rc == 0 and "(vm, tpl, d " in out and "bulk_order\ntimestamp\n" in out and "call,sqlstate,message\n2,23505," in out and "BULK 2, 1 failed (vm, kset" in out, (rc, out, err))
    for line, what in ((f"pay {calls}", "42725"), (f"pay(text) {calls} nope=1", "42704"), (f"pay(text) {calls} bulk_order=what", "22023"), (f"pay(text) {calls} what", "SETTING=VALUE"), ("pay(text)", "needs a procedure")):
        rc, out, err = sh("-v", "ON_ERROR_STOP=1", "-f", path("bulk.sql", setup + more + f"\\bulk {line}\nshow bulk_order;\n"), "--csv")
        check(f"\\bulk {what}", rc == 3 and what in err and "BULK" not in out, (rc, out, err))
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", "-f", path("bulk.sql", setup + "\\bulk pay /nowhere/calls.csv\n"))
    check("\\bulk without a file", rc == 3 and "/nowhere/calls.csv" in err, (rc, err))
    # A hot row: amounts that are exact for the column are added at once; those that are not are written, one after the other.
    hot = "set bulk_slice = 0; create table hot(id int primary key, sum numeric(12,2)); insert into hot values (1, 0); create procedure add(h numeric) language plpgsql as $$ begin update hot set sum = sum + h where id = 1; end $$;\n"
    exact, odd = path("exact.csv", "1.25\n" * 10000), path("odd.csv", ("1.25\n" * 99 + "1.255\n") * 100)
    rc, out, err = sh("-f", path("hot.sql", hot + f"\\bulk add {exact}\nselect sum from hot;\n\\bulk add {odd}\nselect sum from hot;\n"), "--csv")
    check("\\bulk of additions", "BULK 10000, 0 failed (vm, kset, d 1, w0 10000, c 0)\nsum\n12500.00\n" in out and "d 200, w0 99, c 0)\nsum\n25001.00\n" in out, (rc, out[-400:], err))
    # Rows that differ in all unique keys do not wait for each other; the depth is that of those that share one, or of a delete by one of them.
    keys = ("set bulk_slice = 0; create table u(id int primary key, email text unique, v int); create procedure add(i int, e text) language plpgsql as $$ begin insert into u values (i, e, 0); end $$;"
            "create procedure gone(i int) language plpgsql as $$ begin delete from u where id = i; end $$;\n")
    rows, same, ids = path("rows.csv", "".join(f"{i},user{i}\n" for i in range(10000))), path("same.csv", "20001,a\n20002,b\n20003,a\n20003,c\n20004,\n20005,\n"), path("ids.csv", "".join(f"{i}\n" for i in range(5000)))
    rc, out, err = sh("-f", path("bulk.sql", keys + f"\\bulk add {rows}\n\\bulk add {same}\n\\bulk gone {ids}\nselect count(*) from u;\n"), "--csv")
    check("\\bulk with two unique keys", [x for x in out.split("\n") if x.startswith("BULK")] == ["BULK 10000, 0 failed (vm, kset, d 1, w0 10000, c 0)", "BULK 6, 1 failed (vm, kset, d 3, w0 4, c 0)", "BULK 5000, 0 failed (vm, kset, d 1, w0 5000, c 0)"]
          and out.endswith("count\n5005\n"), (rc, out[-300:], err))
    # Locks by statement: a bulk that has to be undone after many that had not is the only one; another one soon after it, and the next ones do without.
    good, bad = path("good.csv", "1,1\n1,2\n2,1\n"), path("bad.csv", "1,1\n1,0\n2,1\n")
    text = ("set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set bulk_order = 'any'; create table part(id int primary key, sold bigint not null); "
            "insert into part values (1, 0), (2, 0); create procedure sell(k int, y int, out done int) language plpgsql as $$ begin done := 0; "
            "for i in 1 .. 3 loop update part set sold = sold * 2 % 1000 + 1 where id = k; done := done + i; end loop; done := done / y; end $$;\n\\timing on\n")
    text += "".join(f"\\bulk sell {file}\n" for file in [good] * 18 + [bad, good, bad, good])
    rc, out, err = sh("-f", path("bulk.sql", text), "--csv")
    why = re.findall(r"^Strategy: tpl: (.*)\.$", out, re.M)
    by_statement, undone = "calls with loops: locks are given up statement by statement", "a call failed after it had given up locks: the bulk was undone and run again, with locks held to the end of calls"
    check("bulks that are undone", why == [by_statement] * 18 + [undone, by_statement, undone, "locks are held to the end of calls: lately a bulk had to be undone"], (why, err))
    # A queue's rows are taken by all calls at a time: the bulk is not undone. When a call fails behind that it is, and the next ones do without, by statement all the same.
    file = path("take.csv", "".join(f"{k % 4},0\n" for k in range(1, 401)))
    bad = path("take_bad.csv", "".join(f"{k % 4},{k // 400}\n" for k in range(1, 401)))
    text = ("set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set bulk_order = 'any'; set bulk_release = 'statement'; create table q(g int, k int, primary key (g, k)); create table job(g int, k int, n int not null, primary key (g, k)); "
            "create table done(g int primary key, n int not null); insert into q select g, k from generate_series(0, 3) a(g), generate_series(1, 1000) b(k); insert into job select g, k, 1 from q; insert into done select g, 0 from generate_series(0, 3) a(g);\n"
            "create procedure take(p_g int, bad int) language plpgsql as $$ declare o int; x int; at int; begin for i in 1 .. 2 loop at := (p_g + i) % 4; select k into o from q where g = at order by k limit 1; continue when o is null; delete from q where g = at and k = o; "
            "select n into x from job where g = at and k = o; update job set n = -x where g = at and k = o; update done set n = n + x where g = at; end loop; if bad = 1 then raise exception 'bad'; end if; end $$;\n\\timing on\n")
    text += "".join(f"\\bulk take {f}\n" for f in (file, file, bad, file)) + "select (select count(*) from q), (select sum(n) from done), (select sum(n) from job);\n"
    rc, out, err = sh("-f", path("bulk.sql", text), "--csv")
    why = re.findall(r"^Strategy: tpl: (.*)\.$", out, re.M)
    queue = by_statement + ", and rows of a queue are taken by all at a time"
    check("bulks that take from a queue", why[:2] == [queue] * 2 and "takes from a queue failed" in why[2] and why[3:] == [by_statement] and "\n802,3198,-2396\n" in out, (out, err))
    # What a loop's footprint says once counts once, also where the body says it under an IF that the footprint does not have, in loops in loops, or in a loop over rows: else the bulk is undone.
    file = path("once.csv", "".join(f"{k},{k % 8}\n" for k in range(2000)))
    text = ("set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set bulk_order = 'any'; set bulk_release = 'statement'; create table ctr(a int primary key, nx int not null); "
            "create table t(a int, b int, c int, v int, primary key (a, b, c)); create table l(n int, k int, s bigint, primary key (n, k)); insert into ctr select i, 5 from generate_series(0, 7) g(i);\n"
            "create procedure once(n int, x int) language plpgsql as $$ declare q int; s bigint; begin update ctr set nx = nx + 1 where a = x returning nx into q; insert into t values (x, 1, q, n); "
            "for k in 1 .. 3 loop select sum(t.v) into s from t where t.a = x and t.b = 1 and t.v < 100; insert into l values (n, k, s); end loop; "
            "for k in 1 .. 2 loop if q > 3 then insert into t values (x, 2, q * 10 + k, n); end if; end loop; "
            "for i in 1 .. 2 loop for k in 1 .. 2 loop if q > 4 then insert into t values (x, 3, q * 100 + i * 10 + k, n); end if; end loop; end loop; "
            "select count(*) into s from t where a = x and b between 2 and 3; end $$;\n\\timing on\n")
    rc, out, err = sh("-f", path("bulk.sql", text + f"\\bulk once {file}\nselect (select count(*) from t), (select count(*) from l);\n"), "--csv")
    check("bulks whose loops say once what they need", re.findall(r"^Strategy: tpl: (.*)\.$", out, re.M) == [by_statement] and "\n14000,6000\n" in out, (out, err))


def options():
    rc, out, err = sh("-c", "select 1 as a, 'x' as b, null as c")
    check("-c", rc == 0 and " a | b |  c" in out and "1 | x | NULL" in out and "(1 row)" in out, (rc, out, err))
    rc, out, err = sh("-c", "create table t(a int)", "-c", "insert into t values (1), (2)", "-c", "select count(*) from t", "--csv")
    check("several -c", rc == 0 and out == "CREATE TABLE\nINSERT 0 2\ncount\n2\n", (rc, out, err))
    rc, out, err = sh("-c", "select 1; select 2;", "--csv")
    check("two statements in -c", rc == 0 and out == "?column?\n1\n?column?\n2\n", (rc, out))
    rc, out, err = sh("-f", path("f.sql", "create table t(a int);\ninsert into t\nvalues (5);\nselect a -- c;\nfrom t;\n"), "--csv", "--quiet")
    check("-f", rc == 0 and out == "a\n5\n", (rc, out, err))
    rc, out, err = sh("-f", "-", "--csv", stdin="select 3;")
    check("-f -", rc == 0 and out.endswith("3\n"), (rc, out, err))
    rc, out, err = sh("-f", path("none.sql"))
    check("-f of a missing file", rc == 1 and "none.sql" in err, (rc, err))
    rc, out, err = sh("--csv", stdin="select 7 as x;\nselect 8 as y")
    check("standard input, no last semicolon", rc == 0 and out == "x\n7\ny\n8\n", (rc, out))
    rc, out, err = sh("--version")
    check("--version", rc == 0 and out.startswith("stele "), out)
    rc, out, err = sh("--help")
    check("--help", rc == 0 and "usage" in out, out)
    rc, out, err = sh("--nonsense")
    check("bad option", rc == 2 and "nonsense" in err, (rc, err))
    rc, out, err = sh("--threads", "1", "--memory-limit", "100000000", "-c", "select 1", "--csv")
    check("--threads, --memory-limit", rc == 0 and out == "?column?\n1\n", (rc, out, err))


def formats():
    sql = "select 1 as i, 'a,\"b' as t, null as n, true as b, 1.50 as d, '' as e"
    rc, out, _ = sh("--csv", "-c", sql)
    check("--csv", out == 'i,t,n,b,d,e\n1,"a,""b",,t,1.50,""\n' or out == 'i,t,n,b,d,e\n1,"a,""b",,t,1.5,""\n', out)
    rc, out, _ = sh("--json", "-c", sql)
    try:
        check("--json", json.loads(out) == [{"i": 1, "t": 'a,"b', "n": None, "b": True, "d": 1.5, "e": ""}], out)
    except ValueError:
        check("--json", False, out)
    rc, out, _ = sh("--json", "-c", "select 'NaN'::float8 as x, 'a\tb\\' as s union all select 1, 'é'")
    try:
        check("--json special values", len(json.loads(out)) == 2, out)
    except ValueError:
        check("--json special values", False, out)
    rc, out, _ = sh("--json", "-c", "select 1 where false")
    check("--json empty", out.strip() and json.loads(out) == [], out)
    rc, out, _ = sh("--markdown", "-c", "select 1 as i, 'a|b' as t")
    check("--markdown", out == "| i | t |\n| ---: | --- |\n| 1 | a\\|b |\n", out)
    rc, out, _ = sh(stdin="\\format csv\nselect 1 as a;\n\\format json\nselect 1 as a;\n\\format nope\n")
    check("\\format", rc == 0 and out.startswith("a\n1\n[") and "nope" in _, (out, _))
    rc, out, _ = sh(stdin="\\null -\nselect null as a;\n\\x\nselect 1 as a, 'b' as bb;\n\\x off\nselect 2 as a;\n")
    check("\\null, \\x", " -" in out and "RECORD 1" in out and "bb | b" in out and "(1 row)" in out, out)


def commands():
    setup = "create table t(a int primary key, b text not null default 'x', c numeric(8,2) unique);\ncreate view v as select a from t;\ninsert into t values (1, 'y', 2);\n"
    rc, out, err = sh("--quiet", stdin=setup + "\\d\n")
    check("\\d", " t " in out and "view" in out and " v " in out, (out, err))
    rc, out, err = sh("--quiet", stdin=setup + "\\dt\n")
    check("\\dt", " t " in out and " v " not in out, out)
    rc, out, err = sh("--quiet", stdin=setup + "\\d t\n")
    check("\\d t", "numeric(8,2)" in out and "not null" in out and "PRIMARY KEY" in out and "UNIQUE" in out and "'x'" in out, out)
    check("\\d t has no options", "Options" not in out, out)
    rc, out, err = sh("--quiet", stdin="create table o(a int) with (fillfactor = 70, expected_rows = 1000000);\n\\d o\n")
    check("\\d o", "\nOptions: expected_rows=1000000\n" in out, out)
    rc, out, err = sh("--quiet", stdin=setup + "\\d v\n")
    check("\\d v", "integer" in out, (out, err))
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", stdin="\\d nope\n")
    check("\\d nope", rc == 3 and '"nope"' in err, (rc, err))
    rc, out, err = sh(stdin="\\d\n")
    check("\\d of nothing", rc == 0 and "Did not find any relations." in err, (out, err))
    rc, out, err = sh(stdin="\\df substr\n")
    check("\\df", "substr" in out, out)
    rc, out, err = sh(stdin="\\?\n")
    check("\\?", "\\copy" in out and "\\timing" in out, out)
    rc, out, err = sh("--csv", stdin="\\timing on\nselect 1;\n\\timing off\nselect 2;\n")
    check("\\timing", out.count("Time: ") == 1 and "Timing is on." in out and "Timing is off." in out, out)
    rc, out, err = sh("--timing", "--csv", "-c", "select 1")
    check("--timing", "Time: " in out, out)
    o = path("out.csv")
    rc, out, err = sh("--csv", stdin=f"\\o {o}\nselect 1 as a;\n\\o\nselect 2 as b;\n")
    check("\\o", out == "b\n2\n" and open(o).read() == "a\n1\n", (out, err))
    i = path("inc.sql", "select 11 as inc;\n")
    rc, out, err = sh("--csv", stdin=f"\\i {i}\nselect 12 as after;\n")
    check("\\i", out == "inc\n11\nafter\n12\n", (out, err))
    loop = path("loop.sql")
    path("loop.sql", f"\\i {loop}\n")
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", stdin=f"\\i {loop}\n")
    check("\\i of itself ends", rc == 3 and "deeply" in err, (rc, err))
    rc, out, err = sh("--csv", "--quiet", stdin=f"create table t(a int, b text);\ninsert into t values (1, 'x'), (2, null);\n\\copy t to '{path('c.csv')}' with (format csv)\n"
                      f"create table u(a int, b text);\n\\copy u from '{path('c.csv')}' with (format csv)\nselect * from u;\n")
    check("\\copy", open(path("c.csv")).read() == "1,x\n2,\n" and out.endswith("a,b\n1,x\n2,\n"), (out, err))
    rc, out, err = sh("--csv", "--quiet", stdin="create table t(a int, b text);\ninsert into t values (1, 'x');\ncopy t to stdout;\n")
    check("COPY TO STDOUT", "1\tx\n" in out, (out, err))
    rc, out, err = sh(stdin="\\echo hello world\n\\q\nselect 1;\n")
    check("\\echo, \\q", out == "hello world\n", out)
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", stdin="\\nope\n")
    check("unknown command", rc == 3 and "\\nope" in err, (rc, err))


def errors():
    rc, out, err = sh("-c", "select nope")
    check("error: exit code and text", rc == 1 and "42703" in err and 'column "nope" does not exist' in err, (rc, err))
    lines = err.split("\n")
    at = next((i for i, x in enumerate(lines) if x.startswith("LINE 1: ")), -1)
    check("error: caret", at >= 0 and lines[at + 1].index("^") == lines[at].index("nope"), err)
    rc, out, err = sh("-c", "select 'é日', 1,\n  nope + 1\nfrom (select 1) x")
    lines = err.split("\n")
    at = next((i for i, x in enumerate(lines) if x.startswith("LINE 2: ")), -1)
    check("error: caret on line 2", at >= 0 and lines[at + 1].index("^") == lines[at].index("nope"), err)
    rc, out, err = sh("-c", "select 'é日', nope")
    lines = err.split("\n")
    at = next((i for i, x in enumerate(lines) if x.startswith("LINE 1: ")), -1)
    check("error: caret behind wide characters", at >= 0 and lines[at + 1].rstrip().endswith("^") and lines[at + 1].index("^") == lines[at].index("nope") + 1, err)
    rc, out, err = sh("-c", "selec 1", "-c", "select 2")
    check("-c goes on behind one that failed", rc == 0 and "2" in out and "42601" in err, (rc, out, err))
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", "-c", "selec 1", "-c", "select 2")
    check("-c stops with ON_ERROR_STOP", rc == 1 and out == "" and "42601" in err, (rc, out, err))
    rc, out, err = sh("-f", path("e.sql", "select 1/0;\nselect 2;\n"), "--csv")
    check("-f goes on after an error", rc == 0 and out.endswith("2\n") and "22012" in err, (rc, out, err))
    rc, out, err = sh("-v", "ON_ERROR_STOP=1", "-f", path("e.sql"), "--csv")
    check("-f stops with ON_ERROR_STOP", rc == 3 and out == "" and "22012" in err, (rc, out, err))
    rc, out, err = sh("--csv", stdin="select 1/0;\nselect 2 as a;\n")
    check("standard input goes on after an error", rc == 0 and out == "a\n2\n", (rc, out, err))
    text = "select 1 / (90000 - i) as a from generate_series(1, 300000) g(i);\n\\echo :ERROR :SQLSTATE :ROW_COUNT\nselect 2 as a;\n\\echo :ROW_COUNT\n"
    rc, out, err = sh(stdin=text)
    check("an error in the middle of a result comes behind the rows before it", out.startswith(" a \n---\n 0\n 0\n") and "true 22012 0\n" in out and "22012" in err and out.endswith("(1 row)\n\n1\n") and out.count("row)") == 1 and "rows)" not in out, (out[-300:], err))
    rc, out, err = sh("--csv", stdin="select i from generate_series(1, 300000) g(i);\n\\echo :ROW_COUNT\n")
    check("a large result streams", out == "i\n" + "".join(f"{i}\n" for i in range(1, 300001)) + "300000\n" and not err, (out[-300:], err))
    rc, out, err = sh("-c", "select 1; select 1/0; select 3", "--csv")
    check("statements after an error in -c do not run", rc == 1 and out == "?column?\n1\n", (rc, out))
    rc, out, err = sh("--csv", stdin="begin;\nselect 1/0;\nselect 1;\nrollback;\nselect 5 as a;\n")
    check("failed transaction", "25P02" in err and out.endswith("a\n5\n"), (out, err))


def interrupt():
    """SIGINT ends a script: sent when its statement says that it runs."""
    p = subprocess.Popen([STELE, "--csv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=DIR, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    p.stdin.write(b"create function f() returns int language plpgsql as $$ begin raise notice 'it runs'; loop end loop; end $$;\nselect f();\n\\echo after\n")
    p.stdin.flush()
    while (line := p.stderr.readline()) and b"it runs" not in line:
        pass
    p.send_signal(signal.SIGINT)
    try:
        out, err = (x.decode() for x in p.communicate(timeout=600))
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = "", "timed out: " + p.communicate()[1].decode()
    check("SIGINT cancels the statement", "57014" in err, err)
    check("SIGINT ends the script", p.returncode == 130 and "after" not in out, (p.returncode, out))


def directories():
    d = path("db1")
    rc, out, err = sh(d, "--quiet", "-c", "create table t(a int primary key, b text, c numeric(10,2), d date)", "-c", "insert into t select g, 'row ' || g, g / 4.0, date '2020-01-01' + g from generate_series(1, 100000) g",
                      "-c", "create view v as select count(*) as n from t", "-c", "delete from t where a % 10 = 0", "-c", "update t set b = null where a = 1")
    check("directory: made", rc == 0 and os.path.isdir(d), (rc, out, err))
    rc, out, err = sh(d, "--csv", "-c", "select count(*), sum(a::bigint), sum(c), min(d), count(b) from t", "-c", "select n from v")
    check("directory: read again", rc == 0 and out == "count,sum,sum,min,count\n90000,4500000000,1125000000.00,2020-01-02,89999\nn\n90000\n", (rc, out, err))
    rc, out, err = sh(d, "-c", "insert into t values (1, 'dup', 0, null)")
    check("directory: keys survive", rc == 1 and "23505" in err, (rc, err))
    rc, out, err = sh(d, "--csv", "--quiet", stdin="begin;\ndelete from t;\n")
    rc, out, err = sh(d, "--csv", "-c", "select count(*) from t")
    check("directory: open transaction is rolled back", out == "count\n90000\n", (out, err))
    rc, out, err = sh(d, "--quiet", "-c", "drop view v", "-c", "drop table t")
    rc, out, err = sh(d, "--csv", "-c", "select count(*) from t")
    check("directory: drop survives", rc == 1 and "42P01" in err, (rc, out, err))
    d2 = path("db2")
    p = subprocess.Popen([STELE, d2, "--csv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    p.stdin.write(b"create table t(a int);\ninsert into t values (1);\n\\echo ready\n")
    p.stdin.flush()
    while b"ready" not in p.stdout.readline():
        pass
    rc, out, err = sh(d2, "-c", "select 1")
    check("directory: second process refused", rc == 1 and "55006" in err, (rc, out, err))
    p.stdin.write(b"checkpoint;\ninsert into t values (2);\n\\echo saved\n")
    p.stdin.flush()
    while True:
        line = p.stdout.readline()
        if b"saved" in line or not line:
            break
    p.kill()
    p.wait()
    rc, out, err = sh(d2, "--csv", "-c", "select count(*) >= 1 as ok from t")
    check("directory: after a kill the last checkpoint is there", rc == 0 and out == "ok\nt\n", (rc, out, err))
    files = [os.path.join(r, f) for r, _, fs in os.walk(d2) for f in fs]
    big = max(files, key=os.path.getsize)
    data = bytearray(open(big, "rb").read())
    data[len(data) // 2] ^= 0xFF
    with open(big, "wb") as f:
        f.write(data)
    rc, out, err = sh(d2, "--csv", "-c", "select * from t")
    check("directory: corruption is noticed", rc == 1 and "XX001" in err, (rc, out, err))
    rc, out, err = sh(path("e.sql"), "-c", "select 1")
    check("directory: a file is refused", rc == 1 and "e.sql" in err, (rc, err))


P.run((part.__name__, part) for part in (options, formats, commands, errors, interrupt, directories, bulks))
P.end()
