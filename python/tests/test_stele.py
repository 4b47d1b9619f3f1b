#!/usr/bin/env python3
"""The Python package: PEP 249, values of all types, frames in FROM and back, bulks, threads, the wheel, the notebook.

Runs against a build's library; ends with `N passed, N failed`. What needs pandas, polars or pyarrow is skipped, and says
so, where they are not installed.
"""
import argparse
import contextlib
import datetime as dt
import glob
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
import zipfile
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--build", default="build")
BUILD = os.path.join(os.path.abspath(OPTIONS.parse_args().build), "release")
os.environ["STELE_LIBRARY"] = os.path.join(BUILD, "libstele.so.0")
sys.path.insert(0, os.path.dirname(HERE))
import stele  # noqa: E402

DEFERRED = [m for m in ("numpy", "pandas", "polars", "pyarrow", "decimal", "datetime", "uuid", "signal", "threading")]


def there(*names):
    return all(importlib.util.find_spec(n) for n in names)


needs_arrow = unittest.skipUnless(there("pyarrow"), "pyarrow is not installed")
needs_pandas = unittest.skipUnless(there("pandas", "pyarrow"), "pandas or pyarrow is not installed")
needs_polars = unittest.skipUnless(there("polars"), "polars is not installed")


class Case(unittest.TestCase):
    def setUp(self):
        self.con = stele.connect()

    def tearDown(self):
        self.con.close()

    def one(self, query, parameters=None):
        return self.con._execute(query, parameters, sys._getframe(1)).fetchall()[0][0]  # the caller's frames are meant

    @contextlib.contextmanager
    def fails(self, kind, sqlstate):
        with self.assertRaises(kind) as caught:
            yield caught
        self.assertEqual(caught.exception.sqlstate, sqlstate)


class Module(Case):
    def test_constants(self):
        self.assertEqual((stele.apilevel, stele.threadsafety, stele.paramstyle), ("2.0", 1, "qmark"))
        with open(os.path.join(ROOT, "include", "stele", "stele.h"), encoding="utf-8") as f:
            self.assertIn(f'#define STELE_VERSION "{stele.__version__}"', f.read())
        self.assertEqual(stele.Date(2024, 2, 3), dt.date(2024, 2, 3))
        self.assertEqual(stele.Timestamp(2024, 2, 3, 4, 5, 6), dt.datetime(2024, 2, 3, 4, 5, 6))
        self.assertEqual(stele.TimestampFromTicks(86400).year, 1970)
        self.assertEqual(stele.Binary(b"x"), b"x")
        self.assertRaises(AttributeError, lambda: stele.nothing)

    def test_import_is_light(self):
        """Nothing that takes its time is imported before it is needed."""
        code = f"import sys; before = set(sys.modules); import stele; print([m for m in {DEFERRED} if m in sys.modules and m not in before])"
        out = subprocess.run([sys.executable, "-S", "-c", code], env={**os.environ, "PYTHONPATH": os.path.dirname(HERE)}, capture_output=True, text=True, check=True)
        self.assertEqual(out.stdout.strip(), "[]")

    def test_errors(self):
        for name in ("InterfaceError", "DatabaseError"):
            self.assertTrue(issubclass(getattr(stele, name), stele.Error))
        for name in ("DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError", "NotSupportedError"):
            self.assertTrue(issubclass(getattr(stele, name), stele.DatabaseError))
            self.assertIs(getattr(self.con, name), getattr(stele, name))
        self.con.sql("create table t (a int primary key check (a < 10))")
        for query, kind, sqlstate in (("select 1 / 0", stele.DataError, "22012"), ("select * from nothing", stele.ProgrammingError, "42P01"), ("selec", stele.ProgrammingError, "42601"),
                                      ("insert into t values (1), (1)", stele.IntegrityError, "23505"), ("insert into t values (11)", stele.IntegrityError, "23514"),
                                      ("listen s", stele.NotSupportedError, "0A000"), ("do $$ begin raise exception 'mine' using detail = 'd', hint = 'h'; end $$", stele.DatabaseError, "P0001")):
            with self.subTest(query), self.fails(kind, sqlstate) as caught:
                self.con.sql(query)
        self.assertEqual((caught.exception.detail, caught.exception.hint), ("d", "h"))
        self.assertIn("line 1 at RAISE", caught.exception.context)
        self.assertIn("DETAIL:  d", str(caught.exception))
        with self.fails(stele.IntegrityError, "23514") as caught:
            self.con.sql("update t set a = 1; insert into t values (12)")
        self.assertEqual((caught.exception.table_name, caught.exception.constraint_name), ("t", "t_a_check"))
        with self.fails(stele.ProgrammingError, "42703") as caught:
            self.con.sql("select ä from t")
        self.assertEqual(caught.exception.position, 8)

    def test_closed(self):
        con = stele.connect()
        cursor = con.cursor()
        con.close()
        con.close()
        for call in (con.cursor, con.commit, lambda: con.sql("select 1"), lambda: cursor.execute("select 1"), con.connect):
            self.assertRaises(stele.InterfaceError, call)

    def test_dropped(self):
        """A connection that is dropped is closed, and so its directory is saved and free."""
        with tempfile.TemporaryDirectory() as tmp:
            con = stele.connect(tmp + "/db")
            con.sql("create table t as select 7 as a")
            rows = con.sql("select a, array['x', null] from t")
            del con
            self.assertEqual(stele.connect(tmp + "/db").sql("select a from t").fetchall(), [(7,)])
            self.assertEqual(rows.fetchall(), [(7, ["x", None])])

    def test_directory(self):
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "db")
            with self.fails(stele.OperationalError, "58P01"):
                stele.connect(path, existing=True)
            with stele.connect(path) as con, con.connect() as other:
                con.sql("create table t as select 1 as a")
                self.assertEqual(other.sql("select a from t").fetchall(), [(1,)])
            with stele.connect(path, existing=True, threads=1, memory_limit=1 << 30) as con:
                self.assertEqual(con.sql("select a from t").fetchall(), [(1,)])

    def test_durable(self):
        with tempfile.TemporaryDirectory() as tmp:
            with stele.connect(os.path.join(tmp, "db"), durable=True) as con:
                self.assertTrue(con.commit_wait)
                self.assertEqual(con.commit_lsn, 0)
                con.sql("create table t as select 1 as a")
                first = con.commit_lsn
                self.assertTrue(con.is_stable(first))
                con.commit_wait = False
                con.sql("insert into t values (2)")
                self.assertGreater(con.commit_lsn, first)
                con.wait_stable(con.commit_lsn)
                self.assertTrue(con.is_stable(con.commit_lsn))
                with self.fails(stele.DataError, "22023"):
                    con.wait_stable(con.commit_lsn + 1)
        with stele.connect() as con:
            con.wait_stable(con.commit_lsn)
            with self.fails(stele.OperationalError, "55000"):
                con.wait_stable(1)


class DbApi(Case):
    def test_cursor(self):
        cur = self.con.cursor()
        self.assertIsNone(cur.description)
        self.assertEqual(cur.rowcount, -1)
        self.assertRaises(stele.ProgrammingError, cur.fetchone)
        cur.execute("create table t (a int, b text, c numeric(9,2))")
        self.assertIsNone(cur.description)
        self.assertRaises(stele.ProgrammingError, cur.fetchall)
        cur.executemany("insert into t values (?, ?, ?)", [(i, f"row {i}", Decimal(i) / 4) for i in range(10)])
        self.assertEqual(cur.rowcount, 10)
        cur.execute("select a, b, c from t where a > ? order by a", [2])
        self.assertEqual([d[0] for d in cur.description], ["a", "b", "c"])
        self.assertEqual(cur.description[2], ("c", "numeric", None, None, 9, 2, None))
        self.assertTrue(cur.description[0][1] == stele.NUMBER and cur.description[1][1] == stele.STRING and cur.description[1][1] != stele.NUMBER)
        self.assertEqual(cur.rowcount, 7)
        self.assertEqual(cur.fetchone(), (3, "row 3", Decimal("0.75")))
        self.assertEqual(cur.fetchmany(2), [(4, "row 4", Decimal("1.00")), (5, "row 5", Decimal("1.25"))])
        self.assertEqual(cur.fetchmany(), [(6, "row 6", Decimal("1.50"))])
        self.assertEqual([r[0] for r in cur], [7, 8, 9])
        self.assertIsNone(cur.fetchone())
        self.assertEqual(cur.fetchall(), [])
        self.assertEqual(self.con.execute("delete from t where a < 3").rowcount, 3)
        self.assertEqual(self.con.execute("delete from t").statusmessage, "DELETE 7")
        cur.setinputsizes([1])
        cur.setoutputsize(1)
        cur.close()
        self.assertRaises(stele.InterfaceError, cur.execute, "select 1")

    def test_many_rows(self):
        rows = self.con.sql("select i, case when i % 3 = 0 then null else i::text end, i % 2 = 0 from generate_series(1, 5000) as i").fetchall()
        self.assertEqual(rows, [(i, None if i % 3 == 0 else str(i), i % 2 == 0) for i in range(1, 5001)])
        result = self.con.sql("select i, nullif(i % 5, 0) from generate_series(1, 3000) as i")
        self.assertEqual([*result], [(i, i % 5 or None) for i in range(1, 3001)])
        self.assertEqual(len(result), 3000)

    def test_parameters(self):
        self.assertEqual(self.one("select $2 || $1", ["a", "b"]), "ba")
        self.assertEqual(self.con.sql("select ?, '?', \"?\", E'\\'?', $$?$$, $a$?$$?$a$, 1 /* ? /* ? */ */ -- ?\n, ? from (select 2 as \"?\") as x", ["a", "b"]).fetchall(),
                         [("a", "?", 2, "'?", "?", "?$$?", 1, "b")])
        self.assertEqual(self.con.sql("select $b, $a::int, $b", {"a": 1, "b": "x", "c": 0}).fetchall(), [("x", 1, "x")])
        self.assertRaises(stele.ProgrammingError, self.con.sql, "select $b::int", {"a": 1})
        self.assertRaises(stele.ProgrammingError, self.con.sql, "select ?, ?", [1])
        self.assertRaises(stele.ProgrammingError, self.con.sql, "select 1", [1])
        self.assertRaises(stele.ProgrammingError, self.con.sql, " -- nothing")
        with self.fails(stele.DataError, "22P02"):
            self.con.sql("select ?::int", ["x"])

    VALUES = [("boolean", True), ("smallint", -7), ("integer", 2**31 - 1), ("bigint", -2**63), ("real", 1.5), ("double precision", float("inf")), ("numeric(9,2)", Decimal("-12.30")),
              ("numeric", Decimal("1234567890123456789012.5")), ("numeric", Decimal("100")), ("numeric(38,0)", Decimal("-" + 20 * "9")), ("text", "ä\n'\"\\"), ("text", ""), ("varchar(3)", "abc"), ("bytea", b"\0\xff"),
              ("bytea", b""), ("date", dt.date(1969, 12, 31)), ("time", dt.time(23, 59, 59, 999999)), ("timestamp", dt.datetime(1900, 1, 2, 3, 4, 5, 6)),
              ("timestamptz", dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.timezone.utc)), ("uuid", uuid.UUID(int=2**127 + 5)), ("int[]", [1, None, 3]), ("text[]", ["a,b", None, "NULL", "{}\"\\", ""]),
              ("numeric[]", [Decimal("1.50")]), ("boolean[]", [True, False]), ("double precision[]", [0.5]), ("int[]", [])]

    def test_values(self):
        for sql_type, value in self.VALUES:
            with self.subTest(sql_type):
                got = self.one(f"select ?::{sql_type}", [value])
                self.assertEqual((got, type(got)), (value, type(value)))
                self.assertEqual(self.con.sql(f"select null::{sql_type}, ?::{sql_type} union all select ?, null", [value, None]).fetchall(), [(None, value), (None, None)])
        self.assertEqual(self.one("select ?::interval", [dt.timedelta(days=1, seconds=61, microseconds=5)]), "1 day 00:01:01.000005")
        self.assertEqual(self.one("select ?", [2**70]), str(2**70))
        self.assertEqual(self.one("select 'infinity'::date"), dt.date.max)
        self.assertEqual(self.one("select null::date"), None)
        self.assertNotEqual(self.one("select 'nan'::float8"), self.one("select 'nan'::float8"))
        with self.assertRaises(stele.DataError):
            self.con.sql("select date '10000-01-01'").fetchall()
        self.assertEqual(self.con.sql("select d from (values (null::date), ('2024-01-01')) as x (d)").fetchall(), [(None,), (dt.date(2024, 1, 1),)])

    def test_transactions(self):
        con = stele.connect(autocommit=False)
        other = con.connect()
        con.cursor().execute("create table t (a int)")
        self.assertTrue(con.in_transaction)
        con.commit()
        self.assertFalse(con.in_transaction)
        con.cursor().execute("insert into t values (1)")
        con.rollback()
        con.rollback()
        self.assertEqual(con.sql("select count(*) from t").fetchall(), [(0,)])
        con.commit()
        con.sql("begin; insert into t values (2); commit")
        self.assertFalse(con.in_transaction)
        con.sql("select * from t")
        other.sql("select * from t")
        con.sql("update t set a = 3")
        other.autocommit = True
        with self.fails(stele.OperationalError, "40001"):
            other.sql("update t set a = 4")
            con.commit()
            other.commit()
        con.rollback()
        other.rollback()
        with self.assertRaises(KeyError), con:
            con.sql("insert into t values (5)")
            raise KeyError
        self.assertEqual(other.sql("select count(*) from t where a = 5").fetchall(), [(0,)])
        other.close()

    def test_notices(self):
        self.con.sql("do $$ begin raise notice 'hear %', 1; raise warning 'mind'; end $$")
        self.assertEqual([*self.con.notices], [("NOTICE", "hear 1"), ("WARNING", "mind")])

    def test_show(self):
        result = self.con.sql("select i as n, 'a text that is rather long, and longer than forty' as t, null as u from generate_series(1, 30) as i")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            result.show(2)
        self.assertEqual(out.getvalue().splitlines(), ["      n | t                                        | u", "integer | text                                     | text",
                                                       "--------+------------------------------------------+-----", "      1 | a text that is rather long, and longe... | NULL",
                                                       "      2 | a text that is rather long, and longe... | NULL", "(30 rows, 2 shown)"])
        self.assertEqual(repr(self.con.sql("create table t (a int)")), "CREATE TABLE")
        self.assertIn("(30 rows, 20 shown)", repr(result))
        self.assertIn("(0 rows)", repr(self.con.sql("select 1 limit 0")))


class Threads(Case):
    def test_gil(self):
        """While a statement runs on one thread, another one runs Python: it ends the statement."""
        done = threading.Event()

        def stop():
            while not done.wait(0.01):
                self.con.interrupt()
        thread = threading.Thread(target=stop)
        thread.start()
        with self.fails(stele.OperationalError, "57014"):
            self.con.sql("select count(*) from generate_series(1, 500) as a(i), generate_series(1, 4000000) as b(k) where a.i * b.k % 7919 = 3")
        done.set()
        thread.join()

    def test_interrupt_between(self):
        """Before the statement runs, but within sql()."""
        self.con.sql("create table t (a int)")

        class Scalar:
            """As NumPy's: its value is asked for when the statement has been prepared."""
            dtype = "int32"

            def __init__(self, con):
                self.con = con

            def item(self):
                self.con.interrupt()
                return 1
        with self.fails(stele.OperationalError, "57014"):
            self.con.sql("insert into t values (?)", [Scalar(self.con)])
        self.con.interrupt()  # idle: no effect
        self.assertEqual(self.one("select count(*) from t"), 0)

    def test_control_c(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background may ignore it
        self.addCleanup(signal.signal, signal.SIGINT, before)
        done = threading.Event()
        self.addCleanup(done.set)

        def stop():
            while not done.wait(0.05):
                os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=stop)
        with self.assertRaises(KeyboardInterrupt):
            thread.start()
            self.con.sql("select count(*) from generate_series(1, 500) as a(i), generate_series(1, 4000000) as b(k) where a.i * b.k % 7919 = 3")
        try:
            done.set()
            thread.join()
        except KeyboardInterrupt:  # one more was under way
            done.set()
            thread.join()
        self.assertEqual(self.one("select 1"), 1)

    def test_control_c_of_lock(self):
        """A statement that waits for another transaction calls nothing of Python's: without the signal it would wait
        until the lock's time is up, and fail with 55P03."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.con.sql("create table t (a int primary key, b int); insert into t values (1, 1)")
        with self.con.connect() as other:
            for con in (self.con, other):
                con.sql("set default_transaction_isolation = 'read committed'; set lock_timeout = '20s'")
            other.begin()
            other.sql("update t set b = 2 where a = 1")
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                self.con.sql("update t set b = 3 where a = 1")
            timer.join()
            self.assertNotEqual(self.con._error().sqlstate, "55P03")  # it has not waited that long
            self.assertEqual(self.con.sql("select b from t").fetchall(), [(1,)])
            other.rollback()

    def test_connections(self):
        self.con.sql("create table t (a int, b int)")
        failures = []

        def work(k):
            try:
                with self.con.connect() as con:
                    for i in range(20):
                        con.sql("insert into t values (?, ?)", [k, i])
                        mine = con.sql("select ?::int as k", [k])  # noqa: F841
                        assert con.sql("select k from mine").fetchall() == [(k,)]
            except Exception as e:  # noqa: BLE001
                failures.append(e)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.one("select count(*) from t"), 80)


class Frames(Case):
    SQL = ("select i as id, case when i % 5 > 0 then i / 4.0::float8 end as f, case when i % 7 > 0 then 'some text ' || i end as s, i % 2 = 0 as b, date '2024-01-01' + i as d, "
           "timestamp '2024-01-01' + i * interval '1 hour' as t, timestamptz '2024-01-01 00:00+00' as z, (i / 8.0)::numeric(9,3) as n, case when i % 3 > 0 then array[i, null, i + 1] end as l from generate_series(1, 2000) as i")

    def same(self, given):
        """What the query's frame has in FROM is what the query gives."""
        self.con.sql("create table if not exists expected as " + self.SQL)
        self.assertEqual(self.one("select count(*) from given"), 2000)
        self.assertEqual(self.one("select count(*) from (select id, f, s, b, d::date, t, z, n::numeric(9,3), l::int[] from given except select * from expected) as x"), 0)

    def test_results(self):
        first = self.con.sql(self.SQL)
        self.con.register("named", first)
        self.assertEqual(self.one("select count(*) from named"), 2000)
        self.same(first)
        self.con.unregister("named")
        with self.fails(stele.ProgrammingError, "42P01"):
            self.con.sql("select * from named")
        second = self.con.sql("select * from first where id <= 10")
        self.assertEqual(len(second), 10)
        self.assertEqual(self.one("select sum(second.id) from first join second on first.id = second.id"), 55)
        with self.fails(stele.ProgrammingError, "42P01"):
            self.con.sql("select * from con")  # a name of no frame

    def test_scope(self):
        frame = self.con.sql("select 1 as a")
        Upper = self.con.sql("select 2 as a")  # noqa: N806
        self.assertEqual(self.one("select a from frame"), 1)
        self.assertEqual(self.one("select a from Upper"), 2)
        self.assertEqual(self.one('select a from "Upper"'), 2)
        self.assertEqual(self.con.cursor().execute("select a from frame").fetchall(), [(1,)])
        self.assertEqual(self.con.execute("select a from frame").fetchall(), [(1,)])
        self.assertEqual([self.con.sql("select a from frame").fetchall() for _ in range(2)], [[(1,)]] * 2)
        self.assertEqual({k: self.con.sql("select a from frame").rowcount for k in range(1)}, {0: 1})
        self.con.sql("begin; create table t as select * from frame; insert into t select a + 1 from frame; commit")
        self.assertEqual(self.one("select sum(a) from t"), 3)
        self.con.sql("create table frame as select 9 as a")
        self.assertEqual(self.one("select a from frame"), 9)
        self.con.sql("drop table frame")
        del frame
        with self.fails(stele.ProgrammingError, "42P01"):
            self.con.sql("select a from frame")
        self.assertEqual(self.one("select count(*) from stele_rows_of_the_module"), 3)
        del Upper

    def test_append(self):
        rows = self.con.sql("select 'x' as \"B b\", i as a from generate_series(1, 3) as i")
        self.con.sql('create table t (a bigint, c int default 5, "B b" text)')
        self.assertEqual(self.con.append("t", rows), 3)
        self.assertEqual(self.con.sql("select * from t order by 1").fetchall(), [(1, 5, "x"), (2, 5, "x"), (3, 5, "x")])
        with self.fails(stele.ProgrammingError, "42703"):
            self.con.append("t", self.con.sql("select 1 as nothing"))
        self.assertRaises(stele.InterfaceError, self.con.append, "t", [1])

    @needs_pandas
    def test_pandas(self):
        import numpy as np
        import pandas as pd
        df = self.con.sql(self.SQL).df(decimals="decimal")
        self.assertEqual(df.shape, (2000, 9))
        self.assertEqual(str(df["id"].dtype), "int32")
        self.assertEqual(df["n"][0], Decimal("0.125"))
        self.assertEqual(str(self.con.sql(self.SQL).df()["n"].dtype), "float64")
        self.same(df)
        kinds = pd.DataFrame({"c": pd.Categorical(["x", None, "y"]), "i": pd.array([1, None, 3], dtype="Int64"), "o": ["a", None, "b"], "t": pd.to_datetime(["2024-01-01", None, "2024-01-02 03:04:05.678"], format="ISO8601"),
                              "td": pd.to_timedelta([1, 2, 3], unit="h"), "f": np.array([1, np.nan, 3], dtype="float32"), 7: [1, 2, 3]}, index=[5, 6, 7])
        self.assertEqual(self.con.sql('select c, i, o, t, td, f, "7" from kinds').fetchall(),
                         [("x", 1, "a", dt.datetime(2024, 1, 1), "01:00:00", 1.0, 1), (None, None, None, None, "02:00:00", None, 2), ("y", 3, "b", dt.datetime(2024, 1, 2, 3, 4, 5, 678000), "03:00:00", 3.0, 3)])
        mixed = pd.DataFrame({"m": [1, "x"]})
        with self.assertRaises(stele.DataError):
            self.con.sql("select * from mixed")
        del mixed
        empty = pd.DataFrame({"a": np.array([], dtype="int64")})
        self.assertEqual(self.one("select count(*) from empty"), 0)
        del empty
        self.assertEqual(self.one("select ?::int", [np.int64(5)]), 5)
        self.assertIsNone(self.one("select ?::timestamp", [pd.NaT]))

    @needs_polars
    def test_polars(self):
        import polars as pl
        df = self.con.sql(self.SQL).pl()
        self.assertEqual(df.shape, (2000, 9))
        self.assertEqual(df.schema["n"], pl.Decimal(9, 3))
        self.same(df)
        kinds = pl.DataFrame({"c": pl.Series(["x", None, "y"], dtype=pl.Categorical), "u": pl.Series([1, None, 2**64 - 1], dtype=pl.UInt64), "l": [[1, 2], None, []], "s": ["short", None, "longer than twelve bytes"]})
        self.assertEqual(self.con.sql("select * from kinds").fetchall(), [("x", Decimal(1), [1, 2], "short"), (None, None, None, None), ("y", Decimal(2**64 - 1), [], "longer than twelve bytes")])
        parts = pl.concat([df, df], rechunk=False)
        self.assertEqual(self.one("select count(*) from parts"), 4000)
        del parts, kinds

    @needs_arrow
    def test_arrow(self):
        import pyarrow as pa
        table = self.con.sql(self.SQL).arrow()
        self.assertEqual(table.schema.field("t").type, pa.timestamp("us"))
        self.same(table)
        reader = table.to_reader(max_chunksize=100)
        self.assertEqual(self.one("select sum(id) from reader"), 2001000)
        nested = pa.table({"s": pa.array([{"a": 1}])})
        self.assertEqual(self.con.sql("select * from nested").fetchall(), [('{"a": 1}',)])
        del reader, nested
        result = self.con.sql("select 'kept' as a")
        kept = result.arrow()
        del result
        self.con.sql("select 1")
        self.assertEqual(kept.column("a").to_pylist(), ["kept"])
        self.assertEqual(self.con.sql("create table none (a int)").arrow().num_columns, 0)

    def test_stream(self):
        self.con.sql("create table large as select x::int as a, 'text ' || x as b from generate_series(1, 200000) g(x)")
        rows = self.con.stream("select a, b from large where a > ?", [10])
        self.assertEqual((rows.columns, rows.types), (["a", "b"], ["integer", "text"]))
        self.assertEqual(rows.fetchone(), (11, "text 11"))
        self.assertEqual(rows.fetchmany(2), [(12, "text 12"), (13, "text 13")])
        self.con.sql("delete from large where a % 2 = 0")  # which the stream does not see
        self.con.sql("drop table large")
        self.assertEqual([r[0] for r in rows], list(range(14, 200001)))
        self.assertIsNone(rows.fetchone())
        with self.con.stream("select 1 / (150000 - i) from generate_series(1, 200000) g(i)") as rows:
            with self.fails(stele.DataError, "22012"):
                for n, _ in enumerate(rows):
                    pass
            self.assertGreater(n, 1000)
        with self.assertRaises(stele.InterfaceError):
            rows.fetchone()
        with self.assertRaises(stele.ProgrammingError):
            self.con.stream("select 1; select 2")
        self.assertEqual(list(self.con.stream("values (1), (2)")), [(1,), (2,)])
        self.assertEqual(list(self.con.stream("create table nothing (a int)")), [])
        rows, other = self.con.stream("select i from generate_series(1, 200000) g(i)"), self.con.connect()
        left = other.stream("select i from generate_series(1, 200000) g(i)")
        other.close()
        with self.assertRaises(stele.InterfaceError):
            left.fetchone()
        del left
        rows.close()

    @needs_arrow
    def test_stream_of_batches(self):
        import pyarrow as pa
        reader = self.con.stream("select i, 'row ' || i as t from generate_series(1, 300000) g(i)").reader()
        self.assertEqual(reader.schema.names, ["i", "t"])
        batches = list(reader)
        self.assertGreater(len(batches), 2)
        self.assertEqual(pa.Table.from_batches(batches).column("i").to_pylist(), list(range(1, 300001)))
        stream = self.con.stream("select i from generate_series(1, 300000) g(i)")
        self.assertEqual(self.one("select sum(i)::bigint from stream"), 45000150000)
        with self.assertRaises(stele.InterfaceError):
            stream.fetchone()
        stream = self.con.stream("select 1 / (250000 - i) from generate_series(1, 300000) g(i)").reader()
        with self.assertRaisesRegex(Exception, "22012: division by zero"):
            stream.read_all()

    def test_without(self):
        """Without pyarrow and polars results still come as rows, and the errors say what is missing."""
        code = ("import sys; sys.modules.update(pyarrow=None, pandas=None, polars=None); import stele; r = stele.connect().sql('select 1 as a'); print(r.fetchall())\n"
                "for f in (r.df, r.arrow, r.pl):\n  try: f()\n  except stele.InterfaceError as e: print(e)")
        out = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.path.dirname(HERE)}, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out.count("need pyarrow"), 2)
        self.assertEqual(out.count("need polars"), 1)
        self.assertIn("[(1,)]", out)


stele_rows_of_the_module = None


class Bulks(Case):
    def setUp(self):
        super().setUp()
        self.con.sql("create table account (id int primary key, balance bigint not null check (balance >= 0)); insert into account select i, 100 from generate_series(1, 100) as i;"
                     "create procedure transfer(a int, b int, amount bigint, out rest bigint) language plpgsql as $$ declare have bigint; begin "
                     "select balance into have from account where id = a; rest := have - amount; update account set balance = rest where id = a; update account set balance = balance + amount where id = b; end $$")

    def test_frame(self):
        calls = self.con.sql("select 1 + i % 100 as x, 1 + (i * 7) % 100 as y, 1::bigint as amount from generate_series(0, 999) as i")
        done = self.con.bulk("transfer", calls)
        self.assertEqual((done.info.calls, done.info.failed, len(done)), (1000, 0, 1000))
        self.assertEqual(done.columns, ["sqlstate", "message", "rest"])
        self.assertEqual(done.types, ["text", "text", "bigint"])
        self.assertEqual(done.fetchone(), (None, None, 99))
        self.assertEqual(self.one("select count(*) from done where rest > 90 and sqlstate is null"), 1000)
        self.assertEqual(self.one("select sum(balance) from account"), 10000)

    def test_rows(self):
        done = self.con.bulk("transfer", [(1, 2, 60), (1, 2, 60), (None, 2, 1), (3, "4", 100)])
        self.assertEqual([(r[0], r[2]) for r in done.fetchall()], [(None, 40), ("23514", None), (None, None), (None, 0)])
        self.assertRaises(stele.ProgrammingError, self.con.bulk, "transfer", [(1, 2)])
        with self.fails(stele.ProgrammingError, "42883"):
            self.con.bulk("nothing", [])
        with self.fails(stele.DataError, "22P02"):
            self.con.bulk("transfer", [("x", 1, 1)])
        with self.fails(stele.ProgrammingError, "42804"):
            self.con.bulk("transfer", self.con.sql("select 'a' as a, 1 as b, 1 as c"))
        self.assertEqual(self.con.bulk("transfer", []).fetchall(), [])

    def test_transaction(self):
        self.con.begin()
        self.assertEqual(self.con.bulk("transfer", [(1, 2, 60), (1, 2, 60)]).info.failed, 1)
        self.con.rollback()
        self.assertEqual(self.one("select balance from account where id = 1"), 100)

    @needs_pandas
    def test_pandas(self):
        import pandas as pd
        calls = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6], "amount": [10, 1000, 20]})
        df = self.con.bulk("transfer", calls).df()
        self.assertEqual(df["sqlstate"].isna().tolist(), [True, False, True])
        self.assertEqual(df["rest"].tolist()[::2], [90, 80])
        self.con.sql("create table paid (i int, x numeric(8,2));"
                     "create procedure pay(i int, x numeric) language plpgsql as $$ begin insert into paid values (i, x); end $$")
        for dtype in ("float64", "float32"):
            pays = pd.DataFrame({"i": range(4), "x": pd.Series([0.1, 2.675, None, -1234.5], dtype=dtype)})
            self.con.bulk("pay", pays)
        self.assertEqual(self.con.sql("select x::text from paid order by i").fetchall(),
                         [(x,) for x in ("0.10", "0.10", "2.68", "2.68", None, None, "-1234.50", "-1234.50")])
        info = self.con.bulk("pay", pd.DataFrame({"i": [1], "x": [1e30]})).df()  # the call fails, not the bulk
        self.assertEqual(info["sqlstate"].tolist(), ["22003"])


class Functions(Case):
    def test_values(self):
        """Values of each type, NULLs, views, other connections, errors, dropping."""
        import datetime
        import uuid
        same = lambda x: x  # noqa: E731
        for kind, value in ((bool, True), ("smallint", -5), ("int", 7), (int, -(1 << 63)), ("real", 1.5), (float, 0.1),
                            (str, "h\u00e9"), (bytes, b"\x00\xff"), ("date", datetime.date(1999, 12, 31)),
                            ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4)), (uuid.UUID, uuid.UUID(int=5)),
                            ("time", datetime.time(23, 59, 1, 5)), ("numeric(9, 2)", Decimal("-12.30")),
                            ("timestamptz", datetime.datetime(1960, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)),
                            ("numeric(30,1)", Decimal("1234567890123456789012.5")), (Decimal, Decimal("0.5")),
                            ("jsonb", '{"a": [1, 2]}'), (list[int], [1, None, -3]), ("text[]", ["a", None, "", "\u00e9"]),
                            ("uuid[]", [uuid.UUID(int=7)]), ("numeric(4,1)[]", [Decimal("1.5"), None]),
                            ("boolean[]", []), ("bytea[]", [b"\x00"])):
            self.con.create_function("same", same, [kind], kind)
            self.assertEqual(self.con.sql("select same($1), same(null)", [value]).fetchall(), [(value, None)])
            self.con.remove_function("same")
        self.con.create_function("turned", lambda a: [list(x) for x in zip(*a)], [list[int]], list[int])
        self.assertEqual(self.one("select turned('{{1,2,3},{4,null,6}}')::text"), "{{1,4},{2,NULL},{3,6}}")
        self.assertEqual(self.one("select turned($1)::text", [[[1, 2]]]), "{{1},{2}}")
        with self.fails(stele.Error, "38000"):
            self.con.sql("select turned('[0:1]={1,2}')")
        self.con.create_function("shout", lambda s: None if s == "no" else s + "!", ["text"], "text", volatility="stable")
        self.con.sql("create view v as select shout(s) as x from (values ('a'), ('no'), (null)) as t (s)")
        with self.con.connect() as other:
            self.assertEqual(other.sql("select x from v").fetchall(), [("a!",), (None,), (None,)])
        self.con.create_function("plus", lambda a, b: (a or 0) + (b or 0), [int, int], int, called_on_null=True)
        self.assertEqual(self.one("select sum(plus(i, null)) from generate_series(1, 5000) as i"), 12502500)
        self.con.create_function("inverse", lambda x: 1 // x, [int], "smallint")
        with self.fails(stele.Error, "38000") as caught:
            self.con.sql("select inverse(i) from generate_series(-1, 1) as i")
        self.assertIn("ZeroDivisionError", str(caught.exception))
        self.assertIn("inverse(0)", caught.exception.context)
        self.con.create_function("wide", lambda: 1 << 20, [], "smallint")
        with self.fails(stele.DataError, "22003"):
            self.con.sql("select wide()")
        with self.fails(stele.ProgrammingError, "42723"):
            self.con.create_function("lower", same, [str], str)
        self.assertRaises(stele.NotSupportedError, self.con.create_function, "f", same, ["interval"], str)
        self.con.create_function("narrow", same, [float], "numeric(3,1)")
        self.assertEqual(self.one("select narrow(12.25)"), Decimal("12.3"))
        with self.fails(stele.DataError, "22003"):
            self.con.sql("select narrow(100)")
        with self.fails(stele.DataError, "22003"):
            self.con.sql("select narrow('NaN')")
        self.con.remove_function("shout")
        with self.fails(stele.ProgrammingError, "42883"):
            self.con.sql("select x from v")

    @needs_pandas
    def test_arrays(self):
        import numpy
        self.con.create_function("distance", numpy.hypot, [float, float], float, vectorized=True)
        self.assertEqual(self.one("select sum(distance(3 * i, 4 * i)) from generate_series(1, 3000) as i"), 5 * 4501500)
        self.con.create_function("next", lambda a: a + 1, ["int"], "int", vectorized=True, called_on_null=True)
        self.assertEqual(self.con.sql("select next(i) from (values (1), (null), (3)) as v (i)").fetchall(), [(2,), (None,), (4,)])
        self.con.create_function("one", lambda a: 1, ["int"], "int", vectorized=True)
        self.assertEqual(self.one("select sum(one(i)) from generate_series(1, 10) as i"), 10)


class Median:
    """An aggregate as sqlite3 has them."""

    def __init__(self):
        self.values = []

    def step(self, x):
        self.values.append(x)

    def finalize(self):
        return sorted(self.values)[len(self.values) // 2] if self.values else -1


class Aggregates(Case):
    def test_functions(self):
        """Over lists: order, FILTER, DISTINCT, windows, no rows, arrays, errors."""
        self.con.create_aggregate("glue", lambda texts, by: by[0].join(texts), [str, str], str)
        self.con.create_aggregate("spread", lambda x: [min(x), max(x)], [int], list[int])
        self.con.sql("create table t as select i as a, chr(64 + i) as s from generate_series(1, 5) as i")
        self.assertEqual(self.con.sql("select glue(s, '-' order by a desc), glue(s, '') filter (where a < 2), spread(a) from t").fetchall(),
                         [("E-D-C-B-A", "A", [1, 5])])
        self.assertEqual(self.con.sql("select a % 2, glue(distinct s, ',' order by s) from t group by 1 order by 1").fetchall(),
                         [(0, "B,D"), (1, "A,C,E")])
        self.assertEqual(self.con.sql("select glue(s, '') over (order by a) from t limit 2").fetchall(), [("A",), ("AB",)])
        self.assertEqual(self.con.sql("select glue(s, '-'), glue(null, '-') from t where a > 9").fetchall(), [(None, None)])
        with self.fails(stele.Error, "38000") as caught:
            self.con.create_aggregate("broken", lambda x: x[9], [int], int)
            self.con.sql("select broken(a) from t")
        self.assertIn("IndexError", str(caught.exception))
        with self.fails(stele.Error, "42723"):
            self.con.create_aggregate("lower", len, [int], int)
        self.con.remove_function("glue")
        with self.fails(stele.ProgrammingError, "42883"):
            self.con.sql("select glue(s, '-') from t")

    def test_classes(self):
        self.con.create_aggregate("middle", Median, [int], int)
        self.assertEqual(self.con.sql("select i % 2, middle(i) from generate_series(1, 9) as i group by 1 order by 1").fetchall(),
                         [(0, 6), (1, 5)])
        self.assertEqual(self.one("select middle(i) from generate_series(1, 0) as i"), -1)
        self.assertRaises(stele.ProgrammingError, self.con.create_aggregate, "m", Median, [int], int, vectorized=True)

    @needs_pandas
    def test_arrays(self):
        import numpy
        self.con.create_aggregate("rms", lambda x: numpy.sqrt((x * x).mean()), [float], float, vectorized=True)
        self.assertEqual(self.con.sql("select rms(x) from (values (3.0), (null), (-3)) as v (x)").fetchall(), [(3.0,)])
        self.assertRaises(stele.NotSupportedError, self.con.create_aggregate, "m", len, [str], int, vectorized=True)


class TableFunctions(Case):
    def test_rows(self):
        """Constants, parameters, columns; lazily; errors; what is open is closed."""
        log = []

        def letters(first, n):
            log.append("begin")
            try:
                for i in range(n):
                    yield i, None if i == 1 else chr(ord(first) + i % 9), [i] * min(i, 2)
            finally:
                log.append("end")
        self.con.create_table_function("letters", letters, {"first": str, "n": int}, {"i": int, "c": "text", "l": list[int]})
        rows = [(0, "a", []), (1, None, [1]), (2, "c", [2, 2])]
        self.assertEqual(self.con.sql("select * from letters('a', 3)").fetchall(), rows)
        self.assertEqual(self.con.sql("select * from letters(n => $1, first => $2)", [3, "a"]).fetchall(), rows)
        self.assertEqual(self.con.sql("select x.n, c from (values (1), (2)) as x (n), letters('p', x.n) order by 1, 2").fetchall(),
                         [(1, "p"), (2, "p"), (2, None)])
        self.assertEqual(self.one("select count(*) from letters('a', 5000)"), 5000)
        self.assertEqual(self.con.sql("select i from letters('a', 1000000000) limit 2").fetchall(), [(0,), (1,)])
        self.assertEqual(log.count("begin"), log.count("end"))
        self.con.create_table_function("several", lambda x: x or [], [list[str]], [("word", str)])
        self.con.create_table_function("flat", lambda x: x, [list[int]], {"row": list[int]})
        self.assertEqual(self.con.sql("select row from flat('{{1,2},{3,4}}')").fetchall(), [([1, 2],), ([3, 4],)])
        self.assertEqual(self.con.sql("select word from several(array['a', 'b']) union all select word from several(null)").fetchall(),
                         [("a",), ("b",)])
        with self.fails(stele.Error, "38000") as caught:
            self.con.sql("select * from letters('', 1)")
        self.assertIn("TypeError", str(caught.exception))
        self.con.create_table_function("uneven", lambda: [(1,)], [], {"a": int, "b": int})
        with self.fails(stele.Error, "38000"):
            self.con.sql("select * from uneven()")
        with self.fails(stele.ProgrammingError, "42704"):
            self.con.create_table_function("wrong", lambda: [], [], {"a": "bigint"})
            self.con.create_table_function("wrong", lambda: [], ["nothing"], {"a": "bigint"})
        self.con.remove_function("letters")
        with self.fails(stele.ProgrammingError, "42883"):
            self.con.sql("select * from letters('a', 3)")


class Package(unittest.TestCase):
    def test_wheel(self):
        """pip installs a wheel with the library inside, which is the one that is loaded; two of them are the same."""
        with tempfile.TemporaryDirectory() as tmp:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
            if subprocess.run([*pip, "--version"], capture_output=True).returncode:
                self.skipTest("pip is not installed")
            subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", tmp + "/here", "."], cwd=ROOT, check=True, capture_output=True)
            env = {k: v for k, v in os.environ.items() if k != "STELE_LIBRARY"}
            code = "import stele, stele._lib; print(stele.__file__, stele._lib.lib._name, stele.connect().sql('select 42').fetchall()[0][0])"
            out = subprocess.run([sys.executable, "-c", code], env={**env, "PYTHONPATH": tmp + "/here"}, cwd=tmp, capture_output=True, text=True, check=True).stdout.split()
            self.assertEqual(out, [tmp + "/here/stele/__init__.py", tmp + "/here/stele/libstele.so.0", "42"])
            names = [f.replace(os.sep, "/") for f in os.listdir(tmp + "/here/stele")]
            self.assertIn("py.typed", names)
            sys.path.insert(0, os.path.dirname(HERE))
            import wheel_backend
            first, second = tmp + "/1", tmp + "/2"
            for folder in (first, second):
                os.mkdir(folder)
                name = wheel_backend.build_wheel(folder)
            with open(f"{first}/{name}", "rb") as a, open(f"{second}/{name}", "rb") as b:
                self.assertEqual(a.read(), b.read())
            with zipfile.ZipFile(f"{first}/{name}") as z:
                self.assertIsNone(z.testzip())

    @needs_pandas
    def test_notebook(self):
        """Its cells run, in order, and it has ten."""
        for path in glob.glob(os.path.join(ROOT, "python", "examples", "*.ipynb")):
            with open(path, encoding="utf-8") as f:
                cells = json.load(f)["cells"]
            self.assertEqual(len(cells), 10)
            names = {"__name__": "__main__"}
            with contextlib.redirect_stdout(io.StringIO()):
                for c in cells:
                    if c["cell_type"] == "code":
                        exec(compile("".join(c["source"]), path, "exec"), names)  # noqa: S102

    def test_readme(self):
        """What the README names is there."""
        with open(os.path.join(ROOT, "python", "README.md"), encoding="utf-8") as f:
            text = f.read()
        for name in re.findall(r"`?con\.(\w+)", text):
            self.assertTrue(hasattr(stele.Connection, name) or name in ("notices",), name)


def main():
    global stele_rows_of_the_module
    with stele.connect() as con:
        stele_rows_of_the_module = con.sql("select i from generate_series(1, 3) as i")
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    stream = io.StringIO()
    result = unittest.TextTestRunner(stream, verbosity=1).run(suite)
    lost = len({str(getattr(t, "test_case", t)) for t, _ in result.failures + result.errors})
    if lost:
        print(stream.getvalue())
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}")
    print(f"{result.testsRun - lost - len(result.skipped)} passed, {lost} failed")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
