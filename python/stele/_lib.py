"""libstele through ctypes, which releases the GIL in every call."""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, Union, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_ubyte, c_uint32, c_uint64, c_void_p)
from typing import Any

OK, ERROR, ROW, DONE = 0, 1, 2, 3


class ErrorInfo(Structure):
    _fields_ = [("sqlstate", c_char * 6), ("message", c_char_p), ("detail", c_char_p), ("hint", c_char_p),
                ("context", c_char_p), ("position", c_int64), ("schema_name", c_char_p), ("table_name", c_char_p),
                ("column_name", c_char_p), ("datatype_name", c_char_p), ("constraint_name", c_char_p)]


class Options(Structure):
    _fields_ = [("threads", c_int32), ("memory_limit", c_int64), ("temp_directory", c_char_p), ("existing", c_bool),
                ("read_only", c_bool), ("durable", c_bool)]


class Notice(Structure):
    _fields_ = [("severity", c_char_p), ("sqlstate", c_char_p), ("message", c_char_p), ("detail", c_char_p),
                ("hint", c_char_p), ("context", c_char_p)]


class BulkInfo(Structure):
    _fields_ = [("calls", c_int64), ("failed", c_int64), ("depth", c_int64), ("width0", c_int64),
                ("crossing", c_int64), ("strategy", c_char_p), ("executor", c_char_p), ("reason", c_char_p),
                ("footprint_ns", c_int64), ("schedule_ns", c_int64), ("run_ns", c_int64), ("total_ns", c_int64),
                ("waited_ns", c_int64), ("latency_ns", c_int64), ("why", c_char_p)]


class ArrowSchema(Structure):
    pass


class ArrowArray(Structure):
    pass


class ArrowArrayStream(Structure):
    pass


ReleaseSchema = CFUNCTYPE(None, POINTER(ArrowSchema))
ReleaseArray = CFUNCTYPE(None, POINTER(ArrowArray))
ArrowSchema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64),
                        ("n_children", c_int64), ("children", POINTER(POINTER(ArrowSchema))),
                        ("dictionary", POINTER(ArrowSchema)), ("release", ReleaseSchema), ("private_data", c_void_p)]
ArrowArray._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
                       ("n_children", c_int64), ("buffers", POINTER(c_void_p)),
                       ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
                       ("release", ReleaseArray), ("private_data", c_void_p)]
ArrowArrayStream._fields_ = [
    ("get_schema", CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowSchema))),
    ("get_next", CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowArray))),
    ("get_last_error", CFUNCTYPE(c_void_p, POINTER(ArrowArrayStream))),
    ("release", CFUNCTYPE(None, POINTER(ArrowArrayStream))), ("private_data", c_void_p)]

class Column(Structure):
    """Arguments of a function of the client, a cell per row."""
    _fields_ = [("data", c_void_p), ("valid", c_void_p)]


class Cells(Structure):
    """Its results."""
    _fields_ = [("data", c_void_p), ("valid", c_void_p), ("cells", c_void_p)]


class Text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint32), ("reserved", c_uint32)]


class Dim(Structure):
    _fields_ = [("len", c_int32), ("low", c_int32)]


class ArrayCell(Structure):
    _fields_ = [("data", c_void_p), ("valid", c_void_p), ("n", c_int64), ("dims", POINTER(Dim)), ("n_dims", c_int32)]


class Value(Structure):
    """A stele_value."""


class _Numeric(Structure):
    _fields_ = [("low", c_uint64), ("high", c_int64), ("scale", c_int32)]


class _Bytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_int64)]


class _Items(Structure):
    _fields_ = [("items", POINTER(Value)), ("n", c_int64)]


class _Any(Union):
    _fields_ = [("boolean", c_bool), ("i64", c_int64), ("f32", c_float), ("f64", c_double), ("numeric", _Numeric),
                ("uuid", c_ubyte * 16), ("text", _Bytes), ("array", _Items)]


Value._fields_ = [("type", c_int), ("u", _Any)]
ScalarCall = CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(Column), POINTER(Cells))


class Scalar(Structure):
    _fields_ = [("name", c_char_p), ("n_params", c_int64), ("param_types", POINTER(c_char_p)),
                ("param_names", POINTER(c_char_p)), ("result_type", c_char_p), ("flags", c_int32),
                ("call", ScalarCall), ("data", c_void_p), ("destroy", c_void_p)]


AggregateGroup = CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(Column), POINTER(Cells))


class Aggregate(Structure):
    _fields_ = [("name", c_char_p), ("n_params", c_int64), ("param_types", POINTER(c_char_p)),
                ("result_type", c_char_p), ("flags", c_int32), ("state_size", c_int64), ("init", c_void_p),
                ("update", c_void_p), ("combine", c_void_p), ("finish", c_void_p), ("group", AggregateGroup),
                ("data", c_void_p), ("destroy", c_void_p)]


TableBind = CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(Value), c_void_p, POINTER(c_void_p))
TableBegin = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int64, POINTER(c_bool), POINTER(c_void_p))
TableNext = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int64, POINTER(Cells), POINTER(c_int64))
TableEnd = CFUNCTYPE(None, c_void_p)


class TableFunction(Structure):
    _fields_ = [("name", c_char_p), ("n_params", c_int64), ("param_types", POINTER(c_char_p)),
                ("param_names", POINTER(c_char_p)), ("flags", c_int32), ("bind", TableBind),
                ("free_bound", TableEnd), ("begin", TableBegin), ("next", TableNext), ("end", TableEnd),
                ("data", c_void_p), ("destroy", c_void_p)]


Progress = CFUNCTYPE(c_bool, c_void_p, c_double)
Resolver = CFUNCTYPE(c_bool, c_void_p, c_char_p)
OnNotice = CFUNCTYPE(None, c_void_p, POINTER(Notice))

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "open": (c_int, [c_char_p, POINTER(Options), POINTER(c_void_p), POINTER(ErrorInfo)]),
    "close": (c_int, [c_void_p, POINTER(ErrorInfo)]),
    "discard": (c_int, [c_void_p]),
    "connect": (c_int, [c_void_p, POINTER(c_void_p)]),
    "disconnect": (None, [c_void_p]),
    "error": (None, [c_void_p, POINTER(ErrorInfo)]),
    "interrupt": (None, [c_void_p]),
    "calls_begin": (None, [c_void_p]),
    "calls_end": (None, [c_void_p]),
    "set_progress": (None, [c_void_p, Progress, c_void_p]),
    "set_notice": (None, [c_void_p, OnNotice, c_void_p]),
    "transaction_state": (c_char, [c_void_p]),
    "set_commit_wait": (None, [c_void_p, c_bool]),
    "commit_lsn": (c_int64, [c_void_p]),
    "is_stable": (c_bool, [c_void_p, c_int64]),
    "wait_stable": (c_int, [c_void_p, c_int64, POINTER(ErrorInfo)]),
    "prepare": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_void_p), POINTER(c_void_p)]),
    "finalize": (None, [c_void_p]),
    "param_count": (c_int64, [c_void_p]),
    "bind_null": (c_int, [c_void_p, c_int64]),
    "bind_bool": (c_int, [c_void_p, c_int64, c_bool]),
    "bind_int64": (c_int, [c_void_p, c_int64, c_int64]),
    "bind_double": (c_int, [c_void_p, c_int64, c_double]),
    "bind_text": (c_int, [c_void_p, c_int64, c_char_p, c_int64]),
    "run": (c_int, [c_void_p]),
    "exec": (c_int, [c_void_p, c_char_p, c_void_p, c_void_p]),
    "column_count": (c_int64, [c_void_p]),
    "column_name": (c_char_p, [c_void_p, c_int64]),
    "column_type": (c_char_p, [c_void_p, c_int64]),
    "command_tag": (c_char_p, [c_void_p]),
    "row_count": (c_int64, [c_void_p]),
    "fetch_arrow": (c_int, [c_void_p, c_int64, POINTER(ArrowSchema), POINTER(ArrowArray)]),
    "arrow_stream": (c_int, [POINTER(ArrowSchema), POINTER(ArrowArray), POINTER(ArrowArrayStream)]),
    "set_stream": (None, [c_void_p, c_bool]),
    "result_arrow_stream": (c_int, [c_void_p, POINTER(ArrowArrayStream)]),
    "register_arrow": (c_int, [c_void_p, c_char_p, c_void_p]),
    "unregister": (None, [c_void_p, c_char_p]),
    "set_resolver": (None, [c_void_p, Resolver, c_void_p]),
    "create_scalar": (c_int, [c_void_p, POINTER(Scalar)]),
    "create_aggregate": (c_int, [c_void_p, POINTER(Aggregate)]),
    "create_table_function": (c_int, [c_void_p, POINTER(TableFunction)]),
    "columns_add": (c_int, [c_void_p, c_char_p, c_char_p]),
    "drop_function": (c_int, [c_void_p, c_char_p, c_int64, POINTER(c_char_p)]),
    "call_fail": (c_int, [c_void_p, c_int64, c_char_p, c_char_p]),
    "call_set_text": (c_int, [c_void_p, POINTER(Cells), c_int64, c_char_p, c_int64]),
    "call_set_array": (c_int, [c_void_p, POINTER(Cells), c_int64, POINTER(ArrayCell)]),
    "bulk_new": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "bulk_free": (None, [c_void_p]),
    "bulk_param_count": (c_int64, [c_void_p]),
    "bulk_add": (c_int, [c_void_p, POINTER(c_char_p)]),
    "bulk_add_arrow": (c_int, [c_void_p, POINTER(ArrowSchema), POINTER(ArrowArray)]),
    "bulk_run": (c_int, [c_void_p]),
    "bulk_get_arrow": (c_int, [c_void_p, POINTER(ArrowSchema), POINTER(ArrowArray)]),
    "bulk_get_info": (None, [c_void_p, POINTER(BulkInfo)]),
}


def _load() -> ctypes.CDLL:
    """$STELE_LIBRARY, the library of the wheel, or the system's."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libstele.so.0")
    path = os.environ.get("STELE_LIBRARY") or (here if os.path.exists(here) else "libstele.so.0")
    try:
        found = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"libstele cannot be loaded: {e}") from e
    for name, (result, arguments) in _FUNCTIONS.items():
        f = getattr(found, "stele_" + name)
        f.restype, f.argtypes = result, arguments
    return found


lib = _load()
version: str = lib.stele_version().decode()
