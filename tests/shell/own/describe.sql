-- \d and its like.
\d
\dt
create table a(id int primary key, n text not null default 'x, (y', c numeric(8,2) unique check (c > 0), "Odd, name" date, constraint "Two, checks" check (id > 1 and n <> ')')) with (expected_rows = 100);
create table b(id int references a, x int, foreign key (x) references a(id) on delete cascade, unique(id, x));
create unique index b_x on b(x);
create index b_i on b using btree ((x + id) desc, id) include (x) with (fillfactor = 70) where x > 0;
comment on table b is 'the b''s';
comment on column b.x is 'an x';
create view v as select id, n from a where id > 1;
create table "Quoted Name"("A" int primary key);
create function f(i int) returns int language sql as $$ select i + 1 $$;
create function f(t text) returns text language sql as $$ select t $$;
create function g(i int, out x int, inout y text) language plpgsql as $$ begin
  return;
end $$;
create procedure p(i int) language plpgsql as $$ begin null; end $$;
insert into a select i, 'n', i from generate_series(2, 4) i;
\d
\d a
\d+ b
\d b
\d v
\d "Quoted Name"
\d public.v
\d b_x
\d b_i
\d a_pkey
\d q*
\d nothing
\d aa
\dt
\dt+ b
\dt a*
\dt nothing
\dt *.a
\dt pub*.?
\dt pg_catalog.*
\dv
\di
\di b*
\dtv
\ds
\dm
\df
\df f
\df+ g
\df substr
\df nothing
\da count
\do ||
\sf f
\sf f(text)
\sf+ g
\sf nothing
\sf
\sv v
\sv+ v
\sv a
\du
\dg nobody
\dn
\dn+
\l
\dL
\dp
\dx
\db
\dT bigint
\dconfig time*
\d stele_bulks
\conninfo
create table "order"(id int primary key, constraint "a ""b"" c" check (id > 0));
create table "we ""x"""(id int primary key references "order");
create table lines(o int references "order", w int references "we ""x""");
\d "order"
\d "we ""x"""
