#!/usr/bin/env python3
"""`stele doctor` in environments that lack something: what it finds, what it advises, its exit status, JSON."""
import json
import os

from program import Program

P = Program("doctor")
GOOD = {"PATH": os.environ["PATH"], "HOME": P.dir, "TMPDIR": P.dir, "STELE_CACHE_DIR": os.path.join(P.dir, "code"), "STELE_PROFILE": os.path.join(P.dir, "profile"), "LANG": "C.UTF-8", "STELE_DEVICES": "host"}


def doctor(*args, **env):
    """Findings as {topic: [finding]}, and the exit status. A value of None unsets."""
    merged = {k: v for k, v in {**GOOD, **env}.items() if v is not None}
    rc, out, err = P.sh("doctor", "--json", *args, env=merged)
    P.check("nothing on standard error", err == "", err)
    found = {}
    for f in json.loads(out)["findings"]:
        P.check(f"{f['topic']}: what to do is said of what is wrong", f["state"] == "ok" or f["topic"] in ("processors", "terminal") or f.get("advice"), f)
        found.setdefault(f["topic"], []).append(f)
    return found, rc


def one(found, topic, word):
    """The finding of a topic that has a word in it."""
    return next((f for f in found.get(topic, []) if word in f["found"]), {"state": "there is none", "found": json.dumps(found.get(topic)), "advice": "", "command": ""})


def everything():
    found, rc = doctor()
    P.check("topics", list(found) == ["processors", "memory", "devices", "code cache", "temporary files", "profile", "locale", "terminal"], list(found))
    for topic, word in (("processors", "instructions: "), ("memory", "memory_limit is"), ("devices", "cpu: "), ("code cache", P.dir), ("temporary files", P.dir), ("locale", "UTF-8")):
        P.check(f"{topic} is found", one(found, topic, word)["state"] != "there is none", found)
    P.check("the code cache is good", one(found, "code cache", P.dir)["state"] == "ok", found)
    P.check("the status follows the problems", rc == int(any(f["state"] == "problem" for fs in found.values() for f in fs)), (rc, found))


def compilers():
    empty = os.path.join(P.dir, "no-programs")
    os.mkdir(empty)
    found, _ = doctor(PATH=empty)
    f = one(found, "devices", "no C compiler")
    P.check("no compiler on PATH", f["state"] == "note" and "apt-get install gcc" in f["command"], f)
    f = one(doctor(STELE_CC="/nowhere/cc")[0], "devices", "STELE_CC")
    P.check("STELE_CC is no program", f["state"] == "note", f)


def cache():
    shared = os.path.join(P.dir, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o777)
    found, rc = doctor(STELE_CACHE_DIR=shared)
    f = one(found, "code cache", "can be written by everybody")
    P.check("a cache that others can write", f["state"] == "problem" and rc == 1 and "STELE_CACHE_DIR" in f["command"], f)
    with open(os.path.join(P.dir, "file"), "w", encoding="utf-8"):
        pass
    f = one(doctor(STELE_CACHE_DIR=os.path.join(P.dir, "file", "code"))[0], "code cache", "file")
    P.check("a cache that cannot be made", f["state"] == "problem", f)
    f = one(doctor(STELE_CACHE_DIR=None, HOME=None, XDG_CACHE_HOME=None)[0], "code cache", "HOME")
    P.check("no place for a cache", f["state"] == "problem", f)
    with open(os.path.join(GOOD["STELE_CACHE_DIR"], "0" * 32 + ".bin"), "wb") as out:
        out.write(bytes(5000))
    f = one(doctor()[0], "code cache", P.dir)
    P.check("its size", "4.9 kB" in f["found"], f)


def temporary_files():
    found, rc = doctor(TMPDIR="/nowhere/at/all")
    f = one(found, "temporary files", "/nowhere/at/all")
    P.check("TMPDIR is not there", f["state"] == "problem" and rc == 1 and "TMPDIR" in f["command"], f)
    if os.path.isdir("/dev/shm"):
        f = one(doctor(TMPDIR="/dev/shm")[0], "temporary files", "tmpfs")
        P.check("TMPDIR is in memory", f["state"] == "note", f)


def devices():
    found, _ = doctor()
    P.check("STELE_DEVICES leaves out", one(found, "devices", "cuda")["state"] == "note" and one(found, "devices", "cuda")["command"] == "unset STELE_DEVICES", found)
    fake = os.path.join(os.path.dirname(os.path.realpath(P.stele)), "libfake_cuda.so")
    if not os.path.exists(fake):
        print("skipped: NVRTC is missing: there is no libfake_cuda.so")
        return
    found, rc = doctor(STELE_DEVICES="host,cuda", STELE_LIBCUDA=fake, STELE_NVRTC="/nowhere/libnvrtc.so")
    f = one(found, "devices", "nvrtc")
    P.check("a driver without NVRTC", f["state"] == "problem" and rc == 1 and "nvidia-cuda-nvrtc" in f["command"], f)
    f = one(doctor(STELE_DEVICES="host,cuda", STELE_LIBCUDA=fake, STELE_NVRTC=fake)[0], "devices", "cuda:0")
    P.check("a driver with NVRTC", f["state"] == "ok", f)


def profile():
    f = one(doctor()[0], "profile", "not measured")
    P.check("no profile", f["state"] == "note" and "stele calibrate" in f["command"], f)
    with open(GOOD["STELE_PROFILE"], "w", encoding="utf-8") as out:
        out.write("this is no profile\n")
    found, rc = doctor()
    f = one(found, "profile", GOOD["STELE_PROFILE"])
    P.check("a malformed profile", f["state"] == "problem" and rc == 1, f)
    os.remove(GOOD["STELE_PROFILE"])


def system():
    f = one(doctor(LANG="C", LC_ALL=None)[0], "locale", "ANSI")
    P.check("not UTF-8", f["state"] == "note" and "UTF-8" in f["command"], f)
    P.check("no terminal", one(doctor()[0], "terminal", "elsewhere")["state"] == "ok")


def text():
    rc, out, err = P.sh("doctor", env={**GOOD, "TMPDIR": "/nowhere/at/all"})
    P.check("as text", rc == 1 and out.startswith("stele 0") and "\n!!  temporary files" in out and "export TMPDIR=" in out and out.rstrip().endswith("notes"), out + err)
    rc, out, err = P.sh("doctor", "--help")
    P.check("--help", rc == 0 and "--json" in out and not err, out + err)
    rc, out, err = P.sh("doctor", "--what")
    P.check("bad option", rc == 2 and "--what" in err and not out, out + err)
    found, _ = doctor(f"--disk={P.dir}")
    P.check("--disk", "MB/s" in one(found, "disk", P.dir)["found"], found)
    found, rc = doctor("--disk=/nowhere")
    P.check("--disk of nothing", rc == 1 and one(found, "disk", "/nowhere")["state"] == "problem", found)


P.run([("everything", everything), ("compilers", compilers), ("cache", cache), ("temporary files", temporary_files), ("devices", devices), ("profile", profile), ("system", system), ("text", text)])
P.end()
