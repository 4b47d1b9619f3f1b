#!/usr/bin/env python3
"""TPC-B, TPC-C or TM-1, one PL/pgSQL procedure per transaction, against PostgreSQL in the same run: pgbench with 8 clients, no waiting for the disk (synchronous_commit and fsync off),
then stele-bench with the same tables, procedures and scale, in memory and without a log.

PostgreSQL gets what helps it: indexes by last name and by customer for TPC-C (Stele makes its own for what procedures look for), calls that succeed (pgbench ends a client whose call fails: items are always valid in TPC-C; of TM-1 the four
procedures whose keys can be told to exist, on both sides in these shares), and READ COMMITTED where Stele's bulks are serializable.

  bench/oltp/postgres.py --build DIR [--benchmark tpcb] [--scale 10] [--seconds 10] [--threads 2] [--bulk 16k] [--set SQL] [--same] [--out FILE]

With --same PostgreSQL has no indexes but those of the tables' keys.
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

# weight, script
TPCB = [(1, """\\set t random(1, 10 * {scale})
\\set a random(1, 100000 * {scale})
\\set d random(-999999, 999999)
CALL tpcb(:a, :t, (:t - 1) / 10 + 1, :d, 0, NULL);
""")]
W_D = "\\set w random(1, {scale})\n\\set d random(1, 10)\n"
CUSTOMER = "\\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1\n"
NAME = "\\set n ((random(0, 255) | random(0, 999)) + 123) % 1000\n"
NOW = "timestamp '2026-01-02'"


def new_order(lines):
    s = W_D + CUSTOMER
    for i in range(lines):
        s += f"\\set i{i} ((random(0, 8191) | random(1, 100000)) + 7911) % 100000 + 1\n\\set q{i} random(1, 10)\n"
        s += f"\\set s{i} case when random(1, 100) = 1 then random(1, {{scale}}) else :w end\n"
    lists = [", ".join(f":{x}{i}" for i in range(lines)) for x in "isq"]
    return s + f"CALL new_order(:w, :d, :c, ARRAY[{lists[0]}]::int[], ARRAY[{lists[1]}]::int[], ARRAY[{lists[2]}]::int[], {NOW}, NULL, NULL, NULL, NULL, NULL);\n"


PAY = "\\set p random(100, 500000)\n\\set cw case when random(1, 100) <= 85 then :w else random(1, {scale}) end\n\\set cd case when :cw = :w then :d else random(1, 10) end\n"
TPCC = [(450, new_order(n)) for n in range(5, 16)] + [  # 45 % in all, by 11 scripts
    (43 * 11 * 4, W_D + CUSTOMER + PAY + f"CALL payment(:w, :d, :cw, :cd, :c, '', :p / 100.0, {NOW}, NULL, NULL);\n"),
    (43 * 11 * 6, W_D + NAME + PAY + f"CALL payment(:w, :d, :cw, :cd, 0, last_name(:n::int), :p / 100.0, {NOW}, NULL, NULL);\n"),
    (4 * 11 * 4, W_D + CUSTOMER + "CALL order_status(:w, :d, :c, '', NULL, NULL, NULL, NULL, NULL, NULL);\n"),
    (4 * 11 * 6, W_D + NAME + "CALL order_status(:w, :d, 0, last_name(:n::int), NULL, NULL, NULL, NULL, NULL, NULL);\n"),
    (4 * 11 * 10, W_D + f"\\set k random(1, 10)\nCALL delivery(:w, :k, {NOW}, NULL);\n"),
    (4 * 11 * 10, W_D + "\\set t random(10, 20)\nCALL stock_level(:w, :d, :t, NULL);\n")]
S = "\\set s random(1, 1000 * {scale})\n"
TM1 = [(35, S + "CALL get_subscriber_data(:s" + ", NULL" * 33 + ");\n"),
       (35, S + "\\set t random(1, 1 + :s % 4)\nCALL get_access_data(:s, :t::smallint, NULL, NULL, NULL, NULL);\n"),
       (2, S + "\\set t random(1, 1 + :s % 1000 * 7 % 4)\n\\set b random(0, 1)\n\\set d random(0, 255)\nCALL update_subscriber_data(:s, :b::smallint, :t::smallint, :d::smallint);\n"),
       (14, S + "\\set v random(0, 999999)\nCALL update_location(lpad(:s::text, 15, '0'), :v::int);\n")]
TPCC_MORE = """CREATE INDEX ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE INDEX ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE FUNCTION last_name(n int) RETURNS varchar IMMUTABLE LANGUAGE sql AS $$
  SELECT (s[n / 100 + 1] || s[n / 10 % 10 + 1] || s[n % 10 + 1])::varchar FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS s) AS x $$;
"""
# what it is called, scripts, more of the set-up, the mix of stele-bench
BENCHMARKS = {"tpcb": ("TPC-B", TPCB, "", None), "tpcc": ("TPC-C full mix", TPCC, TPCC_MORE, "45/43/4/4/4"), "tm1": ("TM-1, four of its procedures", TM1, "", "35/0/35/2/14/0/0")}


def postgres(o, scripts, more):
    """Transactions per second of pgbench, and how many failed (deadlocks)."""
    server = pg.Server()
    try:
        with open(os.path.join(ROOT, "bench", "oltp", o.benchmark + ".sql")) as f:
            setup = re.sub(r"\s*WITH \(expected_rows = \d+\)", "", f.read().replace(":scale", str(o.scale)))
        psql = [os.path.join(server.bin, "psql"), "-h", server.dir, "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1"]
        subprocess.run(psql, input=setup + more + "ANALYZE; CHECKPOINT;", text=True, check=True, stdout=subprocess.DEVNULL)
        files = []
        for k, (weight, text) in enumerate(scripts):
            script = os.path.join(server.dir, f"{k}.pgbench")
            with open(script, "w") as f:
                f.write(text.replace("{scale}", str(o.scale)))
            os.chmod(script, 0o644)
            files += ["-f", f"{script}@{weight}"]
        p = subprocess.run([os.path.join(server.bin, "pgbench"), "-h", server.dir, "-U", "postgres", "-n", "-M", "prepared", "-c", "8", "-j", str(o.threads), "-T", str(o.seconds), *files,
                            "postgres"], capture_output=True, text=True)
        tps = re.search(r"^tps = ([\d.]+)", p.stdout, re.M)
        if p.returncode or not tps:
            raise SystemExit("pgbench: " + (p.stderr or p.stdout)[-600:])
        failed = re.search(r"failed transactions: (\d+)", p.stdout)
        return float(tps.group(1)), int(failed.group(1)) if failed else 0
    finally:
        server.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--benchmark", choices=list(BENCHMARKS), default="tpcb")
    p.add_argument("--scale", type=int, default=10)
    p.add_argument("--seconds", type=int, default=10)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--bulk", default="16k")
    p.add_argument("--set", default="")
    p.add_argument("--same", action="store_true")
    p.add_argument("--out")
    o = p.parse_args()
    what, scripts, more, mix = BENCHMARKS[o.benchmark]
    if o.same:
        more = re.sub(r"CREATE INDEX .*\n", "", more)
    theirs, failed = postgres(o, scripts, more)
    print(f"PostgreSQL {theirs:,.0f} transactions/s, {failed} failed", flush=True)
    point = f"label={o.benchmark} bulk={o.bulk} seconds={o.seconds}" + (f" mix={mix}" if mix else "")
    out = subprocess.run([os.path.join(o.build, "stele-bench"), o.benchmark, "--scale", str(o.scale), "--threads", str(o.threads), *(["--set", o.set] if o.set else []), "--point", point],
                         capture_output=True, text=True, check=True, cwd=ROOT).stdout
    ours = max(float(m.group(1)) for m in re.finditer(r"^ +\d+ +\w+ +(\d+) ", out, re.M))
    print(out)
    print(f"{what}, scale {o.scale}, {o.threads} threads: PostgreSQL {theirs:,.0f} transactions/s, Stele {ours:,.0f}, {ours / theirs:.0f} times")
    if o.out:
        with open(o.out, "w") as f:
            json.dump({"benchmark": what + ", one PL/pgSQL procedure per transaction, no durability on either side", "scale": o.scale, "threads": o.threads, "bulk": o.bulk, "settings": o.set, "indexes": "those of keys" if o.same else "those of keys, and what helps PostgreSQL",
                       "postgresql_tps": theirs, "postgresql_failed": failed, "stele_tps": ours, "ratio": ours / theirs}, f, indent=1)


main()
