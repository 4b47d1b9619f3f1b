"""What tests of installations and of the guide share: the checkout, counted checks, programs that are run."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
counts = [0, 0]  # of checks that failed, and that passed


def check(name, ok, said=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED {name}: {said}", flush=True)


def run(cmd, env=None, **more):
    p = subprocess.run(cmd, cwd=more.pop("cwd", ROOT), env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return p.returncode, p.stdout


def summary():
    """Prints the last line; the exit status."""
    print(f"{counts[1]} passed, {counts[0]} failed")
    return 1 if counts[0] else 0
