-- What may be done with a result: \g, \gx, \gexec, \gdesc, \crosstabview, \watch; statements without a semicolon.
select 1 as a, 'x' as b \g
\g
select 2 as a \gx
select 3 as a \g (format=unaligned tuples_only=on)
select 4 as a \g (format=csv)
select 5 as a \g (border=2 title='A title')
select 6 as a;
select 7 as a \g /nonexistent/dir/file
select 8 as a \g | sed 's/8/eight/'
\pset format unaligned
select 1 as a \g (nonsense=1)
\pset format aligned
select 'select ' || g || ' as n' from generate_series(1, 3) g \gexec
select 'select ' || g, null, 'select nope', 'select 42 as after' from generate_series(1, 1) g \gexec
select 1 as a, 'x'::text as b, 2.5::numeric(8,2) as c, now() as d \gdesc
select \gdesc
create table t(a int) \gdesc
create table t(a int);
insert into t values (1) \gdesc
select count(*) from t;
-- crosstab
create table s(year int, kind text, n int, ord int);
insert into s values (2020, 'b', 1, 2), (2020, 'a', 2, 1), (2021, 'a', 3, 1), (2022, 'c', 4, 0), (2022, null, 5, 9);
select year, kind, n from s order by year, kind \crosstabview
select kind, year, n from s order by year, kind \crosstabview
select year, kind, n, ord from s order by year, kind \crosstabview year kind n ord
select year, kind, n, ord from s order by year, kind \crosstabview 1 2 3 4
select year, kind, n, ord from s order by year, kind \crosstabview kind year
select year, kind from s \crosstabview
select year, kind, n from s \crosstabview nope
select year, kind, n from s \crosstabview 1 1
select year, kind, n from s \crosstabview 7
select 1 as a, 2 as b, 3 as c union all select 1, 2, 4 \crosstabview
select 1 as a, 2 as b, 3 as c where false \crosstabview
-- several statements at once, statements behind each other
select 1 as one\; select 2 as two;
select 3 as three; select 4 as four \g
select 'a:b' as colon, '\' as backslash, 1 as "a\b";
\p
select 9
\p
 as nine \p \g
\r
\p
select 10 as ten
\r
select 11 as eleven;
\w /dev/stdout
