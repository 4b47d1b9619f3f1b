"""Parquet files by hand: what no writer makes, schemas of old ones and levels that do not fit together.

One row group, one page for each leaf, PLAIN integers. https://parquet.apache.org/docs/file-format/
"""
REQUIRED, OPTIONAL, REPEATED = range(3)
MAP, LIST = 1, 3  # converted types


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(n, kind=5):  # in Thrift's compact protocol: 5 of 32 bits, 6 of 64
    return kind, varint(n << 1)


def text(s):
    return 8, varint(len(s)) + s.encode()


def items(values):
    kind = values[0][0] if values else 5
    return 9, (bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([15 << 4 | kind]) + varint(len(values))) + b"".join(
        v for _, v in values)


def struct(fields):
    out, last = b"", 0
    for at, value in sorted(fields.items()):
        if value is None:
            continue
        out += bytes([at - last << 4 | value[0]]) + value[1]
        last = at
    return 12, out + b"\0"


def levels(values, most):
    """Each as a run of its own; nothing where there is only one level."""
    if most == 0:
        return b""
    body = b"".join(b"\2" + bytes([v]) for v in values)
    return len(body).to_bytes(4, "little") + body


def elements(name, repetition, children=None, converted=None):
    """A field and what is within it, in the schema's order; children None: an integer."""
    yield struct({1: number(1) if children is None else None, 3: number(repetition), 4: text(name),
                  5: number(len(children)) if children is not None else None,
                  6: number(converted) if converted is not None else None})
    for child in children or []:
        yield from elements(*child)


def write(path, rows, field, leaves):
    """A file of one column. leaves: (names on the way to it, most repetition, most definition, repetition levels,
    definition levels, values)."""
    out, chunks = b"PAR1", []
    for way, most_rep, most_def, reps, defs, values in leaves:
        body = levels(reps, most_rep) + levels(defs, most_def) + b"".join(v.to_bytes(4, "little") for v in values)
        head = struct({1: number(0), 2: number(len(body)), 3: number(len(body)), 5: struct(
            {1: number(len(defs)), 2: number(0), 3: number(3), 4: number(3)})})
        page = head[1] + body
        chunks.append(struct({2: number(len(out), 6), 3: struct({
            1: number(1), 2: items([number(0)]), 3: items([text(s) for s in way]), 4: number(0),
            5: number(len(defs), 6), 6: number(len(page), 6), 7: number(len(page), 6), 9: number(len(out), 6)})}))
        out += page
    root = struct({4: text("schema"), 5: number(1)})
    group = struct({1: items(chunks), 2: number(len(out), 6), 3: number(rows, 6)})
    foot = struct({1: number(1), 2: items([root, *elements(*field)]), 3: number(rows, 6), 4: items([group])})[1]
    with open(path, "wb") as f:
        f.write(out + foot + len(foot).to_bytes(4, "little") + b"PAR1")
