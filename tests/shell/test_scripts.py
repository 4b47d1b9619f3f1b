#!/usr/bin/env python3
"""Scripts of the shell with the output that they must have.

psql/NAME.sql   run by psql too: NAME.out is what psql 15 prints to standard output, to the character
own/NAME.sql    what psql has not, or does otherwise: NAME.out is what stele prints
NAME.err        what stele prints to standard error (messages have a form of their own); without the file nothing

usage: test_scripts.py [--build DIR] [--record] [NAME...]     last line: N passed, N failed
--record writes the expectations anew: look at the difference before it is committed.
"""
import argparse
import difflib
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent"}


def run(cmd, folder, env=None):
    p = subprocess.run(cmd, cwd=folder, env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    return p.stdout.decode(), p.stderr.decode()


def with_stele(stele, script, folder):
    """In a folder of its own, where it may write."""
    shutil.copy(script, folder)
    return run([stele, "-X", "-q", "-f", os.path.basename(script)], folder)


def with_psql(server, script, folder):
    env = {"PGHOST": server.dir, "PGUSER": "postgres"}
    run(["psql", "-X", "-q", "-d", "postgres", "-c", "drop database if exists script", "-c", "create database script encoding 'UTF8' template template0"], folder, env)
    shutil.copy(script, folder)
    return run(["psql", "-X", "-q", "-d", "script", "-f", os.path.basename(script)], folder, env)[0]


def read(path):
    return open(path, encoding="utf-8").read() if os.path.exists(path) else ""


def write(path, text):
    if text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    elif os.path.exists(path):
        os.remove(path)


def record(scripts, stele):
    sys.path.insert(0, os.path.join(HERE, "..", "diff"))
    import pg
    server = pg.Server()
    try:
        for script in scripts:
            with tempfile.TemporaryDirectory(prefix="stele-scripts-") as folder:
                out, err = with_stele(stele, script, folder)
                if os.path.basename(os.path.dirname(script)) == "psql":
                    out = with_psql(server, script, folder)
            write(script[:-4] + ".out", out)
            write(script[:-4] + ".err", err)
    finally:
        server.stop()


def differs(script, stele):
    with tempfile.TemporaryDirectory(prefix="stele-scripts-") as folder:
        got = with_stele(stele, script, folder)
    lines = []
    for text, ending in zip(got, (".out", ".err")):
        want = read(script[:-4] + ending)
        if text != want:
            lines += difflib.unified_diff(want.splitlines(), text.splitlines(), os.path.basename(script)[:-4] + ending, "stele", lineterm="")
            lines += [] if lines else ["the last line break"]
    return lines


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--record", action="store_true")
    a.add_argument("names", nargs="*")
    o = a.parse_args()
    build = os.path.abspath(o.build)
    stele = next((p for p in (os.path.join(build, "stele"), os.path.join(build, "release", "stele")) if os.path.exists(p)), None)
    if not stele:
        raise SystemExit(f"no stele in {build}")
    scripts = [s for s in sorted(glob.glob(os.path.join(HERE, "psql", "*.sql")) + glob.glob(os.path.join(HERE, "own", "*.sql")))
               if not o.names or os.path.basename(s)[:-4] in o.names]
    if o.record:
        return record(scripts, stele)
    failed = 0
    for script in scripts:
        lines = differs(script, stele)
        failed += bool(lines)
        if lines:
            print(f"FAILED {os.path.relpath(script, HERE)}:\n" + "\n".join(lines[:80]), flush=True)
    print(f"{len(scripts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
