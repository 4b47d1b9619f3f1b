#!/usr/bin/env python3
"""Parquet and Arrow files of pyarrow's in every encoding and compression, read by Stele; and Stele's, read by pyarrow.

usage: test_files.py [--build DIR]      last line: N passed, N failed
"""
import csv
import datetime
import decimal
import os
import random
import resource
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shell"))
sys.dont_write_bytecode = True
from program import Program  # noqa: E402

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import parquet_by_hand as by_hand  # noqa: E402

P = Program("files")
ROWS = 7000


def table(nulls):
    """Columns of every physical type; a third of the rows are NULL where `nulls`, but for stretches without."""
    r = random.Random(5)
    stretch = [r.random() < 0.5 for _ in range(ROWS // 500 + 1)]

    def column(type, make):
        return pa.array([None if nulls and stretch[i // 500] and r.random() < 0.6 else make(i) for i in range(ROWS)], type)

    word = ["", "a", "bc", "Grüße", "longer than sixteen bytes", "x" * 300]
    day = datetime.date(1969, 12, 25)
    return pa.table({
        "b": column(pa.bool_(), lambda i: r.random() < 0.7 if i % 100 > 30 else True),
        "i2": column(pa.int16(), lambda i: r.randrange(-32768, 32768)),
        "i4": column(pa.int32(), lambda i: i * 3 - 1000),
        "i8": column(pa.int64(), lambda i: r.randrange(-2**63, 2**63)),
        "few": column(pa.int64(), lambda i: i // 900),
        "u4": column(pa.uint32(), lambda i: r.randrange(2**32)),
        "u8": column(pa.uint64(), lambda i: r.randrange(2**64)),
        "f4": column(pa.float32(), lambda i: r.randrange(-1000, 1000) / 8),
        "f8": column(pa.float64(), lambda i: r.randrange(-10**9, 10**9) / 64),
        "n9": column(pa.decimal128(9, 2), lambda i: decimal.Decimal(r.randrange(-10**9 + 1, 10**9)).scaleb(-2)),
        "n30": column(pa.decimal128(30, 4), lambda i: decimal.Decimal(r.randrange(-10**20, 10**20)).scaleb(-4)),
        "d": column(pa.date32(), lambda i: day + datetime.timedelta(days=i % 40)),
        "ts": column(pa.timestamp("us"), lambda i: datetime.datetime(1969, 12, 31) + datetime.timedelta(seconds=i * 977)),
        "ms": column(pa.timestamp("ms"), lambda i: datetime.datetime(2020, 1, 1) + datetime.timedelta(milliseconds=i)),
        "t": column(pa.string(), lambda i: word[r.randrange(len(word))]),
        "own": column(pa.string(), lambda i: f"row {i} {'é' if i % 50 == 0 else ''}"),
        "y": column(pa.binary(), lambda i: bytes(r.randrange(256) for _ in range(i % 5))),
        "y4": column(pa.binary(4), lambda i: bytes(r.randrange(256) for _ in range(4))),
    })


def digest(t):
    """What `DIGEST` gives of the table."""
    out = []
    for name in t.column_names:
        values = t[name].to_pylist()
        there = [x for x in values if x is not None]
        out += [len(there), sum(key(x) * (i % 97 + 1) for i, x in enumerate(values) if x is not None)]
    return out


def key(x):
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, float):
        return int(x * 64)
    if isinstance(x, decimal.Decimal):
        return int(x.scaleb(4))
    if isinstance(x, datetime.datetime):
        d = x - datetime.datetime(1970, 1, 1)
        return (d.days * 86400 + d.seconds) * 1000 + d.microseconds // 1000
    if isinstance(x, datetime.date):
        return (x - datetime.date(1970, 1, 1)).days
    if isinstance(x, str):
        return len(x) * 1000 + (ord(x[-1]) if x else 0)
    if isinstance(x, bytes):
        return len(x) * 1000 + (x[-1] if x else 0)
    return x


KEYS = {
    "b": "b::int", "f4": "(f4 * 64)::bigint", "f8": "(f8 * 64)::bigint", "n9": "(n9 * 10000)::bigint",
    "n30": "(n30 * 10000)::numeric(34, 0)", "d": "d - date '1970-01-01'",
    "ts": "(extract(epoch from ts) * 1000)::bigint", "ms": "(extract(epoch from ms) * 1000)::bigint",
    "t": "length(t) * 1000 + case when t = '' then 0 else ascii(right(t, 1)) end",
    "own": "length(own) * 1000 + ascii(right(own, 1))",
    "y": "length(y) * 1000 + case when length(y) = 0 then 0 else get_byte(y, length(y) - 1) end",
    "y4": "length(y4) * 1000 + get_byte(y4, 3)",
}


def query(t, path):
    columns = ", ".join(
        f"count({c}), coalesce(sum(({KEYS.get(c, c)})::numeric(38, 0) * (rownumber % 97 + 1)), 0)"
        for c in t.column_names if c != "rownumber")
    return f"select {columns} from '{path}'"


def variants():
    """Names and options of pyarrow's writer."""
    yield "plain", dict(use_dictionary=False, compression="none")
    yield "pages2", dict(data_page_version="2.0", compression="zstd", data_page_size=3000)
    yield "groups", dict(row_group_size=1000, compression="gzip", data_page_size=700)
    yield "checksums", dict(write_page_checksum=True, compression="snappy")
    for codec in ("snappy", "gzip", "brotli", "lz4", "zstd"):
        yield codec, dict(compression=codec)
    ints = {c: "DELTA_BINARY_PACKED" for c in ("i2", "i4", "i8", "few", "u4", "u8", "d", "ts", "ms", "rownumber")}
    split = {c: "BYTE_STREAM_SPLIT" for c in ("f4", "f8", "i4", "i8", "y4", "n9", "n30")}
    prefixes = {c: "DELTA_BYTE_ARRAY" for c in ("t", "own", "y", "y4", "n30")}
    lengths = {c: "DELTA_LENGTH_BYTE_ARRAY" for c in ("t", "own", "y")}
    for name, encodings in (("delta", {**ints, **lengths}), ("prefixes", prefixes), ("split", split)):
        yield name, dict(use_dictionary=False, column_encoding=encodings, compression="snappy", data_page_size=5000)
        yield name + "2", dict(use_dictionary=False, column_encoding=encodings, compression="none",
                               data_page_version="2.0")


def arrow_variants(t):
    """Names, tables and options of pyarrow's writer of Arrow files; `.arrow`: with a footer, `.arrows`: a stream."""
    option = pa.ipc.IpcWriteOptions
    yield "arrow", t, option()
    yield "arrow lz4", t, option(compression="lz4")
    yield "arrow zstd", t, option(compression="zstd")
    words = t.set_column(t.column_names.index("t"), "t", t["t"].dictionary_encode())
    words = words.set_column(t.column_names.index("few"), "few", t["few"].dictionary_encode())
    yield "arrow dictionaries", words.combine_chunks(), option(compression="lz4")
    views = t
    for name, type in (("t", pa.string_view()), ("own", pa.large_string()), ("y", pa.binary_view())):
        views = views.set_column(t.column_names.index(name), name, t[name].cast(type))
    yield "arrow views", views, option()


def read_all():
    """Every variant, with and without NULLs."""
    script, truth = [], {}
    for nulls in (False, True):
        t = table(nulls)
        want = digest(t)
        t = t.append_column("rownumber", pa.array(range(ROWS), pa.int64()))
        for name, options in variants():
            name += " with NULLs" if nulls else ""
            path = os.path.join(P.dir, name.replace(" ", "_") + ".parquet")
            pq.write_table(t, path, **options)
            truth[name] = want
            script.append(query(t, path))
        for name, other, options in arrow_variants(t):
            for stream in (False, True):
                full = name + (" stream" if stream else "") + (" with NULLs" if nulls else "")
                path = os.path.join(P.dir, full.replace(" ", "_") + ".arrow")
                make = pa.ipc.new_stream if stream else pa.ipc.new_file
                with make(path, other.schema, options=options) as w:
                    w.write_table(other, max_chunksize=3000)
                truth[full] = want
                script.append(query(t, path))
    for name, sql in zip(truth, script):
        code, out, err = P.sh("--csv", "-c", sql)
        got = [int(x.split('.')[0]) for x in out.split("\n")[1].split(",")] if code == 0 else []
        P.check("read " + name, got == truth[name], err or f"{got}\n{truth[name]}")


def slices():
    """One row group that workers share: slices begin in the middle of pages; rows stay in their order."""
    n = 270000
    ids = list(range(n))
    t = pa.table({"id": ids, "few": [f"w{i % 7}" for i in ids], "own": [None if i % 3 == 0 else f"{i:x}" for i in ids],
                  "half": pa.array([None if i % 2 else i % 2 == 0 and i % 5 > 1 for i in ids], pa.bool_())})
    path = os.path.join(P.dir, "slices.parquet")
    pq.write_table(t, path, row_group_size=n, data_page_size=100000, use_dictionary=["few"])
    code, out, err = P.sh("--csv", "-c", "set threads = 8", "-c", f"select * from '{path}'")
    lines = out.splitlines()[-n:]
    bad = [i for i, x in enumerate(lines) if x != f"{i},w{i % 7}," + ("" if i % 3 == 0 else f"{i:x}") + "," +
           ("" if i % 2 else "t" if i % 5 > 1 else "f")]
    P.check("slices", code == 0 and len(lines) == n and not bad, err or [(i, lines[i]) for i in bad[:3]])
    code, out, err = P.sh("--csv", "-c", "set threads = 8", "-c",
                          f"select count(*), sum(id), count(own), sum(length(own)) from '{path}' where few = 'w3'")
    own = [f"{i:x}" for i in ids if i % 7 == 3 and i % 3]
    want = f"{len(range(3, n, 7))},{sum(range(3, n, 7))},{len(own)},{sum(map(len, own))}"
    P.check("aggregates of slices", out.splitlines()[-1:] == [want], err or out)


def write_arrow(name, t):
    path = os.path.join(P.dir, name + ".arrow")
    with pa.ipc.new_file(path, t.schema) as w:
        w.write_table(t)
    return path


def nested():
    """Lists, structs and maps, and how each row is to be shown."""
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    inner = pa.struct([("x", pa.decimal128(9, 2)), ("d", pa.date32())])
    scalars = pa.struct([("ts", pa.timestamp("us")), ("tz", pa.timestamp("us", "UTC")), ("y", pa.binary()),
                         ("f", pa.list_(pa.float64())), ("b", pa.bool_()), ("tm", pa.time64("us"))])
    deep = pa.struct([("q", pa.struct([("l", pa.list_(pa.struct([("a", pa.list_(pa.int32()))])))]))])
    x = {"x": decimal.Decimal("1.50"), "d": datetime.date(2020, 1, 2)}
    columns = {
        "id": (pa.int64(), [1, 2, 3, 4], ["1", "2", "3", "4"]),
        "l": (pa.list_(pa.int32()), [[1, None], None, [], [3]], ["{1,NULL}", None, "{}", "{3}"]),
        "t": (pa.large_list(pa.string()), [["a"], [], None, ["b", None, "é"]], ["{a}", "{}", None, "{b,NULL,é}"]),
        "w": (pa.list_(pa.float64(), 2), [[1.5, 2.5], None, [3.5, None], [0, -1]],
              ["{1.5,2.5}", None, "{3.5,NULL}", "{0,-1}"]),
        "s": (pa.struct([("b", pa.int64()), ("a", pa.string())]),
              [{"b": 1, "a": "x"}, {"b": None, "a": None}, None, {"b": 3, "a": "\"z"}],
              ['{"a": "x", "b": 1}', '{"a": null, "b": null}', None, '{"a": "\\"z", "b": 3}']),
        "m": (pa.map_(pa.string(), pa.int32()), [[("k", 1), ("j", None)], [], None, [("k", 2), ("k", 3)]],
              ['{"j": null, "k": 1}', "{}", None, '{"k": 3}']),
        "mi": (pa.map_(pa.int32(), pa.string()), [[(1, "x")], [], None, [(2, None)]],
               ['[{"key": 1, "value": "x"}]', "[]", None, '[{"key": 2, "value": null}]']),
        "ll": (pa.list_(pa.list_(pa.int16())), [[[1, 2], None, []], [], None, [[None]]],
               ["[[1, 2], null, []]", "[]", None, "[[null]]"]),
        "ls": (pa.list_(inner), [[x, {"x": None, "d": None}], [None], [], None],
               ['[{"d": "2020-01-02", "x": 1.50}, {"d": null, "x": null}]', "[null]", "[]", None]),
        "v": (scalars, [{"ts": moment, "tz": moment.replace(tzinfo=datetime.timezone.utc), "y": b"\0\xff", "b": True,
                         "f": [float("nan"), float("-inf"), 1.5e3], "tm": datetime.time(1, 2, 3)}, None, None, {}],
              ['{"b": true, "f": ["NaN", "-Infinity", 1500], "y": "\\\\x00ff", "tm": "01:02:03", '
               '"ts": "2020-01-02T03:04:05.678", "tz": "2020-01-02T03:04:05.678+00:00"}', None, None,
               '{"b": null, "f": null, "y": null, "tm": null, "ts": null, "tz": null}']),
        "q": (deep, [{"q": {"l": [{"a": [1]}, {"a": None}, None]}}, {"q": None}, None, {"q": {"l": []}}],
              ['{"q": {"l": [{"a": [1]}, {"a": null}, null]}}', '{"q": null}', None, '{"q": {"l": []}}'])}
    t = pa.table({name: pa.array(values, type) for name, (type, values, _) in columns.items()})
    return t, {name: shown for name, (_, _, shown) in columns.items()}


def check_nested(what, path, want, order="id"):
    """Every column by itself too, since those that are not wanted are passed by."""
    n = len(want["id"])
    queries = [list(want)] + [["id", name] for name in want if name != "id"]
    args = ["--csv", "-c", "\\pset null NULL"]
    for names in queries:
        args += ["-c", f"select {', '.join(names)} from '{path}' order by {order}"]
    code, out, err = P.sh(*args)
    rows = [r for r in csv.reader(out.splitlines()) if r != ["Null display is \"NULL\"."]]
    for i, names in enumerate(queries):
        shown = [names] + [[want[name][k] or "NULL" for name in names] for k in range(n)]
        got = rows[i * (n + 1):(i + 1) * (n + 1)]
        P.check(what + ": " + " ".join(names), code == 0 and got == shown, err or f"{got}\n{shown}")


def parquet_nested():
    """Lists, structs and maps: rows that go on from page to page, both versions of pages, row groups of two rows."""
    t, want = nested()
    for name, options in (("small", dict(use_dictionary=False, data_page_size=1, write_batch_size=1)),
                          ("pages2", dict(data_page_version="2.0", compression="zstd", row_group_size=2)),
                          ("names", dict(use_compliant_nested_type=False))):
        path = os.path.join(P.dir, f"nested_{name}.parquet")
        pq.write_table(t, path, **options)
        check_nested(f"Parquet, nested, {name}", path, want)
    other = pa.table({"s": pa.array([{"a": 1}]), "id": [1]})
    paths = [os.path.join(P.dir, n) for n in ("nested_a.parquet", "nested_b.parquet")]
    pq.write_table(other, paths[0])
    pq.write_table(pa.table({"s": pa.array([{"b": 1}]), "id": [1]}), paths[1])
    code, out, err = P.sh("-c", f"select * from read_parquet(array['{paths[0]}', '{paths[1]}'])")
    P.check("other members", code == 1 and "has other columns than" in err, err or out)

    n = 150000
    ids = list(range(n))
    lists = [None if i % 11 == 0 else [f"{i + k:x}" if k % 3 else None for k in range(i % 4)] for i in ids]
    t = pa.table({"id": ids, "l": lists, "s": [{"a": i, "b": [i] * (i % 3)} for i in ids]})
    path = os.path.join(P.dir, "nested_slices.parquet")
    pq.write_table(t, path, row_group_size=n, data_page_size=50000, use_dictionary=False)
    code, out, err = P.sh("--csv", "-c", "set threads = 8", "-c", f"select id, array_to_string(l, ' ', '-'), s->>'a', "
                          f"jsonb_array_length(s->'b') from '{path}'")
    lines = out.splitlines()[-n:]
    shown = ["" if x is None else " ".join("-" if y is None else y for y in x) or '""' for x in lists]
    bad = [i for i in ids if lines[i] != f"{i},{shown[i]},{i},{i % 3}"] if len(lines) == n else [0]
    P.check("nested slices", code == 0 and not bad, err or [lines[i] for i in bad[:3]])


def parquet_by_hand():
    """Lists as older writers had them, and levels that do not fit together."""
    path = os.path.join(P.dir, "hand.parquet")

    def rows(name, want, n, field, *leaves):
        by_hand.write(path, n, field, leaves)
        code, out, err = P.sh("--csv", "-c", f"select coalesce(x::text, 'NULL') from '{path}'")
        P.check(name, list(csv.reader(out.splitlines()))[1:] == [[w] for w in want], err or out)

    def refused(name, message, n, field, *leaves):
        by_hand.write(path, n, field, leaves)
        code, out, err = P.sh("-c", f"select x from '{path}'")
        place = f'file "{path}", row group 0, column "x"'
        P.check(name, code == 1 and "22P04" in err and message in err and place in err, err or out)

    r, o, many = by_hand.REQUIRED, by_hand.OPTIONAL, by_hand.REPEATED
    two = ("x", o, [("array", many)], by_hand.LIST)
    rows("list of two levels", ["{1,2}", "NULL", "{}", "{3}"], 4, two,
         (["x", "array"], 1, 2, [0, 1, 0, 0, 0], [2, 2, 0, 1, 2], [1, 2, 3]))
    rows("list without a group", ["{1,2}", "{}"], 2, ("x", many), (["x"], 1, 1, [0, 1, 0], [1, 1, 0], [1, 2]))
    rows("list of tuples", ['[{"a": 1}, {"a": 2}]'], 1,
         ("x", r, [("x_tuple", many, [("a", r)])], by_hand.LIST),
         (["x", "x_tuple", "a"], 1, 1, [0, 1], [1, 1], [1, 2]))
    rows("list of two", ['[{"a": 1, "b": 3}]'], 1,
         ("x", r, [("list", many, [("a", r), ("b", r)])], by_hand.LIST),
         (["x", "list", "a"], 1, 1, [0], [1], [1]), (["x", "list", "b"], 1, 1, [0], [1], [3]))
    rows("map without values", ["{1}"], 1, ("x", r, [("map", many, [("k", r)])], by_hand.MAP),
         (["x", "map", "k"], 1, 1, [0], [1], [1]))

    three = ("x", o, [("list", many, [("element", o)])], by_hand.LIST)
    way = ["x", "list", "element"]
    fit = "the levels of a nested column do not fit together"
    refused("element of NULL", fit, 1, three, (way, 1, 3, [0, 1], [0, 3], [1]))
    refused("element of an empty list", fit, 1, three, (way, 1, 3, [0, 1], [1, 3], [1]))
    refused("NULL as an element", fit, 1, three, (way, 1, 3, [0, 1], [3, 0], [1]))
    refused("begins with an element", "a row begins with a value that belongs to the row before", 1, three,
            (way, 1, 3, [1, 0], [3, 3], [1, 2]))
    refused("fewer rows", "a column has fewer rows than its row group", 3, three, (way, 1, 3, [0, 1], [3, 3], [1, 2]))
    refused("fewer values", "the values of a page end early", 2, three, (way, 1, 3, [0, 0], [3, 3], [1]))
    both = ("x", o, [("a", r), ("b", o)])
    rows("struct", ['{"a": 1, "b": null}', "NULL"], 2, both, (["x", "a"], 0, 1, [], [1, 0], [1]),
         (["x", "b"], 0, 2, [], [1, 0], []))
    refused("members that differ", fit, 2, both, (["x", "a"], 0, 1, [], [1, 0], [1]),
            (["x", "b"], 0, 2, [], [1, 2], [2]))
    refused("high level", "a page has level 3 in a column whose levels go to 2", 2, both,
            (["x", "a"], 0, 1, [], [1, 0], [1]), (["x", "b"], 0, 2, [], [1, 3], [2]))


def damaged():
    """Bytes of nested files that are others: an error or rows, whatever they are, but no crash."""
    r = random.Random(7)
    t, _ = nested()
    pq.write_table(t, os.path.join(P.dir, "whole.parquet"), compression="none", use_dictionary=["t"])
    write_arrow("whole", t)
    script = []
    for end in ("parquet", "arrow"):
        with open(os.path.join(P.dir, "whole." + end), "rb") as f:
            whole = f.read()
        for i in range(150):
            b = bytearray(whole)
            for _ in range(r.choice((1, 1, 3))):
                b[r.randrange(len(b))] = r.choice((0, 1, 2, 127, 128, 255, r.randrange(256)))
            path = os.path.join(P.dir, f"damaged{i}.{end}")
            with open(path, "wb") as f:
                f.write(b)
            script.append(f"select * from '{path}';")
    code, out, err = P.sh("-c", "set memory_limit = '1GB'", "-f", "-", stdin="\n".join(script + ["select 'all' || ' done';"]))
    P.check("damaged files", "all done" in out and "XX000" not in err, (code, err[-500:]))


def arrow_views_and_runs(t, want):
    """Lists that share elements and lie in any order, and runs of equal values, within others too."""
    def runs(ends, values):
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int16()), values)
    views = pa.ListViewArray.from_arrays(pa.array([2, 0, 1, 0], pa.int32()), pa.array([2, 2, 0, 3], pa.int32()),
                                         pa.array([1, None, 3, 4]))
    wide = pa.LargeListViewArray.from_arrays(pa.array([1, 0, 0, 0], pa.int64()), pa.array([1, 1, 0, 2], pa.int64()),
                                             pa.array([{"a": 1}, None]), mask=pa.array([False, False, True, False]))
    some = runs([1, 3, 4], pa.array(["é", None, "z"]))
    deep = runs([2, 4], pa.array([[1], None], pa.list_(pa.int32())))
    ends = pa.array([0, 2, 2, 3, 4], pa.int32())
    columns = {
        "lv": (views, ["{3,4}", "{1,NULL}", "{}", "{1,NULL,3}"]),
        "lw": (wide, ["[null]", '[{"a": 1}]', None, '[{"a": 1}, null]']),
        "r": (some, ["é", None, None, "z"]),
        "rd": (deep, ["{1}", "{1}", None, None]),
        "rs": (pa.StructArray.from_arrays([some, deep], ["a", "b"]),
               ['{"a": "é", "b": [1]}', '{"a": null, "b": [1]}', '{"a": null, "b": null}', '{"a": "z", "b": null}']),
        "rl": (pa.ListArray.from_arrays(ends, some), ["{é,NULL}", "{}", "{NULL}", "{z}"])}
    for name, (values, shown) in columns.items():
        t = t.append_column(name, values)
        want[name] = shown
    return t, want


def arrow_nested():
    """Lists, structs, maps, unions; in one batch, in slices of it, compressed."""
    t, want = nested()
    dense = pa.UnionArray.from_dense(pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()),
                                     [pa.array([5, 6]), pa.array(["x", None])], ["i", "s"])
    sparse = pa.UnionArray.from_sparse(pa.array([5, 9, 5, 9], pa.int8()), [
        pa.array([5, 6, 7, 8]), pa.array([["x"], None, None, ["y", "z"]])], ["i", "s"], [5, 9])
    words = pa.array(["p", "q", "p", None]).dictionary_encode()
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4], pa.int32()), words)
    t = t.append_column("ud", dense).append_column("us", sparse).append_column("ld", lists)
    t = t.append_column("sd", pa.StructArray.from_arrays([words], ["w"]))
    want |= {"ud": ["5", '"x"', "6", None], "us": ["5", None, "7", '["y", "z"]'], "ld": ["{p,q}", "{}", "{p}", "{NULL}"],
             "sd": ['{"w": "p"}', '{"w": "q"}', '{"w": "p"}', '{"w": null}']}
    t, want = arrow_views_and_runs(t, want)
    check_nested("Arrow, nested", write_arrow("nested", t), want)
    path = os.path.join(P.dir, "nested_slices.arrow")
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(path, t.schema, options=options) as w:
        w.write_table(t.slice(1, 2))
        w.write_table(t.slice(0, 1))
        w.write_table(t.slice(3, 1))
    check_nested("Arrow, slices", path, want)


def arrow_dictionaries():
    """Dictionaries that are gone on with, and those that are given again."""
    def batch(words, codes):
        a = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(words))
        ends = pa.array([0] + [len(codes)] * len(codes), pa.int32())
        return pa.record_batch([a, pa.ListArray.from_arrays(ends, a)], ["w", "l"])

    batches = [batch(["a", "b"], [0, 1, None]), batch(["a", "b", "c"], [2, 1]), batch(["x"], [0]),
               batch(["x", "y"], [1, 0])]
    want = ["w,l", 'a,"{a,b,NULL}"', "b,{}", ",{}", 'c,"{c,b}"', "b,{}", "x,{x}", 'y,"{y,x}"', "x,{}"]
    for name, make, delta, n in (("again", pa.ipc.new_stream, False, 4), ("delta", pa.ipc.new_stream, True, 4),
                                 ("delta of a file", pa.ipc.new_file, True, 2)):
        path = os.path.join(P.dir, "changing.arrow")
        with make(path, batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=delta)) as w:
            for b in batches[:n]:
                w.write_batch(b)
        code, out, err = P.sh("--csv", "-c", f"select w, l from '{path}'")
        P.check("dictionaries, " + name, out.splitlines() == want[:6 if n == 2 else None], err or out)


def arrow_more():
    """Columns of nothing, what is refused, and files that are cut off."""
    t = pa.table({"n": pa.nulls(2), "ln": pa.array([[None], []], pa.list_(pa.null()))})
    code, out, err = P.sh("--csv", "-c", f"select n, ln from '{write_arrow('nothing', t)}'")
    P.check("nothing", out == "n,ln\n,{NULL}\n,{}\n", err or out)
    halves = [0.0, -0.0, 1.5, -2.25, 65504.0, 2.0**-24, 2.0**-14, float("inf"), float("-inf"), float("nan"), None]
    t = pa.table({"h": pa.array(halves, pa.float16()), "f": pa.array(halves, pa.float32()),
                  "s": pa.array([{"a": x} for x in halves], pa.struct([("a", pa.float16())]))})
    pq.write_table(t, os.path.join(P.dir, "half.parquet"))
    for path in (write_arrow("half", t), os.path.join(P.dir, "half.parquet")):
        code, out, err = P.sh("--csv", "-c", "\\t", "-c", "select pg_typeof(h), count(*), count(h), bool_and(h::text = f::text)"
                              f", bool_and((s->>'a')::real is not distinct from f) from '{path}' group by 1")
        P.check("half", out.splitlines()[1:] == ["real,11,10,t,t"], err or out)
    sums = [decimal.Decimal(x) if x else None for x in ("1.50", "-999.99", None, "0.01", "-0.01")]
    t = pa.table({f"d{k}": pa.array(sums, type(5, 2)) for k, type in enumerate((pa.decimal32, pa.decimal64, pa.decimal256))}
                 | {"l": pa.array([[x] for x in sums], pa.list_(pa.decimal64(9, 4)))})
    code, out, err = P.sh("--csv", "-c", f"select *, pg_typeof(l) from '{write_arrow('sums', t)}'")
    shown = [str(x) if x else "" for x in sums]
    P.check("decimals of other widths", out.splitlines()[1:] == [
        f"{x},{x},{x},{{{x + '00' if x else 'NULL'}}},numeric[]" for x in shown], err or out)
    pq.write_table(pa.table({"x": pa.array([1], pa.decimal256(50, 2))}), os.path.join(P.dir, "wide.parquet"))
    code, out, err = P.sh("-c", f"select * from '{os.path.join(P.dir, 'wide.parquet')}'")
    P.check("refused by its name", "0A000" in err and 'column "x" of' in err and "type DECIMAL(50,2)" in err, err)
    t = pa.table({"s": pa.array([{"a": 1}], pa.struct([("a", pa.decimal256(50))]))})
    code, out, err = P.sh("-c", f"select * from '{write_arrow('wide', t)}'")
    P.check("what has no type is refused", code == 1 and 'column "s" of Arrow file' in err and "0A000" in err, err)
    whole = open(os.path.join(P.dir, "arrow_zstd.arrow"), "rb").read()
    path = os.path.join(P.dir, "cut.arrow")
    for n in (0, 5, 100, 3000, len(whole) // 2, len(whole) - 1):
        with open(path, "wb") as f:
            f.write(whole[:n])
        code, out, err = P.sh("-c", f"select * from '{path}'")
        P.check(f"cut off at {n}", code == 1 and "22P04" in err and "cut.arrow" in err, err)


def arrow_written():
    """Every type and NULLs, and many batches, as pyarrow reads them and as Stele does."""
    path = os.path.join(P.dir, "types.arrow")
    day, moment = datetime.date(1969, 12, 31), datetime.datetime(1969, 12, 31, 23, 59, 59, 500000)
    columns = (  # name, type, value in SQL, type in Arrow, value
        ("b", "boolean", "true", pa.bool_(), True), ("i2", "smallint", "-3", pa.int16(), -3),
        ("i4", "int", "70000", pa.int32(), 70000), ("i8", "bigint", "-5000000000", pa.int64(), -5000000000),
        ("n9", "numeric(9,2)", "-1.25", pa.decimal128(9, 2), decimal.Decimal("-1.25")),
        ("n30", "numeric(30,4)", "-123456789012345678901.2345", pa.decimal128(30, 4),
         decimal.Decimal("-123456789012345678901.2345")),
        ("n", "numeric", "1.500", pa.large_string(), "1.500"), ("f4", "real", "1.5", pa.float32(), 1.5),
        ("f8", "float8", "-2.25", pa.float64(), -2.25), ("d", "date", "'1969-12-31'", pa.date32(), day),
        ("t", "time", "'12:34:56.789'", pa.time64("us"), datetime.time(12, 34, 56, 789000)),
        ("ts", "timestamp", "'1969-12-31 23:59:59.5'", pa.timestamp("us"), moment),
        ("tz", "timestamptz", "'1970-01-01 01:59:59.5+02'", pa.timestamp("us", "UTC"),
         moment.replace(tzinfo=datetime.timezone.utc)),
        ("iv", "interval", "'1 mon 3 hours'", pa.large_string(), "1 mon 03:00:00"),
        ("u", "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", pa.binary(16),
         bytes.fromhex("a0eebc999c0b4ef8bb6d6bb9bd380a11")),
        ("y", "bytea", "'\\x00ff'", pa.large_binary(), b"\0\xff"), ("x", "text", "'Grüße'", pa.large_string(), "Grüße"),
        ("v", "varchar(5)", "''", pa.large_string(), ""),
        ("l", "int[]", "'{1,NULL,3}'", pa.large_list(pa.int32()), [1, None, 3]),
        ("lt", "text[]", "'{}'", pa.large_list(pa.large_string()), []))
    names = [c[0] for c in columns]
    P.sh("-c", f"create table w ({', '.join(f'{c[0]} {c[1]}' for c in columns)})",
         "-c", f"insert into w values ({', '.join(c[2] for c in columns)})", "-c", "insert into w default values",
         "-c", f"copy w to '{path}'")
    t = pa.ipc.open_file(path).read_all()
    t.validate(full=True)
    P.check("types of Arrow", [(f.name, f.type) for f in t.schema] == [(c[0], c[3]) for c in columns], t.schema)
    P.check("values of Arrow", t.to_pylist() == [dict(zip(names, [c[4] for c in columns])), dict.fromkeys(names)], t)
    made = ", ".join(f"{c[2]}::{'text' if c[0] == 'iv' else c[1]} as {c[0]}" for c in columns)
    sql = f"select * from '{path}' where b except select {made}"
    code, out, err = P.sh("--csv", "-c", sql.replace("'1 mon 3 hours'", "'1 mon 03:00:00'"))
    P.check("there and back", out.splitlines() == [",".join(names)], err or out)

    n = 200000
    path = os.path.join(P.dir, "many.feather")
    code, out, err = P.sh("-c", f"copy (select g, 'w' || g % 3 as few, case when g % 3 > 0 then repeat('é', (g % 7)::int)"
                          f" end as t, array[g, null] as l from generate_series(1, {n}) g) to '{path}' (format arrow)")
    f = pa.ipc.open_file(path)
    rows = sorted(f.read_all().to_pylist(), key=lambda r: r["g"])
    bad = [r for i, r in enumerate(rows, 1) if r != {"g": i, "few": f"w{i % 3}", "t": "é" * (i % 7) if i % 3 else None,
                                                     "l": [i, None]}]
    P.check("many batches", len(rows) == n and f.num_record_batches > 3 and not bad, err or bad[:3])
    path_2 = os.path.join(P.dir, "lists.parquet")
    P.sh("-c", f"copy (select g, case when g % 3 > 0 then array[g, null] end as l, case when g % 2 > 0 then "
         f"array['w' || g % 5] else '{{}}' end as t, json_build_array(g) as j from generate_series(1, {n}) g order by g) "
         f"to '{path_2}'")
    lists = pq.read_table(path_2)
    kinds = [lists.schema.field(c).type for c in ("l", "t")]
    P.check("types of lists", kinds == [pa.list_(pa.field("element", pa.int32())),
                                        pa.list_(pa.field("element", pa.string()))], lists.schema)
    rows_2 = lists.to_pylist()
    bad = [r for i, r in enumerate(rows_2, 1) if r != {"g": i, "l": [i, None] if i % 3 else None, "j": f"[{i}]",
                                                       "t": [f"w{i % 5}"] if i % 2 else []}]
    P.check("lists of Parquet", len(rows_2) == n and not bad, bad[:3])
    with open(path, "rb") as file:
        stream = pa.ipc.open_stream(file.read()[8:]).read_all()
    P.check("as a stream", stream.num_rows == n, stream.num_rows)


def little_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails with EFBIG


def full_disk():
    """COPY TO where there is no room: the file that was there stays, and nothing else."""
    for end in ("csv", "txt", "tbl", "parquet", "arrow"):
        path = os.path.join(P.dir, "full", "x." + end)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write("old")
        sql = f"copy (select g, md5(g::text) as t, g * 1.5 as n from generate_series(1, 100000) g) to '{path}'"
        code, out, err = P.sh("-c", sql, preexec_fn=little_room)
        with open(path) as f:
            old = f.read()
        left = os.listdir(os.path.dirname(path))
        P.check("full disk, " + end, code == 1 and "53100" in err and old == "old" and left == ["x." + end],
                f"{err} {left}")
        os.remove(path)


def little_memory():
    """A row group that memory_limit has no room for is refused, and leaves nothing behind."""
    path = os.path.join(P.dir, "memory", "x.parquet")
    os.makedirs(os.path.dirname(path))
    texts = " || ".join(f"md5((g * {k})::text)" for k in range(1, 9))
    code, out, err = P.sh("-c", "set memory_limit = '24MB'",
                          "-c", f"copy (select {texts} from generate_series(1, 120000) g) to '{path}'")
    left = os.listdir(os.path.dirname(path))
    P.check("little memory", code == 1 and "53400: memory limit" in err and not left, f"{err} {left}")


if __name__ == "__main__":
    P.run([("read", read_all), ("slices", slices), ("Arrow", arrow_more), ("nested Arrow", arrow_nested),
           ("nested Parquet", parquet_nested), ("Parquet by hand", parquet_by_hand), ("damaged", damaged),
           ("dictionaries", arrow_dictionaries), ("Arrow written", arrow_written),
           ("full disk", full_disk),
           ("little memory", little_memory)])
    P.end()
