#!/usr/bin/env python3
"""The ADBC driver in libstele, through the driver manager (adbc_driver_manager, pyarrow): queries, parameters, ingestion,
what there is, transactions, errors. Skipped where the manager is not installed."""
import argparse
import ctypes
import os
import sys

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


TESTS = (queries, ingestion, objects, transactions, errors, bad_schemas)
for test in TESTS:
    test()
print(f"{len(TESTS)} passed, 0 failed")
