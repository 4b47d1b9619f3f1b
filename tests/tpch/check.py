"""The 22 TPC-H answers at scale 0.01, on several configurations.

With --devices also on devices: compiled by the system's C compiler, on OpenCL (skipped with a message where there is no device), always with
device_strict, so that every segment runs there; with restarts of every operator, little device memory, and each way of moving data.
--scale and --executors are for machines with a GPU (tests/device/run.sh).
"""
import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "tpch"))
import tpch  # noqa: E402

RULES = ["", "join_order,build_side", "runtime_filters,functional_dependencies", "dictionary_codes", "value_ranges", "predicate_pushdown,or_factoring"]
ALL = tuple(range(1, 23))
SOME = (1, 3, 6, 9, 13, 16, 18, 21)
OTHER_KERNELS = ("no dictionary codes", "no value ranges")  # not on OpenCL: the same C, and its compiler takes a minute more
# name, settings, queries
DEVICE_CONFIGS = [
    ("plain", {}, ALL),
    ("again, all cached", {}, ALL),
    ("restarts", {"device_initial_rows": "1"}, ALL),
    ("serial", {"device_residence": "serial"}, SOME),
    ("streamed", {"device_residence": "streamed"}, SOME),
    ("little device memory", {"device_memory_limit": "64MB", "device_strict": "off"}, SOME),
    ("mapped", {"device_residence": "mapped"}, SOME),
    ("no dictionary codes", {"disabled_rules": "dictionary_codes"}, SOME),
    ("no value ranges", {"disabled_rules": "value_ranges", "device_strict": "off"}, SOME),
]


class Count:
    ok = bad = 0


def check(sh, n, what, scale):
    try:
        rows, _ = sh.run(tpch.query(n))
        why = tpch.verdict(rows, tpch.answer(n, scale))
    except RuntimeError as e:
        why = str(e)
    Count.ok += why is None
    Count.bad += why is not None
    if why:
        print(f"Q{n} ({what}): {why}")


def on_device(sh, device, executor, configs, scale):
    for name, value in (("device", device), ("device_strict", "on"), ("device_wait", "on")):
        sh.run(f"set {name} = '{value}'")
    try:
        sh.run(f"set executor = '{executor}'")
    except RuntimeError as e:
        print(f"skipped: executor {executor}: {' '.join(str(e).split())}")
        return
    for name, sets, queries in configs:
        for k, v in sets.items():
            sh.run(f"set {k} = '{v}'")
        for n in queries:
            check(sh, n, f"{device}, {executor}, {name}", scale)
        for k in sets:
            sh.run("set device_strict = on" if k == "device_strict" else f"reset {k}")


def missing(sh, device):
    """Why the device cannot be used, or None."""
    rows, _ = sh.run("show devices")  # device, name, state, ...
    for r in rows:
        if r and r[0] == device:
            return None if r[2] == "ready" else r[2]
    return "; ".join(f"{r[0]}: {r[2]}" for r in rows if r and r[0].startswith(device.split(":")[0])) or "SHOW devices does not list it"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--devices", default="", help="instead of the virtual machine: devices, with commas (cpu,opencl:0)")
    a.add_argument("--stele", help="the program, instead of BUILD/stele")
    a.add_argument("--scale", default="0.01")
    a.add_argument("--executors", default="compiled", help="with --devices: with commas; those after the first run the plain configuration only")
    o = a.parse_args()
    data = os.path.join(o.build, "tpch", "sf" + o.scale)
    tpch.generate(data, o.scale, sys.executable)
    sh = tpch.Shell(o.stele or os.path.join(o.build, "stele"))
    tpch.load(sh, data)
    if o.devices:
        for device in o.devices.split(","):
            why = None if device == "cpu" else missing(sh, device)
            if why:
                print(f"skipped: {device}: {why}")
            else:
                configs = [c for c in DEVICE_CONFIGS if not (device.startswith("opencl") and c[0] in OTHER_KERNELS)]
                for i, executor in enumerate(o.executors.split(",")):
                    on_device(sh, device, executor, configs if i == 0 else configs[:2], o.scale)
    else:
        for rules in RULES:
            for vector in (1024, 5) if rules == "" else (1024,):
                sh.run(f"set disabled_rules = '{rules}'")
                sh.run(f"set vector_size = {vector}")
                for n in ALL:
                    check(sh, n, f"rules off: {rules or 'none'}, vector {vector}", o.scale)
    sh.close()
    print(f"{Count.ok} passed, {Count.bad} failed")
    return Count.bad > 0


sys.exit(main())
