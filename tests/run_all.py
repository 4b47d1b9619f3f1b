#!/usr/bin/env python3
"""Runs everything that CI runs and ends with the line `N passed, N failed`.

Parts: unit tests, the SQL corpus in many configurations, TPC-H answers at scale 0.01, the differential test against
PostgreSQL, the shell's own tests, short fuzzing. With --preset asan|tsan: unit tests and corpus of that build.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PASSED = FAILED = 0

# One corpus, many configurations.
CONFIGS = [
    ("default", []),
    ("one thread", ["--threads", "1"]),
    ("vector 1", ["--set", "vector_size=1"]),
    ("vector 3", ["--set", "vector_size=3", "--set", "morsel_rows=7"]),
    ("vector 64", ["--set", "vector_size=64", "--set", "morsel_rows=100"]),
    ("little memory", ["--set", "memory_limit=48MB"]),
    ("tiny memory", ["--set", "memory_limit=24MB"]),
    ("rules off", ["--set", "disabled_rules=constant_folding,predicate_pushdown,outer_join_simplification,join_order,build_side,functional_dependencies,runtime_filters,common_subexpressions,zone_maps,top_n,or_factoring,dictionary_codes,value_ranges"]),
    ("constant hash", ["--set", "hash_constant=on"]),
    ("baseline instructions", ["--set", "instruction_set=baseline"]),
]


def count(name, passed, failed, seconds, output=""):
    global PASSED, FAILED
    PASSED += passed
    FAILED += failed
    print(f"  {name:45s} {passed:7d} passed {failed:5d} failed  {seconds:6.1f} s", flush=True)
    if failed:
        print("\n".join("      " + line for line in output.strip().splitlines()[-60:]), flush=True)


def run(cmd, timeout, env=None):
    t0 = time.monotonic()
    try:
        p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, env=env, cwd=ROOT)
        return p.returncode, p.stdout.decode("utf-8", "replace"), time.monotonic() - t0
    except subprocess.TimeoutExpired as e:
        return 124, (e.stdout or b"").decode("utf-8", "replace") + f"\ntimed out after {timeout} s", time.monotonic() - t0


def unit(build):
    for path in sorted(glob.glob(os.path.join(build, "tests", "test_*"))):
        if not os.access(path, os.X_OK):
            continue
        rc, out, s = run([path], 600)
        ok = len(re.findall(r"^\[       OK \]", out, re.M))
        bad = len(set(re.findall(r"^\[  FAILED  \] (\w+)", out, re.M)))
        if rc != 0 and bad == 0:
            bad = 1
        count(os.path.basename(path), ok, bad, s, out)


def corpus(build, configs):
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "sql", "**", "*.test"), recursive=True))
    for name, args in configs:
        use = files
        if name in ("vector 1", "constant hash"):  # quadratic, or a vector per row: not on large tables
            use = [f for f in use if "/big/" not in f]
        if name in ("constant hash", "tiny memory"):  # 180,000 rows: for the second, its tables alone are larger than the limit
            use = [f for f in use if not f.endswith("review_bulk.test")]
        rc, out, s = run([os.path.join(build, "slt"), *args, *use], 900)
        m = re.search(r"(\d+) passed, (\d+) failed\s*$", out)
        ok, bad = (int(m.group(1)), int(m.group(2))) if m else (0, 1)
        if rc != 0 and bad == 0:
            bad = 1
        count("corpus: " + name, ok, bad, s, out)


def script(name, cmd, timeout):
    rc, out, s = run(cmd, timeout)
    m = re.search(r"(\d+) passed, (\d+) failed\s*$", out)
    ok, bad = (int(m.group(1)), int(m.group(2))) if m else (0, 1)
    if rc != 0 and bad == 0:
        bad = 1
    count(name, ok, bad, s, out)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--preset", default="release")
    o = a.parse_args()
    build = os.path.join(os.path.abspath(o.build), o.preset)
    unit(build)
    if o.preset != "release":
        corpus(build, [c for c in CONFIGS if c[0] in ("default", "vector 3", "little memory")])
    else:
        corpus(build, CONFIGS)
        py = sys.executable
        script("TPC-H answers, scale 0.01", [py, "tests/tpch/check.py", "--build", o.build], 600)
        script("against PostgreSQL", [py, "tests/diff/diff.py", "--build", o.build, "--seconds", "90"], 900)
        script("shell", [py, "tests/shell/test_shell.py", "--build", o.build], 300)
        script("shell on a terminal", [py, "tests/shell/test_terminal.py", "--build", o.build], 300)
        script("fuzz", ["tests/fuzz/run.sh", os.path.abspath(o.build), "20"], 900)
    print(f"{PASSED} passed, {FAILED} failed")
    return 1 if FAILED else 0


sys.exit(main())
