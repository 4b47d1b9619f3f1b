-- The expanded form (\x) of each format.
\pset null NULL
create table t(id int, name text, "Two words" numeric(8,2), flag boolean);
insert into t values (1, 'one', 1.50, true), (20, E'two\nlines', -20.25, false), (300, 'käse 日本', null, null), (4, '<a> & "b" | c', 0, true);
\x
select * from t order by id;
select * from t where false;
select 1 as "a name of\ntwo lines", 2 as b;
select 1 as a;
\pset border 0
select * from t order by id;
select * from t where false;
\pset border 2
select * from t order by id;
\pset linestyle unicode
select * from t order by id;
\pset border 1
select * from t order by id;
\pset linestyle ascii
\t on
select * from t order by id;
\t off
\C 'A title'
select * from t where id < 10 order by id;
\C
\pset format unaligned
select * from t order by id;
select * from t where false;
\t on
select * from t order by id;
\t off
\pset format csv
select id, name, "Two words" from t order by id;
\pset format html
select * from t order by id;
\pset format asciidoc
select * from t order by id;
\pset border 2
select * from t order by id;
\pset border 1
\pset format latex
select * from t order by id;
\pset border 2
select * from t order by id;
\pset border 1
\pset format troff-ms
select * from t order by id;
\t on
select * from t order by id;
\t off
\pset format aligned
\x auto
select 1 as a, 2 as b;
\x off
select 1 as a \gx
select 1 as a;
