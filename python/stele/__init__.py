"""Stele from Python: an in-memory SQL database in PostgreSQL's dialect, for analytics and for bulks of transactions.

    import stele
    con = stele.connect()                                    # in memory; a path: a directory that is saved
    con.sql("create table t as select * from df")            # df: a variable with a data frame
    con.sql("select a, sum(b) from t group by a").df()       # .pl(), .arrow(), .show(), .fetchall()
    con.bulk("transfer", calls_df).df()                      # a call of the procedure for each row

It is a PEP 249 module too: connect, cursor, execute, fetch*. What differs is that a connection commits each statement
by itself unless it is opened with autocommit=False.
"""
from __future__ import annotations

from typing import Any, Optional

from ._connection import BulkInfo, BulkResult, Connection, Cursor, Result
from ._lib import version as __version__
from ._stream import ResultStream
from .errors import (DatabaseError, DataError, Error, IntegrityError, InterfaceError, InternalError, NotSupportedError,
                     OperationalError, ProgrammingError, Warning)

apilevel = "2.0"
threadsafety = 1  # threads have connections of their own (Connection.connect)
paramstyle = "qmark"  # $1 and, with a mapping, $name as well

__all__ = ["BINARY", "Binary", "BulkInfo", "BulkResult", "Connection", "Cursor", "DATETIME", "DataError",
           "DatabaseError", "Date", "DateFromTicks", "Error", "IntegrityError", "InterfaceError", "InternalError",
           "NUMBER", "NotSupportedError", "OperationalError", "ProgrammingError", "ROWID", "Result", "ResultStream",
           "STRING", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks", "Warning", "__version__", "apilevel",
           "connect", "paramstyle", "threadsafety"]


def connect(database: str = ":memory:", *, autocommit: bool = True, threads: int = 0, memory_limit: int = 0,
            temp_directory: Optional[str] = None, existing: bool = False, durable: bool = False) -> Connection:
    """A connection to a database of its own: in memory, or in a directory, which is made unless `existing`, and saved
    when the last connection to it is closed, and by CHECKPOINT. autocommit=False: as PEP 249 wants it, statements begin
    a transaction that commit() or rollback() ends. durable: commits are logged in the directory and survive the end of
    process and power. threads 0: all processors; memory_limit in bytes, 0: 80 % of what
    the machine has."""
    return Connection._open(str(database), autocommit, threads, memory_limit, temp_directory, existing, durable)


class _TypeGroup(frozenset[str]):
    """Type codes of Cursor.description (names of types without their modifiers) that are equal to a type object."""

    def __eq__(self, other: object) -> bool:
        return other in self if isinstance(other, str) else frozenset.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


STRING = _TypeGroup(("text", "character varying", "character"))
BINARY = _TypeGroup(("bytea",))
NUMBER = _TypeGroup(("smallint", "integer", "bigint", "numeric", "real", "double precision"))
DATETIME = _TypeGroup(("date", "time without time zone", "timestamp without time zone", "timestamp with time zone",
                       "interval"))
ROWID = _TypeGroup(())


def __getattr__(name: str) -> Any:
    """PEP 249's constructors, which need datetime: looked up when they are used, so that importing stays quick."""
    if name == "Binary":
        return bytes
    if name not in ("Date", "Time", "Timestamp", "DateFromTicks", "TimeFromTicks", "TimestampFromTicks"):
        raise AttributeError(f"module 'stele' has no attribute {name!r}")
    import datetime as dt
    return {"Date": dt.date, "Time": dt.time, "Timestamp": dt.datetime, "DateFromTicks": dt.date.fromtimestamp,
            "TimeFromTicks": lambda ticks: dt.datetime.fromtimestamp(ticks).time(),
            "TimestampFromTicks": dt.datetime.fromtimestamp}[name]
