#!/usr/bin/env python3
"""`make install` into an empty directory: what is there, programs built against it by pkg-config and by CMake (the
examples, whose output is compared), what the libraries export, man pages and completions, and `make uninstall`, after
which nothing is left."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import ROOT, check, run, summary

PREFIX = "/opt/stele"

EXPECTED = ["bin/stele", "include/stele/stele.h", "lib/libstele.a", "lib/libstele.so", "lib/libstele.so.0", "lib/libstele.so.{version}",
            "lib/cmake/stele/stele-config.cmake", "lib/cmake/stele/stele-config-version.cmake", "lib/pkgconfig/stele.pc",
            "share/bash-completion/completions/stele", "share/fish/vendor_completions.d/stele.fish", "share/man/man1/stele.1",
            "share/man/man3/libstele.3", "share/zsh/site-functions/_stele"]


def header():
    with open(os.path.join(ROOT, "include", "stele", "stele.h"), encoding="utf-8") as f:
        return f.read()


def version():
    return re.search(r'^#define STELE_VERSION "(.*)"', header(), re.M).group(1)


def files(top):
    return sorted(os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names)


def installed(top, build):
    """The files of an install, and what they say of themselves."""
    rc, out = run(["make", "-s", "install", "-o", "build", f"BUILD={build}", f"PREFIX={PREFIX}", f"DESTDIR={top}"])
    check("make install", rc == 0 and not out, out)
    here = top + PREFIX
    wanted = sorted(f.format(version=version()) for f in EXPECTED)
    check("files", files(here) == wanted, f"{files(here)} instead of {wanted}")
    check("files elsewhere", files(top) == [os.path.relpath(os.path.join(here, f), top) for f in wanted], files(top))
    rc, out = run([here + "/bin/stele", "--version"])
    check("stele --version", rc == 0 and re.fullmatch(rf"stele {re.escape(version())}( \([0-9a-f]+\))?\n", out), out)
    rc, out = run(["readelf", "-d", here + "/lib/libstele.so"])
    check("SONAME", "[libstele.so.0]" in out, out)
    check("no RPATH", "RPATH" not in out and "RUNPATH" not in out, out)


def exported(here):
    """Both libraries export the functions of stele.h, and no other."""
    wanted = sorted(re.findall(r"^STELE_API [^(;]*?\b((?:stele_|AdbcDriver)\w+)\(", header(), re.M))
    check("functions of stele.h", len(wanted) == len(re.findall(r"^STELE_API", header(), re.M)) > 50, wanted)
    for what, cmd in (("libstele.so", ["nm", "-D", "--defined-only", here + "/lib/libstele.so"]), ("libstele.a", ["nm", "-g", "--defined-only", here + "/lib/libstele.a"])):
        rc, out = run(cmd)
        found = sorted(re.sub(r"@.*", "", name) for kind, name in re.findall(r"^\S+ (\w) (\S+)$", out, re.M) if kind != "A")
        check("symbols of " + what, found == wanted, sorted(set(found) ^ set(wanted)))


# Names that are the library's own, or libpg_query's, inside.
CLASH = """
#include <stele/stele.h>
int mem_alloc(void) { return 1; }
int err_set(void) { return 2; }
int pg_query_parse(void) { return 3; }
int palloc(void) { return 4; }
int raw_parser(void) { return 5; }
int main(void) {
    stele_db *db;
    if (stele_open(":memory:", 0, &db, 0) != STELE_OK) return 1;
    return mem_alloc() + err_set() + pg_query_parse() + palloc() + raw_parser() == 15 && stele_close(db, 0) == STELE_OK ? 0 : 1;
}
"""


def outputs(what, folder, env):
    """Runs the examples that were built in a folder."""
    for src in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
        name = os.path.splitext(os.path.basename(src))[0]
        with open(src[:-2] + ".out", encoding="utf-8") as f:
            wanted = f.read()
        rc, out = run([os.path.join(folder, name)], env)
        check(f"{name}, {what}", rc == 0 and out == wanted, f"exit status {rc}\n{out}")


def by_pkg_config(top, tmp):
    env = {"PKG_CONFIG_PATH": top + PREFIX + "/lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": top}
    rc, out = run(["pkg-config", "--modversion", "stele"], env)
    check("version by pkg-config", out.strip() == version(), out)
    flags, static = (run(["pkg-config", "--cflags", "--libs", *more, "stele"], env)[1].split() for more in ([], ["--static"]))
    os.mkdir(tmp + "/pc")
    compiler = ["cc", "-std=c17", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    for src in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
        rc, out = run([*compiler, src, *flags, "-pthread", "-o", os.path.join(tmp, "pc", os.path.basename(src)[:-2])])
        check(f"{os.path.basename(src)} by pkg-config", rc == 0 and not out, out)
    loads = {"LD_LIBRARY_PATH": top + PREFIX + "/lib"}
    outputs("pkg-config", tmp + "/pc", loads)
    with open(tmp + "/clash.c", "w", encoding="utf-8") as f:
        f.write(CLASH)
    static = [x if x != "-lstele" else "-l:libstele.a" for x in static]
    for what, libs in (("shared", flags), ("static", static)):
        rc, out = run(["cc", tmp + "/clash.c", *libs, "-o", tmp + "/clash"])
        rc, out = run([tmp + "/clash"], loads) if rc == 0 else (rc, out)
        check(f"a program with names of its own, {what}", rc == 0, out)
    if shutil.which("c++"):
        rc, out = run(["c++", "-x", "c++", "-std=c++17", "-c", *flags, "-o", tmp + "/cpp.o", "-"], input="#include <stele/stele.h>\nint main() { return stele_version()[0] == 0; }\n")
        check("C++", rc == 0, out)


def by_cmake(top, tmp):
    for what, option in (("CMake, shared", "OFF"), ("CMake, static", "ON")):
        folder = tmp + "/cmake-" + option
        rc, out = run(["cmake", "-S", "examples", "-B", folder, f"-DCMAKE_PREFIX_PATH={top}{PREFIX}", f"-DSTATIC={option}"])
        rc, out = run(["cmake", "--build", folder]) if rc == 0 else (rc, out)
        check(what, rc == 0 and "warning" not in out, out)
        outputs(what, folder, {})


OPTION = re.compile(r"(?<![\w./-])--?[A-Za-z](?:[a-z]|-(?=[a-z]))*(?![\w])")


def helped(*cmd):
    """The options that a program's --help names."""
    rc, out = run([*cmd, "--help"])
    check(" ".join([os.path.basename(cmd[0]), *cmd[1:], "--help"]), rc == 0, out)
    return set(OPTION.findall(out))


def accepted():
    """All options of the shell, those that --help does not list too, the names of formats, and options of .import."""
    found = {"--skip", "--tsv"}
    for src, pattern in (("main.c", r'^    \{(NULL|"-\S"), "(--[a-z-]+)"'), ("output.c", r'^    \{()"([a-z-]+)"')):
        with open(os.path.join(ROOT, "src", "shell", src), encoding="utf-8") as f:
            for brief, full in re.findall(pattern, f.read(), re.M):
                found |= {brief.strip('"'), full if full.startswith("--") else "--" + full}
    return found


def manuals(here, build):
    """Manual pages are well formed, and have the options that the programs' --help has, and no others."""
    if not shutil.which("groff"):
        print("skipped: man pages: groff is not installed")
        return
    bench, stele = os.path.join(ROOT, "docs", "man", "stele-bench.1"), here + "/bin/stele"
    of_stele = set().union(helped(stele), *(helped(stele, x) for x in ("dump", "restore", "check", "log", "doctor")))
    of_bench = helped(os.path.join(build, "release", "stele-bench"))
    pages = ((here + "/share/man/man1/stele.1", of_stele, of_stele | accepted()), (bench, of_bench, of_bench | {"-h", "--help"}), (here + "/share/man/man3/libstele.3", set(), {"--cflags", "--libs"}))
    for page, wanted, known in pages:
        name = os.path.basename(page)
        rc, out = run(["groff", "-man", "-ww", "-z", "-Tutf8", page])
        check(name, rc == 0 and not out, out)
        rc, out = run(["groff", "-man", "-Tascii", "-rHY=0", "-P-cbou", page])
        said = set(OPTION.findall(out))
        check(f"{name} has all options", not wanted - said, f"--help has also {sorted(wanted - said)}")
        long = {x for x in said if x.startswith("--")}
        check(f"{name} has no others", not long - known, f"{sorted(long - known)} are not known to the program")
    with open(here + "/share/man/man3/libstele.3", encoding="utf-8") as f:
        for name in re.findall(r"\bstele_\w+", f.read()):
            check("libstele.3: " + name, re.search(rf"\b{name}\b", header()), "is not in stele.h")


def options():
    """Those that --help names, of the shell, dump and doctor: in usage[], and the rows of the shell's options[] that have a help."""
    found = []
    for src in ("main.c", "dump.c", "doctor.c"):
        with open(os.path.join(ROOT, "src", "shell", src), encoding="utf-8") as f:
            text = f.read()
        usage = re.search(r"static const char usage\[\] =\s+(.*?);\n", text, re.S).group(1)
        names = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", usage))
        table = re.search(r"\} options\[\] = \{\n(.*?)\n\};", text, re.S)
        check(f"options[] of {src}", bool(table) == (src == "main.c"), "is not as expected")
        for row in re.findall(r"\{(.*?), \w+_option\}", table.group(1) if table else ""):
            brief, full, _, described = re.findall(r'NULL|"(?:\\.|[^"\\])*"', row)
            if described != "NULL":
                names.update(x.strip('"') for x in (brief, full) if x != "NULL")
        found.append(sorted(names))
    return found


def completions(here, tmp):
    paths = {"bash": "bash-completion/completions/stele", "zsh": "zsh/site-functions/_stele", "fish": "fish/vendor_completions.d/stele.fish"}
    for shell, path in paths.items():
        with open(os.path.join(here, "share", path), encoding="utf-8") as f:
            text = f.read()
        for option in sorted(set(sum(options(), []))):
            word = option if shell != "fish" else ("-l " if option.startswith("--") else "-s ") + option.lstrip("-")
            check(f"{shell}: {option}", re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), "is not completed")
        if shutil.which(shell):
            rc, out = run([shell, "-n", os.path.join(here, "share", path)])
            check(f"{shell} reads its completions", rc == 0 and not out, out)
        else:
            print(f"skipped: completions of {shell}: it is not installed")
    os.makedirs(tmp + "/words/some-data")
    for line, wanted in (("stele --cs", ["--csv"]), ("stele du", ["dump"]), ("stele dump --sch", ["--schema-only"]), ("stele calibrate --q", ["--quick"]), ("stele doctor --j", ["--json"]), ("stele doc", ["doctor"]), ("stele some", ["some-data"]), ("stele -v ", ["ON_ERROR_STOP=1"]),
                         ("stele --file some", ["some-data"]), ("stele -o some", ["some-data"]), ("stele --command so", []), ("stele -P so", [])):
        script = ('source "$1"; COMP_LINE=$2; COMP_WORDS=($2); [[ $2 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
                  'compopt() { :; }; _stele; printf "%s\\n" "${COMPREPLY[@]}"')
        rc, out = run(["bash", "-c", script, "-", os.path.join(here, "share", paths["bash"]), line], cwd=tmp + "/words")
        check(f"bash completes {line!r}", out.split() == wanted, out)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    o = a.parse_args()
    build = os.path.abspath(o.build)
    with tempfile.TemporaryDirectory() as tmp:
        top = tmp + "/root"
        installed(top, build)
        here = top + PREFIX
        exported(here)
        by_pkg_config(top, tmp)
        by_cmake(top, tmp)
        manuals(here, build)
        completions(here, tmp)
        with open(here + "/bin/other", "w", encoding="utf-8") as f:
            f.write("of another program\n")
        rc, out = run(["make", "-s", "uninstall", f"BUILD={build}", f"PREFIX={PREFIX}", f"DESTDIR={top}"])
        check("make uninstall", rc == 0 and not out, out)
        check("what is left", files(top) == [os.path.relpath(here + "/bin/other", top)], files(top))
        folders = sorted(d for d, _, _ in os.walk(here) if os.path.basename(d) == "stele" and d != here)
        check("folders that are left", folders == [], folders)
    return summary()


if __name__ == "__main__":
    sys.exit(main())
