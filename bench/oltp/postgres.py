#!/usr/bin/env python3
"""TPC-B, one PL/pgSQL procedure per transaction, against PostgreSQL in the same run: pgbench with 8 clients, no waiting for the disk (synchronous_commit and fsync off),
then stele-bench with the same tables, procedure and scale, in memory and without a log.

  bench/oltp/postgres.py --build DIR [--scale 10] [--seconds 10] [--threads 2] [--bulk 16k] [--out FILE]
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))
import pg  # noqa: E402

SCRIPT = """\\set t random(1, 10 * {scale})
\\set a random(1, 100000 * {scale})
\\set d random(-999999, 999999)
CALL tpcb(:a, :t, (:t - 1) / 10 + 1, :d, 0, NULL);
"""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--scale", type=int, default=10)
    p.add_argument("--seconds", type=int, default=10)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--bulk", default="16k")
    p.add_argument("--out")
    o = p.parse_args()
    server = pg.Server()
    try:
        with open(os.path.join(ROOT, "bench", "oltp", "tpcb.sql")) as f:
            setup = f.read().replace(":scale", str(o.scale))
        psql = [os.path.join(server.bin, "psql"), "-h", server.dir, "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1"]
        subprocess.run(psql, input=setup + "ANALYZE;", text=True, check=True, stdout=subprocess.DEVNULL)
        script = os.path.join(server.dir, "tpcb.pgbench")
        with open(script, "w") as f:
            f.write(SCRIPT.format(scale=o.scale))
        os.chmod(script, 0o644)
        out = subprocess.run([os.path.join(server.bin, "pgbench"), "-h", server.dir, "-U", "postgres", "-n", "-M", "prepared", "-c", "8", "-j", str(o.threads), "-T", str(o.seconds), "-f", script,
                              "postgres"], capture_output=True, text=True, check=True).stdout
        theirs = float(re.search(r"tps = ([\d.]+)", out).group(1))
    finally:
        server.stop()
    out = subprocess.run([os.path.join(o.build, "stele-bench"), "tpcb", "--scale", str(o.scale), "--bulk", o.bulk, "--seconds", str(o.seconds), "--threads", str(o.threads)],
                         capture_output=True, text=True, check=True, cwd=ROOT).stdout
    ours = max(float(m.group(1)) for m in re.finditer(r"^ +\d+ +\w+ +(\d+) ", out, re.M))
    print(out)
    print(f"TPC-B, scale {o.scale}, {o.threads} threads: PostgreSQL {theirs:,.0f} transactions/s, Stele {ours:,.0f}, {ours / theirs:.0f} times")
    if o.out:
        with open(o.out, "w") as f:
            json.dump({"benchmark": "TPC-B, one PL/pgSQL procedure per transaction, no durability on either side", "scale": o.scale, "threads": o.threads, "bulk": o.bulk,
                       "postgresql_tps": theirs, "stele_tps": ours, "ratio": ours / theirs}, f, indent=1)


main()
