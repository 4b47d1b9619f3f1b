-- TPC-C: :scale warehouses. Rows have their full width; numbers of rows and value ranges follow the specification, random strings are made from the row's number.
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

CREATE FUNCTION last_name(n int) RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE s text[] := ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'];
BEGIN
  RETURN s[n / 100 + 1] || s[n / 10 % 10 + 1] || s[n % 10 + 1];
END $$;
CREATE TABLE last_names AS SELECT n, last_name(n) AS name FROM generate_series(0, 999) AS g(n);
DROP FUNCTION last_name(int);

INSERT INTO item SELECT i, i % 10000 + 1, 'item' || i, (1 + i * 7919::bigint % 100)::numeric + (i % 100) / 100.0, CASE WHEN i % 10 = 0 THEN 'an ORIGINAL item ' ELSE 'an ordinary item ' END || i FROM generate_series(1, 100000) AS g(i);
INSERT INTO warehouse SELECT w, 'w' || w, 'street 1', 'street 2', 'city', 'st', '123411111', (w * 37 % 2000) / 10000.0, 300000 FROM generate_series(1, :scale) AS g(w);
INSERT INTO district SELECT w, d, 'd' || d, 'street 1', 'street 2', 'city', 'st', '123411111', (w * 10 + d) * 37 % 2000 / 10000.0, 30000, 3001 FROM generate_series(1, :scale) AS g(w), generate_series(1, 10) AS h(d);
INSERT INTO stock SELECT w, i, 10 + (i * 31::bigint + w) % 91, 'd01-' || i, 'd02-' || i, 'd03-' || i, 'd04-' || i, 'd05-' || i, 'd06-' || i, 'd07-' || i, 'd08-' || i, 'd09-' || i, 'd10-' || i, 0, 0, 0,
  CASE WHEN i % 10 = 1 THEN 'an ORIGINAL stock' ELSE 'an ordinary stock' END FROM generate_series(1, :scale) AS g(w), generate_series(1, 100000) AS h(i);
INSERT INTO customer SELECT w, d, c, 'first' || (c * 7919::bigint % 100003), 'OE', n.name, 'street 1', 'street 2', 'city', 'st', '123411111', '0123456789012345', timestamp '2026-01-01', CASE WHEN c % 10 = 3 THEN 'BC' ELSE 'GC' END,
  50000, c * 13 % 5000 / 10000.0, -10, 10, 1, 0, 'some data of customer ' || c
  FROM generate_series(1, :scale) AS g(w), generate_series(1, 10) AS h(d), generate_series(1, 3000) AS k(c), last_names n WHERE n.n = CASE WHEN c <= 1000 THEN c - 1 ELSE c * 7919::bigint % 1000 END;
INSERT INTO history SELECT c, d, w, d, w, timestamp '2026-01-01', 10, 'initial' FROM generate_series(1, :scale) AS g(w), generate_series(1, 10) AS h(d), generate_series(1, 3000) AS k(c);
INSERT INTO orders SELECT w, d, o, (o * 7::bigint + d) % 3000 + 1, timestamp '2026-01-01', CASE WHEN o < 2101 THEN o % 10 + 1 END, 5 + o % 11, 1 FROM generate_series(1, :scale) AS g(w), generate_series(1, 10) AS h(d), generate_series(1, 3000) AS k(o);
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id >= 2101;
INSERT INTO order_line SELECT o_w_id, o_d_id, o_id, n, (o_id * 37::bigint + n * 7919) % 100000 + 1, o_w_id, CASE WHEN o_id < 2101 THEN o_entry_d END, 5, CASE WHEN o_id < 2101 THEN 0 ELSE (o_id * 31 + n) % 9999 / 100.0 + 0.01 END, 'dist'
  FROM orders, generate_series(1, 15) AS g(n) WHERE n <= o_ol_cnt;
DROP TABLE last_names;

CREATE PROCEDURE new_order(w int, d int, c int, items int[], supply int[], amounts int[], at timestamp, OUT o int, OUT total numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE
  wtax numeric(4,4); dtax numeric(4,4); discount numeric(4,4); n int; all_local int := 1;
  price numeric(5,2); q int; dist char(24); amount numeric(6,2); sum_amount numeric(12,2) := 0; away int;
BEGIN
  n := array_length(items, 1);
  SELECT w_tax INTO wtax FROM warehouse WHERE w_id = w;
  SELECT c_discount INTO discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
  FOR i IN 1 .. n LOOP
    IF supply[i] <> w THEN all_local := 0; END IF;
    SELECT i_price INTO price FROM item WHERE i_id = items[i];
    IF price IS NULL THEN RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'P0002'; END IF;
  END LOOP;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d RETURNING d_next_o_id - 1, d_tax INTO o, dtax;
  INSERT INTO orders VALUES (w, d, o, c, at, NULL, n, all_local);
  INSERT INTO new_order VALUES (w, d, o);
  FOR i IN 1 .. n LOOP
    SELECT i_price INTO price FROM item WHERE i_id = items[i];
    SELECT s_quantity, CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                              WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      INTO q, dist FROM stock WHERE s_w_id = supply[i] AND s_i_id = items[i];
    away := CASE WHEN supply[i] <> w THEN 1 ELSE 0 END;
    IF q - amounts[i] >= 10 THEN q := q - amounts[i]; ELSE q := q - amounts[i] + 91; END IF;
    UPDATE stock SET s_quantity = q, s_ytd = s_ytd + amounts[i], s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + away WHERE s_w_id = supply[i] AND s_i_id = items[i];
    amount := price * amounts[i];
    sum_amount := sum_amount + amount;
    INSERT INTO order_line VALUES (w, d, o, i, items[i], supply[i], NULL, amounts[i], amount, dist);
  END LOOP;
  total := sum_amount * (1 + wtax + dtax) * (1 - discount);
END $$;

CREATE PROCEDURE payment(w int, d int, cw int, cd int, c int, name varchar, paid numeric(6,2), at timestamp, OUT chosen int, OUT balance numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE n int; f varchar(16) := ''; credit char(2); info varchar(500); h numeric(6,2) := paid; -- a parameter's scale is not kept
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
  UPDATE warehouse SET w_ytd = w_ytd + h WHERE w_id = w;
  UPDATE district SET d_ytd = d_ytd + h WHERE d_w_id = w AND d_id = d;
  UPDATE customer SET c_balance = c_balance - h, c_ytd_payment = c_ytd_payment + h, c_payment_cnt = c_payment_cnt + 1
   WHERE c_w_id = cw AND c_d_id = cd AND c_id = chosen RETURNING c_balance, c_credit INTO balance, credit;
  IF credit = 'BC' THEN
    SELECT c_data INTO info FROM customer WHERE c_w_id = cw AND c_d_id = cd AND c_id = chosen;
    info := substr(chosen::text || ' ' || cd::text || ' ' || cw::text || ' ' || d::text || ' ' || w::text || ' ' || h::text || '|' || info, 1, 500);
    UPDATE customer SET c_data = info WHERE c_w_id = cw AND c_d_id = cd AND c_id = chosen;
  END IF;
  INSERT INTO history VALUES (chosen, cd, cw, d, w, at, h, 'w' || w::text || '    d' || d::text);
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
