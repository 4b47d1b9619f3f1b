"""A private PostgreSQL 15 server for tests, and a connection to it through libpq (ctypes, no packages of Python's).

The server lives in a temporary directory, listens on a socket there only, writes nothing safely and ends with the test. PostgreSQL
refuses to run as root: then it runs as the user postgres.
"""
import ctypes
import ctypes.util
import glob
import os
import shutil
import subprocess
import tempfile


def find_bin():
    for d in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True):
        if os.path.exists(os.path.join(d, "initdb")):
            return d
    p = shutil.which("initdb")
    return os.path.dirname(os.path.realpath(p)) if p else None


def install():
    """Returns the folder of PostgreSQL's programs; installs the package when it is missing."""
    d = find_bin()
    if d:
        return d
    print("Installing: postgresql", flush=True)
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    sudo = [] if os.getuid() == 0 else ["sudo"]
    subprocess.run([*sudo, "apt-get", "update", "-qq"], env=env)
    subprocess.run([*sudo, "apt-get", "install", "-y", "-qq", "postgresql"], env=env, stdout=subprocess.DEVNULL)
    d = find_bin()
    if not d:
        raise SystemExit("PostgreSQL is not installed and could not be installed")
    return d


class Server:
    def __init__(self):
        self.bin = install()
        self.dir = tempfile.mkdtemp(prefix="stele-pg-")
        self.prefix = []
        if os.getuid() == 0:
            shutil.chown(self.dir, "postgres")
            os.chmod(self.dir, 0o755)
            self.prefix = ["runuser", "-u", "postgres", "--"]
        data = os.path.join(self.dir, "data")
        self.data = data
        self.run([os.path.join(self.bin, "initdb"), "-D", data, "--locale=C", "-E", "UTF8", "-A", "trust", "-U", "postgres", "--no-sync"])
        opts = f"-k {self.dir} -c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off -c timezone=UTC -c max_connections=20 -c jit=off"
        self.run([os.path.join(self.bin, "pg_ctl"), "-D", data, "-w", "-l", os.path.join(self.dir, "log"), "-o", opts, "start"])

    def run(self, cmd):
        p = subprocess.run([*self.prefix, *cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/")
        if p.returncode:
            raise SystemExit("cannot start PostgreSQL: " + p.stdout.decode("utf-8", "replace"))

    def stop(self):
        subprocess.run([*self.prefix, os.path.join(self.bin, "pg_ctl"), "-D", self.data, "-m", "immediate", "stop"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        shutil.rmtree(self.dir, ignore_errors=True)

    def connect(self, dbname="postgres"):
        return Conn(f"host={self.dir} user=postgres dbname={dbname}")


class Error(Exception):
    """fields: by PQresultErrorField's letters, "" where there is none."""

    def __init__(self, state, message, context="", fields=None):
        super().__init__(f"{state}: {message}")
        self.state, self.message, self.context, self.fields = state, message, context, fields or {}


class Result:
    """names, types (OID, modifier), rows of text or None, and the command tag."""

    def __init__(self, names, types, rows, tag):
        self.names, self.types, self.rows, self.tag = names, types, rows, tag


class Conn:
    def __init__(self, info):
        lib = ctypes.CDLL(ctypes.util.find_library("pq") or "libpq.so.5")
        vp, cp, ci = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
        for name, res, args in [
            ("PQconnectdb", vp, [cp]), ("PQstatus", ci, [vp]), ("PQerrorMessage", cp, [vp]), ("PQfinish", None, [vp]), ("PQexec", vp, [vp, cp]),
            ("PQresultStatus", ci, [vp]), ("PQresultErrorField", cp, [vp, ci]), ("PQclear", None, [vp]), ("PQntuples", ci, [vp]), ("PQnfields", ci, [vp]),
            ("PQfname", cp, [vp, ci]), ("PQftype", ctypes.c_uint, [vp, ci]), ("PQfmod", ci, [vp, ci]), ("PQgetvalue", cp, [vp, ci, ci]),
            ("PQgetisnull", ci, [vp, ci, ci]), ("PQcmdStatus", cp, [vp]), ("PQsetNoticeProcessor", vp, [vp, vp, vp]),
        ]:
            f = getattr(lib, name)
            f.restype, f.argtypes = res, args
        self.lib = lib
        self.c = lib.PQconnectdb(info.encode())
        if lib.PQstatus(self.c) != 0:
            raise SystemExit("cannot connect to PostgreSQL: " + lib.PQerrorMessage(self.c).decode())
        self.notices = []  # "NOTICE:  text", with lines of detail and hint; who wants to know empties it
        self.keep = ctypes.CFUNCTYPE(None, vp, cp)(lambda a, m: self.notices.append(m.decode().rstrip("\n")))
        lib.PQsetNoticeProcessor(self.c, ctypes.cast(self.keep, vp), None)

    def exec(self, sql):
        lib = self.lib
        r = lib.PQexec(self.c, sql.encode())
        try:
            st = lib.PQresultStatus(r)
            if st in (3, 4):  # COPY to the client is not used here
                raise Error("0A000", "COPY to or from the client")
            if st not in (0, 1, 2):
                raise Error((lib.PQresultErrorField(r, ord("C")) or b"XX000").decode(), (lib.PQresultErrorField(r, ord("M")) or lib.PQerrorMessage(self.c) or b"").decode(),
                            (lib.PQresultErrorField(r, ord("W")) or b"").decode(), {x: (lib.PQresultErrorField(r, ord(x)) or b"").decode() for x in "DHstcdn"})
            n, w = lib.PQntuples(r), lib.PQnfields(r)
            value, null, width = lib.PQgetvalue, lib.PQgetisnull, range(w)
            rows = [[v.decode() if (v := value(r, i, k)) or not null(r, i, k) else None for k in width] for i in range(n)]
            names = [lib.PQfname(r, k).decode() for k in range(w)]
            types = [(lib.PQftype(r, k), lib.PQfmod(r, k)) for k in range(w)]
            return Result(names, types, rows, lib.PQcmdStatus(r).decode())
        finally:
            lib.PQclear(r)

    def close(self):
        if self.c:
            self.lib.PQfinish(self.c)
        self.c = None
