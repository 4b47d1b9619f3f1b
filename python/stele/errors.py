"""PEP 249's exceptions, chosen by the class of the SQLSTATE."""
from __future__ import annotations

from typing import Optional


class Warning(Exception):  # noqa: A001 (PEP 249 calls it so)
    """Not used: messages that are no errors are in Connection.notices."""


class Error(Exception):
    """What Stele reports. `sqlstate` is five characters; texts are "" and `position` is 0 where there is nothing."""

    sqlstate: str = ""
    detail: str = ""
    hint: str = ""
    context: str = ""
    position: int = 0
    schema_name: str = ""
    table_name: str = ""
    column_name: str = ""
    datatype_name: str = ""
    constraint_name: str = ""


class InterfaceError(Error):
    """The module was used wrongly."""


class DatabaseError(Error):
    """Errors of the database; those of a routine's RAISE."""


class DataError(DatabaseError):
    """22: a value."""


class OperationalError(DatabaseError):
    """08, 40, 53, 54, 55, 57, 58, 72: what may go well another time, or in another place."""


class IntegrityError(DatabaseError):
    """23: a constraint."""


class InternalError(DatabaseError):
    """25, XX: transactions that are over, and faults of Stele."""


class ProgrammingError(DatabaseError):
    """26, 34, 3B, 3D, 3F, 42: the statement."""


class NotSupportedError(DatabaseError):
    """0A: what Stele does not have."""


_CLASSES: dict[str, type[DatabaseError]] = {
    "0A": NotSupportedError, "22": DataError, "23": IntegrityError, "25": InternalError, "XX": InternalError,
    **dict.fromkeys(("08", "40", "53", "54", "55", "57", "58", "72"), OperationalError),
    **dict.fromkeys(("26", "34", "3B", "3D", "3F", "42"), ProgrammingError)}


def of_info(info: object) -> DatabaseError:
    """The exception for a stele_error_info."""
    def text(name: str) -> str:
        value: Optional[bytes] = getattr(info, name)
        return value.decode("utf-8", "replace") if value else ""

    state, message, detail, hint = (text(x) for x in ("sqlstate", "message", "detail", "hint"))
    shown = message + (f"\nDETAIL:  {detail}" if detail else "") + (f"\nHINT:  {hint}" if hint else "")
    e = _CLASSES.get(state[:2], DatabaseError)(shown)
    for name in ("sqlstate", "detail", "hint", "context", "schema_name", "table_name", "column_name", "datatype_name",
                 "constraint_name"):
        setattr(e, name, text(name))
    e.position = getattr(info, "position")
    return e
