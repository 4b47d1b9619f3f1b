"""Functions of Python that SQL calls (Connection.create_function): between cells of the library and values or arrays.

Called on the thread of the statement only; the callback takes the GIL. An exception becomes the statement's error, with
SQLSTATE 38000, or its own `sqlstate`."""
from __future__ import annotations

import ctypes
import datetime
import uuid
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int16, c_int32, c_int64
from typing import Any, Callable, Optional, Sequence

from . import errors
from ._lib import ERROR, OK, Cells, Column, Scalar, ScalarCall, Text, lib

CALLED_ON_NULL, STABLE, VOLATILE, ONE_THREAD = 1, 2, 4, 8
_EPOCH = datetime.datetime(2000, 1, 1)
_DAY = datetime.date(2000, 1, 1)
_CELLS: dict[str, Any] = {"boolean": c_bool, "smallint": c_int16, "integer": c_int32, "bigint": c_int64,
                          "real": c_float, "double precision": c_double}
_NAMES = {"bool": "boolean", "int2": "smallint", "int": "integer", "int4": "integer", "int8": "bigint",
          "float4": "real", "float8": "double precision", "float": "double precision", "varchar": "text"}
_PYTHON = {bool: "boolean", int: "bigint", float: "double precision", str: "text", bytes: "bytea",
           datetime.date: "date", datetime.datetime: "timestamp", uuid.UUID: "uuid"}


def _type_name(t: Any) -> str:
    """A type of SQL from its name or Python's."""
    if isinstance(t, type):
        if t not in _PYTHON:
            raise errors.ProgrammingError(f"there is no SQL type for {t.__name__}")
        return _PYTHON[t]
    name = " ".join(str(t).lower().split())
    return _NAMES.get(name, name)


def _valid(column: Any, n: int) -> Any:
    return (ctypes.c_ubyte * n).from_address(column.valid) if column.valid else None


def _reader(t: str) -> Callable[[Any, int], list[Any]]:
    """Cells of a column as values."""
    if t in _CELLS:
        return lambda data, n: list((_CELLS[t] * n).from_address(data))
    if t in ("text", "bytea"):
        def texts(data: Any, n: int) -> list[Any]:
            raw = [ctypes.string_at(x.data, x.size) for x in (Text * n).from_address(data)]
            return raw if t == "bytea" else [x.decode() for x in raw]
        return texts
    if t == "date":
        return lambda data, n: [_DAY + datetime.timedelta(days=x) for x in (c_int32 * n).from_address(data)]
    if t == "timestamp":
        return lambda data, n: [_EPOCH + datetime.timedelta(microseconds=x) for x in (c_int64 * n).from_address(data)]
    if t == "uuid":
        return lambda data, n: [uuid.UUID(bytes=ctypes.string_at(data + 16 * i, 16)) for i in range(n)]
    raise errors.NotSupportedError(f"functions in Python cannot have type {t}; use text or double precision")


def _write(call: Any, t: str, cells: Any, n: int, values: Sequence[Any]) -> None:
    if len(values) != n:
        raise errors.DataError(f"the function returned {len(values)} values for {n} rows")
    valid = (ctypes.c_ubyte * n).from_address(cells.valid)
    out = (_CELLS.get(t) or {"date": c_int32, "timestamp": c_int64}.get(t) or ctypes.c_ubyte)
    data = (out * n).from_address(cells.data) if cells.data and t != "uuid" else None
    for i, v in enumerate(values):
        if v is None:
            valid[i] = 0
        elif t in ("text", "bytea"):
            raw = bytes(v) if t == "bytea" else str(v).encode()
            if lib.stele_call_set_text(call, cells, i, raw, len(raw)) != OK:
                raise errors.DataError("the text was refused")
        elif t == "date":
            data[i] = (v - _DAY).days  # type: ignore[index]
        elif t == "timestamp":
            data[i] = (v - _EPOCH) // datetime.timedelta(microseconds=1)  # type: ignore[index]
        elif t == "uuid":
            ctypes.memmove(cells.data + 16 * i, v.bytes, 16)
        else:
            limit = {"smallint": 15, "integer": 31, "bigint": 63}.get(t)
            if limit and not -(1 << limit) <= int(v) < 1 << limit:
                raise _out_of_range(f"{t} out of range")
            data[i] = float(v) if t in ("real", "double precision") else \
                bool(v) if t == "boolean" else int(v)  # type: ignore[index]


def _out_of_range(message: str) -> errors.DataError:
    e = errors.DataError(message)
    e.sqlstate = "22003"
    return e


def _by_rows(f: Callable[..., Any], types: list[str], result: str) -> Callable[[Any, int, Any, Any], Any]:
    readers = [_reader(t) for t in types]

    def run(call: Any, n: int, args: Any, cells: Any) -> Any:
        columns = []
        for k, read in enumerate(readers):
            values, valid = read(args[k].data, n), _valid(args[k], n)
            columns.append([v if valid[i] else None for i, v in enumerate(values)] if valid else values)
        out: list[Any] = []
        for i in range(n):
            try:
                out.append(f(*(c[i] for c in columns)))
            except Exception as e:
                e.stele_row = i  # type: ignore[attr-defined]
                raise
        _write(call, result, cells.contents, n, out)
    return run


def _by_arrays(f: Callable[..., Any], types: list[str], result: str) -> Callable[[Any, int, Any, Any], Any]:
    """NumPy arrays of numbers; NULLs are masked."""
    import numpy
    for t in [*types, result]:
        if t not in _CELLS:
            raise errors.NotSupportedError(f"functions over arrays have numbers and booleans, not {t}")

    def run(call: Any, n: int, args: Any, cells: Any) -> Any:
        columns = []
        for k, t in enumerate(types):
            a = numpy.ctypeslib.as_array((_CELLS[t] * n).from_address(args[k].data))
            a.flags.writeable = False
            valid = _valid(args[k], n)
            columns.append(numpy.ma.masked_array(a, mask=[not v for v in valid]) if valid else a)
        out, to = f(*columns), cells.contents
        values = numpy.broadcast_to(numpy.ma.getdata(out), (n,))
        numpy.ctypeslib.as_array((_CELLS[result] * n).from_address(to.data))[:] = values
        if numpy.ma.is_masked(out):
            there = numpy.ctypeslib.as_array((ctypes.c_ubyte * n).from_address(to.valid))
            there[:] = ~numpy.broadcast_to(numpy.ma.getmaskarray(out), (n,))
    return run


def register(handle: Any, name: str, f: Callable[..., Any], parameters: Sequence[Any], result: Any, vectorized: bool,
             called_on_null: bool, volatility: str) -> Optional[Any]:
    """What has to live as long as the database; None: the library has refused it."""
    types, to = [_type_name(t) for t in parameters], _type_name(result)
    _reader(to)
    run = (_by_arrays if vectorized else _by_rows)(f, types, to)

    def called(call: Any, n: int, args: Any, cells: Any) -> int:
        try:
            run(call, n, args, cells)
            return OK
        except BaseException as e:  # nothing passes through the library
            state = getattr(e, "sqlstate", None) or "38000"
            text = f"{type(e).__name__}: {e}"
            lib.stele_call_fail(call, getattr(e, "stele_row", -1), state.encode(), text.encode("utf-8", "replace"))
            return ERROR

    flags = {"immutable": 0, "stable": STABLE, "volatile": VOLATILE}
    if volatility not in flags:
        raise errors.ProgrammingError("volatility is immutable, stable or volatile")
    callback = ScalarCall(called)
    names = (c_char_p * max(len(types), 1))(*[t.encode() for t in types])
    given = Scalar(name.encode(), len(types), ctypes.cast(names, POINTER(c_char_p)), None, to.encode(),
                   flags[volatility] | ONE_THREAD | (CALLED_ON_NULL if called_on_null else 0), callback, None, None)
    return callback if lib.stele_create_scalar(handle, ctypes.byref(given)) == OK else None
