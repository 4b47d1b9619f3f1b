"""What the TPC-H scripts share: data, queries, known answers, and a Stele shell driven through a pipe."""
import csv
import os
import re
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]


def generate(data_dir, scale, python):
    """Generates .tbl files with tpchgen-cli unless they are there already."""
    done = os.path.join(data_dir, ".complete")
    if os.path.exists(done):
        return
    os.makedirs(data_dir, exist_ok=True)
    tool = os.path.join(os.path.dirname(python), "tpchgen-cli")
    subprocess.run([tool, "-s", str(scale), "--output-dir", data_dir], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for t in TABLES:
        if not os.path.exists(os.path.join(data_dir, t + ".tbl")):
            raise SystemExit(f"tpchgen-cli made no {t}.tbl in {data_dir}")
    open(done, "w").close()


def tbl_bytes(data_dir):
    return sum(os.path.getsize(os.path.join(data_dir, t + ".tbl")) for t in TABLES)


def schema():
    with open(os.path.join(HERE, "schema.sql")) as f:
        return f.read()


def query(n):
    with open(os.path.join(HERE, "queries", f"q{n:02d}.sql")) as f:
        return f.read().strip().rstrip(";")


def answer(n, scale):
    path = os.path.join(HERE, "answers", f"sf{scale}", f"q{n:02d}.csv")
    with open(path, newline="") as f:
        rows = list(csv.reader(f, delimiter="|"))
    return rows[1:]


NUMBER = re.compile(r"^-?\d+(\.\d+)?([eE][-+]?\d+)?$")


def same_cell(got, want):
    got, want = got.strip(), want.strip()
    if got == want:
        return True
    if NUMBER.match(got) and NUMBER.match(want):
        # Known answers of averages and ratios come from doubles: compare with a relative tolerance.
        a, b = float(got), float(want)
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-3) or abs(a - b) <= 0.5e-6 * 1e-3
    return False


def verdict(got, want):
    """None when the rows agree in order, else a sentence."""
    if len(got) != len(want):
        return f"{len(got)} rows instead of {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if len(g) != len(w):
            return f"row {i + 1} has {len(g)} columns instead of {len(w)}"
        for k, (x, y) in enumerate(zip(g, w)):
            if not same_cell(x, y):
                return f"row {i + 1}, column {k + 1}: {x!r} instead of {y!r}"
    return None


class Shell:
    """A `stele` process that answers statements one by one; times are the shell's own (--timing)."""

    def __init__(self, stele, database=":memory:", options=()):
        self.p = subprocess.Popen([stele, database, "--csv", "--timing", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.n = 0

    def run(self, sql):
        """Runs one or more statements; returns (rows as lists of text, milliseconds). Raises on error."""
        self.n += 1
        mark = f"--end-{self.n}--"
        self.p.stdin.write(sql.rstrip().rstrip(";") + ";\n\\echo " + mark + "\n")
        self.p.stdin.flush()
        lines = []
        while True:
            line = self.p.stdout.readline()
            if not line:
                raise RuntimeError("the shell ended: " + "".join(lines)[-2000:])
            if line.rstrip("\n") == mark:
                break
            lines.append(line)
        ms = 0.0
        out = []
        for line in lines:
            m = re.match(r"^Time: ([0-9.]+) ms", line)
            if m:
                ms += float(m.group(1))
            elif line.startswith("ERROR"):
                raise RuntimeError("".join(lines))
            else:
                out.append(line)
        rows = list(csv.reader(out))
        return rows[1:] if rows else [], ms

    def rss_bytes(self):
        with open(f"/proc/{self.p.pid}/status") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def load(shell, data_dir, say=lambda *a: None):
    """Creates the tables and loads the files; returns seconds."""
    t0 = time.monotonic()
    for statement in schema().split(";"):
        if statement.strip():
            shell.run(statement)
    for t in TABLES:
        t1 = time.monotonic()
        shell.run(f"copy {t} from '{os.path.join(os.path.abspath(data_dir), t + '.tbl')}'")
        say(t, time.monotonic() - t1)
    return time.monotonic() - t0
