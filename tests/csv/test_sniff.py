#!/usr/bin/env python3
"""Some 200 varied CSV files (make_csv.py): delimiter, header, names and types must be found out, and all rows read.

usage: test_sniff.py [--build DIR]      last line: N passed, N failed

At most WRONG files may be wrong, and none may be an error of another kind than a guess that was.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shell"))
sys.dont_write_bytecode = True
from make_csv import files  # noqa: E402
from program import Program  # noqa: E402

WRONG = 2
P = Program("csv")


def answers(text):
    """The JSON arrays of an output, by the marker before them."""
    decoder, at, out, name = json.JSONDecoder(), 0, {}, None
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return out
        rows, at = decoder.raw_decode(text, at)
        if len(rows) == 1 and list(rows[0]) == ["marker"]:
            name = rows[0]["marker"]
            out[name] = []
        else:
            out[name].append(rows)


def sniffed():
    script, truth = [], {}
    for name, data, columns, n_rows in files():
        path = os.path.join(P.dir, name + ".csv")
        with open(path, "wb") as f:
            f.write(data)
        truth[name] = columns, n_rows
        script.append(f"select '{name}' as marker;\ndescribe '{path}';\nselect * from '{path}';\n")
    path = os.path.join(P.dir, "all.sql")
    with open(path, "w") as f:
        f.write("".join(script))
    rc, out, err = P.sh("--json", "--quiet", "-f", path)
    got, wrong = answers(out), []
    for name, (columns, n_rows) in truth.items():
        a = got.get(name, [])
        if len(a) < 2:
            wrong.append((name, "failed"))
            continue
        described = [(c["column_name"], c["column_type"]) for c in a[0]]
        fits = len(described) == len(columns) and all(g[0] == (w[0].strip() or "column1") and g[1] in w[1] for g, w in zip(described, columns))
        if not fits or len(a[1]) != n_rows:
            wrong.append((name, [(g, w) for g, w in zip(described, columns) if g[0] != w[0] or g[1] not in w[1]][:3], len(described), len(a[1]), n_rows))
    for w in wrong:
        print("wrong:", *w)
    P.check("enough files", len(truth) >= 200, len(truth))
    P.check(f"at most {WRONG} of {len(truth)} files are guessed wrong", len(wrong) <= WRONG, (len(wrong), err[-1500:]))


if __name__ == "__main__":
    P.run([("sniffed", sniffed)])
    P.end()
