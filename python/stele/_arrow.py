"""Arrow's C interfaces by ctypes alone: batches as lists of Python values, and as capsules for other libraries."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_void_p, py_object
from typing import Any, Iterator, Sequence

from . import errors
from ._lib import OK, ArrowArray, ArrowArrayStream, ArrowSchema, lib

_SCALARS: dict[str, Any] = {"s": ctypes.c_int16, "i": ctypes.c_int32, "l": ctypes.c_int64, "f": ctypes.c_float,
                            "g": ctypes.c_double, "tdD": ctypes.c_int32, "ttu": ctypes.c_int64,
                            "tsu:": ctypes.c_int64, "tsu:UTC": ctypes.c_int64}


class Batch:
    """A record batch of Stele's own making, released with the object."""

    def __init__(self) -> None:
        self.schema, self.array = ArrowSchema(), ArrowArray()

    def __del__(self) -> None:
        for x in (self.schema, self.array):
            if x.release:
                x.release(byref(x))

    def __len__(self) -> int:
        return int(self.array.length)

    @property
    def names(self) -> list[str]:
        return [self.schema.children[i].contents.name.decode() for i in range(self.schema.n_children)]

    def column(self, k: int, sql_type: str, start: int, stop: int) -> list[Any]:
        """Values of rows start to stop."""
        return _column(self.schema.children[k].contents, sql_type, self.array.children[k].contents, start, stop)

    def rows(self, types: Sequence[str], start: int, stop: int) -> list[tuple[Any, ...]]:
        stop = min(stop, len(self))
        if start >= stop:
            return []
        if not types:
            return [()] * (stop - start)
        return list(zip(*(self.column(k, t, start, stop) for k, t in enumerate(types))))


def _column(schema: Any, sql_type: str, array: Any, start: int, stop: int) -> list[Any]:
    if start == stop:
        return []
    values = _values(schema, sql_type, array, start, stop)
    if array.null_count == 0:
        return values
    bits = _bits(array.buffers[0], start, stop)
    for i in range(len(values)):
        if not bits >> i & 1:
            values[i] = None
    return values


def _bits(address: int, start: int, stop: int) -> int:
    """Bits start to stop of a bitmap, the first of them lowest."""
    raw = ctypes.string_at(address + start // 8, (stop + 7) // 8 - start // 8)
    return int.from_bytes(raw, "little") >> start % 8


def _values(schema: Any, sql_type: str, array: Any, start: int, stop: int) -> list[Any]:
    form = schema.format.decode()
    if form == "+L":
        ends = (ctypes.c_int64 * (stop + 1)).from_address(array.buffers[1])[start:stop + 1]
        items = _column(schema.children[0].contents, sql_type[:-2], array.children[0].contents, ends[0], ends[-1])
        return [items[a - ends[0]:b - ends[0]] for a, b in zip(ends, ends[1:])]
    if form == "b":
        bits = _bits(array.buffers[1], start, stop)
        return [bool(bits >> i & 1) for i in range(stop - start)]
    if form in ("U", "Z"):
        texts = _strings(form, array, start, stop)
        if sql_type != "numeric":
            return texts
        from decimal import Decimal
        return [Decimal(t) if t else None for t in texts]  # NULLs have no text
    if form.startswith("d:"):
        return _decimals(form, sql_type, array, start, stop)
    if form == "w:16":
        import uuid
        raw = ctypes.string_at(array.buffers[1] + 16 * start, 16 * (stop - start))
        return [uuid.UUID(bytes=raw[i:i + 16]) for i in range(0, len(raw), 16)]
    cells: list[Any] = (_SCALARS[form] * stop).from_address(array.buffers[1])[start:stop]
    return _times(form, cells, array, start) if form[0] == "t" else cells


def _strings(form: str, array: Any, start: int, stop: int) -> list[Any]:
    ends = (ctypes.c_int64 * (stop + 1)).from_address(array.buffers[1])[start:stop + 1]
    raw = ctypes.string_at(array.buffers[2] + ends[0], ends[-1] - ends[0])
    at = [e - ends[0] for e in ends]
    parts = [raw[a:b] for a, b in zip(at, at[1:])]
    return list(parts) if form == "Z" else [p.decode() for p in parts]


def _decimals(form: str, sql_type: str, array: Any, start: int, stop: int) -> list[Any]:
    from decimal import Context, Decimal
    scale, exact = int(form.split(",")[1]), Context(prec=80)
    halves = (ctypes.c_uint64 * (2 * stop)).from_address(array.buffers[1])[2 * start:2 * stop]
    out = []
    for low, high in zip(halves[::2], halves[1::2]):
        n = low | (high << 64)
        value = exact.scaleb(Decimal(n if high < 1 << 63 else n - (1 << 128)), -scale)
        if sql_type == "numeric":  # without a scale of its own: shown without zeros at the end
            value = value.normalize(exact)
            if int(value.as_tuple().exponent) > 0:
                value = value.quantize(Decimal(1), context=exact)
        out.append(value)
    return out


def _times(form: str, cells: list[int], array: Any, start: int) -> list[Any]:
    import datetime as dt
    zone = dt.timezone.utc if form == "tsu:UTC" else None
    epoch = dt.datetime(1970, 1, 1, tzinfo=zone)

    def convert(v: int) -> Any:
        if form == "tdD":
            if v in (-2**31, 2**31 - 1):
                return dt.date.min if v < 0 else dt.date.max
            return dt.date.fromordinal(719163 + v)
        if form == "ttu":
            return (dt.datetime.min + dt.timedelta(microseconds=v)).time()
        if v in (-2**63, 2**63 - 1):
            return (dt.datetime.min if v < 0 else dt.datetime.max).replace(tzinfo=zone)
        return epoch + dt.timedelta(microseconds=v)

    def checked(i: int, v: int) -> Any:
        try:
            return convert(v)
        except (OverflowError, ValueError):
            bits = array.buffers[0]
            if bits and not ctypes.string_at(bits + (start + i) // 8, 1)[0] >> (start + i) % 8 & 1:
                return None
            raise errors.DataError("a date or time is out of Python's range; cast it to text") from None
    return [checked(i, v) for i, v in enumerate(cells)]


# ---- capsules -------------------------------------------------------------------------------------------------
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _api))
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _api))
_raw_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))
_STREAM = b"arrow_array_stream"



@ctypes.CFUNCTYPE(None, c_void_p)  # type: ignore[untyped-decorator]
def _free_stream(capsule: int) -> None:
    """The capsule dies: whoever took the stream has set its release to NULL."""
    address = _raw_pointer(capsule, _STREAM)
    stream = _streams.pop(address)
    if stream.release:
        stream.release(byref(stream))


_streams: dict[int, ArrowArrayStream] = {}  # of capsules, by address


def stream_capsule(batch: Batch) -> Any:
    """A capsule as __arrow_c_stream__ gives them."""
    stream = ArrowArrayStream()
    if lib.stele_arrow_stream(byref(batch.schema), byref(batch.array), byref(stream)) != OK:
        raise MemoryError
    return _capsule(stream)


def hand_over(stream: ArrowArrayStream) -> Any:
    """A capsule with what was in the stream, which is released then."""
    moved = ArrowArrayStream()
    ctypes.memmove(byref(moved), byref(stream), ctypes.sizeof(stream))
    ctypes.memset(byref(stream), 0, ctypes.sizeof(stream))
    return _capsule(moved)


def _capsule(stream: ArrowArrayStream) -> Any:
    address = ctypes.addressof(stream)
    _streams[address] = stream
    return _new(address, _STREAM, ctypes.cast(_free_stream, c_void_p))


def is_frame(x: object) -> bool:
    """Whether a Stream can be made of it."""
    return hasattr(x, "__arrow_c_stream__") or type(x).__module__.split(".")[0] == "pandas" and hasattr(x, "columns")


class Stream:
    """The stream of a frame: the address of its struct, for one reader."""

    def __init__(self, frame: Any) -> None:
        if type(frame).__module__.split(".")[0] == "pandas":
            frame = _pandas_table(frame)
        if not hasattr(frame, "__arrow_c_stream__"):
            raise errors.InterfaceError(f"{type(frame).__name__} is no data frame, and has no __arrow_c_stream__")
        self._capsule = frame.__arrow_c_stream__()
        self.address: int = _pointer(self._capsule, _STREAM)

    def __iter__(self) -> Iterator[tuple[ArrowSchema, ArrowArray]]:
        """(schema, batch); both are released when the loop goes on."""
        stream = ctypes.cast(self.address, POINTER(ArrowArrayStream)).contents
        schema = ArrowSchema()
        self._check(stream, stream.get_schema(byref(stream), byref(schema)))
        try:
            while True:
                batch = ArrowArray()
                self._check(stream, stream.get_next(byref(stream), byref(batch)))
                if not batch.release:
                    return
                try:
                    yield schema, batch
                finally:
                    batch.release(byref(batch))
        finally:
            schema.release(byref(schema))

    @staticmethod
    def _check(stream: ArrowArrayStream, code: int) -> None:
        if code:
            why = stream.get_last_error(byref(stream))
            text = ctypes.string_at(why).decode("utf-8", "replace") if why else f"error {code}"
            raise errors.OperationalError(f"the Arrow stream cannot be read: {text}")


def _pandas_table(frame: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise errors.InterfaceError("data frames of pandas need pyarrow") from None
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
        raise errors.DataError(f"a column of the data frame has values of several types: {e}") from e
