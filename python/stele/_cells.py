"""Cells of functions of the client (stele.h) as values of Python, and back: one codec per SQL type."""
from __future__ import annotations

import ctypes
import datetime
import re
import uuid
from ctypes import c_bool, c_double, c_float, c_int16, c_int32, c_int64, c_ubyte
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Callable, Optional, Sequence, get_args, get_origin

from . import errors
from ._lib import OK, ArrayCell, Dim, Text, lib

_EPOCH = datetime.datetime(2000, 1, 1)
_EPOCH_UTC = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
_DAY = datetime.date(2000, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_EXACT = Context(prec=80)
_Bytes16 = c_ubyte * 16

NUMBERS: dict[str, Any] = {"boolean": c_bool, "smallint": c_int16, "integer": c_int32, "bigint": c_int64,
                           "real": c_float, "double precision": c_double}
_NAMES = {"bool": "boolean", "int2": "smallint", "int": "integer", "int4": "integer", "int8": "bigint",
          "float4": "real", "float8": "double precision", "float": "double precision", "varchar": "text",
          "decimal": "numeric", "timestamp with time zone": "timestamptz", "timestamp without time zone": "timestamp",
          "time without time zone": "time"}
_PYTHON = {bool: "boolean", int: "bigint", float: "double precision", str: "text", bytes: "bytea", Decimal: "numeric",
           datetime.date: "date", datetime.time: "time", datetime.datetime: "timestamp", uuid.UUID: "uuid"}


def out_of_range(message: str, sqlstate: str = "22003") -> errors.DataError:
    e = errors.DataError(message)
    e.sqlstate = sqlstate
    return e


def type_name(t: Any) -> str:
    """A type of SQL from its name or Python's: "int", int, "text[]", list[str]."""
    if get_origin(t) is list and len(get_args(t)) == 1:
        return type_name(get_args(t)[0]) + "[]"
    if isinstance(t, type):
        if t not in _PYTHON:
            raise errors.ProgrammingError(f"there is no SQL type for {t.__name__}")
        return _PYTHON[t]
    name = re.sub(r" *([][(),]) *", r"\1", " ".join(str(t).lower().split()))
    element, array = (name[:-2], "[]") if name.endswith("[]") else (name, "")
    head, paren, rest = element.partition("(")
    return _NAMES.get(head, head) + paren + rest + array


def _int_store(t: str) -> Callable[[Any], int]:
    limit = 1 << {"smallint": 15, "integer": 31, "bigint": 63}[t]

    def store(v: Any) -> int:
        n = int(v)
        if not -limit <= n < limit:
            raise out_of_range(f"{t} out of range")
        return n
    return store


class Codec:
    """One type: the ctypes form of a cell, and conversions of one cell (None: it is the value)."""

    def __init__(self, name: str, cell: Any, load: Optional[Callable[[Any], Any]] = None,
                 store: Optional[Callable[[Any], Any]] = None) -> None:
        self.name, self.cell, self.load, self.store = name, cell, load, store

    def read(self, data: Any, valid: Any, n: int) -> list[Any]:
        """Cells at an address as values; NULLs as None."""
        if n == 0:
            return []
        cells, load = (self.cell * n).from_address(data), self.load
        there = (c_ubyte * n).from_address(valid) if valid else None
        if there:
            return [(load(x) if load else x) if there[i] else None for i, x in enumerate(cells)]
        return [load(x) for x in cells] if load else list(cells)

    def pack(self, values: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Values as an array of cells, one of validity, and what cells point at: to be kept until they are copied."""
        n, store = len(values), self.store
        cells, valid = (self.cell * max(n, 1))(), (c_ubyte * max(n, 1))()
        for i, v in enumerate(values):
            if v is not None:
                cells[i] = store(v) if store else v
                valid[i] = 1
        return cells, valid, None

    def write(self, call: Any, result: Any, values: Sequence[Any]) -> None:
        """Values into the first rows of a column of results."""
        cells, valid, _ = self.pack(values)
        ctypes.memmove(result.data, cells, len(values) * ctypes.sizeof(self.cell))
        ctypes.memmove(result.valid, valid, len(values))


class _TextCodec(Codec):
    """text, bytea, json: strings that the library copies."""

    def __init__(self, name: str) -> None:
        raw = name == "bytea"
        self.bytes_of: Callable[[Any], bytes] = bytes if raw else lambda v: str(v).encode()

        def load(x: Any) -> Any:
            b = ctypes.string_at(x.data, x.size)
            return b if raw else b.decode()
        super().__init__(name, Text, load)

    def pack(self, values: Sequence[Any]) -> tuple[Any, Any, Any]:
        raw = [None if v is None else self.bytes_of(v) for v in values]
        keep = [ctypes.create_string_buffer(b, max(len(b), 1)) for b in raw if b is not None]
        at = iter(keep)
        cells, valid = (Text * max(len(raw), 1))(), (c_ubyte * max(len(raw), 1))()
        for i, b in enumerate(raw):
            if b is not None:
                cells[i].data, cells[i].size, valid[i] = ctypes.addressof(next(at)), len(b), 1
        return cells, valid, keep

    def write(self, call: Any, result: Any, values: Sequence[Any]) -> None:
        valid = (c_ubyte * max(len(values), 1)).from_address(result.valid)
        for i, v in enumerate(values):
            if v is None:
                valid[i] = 0
                continue
            raw = self.bytes_of(v)
            if lib.stele_call_set_text(call, result, i, raw, len(raw)) != OK:
                raise errors.DataError("the text was refused")  # the call has its error


class _ArrayCodec(Codec):
    """Lists; of arrays of several dimensions lists of lists. First subscripts other than 1 are refused: lists have
    none."""

    def __init__(self, element: Codec) -> None:
        self.element = element
        super().__init__(element.name + "[]", ArrayCell, self.list_of)

    def list_of(self, x: Any) -> list[Any]:
        values = self.element.read(x.data, x.valid, x.n)
        dims = [x.dims[k] for k in range(x.n_dims)] if x.dims else []
        if any(d.low != 1 for d in dims):
            raise errors.NotSupportedError("an array whose first subscript is not 1 is no list; pass a[:] of it")
        for d in reversed(dims[1:]):
            values = [values[i:i + d.len] for i in range(0, len(values), d.len)]
        return values

    def write(self, call: Any, result: Any, values: Sequence[Any]) -> None:
        valid = (c_ubyte * max(len(values), 1)).from_address(result.valid)
        for i, v in enumerate(values):
            if v is None:
                valid[i] = 0
                continue
            items, lengths = _flat(list(v))
            cells, there, _keep = self.element.pack(items)
            dims = (Dim * len(lengths))(*[Dim(n, 1) for n in lengths])
            array = ArrayCell(ctypes.addressof(cells), ctypes.addressof(there), len(items), dims, len(lengths))
            if lib.stele_call_set_array(call, result, i, ctypes.byref(array)) != OK:
                raise errors.DataError("the array was refused")


def _flat(items: list[Any]) -> tuple[list[Any], list[int]]:
    """Lists of lists as one list, and the lengths of the dimensions."""
    lengths = [len(items)]
    while items and isinstance(items[0], (list, tuple)):
        n = len(items[0])
        if any(not isinstance(x, (list, tuple)) or len(x) != n for x in items):
            raise errors.DataError("lists in a list must be of one length")
        lengths.append(n)
        items = [y for x in items for y in x]
    return items, lengths


def _numeric(name: str) -> Codec:
    found = re.fullmatch(r"numeric(?:\((\d+)(?:,(\d+))?\))?", name)
    if not found:
        raise errors.ProgrammingError(f"there is no type {name}")
    precision = int(found[1] or 38)
    scale = int(found[2] or 0) if found[1] else 16
    wide = precision > 18

    def load(x: Any) -> Decimal:
        n = int.from_bytes(bytes(x), "little", signed=True) if wide else x
        return _EXACT.scaleb(Decimal(n), -scale)

    def store(v: Any) -> Any:
        d = Decimal(repr(v)) if isinstance(v, float) else Decimal(v)
        if not d.is_finite() or d.adjusted() + 1 > precision - scale:
            raise out_of_range("numeric field overflow")
        n = int(_EXACT.scaleb(d, scale).to_integral_value(ROUND_HALF_UP, _EXACT))
        return _Bytes16.from_buffer_copy(n.to_bytes(16, "little", signed=True)) if wide else n
    return Codec(name, _Bytes16 if wide else c_int64, load, store)


def _time_load(x: int) -> datetime.time:
    return (_EPOCH + datetime.timedelta(microseconds=x)).time()


def _time_store(v: datetime.time) -> int:
    return ((v.hour * 60 + v.minute) * 60 + v.second) * 1000000 + v.microsecond


def _aware_store(v: datetime.datetime) -> int:
    if v.tzinfo is None:
        raise errors.ProgrammingError("a datetime for timestamptz needs a time zone")
    return (v - _EPOCH_UTC) // _MICROSECOND


_FIXED: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "date": (c_int32, lambda x: _DAY + datetime.timedelta(days=x), lambda v: (v - _DAY).days),
    "time": (c_int64, _time_load, _time_store),
    "timestamp": (c_int64, lambda x: _EPOCH + datetime.timedelta(microseconds=x), lambda v: (v - _EPOCH) // _MICROSECOND),
    "timestamptz": (c_int64, lambda x: _EPOCH_UTC + datetime.timedelta(microseconds=x), _aware_store),
    "uuid": (_Bytes16, lambda x: uuid.UUID(bytes=bytes(x)), lambda v: _Bytes16.from_buffer_copy(v.bytes)),
}


def codec(name: str) -> Codec:
    """Of a name that type_name has made."""
    if name.endswith("[]"):
        return _ArrayCodec(codec(name[:-2]))
    if name in NUMBERS:
        store = _int_store(name) if name in ("smallint", "integer", "bigint") else bool if name == "boolean" else float
        return Codec(name, NUMBERS[name], None, store)
    if name in ("text", "bytea", "json", "jsonb"):
        return _TextCodec(name)
    if name.startswith("numeric"):
        return _numeric(name)
    if name in _FIXED:
        return Codec(name, *_FIXED[name])
    raise errors.NotSupportedError(f"functions in Python cannot have type {name}; use text")
