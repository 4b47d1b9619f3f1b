"""What tests of the program share: where it is, a directory of their own, running it, and counting checks."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile


class Program:
    """`stele` of the build folder that --build names, run in a directory that goes at the end."""

    def __init__(self, name):
        a = argparse.ArgumentParser()
        a.add_argument("--build", default="build")
        self.build = os.path.abspath(a.parse_args().build)
        places = (os.path.join(self.build, "stele"), os.path.join(self.build, "release", "stele"))
        self.stele = next((p for p in places if os.path.exists(p)), None)
        if not self.stele:
            raise SystemExit(f"no stele in {self.build}")
        self.dir = tempfile.mkdtemp(prefix=f"stele-{name}-")
        self.passed = self.failed = 0

    def sh(self, *args, stdin="", timeout=600, **more):
        """Exit status, output, errors."""
        p = subprocess.run([self.stele, *args], input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, cwd=self.dir, **more)
        return p.returncode, p.stdout.decode(), p.stderr.decode()

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def files(self, name):
        """All bytes below a directory, by the names of files."""
        out = {}
        for where, _, names in os.walk(self.path(name)):
            for n in names:
                full = os.path.join(where, n)
                with open(full, "rb") as f:
                    out[os.path.relpath(full, self.path(name))] = f.read()
        return out

    def check(self, name, ok, got=""):
        if ok:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}: {str(got)[:1500]}", flush=True)

    def run(self, parts):
        """All parts, by name: one that is broken does not hide the others."""
        for name, part in parts:
            try:
                part()
            except Exception as e:
                self.check(name, False, repr(e))

    def end(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)
