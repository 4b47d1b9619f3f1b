-- Commands with a dot, as SQLite's and DuckDB's shells have them.
.tables
create table t(id int primary key, name text, ok boolean, x double precision);
insert into t values (1, 'one', true, 1.5), (2, 'it''s', false, 'NaN'), (3, null, null, null), (4, E'a\nb | "c"', true, 1e20);
create view v as select id from t;
create table other(a int);
.tables
.tables o%
.schema
.schema other
.indexes
.mode box
select * from t order by id;
.mode
.mode table
select * from t order by id;
.mode column
select * from t order by id;
.mode line
select * from t order by id;
.mode list
select * from t order by id;
.separator ;
select * from t order by id;
.mode csv
select * from t order by id;
.mode tabs
select * from t order by id;
.mode quote
select * from t order by id;
.mode insert
select * from t order by id;
.mode insert "my table"
select * from t where id < 3 order by id;
.mode json
select * from t order by id;
select * from t where false;
.mode jsonlines
select * from t order by id;
.mode markdown
select * from t order by id;
.mode html
select * from t where id < 3 order by id;
.mode trash
select * from t;
.mode nonsense
.mode aligned
.headers off
select id from t order by id;
.headers on
.nullvalue -
select null as n;
.timer off
.timer what
.print hello world "two\nlines"
.import missing.csv z
.shell printf '1,"a, b"\n2,c\n' > data.csv
.import data.csv t2
select * from t2;
\d t2
create table t3(a int, b text);
.import --csv data.csv t3
.import --skip 1 data.csv t3
select * from t3 order by a;
.shell printf 'a\tb\n1\tx\n' > data.tsv
.import data.tsv t4
select * from t4;
.shell printf 'order,User\n1,x\n' > words.csv
.import words.csv table
select * from "table";
.import data.tsv
.output out.txt
select 1 as in_file;
.output
\! cat out.txt
.once once.txt
select 1 as first;
select 2 as second;
\! cat once.txt
.once
.once /nowhere/x
select 3 as third;
.shell printf 'select 2 as included;\n' > inc.sql
.read inc.sql
.read missing.sql
.databases
.show
\o |grep -v "Dumped by"
.dump other
\o
.tabels
.nonsense
.mo csv
select 1 as a;
.help mode
.help nothing
.bail on
select nope;
select 'not this';
