"""Makes a list of statements that shows a difference as short as it gets.

1. Statements before the last are left out, halves first (ddmin), as long as the same kind of difference stays.
2. Of every statement, the last one first, parts are left out: what stands in parentheses, items between commas, runs of words, halves first.

`differs(statements, only_last)` runs the list in fresh databases and says the kind of the difference of its last statement, or None. only_last: all but
the last is as it was in the call before, so that a query needs no new databases.
"""
import re
import time

TOKEN = re.compile(r"\s*([bBxX]?'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_\u0080-\uffff][\w$]*|\d+(?:\.\d+)?|::|[-+*/<>=~!@#%^&|?]+|[^\s\w])")


def tokens(sql):
    return TOKEN.findall(sql)


def join(ts):
    out = ""
    for i, t in enumerate(ts):
        tight = not out or t in (",", ")", "::", ".", "]", ";") or ts[i - 1] in ("(", "::", ".", "[") or (t == "[" ) or (t == "(" and re.match(r"\w", ts[i - 1]) and ts[i - 1] not in WORDS)
        out += t if tight else " " + t
    return out


WORDS = set("select from where and or not in on as with values set using by when then else case any all some exists over join lateral recursive returning check order group key references filter "
            "within distinct union except intersect into array row is between like limit offset between rows range groups".split())


def ddmin(items, holds, end):
    """items without what is not needed."""
    n = 2
    while len(items) >= 1 and time.monotonic() < end:
        size = max(1, len(items) // n)
        for at in range(0, len(items), size):
            trial = items[:at] + items[at + size :]
            if time.monotonic() < end and holds(trial):
                items, n = trial, max(n - 1, 2)
                break
        else:
            if size == 1:
                break
            n = min(len(items), n * 2)
    return items


def groups(ts):
    """(from, to) of what stands in parentheses or brackets, the largest first."""
    open_, out = [], []
    for i, t in enumerate(ts):
        if t in "([" and len(t) == 1:
            open_.append(i)
        elif t in ")]" and len(t) == 1 and open_:
            out.append((open_.pop(), i + 1))
    return sorted(out, key=lambda g: g[0] - g[1])


def items_between_commas(ts):
    """(from, to) of items with one comma of theirs, in all lists."""
    depth, starts, out = 0, [0], []
    for i, t in enumerate(ts):
        if t in ("(", "["):
            starts.append(i + 1)
        elif t in (")", "]") and len(starts) > 1:
            a = starts.pop()
            if a > 1 and ts[a - 1] == ",":
                out.append((a - 1, i))
        elif t == ",":
            out.append((starts[-1], i + 1))
            if ts[starts[-1] - 1] == ",":
                out.append((starts[-1] - 1, i))
            starts[-1] = i + 1
    return sorted(set(out), key=lambda g: g[0] - g[1])


def smaller(ts):
    """Token lists that are shorter, the shortest first."""
    seen = set()
    spans = []
    for a, b in groups(ts):
        inner = ts[a + 1 : b - 1]
        spans += [(a, b, inner), (a, b, ["null"]), (a, b, []), (a, b, [ts[a], *["null"], ts[b - 1]])]
        if a and re.match(r"\w", ts[a - 1]):
            first = inner[: inner.index(",")] if "," in inner else inner
            spans += [(a - 1, b, inner), (a - 1, b, ["null"]), (a - 1, b, first)]
    spans += [(a, b, []) for a, b in items_between_commas(ts)]
    n = len(ts)
    size = n // 2
    while size >= 1:
        spans += [(a, a + size, []) for a in range(0, n - size + 1, max(1, size // 2))]
        size //= 2
    for a, b, by in sorted(spans, key=lambda s: len(s[2]) - (s[1] - s[0])):
        new = ts[:a] + by + ts[b:]
        key = tuple(new)
        if len(new) < n and new and key not in seen:
            seen.add(key)
            yield new


def cut(sql, holds, end):
    ts = tokens(sql)
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for new in smaller(ts):
            if time.monotonic() > end:
                break
            if holds(join(new)):
                ts, changed = new, True
                break
    return join(ts)


def reduce(sqls, differs, seconds, keep_last):
    """The shorter list. sqls must differ. keep_last: the last statement stays as it is."""
    end = time.monotonic() + seconds
    wanted = differs(sqls, False)
    if wanted is None:
        return sqls
    last = sqls[-1]
    before = ddmin(sqls[:-1], lambda xs: differs(xs + [last], False) == wanted, time.monotonic() + seconds * 0.4)
    if not keep_last and differs(before + [last], False) == wanted:
        last = cut(last, lambda x: differs(before + [x], True) == wanted, time.monotonic() + seconds * 0.3)
    for i in reversed(range(len(before))):
        if differs(before[:i] + before[i + 1 :] + [last], False) == wanted:
            before = before[:i] + before[i + 1 :]
            continue
        new = cut(before[i], lambda x: differs(before[:i] + [x] + before[i + 1 :] + [last], False) == wanted, end)
        if differs(before[:i] + [new] + before[i + 1 :] + [last], False) == wanted:
            before = before[:i] + [new] + before[i + 1 :]
    return before + [last]
