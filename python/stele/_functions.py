"""Functions of Python that SQL calls (Connection.create_function, create_aggregate, create_table_function): what is
between the library's callbacks and the functions. Cells are _cells's.

Called on the thread of the statement only; the callbacks take the GIL. An exception becomes the statement's error, with
SQLSTATE 38000, or its own `sqlstate`."""
from __future__ import annotations

import ctypes
import itertools
from ctypes import POINTER, c_char_p, c_ubyte
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import errors
from ._cells import NUMBERS, codec, type_name
from ._lib import (ERROR, OK, Aggregate, AggregateGroup, Scalar, ScalarCall, TableBegin, TableBind, TableEnd,
                   TableFunction, TableNext, lib)
from ._values import value_of

CALLED_ON_NULL, STABLE, VOLATILE, ONE_THREAD, LATERAL = 1, 2, 4, 8, 16
Columns = Union[Mapping[str, Any], Sequence[tuple[str, Any]]]


def _guarded(run: Callable[..., None]) -> Callable[..., int]:
    """A callback of the library, whose first argument is the call: nothing passes through it."""
    def called(call: Any, *args: Any) -> int:
        try:
            run(call, *args)
            return OK
        except BaseException as e:
            state = getattr(e, "sqlstate", None) or "38000"
            text = f"{type(e).__name__}: {e}"
            lib.stele_call_fail(call, getattr(e, "stele_row", -1), state.encode(), text.encode("utf-8", "replace"))
            return ERROR
    return called


def _names(names: Sequence[str]) -> Any:
    array = (c_char_p * max(len(names), 1))(*[t.encode() for t in names])
    return ctypes.cast(array, POINTER(c_char_p))


def _columns(n: int, args: Any, types: Sequence[str]) -> Any:
    """Arguments as NumPy arrays of numbers; NULLs are masked."""
    import numpy
    columns = []
    for k, t in enumerate(types):
        if n == 0:
            columns.append(numpy.empty(0, NUMBERS[t]))
            continue
        a = numpy.ctypeslib.as_array((NUMBERS[t] * n).from_address(args[k].data))
        a.flags.writeable = False
        valid = (c_ubyte * n).from_address(args[k].valid) if args[k].valid else None
        columns.append(numpy.ma.masked_array(a, mask=[not v for v in valid]) if valid else a)
    return columns


def _check_numbers(types: Sequence[str]) -> None:
    for t in types:
        if t not in NUMBERS:
            raise errors.NotSupportedError(f"functions over NumPy arrays have numbers and booleans, not {t}")


# ---- scalar functions ----

def _by_rows(f: Callable[..., Any], types: list[str], result: str) -> Callable[..., None]:
    readers, out = [codec(t) for t in types], codec(result)

    def run(call: Any, n: int, args: Any, cells: Any) -> None:
        columns = [r.read(args[k].data, args[k].valid, n) for k, r in enumerate(readers)]
        values: list[Any] = []
        for i in range(n):
            try:
                values.append(f(*(c[i] for c in columns)))
            except Exception as e:
                e.stele_row = i  # type: ignore[attr-defined]
                raise
        out.write(call, cells.contents, values)
    return run


def _by_arrays(f: Callable[..., Any], types: list[str], result: str) -> Callable[..., None]:
    import numpy
    _check_numbers([*types, result])

    def run(call: Any, n: int, args: Any, cells: Any) -> None:
        out, to = f(*_columns(n, args, types)), cells.contents
        values = numpy.broadcast_to(numpy.ma.getdata(out), (n,))
        numpy.ctypeslib.as_array((NUMBERS[result] * n).from_address(to.data))[:] = values
        if numpy.ma.is_masked(out):
            there = numpy.ctypeslib.as_array((c_ubyte * n).from_address(to.valid))
            there[:] = ~numpy.broadcast_to(numpy.ma.getmaskarray(out), (n,))
    return run


def register(handle: Any, name: str, f: Callable[..., Any], parameters: Sequence[Any], result: Any, vectorized: bool,
             called_on_null: bool, volatility: str) -> Optional[Any]:
    """What has to live as long as the database; None: the library has refused it."""
    types, to = [type_name(t) for t in parameters], type_name(result)
    run = (_by_arrays if vectorized else _by_rows)(f, types, to)
    flags = {"immutable": 0, "stable": STABLE, "volatile": VOLATILE}
    if volatility not in flags:
        raise errors.ProgrammingError("volatility is immutable, stable or volatile")
    callback = ScalarCall(_guarded(run))
    given = Scalar(name.encode(), len(types), _names(types), None, to.encode(),
                   flags[volatility] | ONE_THREAD | (CALLED_ON_NULL if called_on_null else 0), callback, None, None)
    return callback if lib.stele_create_scalar(handle, ctypes.byref(given)) == OK else None


# ---- aggregates ----

def _stepped(kind: type) -> Callable[..., Any]:
    """A class with step and finalize, as sqlite3 has them, as a function of lists."""
    def run(*columns: Sequence[Any]) -> Any:
        x = kind()
        for row in zip(*columns):
            x.step(*row)
        return x.finalize()
    return run


def register_aggregate(handle: Any, name: str, aggregate: Any, parameters: Sequence[Any], result: Any,
                       vectorized: bool) -> Optional[Any]:
    types, to = [type_name(t) for t in parameters], type_name(result)
    stepped = isinstance(aggregate, type) and hasattr(aggregate, "step") and hasattr(aggregate, "finalize")
    if vectorized and stepped:
        raise errors.ProgrammingError("a class with step and finalize cannot be vectorized")
    if vectorized:
        _check_numbers(types)
    f = _stepped(aggregate) if stepped else aggregate
    readers, out = [codec(t) for t in types], codec(to)

    def run(call: Any, n: int, args: Any, cells: Any) -> None:
        if n == 0 and not stepped:
            out.write(call, cells.contents, [None])
            return
        columns = (_columns(n, args, types) if vectorized else
                   [r.read(args[k].data, args[k].valid, n) for k, r in enumerate(readers)])
        v = f(*columns)
        out.write(call, cells.contents, [v.item() if vectorized and hasattr(v, "item") else v])
    callback = AggregateGroup(_guarded(run))
    given = Aggregate(name=name.encode(), n_params=len(types), param_types=_names(types), result_type=to.encode(),
                      flags=ONE_THREAD, group=callback)
    return callback if lib.stele_create_aggregate(handle, ctypes.byref(given)) == OK else None


# ---- table functions ----

class _Table:
    """One table function: arguments that are bound, and scans under way, by the numbers that the library keeps."""

    def __init__(self, f: Callable[..., Iterable[Any]], types: list[str], columns: list[tuple[str, str]]) -> None:
        self.f, self.types, self.columns = f, types, columns
        self.codecs = [codec(t) for _, t in columns]
        self.numbers = itertools.count(1)
        self.bound: dict[int, tuple[Any, ...]] = {}
        self.scans: dict[int, Any] = {}
        self.callbacks = (TableBind(_guarded(self.bind)), TableEnd(lambda x: self.drop(self.bound, x)),
                          TableBegin(_guarded(self.begin)), TableNext(_guarded(self.next)),
                          TableEnd(lambda x: self.drop(self.scans, x)))

    def drop(self, of: dict[int, Any], number: int) -> None:
        """What close() of a generator raises goes to sys.unraisablehook, as ctypes has it: no statement waits for it."""
        x = of.pop(number, None)
        close = getattr(x[0], "close", None) if of is self.scans and x else None
        if close:
            close()

    def bind(self, call: Any, n: int, args: Any, columns: Any, bound: Any) -> None:
        for name, t in self.columns:
            if lib.stele_columns_add(columns, name.encode(), t.encode()) != OK:
                raise errors.ProgrammingError(f"column {name}")  # the call has its error
        if args:
            number = next(self.numbers)
            self.bound[number] = tuple(value_of(args[i], t) for i, t in enumerate(self.types))
            bound[0] = number

    def begin(self, call: Any, bound: int, n: int, wanted: Any, scan: Any) -> None:
        number = next(self.numbers)
        self.scans[number] = (iter(self.f(*self.bound[bound])), [k for k in range(n) if wanted[k]])
        scan[0] = number

    def next(self, call: Any, scan: int, room: int, columns: Any, n: Any) -> None:
        (source, wanted), width = self.scans[scan], len(self.columns)
        rows: list[Any] = []
        for row in itertools.islice(source, room):
            if width == 1 and not isinstance(row, tuple):
                row = (row,)
            if len(row) != width:
                raise errors.DataError(f"the function returned a row of {len(row)} values for {width} columns")
            rows.append(row)
        for k in wanted:
            self.codecs[k].write(call, columns[k], [row[k] for row in rows])
        n[0] = len(rows)


def register_table(handle: Any, name: str, f: Callable[..., Iterable[Any]], parameters: Union[Mapping[str, Any], Sequence[Any]],
                   columns: Columns) -> Optional[Any]:
    own = [str(x) for x in parameters] if isinstance(parameters, Mapping) else None
    kinds = parameters.values() if isinstance(parameters, Mapping) else parameters
    types = [type_name(t) for t in kinds]
    pairs = columns.items() if isinstance(columns, Mapping) else columns
    shape = [(str(c), type_name(t)) for c, t in pairs]
    if not shape:
        raise errors.ProgrammingError("a table function has one column or more")
    table = _Table(f, types, shape)
    bind, free_bound, begin, following, end = table.callbacks
    given = TableFunction(name=name.encode(), n_params=len(types), param_types=_names(types),
                          param_names=_names(own) if own else None, flags=ONE_THREAD | LATERAL, bind=bind,
                          free_bound=free_bound, begin=begin, next=following, end=end)
    return table if lib.stele_create_table_function(handle, ctypes.byref(given)) == OK else None
