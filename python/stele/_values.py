"""stele_value, a value of any type (stele.h), as a value of Python."""
from __future__ import annotations

import ctypes
from typing import Any

from ._cells import codec
from ._lib import Value

_NULL, _BOOL, _INT64, _FLOAT, _DOUBLE, _NUMERIC, _TEXT, _BYTEA = range(8)
_ARRAY = 14


def value_of(x: Value, t: str) -> Any:
    """The value of an argument of type t, or of an element of it."""
    u = x.u
    if x.type == _NULL:
        return None
    if x.type == _ARRAY:
        return [value_of(u.array.items[i], t) for i in range(u.array.n)]
    if x.type in (_TEXT, _BYTEA):
        raw = ctypes.string_at(u.text.data, u.text.size)
        return raw if x.type == _BYTEA else raw.decode()
    if x.type == _NUMERIC:
        from decimal import Context, Decimal
        n = u.numeric.low | (u.numeric.high << 64)
        return Context(prec=80).scaleb(Decimal(n), -u.numeric.scale)
    if x.type == _BOOL:
        return bool(u.boolean)
    if x.type in (_INT64, _FLOAT, _DOUBLE):
        return u.i64 if x.type == _INT64 else u.f32 if x.type == _FLOAT else u.f64
    load = codec(t.split("[")[0]).load
    assert load is not None
    return load(u.uuid if t.startswith("uuid") else u.i64)
