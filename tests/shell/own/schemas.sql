-- Relations and routines of several schemas in the describing commands.
\set QUIET on
create schema a;
create table a.t (i int primary key, n text);
create table t (x int);
create table a.f (i int references a.t);
create view a.v as select i from a.t;
create sequence a.sq;
create function a.fu(i int) returns int language sql as 'select i';
comment on table a.t is 'a comment';
\dn
\dn a*
\d
\d a.t
\d t
\d a.sq
\d a.v
\dt+ a.*
\di
\df a.*
\dt f
set search_path = a, public;
\dt f
\d f
.tables
.tables a.%
