"""The 22 TPC-H answers at scale 0.01, on several configurations."""
import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "tpch"))
import tpch  # noqa: E402

RULES = ["", "join_order,build_side", "runtime_filters,functional_dependencies", "dictionary_codes", "value_ranges", "predicate_pushdown,or_factoring"]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    o = a.parse_args()
    data = os.path.join(o.build, "tpch", "sf0.01")
    tpch.generate(data, "0.01", sys.executable)
    sh = tpch.Shell(os.path.join(o.build, "stele"))
    tpch.load(sh, data)
    ok = bad = 0
    for rules in RULES:
        for vector in (1024, 5) if rules == "" else (1024,):
            sh.run(f"set disabled_rules = '{rules}'")
            sh.run(f"set vector_size = {vector}")
            for n in range(1, 23):
                try:
                    rows, _ = sh.run(tpch.query(n))
                    why = tpch.verdict(rows, tpch.answer(n, "0.01"))
                except RuntimeError as e:
                    why = str(e)
                ok += why is None
                bad += why is not None
                if why:
                    print(f"Q{n} (rules off: {rules or 'none'}, vector {vector}): {why}")
    sh.close()
    print(f"{ok} passed, {bad} failed")
    return bad > 0


sys.exit(main())
