-- CH-benCHmark's tables beside TPC-C's (bench/oltp/tpcc.sql, which comes first), and what freshness is measured with.
-- A nation's key is the code of a letter or digit: a customer's nation is that of c_state's first character. A stock
-- row's supplier is s_w_id * s_i_id modulo 10,000. Texts are digests of row numbers, in letters from k to z.
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL);
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL, n_comment varchar(152) NOT NULL);
CREATE TABLE supplier (su_suppkey int PRIMARY KEY, su_name char(25) NOT NULL, su_address varchar(40) NOT NULL, su_nationkey int NOT NULL,
  su_phone char(15) NOT NULL, su_acctbal numeric(12,2) NOT NULL, su_comment varchar(101) NOT NULL);

INSERT INTO region
  SELECT k, name, 'where ' || name || ' is on the map'
  FROM (VALUES (1, 'Africa'), (2, 'America'), (3, 'Asia'), (4, 'Australia'), (5, 'Europe')) AS v(k, name);
INSERT INTO nation
  SELECT ascii(k), name, r, 'nation of the key ' || k
  FROM (VALUES
    ('0', 'Botswana', 1), ('1', 'Ghana', 1), ('2', 'Kenya', 1), ('3', 'Senegal', 1), ('4', 'Zambia', 1), ('5', 'Uruguay', 2), ('6', 'Bolivia', 2), ('7', 'Laos', 3), ('8', 'Samoa', 4), ('9', 'Cyprus', 5),
    ('A', 'Austria', 5), ('B', 'Brazil', 2), ('C', 'Cambodia', 3), ('D', 'Denmark', 5), ('E', 'Ethiopia', 1), ('F', 'France', 5), ('G', 'Germany', 5), ('H', 'Hungary', 5), ('I', 'India', 3),
    ('J', 'Japan', 3), ('K', 'Kiribati', 4), ('L', 'Luxembourg', 5), ('M', 'Mexico', 2), ('N', 'New Zealand', 4), ('O', 'Oman', 3), ('P', 'Peru', 2), ('Q', 'Qatar', 3), ('R', 'Romania', 5),
    ('S', 'Spain', 5), ('T', 'Tonga', 4), ('U', 'United States', 2), ('V', 'Vietnam', 3), ('W', 'Wales', 5), ('X', 'Xanadu', 3), ('Y', 'Yemen', 3), ('Z', 'Zimbabwe', 1),
    ('a', 'Argentina', 2), ('b', 'Belgium', 5), ('c', 'Canada', 2), ('d', 'Dominica', 2), ('e', 'Egypt', 1), ('f', 'Fiji', 4), ('g', 'Greece', 5), ('h', 'Honduras', 2), ('i', 'Italy', 5),
    ('j', 'Jamaica', 2), ('k', 'Korea', 3), ('l', 'Lesotho', 1), ('m', 'Morocco', 1), ('n', 'Netherlands', 5), ('o', 'Otago', 4), ('p', 'Poland', 5), ('q', 'Quebec', 2), ('r', 'Rwanda', 1),
    ('s', 'Sweden', 5), ('t', 'Thailand', 3), ('u', 'Ukraine', 5), ('v', 'Vanuatu', 4), ('w', 'Western Australia', 4), ('x', 'Xinjiang', 3), ('y', 'Yukon', 2), ('z', 'Zanzibar', 1)) AS v(k, name, r);
INSERT INTO supplier
  SELECT k, 'Supplier#' || lpad(k::text, 9, '0'), substr(a || b, 1, (10 + k % 31)::int), n_nationkey, lpad((k * 7919 % 1000000)::text, 6, '0') || lpad((k * 104729 % 1000000000)::text, 9, '0'),
    (k * 104729 % 1099999 - 99999) / 100.0, CASE WHEN k % 100 = 13 THEN overlay(substr(b || a, 1, (40 + k % 25)::int) PLACING 'bad' FROM (1 + k / 100 % 30)::int) ELSE substr(b || a, 1, (40 + k % 25)::int) END
  FROM (SELECT k, translate(md5(k::text), '0123456789abcdef', 'klmnopqrstuvwxyz') AS a, translate(md5('supplier ' || k), '0123456789abcdef', 'klmnopqrstuvwxyz') AS b
        FROM generate_series(0::bigint, 9999) AS g(k)) AS s,
    (SELECT n_nationkey, row_number() OVER (ORDER BY n_nationkey) AS n FROM nation) AS keys
  WHERE n = (k * 2654435761 % 4294967296 + 61) % 62 + 1;

-- Freshness (HATtrick): each client of transactions has a row, and behind its calls sets it to the number of these.
CREATE TABLE ch_client (client int PRIMARY KEY, done bigint NOT NULL);
INSERT INTO ch_client SELECT k, 0 FROM generate_series(0, 255) AS g(k);
CREATE PROCEDURE ch_done(c int, n bigint) LANGUAGE plpgsql AS $$ BEGIN UPDATE ch_client SET done = n WHERE client = c; END $$;
