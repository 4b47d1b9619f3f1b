"""Random window functions for diff.py. What depends on the order of rows is asked for where every column is a key of it: rows that are
equal in all of them are the same row. There is one such window in a query, since of equal rows one may come first in one window and
last in another. Where there are fewer keys, only what all peers share is asked for."""

NAMES = ["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
SHARED = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
OFFSETS = {"int": ["0", "1", "2", "7", "100"], "num": ["0", "0.5", "1", "2.25", "1000"], "flt": ["0", "0.25", "1", "3.5", "'inf'"],
           "date": ["'1 day'", "'1 month'", "'40 days'", "'1 year'", "'0'"], "ts": ["'1 hour'", "'1 month'", "'15 days'", "'0'"],
           "tstz": ["'12:30'", "'1 month'", "'3 days'"], "time": ["'1 hour'", "'30 seconds'", "'12:00'"], "ival": ["'1 day'", "'1 mon'", "'03:00'"]}


def key(g, sql):
    return sql + g.pick(["", "", " desc", " nulls first", " desc nulls last"])


def total_order(g, scope):
    keys = [c[0] for c in scope]
    g.r.shuffle(keys)
    return [key(g, k) for k in keys] + [f"{c[0]}::text" for c in scope if c[1] == "ival"]


def bounds(g, offsets):
    """start and end of a frame."""
    while True:
        at = [g.pick([(0, "unbounded preceding"), (1, "preceding"), (2, "current row"), (3, "following"), (4, "unbounded following")]) for _ in range(2)]
        if at[0][0] > at[1][0] or at[0][0] == 4 or at[1][0] == 0 or (not offsets and (at[0][0] in (1, 3) or at[1][0] in (1, 3))):
            continue
        return " and ".join(f"{g.pick(offsets)} {w}" if p in (1, 3) else w for p, w in at)


def exclude(g, shared):
    return g.pick(["", "", "", " exclude group", " exclude no others"] + ([] if shared else [" exclude current row", " exclude ties"]))


def definition(g, scope, shared):
    """(definition, whether all that a frame has is the same for peers); shared: it must be."""
    cols = [c[0] for c in scope if c[1] != "ival"]
    part = f"partition by {', '.join(g.r.sample(cols, min(len(cols), g.pick([1, 1, 2]))))} " if cols and g.chance(0.6) else ""
    ranged = [c for c in scope if c[1] in OFFSETS]
    k = g.r.random()
    if k < 0.3 and ranged:
        c = g.pick(ranged)
        return f"{part}order by {key(g, c[0])} range between {bounds(g, OFFSETS[c[1]])}{exclude(g, True)}", True
    if k < 0.45:
        keys = [key(g, c[0]) for c in g.r.sample(scope, min(len(scope), g.pick([1, 2])))]
        frame = g.pick(["", f"groups between {bounds(g, ['0', '1', '2', '5'])}", f"range between {bounds(g, [])}"])
        return f"{part}order by {', '.join(keys)} {frame}{exclude(g, True) if frame else ''}", True
    if k < 0.5 or shared:
        return part, True
    frame = g.pick(["", "", f"rows between {bounds(g, ['0', '1', '2', '5', '70'])}", f"groups between {bounds(g, ['0', '1', '3'])}"])
    return f"{part}order by {', '.join(total_order(g, scope))} {frame}{exclude(g, False) if frame else ''}", False


def aggregate(g, scope):
    f = g.pick(["int", "int", "num", "txt", "date", "bool"])
    x = g.expr(f, [scope], 1)
    flt = f" filter (where {g.cond([scope], 1)})" if g.chance(0.2) else ""
    names = {"int": ["sum", "avg", "min", "max", "count", "stddev"], "num": ["sum", "avg", "min", "max", "count"], "txt": ["min", "max", "count"],
             "date": ["min", "max", "count"], "bool": ["bool_and", "bool_or", "count"]}[f]
    return f"count(*){flt}" if g.chance(0.1) else f"{g.pick(names)}({x}){flt}"


def call(g, scope, shared):
    k = g.r.random()
    if shared or k < 0.5:
        return g.pick(SHARED) if k > 0.8 and shared else aggregate(g, scope)
    if k < 0.65:
        return g.pick(NAMES + ["ntile(1)", "ntile(3)", "ntile(7)"])
    f = g.pick(["int", "num", "txt", "date"])
    x = g.expr(f, [scope], 1)
    if k < 0.8:
        more = g.pick(["", ", 1", ", 2", ", -1", ", 0", f", 1, {x}", f", 3, {g.expr(f, [scope], 1)}"])
        return f"{g.pick(['lag', 'lead'])}({x}{more})"
    if k < 0.95:
        return f"{g.pick(['first_value', 'last_value'])}({x})"
    return f"nth_value({x}, {g.r.randint(1, 4)})"


def query(g):
    src, scope = g.source([], 1)
    where = f" where {g.cond([scope], 1)}" if g.chance(0.4) else ""
    names, defs, items = [], [], []
    for i in range(g.pick([0, 1, 1, 2])):
        text, shared = definition(g, scope, any(not x for _, x in names))
        names.append((f"w{i}", shared))
        defs.append(f"w{i} as ({text})")
    total = any(not x for _, x in names)
    for _ in range(g.r.randint(1, 4)):
        if names and g.chance(0.6):
            over, shared = g.pick(names)
        else:
            text, shared = definition(g, scope, total)
            over = f"({text})"
            total = total or not shared
        items.append(f"{call(g, scope, shared)} over {over}")
    cols = [c[0] for c in g.r.sample(scope, min(len(scope), 2))]
    sql = f"select {', '.join(cols + items)} from {src}{where}" + (f" window {', '.join(defs)}" if defs else "")
    k = g.r.random()
    if k < 0.25:  # conditions above a window
        x = [f"v{i}" for i in range(len(cols) + len(items))]
        cond = g.pick(["v0 is not null", f"v{len(cols)} is not null", "v0 is null"])
        sql = f"select * from ({sql}) q({', '.join(x)}) where {cond}"
    return sql, len(cols) + len(items)
