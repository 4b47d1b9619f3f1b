#!/usr/bin/env python3
"""The Debian packages: built twice with the same bytes, installed by dpkg into a root that has what they depend on and
nothing else, used there (chroot), and purged, after which nothing is left.

The root is made of this system's own packages, by name: the files of all that is depended on, however far, and their
records in dpkg's status. So a dependency that is missing is a program that does not start, and a name that does not
exist here is an error.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import ROOT, check, run, summary


def ask(*cmd):
    return subprocess.run(cmd, capture_output=True, text=True).stdout


def installed(name):
    return "ok installed" in ask("dpkg-query", "-W", "-f", "${Status}", name)


def provider(choice):
    """The installed package for one of `a | b`; virtual names are looked up among what is provided."""
    for alternative in choice.split("|"):
        name = re.match(r"[\w.+-]+", alternative.strip()).group(0)
        if installed(name):
            return name
    provides = ask("dpkg-query", "-W", "-f", "${Package}\t${Provides}\n")
    name = re.match(r"[\w.+-]+", choice.strip()).group(0)
    m = re.search(rf"^(\S+)\t.*\b{re.escape(name)}\b", provides, re.M)
    return m.group(1) if m else None


def closure(depends):
    """All packages that are depended on, however far."""
    wait, found, missing = [depends], {}, []
    while wait:
        for choice in filter(None, (x.strip() for x in wait.pop().split(","))):
            name = provider(choice)
            if not name:
                missing.append(choice)
            elif name not in found:
                found[name] = True
                wait.append(ask("dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}", name))
    return sorted(found), missing


def make_root(top, packages):
    """A directory with the files of the packages, and dpkg's records of them."""
    for folder in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "tmp", "etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
        os.makedirs(os.path.join(top, folder))
    for link in ("bin", "sbin", "lib", "lib64"):
        os.symlink("usr/" + link, os.path.join(top, link))
    os.chmod(top + "/tmp", 0o1777)
    with open(top + "/usr/bin/other", "w", encoding="utf-8") as f:  # dpkg removes folders that become empty
        f.write("of another package\n")
    for path in sorted({line for p in packages for line in ask("dpkg-query", "-L", p).splitlines()}):
        if "/share/" in path or "/etc/" in path or not os.path.lexists(path) or os.path.isdir(path) and not os.path.islink(path):
            continue
        target = os.path.join(top, os.path.relpath(os.path.realpath(os.path.dirname(path)), "/"), os.path.basename(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            shutil.copy2(path, target, follow_symlinks=False)
    with open(top + "/var/lib/dpkg/status", "w", encoding="utf-8") as f:
        for p in packages:
            f.write(ask("dpkg-query", "-s", p).rstrip("\n") + "\n\n")


def everything(top):
    return sorted(os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names if "/var/lib/dpkg" not in d)


def build(preset_dir, tmp):
    made = []
    for k in "12":
        rc, out = run(["tools/package-deb.sh", preset_dir, f"{tmp}/{k}"])
        check("tools/package-deb.sh", rc == 0, out)
        made.append(sorted(glob.glob(f"{tmp}/{k}/*.deb")))
    names = [os.path.basename(x).split("_")[0] for x in made[0]]
    check("packages", names == ["libstele-dev", "libstele0", "stele"], names)
    for a, b in zip(*made):
        with open(a, "rb") as x, open(b, "rb") as y:
            check("the same bytes: " + os.path.basename(a), x.read() == y.read(), "they differ")
    return dict(zip(names, made[0]))


def contents(debs, tmp):
    for name, path in debs.items():
        for field in ("Version", "Architecture", "Maintainer", "Installed-Size", "Depends", "Description"):
            check(f"{name}: {field}", ask("dpkg-deb", "-f", path, field).strip(), "is missing")
        rc, out = run(["dpkg-deb", "-x", path, f"{tmp}/x-{name}"])
        check("dpkg-deb -x " + name, rc == 0, out)
        listed = {os.path.relpath(f, f"{tmp}/x-{name}") for f in glob.glob(f"{tmp}/x-{name}/usr/share/doc/*/*")}
        check(f"{name}: documents", listed == {f"usr/share/doc/{name}/{f}" for f in ("changelog.Debian.gz", "copyright")}, listed)
        for f in everything(f"{tmp}/x-{name}"):
            if os.path.islink(f"{tmp}/x-{name}/{f}"):
                continue
            with open(f"{tmp}/x-{name}/{f}", "rb") as x:
                check(f"{name}: {f}", ROOT.encode() not in x.read(), "names the directory that it was built in")
    return ", ".join(ask("dpkg-deb", "-f", debs[n], "Depends").strip() for n in ("stele", "libstele0"))


def use(top, tmp):
    """Programs run inside the root."""
    inside = ["chroot", top] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot", top]
    env = {"HOME": "/tmp", "LD_LIBRARY_PATH": "", "TMPDIR": "/tmp"}
    rc, out = run([*inside, "/usr/bin/stele", "--csv", "-c", "select sum(i) from generate_series(1, 100) as i"], env)
    check("stele in the root", rc == 0 and "5050" in out, out)
    rc, out = run([*inside, "/usr/bin/stele", "/tmp/db", "-c", "create table t as select 'kept' as a"], env)
    rc, out = run([*inside, "/usr/bin/stele", "dump", "/tmp/db"], env) if rc == 0 else (rc, out)
    check("a directory in the root", rc == 0 and "kept" in out, out)
    shutil.rmtree(top + "/tmp/db", ignore_errors=True)
    multiarch = ask("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    pkg = {"PKG_CONFIG_LIBDIR": f"{top}/usr/lib/{multiarch}/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": top, "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
    flags = run(["pkg-config", "--cflags", "--libs", "stele"], pkg)[1].split()
    for src in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
        name = os.path.basename(src)[:-2]
        rc, out = run(["cc", "-std=c17", "-D_DEFAULT_SOURCE", src, *flags, "-pthread", "-o", f"{top}/tmp/{name}"])
        rc, out = run([*inside, "/tmp/" + name], env) if rc == 0 else (rc, out)
        with open(src[:-2] + ".out", encoding="utf-8") as f:
            check(f"{name} in the root", rc == 0 and out == f.read(), out)
        if os.path.exists(f"{top}/tmp/{name}"):
            os.remove(f"{top}/tmp/{name}")


def can_chroot():
    return os.geteuid() == 0 or subprocess.run(["unshare", "--map-root-user", "true"], capture_output=True).returncode == 0


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    preset_dir = os.path.join(os.path.abspath(a.parse_args().build), "release")
    missing = [x for x in ("dpkg-deb", "dpkg-shlibdeps", "dpkg-query") if not shutil.which(x)]
    if missing:
        print(f"skipped: packages: there is no {missing[0]}\n0 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory() as tmp:
        debs = build(preset_dir, tmp)
        if len(debs) == 3:
            depends = contents(debs, tmp)
            packages, absent = closure(re.sub(r"libstele\S*[^,]*,?", "", depends))
            check("dependencies", not absent, f"no package for {absent}")
            top = tmp + "/root"
            make_root(top, packages)
            before = everything(top)
            if can_chroot():
                dpkg = ["dpkg", "--root=" + top, "--log=/dev/null", *([] if os.geteuid() == 0 else ["--force-not-root"])]
                rc, out = run([*dpkg, "--install", debs["stele"], debs["libstele0"]])
                check("dpkg --install", rc == 0, out)
                rc, out = run([*dpkg, "--force-depends", "--install", debs["libstele-dev"]])  # -dev packages are not in the root
                check("dpkg --install libstele-dev", rc == 0, out)
                use(top, tmp)
                rc, out = run([*dpkg, "--purge", "stele", "libstele-dev", "libstele0"])
                check("dpkg --purge", rc == 0, out)
                check("what is left", everything(top) == before, sorted(set(everything(top)) ^ set(before)))
            else:
                print("skipped: packages in a root of their own: neither root nor unshare")
    return summary()


if __name__ == "__main__":
    sys.exit(main())
