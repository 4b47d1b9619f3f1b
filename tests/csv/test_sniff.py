#!/usr/bin/env python3
"""Some 200 varied CSV files (make_csv.py): delimiter, header, names and types must be found out, and all rows read.

usage: test_sniff.py [--build DIR]      last line: N passed, N failed

At most WRONG files may be wrong, and none may be an error of another kind than a guess that was.
"""
import gzip
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shell"))
sys.dont_write_bytecode = True
import by_hand  # noqa: E402
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


def same_values(described, got, rows):
    """Integers and texts are what was written; an empty text may be NULL, and blanks behind a delimiter are kept."""
    for g, w in zip(got, rows):
        for (name, type), text in zip(described, w):
            value = g[name]
            if type == "bigint" and value != (None if text is None else int(text)):
                return False
            if type == "text" and (value or "").strip() != (text or "").strip():
                return False
    return True


def read(group, made, what):
    """Makes the files, and has them read: what each should be, the answers by name, and what went to stderr."""
    script, truth = [], {}
    for name, data, columns, rows in made:
        path = os.path.join(P.dir, f"{group}_{name}.csv")
        with open(path, "wb") as f:
            f.write(data)
        truth[name] = columns, rows
        script.append(f"select '{name}' as marker;\ndescribe '{path}';\nselect {what} from '{path}';\n")
    path = os.path.join(P.dir, group + ".sql")
    with open(path, "w") as f:
        f.write("".join(script))
    _, out, err = P.sh("--json", "--quiet", "-f", path)
    return truth, answers(out), err


def sniffed():
    truth, got, err = read("made", files(), "*")
    wrong = []
    for name, (columns, rows) in truth.items():
        a = got.get(name, [])
        if len(a) < 2:
            wrong.append((name, "failed"))
            continue
        described = [(c["column_name"], c["column_type"]) for c in a[0]]
        fits = len(described) == len(columns) and all(g[0] == (w[0].strip() or "column1") and g[1] in w[1] for g, w in zip(described, columns))
        if not fits or len(a[1]) != len(rows):
            wrong.append((name, [(g, w) for g, w in zip(described, columns) if g[0] != w[0] or g[1] not in w[1]][:3], len(described), len(a[1]), len(rows)))
            continue
        P.check(f"{name}: values", same_values(described, a[1], rows), (a[1][:3], rows[:3]))
    for w in wrong:
        print("wrong:", *w)
    P.check("enough files", len(truth) >= 200, len(truth))
    P.check(f"at most {WRONG} of {len(truth)} files are guessed wrong", len(wrong) <= WRONG, (len(wrong), err[-1500:]))


def handed():
    """by_hand.py: as a person would say, but for titles that a spreadsheet gave delimiters (preamble_commas)."""
    truth, got, _ = read("hand", by_hand.files(), "count(*)")
    P.check("files by hand", len(truth) >= 60, len(truth))
    wrong = []
    for name, (columns, n) in truth.items():
        a = got.get(name, [])
        described = [(c["column_name"], c["column_type"]) for c in a[0]] if len(a) == 2 else []
        fits = len(described) == len(columns) and all(w[0] in (None, g[0]) and g[1] in w[1] for g, w in zip(described, columns))
        if not fits or a[1][0]["count"] != n:
            wrong.append((name, described, a[1:], columns, n))
    for w in wrong:
        print("wrong:", *w)
    P.check(f"at most 1 of {len(truth)} files by hand is guessed wrong", len(wrong) <= 1, wrong)


def malformed():
    """What cannot be read names file, line and column, and what was expected; nothing crashes."""
    good = b"id,name,v\n" + b"".join(b"%d,name%d,%d.5\n" % (i, i, i) for i in range(2000))
    many, packed, r = b"a,b\n" + b"1,2\n" * 400000, gzip.compress(good), random.Random(5)
    cases = [
        ("unterminated.csv", good + b'5,"abc,3\n6,x,7\n', r'22P04: unterminated CSV quoted field.*line 2002: "5,"abc,3'),
        ("extra.csv", good + b"5,abc,3,4\n6,x,7\n", r'22P04: extra data after last.*Expected were 3 fields, delimiter ",", quote "\..*line 2002: "5,abc,3,4"'),
        ("missing.csv", good + b"5\n6,x,7\n", r'22P04: missing data for column "name".*line 2002: "5"'),
        ("late.csv", many + b"1,2,3\n" + b"1,2\n" * 9, r'22P04: extra data.*file ".*late.csv", line 400002: "1,2,3"'),
        ("late_value.csv", many + b"1,x\n" + b"1,2\n" * 9, r'22P02: invalid input syntax for type bigint: "x".*type of column "b", bigint, was guessed from the first 20480 rows.*types => ARRAY.*line 400002, column "b": "x"'),
        ("digits.csv", b"a\n" + b"1.5\n" * 400000 + b"1.25\n", r'22P02: more digits behind the point than numeric\(18,1\) has: "1.25".*line 400002, column "a"'),
        ("late_latin.csv", many + b"\xff,2\n" + b"1,2\n" * 9, r'22021: invalid byte sequence.*0xff.*line 400002'),
        ("latin.csv", good + "7,K\u00f6ln,3\n".encode("latin1"), r"22021: .*latin.csv.*0xf6 in line 2002"),
        ("utf16.csv", "a,b\n1,2\n".encode("utf16"), r"22021: .*UTF-16"),
        ("random.csv", bytes(r.randrange(256) for _ in range(100000)), r"22021: .*random.csv.*in line 1"),
        ("zeros.csv", b"a,b\n1,2\n\0\0\0\n", r"22021: .*0x00 in line 3"),
        ("empty.csv", b"", r"22P04: file .*empty.csv. is empty"),
        ("quote.csv", b'"', r"22P04: .*no record that can be read"),
        ("half.csv.gz", packed[:len(packed) // 2], r"22P04: could not decompress file .*half.csv.gz.: unexpected end of file"),
        ("junk.csv.gz", packed[:200] + b"junk" * 99 + packed[600:], r"22P04: could not decompress file .*junk.csv.gz"),
        ("tail.csv.gz", packed + b"garbage", r"22P04: could not decompress file .*tail.csv.gz"),
        ("cut.csv.zst", b"\x28\xb5\x2f\xfd\x04", r"22P04: could not decompress file .*cut.csv.zst"),
        ("part-2.csv", b"a,c\n1,2\n", None),
        ("part-1.csv", b"a,b\n1,2\n", None),
    ]
    for name, data, pattern in cases:
        path = os.path.join(P.dir, name)
        with open(path, "wb") as f:
            f.write(data)
        if pattern:
            rc, out, err = P.sh("--quiet", "-c", f"create table t as select * from '{path}'")
            check_error(name, rc, err, pattern)
    rc, out, err = P.sh("--quiet", "-c", f"select count(*) from '{P.dir}/part-*.csv'")
    check_error("another header", rc, err, r'22P04: the header is not that of file .*part-1.csv.*file ".*part-2.csv", line 1: "a,c"')
    rc, out, err = P.sh("--quiet", "-c", f"select * from '{P.dir}'")
    check_error("a directory", rc, err, r"0A000: the name of file|42809: .* is a directory")
    rc, out, err = P.sh("--quiet", "-c", f"select * from read_csv('{P.dir}')")
    check_error("read_csv of a directory", rc, err, r"42809: .* is a directory")


def check_error(name, rc, err, pattern):
    P.check(name, rc == 1 and re.search(pattern, err, re.S), (rc, err))


if __name__ == "__main__":
    P.run([("sniffed", sniffed), ("by hand", handed), ("malformed", malformed)])
    P.end()
