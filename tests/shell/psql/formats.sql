-- Every form of output that psql has, over texts with line breaks, wide characters and markup.
\pset null NULL
create table t(id int, name text, "Two words" numeric(8,2), flag boolean);
insert into t values (1, 'one', 1.50, true), (20, E'two\nlines', -20.25, false), (300, 'käse 日本', null, null), (4, '<a> & "b" | c', 0, true), (5, '  leading', 12.5, null);
select * from t order by id;
select * from t where false;
select id, name from t order by id;
select name, id from t order by id;
\pset border 0
select * from t order by id;
\pset border 2
select * from t order by id;
\pset linestyle unicode
select * from t order by id;
\pset border 1
select * from t order by id;
\pset border 0
select * from t order by id;
\pset linestyle old-ascii
\pset border 1
select * from t order by id;
\pset linestyle ascii
\t on
select * from t order by id;
\t off
\pset footer off
select * from t order by id;
\pset footer on
\C 'A title'
select * from t where id < 10 order by id;
\C
\pset columns 30
\pset format wrapped
select id, name, repeat('word ', 8) as words from t order by id;
\pset border 2
select id, name, repeat('word ', 8) as words from t order by id;
\pset border 1
\pset columns 0
\pset format unaligned
select * from t order by id;
select * from t where false;
\t on
select * from t order by id;
\t off
\f ;
select * from t order by id;
\pset fieldsep '\t'
select * from t order by id;
\pset recordsep '%'
select 1 as a, 2 as b union all select 3, 4 order by 1;
\pset recordsep '\n'
\f |
\pset format csv
select id, name, "Two words" from t order by id;
\pset csv_fieldsep ;
select id, name, "Two words" from t order by id;
\t on
select id, name from t order by id;
\t off
\pset format html
select * from t order by id;
\C 'Title of <html>'
\pset tableattr 'class="x"'
select id, name from t where id < 3 order by id;
\t on
select id, name from t where id < 3 order by id;
\t off
\pset tableattr
\pset format asciidoc
select * from t order by id;
\pset border 2
select id, name from t where id < 3 order by id;
\pset border 0
select id, name from t where id < 3 order by id;
\pset border 1
\pset format latex
select * from t order by id;
\pset border 2
select id, name from t where id < 3 order by id;
\pset border 0
select id, name from t where id < 3 order by id;
\pset border 1
\pset format troff-ms
select * from t order by id;
\pset border 2
select id, name from t where id < 3 order by id;
