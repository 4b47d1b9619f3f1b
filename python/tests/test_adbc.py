#!/usr/bin/env python3
"""The ADBC driver in libstele, through the driver manager (adbc_driver_manager, pyarrow): queries, parameters, ingestion,
what there is, transactions, errors, streams, options, statistics. Skipped where the manager is not installed."""
import argparse
import ctypes
import os
import sys
import threading

try:
    import adbc_driver_manager
    import pyarrow as pa
    from adbc_driver_manager import dbapi
except ImportError as e:
    print(f"skipped: {e}")
    print("0 passed, 0 failed")
    sys.exit(0)

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--build", default="build")
LIBRARY = os.path.join(os.path.abspath(OPTIONS.parse_args().build), "release", "libstele.so.0")


def connect(autocommit=True, entrypoint="AdbcDriverInit", **options):
    return dbapi.connect(driver=LIBRARY, entrypoint=entrypoint, db_kwargs={"uri": ":memory:", **options},
                         autocommit=autocommit)


def raises(kind, sqlstate, run):
    try:
        run()
    except kind as e:
        assert e.sqlstate == sqlstate, (e.sqlstate, e)
        return e
    raise AssertionError(f"{kind.__name__} {sqlstate} was not raised")


def queries():
    with connect() as con, con.cursor() as cur:
        cur.execute("create table t (a int primary key, b text, c numeric(9,2))")
        cur.execute("insert into t values (1, 'one', 1.5), (2, null, 2.25)")
        assert cur.rowcount in (2, -1)
        cur.execute("select * from t order by a")
        table = cur.fetch_arrow_table()
        assert table.num_rows == 2 and table.column_names == ["a", "b", "c"], table
        assert table["b"].to_pylist() == ["one", None] and str(table["c"].to_pylist()[1]) == "2.25"
        cur.execute("select a, b from t where a = $1", (1,))
        assert cur.fetchall() == [(1, "one")]
        cur.execute("select $1::int[], $2::timestamp, $3::bytea, $4::numeric(9,2), $5::text",
                    ([1, None, 3], None, b"\x00\xff", 7, "x"))
        assert cur.fetchone()[0] == [1, None, 3]
        cur.executemany("insert into t values ($1, $2)", [(3, "three"), (4, None)])
        cur.execute("select count(*), count(b) from t")
        assert cur.fetchone() == (4, 2)
        rows = pa.record_batch({"1": pa.array([1, 3, 9])})
        cur.execute("select b from t where a = $1", rows)
        assert cur.fetchall() == [("one",), ("three",)]
        cur.adbc_prepare("select a + $1::bigint from t")
        schema = con.adbc_get_table_schema("t")
        assert schema.names == ["a", "b", "c"] and schema.field("c").type == pa.decimal128(9, 2), schema


def ingestion():
    with connect(**{"stele.threads": "2"}, entrypoint="AdbcDriverSteleInit") as con, con.cursor() as cur:
        data = pa.table({"id": pa.array(range(100000), pa.int64()), "name": pa.array([f"n{i % 7}" for i in range(100000)]),
                         "value": pa.array([None if i % 10 == 0 else i / 4 for i in range(100000)], pa.float64())})
        assert cur.adbc_ingest("x", data) == 100000
        raises(dbapi.Error, "42P07", lambda: cur.adbc_ingest("x", data))
        assert cur.adbc_ingest("x", data.slice(0, 10), mode="append") == 10
        cur.execute("select count(*), count(value), max(name) from x")
        assert cur.fetchone() == (100010, 90009, "n6")
        assert cur.adbc_ingest("x", data.slice(0, 5).to_reader(), mode="replace") == 5
        assert cur.adbc_ingest("x", data.slice(5, 5), mode="create_append") == 5
        assert cur.adbc_ingest("x", data.slice(0, 3), temporary=True) == 3
        assert cur.adbc_ingest("x", data.slice(3, 1), mode="append", temporary=True) == 1
        cur.execute("select (select count(*) from pg_temp.x), (select count(*) from public.x)")
        assert cur.fetchone() == (4, 10)
        cur.execute("discard temp")
        cur.execute("select sum(id) from x")
        assert cur.fetchone() == (45,)
        cur.execute("create table k (id smallint primary key, name varchar(3), value numeric(6,1) default 1)")
        assert cur.adbc_ingest("k", data.slice(0, 8), mode="append") == 8
        raises(dbapi.IntegrityError, "23505", lambda: cur.adbc_ingest("k", data.slice(7, 2), mode="append"))
        raises(dbapi.Error, "22003", lambda: cur.adbc_ingest("k", data.slice(40000, 2), mode="append"))
        raises(dbapi.Error, "42P01", lambda: cur.adbc_ingest("none", data, mode="append"))


def objects():
    with connect() as con, con.cursor() as cur:
        cur.execute("create table a (id int primary key, n text not null default 'x', check (id > 0))")
        cur.execute("create table b (id int, x int references a, unique (id, x))")
        cur.execute("create view v as select id from a")
        assert sorted(con.adbc_get_table_types()) == ["table", "view"]
        tree = con.adbc_get_objects().read_all().to_pylist()
        assert len(tree) == 1 and [s["db_schema_name"] for s in tree[0]["catalog_db_schemas"]] == ["public"]
        tables = {t["table_name"]: t for t in tree[0]["catalog_db_schemas"][0]["db_schema_tables"]}
        assert {n: t["table_type"] for n, t in tables.items()} == {"a": "table", "b": "table", "v": "view"}
        n = tables["a"]["table_columns"][1]
        assert (n["column_name"], n["ordinal_position"], n["xdbc_type_name"], n["xdbc_nullable"],
                n["xdbc_column_def"]) == ("n", 2, "text", 0, "'x'"), n
        kinds = {c["constraint_type"]: c for c in tables["a"]["table_constraints"] + tables["b"]["table_constraints"]}
        assert set(kinds) == {"PRIMARY KEY", "CHECK", "UNIQUE", "FOREIGN KEY"}
        assert kinds["UNIQUE"]["constraint_column_names"] == ["id", "x"]
        use = kinds["FOREIGN KEY"]["constraint_column_usage"]
        assert [(u["fk_table"], u["fk_column_name"]) for u in use] == [("a", "id")]
        shallow = con.adbc_get_objects(depth="tables", table_name_filter="_", table_types_filter=["view"])
        tables = shallow.read_all().to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"]
        assert [(t["table_name"], t["table_columns"]) for t in tables] == [("v", None)]
        assert con.adbc_get_objects(depth="catalogs").read_all().to_pylist()[0]["catalog_db_schemas"] is None
        info = con.adbc_get_info()
        assert info["vendor_name"] == "Stele" and info["driver_name"] == "libstele", info
        raises(dbapi.Error, "42P01", lambda: con.adbc_get_table_schema("none"))


def transactions():
    with connect(autocommit=False) as con, con.cursor() as cur:
        cur.execute("create table t (a int)")
        con.commit()
        cur.execute("insert into t values (1)")
        con.rollback()
        cur.execute("select count(*) from t")
        assert cur.fetchone() == (0,)
        cur.adbc_ingest("t", pa.table({"a": [1, 2]}), mode="append")
        con.rollback()
        con.rollback()
        cur.execute("insert into t values (3)")
        con.commit()
        cur.execute("select a from t")
        assert cur.fetchall() == [(3,)]
        con.commit()
    with connect() as con:
        raises(dbapi.Error, "HY000", lambda: con._conn.commit())


def errors():
    with connect() as con, con.cursor() as cur:
        e = raises(dbapi.ProgrammingError, "42P01", lambda: cur.execute("select * from nowhere"))
        assert "nowhere" in str(e) and e.status_code == adbc_driver_manager.AdbcStatusCode.NOT_FOUND
        cur.execute("create table t (a int check (a > 0))")
        e = raises(dbapi.IntegrityError, "23514", lambda: cur.execute("insert into t values (-1)"))
        details = dict(e.details)
        assert details[b"constraint_name"] == b"t_a_check" and details[b"table_name"] == b"t", details
        raises(dbapi.Error, "HY000", lambda: cur.execute("select 1; select 2"))
        raises(dbapi.Error, "HY000", lambda: cur.execute("select $1::int", (1, 2)))
        raises(dbapi.NotSupportedError, None, lambda: connect(no_such="1"))
        cur.execute("select 1")
        assert cur.fetchone() == (1,)


def streams():
    """Results come as they are computed: errors behind rows, changes of others, closing before the end, canceling."""
    with connect() as con, con.cursor() as cur, con.cursor() as other:
        cur.execute("select 1 / (400000 - i) as x from generate_series(1, 500000) as i")
        reader = cur.fetch_record_batch()
        assert reader.read_next_batch().num_rows > 0
        cur.execute("select 1 / (400000 - i) as x from generate_series(1, 500000) as i")
        e = raises(dbapi.Error, "22012", cur.fetchall)
        assert e.status_code == adbc_driver_manager.AdbcStatusCode.INVALID_DATA, e
        cur.execute("create table big as select i from generate_series(1, 300000) as i")
        cur.execute("select i from big")
        batches = iter(cur.fetch_record_batch())
        n = next(batches).num_rows
        other.execute("delete from big")
        sizes = [b.num_rows for b in batches]
        assert len(sizes) > 1 and n + sum(sizes) == 300000, sizes
        for _ in range(2):  # prepared again where a result has taken the statement
            cur.execute("select $1::int + 1", (41,))
            assert cur.fetchall() == [(42,)]
        cur.execute("select count(*) from generate_series(1, 5)")
        con.close()
        raises(Exception, None, cur.fetchall)
    with connect() as con, con.cursor() as cur:
        seen = []

        def run():
            try:
                cur.execute("select count(*) from generate_series(1, 1000000000000) as i where i % 7 = 9")
                cur.fetchall()
            except dbapi.Error as e:
                seen.append(e.status_code)
        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            cur.adbc_cancel()
            thread.join(0.01)
        assert seen == [adbc_driver_manager.AdbcStatusCode.CANCELLED], seen


def options():
    """Read back by their types, converted, unknown, impossible."""
    status = adbc_driver_manager.AdbcStatusCode
    with connect(**{"stele.threads": "2", "stele.memory_limit": str(1 << 30)}) as con, con.cursor() as cur:
        db, c, s = con.adbc_database, con.adbc_connection, cur.adbc_statement
        assert (db.get_option("uri"), db.get_option_bytes("uri"), db.get_option("stele.threads")) == (":memory:", b":memory:", "2")
        assert (db.get_option_int("stele.memory_limit"), db.get_option_float("stele.threads")) == (1 << 30, 2.0)
        assert (db.get_option("stele.read_only"), con.adbc_current_catalog, con.adbc_current_db_schema) == ("false", ":memory:", "public")
        level = "adbc.connection.transaction.isolation"
        assert (c.get_option("adbc.connection.autocommit"), c.get_option(level + "_level")) == ("true", level + ".default")
        c.set_options(**{level + "_level": level + ".read_committed", "adbc.connection.readonly": "true",
                         "adbc.connection.db_schema": "public"})
        assert c.get_option(level + "_level") == level + ".read_committed"
        cur.execute("show default_transaction_isolation")
        assert cur.fetchone() == ("read committed",)
        raises(dbapi.Error, "25006", lambda: cur.execute("create table t (a int)"))
        c.set_options(**{"adbc.connection.readonly": "false"})
        s.set_options(**{"adbc.ingest.target_table": "name", "adbc.ingest.temporary": "false"})
        assert (s.get_option("adbc.ingest.target_table"), s.get_option("adbc.ingest.mode")) == ("name", "adbc.ingest.mode.create")
        cur.execute("select 1")
        assert s.get_option_float("adbc.statement.exec.progress") == s.get_option_float("adbc.statement.exec.max_progress") == 1
        for code, run in ((status.NOT_FOUND, lambda: s.get_option("nothing")),
                          (status.NOT_FOUND, lambda: db.get_option_int("uri")),
                          (status.NOT_FOUND, lambda: c.get_option_float("adbc.connection.autocommit")),
                          (status.NOT_FOUND, lambda: c.set_options(**{"adbc.connection.catalog": "other"})),
                          (status.INVALID_STATE, lambda: db.set_options(**{"stele.threads": 3})),
                          (status.INVALID_ARGUMENT, lambda: c.set_options(**{"adbc.connection.autocommit": "maybe"})),
                          (status.INVALID_ARGUMENT, lambda: connect(**{"stele.threads": "many"})),
                          (status.NOT_IMPLEMENTED, lambda: c.set_options(**{level + "_level": level + ".linearizable"})),
                          (status.NOT_IMPLEMENTED, lambda: s.set_options(**{"adbc.ingest.mode": 1})),
                          (status.NOT_IMPLEMENTED, lambda: s.set_options(**{"adbc.ingest.mode": b"x"})),
                          (status.NOT_IMPLEMENTED, lambda: s.set_options(**{"adbc.statement.exec.progress": 0.5})),
                          (status.NOT_IMPLEMENTED, lambda: s.set_options(**{"adbc.statement.exec.incremental": "true"})),
                          (status.NOT_IMPLEMENTED, lambda: cur.adbc_execute_partitions("select 1")),
                          (status.NOT_IMPLEMENTED, lambda: cur.adbc_read_partition(b"x")),
                          (status.NOT_IMPLEMENTED, lambda: s.set_substrait_plan(b"x"))):
            try:
                run()
            except dbapi.Error as e:
                assert e.status_code == code and len(str(e)) > 40, e
            else:
                raise AssertionError(f"{code} was not raised")


def statistics():
    with connect() as con, con.cursor() as cur:
        cur.execute("create table t (a int, b text, c real, d json)")
        cur.execute("insert into t values (1, 'x', 2.5, '{}'), (5, 'yy\u00e9', null, null), (1, '', null, null)")
        cur.execute("create table u as select i from generate_series(1, 1000) as i")

        def of(**given):
            tree = con.adbc_get_statistics(**given).read_all().to_pylist()
            assert [s["db_schema_name"] for s in tree[0]["catalog_db_schemas"]] == ["public"]
            return {(s["table_name"], s["column_name"], s["statistic_key"]): (s["statistic_value"], s["statistic_is_approximate"])
                    for s in tree[0]["catalog_db_schemas"][0]["db_schema_statistics"]}
        exact = of(approximate=False)
        assert exact["t", None, 6] == (3, False) and exact["u", "i", 3] == (1000, False), exact
        assert [exact["t", "a", k][0] for k in (5, 1, 4, 3)] == [0, 2, 1, 5], exact
        assert [exact["t", "b", k][0] for k in (1, 4, 3, 2)] == [3, b"", "yy\u00e9".encode(), 4], exact
        assert exact["t", "c", 4][0] == 2.5 and exact["t", "d", 5][0] == 2 and ("t", "d", 1) not in exact, exact
        rough = of(approximate=True, table_name_filter="u")
        assert rough["u", None, 6] == (1000, True) and 900 < rough["u", "i", 1][0] < 1100, rough
        assert {t for t, _, _ in rough} == {"u"}
        assert con.adbc_get_statistic_names().read_all().num_rows == 0


class Schema(ctypes.Structure):
    """Of Arrow's C data interface."""
    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p))


@ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
def release(schema):
    schema.contents.release = None


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def bad_schemas():
    """What pyarrow does not make; the batch is one without columns."""
    free = ctypes.cast(release, ctypes.c_void_p).value

    def column(name=b"1", there=True):
        return Schema(format=b"l", name=name, release=free if there else None)

    def bind(n, *columns, format=b"+s"):
        pointers = (ctypes.c_void_p * max(n, 1))(*(c and ctypes.addressof(c) for c in columns))
        schema = Schema(format=format, name=b"", n_children=n, release=free,
                        children=ctypes.addressof(pointers) if columns else None)
        _, batch = pa.record_batch({}).__arrow_c_array__()
        statement.bind(batch, new_capsule(ctypes.addressof(schema), b"arrow_schema", None))

    with connect() as con, adbc_driver_manager.AdbcStatement(con.adbc_connection) as statement:
        statement.set_sql_query("select 1")
        bind(0)
        for sqlstate, n, columns in (("22023", -1, ()), ("22023", 2, ()), ("22023", 1, (None,)),
                                     ("22023", 1, (column(there=False),)), ("22021", 1, (column(b"\xff"),)),
                                     ("54011", 1601, [column()] * 1601)):
            raises(adbc_driver_manager.Error, sqlstate, lambda: bind(n, *columns))
        raises(adbc_driver_manager.Error, "22023", lambda: bind(0, format=b"l"))


TESTS = (queries, ingestion, objects, transactions, errors, streams, options, statistics, bad_schemas)
for test in TESTS:
    test()
print(f"{len(TESTS)} passed, 0 failed")
