#!/usr/bin/env python3
"""Writes docs/opcodes.md from src/types/opcodes.def.

usage: gen-opcodes.py [--check]      --check changes nothing; exit status 1 when the file is out of date
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HEADER = os.path.join(ROOT, "src", "types", "opcodes.def")
OUT = os.path.join(ROOT, "docs", "opcodes.md")

PHYS = ["bool", "i16", "i32", "i64", "i128", "f32", "f64", "str", "interval", "uuid"]
SETS = {"P_INT": "integers", "P_BITS": "i16 i32 i64", "P_FLT": "floats", "P_NUM": "numbers", "P_STR": "str", "P_BOOL": "bool", "P_ALL": "all"}
NULLS = {"NN": "strict", "N3": "three-valued", "NV": "never", "NX": "own rule"}
FLAGS = {"F_FAIL": "may fail", "F_ROWS": "changes rows", "F_BLOCK": "block", "F_SOURCE": "reads source"}
SHAPES = {"SH_NONE": "", "SH_D": "dst", "SH_DA": "dst <- a", "SH_DAB": "dst <- a, b", "SH_DABC": "dst <- a, b, c", "SH_A": "a", "SH_AB": "a, b",
          "SH_LIST": "dst <- list", "SH_PROBE": "dst <- keys", "SH_BLOCK": "block"}

# A row and its note, or a comment at the left margin: the title of a section.
ROW = re.compile(r"^X\((\w+),\s*(\w+),\s*([^,]+),\s*(\w+),\s*([^,]+),\s*(\w+)\)(?:(?: +|\n  )/\*\s*(.*?)\s*\*/)?|^/\*\s*(.*?)\s*\*/", re.M | re.S)
EFFECTS = {"NONE": "", "SOURCE": "source", "PURE": "pure", "COMPARE": "pure", "CALL": "call", "BODY": "body", "JOIN": "join", "STORE": "writes a variable", "BUFFER": "buffer of rows",
           "ROW_READ": "reads rows", "CAUGHT": "reads what was caught", "ROW_WRITE": "writes rows", "RAISE": "raises", "ITEM": "item", "LOCK": "lock",
           "CONTROL": "control"}


def words(table, name, key):
    """What `table` has for a name of opcodes.def."""
    if key not in table:
        sys.exit(f"gen-opcodes.py: opcodes.def has {key}, which {name} in this program lacks: add how the document words it")
    return table[key]


def phys(text):
    if text == "0":
        return ""
    names = []
    for part in text.split("|"):
        part = part.strip()
        bit = re.fullmatch(r"PB\((\d+)\)", part)
        names.append(PHYS[int(bit.group(1))] if bit else words(SETS, "SETS", part))
    return " ".join(names)


def flags(text):
    return "" if text.strip() == "0" else ", ".join(words(FLAGS, "FLAGS", f.strip()) for f in text.split("|"))


def cell(text):
    return text.replace("|", "\\|")


def generate(table):
    out = ["# Opcodes", "", "Made from `src/types/opcodes.def` by `tools/gen-opcodes.py`; do not edit.", "",
           "*Variants* are the physical types an opcode exists for, in terms of operand a (of the result, for loads).",
           "*NULL*: strict opcodes give NULL where any operand is; `never` gives none. *Effect*: what running it may read or change."]
    head, *rows = ROW.finditer(table)
    columns = False
    for m in rows:
        name, shape, variants, nulls, flag, effect, note, title = m.groups()
        if title is not None:
            out += ["", "## " + title[0].upper() + title[1:], ""]
            columns = False
        elif name != "NONE":
            if not columns:
                out += ["| opcode | operands | variants | NULL | effect | | |", "| --- | --- | --- | --- | --- | --- | --- |"]
            columns = True
            note = " ".join(re.sub(r"\n\s*\* ?", " ", note or "").split())
            out.append("| `%s` | %s | %s | %s | %s | %s | %s |" % (name.lower(), words(SHAPES, "SHAPES", shape), phys(variants), words(NULLS, "NULLS", nulls), words(EFFECTS, "EFFECTS", effect), flags(flag), cell(note)))
    rows = table.count("\nX(")
    if rows != sum(m.group(1) is not None for m in ROW.finditer(table)):
        sys.exit("some rows of opcodes.def are not understood")
    return "\n".join(out) + "\n"


def main():
    with open(HEADER, encoding="utf-8") as f:
        text = generate(f.read())
    if "--check" in sys.argv[1:]:
        old = open(OUT, encoding="utf-8").read() if os.path.exists(OUT) else ""
        if old != text:
            sys.exit("docs/opcodes.md is out of date: run tools/gen-opcodes.py")
        return
    with open(OUT, "w", encoding="utf-8") as f:
        f.write(text)


main()
