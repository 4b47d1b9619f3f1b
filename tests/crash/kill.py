#!/usr/bin/env python3
"""The shell under load with a redo log, killed (SIGKILL) at random times, and what is found then.

Each round opens the database of the round before, checks it, and runs numbered transactions that the shell reads from standard
input; behind each COMMIT it prints the number. What must be found: transactions 1 .. k, for a k that is at least the last number
printed, each of them whole. Every second round has synchronous_commit off: then any k that the round began with or that came since.
Every third round is killed in its recovery, too. Checkpoints are made beside all that, by CHECKPOINT and, since the log grows
fast and a table of some 10 MB is changed now and then, by the database's thread.

usage: kill.py [--build DIR] [--rounds N | --seconds N] [--seed N]     last line: N passed, N failed
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ACCOUNTS = 50
BATCH = 4000  # transactions that a round has to offer: more than it gets to

SETUP = f"""
create table account(id int primary key, balance numeric(12,2), note text);
insert into account select i, 100, null from generate_series(1, {ACCOUNTS}) g(i);
create table journal(n int primary key, a int, b int, amount numeric(12,2), text text, number bigint);
create table last(n int);
create table filled(n int, i int);
create sequence number;
create table ballast(i int primary key, t text, n int);
insert into ballast select i, md5(i::text) || md5((-i)::text), 0 from generate_series(1, 150000) g(i);
create procedure add(i int) language plpgsql as $$ begin update account set balance = balance + 1 where id = i; update account set balance = balance - 1 where id = 51 - i; end $$;
"""


def transaction(rng, n):
    """SQL of one that is committed; how it can be told from the outside that it was is in check()."""
    a, b = rng.sample(range(1, ACCOUNTS + 1), 2)
    sql = [f"insert into journal values ({n}, {a}, {b}, {n % 90}.5, repeat('text of {n} ', {rng.randrange(1, 20)}), nextval('number'))"]
    sql.append(f"update account set balance = balance - {n % 90}.5, note = 'took {n}' where id = {a}")
    sql.append(f"update account set balance = balance + {n % 90}.5, note = 'got {n}' where id = {b}")
    sql.append(f"truncate last; insert into last values ({n})" if n % 3 == 0 else f"delete from last; insert into last values ({n})")
    if n % 7 == 0:
        sql.append(f"delete from filled where n < {n - 20}; insert into filled select {n}, i from generate_series(1, {rng.choice([10, 1000, 3000])}) g(i)")
    if n % 10 == 0:
        sql.append(f"create table made_{n} as select {n} as n; drop table if exists made_{n - 10}")
    sql.append(f"update ballast set n = {n} where i in (1, {n % 150000 + 1})")
    if n % 13 == 0:
        sql.append(f"update ballast set t = md5(t) || md5(i::text) where i between {n * 7 % 140000} and {n * 7 % 140000 + 4000}")
    rng.shuffle(sql)
    if n % 11 == 0:
        sql.insert(0, "savepoint s; delete from journal; rollback to s")
    text = "begin; " + "; ".join(sql) + f"; commit;\nselect 'done {n}';\n"
    if n % 25 == 0:
        text += "begin; delete from account; rollback;\n"
    if n % 60 == 0:
        text += "vacuum;\n"
    if n % 100 == 0:
        text += rng.choice(["checkpoint;\n", "call bulk_call('add', 'select i from generate_series(1, 50) g(i)');\n"])
    return text


def query(stele, path, sql):
    p = subprocess.run([stele, "-X", "-q", "-A", "-t", path, "--durable", "-c", sql], capture_output=True, timeout=120)
    if p.returncode != 0:
        raise RuntimeError(f"exit status {p.returncode}: {p.stderr.decode()}")
    return p.stdout.decode().strip()


def check(stele, path, least, most):
    """The number of the last transaction that is there."""
    sql = f"""select count(*) || ',' || coalesce(max(n), 0) || ',' || coalesce(max(number), 0) || ',' || count(distinct number) from journal;
select sum(balance) from account;
select coalesce(max(n), 0) || ',' || count(*) from last;
select count(*) from (select n, count(*) c, max(i) m from filled group by n) q where c <> m;
select coalesce(max(n), 0) from filled;
select coalesce(string_agg(table_name, ' '), '') from information_schema.tables where table_name like 'made%';
select n || ',' || (select count(*) from ballast) from ballast where i = 1;
select nextval('number')"""
    journal, balance, last, broken, filled, made, ballast, number = query(stele, path, sql).split("\n")
    count, k, given, distinct = (int(x) for x in journal.split(","))
    wrong = []
    if not least <= k <= most:
        wrong.append(f"the last transaction is {k}, not one of {least} to {most}")
    if count != k or distinct != k:
        wrong.append(f"{count} transactions, {distinct} numbers of them, and the last is {k}")
    if float(balance) != ACCOUNTS * 100:
        wrong.append(f"the sum of the accounts is {balance}")
    if last != f"{k},{int(k > 0)}":
        wrong.append(f"last: {last}, not {k}")
    if broken != "0" or int(filled) != k // 7 * 7:
        wrong.append(f"filled: {broken} are not whole, the last is {filled}, not {k // 7 * 7}")
    if made != (f"made_{k // 10 * 10}" if k >= 10 else ""):
        wrong.append(f"tables: {made}, where the last transaction is {k}")
    if ballast != f"{k},150000":
        wrong.append(f"ballast: {ballast}, not {k},150000")
    if int(number) <= given:
        wrong.append(f"the sequence gives {number}, and had given {given}")
    if wrong:
        raise RuntimeError("; ".join(wrong))
    return k


def interrupt_recovery(stele, path, rng):
    """Opens what was left, and kills that."""
    p = subprocess.Popen([stele, "-X", "-q", path, "--durable", "-c", "select pg_sleep(1)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, 0.2))
    p.kill()
    p.wait()


def load(stele, path, rng, k, sync):
    """Runs transactions behind the k-th until it is killed: the last number that it has printed."""
    p = subprocess.Popen([stele, "-X", "-q", "-A", "-t", path, "--durable"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = f"set synchronous_commit = {'on' if sync else 'off'};\nset max_wal_size = '{rng.choice([1, 2, 1024])}MB';\nselect 'begun';\n"
    text += "".join(transaction(rng, n) for n in range(k + 1, k + 1 + BATCH))
    errors = []

    def write():
        try:
            p.stdin.write(text.encode())
            p.stdin.flush()
        except OSError:
            pass  # it is killed

    threads = [threading.Thread(target=write), threading.Thread(target=lambda: errors.append(p.stderr.read().decode()))]
    for t in threads:
        t.start()
    p.stdout.readline()
    timer = threading.Timer(rng.uniform(0, 0.6), lambda: os.kill(p.pid, signal.SIGKILL))
    timer.start()
    printed = [line for line in p.stdout.read().decode().split("\n")[:-1] if line.startswith("done ")]
    timer.join()
    p.wait()
    for t in threads:
        t.join()
    if "ERROR" in errors[0]:
        raise RuntimeError(errors[0].split("\n")[0])
    return int(printed[-1].split()[1]) if printed else k


def rounds(o, path):
    stele, rng = os.path.join(o.build, "stele"), random.Random(o.seed)
    end = time.monotonic() + o.seconds if o.seconds else None
    passed = failed = 0
    query(stele, path, SETUP)
    k = printed = 0
    least = most = 0
    while time.monotonic() < end if end else passed + failed < o.rounds:
        sync = (passed + failed) % 2 == 0
        try:
            printed = load(stele, path, rng, k, sync)
            least, most = (printed if sync else k), k + BATCH
            if (passed + failed) % 3 == 2:
                interrupt_recovery(stele, path, rng)
            k = check(stele, path, least, most)
            passed += 1
        except (RuntimeError, ValueError) as e:
            print(f"round {passed + failed + 1}, synchronous_commit {'on' if sync else 'off'}, seed {o.seed}: {e}")
            failed += 1
            break
    with open(os.path.join(path, "CURRENT"), encoding="ascii") as f:
        generation = f.read().split("\n")[1]
    print(f"{k} transactions were committed, {generation}")
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="stele-kill-")
    passed, failed = rounds(o, os.path.join(folder, "db"))
    if failed:
        print(f"the database is {folder}/db")
    else:
        shutil.rmtree(folder)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
