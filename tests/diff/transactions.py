#!/usr/bin/env python3
"""Random transactions, run in Stele and in PostgreSQL statement by statement; rows, errors and tables must agree.

usage: transactions.py [--meet] [--snapshot auto|version|lock] [--build DIR] [--seed S] [--rounds N] [--seconds N] [--statements N] [--verbose]

A round has a seed, a database and one to three sessions. Sessions take turns at random; each begins transactions at all
levels, with changes of every kind, savepoints, errors and definitions in them. Two sessions never write the same rows (a
row belongs to the session id % 3), so no statement waits, and what each of them sees is determined: at READ COMMITTED
what is committed before the statement, above it what was committed before the transaction's first one. Definitions come
when no other session has a transaction, and until its own ends no other session does anything: they would wait.

A failed transaction is not chained: PostgreSQL 15 forgets its level. Above READ COMMITTED Stele is serialisable: PostgreSQL runs these transactions at REPEATABLE READ, and where Stele
answers 40001 both roll back. 0A000 ends a round (counted, with reasons). After each end of a transaction all tables are
compared.

--meet: sessions change the same rows at READ COMMITTED and wait for each other. A statement that waits in PostgreSQL (for
whom, the server says) has to wait in Stele, and the other way round; when a transaction or a part of it has ended, those
that waited go on in both or in neither, with the same rows. A transaction takes keys in ascending order, so none
waits for itself.

The last line is `N passed, N failed`; a failure prints the statements of its round.
"""
import argparse
import ctypes
import os
import random
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
import pg  # noqa: E402

SESSIONS = 3
LEVELS = ["read committed", "read committed", "repeatable read", "serializable"]
SCHEMA = """create table parent (id int primary key, v int not null check (v < 5000), s text, n numeric(10,2) default 1.5, u int unique);
create table child (id int primary key, p int references parent on delete cascade, w bigint, d date default '2026-01-02');
insert into parent select i, i % 7, 'row ' || i, i * 1.25, null from generate_series(0, 29) i;
insert into child select i, i % 30, i * 10 from generate_series(0, 44) i"""


class Stele:
    """A database in memory and its sessions."""

    ROW = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p)

    def __init__(self, build, snapshot):
        self.snapshot = snapshot
        os.environ["STELE_LIBRARY"] = os.path.join(os.path.abspath(build), "release", "libstele.so")
        from stele import _lib
        self.lib, self.Info = _lib.lib, _lib.ErrorInfo
        self.lib.stele_exec.restype, self.lib.stele_exec.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, self.ROW, ctypes.c_void_p]
        self.lib.stele_transaction_state.restype, self.lib.stele_transaction_state.argtypes = ctypes.c_char, [ctypes.c_void_p]
        self.db, self.conns = ctypes.c_void_p(), []

    def open(self, n):
        info = self.Info()
        if self.lib.stele_open(b":memory:", None, ctypes.byref(self.db), ctypes.byref(info)) != 0:
            raise SystemExit(f"cannot open a database: {info.message}")
        for _ in range(n):
            c = ctypes.c_void_p()
            assert self.lib.stele_connect(self.db, ctypes.byref(c)) == 0
            self.conns.append(c)
            self.exec(len(self.conns) - 1, "set lock_timeout = '60s'")
            self.exec(len(self.conns) - 1, f"set snapshot = '{self.snapshot}'")

    def close(self):
        for c in self.conns:
            self.lib.stele_disconnect(c)
        info = self.Info()
        assert self.lib.stele_close(self.db, ctypes.byref(info)) == 0, info.message
        self.db, self.conns = ctypes.c_void_p(), []

    def state(self, k):
        return self.lib.stele_transaction_state(self.conns[k]).decode()

    def exec(self, k, sql):
        """("rows", rows) or ("error", (SQLSTATE, message))."""
        rows = []

        def row(_, n, values, __):
            rows.append([None if values[i] is None else values[i].decode() for i in range(n)])
            return False
        if self.lib.stele_exec(self.conns[k], sql.encode(), self.ROW(row), None) == 0:
            return "rows", rows
        info = self.Info()
        self.lib.stele_error(self.conns[k], ctypes.byref(info))
        return "error", (info.sqlstate.decode(), info.message.decode())


class Postgres:
    def __init__(self):
        self.server, self.conns = pg.Server(), []
        self.watch = self.server.connect()

    def open(self, n):
        self.conns = [self.server.connect() for _ in range(n)]
        for c in self.conns:
            c.exec("set client_min_messages = error; set lock_timeout = '60s'")
        self.conns[0].exec("drop schema public cascade; create schema public")

    def close(self):
        for c in self.conns:
            c.close()
        self.conns = []

    def exec(self, k, sql):
        try:
            return "rows", self.conns[k].exec(sql).rows
        except pg.Error as e:
            return "error", (e.state, e.message)


class Session:
    def __init__(self, k):
        self.k, self.open, self.failed, self.alone = k, False, False, False  # alone: its transaction has a definition


class Generator:
    """Statements of a session. Some fail on purpose, and some since what they name is not there (any more)."""

    def __init__(self, r):
        self.r, self.next_id = r, 100

    def pick(self, items):
        return self.r.choice(items)

    def chance(self, p):
        return self.r.random() < p

    def own(self, k):
        return self.pick([f"id % {SESSIONS} = {k}", f"id = {self.key(k)}", f"id % {SESSIONS} = {k} and id between {self.r.randint(0, 20)} and {self.r.randint(5, 140)}"])

    def key(self, k):
        """An id of the session's, which may have a row."""
        return self.r.randint(0, max(13, self.next_id // SESSIONS)) * SESSIONS + k if self.chance(0.3) else self.r.randint(0, 13) * SESSIONS + k

    def new(self, k):
        self.next_id += SESSIONS
        return self.next_id - self.next_id % SESSIONS + k

    def value(self):
        return self.pick(["v + 1", "v * 2", f"{self.r.randint(-5, 50)}", "v - 3", "coalesce(u, 1)", "length(s)", "(select max(w) from child c where c.id = 3 and c.w < 100)::int"])

    def change(self, k):
        r, own = self.r, self.own(k)
        returning = self.pick(["", "", " returning *", " returning id, v + 1"])
        name, x = f"'s{r.randint(0, 99)}'", self.pick(["parent", "parent", "child"])
        kind = r.randint(0, 17)
        if kind <= 3:
            return f"update parent set v = {self.value()} where {own}{returning}"
        if kind == 4:
            return f"update parent set v = v + {r.randint(1, 9)}, n = n + 0.5 where id = {self.key(k)}"
        if kind == 5:
            return f"update child set w = w + {r.randint(1, 9)}, d = d + {r.randint(0, 40)} where {own}{' returning *' if returning else ''}"
        if kind == 6:
            rows = ", ".join(f"({self.new(k)}, {r.randint(0, 9)}, {name})" for _ in range(r.randint(1, 3)))
            return f"insert into parent (id, v, s) values {rows}{returning}"
        if kind == 7:
            return f"insert into child (id, p, w) values ({self.new(k)}, {self.key(k)}, {r.randint(0, 99)})" + self.pick(["", " returning *"])
        if kind == 8:
            action = self.pick(["do nothing", "do update set v = excluded.v + parent.v, s = excluded.s", "do update set s = parent.s || '+' where parent.v > 3"])
            return f"insert into parent (id, v, s) values ({self.key(k)}, {r.randint(0, 9)}, {name}), ({self.new(k)}, 3, {name}) on conflict (id) {action}{returning}"
        if kind == 9:
            return f"insert into parent (id, v, s, n) select id + {SESSIONS * r.randint(50, 90)}, v, s || '!', n from parent where {own} and v < 5{returning}"
        if kind == 10:
            return f"delete from {x} where {own} and {'v' if x == 'parent' else 'w'} > {r.randint(0, 30)}" + self.pick(["", " returning id"])
        if kind == 11:
            return f"delete from child c using parent p where c.p = p.id and c.id % {SESSIONS} = {k} and p.id % {SESSIONS} = {k} and p.v = {r.randint(0, 9)}"
        if kind == 12:
            return f"update child c set w = p.v from parent p where c.p = p.id and c.id % {SESSIONS} = {k} and p.id = {self.key(k)}"
        if kind == 13:
            return f"update child set id = id + {SESSIONS * r.randint(100, 120)} where id = {self.key(k)}"
        if kind == 14:
            return (f"merge into parent t using (select id, v from parent where {own}) q on t.id = q.id when matched and q.v > 4 then update set v = q.v - 4 "
                    f"when matched then update set s = 'm' || t.v")
        if kind == 15:
            return f"with x as (update parent set v = v + 1 where {own} returning id, v) select * from x order by id"
        if kind == 16:
            return f"update parent set u = {self.pick(['id', 'null', str(self.key(k)), '7'])} where id = {self.key(k)}" if k == 0 else f"update parent set n = n * 1.1 where {own}"
        return self.pick([f"update parent set v = v / (v - v) where {own}", f"update parent set v = null where {own}", f"insert into parent (id, v) values ({self.key(k)}, 1)",
                          f"update parent set v = v + 4990 where {own}", f"insert into child (id, p) values ({self.new(k)}, -1)", "select 1 / 0", "select nope from parent", "insert into nope values (1)",
                          f"update parent set v = 'x' where {own}", f"select n::int, (s || 'x')::int from parent where {own}"])

    def query(self, k):
        return self.pick(["select * from parent order by id", "select * from child order by id", "select count(*), sum(v), min(s), max(n) from parent",
                          "select p.v, count(*), sum(c.w) from parent p join child c on c.p = p.id group by p.v order by p.v", f"select * from parent where id = {self.key(k)}",
                          f"select * from parent where id = {self.key(k)} for update", f"select id, v, s from parent where {self.own(k)} order by v, id limit 5",
                          "select p.id from parent p where not exists (select from child c where c.p = p.id) order by 1", "select id, sum(v) over (order by id) from parent where v > 3 order by id",
                          f"select (select max(w) from child where p = parent.id) from parent where id < 20 order by id", "select * from extra order by 1", "select * from seen order by 1"])

    def definition(self):
        n = self.r.randint(0, 3)
        return self.pick(["create table extra (a int primary key, b text)", "create table extra as select id as a, s as b from parent where v > 2", "drop table extra", "drop table if exists extra",
                          "insert into extra values (1, 'x'), (2, 'y')", "update extra set b = b || '.'", "alter table extra add column c int default 4", "alter table extra drop column b",
                          "alter table extra rename column b to c", "alter table extra rename to other", "alter table other rename to extra", "alter table extra alter column a type bigint",
                          "alter table extra add constraint few check (a < 1000)", "alter table extra add unique (b)", "alter table extra drop constraint few", "truncate extra",
                          "create view seen as select id, v from parent where v > 1", "drop view seen", "create or replace view seen as select id, v from parent where v > 3",
                          f"alter table parent add column x{n} int default {n}", f"alter table parent drop column x{n}", f"update parent set x{n} = id where x{n} = {n}",
                          "create unique index parent_s on parent ((s || id))", "drop index parent_s", "alter table child drop constraint child_p_fkey", "create sequence seq", "select nextval('seq')", "drop sequence seq",
                          "alter table child add foreign key (p) references parent on delete set null", "truncate child", "alter table child alter column w set default 3", "drop table parent"])

    def control(self, s):
        if not s.open:
            return f"begin isolation level {self.pick(LEVELS)}"
        k = self.r.random()
        if k < 0.3:
            return "commit"
        if k < 0.45:
            return "rollback"
        if k < 0.5:
            return self.pick(["commit and chain", "rollback and chain"] if not s.failed else ["commit", "rollback"])
        name = f"p{self.r.randint(0, 2)}"
        return self.pick([f"savepoint {name}", f"savepoint {name}", f"rollback to {name}", f"release {name}"])


class Later:
    """A statement that runs on a thread of its own, since it may wait."""

    def __init__(self, side, k, sql):
        self.sql, self.result = sql, None
        self.thread = threading.Thread(target=lambda: setattr(self, "result", side.exec(k, sql)), daemon=True)
        self.thread.start()

    def done(self, seconds=0.0):
        self.thread.join(seconds)
        return not self.thread.is_alive()


def level(sql):
    return sql.replace("serializable", "repeatable read")


class Round:
    def __init__(self, stele, postgres, seed, statements, verbose):
        self.stele, self.pg, self.verbose, self.log = stele, postgres, verbose, []
        self.r = random.Random(seed)
        self.n = self.r.choice([1, 1, 2, 3])
        self.g, self.sessions, self.statements = Generator(self.r), [Session(k) for k in range(self.n)], statements

    def same(self, k, sql, a, b):
        if a[0] == "error" and b[0] == "error" and a[1][0] == b[1][0]:
            return True
        if a[0] != "rows" or b[0] != "rows":
            return False
        key = lambda row: [(x is None, x or "") for x in row]  # noqa: E731
        return (a[1] == b[1] if "order by" in sql else sorted(a[1], key=key) == sorted(b[1], key=key))

    def run(self, k, sql):
        """"ok", "over" (0A000), or what differs."""
        self.log.append(f"{k}: {sql}")
        if self.verbose:
            print(self.log[-1], flush=True)
        a = self.stele.exec(k, sql)
        if a[0] == "error" and a[1][0] == "0A000":
            return "over"
        if a[0] == "error" and a[1][0] == "40001":
            for side in (self.stele, self.pg):
                side.exec(k, "rollback")
            self.log.append(f"{k}: rollback, after 40001")
            self.sessions[k].open = self.sessions[k].alone = False
            return "ok"
        b = self.pg.exec(k, level(sql))
        if not self.same(k, sql, a, b):
            return f"Stele: {str(a)[:600]}\nPostgreSQL: {str(b)[:600]}"
        self.sessions[k].open, self.sessions[k].failed = self.stele.state(k) != "I", self.stele.state(k) == "E"
        self.sessions[k].alone &= self.sessions[k].open
        return "ok"

    def tables(self, k):
        for t in ("parent", "child"):
            sql = f"select * from {t} order by id"
            a, b = self.stele.exec(k, sql), self.pg.exec(k, sql)
            if not self.same(k, sql, a, b):
                return f"{t}: Stele: {str(a)[:1500]}\nPostgreSQL: {str(b)[:1500]}"
        return "ok"

    def step(self):
        s = next((o for o in self.sessions if o.alone), None) or self.r.choice(self.sessions)
        was_open, x = s.open, self.r.random()
        alone = not any(o.open for o in self.sessions if o is not s)
        if x < (0.22 if s.open else 0.3):
            sql = self.g.control(s)
        elif x < 0.37 and alone:
            sql = self.g.definition()
            s.alone = s.open
        else:
            sql = self.g.change(s.k) if x < 0.75 else self.g.query(s.k)
        why = self.run(s.k, sql)
        if why == "ok" and was_open and not s.open and alone:
            why = self.tables(s.k)
        return sql, why

    def all(self):
        """(statements passed, "ok", "over" or what differs, its statement)."""
        for sql in SCHEMA.split(";\n"):
            if (why := self.run(0, sql)) != "ok":
                return 0, why, sql
        for n in range(self.statements):
            sql, why = self.step()
            if why != "ok":
                return n, why, sql
        return self.statements, "ok", ""


class Meeting(Round):
    """Sessions that change the same rows at READ COMMITTED."""

    HANG = 60.0  # seconds: what has not ended by then waits though it should not
    MOMENT = 0.03  # what goes on though it should wait has ended by then, mostly

    def __init__(self, *args):
        super().__init__(*args)
        self.n = 3
        self.sessions = [Session(k) for k in range(self.n)]
        self.least = [0] * self.n  # the next key that a session's transaction may take
        self.pending = {}  # session: (Stele's, PostgreSQL's) statement that waits
        self.pids = {}

    def waits_in_pg(self, k):
        return self.pg.watch.exec(f"select pg_blocking_pids({self.pids[k]}) <> '{{}}'").rows[0][0] == "t"

    def settle(self, k, both):
        """Waits until PostgreSQL's statement has ended or waits for a lock; then Stele's has to do the same."""
        ours, theirs = both
        end = time.monotonic() + self.HANG
        while not theirs.done(0.002) and not self.waits_in_pg(k):
            if time.monotonic() > end:
                return f"PostgreSQL neither ends nor waits: {theirs.sql}"
        if not theirs.done():
            self.pending[k] = both
            return f"Stele does not wait, PostgreSQL does: {theirs.sql}\n{ours.result}" if ours.done(self.MOMENT) else "ok"
        self.pending.pop(k, None)
        if not ours.done(self.HANG):
            return f"Stele waits, PostgreSQL does not: {theirs.sql}"
        if not self.same(k, theirs.sql, ours.result, theirs.result):
            return f"{theirs.sql}\nStele: {str(ours.result)[:600]}\nPostgreSQL: {str(theirs.result)[:600]}"
        s = self.sessions[k]
        s.open, s.failed = self.stele.state(k) != "I", self.stele.state(k) == "E"
        if not s.open:
            self.least[k] = 0
        return "ok"

    def statement(self, s):
        k, r = s.k, self.r
        if s.failed:
            return r.choice(["rollback", f"rollback to p{r.randint(0, 1)}"])
        x = r.random()
        if not s.open and x < 0.7:
            return "begin isolation level read committed"
        if s.open and x < 0.25:
            return r.choice(["commit", "commit", "rollback", "savepoint p0", "savepoint p1", "rollback to p0", "release p1"])
        if x < 0.4 or self.least[k] > 6 or self.pending:  # of two that wait for one row either may go on first
            return r.choice(["select * from parent where id < 9 order by id", "select count(*), sum(v), max(s) from parent", "select id from parent where v > 4 order by id", "commit" if s.open else "select 1"])
        key = r.randint(self.least[k], 7)
        self.least[k] = key + 1 if s.open else 0
        locks = [f"select * from parent where id = {key} for update", f"select v from parent where id = {key} and n < 5 for update"] if s.open else []  # n never changes: PostgreSQL holds a row that it waited for and that does not match any more
        return r.choice(locks + [f"update parent set v = v * 2 where id = {key} and v < 2000 returning id, v", f"update parent set v = {r.randint(0, 9)}, s = s || '{k}' where id = {key} returning v, s",
                         f"update parent set s = s || '.' where id = {key} and v > {r.randint(0, 6)} returning *", f"delete from parent where id = {key} returning v",
                         f"delete from parent where id = {key} and v > 3 returning id",
                         f"update parent set v = 0 where id = {key} and s like '%{r.randint(0, 2)}' returning *"])

    def step(self):
        free = [s for s in self.sessions if s.k not in self.pending]
        s = self.r.choice(free)
        sql = self.statement(s)
        self.log.append(f"{s.k}: {sql}")
        if self.verbose:
            print(self.log[-1], flush=True)
        why = self.settle(s.k, (Later(self.stele, s.k, sql), Later(self.pg, s.k, sql)))
        if why == "ok" and sql.split()[0] in ("commit", "rollback"):
            for k in list(self.pending):
                why = self.settle(k, self.pending[k])
                if why != "ok":
                    break
                self.log.append(f"{k}: " + ("waits on" if k in self.pending else "goes on"))
        return sql, why

    def all(self):
        for sql in SCHEMA.split(";\n"):
            self.run(0, sql)
        self.run(0, "drop table child")
        self.pids = {k: int(self.pg.exec(k, "select pg_backend_pid()")[1][0][0]) for k in range(self.n)}
        for n in range(self.statements):
            sql, why = self.step()
            if why != "ok":
                return n, why, sql
        for k in (k for k in range(self.n) if k not in self.pending):
            why = self.settle(k, (Later(self.stele, k, "rollback"), Later(self.pg, k, "rollback")))
        while self.pending and why == "ok":
            for k in list(self.pending):
                if (why := self.settle(k, self.pending[k])) != "ok":
                    return self.statements, why, "at the end"
                if k not in self.pending:
                    why = self.settle(k, (Later(self.stele, k, "rollback"), Later(self.pg, k, "rollback")))
        return self.statements, self.tables(0) if why == "ok" else why, "at the end"

    def tables(self, k):
        sql = "select * from parent order by id"
        a, b = self.stele.exec(k, sql), self.pg.exec(k, sql)
        return "ok" if self.same(k, sql, a, b) else f"Stele: {a}\nPostgreSQL: {b}"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--seconds", type=float, default=1800)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--rounds", type=int, default=20)
    a.add_argument("--statements", type=int, default=150)
    a.add_argument("--snapshot", default="auto", help="the setting of all sessions: with version, transactions change forks")
    a.add_argument("--meet", action="store_true")
    a.add_argument("--verbose", action="store_true")
    o = a.parse_args()
    end, passed, failed, over, seed = time.monotonic() + o.seconds, 0, 0, {}, o.seed
    stele, postgres = Stele(o.build, o.snapshot), Postgres()
    try:
        while seed < o.seed + o.rounds and time.monotonic() < end and failed < 10:
            stele.open(SESSIONS)
            postgres.open(SESSIONS)
            x = (Meeting if o.meet else Round)(stele, postgres, seed, o.statements, o.verbose)
            n, why, sql = x.all()
            passed += n
            if why == "over":
                over[sql.split(" where")[0]] = over.get(sql.split(" where")[0], 0) + 1
            elif why != "ok":
                failed += 1
                print(f"--- seed {seed}, statement {n}: {sql}\n{why}\n" + "\n".join(x.log[-60:]), flush=True)
            stele.close()
            postgres.close()
            seed += 1
    finally:
        postgres.close()
        postgres.server.stop()
    for sql, n in sorted(over.items(), key=lambda x: -x[1])[:10]:
        print(f"not supported ({n}): {sql}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
