#!/usr/bin/env python3
"""Builds the guide: docs/guide and what is generated for it, to HTML below build/guide (`make guide`).

Generated are the pages that say what the program itself knows: statements (`\\h`), functions (`\\dfS+`), settings
(stele_settings), system relations, and the manual pages. They are asked of the build's `stele` each time, and not kept
in the repository, so that they cannot be out of date. docs/STATUS.md is a page of the guide as it is.
"""
import argparse
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.join(ROOT, "docs", "guide")
MANUALS = ("stele.1", "stele-bench.1", "libstele.3")
NOTEBOOK = os.path.join(ROOT, "python", "examples", "analytics.ipynb")
GENERATED = ("status.md", "notebook.md", "reference/statements.md", "reference/functions.md", "reference/settings.md", "reference/system.md", *(f"reference/{m}.md" for m in MANUALS))


def ask(stele, *args):
    """What `stele` prints for these arguments."""
    return subprocess.run([stele, *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def rows(stele, command):
    return list(csv.DictReader(io.StringIO(ask(stele, "--csv", "-c", command))))


def cell(text):
    """Text in a table of Markdown."""
    return (text or "").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def code(text):
    return f"`{text}`".replace("|", "\\|") if text else ""


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *("| " + " | ".join(x) + " |" for x in lines)]) + "\n"


# ---- pages that the program writes --------------------------------------------------------------------------

def statements(stele):
    topics = re.findall(r"^Command:     ([^\n]*)\nDescription: ([^\n]*)\nSyntax:\n(.*?)\n(?=\nCommand:|\Z)", ask(stele, "-c", "\\h *").rstrip() + "\n", re.S | re.M)
    text = "# Statements\n\nThe shell shows the same with `\\h`. Square brackets are optional, braces a choice, `[, ...]` repeats.\n"
    for name, what, syntax in topics:
        text += f"\n## {name}\n\n{what[0].upper() + what[1:]}.\n\n```text\n{syntax.strip()}\n```\n"
    return text


KINDS = (("func", "Functions", "of values"), ("agg", "Aggregates", "of the rows of a group; with OVER, of a window"), ("window", "Window functions", "with OVER only"))


def functions(stele):
    text = ("# Functions\n\nThe shell shows the same with `\\dfS+`. Names and results are PostgreSQL's unless "
            "[Where Stele stands](../status.md) says otherwise.\n")
    all_rows = rows(stele, "\\dfS+")
    for kind, title, what in KINDS:
        groups = collections.OrderedDict()
        for r in all_rows:
            if r["Type"] == kind:
                groups.setdefault((r["Name"], r["Description"]), []).append(f"({r['Argument data types']}) → {r['Result data type']}")
        text += f"\n## {title}\n\n{len({n for n, _ in groups})} {title.lower()}, {what}.\n\n"
        text += table(("Name", "Arguments → result", "What it gives"), [(code(n), "<br>".join(cell(f) for f in forms), cell(doc)) for (n, doc), forms in groups.items()])
    missing = {r["Type"] for r in all_rows} - {k for k, _, _ in KINDS}
    if missing:
        raise SystemExit(f"tools/guide.py: \\dfS+ has functions of other kinds: {missing}")
    return text


SETTING_GROUPS = (("Bulks", r"bulk_"), ("Devices", r"device|executor|pipelined_"), ("Memory and execution", r"memory_limit|result_memory|temp_directory|threads|vector_size|morsel_rows|instruction_set|auto_merge|disabled_rules|hash_constant"),
                  ("Transactions and time", r"snapshot|.*timeout|default_transaction|transaction_"), ("Client", r""))


def settings(stele):
    text = ("# Settings\n\n`SET name = value` changes one for the session, `SET LOCAL` for the transaction, `RESET name` sets the default again; "
            "`SHOW name` and `SHOW ALL` show them, and the system relation `stele_settings` has this table. "
            "Bytes take the units B, kB, MB, GB and TB (of 1024), times us, ms, s, min and h; a number without one is in the unit shown.\n")
    left = rows(stele, "select * from stele_settings")
    for title, pattern in SETTING_GROUPS:
        here = [r for r in left if re.match(pattern, r["name"])]
        left = [r for r in left if r not in here]
        text += f"\n## {title}\n\n"
        lines = []
        for r in sorted(here, key=lambda r: r["name"]):
            values = r["enumvals"].replace("|", ", ") or {"bool": "on, off", "string": "text"}.get(r["vartype"], "")
            if r["vartype"] == "integer":
                values = f"{r['min_val']} to {r['max_val']}" if r["max_val"] else f"{r['min_val']} and more"
                values += f" ({r['unit']})" if r["unit"] else ""
            default = {"threads": "all processors", "memory_limit": "80 % of memory"}.get(r["name"]) or code(r["boot_val"])
            lines.append((code(r["name"]), cell(values), default, cell(r["short_desc"])))
        text += table(("Name", "Values", "Default", "What it does"), lines)
    return text


def system_relations(stele):
    names = re.findall(r"pg_catalog, (stele_\w+),", open(os.path.join(ROOT, "src", "catalog", "system_relations.def"), encoding="utf-8").read())
    text = "# System relations\n\nWhat the database shows of itself, as tables that can only be read. [stele(1)](stele.1.md) says what each column means.\n"
    for name in names:
        columns = rows(stele, f"describe {name}")
        text += f"\n## {name}\n\n" + table(("Column", "Type"), [(code(c["column_name"]), cell(c["column_type"])) for c in columns])
    return text


# ---- manual pages ---------------------------------------------------------------------------------------------

def unescape(text):
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "").replace("\\ ", " ").replace("\\(aq", "'").replace("\\(em", "—")


def troff(line, fonts):
    """A macro's arguments in fonts that take turns: .BI, .BR, .."""
    words = [q if q else w for q, w in re.findall(r'"((?:[^"])*)"|(\S+)', line)]
    if len(fonts) == 1:
        words = [" ".join(words)]
    return "".join({"B": "\\fB", "I": "\\fI", "R": "\\fR"}[fonts[i % len(fonts)]] + w for i, w in enumerate(words)) + "\\fR"


def html(text):
    """Troff's fonts as HTML, which does not care for what stands beside them."""
    out, tag = [], ""
    text = unescape(text.replace("\\fP", "\\fR"))
    for part in re.split(r"(\\f[BIR])", text):
        if re.fullmatch(r"\\f[BIR]", part):
            out.append(f"</{tag}>" if tag else "")
            tag = {"B": "b", "I": "i"}.get(part[2], "")
            out.append(f"<{tag}>" if tag else "")
        else:
            out.append(part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return "".join(out) + (f"</{tag}>" if tag else "")


def manual(path):
    """A manual page as Markdown, with its text as HTML. Knows the macros that ours use, and says so when there is another."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    name = os.path.basename(path)
    title, section = name.rsplit(".", 1)
    text, tag, raw = f"# {title}({section})\n", False, False
    for line in lines:
        macro, _, rest = line.partition(" ")
        if macro in (".TH", ".\\\""):
            continue
        if macro == ".SH":
            text += f"\n## {rest.strip(chr(34)).capitalize()}\n\n"
        elif macro in (".P", ".PP"):
            text += "\n"
        elif macro == ".br":
            text += "<br>\n"
        elif macro == ".TP":
            tag, text = True, text + "\n"
        elif macro in (".nf", ".fi"):
            raw = macro == ".nf"
        elif macro in (".B", ".I", ".BI", ".BR", ".IR", ".RI", ".RB", ".IB") or not line.startswith("."):
            shown = html(troff(rest, macro[1:]) if line.startswith(".") else line)
            text += (f"<p class=\"tag\">{shown}</p>\n\n" if tag else shown + ("<br>\n" if raw else "\n"))
            tag = False
        else:
            raise SystemExit(f"tools/guide.py: {path} has the macro {macro}, which is not known here")
    return text


def notebook():
    """The notebook's cells. python/tests runs them."""
    with open(NOTEBOOK, encoding="utf-8") as f:
        cells = json.load(f)["cells"]
    return "\n".join("".join(c["source"]) + "\n" if c["cell_type"] == "markdown" else "```python\n" + "".join(c["source"]) + "\n```\n" for c in cells)


# ---- the whole ---------------------------------------------------------------------------------------------------

def within(text, path, pages):
    """Links to files that are no pages of the guide become plain text: readers of HTML do not have them."""
    def link(m):
        target = m.group(2).split("#")[0]
        if "://" in m.group(2) or not target:
            return m.group(0)
        return m.group(0) if os.path.normpath(os.path.join(os.path.dirname(path), target)) in pages else m.group(1)
    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def stage(stele, to):
    """The sources of the guide, those that are generated too, in one folder: what the generator reads."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(SOURCE, to)
    with open(os.path.join(ROOT, "docs", "STATUS.md"), encoding="utf-8") as f:
        texts = [f.read(), notebook(), statements(stele), functions(stele), settings(stele), system_relations(stele), *(manual(os.path.join(ROOT, "docs", "man", m)) for m in MANUALS)]
    pages = dict(zip(GENERATED, texts, strict=True))
    known = set(pages) | {os.path.relpath(os.path.join(d, f), to) for d, _, names in os.walk(to) for f in names}
    for path, text in pages.items():
        os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
        with open(os.path.join(to, path), "w", encoding="utf-8") as f:
            f.write(within(text, path, known))


def build(stele, sources, out):
    """HTML; a warning is an error."""
    stage(stele, sources)
    return subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html", "-d", sources + ".cache", sources, out], check=False).returncode


def main():
    a = argparse.ArgumentParser(description="Builds the guide to HTML.")
    a.add_argument("--build", default="build")
    o = a.parse_args()
    out = os.path.join(os.path.abspath(o.build), "guide")
    rc = build(os.path.join(os.path.abspath(o.build), "stele"), out + ".src", out)
    if rc == 0:
        print(f"{os.path.relpath(out)}/index.html")
    return rc


if __name__ == "__main__":
    sys.exit(main())
