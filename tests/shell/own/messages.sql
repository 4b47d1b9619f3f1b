-- Bad arguments, and what may have been meant.
\nonsense
\tming
\echp x
\d 'unterminated
\c nobody host
\encoding latin1
\timing maybe
\x maybe
\a extra
\pset nonsense
\pset format nonsense
\pset format l
\pset border x
\pset border -1
\pset linestyle nonsense
\pset pager maybe
\pset csv_fieldsep ab
\pset csv_fieldsep '"'
\pset columns many
\pset fieldsep_zero
\pset tuples_only maybe
\g (format=nonsense)
\g (format=csv
\g (
\r
\unset
\prompt
\getenv x
\setenv
\set "bad name" x
\i
\i /nonexistent.sql
\ir /nonexistent.sql
\o /nonexistent/file
\w
\w /nonexistent/file
\copy
\copy nothing from 'x.csv'
\copy
\bulk
\password
\cd /nonexistent
\! exit 3
\echo :SHELL_ERROR :SHELL_EXIT_CODE
\errverbose
\watch
select 1 \watch x
select 1 as n \watch c=0
\r
\chart
select 1 as a, 2 as b \chart pie
\r
select 'a' as a, 'b' as b \chart
select 1 as a \chart
\gset
\crosstabview
\h nonsense
\h drop nonsense
\h create view
\errverbose
select 1/0;
\errverbose
\set VERBOSITY verbose
create table k(a int primary key);
insert into k values (1), (1);
\set VERBOSITY terse
insert into k values (1), (1);
\set VERBOSITY sqlstate
insert into k values (1), (1);
\set VERBOSITY default
\echo :ERROR :SQLSTATE :LAST_ERROR_SQLSTATE :ROW_COUNT
\echo :LAST_ERROR_MESSAGE
\set ECHO errors
select nope from k;
\set ECHO queries
select 1 as a;
\set ECHO all
select 2
  as b;
\set ECHO none
-- transactions
\set AUTOCOMMIT off
create table later(a int);
rollback;
select * from later;
rollback;
\set AUTOCOMMIT on
\set ON_ERROR_ROLLBACK on
begin;
create table kept(a int);
select nope;
insert into kept values (1);
commit;
select * from kept;
help
\?
\? variables
select 1;
\q
select 'not this';
