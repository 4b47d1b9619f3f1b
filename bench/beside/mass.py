"""Statements that change much, beside a writer and a reader of single rows: how long these wait, and how long they take.

    STELE_LIBRARY=build/release/libstele.so.0 python3 bench/beside/mass.py [rows] [directory]

A directory: durable, and made by this run. Each statement runs once, on the tables as those before it left them, so
compare runs of two builds one after the other, several times.
"""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import stele  # noqa: E402

STATEMENTS = [
    "update t set a = a + 1",
    "update t set c = c || 'x', a = a + 1",
    "delete from t where a % 100 > 95",
    "create table p (id bigint primary key, a int, b bigint, c text)",
    "insert into p select * from t",
    "merge into p using t on p.id = t.id when matched then update set a = p.a + 1",
    "alter table p alter column a type bigint",
]


class Caller(threading.Thread):
    """Runs a statement on one row after the other; keeps when each began and ended."""

    def __init__(self, connection, sql):
        super().__init__(daemon=True)
        self.connection, self.sql, self.times, self.stop = connection, sql, [], False

    def run(self):
        number = 0
        while not self.stop:
            began = time.perf_counter()
            self.connection.cursor().execute(self.sql, (1 + number * 7919 % 1000,))
            self.times.append((began, time.perf_counter()))
            number += 1
            time.sleep(0.001)

    def waits_ms(self, began, ended):
        return sorted((b - a) * 1000 for a, b in self.times if a < ended and b > began)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    where = sys.argv[2] if len(sys.argv) > 2 else ":memory:"
    con = stele.connect(where, autocommit=True, durable=where != ":memory:")
    for sql in ("create table t (id bigint primary key, a int, b bigint, c text)",
                "insert into t select i, mod(i, 1000), i * 7, 'text' || mod(i, 1000) from generate_series(1, %d) i" % rows,
                "create table w (id int primary key, n bigint)",
                "insert into w select i, 0 from generate_series(1, 1000) i"):
        con.cursor().execute(sql)
    callers = [Caller(con.connect(), "update w set n = n + 1 where id = ?"),
               Caller(con.connect(), "select b from t where id = ?")]
    for caller in callers:
        caller.connection.autocommit = True
        caller.start()
    time.sleep(0.3)
    for sql in STATEMENTS:
        began = time.perf_counter()
        con.cursor().execute(sql)
        ended = time.perf_counter()
        time.sleep(0.5)
        writes, reads = (caller.waits_ms(began, ended) or [0] for caller in callers)
        print("%-78s %6.3f s, writer's longest wait %7.1f ms, reader's p99 %7.1f ms" %
              (sql, ended - began, writes[-1], reads[int(len(reads) * 0.99)]), flush=True)
    for caller in callers:
        caller.stop = True
        caller.join(10)


if __name__ == "__main__":
    main()
