"""Connections, results and bulks. A connection and what comes of it belong to one thread at a time; other threads have
connections of their own, by Connection.connect(). Calls of the library release the GIL."""
from __future__ import annotations

import ctypes
import sys
import weakref
from collections import deque
from ctypes import byref, c_char_p, c_int64, c_void_p
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, TypeVar,
                    Union)

from . import errors
from ._arrow import Batch, Stream, is_frame, stream_capsule
from ._lib import DONE, ERROR, OK, ErrorInfo, Notice, OnNotice, Options, Progress, Resolver, lib
from ._lib import BulkInfo as _BulkInfo
from ._sql import Parameters, numbered, text_of
from ._stream import ResultStream

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_T = TypeVar("_T")
_PACKAGE = __name__.rsplit(".", 1)[0]
_BY_THEMSELVES = (b"begin", b"start", b"commit", b"rollback", b"end", b"abort", b"checkpoint", b"vacuum")
_BLOCK = 1024  # rows that fetchone makes at a time


class _Database:
    """What the connections to a database share: it is closed, and saved, with the last of them."""

    def __init__(self, path: str, threads: int, memory_limit: int, temp_directory: Optional[str],
                 existing: bool, durable: bool) -> None:
        self.handle, self.connections = c_void_p(), 0
        self.functions: list[Any] = []  # callbacks that the library may call
        where = temp_directory.encode() if temp_directory is not None else None
        options, info = Options(threads, memory_limit, where, existing, False, durable), ErrorInfo()
        if lib.stele_open(path.encode(), byref(options), byref(self.handle), byref(info)) != OK:
            raise errors.of_info(info)

    def left(self) -> None:
        self.connections -= 1
        if self.connections > 0:
            return
        info = ErrorInfo()
        if lib.stele_close(self.handle, byref(info)) != OK:  # not saved: it stays open
            self.connections = 1
            raise errors.of_info(info)


class Result:
    """All rows of a statement's result, as Arrow columns. It is independent of its connection, and may be read as often
    as one likes; fetchone(), fetchmany() and fetchall() go on where the last of them ended."""

    def __init__(self, batch: Batch, types: list[str], tag: str, rowcount: int) -> None:
        self._batch, self._table, self._at = batch, None, 0
        self._ready: deque[tuple[Any, ...]] = deque()
        self.columns: list[str] = batch.names
        self.types: list[str] = types
        self.statusmessage: str = tag
        self.rowcount: int = rowcount

    @property
    def description(self) -> Optional[list[tuple[Any, ...]]]:
        """PEP 249's: name, type (without its modifiers), and of numeric precision and scale."""
        if not self.columns:
            return None
        out: list[tuple[Any, ...]] = []
        for name, sql_type in zip(self.columns, self.types):
            kind, _, rest = sql_type.partition("(")
            inside, _, after = rest.partition(")")
            numbers = [int(x) for x in inside.split(",") if x.strip().isdigit()] if kind == "numeric" else []
            precision, scale = numbers if len(numbers) == 2 else (None, None)
            out.append((name, kind.strip() + after, None, None, precision, scale, None))
        return out

    def __len__(self) -> int:
        return len(self._batch)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def fetchone(self) -> Optional[tuple[Any, ...]]:
        if not self._ready:
            rows = self._batch.rows(self.types, self._at, self._at + _BLOCK)
            self._at += len(rows)
            self._ready.extend(rows)
        return self._ready.popleft() if self._ready else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        out = [self._ready.popleft() for _ in range(min(size, len(self._ready)))]
        more = self._batch.rows(self.types, self._at, self._at + size - len(out))
        self._at += len(more)
        return out + more

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self))

    def arrow(self) -> pyarrow.Table:
        """A pyarrow.Table, which shares the result's memory."""
        if self._table is None:
            try:
                import pyarrow as pa
            except ImportError:
                raise errors.InterfaceError("results as Arrow tables and data frames of pandas need pyarrow") from None
            self._table = pa.table(self)
        return self._table

    def df(self, decimals: str = "float") -> pandas.DataFrame:
        """A pandas.DataFrame. decimals: "float", or "decimal" for exact values (Python's Decimal, which is slow)."""
        table = self.arrow()
        if decimals not in ("float", "decimal"):
            raise errors.InterfaceError('decimals is "float" or "decimal"')
        if decimals == "float":
            import pyarrow as pa
            fields = [f.with_type(pa.float64()) if pa.types.is_decimal(f.type) else f for f in table.schema]
            table = table.cast(pa.schema(fields))
        return table.to_pandas(date_as_object=False)

    def pl(self) -> polars.DataFrame:
        """A polars.DataFrame."""
        try:
            import polars
        except ImportError:
            raise errors.InterfaceError("results as data frames of polars need polars") from None
        if not self.columns:
            return polars.DataFrame()
        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For every library that knows Arrow's PyCapsule interface."""
        return stream_capsule(self._batch)

    def show(self, max_rows: int = 20, max_width: int = 40) -> None:
        """Prints the first rows."""
        print(self._text(max_rows, max_width))

    def __repr__(self) -> str:
        return self._text(20, 40)

    def _text(self, max_rows: int, max_width: int) -> str:
        if not self.columns:
            return self.statusmessage
        columns = []
        for k, (name, sql_type) in enumerate(zip(self.columns, self.types)):
            cells = [_shown(v, max_width) for v in self._batch.column(k, sql_type, 0, min(max_rows, len(self)))]
            width = max(len(x) for x in (name, sql_type, *cells))
            right = sql_type.split("(")[0] in ("smallint", "integer", "bigint", "numeric", "real", "double precision")
            columns.append([x.rjust(width) if right else x.ljust(width) for x in (name, sql_type, "-" * width, *cells)])
        lines = [" | ".join(line).rstrip() for line in zip(*columns)]
        lines[2] = lines[2].replace(" | ", "-+-")
        more = f"({len(self)} row{'s' * (len(self) != 1)}"
        return "\n".join([*lines, more + (f", {max_rows} shown)" if len(self) > max_rows else ")")])


def _shown(value: Any, width: int) -> str:
    text = "NULL" if value is None else text_of(value).replace("\n", "\\n")
    return text if len(text) <= width else text[:width - 3] + "..."


class BulkInfo(NamedTuple):
    """How a bulk ran."""
    calls: int
    failed: int
    strategy: str
    executor: str
    reason: str
    seconds: float


class BulkResult(Result):
    """A row per call, in order: sqlstate and message (None: it succeeded), and the routine's OUT values."""

    info: BulkInfo


def _is_null(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


class Connection:
    """A connection: sql() and execute() run statements, bulk() many calls of a procedure."""

    Warning, Error, InterfaceError, DatabaseError = (errors.Warning, errors.Error, errors.InterfaceError,
                                                     errors.DatabaseError)
    DataError, OperationalError, IntegrityError = errors.DataError, errors.OperationalError, errors.IntegrityError
    InternalError, ProgrammingError = errors.InternalError, errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, database: _Database, autocommit: bool) -> None:
        """Use stele.connect()."""
        self._database, self._handle, self.autocommit = database, c_void_p(), autocommit
        self._interrupted, self._commit_wait = False, True
        # Messages that are no errors (RAISE NOTICE): (severity, message), the last 100.
        self.notices: deque[tuple[str, str]] = deque(maxlen=100)
        if lib.stele_connect(database.handle, byref(self._handle)) != OK:
            raise errors.OperationalError("out of memory")
        database.connections += 1
        # What the library calls. It knows the connection by a weak reference: dropped, it is closed at once.
        me = weakref.ref(self)
        self._on_notice = OnNotice(lambda _, notice: _call(me, "_notice", notice))
        self._on_progress = Progress(lambda _, fraction: bool(_call(me, "_progress", fraction)))
        self._on_name = Resolver(lambda _, name: bool(_call(me, "_resolve", name)))
        lib.stele_set_notice(self._handle, self._on_notice, None)
        lib.stele_set_progress(self._handle, self._on_progress, None)
        lib.stele_set_resolver(self._handle, self._on_name, None)
        # While a statement runs: the caller's frame, the names that were found there, and what went wrong with them.
        self._scope: Any = None
        self._borrowed: list[bytes] = []
        self._failure: Optional[BaseException] = None

    @classmethod
    def _open(cls, path: str, autocommit: bool, threads: int, memory_limit: int, temp_directory: Optional[str],
              existing: bool, durable: bool) -> Connection:
        database = _Database(path, threads, memory_limit, temp_directory, existing, durable)
        try:
            return cls(database, autocommit)
        except BaseException:
            lib.stele_discard(database.handle)
            raise

    def connect(self) -> Connection:
        """Another connection to the same database, for another thread or another transaction."""
        self._live()
        return Connection(self._database, self.autocommit)

    # ---- what the library calls ----
    def _notice(self, notice: Any) -> None:
        n = notice.contents
        self.notices.append((n.severity.decode(), n.message.decode("utf-8", "replace")))

    def _progress(self, fraction: float) -> bool:
        """Ctrl-C: the handler in place for the call (_interrupt.py) runs here, on the main thread; the statement ends."""
        return self._interrupted

    def _resolve(self, name: bytes) -> bool:
        """A name in FROM that means nothing: perhaps a data frame of the caller's."""
        try:
            found = _find_frame(self._scope, name.decode())
            if found is None:
                return False
            stream = Stream(found)
            if lib.stele_register_arrow(self._handle, name, stream.address) != OK:
                return False
            self._borrowed.append(name)
            return True
        except BaseException as e:  # nothing passes through the library
            self._failure = e
            return False

    # ---- statements ----
    def _live(self) -> c_void_p:
        if not self._handle:
            raise errors.InterfaceError("the connection is closed")
        return self._handle

    def _error(self) -> BaseException:
        failure, self._failure = self._failure, None
        if failure is not None:
            return failure
        info = ErrorInfo()
        lib.stele_error(self._handle, byref(info))
        return errors.of_info(info)

    def _check(self, status: int) -> None:
        if status == ERROR:
            raise self._error()

    def sql(self, query: str, parameters: Optional[Parameters] = None) -> Result:
        """Runs the statements of a text and gives the last one's result. Names in FROM that are no tables may be data
        frames: variables of the caller with pandas, polars or Arrow objects, or what register() has named."""
        return self._execute(query, parameters, _caller())

    def execute(self, query: str, parameters: Optional[Parameters] = None) -> Cursor:
        """A cursor that has executed the text."""
        cursor = self.cursor()
        cursor._result = self._execute(query, parameters, _caller())
        return cursor

    def executemany(self, query: str, parameters: Iterable[Parameters]) -> Cursor:
        return self.cursor().executemany(query, parameters)

    def cursor(self) -> Cursor:
        self._live()
        return Cursor(self)

    def stream(self, query: str, parameters: Optional[Parameters] = None) -> ResultStream:
        """Runs one statement whose rows are computed as they are read, in place of all before the first: for results
        that are larger than memory, or of which the first rows are wanted soon."""
        def opened(statement: c_void_p) -> ResultStream:
            return ResultStream(self, statement)
        return self._run_text(query, parameters, _caller(), opened, True)

    def _execute(self, query: str, parameters: Optional[Parameters], frame: Any) -> Result:
        return self._run_text(query, parameters, frame, self._result, False)

    def _run_text(self, query: str, parameters: Optional[Parameters], frame: Any,
                  result_of: Callable[[c_void_p], _T], stream: bool) -> _T:
        """What `result_of` makes of the last statement of a text; a stream's is the only one, and becomes its own."""
        conn = self._live()
        text, values = numbered(query, parameters)
        raw = text.encode()
        whole = ctypes.create_string_buffer(raw)
        at, end = ctypes.addressof(whole), ctypes.addressof(whole) + len(raw)
        result: Optional[_T] = None
        self._scope = frame
        try:
            lib.stele_calls_begin(conn)  # interrupt() ends it wherever it is
            while at < end:
                statement, tail = c_void_p(), c_void_p()
                self._check(lib.stele_prepare(conn, at, end - at, byref(statement), byref(tail)))
                if not statement:
                    break
                kept = False
                try:
                    if result is not None and stream:
                        raise errors.ProgrammingError("stream() takes one statement")
                    given = lib.stele_param_count(statement)
                    if given != len(values):
                        raise errors.ProgrammingError(f"the statement has {given} parameters, not {len(values)}")
                    self._bind(statement, values)
                    self._begin(raw[at - ctypes.addressof(whole):])
                    lib.stele_set_stream(statement, stream)
                    self._run(statement)
                    result = result_of(statement)
                    kept = stream
                finally:
                    if not kept:
                        lib.stele_finalize(statement)
                at = tail.value or end
        finally:
            lib.stele_calls_end(conn)
            self._scope = None
            for name in self._borrowed:
                lib.stele_unregister(conn, name)
            self._borrowed.clear()
        if result is None:
            raise errors.ProgrammingError("there is no statement in the text")
        return result

    def _begin(self, statement: bytes) -> None:
        """PEP 249's transactions, which begin by themselves."""
        if self.autocommit or self.in_transaction:
            return
        word = statement.lstrip()[:12].split(None, 1)[:1]
        if not word or word[0].rstrip(b";").lower() not in _BY_THEMSELVES:
            self._simple("begin")

    def _simple(self, text: str) -> None:
        self._check(lib.stele_exec(self._live(), text.encode(), None, None))

    def _bind(self, statement: c_void_p, values: Sequence[Any]) -> None:
        for i, value in enumerate(values, 1):
            if hasattr(value, "item") and hasattr(value, "dtype") and not hasattr(value, "__len__"):
                value = value.item()  # numpy's scalars
            if _is_null(value):
                status = lib.stele_bind_null(statement, i)
            elif isinstance(value, bool):
                status = lib.stele_bind_bool(statement, i, value)
            elif isinstance(value, int) and -2**63 <= value < 2**63:
                status = lib.stele_bind_int64(statement, i, value)
            elif isinstance(value, float):
                status = lib.stele_bind_double(statement, i, value)
            else:
                text = text_of(value).encode()
                status = lib.stele_bind_text(statement, i, text, len(text))
            self._check(status)

    def _run(self, statement: c_void_p) -> None:
        """Runs the statement. On the main thread Ctrl-C cancels it: while it runs, the handler of SIGINT notes it."""
        status = self._waits(lambda: lib.stele_run(statement))
        if status != DONE:
            raise self._error()

    def _waits(self, call: Any) -> int:
        from ._interrupt import interruptible  # with modules that importing the package does without
        return interruptible(self, call)

    def _result(self, statement: c_void_p) -> Result:
        batch = Batch()
        self._check(lib.stele_fetch_arrow(statement, 0, byref(batch.schema), byref(batch.array)))
        types = [lib.stele_column_type(statement, k).decode() for k in range(batch.schema.n_children)]
        tag = lib.stele_command_tag(statement)
        return Result(batch, types, tag.decode() if tag else "", lib.stele_row_count(statement))

    # ---- frames ----
    def register(self, name: str, frame: Any) -> None:
        """Gives a data frame's rows, as they are now, a name for FROM, until unregister()."""
        stream = Stream(frame)  # alive during the call
        self._check(lib.stele_register_arrow(self._live(), name.encode(), stream.address))

    def unregister(self, name: str) -> None:
        lib.stele_unregister(self._live(), name.encode())

    def append(self, table: str, frame: Any) -> int:
        """Inserts a data frame's rows into a table, columns by name. The number of rows."""
        self.register("stele appends", frame)
        try:
            columns = self._execute('select * from "stele appends" limit 0', None, None).columns
            names = ", ".join(_quoted(c) for c in columns)
            return self._execute(f'insert into {table} ({names}) select * from "stele appends"', None, None).rowcount
        finally:
            self.unregister("stele appends")

    # ---- bulks ----
    def create_function(self, name: str, function: Callable[..., Any], parameters: Sequence[Any], result: Any, *,
                        vectorized: bool = False, called_on_null: bool = False,
                        volatility: str = "volatile") -> None:
        """A function of Python that SQL calls by its name, on all connections to the database. Types are SQL's names
        ("numeric(10,2)", "text[]"), or bool, int, float, Decimal, str, bytes, date, time, datetime, UUID, and list[..]
        of them; json and jsonb are str. vectorized: it gets NumPy arrays of numbers, one element per row, and returns
        one. A row with a NULL argument is NULL without a call, unless called_on_null; then NULLs are None, or masked.
        Volatility "immutable" and "stable" allow fewer calls. Exceptions become errors of the statement (38000). It
        must not use the database."""
        from . import _functions  # with modules that the others do without
        self._keep(_functions.register(self._live(), name, function, parameters, result, vectorized, called_on_null,
                                       volatility))

    def create_aggregate(self, name: str, aggregate: Any, parameters: Sequence[Any], result: Any, *,
                         vectorized: bool = False) -> None:
        """An aggregate: a function of a list per parameter, the values of a group in the order of ORDER BY in the call,
        or a class with step(*values) and finalize(), as sqlite3 has it, made anew for each group. vectorized: NumPy
        arrays of numbers in place of lists. Rows with a NULL argument do not count; of no rows a function's result is
        NULL without a call, a class is asked to finalize. Types as in create_function. Works with GROUP BY, FILTER,
        DISTINCT, ORDER BY and OVER; a group's values are kept in memory."""
        from . import _functions
        self._keep(_functions.register_aggregate(self._live(), name, aggregate, parameters, result, vectorized))

    def create_table_function(self, name: str, function: Callable[..., Iterable[Any]],
                              parameters: Union[Mapping[str, Any], Sequence[Any]],
                              columns: Union[Mapping[str, Any], Sequence[tuple[str, Any]]]) -> None:
        """A function in FROM: it returns an iterable of rows, tuples with a value per column (of one column, values
        too), and is called for each row of arguments. `columns` are names and types of the rows; `parameters` are
        types, or names and types for calls with f(name => value). NULL arguments are None. With constants as arguments
        rows are taken from the iterable as the statement reads them, else a call's rows are collected first."""
        from . import _functions
        self._keep(_functions.register_table(self._live(), name, function, parameters, columns))

    def _keep(self, made: Optional[Any]) -> None:
        if made is None:
            raise self._error()
        self._database.functions.append(made)  # plans may have it to the end

    def remove_function(self, name: str) -> None:
        """All functions of that name that were created here; statements that run call them to their end."""
        self._check(lib.stele_drop_function(self._live(), name.encode(), -1, None))

    def bulk(self, routine: str, calls: Any) -> BulkResult:
        """A call of the procedure or function for each row of `calls`, in order, as one statement: a data frame whose
        columns are the parameters in their order (names do not count), or a sequence of rows. The result is that of
        running them one by one; a call that fails leaves no change. A frame per call comes back: sqlstate and message
        of those that failed, and the OUT values of the others."""
        bulk, conn = c_void_p(), self._live()
        try:
            lib.stele_calls_begin(conn)
            self._check(lib.stele_bulk_new(conn, routine.encode(), byref(bulk)))
            if is_frame(calls):
                for schema, batch in Stream(calls):
                    self._check(lib.stele_bulk_add_arrow(bulk, byref(schema), byref(batch)))
            else:
                self._add_rows(bulk, calls)
            self._begin(b"")
            if self._waits(lambda: lib.stele_bulk_run(bulk)) != OK:
                raise self._error()
            results, info = Batch(), _BulkInfo()
            self._check(lib.stele_bulk_get_arrow(bulk, byref(results.schema), byref(results.array)))
            lib.stele_bulk_get_info(bulk, byref(info))
        finally:
            lib.stele_calls_end(conn)
            lib.stele_bulk_free(bulk)
        columns = [results.schema.children[k].contents for k in range(results.schema.n_children)]
        result = BulkResult(results, [_type_of(c) for c in columns], f"CALL {len(results)}", len(results))
        strategy, executor, reason = ((x or b"").decode() for x in (info.strategy, info.executor, info.reason))
        result.info = BulkInfo(info.calls, info.failed, strategy, executor, reason, info.total_ns / 1e9)
        return result

    def _add_rows(self, bulk: c_void_p, calls: Iterable[Sequence[Any]]) -> None:
        n = lib.stele_bulk_param_count(bulk)
        for row in calls:
            if len(row) != n:
                raise errors.ProgrammingError(f"a call has {len(row)} values, and the routine takes {n} parameters")
            texts = (c_char_p * (n + 1))(*(None if _is_null(v) else text_of(v).encode() for v in row))
            self._check(lib.stele_bulk_add(bulk, texts))

    # ---- transactions ----
    @property
    def in_transaction(self) -> bool:
        return bool(lib.stele_transaction_state(self._live()) != b"I")

    def begin(self) -> None:
        self._simple("begin")

    def commit(self) -> None:
        if self.in_transaction:
            self._simple("commit")

    def rollback(self) -> None:
        if self.in_transaction:
            self._simple("rollback")

    @property
    def commit_wait(self) -> bool:
        """Whether commits to a durable database return when they are on the disk (True, at first), or before that."""
        return self._commit_wait

    @commit_wait.setter
    def commit_wait(self, on: bool) -> None:
        lib.stele_set_commit_wait(self._live(), on)
        self._commit_wait = on

    @property
    def commit_lsn(self) -> int:
        """The place in the log behind the last commit of this connection; 0: there was none, or there is no log."""
        return int(lib.stele_commit_lsn(self._live()))

    def is_stable(self, lsn: int) -> bool:
        """Whether all that was committed up to that place is on the disk. From any thread."""
        self._live()
        return bool(lib.stele_is_stable(self._database.handle, lsn))

    def wait_stable(self, lsn: int) -> None:
        """Waits until it is. From any thread."""
        self._live()
        info = ErrorInfo()
        if lib.stele_wait_stable(self._database.handle, lsn, byref(info)) != OK:
            raise errors.of_info(info)

    def interrupt(self) -> None:
        """Cancels the call that runs on the connection, wherever it is: sql(), for instance, fails with 57014. From any
        thread; no effect when none runs."""
        lib.stele_interrupt(self._live())

    def close(self) -> None:
        """Rolls an open transaction back; the last connection to a directory saves it. Closing again does nothing."""
        if not self._handle:
            return
        handle, self._handle = self._handle, c_void_p()
        lib.stele_disconnect(handle)
        self._database.left()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        """As psycopg does: commits, or rolls back after an exception, and closes."""
        try:
            if self._handle:
                self.rollback() if kind else self.commit()
        finally:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            try:
                self.close()
            except Exception:  # noqa: BLE001
                pass


# Types of a bulk's OUT values, by the format of their Arrow columns.
_TYPES = {b"b": "boolean", b"s": "smallint", b"i": "integer", b"l": "bigint", b"f": "real", b"g": "double precision",
          b"tdD": "date", b"ttu": "time without time zone", b"tsu:": "timestamp without time zone",
          b"tsu:UTC": "timestamp with time zone", b"Z": "bytea", b"w:16": "uuid"}


def _call(me: Any, method: str, argument: Any) -> Any:
    connection = me()
    return getattr(connection, method)(argument) if connection is not None else None


def _type_of(schema: Any) -> str:
    form: bytes = schema.format
    if form == b"+L":
        return _type_of(schema.children[0].contents) + "[]"
    if form.startswith(b"d:"):
        return "numeric(%s)" % form[2:].decode()
    return _TYPES.get(form, "text")


class Cursor:
    """PEP 249's cursor. Each execute() replaces the result."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.arraysize, self._closed = connection, 1, False
        self._result: Optional[Result] = None

    def execute(self, query: str, parameters: Optional[Parameters] = None) -> Cursor:
        self._open()
        self._result = None
        self._result = self.connection._execute(query, parameters, _caller())
        return self

    def executemany(self, query: str, parameters: Iterable[Parameters]) -> Cursor:
        """Runs the statement for each of the parameters."""
        self._open()
        total, tag, self._result, caller = 0, "", None, _caller()
        for each in parameters:
            done = self.connection._execute(query, each, caller)
            total, tag = total + done.rowcount, done.statusmessage
        self._result = Result(Batch(), [], tag, total)
        return self

    def _open(self) -> None:
        if self._closed:
            raise errors.InterfaceError("the cursor is closed")
        self.connection._live()

    def _rows(self) -> Result:
        self._open()
        if self._result is None or not self._result.columns:
            raise errors.ProgrammingError("the last statement has no rows")
        return self._result

    @property
    def description(self) -> Optional[list[tuple[Any, ...]]]:
        return self._result.description if self._result is not None else None

    @property
    def rowcount(self) -> int:
        return self._result.rowcount if self._result is not None else -1

    @property
    def statusmessage(self) -> str:
        return self._result.statusmessage if self._result is not None else ""

    def fetchone(self) -> Optional[tuple[Any, ...]]:
        return self._rows().fetchone()

    def fetchmany(self, size: Optional[int] = None) -> list[tuple[Any, ...]]:
        return self._rows().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows().fetchall()

    def df(self, decimals: str = "float") -> pandas.DataFrame:
        return self._rows().df(decimals)

    def arrow(self) -> pyarrow.Table:
        return self._rows().arrow()

    def pl(self) -> polars.DataFrame:
        return self._rows().pl()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows())

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing: PEP 249 allows that."""

    def setoutputsize(self, size: int, column: Optional[int] = None) -> None:
        """Nothing: PEP 249 allows that."""

    def close(self) -> None:
        self._closed, self._result = True, None

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _caller() -> Any:
    """The innermost frame of a function that is not this package's."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE:
        frame = frame.f_back
    return frame


def _find_frame(frame: Any, name: str) -> Any:
    """The caller's data frame of that name; SQL has folded what was not quoted to small letters. Comprehensions are
    functions in Python before 3.12: they see what is around them."""
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            for key in (name, *(k for k in names if k.lower() == name)):
                if key in names and is_frame(names[key]):
                    return names[key]
        if frame.f_code.co_name not in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
            return None
        frame = frame.f_back
    return None
