#!/usr/bin/env python3
"""The guide (docs/guide): every example is run and what it prints compared, the HTML is built without a warning, and
every link in it leads somewhere. docs/guide/README.md has the rules for examples; --record writes the `text` blocks that
have no wildcard anew. Ends with `N passed, N failed`."""
import argparse
import glob
import html.parser
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "install"), os.path.join(os.path.dirname(TESTS), "tools")]
import guide  # noqa: E402
from checks import ROOT, check, summary  # noqa: E402

GUIDE = os.path.join(ROOT, "docs", "guide")
MARK = "=== end of block ==="


# ---- examples -------------------------------------------------------------------------------------------------------

def blocks(text):
    """Fenced blocks: language and what stands behind it, content, line of the fence, position of the content."""
    for m in re.finditer(r"^```(\w+)([^\n]*)\n(.*?)^```$", text, re.S | re.M):
        yield m.group(1), m.group(2).strip(), m.group(3), text.count("\n", 0, m.start()) + 1, m.span(3)


def lines_of(text):
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def shape(text):
    """Words without numbers and the width of columns."""
    return [re.sub(r"\s+", " ", re.sub(r"-{2,}", "--", re.sub(r"\d+(\.\d+)?", "0", line))).strip() for line in lines_of(text)]


def agrees(wanted, got, how):
    if how == "shape":
        return shape(wanted) == shape(got)
    lines = lines_of(wanted)
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", "[^\n]*") + "\n" for line in lines)
    return re.fullmatch(pattern, "\n".join(lines_of(got)) + "\n") is not None


PYTHON = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(json.loads(line), "<block>", "exec"), names)
        except Exception:
            print(traceback.format_exc())
    print(json.dumps(out.getvalue()), flush=True)
"""


class Page:
    """One page's blocks, run in a directory of their own."""

    def __init__(self, build):
        self.release = os.path.join(build, "release")
        self.dir = tempfile.mkdtemp(prefix="stele-guide-")
        cache = os.path.join(build, "cache", "code")
        os.makedirs(cache, mode=0o700, exist_ok=True)
        self.env = {**os.environ, "PATH": self.release + ":" + os.environ["PATH"], "HOME": self.dir, "TMPDIR": self.dir, "STELE_CACHE_DIR": cache, "PYTHONPATH": os.path.join(ROOT, "python"),
                    "STELE_LIBRARY": os.path.join(self.release, "libstele.so.0"), "LANG": "C.UTF-8"}
        self.programs = {}

    def program(self, name, *cmd):
        if name not in self.programs:
            self.programs[name] = subprocess.Popen(cmd, cwd=self.dir, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
        return self.programs[name]

    def sql(self, text):
        p = self.program("sql", "stele", "--quiet")
        p.stdin.write(f"{text}\n\\echo {MARK}\n")
        p.stdin.flush()
        out = []
        for line in p.stdout:
            if line.rstrip("\n") == MARK:
                return "".join(out)
            out.append(line)
        return "".join(out) + f"the shell ended with status {p.wait()}\n"

    def python(self, text):
        p = self.program("python", sys.executable, "-c", PYTHON)
        p.stdin.write(json.dumps(text) + "\n")
        p.stdin.flush()
        line = p.stdout.readline()
        return json.loads(line) if line.startswith('"') else line + p.stdout.read()

    def sh(self, text):
        p = subprocess.run(["bash", "-e", "-c", text], cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return p.stdout + (f"exit status {p.returncode}\n" if p.returncode else "")

    def c(self, text):
        with open(os.path.join(self.dir, "block.c"), "w", encoding="utf-8") as f:
            f.write(text)
        return self.sh(f"cc -std=c17 -Wall -Wextra -Wpedantic -Werror block.c -I'{ROOT}/include' -L'{self.release}' -lstele -Wl,-rpath,'{self.release}' -o block && ./block")

    def end(self):
        for p in self.programs.values():
            p.stdin.close()
            p.stdout.read()
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def run_page(path, build, record):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    name, page, left_out, changes = os.path.relpath(path, GUIDE), Page(build), 0, []
    found = list(blocks(text))
    for i, (language, rest, content, line, _) in enumerate(found):
        if language not in ("sql", "sh", "c", "python"):
            check(f"{name}:{line}", language == "text" and i > 0 and found[i - 1][0] != "text", f"a block of {language} that is nobody's output")
            continue
        if rest == "norun":
            left_out += 1
            continue
        follows = found[i + 1] if i + 1 < len(found) and found[i + 1][0] == "text" else None
        wanted, how = (follows[2], follows[1]) if follows else ("", "")
        got = getattr(page, language)(content)
        if record and follows and how != "shape" and "…" not in wanted:
            changes.append((follows[4], "\n".join(lines_of(got)) + "\n"))
        else:
            check(f"{name}:{line}", agrees(wanted, got, how), f"wanted:\n{wanted}\ngot:\n{got}")
    page.end()
    for (a, b), new in reversed(changes):
        text = text[:a] + new + text[b:]
    if changes:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return left_out


# ---- HTML -----------------------------------------------------------------------------------------------------------

class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.targets = set(), set()

    def handle_starttag(self, tag, attrs):
        for k, v in attrs:
            if k in ("id", "name") and v:
                self.ids.add(v)
            if k in ("href", "src") and v:
                self.targets.add(v)


def check_html(build):
    with tempfile.TemporaryDirectory() as tmp:
        rc = guide.build(os.path.join(build, "release", "stele"), tmp + "/src", tmp + "/html")
        check("the generator has no warnings", rc == 0)
        pages = {}
        for path in glob.glob(tmp + "/html/**/*.html", recursive=True):
            pages[os.path.normpath(path)] = parser = Links()
            with open(path, encoding="utf-8") as f:
                parser.feed(f.read())
        check("pages", len(pages) > 15, sorted(pages))
        for path, page in pages.items():
            for target in page.targets:
                where, _, anchor = target.partition("#")
                if "://" in target or target.startswith(("mailto:", "data:")):
                    continue
                full = os.path.normpath(os.path.join(os.path.dirname(path), where.split("?")[0])) if where else path
                name = f"{os.path.basename(path)} -> {target}"
                if not os.path.exists(full):
                    check(name, False, "there is no such file")
                elif anchor and full in pages:
                    check(name, anchor in pages[full].ids, "there is no such anchor")


def check_readme(build):
    """The README comes to a first result soon, and its SQL runs."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    commands = [(line, content) for language, _, content, line, _ in blocks(text) if language == "sh" and "build/stele -c" in content]
    end = commands[0][0] + commands[0][1].count("\n") if commands else 0
    check("README: a first result within 30 lines", 0 < end <= 30, f"line {end}")
    page = Page(build)
    for line in re.findall(r"^build/stele (-c .*)$", commands[0][1] if commands else "", re.M):
        out = page.sh(f"stele {line}")
        check(f"README: stele {line}", "333334" in out and "ERROR" not in out, out)
    out = page.sql(next((content for language, _, content, _, _ in blocks(text) if language == "sql"), "no block of sql"))
    check("README: SQL", "100000000" in out and "1000000" in out and "ERROR" not in out, out)
    page.end()


def check_reference(build):
    """What the program knows has got into the pages."""
    stele = os.path.join(build, "release", "stele")
    for name, page, least in (("statements", guide.statements(stele), 46), ("functions", guide.functions(stele), 200), ("settings", guide.settings(stele), 50), ("system relations", guide.system_relations(stele), 15)):
        lines = len(re.findall(r"^(?:## |\| `)", page, re.M))
        check(f"reference: {name}", lines >= least, f"{lines} entries, fewer than {least}")


def check_listed(build):
    """No name of the binder's own tables of functions is missing in the list of functions."""
    listed = {r["Name"] for r in guide.rows(os.path.join(build, "release", "stele"), "\\dfS")}
    for path, table, least in (("src/sql/bind/bind_window.c", "win_funcs", 11), ("src/sql/bind/bind_ordered.c", "names", 7), ("src/sql/bind/bind_parts.c", "", 3), ("src/io/files.c", "functions", 6)):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        if table:
            text = re.search(rf"{table}\[\] = \{{(.*?)\}};", text, re.S).group(1)
            names = set(re.findall(r'"(\w+)"', text))
        else:
            names = set(re.findall(r'^    \{"(\w+)", "', text, re.M))
        check(f"functions of {path}", len(names) >= least and names <= listed, f"{sorted(names)}; not in \\dfS: {sorted(names - listed)}")


def check_troubleshooting():
    """Every SQLSTATE that is explained is one that is raised."""
    with open(os.path.join(GUIDE, "troubleshooting.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| ([0-9A-Z, ]+) \|", f.read(), re.M)
    with open(os.path.join(ROOT, "src", "base", "errcodes.h"), encoding="utf-8") as f:
        known = set(re.findall(r'"([0-9A-Z]{5})"', f.read()))
    codes = [c for row in rows for c in row.split(", ") if len(c) == 5]
    check("codes of troubleshooting", len(codes) > 20 and set(codes) <= known, f"not in errcodes.h: {sorted(set(codes) - known)}")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--record", action="store_true")
    o = a.parse_args()
    build = os.path.abspath(o.build)
    left_out = 0
    for path in sorted(glob.glob(os.path.join(GUIDE, "**", "*.md"), recursive=True)):
        if os.path.basename(path) != "README.md":
            left_out += run_page(path, build, o.record)
    check("blocks that are not run", left_out <= 8, f"{left_out} of them: see docs/guide/README.md, rule 3")
    if not o.record:
        check_readme(build)
        check_reference(build)
        check_listed(build)
        check_troubleshooting()
        if importlib.util.find_spec("sphinx"):
            check_html(build)
        else:
            print("skipped: HTML of the guide: Sphinx is not installed")
    return summary()


if __name__ == "__main__":
    sys.exit(main())
