"""make demo: TPC-H from nothing to 22 verified answers, with times."""
import argparse
import math
import os
import shutil
import sys
import time

import tpch


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--stele", required=True)
    a.add_argument("--data", required=True)
    a.add_argument("--scale", default="1")
    o = a.parse_args()
    t0 = time.monotonic()
    print(f"Generating TPC-H data at scale {o.scale} in {o.data} ...", flush=True)
    tpch.generate(o.data, o.scale, sys.executable)
    size = tpch.tbl_bytes(o.data)
    print(f"  {size / 1e6:,.0f} MB of .tbl files, {time.monotonic() - t0:.1f} s")
    db = os.path.join(os.path.dirname(o.data), f"demo-sf{o.scale}.stele")
    shutil.rmtree(db, ignore_errors=True)
    sh = tpch.Shell(o.stele, db)
    print("Loading ...", flush=True)
    s = tpch.load(sh, o.data, lambda t, x: print(f"  {t:10s} {x:6.2f} s", flush=True))
    print(f"  loaded in {s:.1f} s, resident memory {sh.rss_bytes() / 1e6:,.0f} MB ({sh.rss_bytes() / size:.2f} of the files)")
    print("\n  query      first         hot    rows  verdict")
    bad = 0
    hot = []
    for n in range(1, 23):
        try:
            rows, first = sh.run(tpch.query(n))
            ms = min(sh.run(tpch.query(n))[1] for _ in range(2))
            why = tpch.verdict(rows, tpch.answer(n, o.scale))
        except RuntimeError as e:
            rows, first, ms, why = [], 0, 0, str(e).strip()
            sh.close()
            sh = tpch.Shell(o.stele, db)
        hot.append(max(ms, 0.01))
        bad += why is not None
        print(f"  Q{n:<5d} {first:9.1f} ms {ms:8.1f} ms {len(rows):6d}  {'correct' if why is None else 'WRONG: ' + why}", flush=True)
    print(f"\n  total of 22: {sum(hot):.1f} ms, geometric mean {math.exp(sum(map(math.log, hot)) / 22):.2f} ms, {22 - bad} of 22 correct")
    print("Saving ...", flush=True)
    sh.close()
    print(f"Done in {time.monotonic() - t0:.0f} s. Open the shell on this data with:\n\n    {o.stele} {db}\n")
    return 1 if bad else 0


sys.exit(main())
