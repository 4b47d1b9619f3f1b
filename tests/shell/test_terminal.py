#!/usr/bin/env python3
"""Tests of the `stele` program: options, scripts, backslash commands, the prompt on a pseudo-terminal, directory databases.

Each test is a function test_*; the checks raise. Last line: "N passed, N failed"."""
import argparse
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

STELE = None
TMP = None
LONG_QUERY = "select count(*) from generate_series(1, 200000) a(i), generate_series(1, 200000) b(j) where a.i + b.j = 0"


def run(*args, stdin="", env=None, timeout=60):
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
    same(ok("-c", "select 1 as a, 'xy' as b, null::int as c"), " a | b  | c   \n---+----+------\n 1 | xy | NULL\n(1 row)\n")


def test_numbers_are_right_aligned_and_wide_text_counts_columns():
    out = ok("-c", "select * from (values (1, '日本'), (100, 'abc')) v(n, t)")
    same(out, " n   | t   \n-----+------\n   1 | 日本\n 100 | abc \n(2 rows)\n")


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


def test_commands_and_files_stop_at_an_error():
    rc, out, _ = run("--csv", "-c", "select 1 as a", "-c", "select nope", "-c", "select 2 as b")
    same((rc, out), (1, "a\n1\n"))
    f = write("bad.sql", "select 1 as a;\nselect nope;\nselect 2 as b;\n")
    rc, out, _ = run("--csv", "-f", f)
    same((rc, out), (1, "a\n1\n"))


def test_standard_input_goes_on_after_an_error():
    rc, out, err = run("--csv", stdin="select nope;\nselect 2 as b;\n")
    same((rc, out), (1, "b\n2\n"))
    has(err, "42703")


def test_missing_file():
    rc, _, err = run("-f", path("nothing.sql"))
    same(rc, 1)
    has(err, "nothing.sql", "No such file")


def test_detail_and_hint():
    rc, _, err = run("-c", "create table t(a int primary key)", "-c", "insert into t values (1), (1)")
    same(rc, 1)
    has(err, "23505", "DETAIL:", "(a)=(1)")


# ---- backslash commands

def test_describe():
    script = "create table t(a int primary key, b varchar(5) not null default 'x', c numeric(10,2));\ncreate view v as select a from t;\n"
    out = ok("-q", stdin=script + "\\d t\n")
    assert re.search(r"a +\| integer +\| not null \| primary key", out), out
    assert re.search(r"b +\| character varying\(5\) +\| not null \| +\| 'x'", out), out
    assert re.search(r"c +\| numeric\(10,2\)", out), out
    out = ok("-q", stdin=script + "\\d\n")
    assert re.search(r"t +\| table \| 0", out) and re.search(r"v +\| view", out), out
    out = ok("-q", stdin=script + "\\dt\n")
    assert re.search(r"\bt +\| table", out) and "view" not in out, out
    out = ok("-q", stdin=script + "\\dv\n")
    assert "view" in out and "table" not in out, out
    rc, _, err = run("-c", "\\d missing")
    same(rc, 1)
    has(err, "42P01")
    has(ok("-c", "\\dt"), "Nothing there yet")


def test_functions():
    out = ok("-c", "\\df substr")
    has(out, "substr(")
    assert "coalesce" not in out
    assert len(ok("-c", "\\df").splitlines()) > 100


def test_timing():
    out = ok(stdin="\\timing on\nselect 1;\n\\timing\nselect 2;\n")
    has(out, "Timing is on.", "Timing is off.")
    same(len(re.findall(r"^Time: \d+\.\d+ ms$", out, re.M)), 1)
    has(ok("--timing", "-c", "select 1"), "Time: ")


def test_expanded():
    out = ok(stdin="\\x\nselect 1 as a, 'two' as long_name;\nselect 1 as a where false;\n\\x off\nselect 1 as a;\n")
    has(out, "Expanded display is on.", "-[ RECORD 1 ]\na         | 1\nlong_name | two\n", "(0 rows)\n", "Expanded display is off.", "(1 row)")


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
    rc, _, err = run("-f", loop)
    same(rc, 1)
    has(err, "too deeply")
    rc, _, err = run(stdin="\\i /nonexistent.sql\n")
    same(rc, 1)
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
    same(ok(stdin="\\echo hello  world\n"), "hello  world\n")
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
    same((rc, out), (1, "CREATE TABLE\nn\n0\n"))
    has(err, "22P02", "COPY t, line 2")


def test_large_copy_through_pipes():
    data = "".join(f"{i}\tname {i}\n" for i in range(200000))
    same(ok("-q", "--csv", "-c", "create table t(a int, b text)", "-c", "copy t from stdin", "-c", "select count(*) as n, sum(a) as s from t", stdin=data),
         f"n,s\n200000,{sum(range(200000))}\n")


# ---- signals

def interrupted(*args, stdin=None, after=0.7):
    p = subprocess.Popen([STELE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if stdin is not None:
        p.stdin.write(stdin)
        p.stdin.flush()
    time.sleep(after)
    p.send_signal(signal.SIGINT)
    start = time.time()
    out, err = p.communicate(timeout=30)
    assert time.time() - start < 5, "cancelling took too long"
    return p.returncode, out, err


def test_interrupt_cancels_the_statement_only():
    rc, out, err = interrupted("--csv", stdin=LONG_QUERY + ";\nselect 'still here' as s;\n")
    same((rc, out), (1, "s\nstill here\n"))
    has(err, "57014", "canceling statement due to user request")


def test_interrupt_ends_a_command():
    rc, out, err = interrupted("-c", LONG_QUERY, "-c", "select 1")
    same((rc, out), (1, ""))
    has(err, "57014")


# ---- the prompt

class Terminal:
    """The shell on a pseudo-terminal of 80 columns."""

    def __init__(self, *args, env=None):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", "HOME": TMP, "COLUMNS": "80", **(env or {})})
            os.execv(STELE, [STELE, *args])
        self.expect("stele> ")

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode(errors="replace")).replace("\r", "")
        return bool(data)

    def expect(self, what, seconds=20):
        """Waits for the text, returns all before it, forgets both."""
        end = time.time() + seconds
        while what not in self.text:
            if time.time() > end or not (self.read(0.2) or time.time() < end):
                raise AssertionError(f"no {what!r} in {self.text!r}")
        before, _, self.text = self.text.partition(what)
        return before

    def send(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.send(text + "\n")

    def ask(self, sql):
        self.line(sql)
        return self.expect("stele> ")

    def close(self):
        """Leaves with Ctrl-D, returns the exit status."""
        end = time.time() + 20
        again = 0
        while time.time() < end:
            if time.time() > again: # typed before the prompt has the terminal, Ctrl-D becomes a character: Ctrl-U removes it
                try:
                    self.send("\x15\x04" if again else "\x04")
                    again = time.time() + 1
                except OSError:
                    pass # gone already
            self.read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("Ctrl-D did not end the shell")


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
    t.expect("| some text", 120)
    t.send("\x03")
    assert "(1000000 rows)" not in t.expect("stele> ")
    has(t.ask("select 'alive' as s;"), "(1 row)")
    same(t.close(), 0)


def test_copy_typed_at_the_prompt():
    t = Terminal()
    t.ask("create table t(a int);")
    t.send("copy t from stdin;\n")
    time.sleep(0.3)
    t.send("1\n2\n\\.\n")
    has(t.expect("stele> "), "COPY 2")
    t.send("copy t from stdin;\n")
    time.sleep(0.3)
    t.send("3\n\x04")
    has(t.expect("stele> "), "COPY 1")
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
    t.expect("...> ")
    t.line("\\r")
    t.expect("stele> ")
    has(t.ask("select 7 as seven;"), "seven", "(1 row)")
    same(t.close(), 0)


def test_interrupt_at_the_prompt_forgets_the_line():
    t = Terminal()
    t.line("select 1,")
    t.expect("...> ")
    t.send("more of it")
    t.expect("more of it")
    t.send("\x03")
    t.expect("stele> ")
    out = t.ask("select 5 as five;")
    has(out, "five", "(1 row)")
    assert "ERROR" not in out, out
    t.send("garbage")
    t.expect("garbage")
    t.send("\x03")
    t.expect("stele> ")
    out = t.ask("select 6 as six;")
    has(out, "six", "(1 row)")
    assert "ERROR" not in out, out
    same(t.close(), 0)


def test_interrupt_cancels_a_query_at_the_prompt():
    t = Terminal()
    t.line(LONG_QUERY + ";")
    time.sleep(0.7)
    t.send("\x03")
    has(t.expect("stele> "), "57014")
    has(t.ask("select 'alive' as s;"), "(1 row)")
    same(t.close(), 0)


def test_history():
    home = tempfile.mkdtemp(dir=TMP)
    t = Terminal(env={"HOME": home})
    t.ask("select 'first' as one;")
    t.send("\x1b[A")
    t.expect("select 'first' as one;")
    has(t.ask(""), "(1 row)")
    same(t.close(), 0)
    saved = open(os.path.join(home, ".stele_history")).read()
    has(saved, "first")
    same(os.stat(os.path.join(home, ".stele_history")).st_mode & 0o777, 0o600)
    t = Terminal(env={"HOME": home})
    t.send("\x10")
    t.expect("select 'first' as one;")
    has(t.ask(""), "(1 row)")
    same(t.close(), 0)


def test_completion():
    t = Terminal()
    t.ask("create table quantities_table(amount_column int);")
    t.send("ins\t")
    t.expect("ert into")
    t.send("quantities_t\t")
    t.expect("able")
    t.send("values (3);\n")
    has(t.expect("stele> "), "INSERT 0 1")
    t.send("SEL\t")
    t.expect("ECT")
    t.send("\x03")
    t.expect("stele> ")
    t.send("select amount_c\t")
    t.expect("olumn")
    t.send("from quantities_table;\n")
    has(t.expect("stele> "), "(1 row)")
    same(t.close(), 0)


def test_table_fits_the_terminal():
    t = Terminal()
    out = t.ask("select repeat('x', 300) as a, 1 as b;")
    body = out.split("\n", 1)[1]
    has(body, "…", "(1 row)")
    assert max(len(l) for l in body.splitlines()) <= 80, body
    same(t.close(), 0)


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
        p.communicate(timeout=20)
    ok(db, "-c", "select 1")


def test_kill_leaves_the_last_checkpoint():
    db = path("killed")
    p = subprocess.Popen([STELE, db, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdin.write("create table t(a int);\ninsert into t select i from generate_series(1, 1000) g(i);\ncheckpoint;\n"
                  "insert into t select i from generate_series(1, 500) g(i);\n\\echo ready\n" + LONG_QUERY + ";\n")
    p.stdin.flush()
    same(p.stdout.readline(), "ready\n")
    p.kill()
    p.communicate(timeout=20)
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
        p.communicate(timeout=20)
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
