create role r_plain;
create role r_user login connection limit 1 valid until '2030-01-02 00:00:00+00';
create role r_all superuser createdb createrole noinherit login replication bypassrls connection limit 7;
create role r_none connection limit 0;
grant r_plain to r_user, r_all;
comment on role r_plain is 'a role';
alter role r_user set work_mem = '64MB';
alter role r_user set application_name = 'x';
grant all on schema public to r_plain, r_user;
\du r_*
\du+ r_plain
\dg r_user
set role r_plain;
create table t (a int, b text);
create view v as select a from t;
create sequence s;
grant select, insert on t to r_user with grant option;
grant update (b) on t to public;
grant usage on s to r_all;
\dp
\z t
\dt t
\dv v
\ds s
reset role;
alter default privileges for role r_plain grant select on tables to r_user, public;
alter default privileges for role r_plain in schema public grant execute on functions to r_user;
alter default privileges for role r_plain revoke usage on types from public;
\ddp
\drds r_*
drop owned by r_plain;
drop owned by r_user, r_all;
\dp
\ddp
drop role r_plain, r_user, r_all, r_none;
\du r_*
