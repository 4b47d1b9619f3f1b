#!/usr/bin/env python3
"""Tests of the `stele` program: options, scripts, backslash commands, the prompt on a pseudo-terminal, directory databases.

Each test is a function test_*; the checks raise. Last line: "N passed, N failed"."""
import argparse
import fcntl
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

STELE = None
TMP = None
HANG = 600 # seconds: whoever takes as long hangs; nothing here depends on how long something takes
LONG_QUERY = "select count(*) from generate_series(1, 200000) a(i), generate_series(1, 200000) b(j) where a.i + b.j = 0"


def run(*args, stdin="", env=None, timeout=HANG):
    p = subprocess.run([STELE, *args], input=stdin, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})})
    return p.returncode, p.stdout, p.stderr


def ok(*args, stdin="", env=None):
    rc, out, err = run(*args, stdin=stdin, env=env)
    assert rc == 0 and err == "", f"exit {rc}, stderr {err!r}, stdout {out!r}"
    return out


def same(got, want):
    assert got == want, f"\n--- got\n{got}\n--- want\n{want}"


def has(text, *parts):
    for p in parts:
        assert p in text, f"{p!r} is not in {text!r}"


def path(name):
    return os.path.join(TMP, name)


def write(name, text):
    with open(path(name), "w") as f:
        f.write(text)
    return path(name)


# ---- options and forms of output

def test_command_table():
    same(ok("-c", "select 1 as a, 'xy' as b, null::int as c"), " a | b  |  c   \n---+----+------\n 1 | xy | NULL\n(1 row)\n\n")


def test_numbers_are_right_aligned_and_wide_text_counts_columns():
    out = ok("-c", "select * from (values (1, '日本'), (100, 'abc')) v(n, t)")
    same(out, "  n  |  t   \n-----+------\n   1 | 日本\n 100 | abc\n(2 rows)\n\n")


def test_several_commands_share_a_session():
    same(ok("-c", "create table t(a int)", "-c", "insert into t values (1), (2)", "-c", "select sum(a) as s from t", "--csv"),
         "CREATE TABLE\nINSERT 0 2\ns\n3\n")


def test_several_statements_in_one_command():
    same(ok("--csv", "-c", "select 1 as a; select 2 as b;"), "a\n1\nb\n2\n")


def test_quiet():
    same(ok("--quiet", "-c", "create table t(a int)"), "")
    same(ok("-q", "--csv", "-c", "create table t(a int)", "-c", "select count(*) as n from t"), "n\n0\n")


def test_csv():
    same(ok("--csv", "-c", "select 'a,b' as x, 'q\"q' as \"y,z\", null::text as n, '' as e, E'l1\\nl2' as l"),
         'x,"y,z",n,e,l\n"a,b","q""q",,"","l1\nl2"\n')


def test_json():
    out = ok("--json", "-c", "select 1 as a, 1.50 as b, 'q\"\\' as c, true as d, null::int as e, 'NaN'::float8 as f, date '2020-01-02' as g, E'x\\ny' as h")
    row = {"a": 1, "b": 1.5, "c": "q\"\\", "d": True, "e": None, "f": "NaN", "g": "2020-01-02", "h": "x\ny"}
    same(json.loads(out), [row])
    same(json.loads(ok("--json", "-c", "select 1 as a where false")), [])
    same(len(json.loads(ok("--json", "-c", "select i from generate_series(1, 1000) g(i)"))), 1000)


def test_markdown():
    same(ok("--markdown", "-c", "select 1 as a, 'x|y' as b"), "| a | b |\n| ---: | --- |\n| 1 | x\\|y |\n")


def test_file():
    f = write("script.sql", "-- a comment; with a semicolon\nselect 1 as a\n, 2 as b;\nselect ';' as c; select $$x;\ny$$ as d;\n/* open ; */ select 3 as e")
    same(ok("--csv", "-f", f), 'a,b\n1,2\nc\n;\nd\n"x;\ny"\ne\n3\n')


def test_stdin_script():
    same(ok("--csv", stdin="create table t(a int);\ninsert into t\nvalues (7);\nselect a from t;\n"), "CREATE TABLE\nINSERT 0 1\na\n7\n")
    same(ok("--csv", "-f", "-", stdin="select 5 as five"), "five\n5\n")
    same(ok(stdin=""), "")
    same(ok("--csv", stdin="select 1 as a;\r\nselect 2 as b;\r\n"), "a\n1\nb\n2\n")


def test_quit_ends_a_script():
    same(ok("--csv", stdin="select 1 as a;\n\\q\nselect 2 as b;\n"), "a\n1\n")
    inner = write("quits.sql", "select 2 as b;\n\\q\nselect 3 as c;\n")
    same(ok("--csv", stdin=f"select 1 as a;\n\\i {inner}\nselect 4 as d;\n"), "a\n1\nb\n2\nd\n4\n")
    same(ok("--csv", "-f", inner, "-c", "\\q", "-c", "select 4 as d"), "b\n2\nd\n4\n")


def test_version_help_bad_option():
    has(ok("--version"), "stele ")
    has(ok("--help"), "usage:", "-c SQL", "--csv")
    rc, out, err = run("--no-such-option")
    same((rc, out), (2, ""))
    has(err, "--no-such-option", "usage:")
    same(run("-c")[0], 2)


def test_threads_and_memory_limit():
    same(ok("--threads", "1", "--memory-limit", "100000000", "--csv", "-c", "select count(*) as n from generate_series(1, 100000)"), "n\n100000\n")


# ---- errors

def test_error_caret():
    rc, out, err = run("-c", "select 1 +\n  nocolumn from (values (1)) v(a)")
    same((rc, out), (1, ""))
    lines = err.splitlines()
    has(lines[0], "ERROR:", "42703", 'column "nocolumn" does not exist')
    same(lines[1], "LINE 2:   nocolumn from (values (1)) v(a)")
    same(lines[2], " " * lines[1].index("nocolumn") + "^")


def test_error_caret_after_wide_characters():
    _, _, err = run("-c", "select '日本é', nocolumn")
    lines = err.splitlines()
    same(lines[1], "LINE 1: select '日本é', nocolumn")
    same(lines[2], " " * (lines[1].index("nocolumn") + 2) + "^")


def test_error_caret_in_a_long_line():
    _, _, err = run("-c", "select " + "1 + " * 100 + "nocolumn" + " + 1" * 100)
    lines = err.splitlines()
    assert len(lines[1]) < 120, lines[1]
    same(lines[2].index("^"), lines[1].index("nocolumn"))


def test_syntax_error():
    rc, _, err = run("-c", "selec 1")
    same(rc, 1)
    has(err, "42601", 'syntax error at or near "selec"')


def test_errors_in_commands_and_files():
    """psql's rules: all goes on, and the exit status is that of the last one."""
    same(run("--csv", "-c", "select 1 as a", "-c", "select nope", "-c", "select 2 as b")[:2], (0, "a\n1\nb\n2\n"))
    same(run("--csv", "-c", "select 1 as a", "-c", "select nope")[:2], (1, "a\n1\n"))
    same(run("--csv", "-c", "select 1 as a; select nope; select 2 as b", "-c", "\\echo on")[:2], (0, "a\n1\non\n"))
    f = write("bad.sql", "select 1 as a;\nselect nope;\nselect 2 as b;\n")
    same(run("--csv", "-f", f)[:2], (0, "a\n1\nb\n2\n"))
    same(run("--csv", stdin=open(f).read())[:2], (0, "a\n1\nb\n2\n"))
    same(run("--csv", "-f", path("nothing.sql"), "-c", "select 3 as c")[:2], (0, "c\n3\n"))
    same(run("--csv", "-c", "select 3 as c", "-f", path("nothing.sql"))[:2], (1, "c\n3\n"))


def test_on_error_stop():
    f = write("bad.sql", "select 1 as a;\nselect nope; select 5 as e;\nselect 2 as b;\n")
    g = write("outer.sql", f"\\i {f}\nselect 3 as c;\n")
    for name in ("-v", "--set", "--variable"):
        same(run("--csv", name, "ON_ERROR_STOP=1", "-f", f, "-c", "select 4 as d")[:2], (3, "a\n1\n"))
    for text in ("\\set ON_ERROR_STOP", "\\set ON_ERROR_STOP on", "\\set ON_ERROR_STOP off\n\\set ON_ERROR_STOP 'true'", "\\set ON_ERROR_STOP 1"):
        same(run("--csv", stdin=f"{text}\n{open(f).read()}")[:2], (3, "a\n1\n"))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", "-f", g)[:2], (3, "a\n1\n"))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", stdin="\\nonsense\nselect 1;\n")[:2], (3, ""))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", stdin="select nope")[:2], (3, ""))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", "-c", "select nope", "-c", "select 1 as a")[:2], (1, ""))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", "-f", path("nothing.sql"), "-c", "select 1 as a")[:2], (1, ""))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", stdin="\\unset ON_ERROR_STOP\nselect nope;\nselect 1 as a;\n")[:2], (0, "a\n1\n"))
    has(run("-v", "ON_ERROR_STOP=1", "-v", "ON_ERROR_STOP", stdin="\\set\n")[1], "ON_ERROR_STOP = 'off'\n")
    rc, _, err = run(stdin="\\set ON_ERROR_STOP maybe\n")
    has(err, 'unrecognized value "maybe" for "ON_ERROR_STOP": Boolean expected')
    same(run("-v", "MINE=1", stdin="\\echo :MINE\n"), (0, "1\n", ""))
    rc, _, err = run("-v", "not-a-name=1")
    same(rc, 2)
    has(err, "not-a-name")


def test_statements_behind_an_error_on_a_line():
    script = "create table t(a int); insert into t values (1); select nope; insert into t values (2); selec; insert into t values (3); select count(*) as n from t;"
    want = "CREATE TABLE\nINSERT 0 1\nINSERT 0 1\nINSERT 0 1\nn\n3\n"
    same(run("--csv", stdin=script)[:2], (0, want))
    same(run("--csv", "-f", write("line.sql", script + "\n"))[:2], (0, want))
    # a statement runs when it is complete, whatever begins behind it; commands may stand there; names may have a $
    same(ok("--csv", stdin="select 1 as a; select 2\nas b; \\echo ; c\nselect 3 as d$x$; -- four;\nselect '5;' as e, E'\\';' as f, $q$;$q$ as \"g;\"; /* six; /* */ ; */ select 7 as h;\n"),
         "a\n1\nb\n2\n; c\nd$x$\n3\ne,f,g;\n5;,';,;\nh\n7\n")
    rc, out, err = run("--csv", stdin="select 1; select\n  nope;\n")
    has(err, "LINE 2:   nope;")
    same(ok("--csv", "-q", stdin="create table c(a int);\ncopy c from stdin; select sum(a) as s from c;\n4\n5\n\\.\nselect 1 as a;\n"), "s\n9\na\n1\n")


def test_missing_file():
    rc, _, err = run("-f", path("nothing.sql"))
    same(rc, 1)
    has(err, "nothing.sql", "No such file")
    rc, _, err = run("-f", TMP)
    same(rc, 1)
    has(err, TMP, "Is a directory")


def test_detail_and_hint():
    rc, _, err = run("-c", "create table t(a int primary key)", "-c", "insert into t values (1), (1)")
    same(rc, 1)
    has(err, "23505", "DETAIL:", "(a)=(1)")


# ---- backslash commands

def test_describe():
    script = "create table t(a int primary key, b varchar(5) not null default 'x', c numeric(10,2));\ncreate view v as select a from t;\n"
    out = ok("-q", stdin=script + "\\d t\n")
    assert re.search(r"a +\| integer +\| +\| not null", out), out
    assert re.search(r"b +\| character varying\(5\) +\| +\| not null \| 'x'", out), out
    has(out, '"t_pkey" PRIMARY KEY (a)')
    assert re.search(r"c +\| numeric\(10,2\)", out), out
    out = ok("-q", stdin=script + "\\d\n")
    assert re.search(r"t +\| table", out) and re.search(r"v +\| view", out), out
    out = ok("-q", stdin=script + "\\dt\n")
    assert re.search(r"\bt +\| table", out) and "view" not in out, out
    out = ok("-q", stdin=script + "\\dv\n")
    assert "view" in out and "table" not in out, out
    same(run("-c", "\\d missing"), (1, "", 'Did not find any relation named "missing".\n'))
    same(run("-c", "\\dt"), (0, "", "Did not find any relations.\n"))


def test_functions():
    out = ok("-c", "\\df substr")
    has(out, "substr ")
    assert "coalesce" not in out
    same(len(ok("-c", "\\df").splitlines()), 5)
    assert len(ok("-c", "\\dfS").splitlines()) > 100


def test_timing():
    out = ok(stdin="\\timing on\nselect 1;\n\\timing\nselect 2;\n")
    has(out, "Timing is on.", "Timing is off.")
    same(len(re.findall(r"^Time: \d+\.\d+ ms$", out, re.M)), 1)
    has(ok("--timing", "-c", "select 1"), "Time: ")


def test_expanded():
    out = ok(stdin="\\x\nselect 1 as a, 'two' as long_name;\nselect 1 as a where false;\n\\x off\nselect 1 as a;\n")
    has(out, "Expanded display is on.", "-[ RECORD 1 ]--\na         | 1\nlong_name | two\n", "(0 rows)\n", "Expanded display is off.", "(1 row)")


def test_output_file():
    f = path("out.txt")
    out = ok("--csv", stdin=f"\\o {f}\nselect 1 as a;\n\\o\nselect 2 as b;\n")
    same(out, "b\n2\n")
    same(open(f).read(), "a\n1\n")
    same(ok("--csv", stdin=f"\\o {f}\nselect 3 as c;\n"), "")
    same(open(f).read(), "c\n3\n")
    _, _, err = run(stdin="\\o /nonexistent/file\n")
    has(err, "/nonexistent/file")


def test_include():
    inner = write("inner.sql", "select 1 as a;\nselect 2 as b")
    outer = write("outer.sql", f"\\i {inner}\nselect 3 as c;\n")
    same(ok("--csv", stdin=f"\\i '{outer}'\nselect 4 as d;\n"), "a\n1\nb\n2\nc\n3\nd\n4\n")
    loop = path("loop.sql")
    write("loop.sql", f"\\i {loop}\n")
    rc, _, err = run("-v", "ON_ERROR_STOP=1", "-f", loop)
    same(rc, 3)
    has(err, "too deeply")
    rc, _, err = run("-v", "ON_ERROR_STOP=1", stdin="\\i /nonexistent.sql\n")
    same(rc, 3)
    has(err, "/nonexistent.sql")


def test_copy_command():
    f = write("in.csv", "1,a\n2,\"b,c\"\n")
    g = path("copied.csv")
    out = ok("--csv", stdin=f"create table t(a int, b text);\n\\copy t from '{f}' with (format csv)\n\\copy t to '{g}' with (format csv)\nselect count(*) as n from t;\n")
    has(out, "COPY 2", "n\n2\n")
    same(open(g).read(), "1,a\n2,\"b,c\"\n")
    rc, _, err = run("-c", "\\copy missing from 'x.csv'")
    same(rc, 1)
    has(err, "42P01")


def test_help_echo_format_null():
    has(ok("-c", "\\?"), "\\timing", "\\copy", "\\e")
    same(ok(stdin="\\echo hello  world\n"), "hello world\n")
    same(ok(stdin="\\format csv\nselect 1 as a;\n\\format json\nselect 1 as a;\n"), 'a\n1\n[\n {"a": 1}\n]\n')
    has(run(stdin="\\format nonsense\n")[2], "nonsense")
    has(ok(stdin="\\null -\nselect null::int as a, 1 as b;\n"), " - | 1")
    rc, _, err = run("-c", "\\nonsense")
    same(rc, 1)
    has(err, "\\nonsense")


def test_edit():
    ed = write("editor.sh", "#!/bin/sh\nsed 's/1 as a/42 as b/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n")
    os.chmod(ed, 0o700)
    same(ok("--csv", stdin="select 1 as a;\n\\e\n", env={"EDITOR": ed}), "a\n1\nb\n42\n")
    f = write("edit_me.sql", "select 1 as a, 'file' as f;\n")
    same(ok("--csv", stdin=f"\\e {f}\n", env={"EDITOR": ed}), "b,f\n42,file\n")
    has(run(stdin="\\e\n", env={"EDITOR": "false"})[2], "editor")


# ---- COPY through the standard streams

def test_copy_to_stdout():
    same(ok("-q", stdin="copy (select i, 'v' || i from generate_series(1, 3) g(i)) to stdout;\n"), "1\tv1\n2\tv2\n3\tv3\n")
    same(ok("-c", "copy (select 1 as a, null::text as b) to stdout with (format csv, header)", "-q"), "a,b\n1,\n")


def test_copy_from_stdin():
    same(ok("--csv", "-q", "-c", "create table t(a int, b text)", "-c", "copy t from stdin with (format csv)", "-c", "select * from t", stdin="1,x\n2,\"y\nz\"\n"),
         'a,b\n1,x\n2,"y\nz"\n')


def test_copy_data_inside_a_script():
    script = "create table t(a int, b text);\ncopy t from stdin;\n1\tone\n2\tselect 'no statement';\n\\.\nselect sum(a) as s from t;\n"
    same(ok("--csv", stdin=script), "CREATE TABLE\nCOPY 2\ns\n3\n")
    same(ok("--csv", "-f", write("copy.sql", script)), "CREATE TABLE\nCOPY 2\ns\n3\n")


def test_rest_of_bad_copy_data_is_no_sql():
    rc, out, err = run("--csv", stdin="create table t(a int);\ncopy t from stdin;\n1\nx\nselect 99 as wrong;\n\\.\nselect count(*) as n from t;\n")
    same((rc, out), (0, "CREATE TABLE\nn\n0\n"))
    has(err, "22P02", "COPY t, line 2")


def test_large_copy_through_pipes():
    data = "".join(f"{i}\tname {i}\n" for i in range(200000))
    same(ok("-q", "--csv", "-c", "create table t(a int, b text)", "-c", "copy t from stdin", "-c", "select count(*) as n, sum(a) as s from t", stdin=data),
         f"n,s\n200000,{sum(range(200000))}\n")


# ---- signals

# Says that it runs, and runs until it is canceled: in PL/pgSQL alone, and in a query.
FOREVER = ("create function forever() returns int language plpgsql as $$ begin raise notice 'it runs'; loop end loop; end $$;\n"
           "create function nag(i int) returns int language plpgsql as $$ begin if i = 1 then raise notice 'it runs'; end if; return i; end $$;\n")
RUNS_FOREVER = ("select forever();\n", "select count(*) from generate_series(1, 2000000000) g(i) where nag(i) = 0;\n", "do $$ begin perform forever(); end $$;\n",
                "create table made as select forever();\n", "explain analyze select forever();\n")


def start(*args, stdin="", limits=None):
    """The shell with pipes; signals as a terminal's programs have them, whatever this one ignores."""
    def prepare():
        for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(sig, signal.SIG_DFL)
        if limits:
            resource.setrlimit(*limits)
    p = subprocess.Popen([STELE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare)
    p.stdin.write(stdin)
    p.stdin.flush()
    return p


def await_line(f, what):
    text = []
    for line in f:
        text.append(line)
        if what in line:
            return
    raise AssertionError(f"no {what!r} in {text!r}")


def end(p, stdin=None):
    try:
        out, err = p.communicate(stdin, timeout=HANG)
    except subprocess.TimeoutExpired:
        p.kill()
        raise AssertionError(f"the shell hangs: {p.communicate()!r}")
    return p.returncode, out, err


def test_signals_while_a_statement_runs():
    """Canceled; no other statement runs; what was done before is saved."""
    for n, sig in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)):
        db = path(f"signal{n}")
        p = start(db, "--csv", "-q", stdin=FOREVER + "create table t(a int);\ninsert into t values (1);\n" + RUNS_FOREVER[n] + "insert into t values (2);\n\\echo after\n")
        await_line(p.stderr, "it runs")
        p.send_signal(sig)
        rc, out, err = end(p)
        same((rc, out), (128 + sig, ""))
        has(err, "57014", "canceling statement due to user request")
        same(ok(db, "--csv", "-c", "select * from t"), "a\n1\n")


def test_signals_while_a_transaction_is_open():
    db = path("signal_transaction")
    p = start(db, "--csv", "-q", stdin=FOREVER + "create table t(a int);\ninsert into t values (1);\nbegin;\ninsert into t values (2);\nselect forever();\ncommit;\n")
    await_line(p.stderr, "it runs")
    p.send_signal(signal.SIGTERM)
    same(end(p)[0], 128 + signal.SIGTERM)
    same(ok(db, "--csv", "-c", "select * from t"), "a\n1\n")


def test_signals_end_commands_and_files():
    f = write("forever.sql", FOREVER + "select forever();\nselect 1;\n")
    for args in (("-f", f, "-c", "select 2"), ("-c", FOREVER + "select forever(); select 1", "-c", "select 2"), ("-c", f"\\i {f}", "-c", "select 2")):
        p = start("--csv", "-q", *args)
        await_line(p.stderr, "it runs")
        p.send_signal(signal.SIGINT)
        same(end(p)[:2], (130, ""))


def test_signals_while_a_script_waits():
    """For the next line, and for COPY's next: half of its data is none."""
    for n, sig in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)):
        db = path(f"waits{n}")
        p = start(db, "--csv", "-q", stdin="create table t(a int);\ninsert into t values (1);\n\\echo there\n")
        await_line(p.stdout, "there")
        p.send_signal(sig)
        p.wait(HANG)
        same(end(p)[0], 128 + sig)
        same(ok(db, "--csv", "-c", "select * from t"), "a\n1\n")
    db = path("waits_copy")
    p = start(db, "--csv", "-q", stdin="create table t(a int);\ninsert into t values (1);\n\\echo there\ncopy t from stdin;\n2\n")
    await_line(p.stdout, "there")
    p.send_signal(signal.SIGTERM)
    p.wait(HANG)
    same(end(p)[0], 128 + signal.SIGTERM)
    same(ok(db, "--csv", "-c", "select * from t"), "a\n1\n")


def test_ignored_signals_stay_ignored():
    """As nohup and background jobs have them."""
    p = subprocess.Popen([STELE, "--csv", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         preexec_fn=lambda: [signal.signal(sig, signal.SIG_IGN) for sig in (signal.SIGHUP, signal.SIGINT)])
    p.stdin.write("\\echo there\n")
    p.stdin.flush()
    await_line(p.stdout, "there")
    p.send_signal(signal.SIGHUP)
    p.send_signal(signal.SIGINT)
    same(end(p, "select 1 as a;\n")[:2], (0, "a\n1\n"))


# ---- output that cannot be written

def test_reader_that_goes():
    """Nothing more runs, nothing is said, and what was done is saved."""
    db = path("pipe")
    p = start(db, "--csv", "-q", stdin="create table t(a int);\ninsert into t values (1);\nselect a from t;\n")
    await_line(p.stdout, "a")
    p.stdout.close()
    p.stdin.write("select a from t;\ninsert into t values (2);\n")
    p.stdin.close()
    same((p.wait(HANG), p.stderr.read()), (128 + signal.SIGPIPE, ""))
    same(ok(db, "--csv", "-c", "select * from t"), "a\n1\n")
    for sql in ("select g from generate_series(1, 1000000) g;", "copy (select g from generate_series(1, 1000000) g) to stdout;"):
        p = start("--csv", "-q", stdin=sql + "\n")
        p.stdout.readline()
        p.stdout.close()
        p.stdin.close()
        same((p.wait(HANG), p.stderr.read()), (128 + signal.SIGPIPE, ""))


def to_full(*args, stdin=""):
    with open("/dev/full", "w") as full:
        p = subprocess.run([STELE, *args], input=stdin, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG)
    return p.returncode, p.stderr


def test_standard_output_on_a_full_disk():
    said = "stele: cannot write to standard output: No space left on device\n"
    db = path("full")
    same(to_full(db, stdin="create table t(a int);\ninsert into t values (1);\n"), (1, said))
    same(ok(db, "--csv", "-c", "select count(*) as n from t"), "n\n0\n") # the first tag could not be written
    for args in (("-c", "select 1"), ("--csv", "-c", "select 1"), ("--json", "-c", "select g from generate_series(1, 100000) g"), ("--markdown", "-c", "select 1"), ("-c", "\\x", "-c", "select 1"), ("-c", "\\echo x"), ("-c", "\\?"),
                 ("-c", "\\dn"), ("-c", "\\df"), ("-c", "\\timing"), ("--version",), ("--help",), ("-c", "show all"), ("devices",)):
        same((args, *to_full(*args)), (args, 1, said))
    rc, err = to_full("-q", "-c", "copy (select g from generate_series(1, 100000) g) to stdout")
    same(rc, 1)
    has(err, said)
    same(to_full("-q", "-c", "create table t(a int)"), (0, ""))


def test_files_on_a_full_disk():
    said = "stele: cannot write to /dev/full: No space left on device\n"
    same(run("--csv", stdin="\\o /dev/full\nselect 1 as a;\n"), (1, "", said))
    same(run("--csv", stdin="\\o /dev/full\nselect 1 as a;\n\\o\nselect 2 as b;\n"), (1, "b\n2\n", said))
    same(run("--csv", "-v", "ON_ERROR_STOP=1", stdin="\\o /dev/full\nselect 1 as a;\n\\o\nselect 2 as b;\n"), (3, "", said))
    same(run("--csv", "-c", "\\o /dev/full", "-c", "select g from generate_series(1, 100000) g", "-c", "\\o", "-c", "select 2 as b"), (1, "b\n2\n", said))
    rc, out, err = run("-c", "\\copy (select g from generate_series(1, 100000) g) to '/dev/full'")
    same((rc, out), (1, ""))
    has(err, "ERROR:", "No space left on device")


# ---- the prompt

class Terminal:
    """The shell on a pseudo-terminal of 80 columns."""

    def __init__(self, *args, env=None):
        self.text = ""
        self.fd, self.slave = pty.openpty()
        self.modes = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            login_tty(self.slave)
            for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(sig, signal.SIG_DFL)
            os.environ.update({"TERM": "xterm", "HOME": TMP, "COLUMNS": "80", **(env or {})})
            os.execv(STELE, [STELE, "-P", "pager=off", *args])
        self.expect("stele> ")

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode(errors="replace")).replace("\r", "").replace("\a", "")
        return bool(data)

    def expect(self, what, seconds=HANG):
        """Waits for the text, returns all before it, forgets both."""
        end = time.monotonic() + seconds
        while what not in self.text:
            if not self.read(1) and (self.ended() or time.monotonic() > end):
                raise AssertionError(f"no {what!r} in {self.text!r}")
        before, _, self.text = self.text.partition(what)
        return before

    def send(self, text):
        os.write(self.fd, text.encode())

    def type(self, text):
        """At a prompt: what comes before it reads would be echoed twice, with the prompt once more."""
        self.raw()
        self.send(text)

    def line(self, text):
        self.type(text + "\n")

    def ask(self, sql, prompt="stele> "):
        self.line(sql)
        return self.expect(prompt)

    def copy(self, table):
        """Begins a COPY; returns when its statement runs and asks for data."""
        self.line(f"copy {table} from stdin;")
        self.expect("or an EOF signal.\n")

    def ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self):
        """The exit status of a shell that is leaving; the terminal stays open."""
        end = time.monotonic() + HANG
        while not self.ended():
            self.read(0.1)
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"the shell does not end: {self.text!r}")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def raw(self):
        """The prompt reads: else Ctrl-D would be a character, or the end of a line."""
        end = time.monotonic() + HANG
        while termios.tcgetattr(self.slave)[3] & termios.ICANON:
            self.read(0.01)
            assert time.monotonic() < end, "no prompt"

    def close(self):
        """Leaves with Ctrl-D, returns the exit status."""
        self.raw()
        end = time.monotonic() + HANG
        while not self.ended() and time.monotonic() < end: # what comes when the prompt is about to go, or to come, may be lost: again, on an empty line
            self.send("\x15\x04")
            for _ in range(20):
                if not self.ended():
                    self.read(0.1)
                if "Leave? [y/N] " in self.text:
                    self.text = ""
                    self.send("y\n")
        status = self.wait()
        os.close(self.fd)
        os.close(self.slave)
        return status


def login_tty(fd):
    """A session of its own, with this terminal."""
    os.setsid()
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)
    for to in (0, 1, 2):
        os.dup2(fd, to)
    if fd > 2:
        os.close(fd)


def test_prompt_and_statement_over_lines():
    t = Terminal()
    t.line("select 41 + 1")
    t.expect("...> ")
    t.line("as answer")
    t.expect("...> ")
    t.line(";")
    out = t.expect("stele> ")
    has(out, "answer", "42", "(1 row)")
    has(t.ask("select nope;"), "ERROR:", "42703", "^")
    same(t.close(), 0)


def test_wide_characters_at_the_prompt():
    t = Terminal(env={"LC_ALL": "C"})
    has(t.ask("select length('日本é') as n, 'é' as e;"), " 3 | é", "(1 row)")
    same(t.close(), 0)


def test_interrupt_stops_output():
    t = Terminal()
    t.line("select i, 'some text' as x from generate_series(1, 1000000) g(i);")
    t.expect("| some text")
    t.send("\x03")
    assert "(1000000 rows)" not in t.expect("stele> ")
    has(t.ask("select 'alive' as s;"), "(1 row)")
    same(t.close(), 0)


def test_copy_typed_at_the_prompt():
    t = Terminal()
    t.ask("create table t(a int);")
    t.copy("t")
    t.send("1\n2\n\\.\n")
    has(t.expect("stele> "), "COPY 2")
    t.copy("t")
    t.send("3\n\x04")
    has(t.expect("stele> "), "COPY 1")
    has(t.ask("select sum(a) as s from t;"), " 6\n")
    t.copy("t")
    t.send("4\n\x03")
    has(t.expect("stele> "), "ERROR:")
    has(t.ask("select sum(a) as s from t;"), " 6\n")
    same(t.close(), 0)


def test_prompt_shows_the_transaction():
    t = Terminal()
    t.line("begin;")
    t.expect("stele*> ")
    t.line("select nope;")
    t.expect("stele!> ")
    t.line("rollback;")
    t.expect("stele> ")
    same(t.close(), 0)


def test_commands_on_the_statement_being_typed():
    t = Terminal()
    t.line("select 123")
    t.expect("...> ")
    t.line("\\p")
    has(t.expect("...> "), "select 123\n")
    t.line("\\r")
    t.expect("stele> ")
    has(t.ask("select 7 as seven;"), "seven", "(1 row)")
    same(t.close(), 0)


def test_skipped_branch_at_the_prompt():
    t = Terminal()
    t.line("\\if false")
    t.expect("stele@> ")
    has(t.ask("select 1 as one;", "@...> "), "query ignored")
    t.line("\\echo no")
    has(t.expect("@...> "), "\\echo command ignored")
    t.line("\\endif")
    t.expect("stele> ")
    t.line("\\if false")
    t.expect("stele@> ")
    t.raw()
    t.send("\x03") # forgets the block
    t.expect("stele> ")
    has(t.ask("select 2 as two;"), "two", "(1 row)")
    same(t.close(), 0)


def test_interrupt_at_the_prompt_forgets_the_line():
    t = Terminal()
    t.line("select 1,")
    t.expect("...> ")
    t.type("more of it")
    t.expect("more of it")
    t.send("\x03")
    t.expect("stele> ")
    out = t.ask("select 5 as five;")
    has(out, "five", "(1 row)")
    assert "ERROR" not in out, out
    t.type("garbage")
    t.expect("garbage")
    t.send("\x03")
    t.expect("stele> ")
    out = t.ask("select 6 as six;")
    has(out, "six", "(1 row)")
    assert "ERROR" not in out, out
    same(t.close(), 0)


def test_interrupt_cancels_a_query_at_the_prompt():
    t = Terminal()
    for line in FOREVER.splitlines():
        t.ask(line)
    t.line("select forever(); select 'not this';")
    t.expect("it runs")
    t.send("\x03")
    out = t.expect("stele> ")
    has(out, "57014")
    assert "1 row" not in out, out
    t.line(LONG_QUERY + ";")
    t.expect("] ") # the progress bar
    t.send("\x03")
    has(t.expect("stele> "), "57014")
    f = write("forever.sql", "select forever();\nselect 'nor this';\n")
    t.line(f"\\i {f}")
    t.expect("it runs")
    t.send("\x03")
    out = t.expect("stele> ")
    assert "1 row" not in out, out
    has(t.ask("select 'alive' as s;"), "(1 row)")
    same(t.close(), 0)


def test_errors_at_the_prompt():
    t = Terminal()
    t.ask("\\set ON_ERROR_STOP on")
    has(t.ask("select nope; select 1 as one;"), "42703", "(1 row)")
    out = t.ask(f"\\i {write('bad.sql', 'select nope; select 2 as two; select 3;')}")
    has(out, "42703")
    assert "two" not in out, out
    same(t.close(), 0)


def test_signals_at_the_prompt():
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        db = path(f"prompt{int(sig)}")
        t = Terminal(db)
        t.ask("create table t(a int);")
        t.ask("insert into t values (1);")
        t.type("insert in")
        t.expect("insert in")
        os.kill(t.pid, sig)
        same(t.wait(), 128 + sig)
        same(termios.tcgetattr(t.slave), t.modes)
        same(ok(db, "--csv", "-c", "select * from t"), "a\n1\n")
    db = path("prompt_running")
    t = Terminal(db)
    for line in FOREVER.splitlines() + ["create table t(a int);"]:
        t.ask(line)
    t.line("select forever();")
    t.expect("it runs")
    os.kill(t.pid, signal.SIGTERM)
    same(t.wait(), 128 + signal.SIGTERM)
    same(ok(db, "--csv", "-c", "select count(*) as n from t"), "n\n0\n")


def test_terminal_that_goes():
    db = path("hangup")
    t = Terminal(db)
    t.ask("create table t(a int);")
    t.ask("begin;", "stele*> ")
    t.ask("insert into t values (1);", "stele*> ")
    os.close(t.slave)
    os.close(t.fd)
    same(os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]), 128 + signal.SIGHUP)
    same(ok(db, "--csv", "-c", "select count(*) as n from t"), "n\n0\n")


def test_history():
    home = tempfile.mkdtemp(dir=TMP)
    t = Terminal(env={"HOME": home})
    t.ask("select 'first' as one;")
    t.type("\x1b[A")
    t.expect("select 'first' as one;")
    has(t.ask(""), "(1 row)")
    same(t.close(), 0)
    saved = open(os.path.join(home, ".stele_history")).read()
    has(saved, "first")
    same(os.stat(os.path.join(home, ".stele_history")).st_mode & 0o777, 0o600)
    t = Terminal(env={"HOME": home})
    t.type("\x10")
    t.expect("select 'first' as one;")
    has(t.ask(""), "(1 row)")
    same(t.close(), 0)


def test_completion():
    t = Terminal()
    t.ask("create table quantities_table(amount_column int);")
    t.type("ins\t")
    t.expect("ert into")
    t.send("quantities_t\t")
    t.expect("able")
    t.send("values (3);\n")
    has(t.expect("stele> "), "INSERT 0 1")
    t.type("SEL\t")
    t.expect("ECT")
    t.send("\x03")
    t.expect("stele> ")
    t.type("select amount_c\t")
    t.expect("olumn")
    t.send("from quantities_table;\n")
    has(t.expect("stele> "), "(1 row)")
    same(t.close(), 0)


def test_history_keeps_statements_whole():
    home = tempfile.mkdtemp(dir=TMP)
    t = Terminal(env={"HOME": home})
    t.line("select 'line one' as a,")
    t.expect("...> ")
    t.line("  'line two' as b;")
    t.expect("stele> ")
    t.ask("\\echo command")
    same(t.close(), 0)
    t = Terminal(env={"HOME": home})
    out = t.ask("\\s")
    has(out, "select 'line one' as a,\n  'line two' as b;\n", "\\echo command\n")
    t.type("\x10\x10\x10") # \s, \echo, the statement
    t.expect("'line two' as b;")
    has(t.ask(""), "line one | line two", "(1 row)")
    t.ask(f"\\s {path('history.txt')}")
    has(open(path("history.txt")).read(), "line one")
    same(t.close(), 0)


def test_completion_by_context():
    t = Terminal()
    t.ask("create table people(person_id int, surname text);")
    t.ask("create table places(place_id int, title_of_place text);")
    t.ask("create function twice_of_it(i int) returns int language sql as 'select 2 * i';")
    for typed, completed in (("select q.surname from people q where q.per", "son_id"), ("select * from places as x join people y on x.pl", "ace_id"), ("select title_o", "f_place"),
                             ("select twice_o", "f_it"), ("select octet_len", "gth"), ("set statement_t", "imeout"), ("show statement_t", "imeout"), ("\\crossta", "bview"), ("\\pset bord", "er"),
                             ("\\d peop", "le"), (".tabl", "es"), (".mode jsonl", "ines"), ("\\h checkp", "OINT")):
        t.type(typed + "\t")
        t.expect(completed)
        t.send("\x03")
        t.expect("stele> ")
    t.type("select p.sur from people p" + "\x02" * len(" from people p") + "\t\x05;\n")
    has(t.expect("rows)\n"), " surname ")
    t.expect("stele> ")
    t.line("select p.surname,")
    t.expect("...> ")
    t.type("p.per\t")
    t.expect("p.per")
    t.send("\x03") # the table comes later: nothing to complete
    t.expect("stele> ")
    same(t.close(), 0)


def test_pager():
    pager = write("pager.sh", "#!/bin/sh\nsed 's/^/paged /'\n")
    os.chmod(pager, 0o700)
    t = Terminal(env={"PAGER": pager})
    fcntl.ioctl(t.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    assert "paged" not in t.ask("select g from generate_series(1, 100) g;") # Terminal switches it off
    t.ask("\\pset pager on")
    has(t.ask("select g from generate_series(1, 100) g;"), "paged  100\n", "paged (100 rows)")
    assert "paged" not in t.ask("select g from generate_series(1, 3) g;")
    t.ask("\\pset pager always")
    has(t.ask("select 1 as a;"), "paged (1 row)")
    t.ask("\\setenv PAGER true") # reads nothing
    t.ask("select g from generate_series(1, 100000) g;")
    t.ask("\\pset pager off")
    has(t.ask("select 'alive' as s;"), "(1 row)")
    same(t.close(), 0)


def test_unsaved_changes_are_asked_about():
    t = Terminal()
    t.ask("create table t(a int);")
    for leaves in ("\\q\n", "quit\n", "\x04"):
        t.type(leaves)
        t.expect("in memory only: 1 table will be gone. Leave? [y/N] ")
        t.send("\n")
        has(t.expect("stele> "), "\\q!")
    t.type("\\q\n")
    t.expect("Leave? [y/N] ")
    t.send("\x03")
    t.expect("stele> ")
    t.type("\\q\n")
    t.expect("Leave? [y/N] ")
    t.send("yes\n")
    same(t.wait(), 0)
    for db, statements, leaves in ((":memory:", (), "\\q\n"), (":memory:", ("create table t(a int);",), "\\q!\n"), (path("asked"), ("create table t(a int);",), "\\q\n")):
        t = Terminal(db)
        for sql in statements:
            t.ask(sql)
        t.type(leaves)
        same(t.wait(), 0)
    same(ok(path("asked"), "--csv", "-c", "select count(*) as n from t"), "n\n0\n")


def test_change_of_database():
    one, two = path("change_one"), path("change_two")
    out = ok("-q", "--csv", stdin=f"\\c {one}\ncreate table a(i int);\n.open {two}\ncreate table b(i int);\n\\c {one}\ninsert into a values (5);\n\\c\nselect i from a;\n\\echo :DBNAME\n")
    same(out, f"i\n5\n{one}\n")
    same(ok(two, "--csv", "-c", "select count(*) as n from b"), "n\n0\n")
    rc, out, err = run(one, "--csv", "-q", stdin=f"\\c {write('no_directory', '')}\nselect i from a;\n")
    same((rc, out), (0, "i\n5\n"))
    has(err, "cannot open")


def test_exit_statuses():
    """psql's."""
    bad = write("bad_command.sql", "\\nonsense\nselect 1 as a;\n")
    same(run("-v", "ON_ERROR_STOP=1", "--csv", "-f", bad)[:2], (3, ""))
    same(run("--csv", "-f", bad)[:2], (0, "a\n1\n"))
    for script, status in (("\\if true\n", 3), ("\\if nonsense\n\\endif\n", 0), ("\\if true\nselect nope;\n\\endif\n", 3), ("\\if false\nselect nope;\n\\nonsense\n\\endif\n", 0), ("\\endif\n", 3), ("select 1 where false \\gset\n", 3),
                           ("\\set x\n\\unset x\n", 0), ("\\pset nonsense\n", 3), ("\\d nothing\n", 3), ("\\dt nothing\n", 0), ("\\set ON_ERROR_STOP off\nselect nope;\n", 0), ("select 'select nope' \\gexec\n", 3), ("\\! exit 5\n", 0)):
        same((script, run("-q", "-v", "ON_ERROR_STOP=1", stdin=script)[0]), (script, status))
    same(run("-c", "\\d nothing")[0], 1)
    same(run("-1", "-c", "create table t(a int)", "-c", "insert into t values (1)", "-c", "select count(*) as n from t", "-q", "--csv"), (0, "n\n1\n", ""))
    db = path("single")
    same(run(db, "-q", "-1", "-v", "ON_ERROR_STOP=1", "-c", "create table t(a int)", "-c", "select nope")[0], 1)
    same(run(db, "-c", "\\dt")[2], "Did not find any relations.\n")


def test_options_like_those_of_other_shells():
    same(ok("-At", "-c", "select 1, null, 'x'"), "1||x\n")
    same(ok("-AtF;", "-c", "select 1, 2"), "1;2\n")
    same(ok("-Atc", "select 1, 2"), "1|2\n")
    same(ok("-x", "-c", "select 1 as a"), "-[ RECORD 1 ]\na | 1\n\n")
    same(ok("-P", "format=csv", "-P", "null=-", "-c", "select null as a"), "a\n-\n")
    same(ok("-csv", "-noheader", "-c", "select 1 as a"), "1\n")
    same(ok("-jsonlines", "-c", "select 1 as a"), '{"a":1}\n')
    same(ok("--pset=format=unaligned", "--command=select 1 as a"), "a\n1\n(1 row)\n")
    same(ok("-q", "-o", path("o.txt"), "--csv", "-c", "select 1 as a"), "")
    same(open(path("o.txt")).read(), "a\n1\n")
    same(ok("-d", ":memory:", "--csv", "-e", "-c", "select 1 as a"), "select 1 as a\na\n1\n")
    has(ok("-l"), "List of databases")
    has(run("-b", "-c", "select nope")[2], "STATEMENT:  select nope")
    same(run("-F")[0], 2)
    same(ok("-c", "create table t(a int)", "-c", "insert into t values (1) returning a"), "CREATE TABLE\n a \n---\n 1\n(1 row)\n\nINSERT 0 1\n")
    same(ok("--csv", "-c", "create table t(a int)", "-c", "insert into t values (1) returning a"), "CREATE TABLE\na\n1\n") # data only
    same(run("-P", "format=nonsense", "-c", "select 1")[0], 2)


def test_large_results_take_no_more_memory():
    """Rows are computed as they are written: a peak that grew with the result would be several times as high, and no
    temporary file may be written."""
    def peak(rows, **more):
        p = subprocess.Popen([STELE, "-q", "--csv", "-c", "set memory_limit = '48MB'", "-c", f"select i, 'row ' || i as t from generate_series(1, {rows}) g(i)"], stdout=subprocess.DEVNULL, **more)
        _, status, usage = os.wait4(p.pid, 0)
        same(status, 0)
        return usage.ru_maxrss
    few, many = (peak(n, preexec_fn=lambda: resource.setrlimit(*SMALL_FILES)) for n in (200000, 1000000))
    assert many < few + 8 * 1024, (few, many)
    same(ok("--csv", "-c", "set result_memory = '64kB'", "-q", "-c", "select i from generate_series(1, 100000) g(i)"), "i\n" + "".join(f"{i}\n" for i in range(1, 100001)))


def test_table_fits_the_terminal():
    t = Terminal()
    out = t.ask("select repeat('x', 300) as a, 1 as b;")
    body = out.split("\n", 1)[1]
    has(body, "…", "(1 row)")
    assert max(len(l) for l in body.splitlines()) <= 80, body
    same(t.close(), 0)


# ---- saving that fails: the shell may write files of 8 kB only

SMALL_FILES = (resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
FILL = "create table t(a int, b text); insert into t select i, md5(i::text) from generate_series(1, 10000) g(i);"


def test_saving_fails_at_the_end_of_a_script():
    db = path("no_room")
    ok(db, "-c", "create table kept(a int)", "-c", "insert into kept values (1)")
    p = start(db, "--csv", "-q", stdin=FILL + "checkpoint; select 1 as a;\n", limits=SMALL_FILES)
    rc, out, err = end(p)
    same((rc, out), (1, "a\n1\n"))
    has(err, "ERROR:", f'stele: cannot save "{db}": 53', "lost")
    same(ok(db, "--csv", "-c", "select * from kept"), "a\n1\n")
    rc, _, err = run(db, "-c", "select * from t")
    has(err, "42P01")
    p = start(db, "--csv", "-q", stdin=FILL + "\\q!\nselect 1;\n", limits=SMALL_FILES)
    same(end(p), (0, "", ""))
    same(ok(db, "--csv", "-c", "select * from kept"), "a\n1\n")


def test_saving_fails_at_the_prompt():
    for leaves in ("\\q\n", "quit\n", "\x04"):
        db = path(f"no_room_{len(leaves)}")
        t = Terminal(db)
        resource.prlimit(t.pid, *SMALL_FILES)
        t.ask(FILL)
        t.line("begin;")
        t.expect("stele*> ")
        t.ask("insert into t values (0, 'open');", "stele*> ")
        t.type(leaves)
        t.expect("changes are not saved. Leave? [y/N] ")
        t.send("n\n")
        t.expect("stele*> ")
        t.type(leaves)
        t.expect("Leave? [y/N] ")
        t.send("y\n")
        has(t.expect("stele> "), "cannot save", "rolled back", "\\q!")
        has(t.ask("select count(*) from t;"), " 10000\n")
        t.type(leaves)
        has(t.expect("stele> "), "cannot save")
        resource.prlimit(t.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        t.type(leaves)
        same(t.wait(), 0)
        same(ok(db, "--csv", "-c", "select count(*) as n from t"), "n\n10000\n")


def test_leaving_without_saving():
    db = path("discarded")
    ok(db, "-c", "create table t(a int)")
    t = Terminal(db)
    t.ask("insert into t values (1);")
    t.line("\\q!")
    same(t.wait(), 0)
    same(ok(db, "--csv", "-c", "select count(*) as n from t"), "n\n0\n")


# ---- directory databases

def test_database_is_saved_on_exit():
    db = path("saved")
    ok(db, "-c", "create table t(a int, b text)", "-c", "insert into t values (1, 'one'), (2, null)")
    same(ok(db, "--csv", "-c", "select * from t order by a"), "a,b\n1,one\n2,\n")
    ok(db, "-c", "delete from t where a = 1")
    same(ok(db, "--csv", stdin="select count(*) as n from t;"), "n\n1\n")


def test_open_transaction_is_rolled_back_on_exit():
    db = path("rolled_back")
    ok(db, "-c", "create table t(a int)", "-c", "begin", "-c", "insert into t values (1)")
    same(ok(db, "--csv", "-c", "select count(*) as n from t"), "n\n0\n")


def test_second_process_is_refused():
    db = path("locked")
    ok(db, "-c", "create table t(a int)")
    p = subprocess.Popen([STELE, db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        p.stdin.write("select 1;\n")
        p.stdin.flush()
        p.stdout.readline()
        rc, out, err = run(db, "-c", "select 1")
        same((rc, out), (1, ""))
        has(err, "55006", "cannot open")
    finally:
        p.communicate(timeout=HANG)
    ok(db, "-c", "select 1")


def test_read_only():
    db = path("read_only")
    ok(db, "-c", "create table t(a int)", "-c", "insert into t values (1)")
    before = sorted((r, f, os.stat(os.path.join(r, f)).st_mtime_ns) for r, _, fs in os.walk(db) for f in fs)
    p = start("--readonly", db, "--csv", stdin="select * from t;\n")
    await_line(p.stdout, "1")
    same(ok("--readonly", db, "--csv", "-c", "select * from t", "-c", "checkpoint"), "a\n1\nCHECKPOINT\n") # beside the other
    has(run(db, "-c", "select 1")[2], "55006")
    for sql in ("insert into t values (2)", "create table u(a int)", "begin read write", "set default_transaction_read_only = off; insert into t values (2)", "truncate t", "drop table t", "do $$ begin insert into t values (2); end $$"):
        rc, _, err = run("--readonly", db, "-c", sql)
        same(rc, 1)
        assert "25006" in err or "0A000: cannot set transaction read-write mode" in err, (sql, err)
    same(end(p)[0], 0)
    same(sorted((r, f, os.stat(os.path.join(r, f)).st_mtime_ns) for r, _, fs in os.walk(db) for f in fs), before)
    rc, _, err = run("--readonly", path("nothing_there"), "-c", "select 1")
    same((rc, os.path.exists(path("nothing_there"))), (1, False))
    has(err, "58P01")
    same(ok("--readonly", "-c", "create table t(a int)", "-q"), "") # a database in memory is only its own


def test_kill_leaves_the_last_checkpoint():
    db = path("killed")
    p = subprocess.Popen([STELE, db, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdin.write("create table t(a int);\ninsert into t select i from generate_series(1, 1000) g(i);\ncheckpoint;\n"
                  "insert into t select i from generate_series(1, 500) g(i);\n\\echo ready\n" + LONG_QUERY + ";\n")
    p.stdin.flush()
    same(p.stdout.readline(), "ready\n")
    p.kill()
    p.communicate(timeout=HANG)
    same(ok(db, "--csv", "-c", "select count(*) as n, sum(a) as s from t"), "n,s\n1000,500500\n")


def test_kill_while_saving():
    db = path("killed_saving")
    ok(db, "-c", "create table t(a int, b text)", "-c", "insert into t select i, 'row ' || i from generate_series(1, 1000) g(i)")
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1):
        p = subprocess.Popen([STELE, db, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        p.stdin.write("insert into t select i, 'row ' || i from generate_series(1, 300000) g(i);\n\\echo ready\ncheckpoint;\n")
        p.stdin.flush()
        same(p.stdout.readline(), "ready\n")
        time.sleep(delay)
        p.kill()
        p.communicate(timeout=HANG)
        n = int(ok(db, "--csv", "-c", "select count(*) as n from t where b = 'row ' || a").split()[1])
        assert n % 300000 == 1000, n


def test_damaged_database():
    db = path("damaged")
    ok(db, "-c", "create table t(a int)", "-c", "insert into t values (1)")
    gen = next(d for d in os.listdir(db) if d.startswith("g"))
    with open(os.path.join(db, gen, "catalog"), "r+b") as f:
        f.seek(20)
        f.write(b"\xff\xff")
    rc, out, err = run(db, "-c", "select 1")
    same((rc, out), (1, ""))
    has(err, "XX001", "catalog")


def test_unusable_path():
    f = write("a_file", "not a directory")
    rc, _, err = run(f, "-c", "select 1")
    same(rc, 1)
    has(err, "cannot open")


def main():
    global STELE, TMP
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--build", default="build")
    ap.add_argument("only", nargs="*", help="names of tests")
    args = ap.parse_args()
    STELE = os.path.abspath(os.path.join(args.build, "stele"))
    TMP = tempfile.mkdtemp(prefix="stele-shell-")
    passed = failed = 0
    try:
        for name, test in list(globals().items()):
            if not name.startswith("test_") or (args.only and name not in args.only):
                continue
            try:
                test()
                passed += 1
            except Exception as e:
                failed += 1
                where = traceback.extract_tb(e.__traceback__)
                line = next((f.lineno for f in where if f.name == name), 0)
                print(f"FAIL {name} (line {line}): {type(e).__name__}: {e}")
    finally:
        shutil.rmtree(TMP, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
