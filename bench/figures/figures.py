"""Figures of queries, types and definitions beside DuckDB and PostgreSQL, in turns. See README.md.

    figures.py [--only rollup,graph,json,wide,tables] [--build build] [--rows N] [--edges N] [--documents N]
               [--runs 3] [--threads 2] [--pg DIR] [--json OUT]

Both sides have the same rows in memory and give the same answers, which are compared.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PG_PORT = 54391


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def open_stele(o, path=None):
    os.environ["STELE_LIBRARY"] = os.path.join(os.path.abspath(o.build), "release", "libstele.so.0")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import stele
    con = stele.connect(path, autocommit=True) if path else stele.connect(autocommit=True)
    con.execute(f"SET threads = {o.threads}")
    return con


def open_duckdb(o):
    import duckdb
    return duckdb.connect(config={"threads": o.threads})


class Postgres:
    """A server of its own, in a folder that goes with it; one process computes."""

    def __init__(self, bindir):
        import psycopg2
        self.dir = tempfile.mkdtemp(prefix="figures_pg_")
        shutil.chown(self.dir, "postgres") if os.getuid() == 0 else None
        as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        self.ctl = as_user + [f"{bindir}/pg_ctl", "-D", f"{self.dir}/db", "-l", f"{self.dir}/log"]
        subprocess.run(as_user + [f"{bindir}/initdb", "-D", f"{self.dir}/db", "-U", "bench", "--locale=C", "-E", "UTF8"],
                       check=True, stdout=subprocess.DEVNULL)
        options = f"-p {PG_PORT} -k {self.dir} -c shared_buffers=2GB -c fsync=off -c max_parallel_workers_per_gather=0"
        subprocess.run(self.ctl + ["-o", options, "-w", "start"], check=True, stdout=subprocess.DEVNULL)
        self.con = psycopg2.connect(host=self.dir, port=PG_PORT, user="bench", dbname="postgres")
        self.con.autocommit = True
        self.pid = self.con.get_backend_pid()

    def execute(self, sql):
        c = self.con.cursor()
        c.execute(sql)
        return c

    def cpu(self):
        with open(f"/proc/{self.pid}/stat") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.con.close()
        subprocess.run(self.ctl + ["-m", "fast", "stop"], stdout=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)


def plain(rows):
    return sorted(tuple("" if v is None else str(v).rstrip("0").rstrip(".") if "." in str(v) else str(v) for v in r)
                  for r in rows)


def both(name, o, stele, other, other_name, sql, other_sql=None, cpu_of=cpu):
    """Runs in turns; medians of wall and processor time."""
    out = {"stele": {"wall": [], "cpu": []}, other_name: {"wall": [], "cpu": []}}
    answers = {}
    for _ in range(o.runs):
        for side, con, text, clock in (("stele", stele, sql, cpu), (other_name, other, other_sql or sql, cpu_of)):
            c, t = clock(), time.perf_counter()
            answers[side] = con.execute(text).fetchall()
            out[side]["wall"].append(time.perf_counter() - t)
            out[side]["cpu"].append(clock() - c)
    same = plain(answers["stele"]) == plain(answers[other_name])
    m = {s: {k: statistics.median(v) for k, v in x.items()} for s, x in out.items()}
    ratio = {k: m["stele"][k] / max(m[other_name][k], 1e-9) for k in ("wall", "cpu")}
    print(f"{name:34} {m['stele']['wall'] * 1e3:9.1f} ms {m[other_name]['wall'] * 1e3:9.1f} ms  wall {ratio['wall']:5.2f}"
          f"  cpu {ratio['cpu']:5.2f} of {other_name}{'' if same else '  DIFFERENT ANSWERS'}", flush=True)
    return {**out, "ratio": ratio, "same": same}


def rollup(o):
    stele, duck = open_stele(o), open_duckdb(o)
    rows = ("SELECT i::int AS i, (i * 7919 % 25)::int AS a, (i * 104729 % 100)::int AS b, (i * 1299709 % 40)::int AS c, "
            "(i * 15485863 % 1000)::int AS v FROM {} ")
    stele.execute("CREATE TABLE f AS " + rows.format(f"generate_series(1::bigint, {o.rows}) g(i)"))
    duck.execute("CREATE TABLE f AS " + rows.format(f"range(1, {o.rows} + 1) g(i)"))
    text = "SELECT a, b, c, sum(v), count(*) FROM f GROUP BY {}(a, b, c)"
    return {k.lower(): both(f"{k} over three columns", o, stele, duck, "duckdb",
                            f"SELECT count(*), sum(s), sum(n) FROM ({text.format(k)}) t(a, b, c, s, n)")
            for k in ("ROLLUP", "CUBE")}


def graph(o):
    stele, duck = open_stele(o), open_duckdb(o)
    nodes = o.edges // 10
    edge = f"SELECT (i * 7919 % {nodes})::int AS a, (i * 104729 / 10 % {nodes})::int AS b FROM "
    stele.execute("CREATE TABLE e AS " + edge + f"generate_series(1::bigint, {o.edges}) g(i)")
    duck.execute("CREATE TABLE e AS " + edge.replace("104729 / 10", "104729 // 10") + f"range(1, {o.edges} + 1) g(i)")
    text = ("WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.b FROM r JOIN e ON e.a = r.n) "
            "SELECT count(*), sum(n) FROM r")
    return both("nodes that can be reached", o, stele, duck, "duckdb", text)


def documents(o):
    stele, pg = open_stele(o), Postgres(o.pg)
    make = ("CREATE TABLE d AS SELECT i, jsonb_build_object('id', i, 'name', 'name ' || i, 'tags', "
            "jsonb_build_array(i % 7, i % 11, 'x' || i % 13), 'place', jsonb_build_object('city', 'c' || i % 100, 'zip', "
            "i % 10000), 'price', (i % 1000) / 10.0, 'open', i % 2 = 0) AS j FROM generate_series(1, {}) g(i)")
    out = {}
    try:
        for c in (stele, pg):
            c.execute(make.format(o.documents))
        pg.execute("VACUUM ANALYZE d")
        stele.execute("SET threads = 1")
        for name, sql in (("a field", "SELECT sum((j->>'id')::int) FROM d"),
                          ("a field of a field", "SELECT count(*) FROM d WHERE j->'place'->>'city' = 'c7'"),
                          ("an element", "SELECT count(DISTINCT j->'tags'->>2) FROM d"),
                          ("contains", "SELECT count(*) FROM d WHERE j @> '{\"place\": {\"city\": \"c7\"}}'"),
                          ("groups", "SELECT j#>>'{place,city}', sum((j->>'price')::numeric) FROM d GROUP BY 1"),
                          ("a path", "SELECT count(*) FROM d WHERE j @? '$.tags[*] ? (@ == 3)'")):
            out[name] = both(f"jsonb: {name}", o, stele, pg, "postgresql", sql, cpu_of=pg.cpu)
            out[name]["cpu_of"] = "the connection's process"
    finally:
        pg.close()
    return out


def statements(name, o, con, list_of):
    """Median and first time of each statement, of five."""
    out = {}
    for what, sql in list_of:
        times = []
        for k in range(5):
            c, t = cpu(), time.perf_counter()
            r = con.execute(sql.format(k=k))
            if r is not None and sql.startswith("SELECT"):
                r.fetchall()
            times.append((time.perf_counter() - t, cpu() - c))
        wall, busy = (statistics.median(x) for x in zip(*times))
        out[what] = {"wall": wall, "cpu": busy, "first": times[0][0]}
        print(f"{name}: {what:32} {wall * 1e3:8.2f} ms, cpu {busy * 1e3:8.2f} ms, first {times[0][0] * 1e3:8.2f} ms",
              flush=True)
    return out


def opened(name, o, path):
    c, t = cpu(), time.perf_counter()
    con = open_stele(o, path)
    con.execute("SELECT 1").fetchall()
    wall, busy = time.perf_counter() - t, cpu() - c
    print(f"{name}: opens in {wall * 1e3:.1f} ms, cpu {busy * 1e3:.1f} ms", flush=True)
    return con, {"wall": wall, "cpu": busy}


def wide(o):
    path = tempfile.mkdtemp(prefix="figures_") + "/db"
    con = open_stele(o, path)
    n = 1600
    con.execute(f"CREATE TABLE w ({', '.join(f'c{i} int' for i in range(n))}, PRIMARY KEY (c0))")
    con.execute(f"INSERT INTO w SELECT {', '.join(f'g + {i}' for i in range(n))} FROM generate_series(1, 1000) x(g)")
    con.close()
    con, start = opened("1,600 columns", o, path)
    out = statements("1,600 columns", o, con, [
        ("SELECT * of a row", "SELECT * FROM w WHERE c0 = 500 + {k}"),
        ("SELECT of a column", "SELECT sum(c777) FROM w"),
        ("INSERT", f"INSERT INTO w VALUES ({', '.join(['5000 + {k}'] * n)})"),
        ("UPDATE", "UPDATE w SET c1599 = {k} WHERE c0 = 7"),
        ("DELETE", "DELETE FROM w WHERE c0 = 10 + {k}"),
        ("ALTER TABLE ADD and DROP", "ALTER TABLE w DROP COLUMN IF EXISTS d{k}"),
        ("columns of the catalog", "SELECT count(*) FROM pg_attribute WHERE attrelid = 'w'::regclass")])
    con.close()
    shutil.rmtree(os.path.dirname(path))
    return {"opens": start, **out}


def tables(o):
    path = tempfile.mkdtemp(prefix="figures_") + "/db"
    con = open_stele(o, path)
    started = time.perf_counter()
    for k in range(0, 10000, 500):
        con.execute("BEGIN")
        for i in range(k, k + 500):
            con.execute(f"CREATE TABLE t{i} (id int PRIMARY KEY, a int, b text)")
            con.execute(f"INSERT INTO t{i} VALUES (1, 2, 'x'), (2, 3, 'y')")
        con.execute("COMMIT")
    made = time.perf_counter() - started
    con.close()
    con, start = opened("10,000 tables", o, path)
    out = statements("10,000 tables", o, con, [
        ("SELECT by key", "SELECT a FROM t1{k}77 WHERE id = 1"),
        ("join", "SELECT x.a + y.a FROM t1{k} x JOIN t2{k} y USING (id)"),
        ("INSERT", "INSERT INTO t5{k} VALUES (10, 1, 'z')"),
        ("UPDATE", "UPDATE t7{k} SET a = a + 1 WHERE id = 1"),
        ("DELETE", "DELETE FROM t8{k} WHERE id = 2"),
        ("CREATE TABLE", "CREATE TABLE n{k} (id int PRIMARY KEY, a int)"),
        ("ALTER TABLE", "ALTER TABLE t9{k} ADD COLUMN c int"),
        ("CREATE VIEW", "CREATE VIEW v{k} AS SELECT a FROM t3{k}"),
        ("DROP TABLE", "DROP TABLE t6{k}"),
        ("a table of the catalog", "SELECT relkind FROM pg_class WHERE relname = 't4{k}'"),
        ("its columns", "SELECT attname FROM pg_attribute WHERE attrelid = 't4{k}'::regclass AND attnum > 0")])
    con.close()
    shutil.rmtree(os.path.dirname(path))
    return {"made": made, "opens": start, **out}


def main():
    figures = {"rollup": rollup, "graph": graph, "json": documents, "wide": wide, "tables": tables}
    a = argparse.ArgumentParser()
    a.add_argument("--only", default=",".join(figures))
    a.add_argument("--build", default=os.path.join(ROOT, "build"))
    a.add_argument("--rows", type=int, default=10_000_000)
    a.add_argument("--edges", type=int, default=10_000_000)
    a.add_argument("--documents", type=int, default=1_000_000)
    a.add_argument("--runs", type=int, default=3)
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--pg", default="/usr/lib/postgresql/15/bin")
    a.add_argument("--json")
    o = a.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            cwd=ROOT).stdout.strip()
    out = {"commit": commit, "hardware": platform.processor() or platform.machine(), "cpus": os.cpu_count(),
           "threads": o.threads, "rows": o.rows, "edges": o.edges, "documents": o.documents, "runs": o.runs,
           "load": os.getloadavg()[0], "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}
    for name in o.only.split(","):
        out[name] = figures[name](o)
        if o.json:
            with open(o.json, "w") as f:
                json.dump(out, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
