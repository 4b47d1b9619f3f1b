#!/usr/bin/env python3
"""tools/install-deps.sh on systems that are made up: programs that say what dpkg-query, apt-cache and apt-get would, and
write down what they were asked for. Nothing is installed, and no network is needed."""
import os
import re
import shutil
import sys
import tempfile

from checks import ROOT, check, run, summary

DPKG_QUERY = """#!/bin/sh
for p; do :; done
line=$(grep "^$p " "$SYSTEM/installed") || exit 1
case "$*" in
*Version*) echo "${line#* }" ;;
*) echo "install ok installed" ;;
esac
"""
APT_CACHE = """#!/bin/sh
line=$(grep "^$2 " "$SYSTEM/available") || exit 0
printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' "$2" "${line#* }"
"""
APT_GET = """#!/bin/sh
echo "apt-get $*" >> "$SYSTEM/log"
"""
SUDO = """#!/bin/sh
exec "$@"
"""
MAKE_PG_QUERY = """#!/bin/sh
echo "make-pg-query $1" >> "$SYSTEM/log"
mkdir -p "$1"
touch "$1/libpg_query.a"
"""
with open(os.path.join(ROOT, "tools", "install-deps.sh"), encoding="utf-8") as script:
    BUILD = re.search(r'^need="([^"]*)"$', script.read(), re.M).group(1).split()
TEST = "ocl-icd-libopencl1 pocl-opencl-icd pkg-config groff-base dpkg-dev".split()


def system(tmp, name, installed, available):
    """A checkout with the script, and a PATH with programs for a system of these packages: {name: version}."""
    top = os.path.join(tmp, name)
    os.makedirs(top + "/tools")
    os.makedirs(top + "/bin")
    shutil.copy(os.path.join(ROOT, "tools", "install-deps.sh"), top + "/tools")
    for path, text in (("tools/make-pg-query.sh", MAKE_PG_QUERY), ("bin/dpkg-query", DPKG_QUERY), ("bin/apt-cache", APT_CACHE), ("bin/apt-get", APT_GET), ("bin/sudo", SUDO)):
        with open(os.path.join(top, path), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(os.path.join(top, path), 0o755)
    for path, packages in (("installed", installed), ("available", available)):
        with open(os.path.join(top, path), "w", encoding="utf-8") as f:
            f.writelines(f"{p} {v}\n" for p, v in packages.items())
    return top


def deps(top, *args):
    """What the script asked for."""
    log = top + "/log"
    if os.path.exists(log):
        os.remove(log)
    rc, out = run([top + "/tools/install-deps.sh", *args], {"SYSTEM": top, "PATH": top + "/bin:/usr/bin:/bin"}, cwd=top)
    check(f"{os.path.basename(top)} {args}: exit status", rc == 0, out)
    if not os.path.exists(log):
        return []
    with open(log, encoding="utf-8") as f:
        return f.read().splitlines()


def main():
    every = {p: "1" for p in BUILD + TEST}
    with tempfile.TemporaryDirectory() as tmp:
        top = system(tmp, "debian, all there", {**every, "libpg-query-dev": "15-4.0.0-2", "oclgrind": "21.10-3"}, {})
        check("nothing is missing", deps(top) == [] and deps(top, "test") == [])

        top = system(tmp, "debian, bare", {}, {**every, "libpg-query-dev": "15-4.0.0-2", "oclgrind": "21.10-3"})
        log = deps(top)
        check("what it builds with", log[-1:] and set(log[-1].split()[4:]) == {*BUILD, "libpg-query-dev"}, log)
        log = deps(top, "test")
        check("and is tested with", log[-1:] and set(log[-1].split()[4:]) == {*BUILD, *TEST, "libpg-query-dev", "oclgrind"}, log)

        top = system(tmp, "ubuntu, bare", {}, {**every, "libpg-query-dev": "16-5.1.0-2"})  # without oclgrind
        log = deps(top, "test")
        check("16 is not installed, 15 is built", log[-1:] == ["make-pg-query build/pg_query"] and set(log[-2].split()[4:]) == {*BUILD, *TEST}, log)
        shutil.copy(top + "/available", top + "/installed")
        check("the second time there is nothing to do", deps(top, "test") == [])

        top = system(tmp, "ubuntu, with 16", {**every, "libpg-query-dev": "16-5.1.0-2"}, {"libpg-query-dev": "16-5.1.0-2"})
        log = deps(top)
        check("16 that is installed does not do", log[-1:] == ["make-pg-query build/pg_query"] and not any("install" in x for x in log), log)
    return summary()


if __name__ == "__main__":
    sys.exit(main())
