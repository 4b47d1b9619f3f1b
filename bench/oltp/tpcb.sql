-- TPC-B: branches, tellers, accounts; :scale branches.
CREATE TABLE branches (bid int PRIMARY KEY, bbalance bigint NOT NULL, filler char(84));
CREATE TABLE tellers (tid int PRIMARY KEY, bid int NOT NULL, tbalance bigint NOT NULL, filler char(84));
CREATE TABLE accounts (aid int PRIMARY KEY, bid int NOT NULL, abalance bigint NOT NULL, filler char(84));
CREATE TABLE history (tid int, bid int, aid int, delta int, mtime bigint, filler char(22));
INSERT INTO branches SELECT i, 0, '' FROM generate_series(1, :scale) AS g(i);
INSERT INTO tellers SELECT i, (i - 1) / 10 + 1, 0, '' FROM generate_series(1, :scale * 10) AS g(i);
INSERT INTO accounts SELECT i, (i - 1) / 100000 + 1, 0, '' FROM generate_series(1, :scale * 100000) AS g(i);
CREATE PROCEDURE tpcb(a int, t int, b int, d int, at bigint, OUT balance bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET abalance = abalance + d WHERE aid = a;
  SELECT abalance INTO balance FROM accounts WHERE aid = a;
  UPDATE tellers SET tbalance = tbalance + d WHERE tid = t;
  UPDATE branches SET bbalance = bbalance + d WHERE bid = b;
  INSERT INTO history (tid, bid, aid, delta, mtime) VALUES (t, b, a, d, at);
END $$;
