"""Results that are computed as they are read (Connection.stream)."""
from __future__ import annotations

from collections import deque
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Iterator, Optional

from . import errors
from ._arrow import Batch, hand_over
from ._lib import ERROR, OK, ArrowArrayStream, lib

if TYPE_CHECKING:
    import pyarrow

    from ._connection import Connection

_BLOCK = 1024  # rows that are made at a time


class ResultStream:
    """The rows of a statement's result, once and forwards: rows (iteration, fetchone(), fetchmany()), or record batches
    for another library (reader(), __arrow_c_stream__), which takes the whole. Some MB of rows are in memory at a time.
    The connection may run other statements meanwhile, and must stay open; the rows are those of the moment at which the
    statement began. close() ends it early."""

    def __init__(self, connection: Connection, statement: c_void_p) -> None:
        """Use Connection.stream(). The statement has run, and is this object's if there is no exception."""
        self._connection, self._stream = connection, ArrowArrayStream()
        self._batch, self._at, self._over = Batch(), 0, False
        self._ready: deque[tuple[Any, ...]] = deque()
        n = lib.stele_column_count(statement)
        self.columns: list[str] = [lib.stele_column_name(statement, k).decode() for k in range(n)]
        self.types: list[str] = [lib.stele_column_type(statement, k).decode() for k in range(n)]
        connection._check(lib.stele_result_arrow_stream(statement, byref(self._stream)))

    def _live(self) -> ArrowArrayStream:
        if not self._stream.release:
            raise errors.InterfaceError("the stream is closed, or another reader has it")
        return self._stream

    def _next_batch(self) -> bool:
        batch, stream = Batch(), self._live()
        if self._connection._waits(lambda: OK if self._get_next(stream, batch) == 0 else ERROR) != OK:
            if not self._connection._handle:
                raise errors.InterfaceError("the connection is closed")
            raise self._connection._error()
        if not batch.array.release:
            return False
        ok = stream.get_schema(byref(stream), byref(batch.schema))
        if ok != 0:
            raise errors.OperationalError("out of memory")
        self._batch, self._at = batch, 0
        return True

    @staticmethod
    def _get_next(stream: ArrowArrayStream, batch: Batch) -> int:
        return int(stream.get_next(byref(stream), byref(batch.array)))

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows; fewer than `size` at the end."""
        out = [self._ready.popleft() for _ in range(min(size, len(self._ready)))]
        while len(out) < size:
            if self._at >= len(self._batch):
                if self._over or not self._next_batch():
                    self._over = True
                    break
            rows = self._batch.rows(self.types, self._at, self._at + size - len(out))
            self._at += len(rows)
            out += rows
        return out

    def fetchone(self) -> Optional[tuple[Any, ...]]:
        if not self._ready:
            self._ready.extend(self.fetchmany(_BLOCK))
        return self._ready.popleft() if self._ready else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All batches that are left, for one reader; rows that were made already are not in them."""
        self._live()
        if self._ready or self._at < len(self._batch):
            raise errors.InterfaceError("some of the batch at hand has been read as rows")
        return hand_over(self._stream)

    def reader(self) -> pyarrow.RecordBatchReader:
        """A pyarrow.RecordBatchReader of all batches that are left."""
        try:
            import pyarrow as pa
        except ImportError:
            raise errors.InterfaceError("record batches need pyarrow") from None
        return pa.RecordBatchReader.from_stream(self)

    def close(self) -> None:
        """Ends the statement; closing again does nothing."""
        self._ready.clear()
        self._batch, self._at, self._over = Batch(), 0, False
        if self._stream.release:
            self._stream.release(byref(self._stream))

    def __enter__(self) -> ResultStream:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_ready"):
            self.close()
