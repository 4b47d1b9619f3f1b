-- TM-1: :scale thousand subscribers with 1 to 4 access_info and special_facility rows each and up to 3 call_forwarding rows per facility.
CREATE TABLE subscriber (s_id int PRIMARY KEY, sub_nbr varchar(15) NOT NULL UNIQUE,
  bit_1 smallint, bit_2 smallint, bit_3 smallint, bit_4 smallint, bit_5 smallint, bit_6 smallint, bit_7 smallint, bit_8 smallint, bit_9 smallint, bit_10 smallint,
  hex_1 smallint, hex_2 smallint, hex_3 smallint, hex_4 smallint, hex_5 smallint, hex_6 smallint, hex_7 smallint, hex_8 smallint, hex_9 smallint, hex_10 smallint,
  byte2_1 smallint, byte2_2 smallint, byte2_3 smallint, byte2_4 smallint, byte2_5 smallint, byte2_6 smallint, byte2_7 smallint, byte2_8 smallint, byte2_9 smallint, byte2_10 smallint,
  msc_location int, vlr_location int);
CREATE TABLE access_info (s_id int NOT NULL, ai_type smallint NOT NULL, data1 smallint, data2 smallint, data3 char(3), data4 char(5), PRIMARY KEY (s_id, ai_type));
CREATE TABLE special_facility (s_id int NOT NULL, sf_type smallint NOT NULL, is_active smallint NOT NULL, error_cntrl smallint, data_a smallint, data_b char(5), PRIMARY KEY (s_id, sf_type));
CREATE TABLE call_forwarding (s_id int NOT NULL, sf_type smallint NOT NULL, start_time smallint NOT NULL, end_time smallint, numberx varchar(15), PRIMARY KEY (s_id, sf_type, start_time));
INSERT INTO subscriber SELECT i, lpad(i::text, 15, '0'),
  i / 1 % 2, i / 2 % 2, i / 4 % 2, i / 8 % 2, i / 16 % 2, i / 32 % 2, i / 64 % 2, i / 128 % 2, i / 256 % 2, i / 512 % 2,
  i * 1::bigint % 16, i * 3::bigint % 16, i * 5::bigint % 16, i * 7::bigint % 16, i * 9::bigint % 16, i * 11::bigint % 16, i * 13::bigint % 16, i * 15::bigint % 16, i * 17::bigint % 16, i * 19::bigint % 16,
  i * 7::bigint % 256, i * 21::bigint % 256, i * 35::bigint % 256, i * 49::bigint % 256, i * 63::bigint % 256, i * 77::bigint % 256, i * 91::bigint % 256, i * 105::bigint % 256, i * 119::bigint % 256, i * 133::bigint % 256,
  i * 7919::bigint % 1000000, i * 104729::bigint % 1000000 FROM generate_series(1, :scale * 1000) AS g(i);
INSERT INTO access_info SELECT i, t, i % 256, t * 3, 'abc', 'abcde' FROM generate_series(1, :scale * 1000) AS g(i), generate_series(1, 4) AS h(t) WHERE t <= 1 + i % 4;
INSERT INTO special_facility SELECT i, t, CASE WHEN (i % 1000 * 31 + t * 17) % 100 < 85 THEN 1 ELSE 0 END, t, i % 256, 'abcde' FROM generate_series(1, :scale * 1000) AS g(i), generate_series(1, 4) AS h(t) WHERE t <= 1 + i % 1000 * 7 % 4;
INSERT INTO call_forwarding SELECT f.s_id, f.sf_type, k * 8, k * 8 + 1 + (f.s_id + k) % 8, lpad((f.s_id * 13::bigint % 1000000)::text, 15, '0')
  FROM special_facility f, generate_series(0, 2) AS h(k) WHERE k < (f.s_id % 1000 * 3 + f.sf_type) % 4;
CREATE PROCEDURE get_subscriber_data(s int, OUT nbr varchar, OUT b1 smallint, OUT b2 smallint, OUT b3 smallint, OUT b4 smallint, OUT b5 smallint, OUT b6 smallint, OUT b7 smallint, OUT b8 smallint, OUT b9 smallint, OUT b10 smallint,
  OUT h1 smallint, OUT h2 smallint, OUT h3 smallint, OUT h4 smallint, OUT h5 smallint, OUT h6 smallint, OUT h7 smallint, OUT h8 smallint, OUT h9 smallint, OUT h10 smallint,
  OUT y1 smallint, OUT y2 smallint, OUT y3 smallint, OUT y4 smallint, OUT y5 smallint, OUT y6 smallint, OUT y7 smallint, OUT y8 smallint, OUT y9 smallint, OUT y10 smallint, OUT msc int, OUT vlr int) LANGUAGE plpgsql AS $$
BEGIN
  SELECT sub_nbr, bit_1, bit_2, bit_3, bit_4, bit_5, bit_6, bit_7, bit_8, bit_9, bit_10,
    hex_1, hex_2, hex_3, hex_4, hex_5, hex_6, hex_7, hex_8, hex_9, hex_10,
    byte2_1, byte2_2, byte2_3, byte2_4, byte2_5, byte2_6, byte2_7, byte2_8, byte2_9, byte2_10, msc_location, vlr_location
  INTO STRICT nbr, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, h1, h2, h3, h4, h5, h6, h7, h8, h9, h10, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, msc, vlr FROM subscriber WHERE s_id = s;
END $$;
CREATE PROCEDURE get_new_destination(s int, t smallint, at smallint, until smallint, OUT nbr varchar) LANGUAGE plpgsql AS $$
BEGIN
  SELECT cf.numberx INTO STRICT nbr FROM special_facility sf, call_forwarding cf
   WHERE sf.s_id = s AND sf.sf_type = t AND sf.is_active = 1 AND cf.s_id = s AND cf.sf_type = t AND cf.start_time <= at AND until < cf.end_time;
END $$;
CREATE PROCEDURE get_access_data(s int, t smallint, OUT d1 smallint, OUT d2 smallint, OUT d3 char, OUT d4 char) LANGUAGE plpgsql AS $$
BEGIN
  SELECT data1, data2, data3, data4 INTO STRICT d1, d2, d3, d4 FROM access_info WHERE s_id = s AND ai_type = t;
END $$;
CREATE PROCEDURE update_subscriber_data(s int, b smallint, t smallint, d smallint) LANGUAGE plpgsql AS $$
DECLARE found_type smallint;
BEGIN
  SELECT sf_type INTO STRICT found_type FROM special_facility WHERE s_id = s AND sf_type = t;
  UPDATE subscriber SET bit_1 = b WHERE s_id = s;
  UPDATE special_facility SET data_a = d WHERE s_id = s AND sf_type = t;
END $$;
CREATE PROCEDURE update_location(nbr varchar, vlr int) LANGUAGE plpgsql AS $$
DECLARE s int;
BEGIN
  SELECT s_id INTO STRICT s FROM subscriber WHERE sub_nbr = nbr;
  UPDATE subscriber SET vlr_location = vlr WHERE s_id = s;
END $$;
CREATE PROCEDURE insert_call_forwarding(nbr varchar, t smallint, at smallint, until smallint, number varchar) LANGUAGE plpgsql AS $$
DECLARE s int; found_type smallint;
BEGIN
  SELECT s_id INTO STRICT s FROM subscriber WHERE sub_nbr = nbr;
  SELECT sf_type INTO STRICT found_type FROM special_facility WHERE s_id = s AND sf_type = t;
  INSERT INTO call_forwarding VALUES (s, t, at, until, number);
END $$;
CREATE PROCEDURE delete_call_forwarding(nbr varchar, t smallint, at smallint) LANGUAGE plpgsql AS $$
DECLARE s int; gone smallint;
BEGIN
  SELECT s_id INTO STRICT s FROM subscriber WHERE sub_nbr = nbr;
  DELETE FROM call_forwarding WHERE s_id = s AND sf_type = t AND start_time = at RETURNING start_time INTO STRICT gone;
END $$;
