"""Statements' texts: parameters by ? and $name become $1, $2; Python's values become what is bound."""
from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Sequence, Union

Parameters = Union[Sequence[Any], Mapping[str, Any]]

# What a parameter may not be found in, then parameters.
_TOKEN = re.compile(r"""
    (?P<skip> [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]*
            | (?P<tag>\$(?:[A-Za-z_]\w*)?\$) .*? (?P=tag) | [A-Za-z_][\w$]* | \$\d+ )
  | (?P<comment> /\*) | (?P<mark> \?) | \$(?P<name>[A-Za-z_]\w*)
""", re.X | re.S)


def _comment_end(sql: str, at: int) -> int:
    """Comments nest."""
    depth = 0
    for m in re.compile(r"/\*|\*/").finditer(sql, at):
        depth += 1 if m.group() == "/*" else -1
        if depth == 0:
            return m.end()
    return len(sql)


def numbered(sql: str, parameters: Optional[Parameters]) -> tuple[str, list[Any]]:
    """The text with $1, $2, ... and its values: from a sequence for ? and $1, from a mapping for $name."""
    if not parameters:
        return sql, []
    named = isinstance(parameters, Mapping)
    if named and "$" not in sql or not named and "?" not in sql:
        return sql, [] if named else list(parameters)
    out, names, at, marks = [], [], 0, 0
    while m := _TOKEN.search(sql, at):
        out.append(sql[at:m.start()])
        at = m.end()
        if m.group("comment"):
            at = _comment_end(sql, m.start())
            out.append(sql[m.start():at])
        elif m.group("mark") and not named:
            marks += 1
            out.append(f"${marks}")
        elif m.group("name") and named:
            if m.group("name") not in names:
                names.append(m.group("name"))
            out.append(f"${names.index(m.group('name')) + 1}")
        else:
            out.append(m.group())
    out.append(sql[at:])
    if not isinstance(parameters, Mapping):
        return "".join(out), list(parameters)
    missing = [n for n in names if n not in parameters]
    if missing:
        from . import errors
        raise errors.ProgrammingError(f"there is no value for parameter ${missing[0]}")
    return "".join(out), [parameters[n] for n in names]


def text_of(value: Any) -> str:
    """A value as text that its type in SQL reads."""
    import datetime as dt
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "\\x" + bytes(value).hex()
    if isinstance(value, dt.timedelta):
        return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return "{" + ",".join(_item(v) for v in value) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _item(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return text_of(value)
    return '"' + text_of(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
