#!/usr/bin/env python3
"""Writes docs/opcodes.md from OPCODE_TABLE in src/program/opcode.h.

usage: gen-opcodes.py [--check]      --check changes nothing; exit status 1 when the file is out of date
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HEADER = os.path.join(ROOT, "src", "program", "opcode.h")
OUT = os.path.join(ROOT, "docs", "opcodes.md")

PHYS = ["bool", "i16", "i32", "i64", "i128", "f32", "f64", "str", "interval", "uuid"]
SETS = {"P_INT": "integers", "P_FLT": "floats", "P_NUM": "numbers", "P_STR": "str", "P_BOOL": "bool", "P_ALL": "all"}
NULLS = {"NN": "strict", "N3": "three-valued", "NV": "never", "NX": "own rule"}
FLAGS = {"F_FAIL": "may fail", "F_ROWS": "changes rows", "F_BLOCK": "block", "F_SOURCE": "reads source"}
SHAPES = {"SH_NONE": "", "SH_D": "dst", "SH_DA": "dst <- a", "SH_DAB": "dst <- a, b", "SH_DABC": "dst <- a, b, c", "SH_A": "a", "SH_AB": "a, b",
          "SH_LIST": "dst <- list", "SH_PROBE": "dst <- keys", "SH_BLOCK": "block"}

ROW = re.compile(r"X\((\w+),\s*(\w+),\s*([^,]+),\s*(\w+),\s*([^,]+),\s*(\w+)\)\s*(?:/\*\s*(.*?)\s*\*/)?")


def phys(text):
    if text == "0":
        return ""
    names = []
    for part in text.split("|"):
        part = part.strip()
        bit = re.fullmatch(r"PB\((\d+)\)", part)
        names.append(PHYS[int(bit.group(1))] if bit else SETS[part])
    return " ".join(names)


def flags(text):
    return "" if text.strip() == "0" else ", ".join(FLAGS[f.strip()] for f in text.split("|"))


def cell(text):
    return text.replace("|", "\\|")


def generate(header):
    table = re.search(r"#define OPCODE_TABLE\(X\)(.*?)\n\n", header, re.S)
    if not table:
        sys.exit("OPCODE_TABLE not found in " + HEADER)
    out = ["# Opcodes", "", "Made from `src/program/opcode.h` by `tools/gen-opcodes.py`; do not edit.", "",
           "*Variants* are the physical types an opcode exists for, in terms of operand a (of the result, for loads). *NULL*: strict opcodes give NULL where any",
           "operand is; `never` gives none.", ""]
    rows = 0
    for line in table.group(1).split("\n"):
        line = line.rstrip().rstrip("\\").strip()
        row = ROW.match(line)
        if row:
            name, shape, variants, nulls, flag, _, note = row.groups()
            if name == "NONE":
                continue
            if rows == 0:
                out += ["| opcode | operands | variants | NULL | | |", "| --- | --- | --- | --- | --- | --- |"]
            rows += 1
            out.append("| `%s` | %s | %s | %s | %s | %s |" % (name.lower(), SHAPES[shape], phys(variants), NULLS[nulls], flags(flag), cell(note or "")))
        elif line.startswith("/*"):
            title = line.strip("/* ").strip()
            out += ["" if out[-1] else None, "## " + title[0].upper() + title[1:], ""]
            rows = 0
        elif line:
            sys.exit("not understood: " + line)
    return "\n".join(line for line in out if line is not None) + "\n"


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
