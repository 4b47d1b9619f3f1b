-- SmallBank: :scale thousand customers with a savings and a checking account. `entered` is what came in with a call, negative when it left.
CREATE TABLE customers (name text PRIMARY KEY, custid int NOT NULL);
CREATE TABLE savings (custid int PRIMARY KEY, bal bigint NOT NULL);
CREATE TABLE checking (custid int PRIMARY KEY, bal bigint NOT NULL);
INSERT INTO customers SELECT 'c' || i, i FROM generate_series(1, :scale * 1000) AS g(i);
INSERT INTO savings SELECT i, 10000 FROM generate_series(1, :scale * 1000) AS g(i);
INSERT INTO checking SELECT i, 10000 FROM generate_series(1, :scale * 1000) AS g(i);
CREATE PROCEDURE balance(n text, OUT total bigint) LANGUAGE plpgsql AS $$
DECLARE c int; a bigint; b bigint;
BEGIN
  SELECT custid INTO STRICT c FROM customers WHERE name = n;
  SELECT bal INTO a FROM savings WHERE custid = c;
  SELECT bal INTO b FROM checking WHERE custid = c;
  total := a + b;
END $$;
CREATE PROCEDURE deposit_checking(n text, v bigint, OUT entered bigint) LANGUAGE plpgsql AS $$
DECLARE c int;
BEGIN
  IF v < 0 THEN RAISE EXCEPTION 'a deposit cannot be negative' USING ERRCODE = '22023'; END IF;
  SELECT custid INTO STRICT c FROM customers WHERE name = n;
  UPDATE checking SET bal = bal + v WHERE custid = c;
  entered := v;
END $$;
CREATE PROCEDURE transact_saving(n text, v bigint, OUT entered bigint) LANGUAGE plpgsql AS $$
DECLARE c int; a bigint;
BEGIN
  SELECT custid INTO STRICT c FROM customers WHERE name = n;
  SELECT bal INTO a FROM savings WHERE custid = c;
  IF a + v < 0 THEN RAISE EXCEPTION 'savings would be negative' USING ERRCODE = '22023'; END IF;
  UPDATE savings SET bal = bal + v WHERE custid = c;
  entered := v;
END $$;
CREATE PROCEDURE amalgamate(x text, y text) LANGUAGE plpgsql AS $$
DECLARE c int; d int; a bigint; b bigint;
BEGIN
  SELECT custid INTO STRICT c FROM customers WHERE name = x;
  SELECT custid INTO STRICT d FROM customers WHERE name = y;
  SELECT bal INTO a FROM savings WHERE custid = c;
  SELECT bal INTO b FROM checking WHERE custid = c;
  UPDATE savings SET bal = 0 WHERE custid = c;
  UPDATE checking SET bal = 0 WHERE custid = c;
  UPDATE checking SET bal = bal + a + b WHERE custid = d;
END $$;
CREATE PROCEDURE write_check(n text, v bigint, OUT entered bigint) LANGUAGE plpgsql AS $$
DECLARE c int; a bigint; b bigint;
BEGIN
  SELECT custid INTO STRICT c FROM customers WHERE name = n;
  SELECT bal INTO a FROM savings WHERE custid = c;
  SELECT bal INTO b FROM checking WHERE custid = c;
  IF a + b < v THEN
    UPDATE checking SET bal = bal - v - 1 WHERE custid = c;
    entered := -v - 1;
  ELSE
    UPDATE checking SET bal = bal - v WHERE custid = c;
    entered := -v;
  END IF;
END $$;
