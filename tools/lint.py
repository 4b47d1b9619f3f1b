#!/usr/bin/env python3
"""Style checks of the whole tree; `make lint` runs them, and `make test` begins with them.

Every check has a name and prints `path:line: what is wrong`. What is known and not mended yet stands in tools/lint-known.txt
(a finding) or tools/lint-words.txt (a number of private words by file): both may only shrink, and an entry that is no longer
needed is a finding too. The last line is `N passed, N failed`: files and rules that were looked at.

    tools/lint.py                 all checks
    tools/lint.py format words    some of them
    tools/lint.py --update        writes the two lists anew, after something was mended
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import guide

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = os.path.join(ROOT, "tools", "lint-known.txt")
WORDS = os.path.join(ROOT, "tools", "lint-words.txt")
CLANG_FORMAT = "14.0.6"  # other versions format otherwise
COLUMNS = 120
MOST_LINES, MOST_CHARACTERS, MOST_FIELDS = 150, 6000, 40
REASON = "lint: long because"  # in a comment above a function or struct that is beyond these on purpose


def git_files(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [f for f in out.splitlines() if os.path.exists(os.path.join(ROOT, f))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


class Findings:
    """What the checks found: (check, path, line, name, text). `name` identifies a finding whatever its line."""

    def __init__(self):
        self.found = []
        self.looked_at = 0

    def add(self, check, path, line, name, text):
        self.found.append((check, path, line, name, text))


def c_files():
    return git_files("src/*.c", "src/*.h", "src/*.inc", "include/*.h", "tests/*.c", "tests/*.h", "bench/*.c", "bench/*.h", "examples/*.c")


def clang_format():
    """A clang-format of the right version, or None."""
    for path in (os.path.join(ROOT, "build", "venv", "bin", "clang-format"), shutil.which("clang-format"), shutil.which("clang-format-14")):
        if path and os.path.exists(path):
            out = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if CLANG_FORMAT in out:
                return path
    return None


def check_format(r):
    """C is as clang-format writes it, and no line is too long."""
    tool = clang_format()
    if not tool:
        r.add("format", "tools/lint.py", 0, "clang-format", f"there is no clang-format {CLANG_FORMAT} (make venv installs it)")
        return
    files = c_files()
    r.looked_at += len(files)
    for f in files:
        for n, line in enumerate(read(f).splitlines(), 1):
            if len(line) > COLUMNS:
                r.add("format", f, n, "columns", f"{len(line)} columns")
    out = subprocess.run([tool, "--dry-run", *files], cwd=ROOT, capture_output=True, text=True).stderr
    for f, n in re.findall(r"^(\S+?):(\d+):\d+: warning: code should be clang-formatted", out, re.M):
        r.add("format", f, int(n), "format", "not formatted: make format")


def compiles_alone(header):
    """What the compiler says of a file that includes the header only; "" for nothing."""
    flags = ["-Wall", "-Wextra"]
    if header.startswith("src/codegen/prelude/"):
        flags.append("-Wno-unused-parameter")  # all functions of kernels are called with the parameters' address
    ways = [["gcc", "-std=c17", "-D_GNU_SOURCE", *flags, "-Isrc", "-Iinclude", "-isystemthird_party/adbc/include",
             "-isystemthird_party/pg_query/include",
             "-fsyntax-only", "-x", "c", "-"]]
    if header == "include/stele/stele.h":
        ways.append(["g++", "-std=c++17", "-Iinclude", "-fsyntax-only", "-x", "c++", "-"])
    for cmd in ways:
        p = subprocess.run(cmd, input=f'#include "{os.path.join(ROOT, header)}"\n', cwd=ROOT, capture_output=True, text=True)
        if p.returncode or p.stderr:
            return p.stderr
    return ""


def check_headers(r):
    """Every header compiles alone; the public one in C++ as well. Those that are pieces of a text are named _impl.h."""
    files = [f for f in git_files("src/*.h", "include/*.h") if not f.endswith("_impl.h") and f != "src/sql/parse/parse_int.h"]
    r.looked_at += len(files)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for f, said in zip(files, pool.map(compiles_alone, files)):
            if said:
                r.add("headers", f, 1, "alone", "does not compile alone: " + said.splitlines()[0])


def check_calls(r):
    """Functions that overflow buffers or lose errors are not called."""
    files = git_files("src/*.c", "src/*.h")
    r.looked_at += len(files)
    for f in files:
        for n, line in enumerate(read(f).splitlines(), 1):
            m = re.search(r"\b(strcpy|strcat|sprintf|atoi|strtok|gets) *\(", line)
            if m:
                r.add("calls", f, n, m.group(1), f"{m.group(1)} is not used here")


def layer_order():
    """Folders from the highest layer to the lowest: the table of docs/ARCHITECTURE.md. A row may name several folders, which are then one layer."""
    rows = re.findall(r"^\| (`src/[^|]*)\|", read("docs/ARCHITECTURE.md"), re.M)
    return {folder: rank for rank, row in enumerate(rows) for folder in re.findall(r"`src/([\w/]+)`", row)}


def check_layers(r):
    """Includes point downwards in the order of ARCHITECTURE.md's table; private headers (_int.h) stay in their folder."""
    order = layer_order()
    files = git_files("src/*.c", "src/*.h", "src/*.inc")
    r.looked_at += len(files)
    for f in files:
        own = os.path.dirname(f)[len("src/"):]
        if own not in order:
            r.add("layers", f, 1, own, f"src/{own} has no row in the table of docs/ARCHITECTURE.md")
            continue
        for n, line in enumerate(read(f).splitlines(), 1):
            m = re.match(r'#include "([^"]+)"', line)
            if not m or not os.path.exists(os.path.join(ROOT, "src", m.group(1))):
                continue
            there = os.path.dirname(m.group(1))
            if there == own:
                continue
            if order.get(there, -1) < order[own]:
                r.add("layers", f, n, m.group(1), f"includes {m.group(1)}, which is not below src/{own}")
            if m.group(1).endswith("_int.h"):
                r.add("private", f, n, m.group(1), f"includes {m.group(1)}, which is private to its folder")


def check_codes(r):
    """Every SQLSTATE of the table is raised somewhere; the opcode reference is up to date."""
    text = "\n".join(read(f) for f in git_files("src/*.c", "src/*.h", "src/*.inc") if f != "src/base/errcodes.h")
    words = set(re.findall(r"\bERR_[A-Z_0-9]+\b", text))
    for code in re.findall(r"^#define (ERR_[A-Z_]+)", read("src/base/errcodes.h"), re.M):
        r.looked_at += 1
        if code not in words:
            r.add("codes", "src/base/errcodes.h", 1, code, f"{code} is never raised")
    r.looked_at += 1
    if subprocess.run([sys.executable, "tools/gen-opcodes.py", "--check"], cwd=ROOT).returncode:
        r.add("codes", "docs/opcodes.md", 1, "opcodes", "not up to date (tools/gen-opcodes.py)")


def without_comments(text):
    """The same number of lines, with comments and strings blank."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def blocks(text):
    """Top-level blocks of formatted C: (first line, last line, head), lines from 0."""
    lines = text.split("\n")
    start = head = None
    for n, line in enumerate(lines):
        if start is None and line.rstrip().endswith("{") and not line.startswith((" ", "#", "}", "/")):
            start, head = n, line
        elif start is not None and line.startswith("}"):
            yield start, n, head
            start = None


def check_locks(r):
    """Mutexes of the library (the shell is none) are those of base/mutex.h, and docs/LOCKS.md describes all of their ranks, in the order of that header."""
    files = [f for f in git_files("src/*.c", "src/*.h") if f not in ("src/base/mutex.c", "src/base/mutex.h", "src/base/cond.c") and not f.startswith("src/shell/")]
    r.looked_at += len(files) + 1
    for f in files:
        for n, line in enumerate(without_comments(read(f)).splitlines(), 1):
            m = re.search(r"\b(pthread_(?:mutex|rwlock|spin)_\w+|pthread_cond_(?:timed)?wait|mtx_\w+)", line)
            if m:
                r.add("locks", f, n, m.group(1), f"{m.group(1)} is for base/mutex.c and base/cond.c only")
    ranks = re.findall(r'^    X\((\w+), "', read("src/base/mutex.h"), re.M)
    described = re.findall(r"^\| `(\w+)` \|", read("docs/LOCKS.md"), re.M)
    if ranks != described:
        at = next((i for i, x in enumerate(ranks) if described[i:i + 1] != [x]), len(ranks))
        r.add("locks", "docs/LOCKS.md", 1, "ranks", f"the ranks of base/mutex.h are not described in their order, from {(ranks + described)[at]} on")


def n_fields(body):
    depth = n = 0
    some = False
    for c in body:
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth == 0 and c in ",;":
            n += some
            some = False
        elif c.isalnum():
            some = True
    return n


def has_reason(lines, at):
    """Whether the comment above line `at` gives a reason."""
    while at > 0 and lines[at - 1].startswith(("/*", " *", "//")):
        at -= 1
        if REASON in lines[at]:
            return True
    return False


def check_sizes(r):
    """No function of more than 150 lines or 6,000 characters and no struct of more than 40 fields, without a reason beside it."""
    files = git_files("src/*.c", "src/*.h", "include/*.h", "bench/*.c", "tests/*.c", "examples/*.c")
    r.looked_at += len(files)
    for f in files:
        text = read(f)
        code, lines = without_comments(text), text.split("\n")
        shown = code.split("\n")
        for first, last, head in blocks(code):
            if has_reason(lines, first):
                continue
            m = re.match(r"(?:typedef )?(?:struct|union) (\w+) \{", head)
            if m:
                n = n_fields("\n".join(shown[first + 1:last]))
                if n > MOST_FIELDS:
                    r.add("sizes", f, first + 1, m.group(1), f"struct {m.group(1)} has {n} fields")
                continue
            m = re.search(r"(\w+)\(", head)
            if not m or "=" in head:
                continue
            n, size = last - first - 1, sum(len(x) + 1 for x in lines[first:last + 1])
            if n > MOST_LINES or size > MOST_CHARACTERS:
                r.add("sizes", f, first + 1, m.group(1), f"{m.group(1)} has {n} lines, {size} characters")


def anchors(text):
    """Those of Markdown's headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", t) for t in re.findall(r"^#+ (.*)$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}


def check_docs(r):
    """Markdown fits 120 columns (tables, code and addresses apart), and its links lead somewhere. Pages of the guide that are made when it is built are not looked into: its own test does."""
    files = [f for f in git_files("*.md") if not f.startswith("third_party/")]
    r.looked_at += len(files)
    for f in files:
        code = False
        for n, line in enumerate(read(f).splitlines(), 1):
            if line.lstrip().startswith("```"):
                code = not code
            if code or line.lstrip().startswith("|") or line.startswith("    "):
                continue
            if len(line) > COLUMNS and "http" not in line:
                r.add("docs", f, n, "columns", f"{len(line)} columns")
            for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", line):
                path = os.path.normpath(os.path.join(os.path.dirname(f), link)) if link else f
                if "://" in link or os.path.relpath(path, "docs/guide") in guide.GENERATED:
                    continue
                if not os.path.exists(os.path.join(ROOT, path)):
                    r.add("docs", f, n, link, f"the link to {link} leads nowhere")
                elif anchor and path.endswith(".md") and anchor not in anchors(read(path)):
                    r.add("docs", f, n, anchor, f"{path} has no heading for the link to #{anchor}")


def check_recursion(r):
    """Every recursive function asks for the stack that is left (base/stack.h). Reads the library's machine code."""
    lib = os.environ.get("STELE_LIB", os.path.join(ROOT, "build", "release", "libstele_core.a"))
    if not os.path.exists(lib):
        print("recursion: there is no " + lib + " (make build)")
        return
    r.looked_at += 1
    p = subprocess.run([sys.executable, "tools/recursion.py", lib], cwd=ROOT, capture_output=True, text=True)
    for line in p.stdout.splitlines() + ([p.stderr] if p.stderr else []):
        r.add("recursion", "src", 0, line.strip(), "recursive functions without stack_check() or stack_stop(): " + line.strip())


# The left column of docs/GLOSSARY.md, as far as a word has no other meaning; and persons in comments, where there are none.
PRIVATE = re.compile(r"(?<![A-Za-z])(mirrors?|takers?|unguard|untold|unsaid|wanders|lingers|seats?|nobody|somebody|anybody|whoever|is told|are told)(?![A-Za-z])|\bimage_|\bguard_", re.I)


def count_words():
    counts = {}
    for f in git_files("src/*.c", "src/*.h", "include/*.h"):
        n = len(PRIVATE.findall(read(f)))
        if n:
            counts[f] = n
    return counts


def check_words(r):
    """Private words (docs/GLOSSARY.md) become fewer, never more."""
    allowed = {}
    if os.path.exists(WORDS):
        for line in read("tools/lint-words.txt").splitlines():
            if line and not line.startswith("#"):
                n, f = line.split()
                allowed[f] = int(n)
    r.looked_at += 1
    for f, n in count_words().items():
        if n > allowed.get(f, 0):
            r.add("words", f, 1, "words", f"{n} private words, {allowed.get(f, 0)} before (docs/GLOSSARY.md has the usual ones)")


CHECKS = {"format": check_format, "headers": check_headers, "calls": check_calls, "layers": check_layers, "codes": check_codes,
          "sizes": check_sizes, "docs": check_docs, "locks": check_locks, "words": check_words, "recursion": check_recursion}
BELONGS = {"private": "layers"}  # findings of another name than their check


def known():
    if not os.path.exists(KNOWN):
        return set()
    return {tuple(x.split()[:3]) for x in read("tools/lint-known.txt").splitlines() if x and not x.startswith("#")}


def update(r, chosen):
    """Writes both lists from what is there now."""
    kept = {k for k in known() if BELONGS.get(k[0], k[0]) not in chosen}
    now = {(c, f, name) for c, f, _, name, _ in r.found if c in ("layers", "private", "sizes", "docs") and name not in ("columns",)}
    with open(KNOWN, "w") as out:
        out.write("# Findings that are known: check, file, name. tools/lint.py --update writes it; it may only shrink.\n")
        out.writelines(" ".join(k) + "\n" for k in sorted(kept | now))
    with open(WORDS, "w") as out:
        out.write("# Private words by file (docs/GLOSSARY.md). tools/lint.py --update writes it; it may only shrink.\n")
        out.writelines(f"{n} {f}\n" for f, n in sorted(count_words().items()))


def main():
    chosen = [a for a in sys.argv[1:] if not a.startswith("-")] or list(CHECKS)
    r = Findings()
    for name in chosen:
        CHECKS[name](r)
    if "--update" in sys.argv:
        return update(r, chosen)
    allowed, seen, bad = known(), set(), 0
    for check, path, line, name, text in sorted(r.found):
        if (check, path, name) in allowed:
            seen.add((check, path, name))
            continue
        bad += 1
        print(f"{path}:{line}: {text} [{check}]")
    for check, path, name in sorted(allowed - seen):
        if BELONGS.get(check, check) in chosen:
            bad += 1
            print(f"tools/lint-known.txt: {check} {path} {name} is mended: take the line out")
    print(f"{r.looked_at - min(bad, r.looked_at)} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
