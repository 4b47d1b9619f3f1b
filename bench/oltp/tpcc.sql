-- TPC-C: :scale warehouses, as clause 4.3 of the specification fills them: numbers of rows, value ranges, lengths of texts.
-- Nothing is random but everything looks so: r1 .. r3 are hashes of a row's number, so that every machine and every run has the same rows. Texts are pieces of `texts`, 4096 random ones of 1024
-- letters and digits (clause 4.3.2.2), cut at a place that differs from row to row.
-- Tables that calls insert into have room for the rows of some ten seconds at 250,000 calls a second and 16 warehouses (:scale is replaced as text, so :scale000000 are so many millions).
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9),
  w_tax numeric(4,4) NOT NULL, w_ytd numeric(12,2) NOT NULL);
CREATE TABLE district (d_w_id int, d_id int, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9),
  d_tax numeric(4,4) NOT NULL, d_ytd numeric(12,2) NOT NULL, d_next_o_id int NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_first varchar(16) NOT NULL, c_middle char(2), c_last varchar(16) NOT NULL, c_street_1 varchar(20), c_street_2 varchar(20),
  c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2) NOT NULL, c_credit_lim numeric(12,2), c_discount numeric(4,4) NOT NULL,
  c_balance numeric(12,2) NOT NULL, c_ytd_payment numeric(12,2) NOT NULL, c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL, c_data varchar(500), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamp, h_amount numeric(6,2), h_data varchar(24))
  WITH (expected_rows = :scale00000);
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id)) WITH (expected_rows = :scale00000);
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int NOT NULL, o_entry_d timestamp, o_carrier_id int, o_ol_cnt int NOT NULL, o_all_local int, PRIMARY KEY (o_w_id, o_d_id, o_id))
  WITH (expected_rows = :scale00000);
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int NOT NULL, ol_supply_w_id int, ol_delivery_d timestamp, ol_quantity int, ol_amount numeric(6,2) NOT NULL,
  ol_dist_info char(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) WITH (expected_rows = :scale000000);
CREATE TABLE item (i_id int PRIMARY KEY, i_im_id int, i_name varchar(24), i_price numeric(5,2) NOT NULL, i_data varchar(50));
CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int NOT NULL, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24),
  s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd int NOT NULL, s_order_cnt int NOT NULL, s_remote_cnt int NOT NULL, s_data varchar(50), PRIMARY KEY (s_w_id, s_i_id));

-- The hash: odd factors below 2^31 and shifts, modulo 2^32, so that different numbers stay different and no product overflows.
CREATE TABLE texts AS
  SELECT n::int AS n, string_agg(substr(s, (r2 % 62)::int + 1, 1) || substr(s, (r2 / 62 % 62)::int + 1, 1) || substr(s, (r2 / 3844 % 62)::int + 1, 1) || substr(s, (r2 / 238328 % 62)::int + 1, 1), '' ORDER BY i) AS t
  FROM (SELECT n, i, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789' AS s
        FROM (SELECT n, i, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
              FROM (SELECT n, i, (n * 256 + i) * 1640531535 % 4294967296 AS r0 FROM generate_series(0::bigint, 4095) AS g(n), generate_series(0::bigint, 255) AS h(i)) AS a) AS b) AS c
  GROUP BY n;
CREATE TABLE last_names AS
  SELECT n, s[n / 100 + 1] || s[n / 10 % 10 + 1] || s[n % 10 + 1] AS name
  FROM generate_series(0, 999) AS g(n), (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS s) AS syllables;

INSERT INTO item
  SELECT i, r1 % 10000 + 1, substr(t, 101 + (r2 % 256)::int, 14 + (r2 / 256 % 11)::int), 1 + (r3 % 9901) / 100.0,
    CASE WHEN r1 / 10000 % 10 = 0 THEN overlay(substr(t, 601 + (r2 / 4096 % 256)::int, 26 + (r3 / 16384 % 25)::int) PLACING 'ORIGINAL' FROM 1 + (r2 / 1048576 % (19 + r3 / 16384 % 25))::int)
      ELSE substr(t, 601 + (r2 / 4096 % 256)::int, 26 + (r3 / 16384 % 25)::int) END
  FROM (SELECT i, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT i, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT i, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT i, (i) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, 100000) AS g(i)) AS a) AS b) AS c) AS r, texts WHERE n = (r3 / 262144 % 4096)::int;
INSERT INTO warehouse
  SELECT w, substr(t, 101 + (r1 % 64)::int, 6 + (r1 / 64 % 5)::int), substr(t, 201 + (r2 % 64)::int, 10 + (r2 / 64 % 11)::int), substr(t, 301 + (r2 / 128 % 64)::int, 10 + (r2 / 1024 % 11)::int),
    substr(t, 401 + (r2 / 8192 % 64)::int, 10 + (r2 / 65536 % 11)::int), chr(65 + (r2 / 131072 % 26)::int) || chr(65 + (r2 / 4194304 % 26)::int), lpad((r3 % 10000)::text, 4, '0') || '11111',
    (r1 / 1048576 % 2001) / 10000.0, 300000
  FROM (SELECT w, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, (1000000000 + w) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, :scale) AS g(w)) AS a) AS b) AS c) AS r, texts WHERE n = (r3 / 16384 % 4096)::int;
INSERT INTO district
  SELECT w, d, substr(t, 101 + (r1 % 64)::int, 6 + (r1 / 64 % 5)::int), substr(t, 201 + (r2 % 64)::int, 10 + (r2 / 64 % 11)::int), substr(t, 301 + (r2 / 128 % 64)::int, 10 + (r2 / 1024 % 11)::int),
    substr(t, 401 + (r2 / 8192 % 64)::int, 10 + (r2 / 65536 % 11)::int), chr(65 + (r2 / 131072 % 26)::int) || chr(65 + (r2 / 4194304 % 26)::int), lpad((r3 % 10000)::text, 4, '0') || '11111',
    (r1 / 1048576 % 2001) / 10000.0, 30000, 3001
  FROM (SELECT w, d, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, d, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, d, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, d, (1100000000 + w * 10 + d) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, :scale) AS g(w), generate_series(1::bigint, 10) AS h(d)) AS a) AS b) AS c) AS r, texts WHERE n = (r3 / 16384 % 4096)::int;
INSERT INTO stock
  SELECT w, i, 10 + r1 % 91, substr(t, 1 + x, 24), substr(t, 51 + x, 24), substr(t, 101 + x, 24), substr(t, 151 + x, 24), substr(t, 201 + x, 24),
    substr(t, 251 + x, 24), substr(t, 301 + x, 24), substr(t, 351 + x, 24), substr(t, 401 + x, 24), substr(t, 451 + x, 24), 0, 0, 0,
    CASE WHEN r1 / 1024 % 10 = 0 THEN overlay(substr(t, 501 + x, long) PLACING 'ORIGINAL' FROM 1 + (r1 / 1048576 % (long - 7))::int) ELSE substr(t, 501 + x, long) END
  FROM (SELECT w, i, r1, (r2 % 256)::int AS x, (r3 / 4096 % 4096)::int AS text_n, 26 + (r2 / 4096 % 25)::int AS long
  FROM (SELECT w, i, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, i, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, i, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, i, (w * 100000 + i) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, :scale) AS g(w), generate_series(1::bigint, 100000) AS h(i)) AS a) AS b) AS c) AS r) AS s, texts WHERE n = text_n;
-- Last names: the first thousand of a district have one each, others follow NURand(255, 0, 999), whose constant at loading differs from that of calls by 85 (clause 2.1.6.1).
INSERT INTO customer
  SELECT w, d, c, substr(t, 101 + (r1 % 64)::int, 8 + (r1 / 64 % 9)::int), 'OE', name,
    substr(t, 201 + (r2 % 64)::int, 10 + (r2 / 64 % 11)::int), substr(t, 301 + (r2 / 128 % 64)::int, 10 + (r2 / 1024 % 11)::int),
    substr(t, 401 + (r2 / 8192 % 64)::int, 10 + (r2 / 65536 % 11)::int), chr(65 + (r2 / 131072 % 26)::int) || chr(65 + (r2 / 4194304 % 26)::int), lpad((r3 % 10000)::text, 4, '0') || '11111',
    lpad((r1 % 100000000)::text, 8, '0') || lpad((r2 % 100000000)::text, 8, '0'), timestamp '2026-01-01', CASE WHEN r1 / 4096 % 10 = 0 THEN 'BC' ELSE 'GC' END,
    50000, (r1 / 65536 % 5001) / 10000.0, -10, 10, 1, 0, substr(t, 1 + (r3 / 64 % 512)::int, 300 + (r2 / 4194304 % 201)::int)
  FROM (SELECT w, d, c, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, d, c, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, d, c, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, d, c, (2000000000 + (w * 10 + d) * 3000 + c) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, :scale) AS g(w), generate_series(1::bigint, 10) AS h(d), generate_series(1::bigint, 3000) AS k(c)) AS a) AS b) AS c) AS r, texts, last_names AS l
  WHERE texts.n = (r3 / 16384 % 4096)::int AND l.n = CASE WHEN c <= 1000 THEN c - 1 ELSE ((r1 / 16777216 | r2 % 1000) + 208) % 1000 END;
INSERT INTO history
  SELECT c, d, w, d, w, timestamp '2026-01-01', 10, substr(t, 1 + (r1 % 1000)::int, 12 + (r2 % 13)::int)
  FROM (SELECT w, d, c, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, d, c, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, d, c, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, d, c, (3000000000 + (w * 10 + d) * 3000 + c) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, :scale) AS g(w), generate_series(1::bigint, 10) AS h(d), generate_series(1::bigint, 3000) AS k(c)) AS a) AS b) AS c) AS r, texts WHERE n = (r3 % 4096)::int;
-- Customers of a district's orders are a random permutation.
CREATE TABLE permutations AS
  SELECT w, d, array_agg(c ORDER BY r3, c) AS customers
  FROM (SELECT w, d, c, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, d, c, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, d, c, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, d, c, (3200000000 + (w * 10 + d) * 3000 + c) * 1640531535 % 4294967296 AS r0
                          FROM generate_series(1::bigint, :scale) AS g(w), generate_series(1::bigint, 10) AS h(d), generate_series(1::bigint, 3000) AS k(c)) AS a) AS b) AS c) AS r GROUP BY w, d;
INSERT INTO orders
  SELECT w, d, o, customers[o], timestamp '2026-01-01', CASE WHEN o < 2101 THEN r1 % 10 + 1 END, 5 + r2 % 11, 1
  FROM (SELECT w, d, o, customers, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, d, o, customers, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, d, o, customers, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, d, o, customers, (3500000000 + (w * 10 + d) * 3000 + o) * 1640531535 % 4294967296 AS r0
                          FROM permutations, generate_series(1, 3000) AS k(o)) AS a) AS b) AS c) AS r;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id >= 2101;
INSERT INTO order_line
  SELECT w, d, o, l, r1 % 100000 + 1, w, CASE WHEN o < 2101 THEN at END, 5, CASE WHEN o < 2101 THEN 0 ELSE (r2 % 999999 + 1) / 100.0 END, substr(t, 1 + (r3 / 4096 % 1000)::int, 24)
  FROM (SELECT w, d, o, l, at, r1, r2, (r2 # (r2 >> 16)) * 1812433253 % 4294967296 AS r3
        FROM (SELECT w, d, o, l, at, r1, (r1 # (r1 >> 13)) * 1597334677 % 4294967296 AS r2
              FROM (SELECT w, d, o, l, at, (r0 # (r0 >> 15)) * 1274126177 % 4294967296 AS r1
                    FROM (SELECT w, d, o, l, at, (((w * 10 + d) * 3000 + o) * 16 + l) * 1640531535 % 4294967296 AS r0
                          FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_entry_d AS at, l FROM orders, generate_series(1::bigint, 15) AS g(l) WHERE l <= o_ol_cnt) AS x) AS a) AS b) AS c) AS r, texts WHERE n = (r3 % 4096)::int;
DROP TABLE texts, last_names, permutations;

CREATE PROCEDURE new_order(w int, d int, c int, items int[], supply int[], amounts int[], at timestamp, OUT o int, OUT total numeric(12,2),
  OUT last varchar(16), OUT credit char(2), OUT brands varchar(15)) LANGUAGE plpgsql AS $$
DECLARE
  wtax numeric(4,4); dtax numeric(4,4); discount numeric(4,4); n int; all_local int := 1;
  price numeric(5,2); info varchar(50); q int; dist char(24); data varchar(50); amount numeric(6,2); sum_amount numeric(12,2) := 0; away int;
BEGIN
  n := array_length(items, 1);
  brands := '';
  SELECT w_tax INTO wtax FROM warehouse WHERE w_id = w;
  SELECT c_discount, c_last, c_credit INTO discount, last, credit FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
  FOR i IN 1 .. n LOOP
    IF supply[i] <> w THEN all_local := 0; END IF;
    SELECT i_price INTO price FROM item WHERE i_id = items[i];
    IF price IS NULL THEN RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'P0002'; END IF;
  END LOOP;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d RETURNING d_next_o_id - 1, d_tax INTO o, dtax;
  INSERT INTO orders VALUES (w, d, o, c, at, NULL, n, all_local);
  INSERT INTO new_order VALUES (w, d, o);
  FOR i IN 1 .. n LOOP
    SELECT i_price, i_data INTO price, info FROM item WHERE i_id = items[i];
    SELECT s_quantity, s_data, CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                              WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      INTO q, data, dist FROM stock WHERE s_w_id = supply[i] AND s_i_id = items[i];
    away := CASE WHEN supply[i] <> w THEN 1 ELSE 0 END;
    IF q - amounts[i] >= 10 THEN q := q - amounts[i]; ELSE q := q - amounts[i] + 91; END IF;
    UPDATE stock SET s_quantity = q, s_ytd = s_ytd + amounts[i], s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + away WHERE s_w_id = supply[i] AND s_i_id = items[i];
    amount := price * amounts[i];
    sum_amount := sum_amount + amount;
    brands := brands || CASE WHEN position('ORIGINAL' IN info) > 0 AND position('ORIGINAL' IN data) > 0 THEN 'B' ELSE 'G' END;
    INSERT INTO order_line VALUES (w, d, o, i, items[i], supply[i], NULL, amounts[i], amount, dist);
  END LOOP;
  total := sum_amount * (1 + wtax + dtax) * (1 - discount);
END $$;

CREATE PROCEDURE payment(w int, d int, cw int, cd int, c int, name varchar, paid numeric(6,2), at timestamp, OUT chosen int, OUT balance numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE n int; f varchar(16) := ''; credit char(2); info varchar(500); wname varchar(10); dname varchar(10); h numeric(6,2) := paid; -- a parameter's scale is not kept
BEGIN
  chosen := c;
  IF name <> '' THEN
    SELECT count(*) INTO n FROM customer WHERE c_w_id = cw AND c_d_id = cd AND c_last = name;
    chosen := 0;
    FOR i IN 1 .. (n + 1) / 2 LOOP
      SELECT c_first, c_id INTO f, chosen FROM customer
       WHERE c_w_id = cw AND c_d_id = cd AND c_last = name AND (c_first > f OR (c_first = f AND c_id > chosen)) ORDER BY c_first, c_id LIMIT 1;
    END LOOP;
  END IF;
  SELECT w_name INTO wname FROM warehouse WHERE w_id = w;
  SELECT d_name INTO dname FROM district WHERE d_w_id = w AND d_id = d;
  UPDATE warehouse SET w_ytd = w_ytd + h WHERE w_id = w;
  UPDATE district SET d_ytd = d_ytd + h WHERE d_w_id = w AND d_id = d;
  UPDATE customer SET c_balance = c_balance - h, c_ytd_payment = c_ytd_payment + h, c_payment_cnt = c_payment_cnt + 1
   WHERE c_w_id = cw AND c_d_id = cd AND c_id = chosen RETURNING c_balance, c_credit INTO balance, credit;
  IF credit = 'BC' THEN
    SELECT c_data INTO info FROM customer WHERE c_w_id = cw AND c_d_id = cd AND c_id = chosen;
    info := substr(chosen::text || ' ' || cd::text || ' ' || cw::text || ' ' || d::text || ' ' || w::text || ' ' || h::text || '|' || info, 1, 500);
    UPDATE customer SET c_data = info WHERE c_w_id = cw AND c_d_id = cd AND c_id = chosen;
  END IF;
  INSERT INTO history VALUES (chosen, cd, cw, d, w, at, h, wname || '    ' || dname);
END $$;

CREATE PROCEDURE order_status(w int, d int, c int, name varchar, OUT chosen int, OUT balance numeric(12,2), OUT last_order int, OUT carrier int, OUT lines int, OUT amount numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE n int; f varchar(16) := '';
BEGIN
  chosen := c;
  IF name <> '' THEN
    SELECT count(*) INTO n FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    chosen := 0;
    FOR i IN 1 .. (n + 1) / 2 LOOP
      SELECT c_first, c_id INTO f, chosen FROM customer
       WHERE c_w_id = w AND c_d_id = d AND c_last = name AND (c_first > f OR (c_first = f AND c_id > chosen)) ORDER BY c_first, c_id LIMIT 1;
    END LOOP;
  END IF;
  SELECT c_balance INTO balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = chosen;
  SELECT o_id, o_carrier_id INTO last_order, carrier FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = chosen ORDER BY o_id DESC LIMIT 1;
  SELECT count(*), sum(ol_amount) INTO lines, amount FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = last_order;
END $$;

CREATE PROCEDURE delivery(w int, carrier int, at timestamp, OUT delivered int) LANGUAGE plpgsql AS $$
DECLARE o int; c int; amount numeric(12,2);
BEGIN
  delivered := 0;
  FOR d IN 1 .. 10 LOOP
    SELECT no_o_id INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
    CONTINUE WHEN o IS NULL;
    DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
    SELECT o_c_id INTO c FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = o;
    UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o;
    SELECT sum(ol_amount) INTO amount FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    UPDATE order_line SET ol_delivery_d = at WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    delivered := delivered + 1;
  END LOOP;
END $$;

CREATE PROCEDURE stock_level(w int, d int, threshold int, OUT low int) LANGUAGE plpgsql AS $$
DECLARE next int; q int; seen int[] := '{}'; r record;
BEGIN
  low := 0;
  SELECT d_next_o_id INTO next FROM district WHERE d_w_id = w AND d_id = d;
  FOR o IN next - 20 .. next - 1 LOOP
    FOR r IN SELECT ol_i_id FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o LOOP
      SELECT s_quantity INTO q FROM stock WHERE s_w_id = w AND s_i_id = r.ol_i_id;
      IF q < threshold AND array_position(seen, r.ol_i_id) IS NULL THEN
        low := low + 1;
        seen := array_append(seen, r.ol_i_id);
      END IF;
    END LOOP;
  END LOOP;
END $$;
