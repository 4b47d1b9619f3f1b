-- YCSB: :scale thousand rows of ten fields.
CREATE TABLE usertable (k int PRIMARY KEY, f0 bigint, f1 bigint, f2 bigint, f3 bigint, f4 bigint, f5 bigint, f6 bigint, f7 bigint, f8 bigint, f9 bigint);
INSERT INTO usertable SELECT i, i, i, i, i, i, i, i, i, i, i FROM generate_series(0, :scale * 1000 - 1) AS g(i);
CREATE PROCEDURE ycsb_read(key int, OUT v0 bigint, OUT v9 bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT f0, f9 INTO v0, v9 FROM usertable WHERE k = key;
END $$;
CREATE PROCEDURE ycsb_update(key int, v bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE usertable SET f0 = v WHERE k = key;
END $$;
CREATE PROCEDURE ycsb_modify(key int, v bigint, OUT old bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT f0 INTO old FROM usertable WHERE k = key;
  UPDATE usertable SET f0 = (old * 31 + v) % 1000000007 WHERE k = key;
END $$;
CREATE PROCEDURE ycsb_insert(key int, v bigint) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usertable VALUES (key, v, -key, -key, -key, -key, -key, -key, -key, -key, -key);
END $$;
-- keys have no gaps: a scan of n rows from a key on is n lookups
CREATE PROCEDURE ycsb_scan(key int, n int, OUT found_rows int, OUT total numeric(38,0)) LANGUAGE plpgsql AS $$
DECLARE v bigint;
BEGIN
  found_rows := 0;
  total := 0;
  FOR i IN key .. key + n - 1 LOOP
    SELECT f0 INTO v FROM usertable WHERE k = i;
    EXIT WHEN NOT FOUND;
    found_rows := found_rows + 1;
    total := total + v;
  END LOOP;
END $$;
