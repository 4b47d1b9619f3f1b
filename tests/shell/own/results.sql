-- Charts, \watch, copies through the shell, JSON lines, output to programs.
create table sales(month text, amount numeric(10,2));
insert into sales values ('January', 120), ('February', 60.5), ('März', 240), ('April', -60), ('May', null);
\pset columns 60
select month, amount from sales \chart
select month, amount from sales where amount > 1000 \chart
select g, round(100 * sin(g / 10.0::float8))::int as wave from generate_series(0, 100) g \chart line
\o |grep -c every
select 1 as a \watch 0 c=2
\o
\copy sales to sales.csv csv header
\! cat sales.csv
create table copy_of (like_month text, amount numeric(10,2));
\copy copy_of from sales.csv with (format csv, header)
\copy copy_of(like_month) from stdin
typed
\.
select this_line_is_18;
do $$ begin raise notice 'at 19'; end $$;
\copy (select * from copy_of where amount is null order by 1) to stdout
\copy (select 'to' as "from") to pstdout csv header
\copy copy_of from program 'printf "p,1\nq,2\n"' csv
\copy (select * from copy_of where like_month < 'z' and like_month >= 'p' order by 1) to program 'tr a-z A-Z' csv
\copy copy_of from program 'exit 3' csv
\copy copy_of from program
\copy copy_of sideways
copy (select 1) to stdout;
\o |sort -r
select g from generate_series(1, 3) g;
\o
\o out.txt
select 1 as a;
\qecho in the file
\echo not in the file
\o
\! cat out.txt
\pset null '(null)'
select null as a, 'x' as b;
\pset format csv
select null as a, '' as b;
\pset null
\format jsonlines
select 1 as a, 'x"y' as b, null as c, true as d, 1.5 as e, date '2020-01-01' as f;
\format table
insert into copy_of values ('r', 1) returning like_month;
\t
select 1 as a;
\t
\timing off
\x auto
select 1 as narrow, 2 as it;
select repeat('x', 50) as wide, repeat('y', 50) as wider;
\x off
\pset
