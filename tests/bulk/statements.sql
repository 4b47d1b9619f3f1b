-- Cases of postgres.py: every kind of statement of PL/pgSQL, and bad input. Expected results are PostgreSQL's.
--
-- `-- case NAME` begins a case; SQL statements follow, each up to a line that ends with a semicolon outside $$. Calls name the routines made by `create procedure` and
-- `create function` (inner_* excepted: those are called by others); `-- table NAME` is compared afterwards; `-- call NAME arg | arg`: \N is NULL. Where calls have `=> ok` or `=> SQLSTATE place`, that is expected instead of
-- what PostgreSQL gives, which knows no limit of steps and another one of depth.

-- case assignments
create table t (id int primary key, a int, b bigint, c numeric(12,2), d text, e boolean, f date, g double precision, h smallint);
insert into t values (1, 1, 10, 1.50, 'one', true, '2020-01-01', 0.5, 1), (2, 2, 20, 2.50, 'two', false, '2020-02-29', -1.25, 2), (3, null, null, null, null, null, null, null, null);
create procedure scalars(k int, x int, out o text, out n numeric(12,2), out d date, out g double precision) language plpgsql as $$
declare
  y int := x + 1;
  z constant bigint := 3;
  s text = 'start';
  m numeric(12,2) default 0.25;
  q int not null := 5;
begin
  y = y * 2;
  s := s || '-' || y || '-' || coalesce(z::text, '');
  m := m + y;
  q := q + x;
  n := m;
  d := date '2020-01-31' + x;
  g := x / 4.0;
  o := s || ' ' || q;
  update t set a = y, b = z, c = m, d = s, e = y > 4, f = scalars.d, g = scalars.g, h = x where id = k;
end $$;
-- table t
-- call scalars 1 | 1
-- call scalars 2 | \N
-- call scalars 2 | 100000
-- call scalars 3 | 7
-- call scalars 9 | 3
-- call scalars 1 | 2147483647

-- case conditions
create table t (id int primary key, n int not null);
insert into t select i, i from generate_series(0, 9) i;
create procedure ifs(k int, x int, out o text) language plpgsql as $$
begin
  if x > 10 then
    o := 'large';
    update t set n = n + 100 where id = k;
  elsif x > 5 then
    o := 'middle';
    update t set n = n + 10 where id = k;
  elseif x is null then
    o := 'null';
  else
    o := 'small';
    delete from t where id = k;
  end if;
end $$;
create procedure cases(k int, x int, out o text) language plpgsql as $$
begin
  case x
    when 1, 2 then o := 'one or two';
    when k then o := 'k';
      update t set n = -1 where id = k;
  end case;
end $$;
create procedure searched(k int, x int, out o text) language plpgsql as $$
begin
  case
    when x < 0 then o := 'negative';
    when x = k then update t set n = n * 2 where id = k;
    else null;
  end case;
  o := coalesce(o, '') || case when x > 3 then '!' else '?' end;
end $$;
-- table t
-- call ifs 1 | 11
-- call ifs 2 | 6
-- call ifs 3 | \N
-- call ifs 4 | 1
-- call cases 1 | 1
-- call cases 5 | 5
-- call cases 5 | 6
-- call cases 5 | \N
-- call searched 6 | -1
-- call searched 6 | 6
-- call searched 6 | 3
-- call searched 6 | \N

-- case loops
create table t (id int primary key, n bigint not null);
insert into t select i, i from generate_series(0, 9) i;
create procedure loops(k int, x int, out o text, out s bigint) language plpgsql as $$
declare
  i int := 0;
begin
  o := '';
  s := 0;
  <<outer_loop>>
  loop
    i := i + 1;
    exit when i > x;
    continue when i % 3 = 0;
    for j in 1..i loop
      continue outer_loop when j = 4;
      exit outer_loop when s > 100;
      s := s + j;
    end loop;
  end loop;
  while i > 0 loop
    i := i - 2;
    o := o || i || ',';
    if i = 3 then
      exit;
    end if;
  end loop;
  for j in reverse 5..x by 2 loop
    o := o || j || ';';
  end loop;
  for j in x..x + 3 by 3 loop
    s := s + j;
  end loop;
  update t set n = n + s where id = k;
end $$;
create procedure bad_step(k int, x int) language plpgsql as $$
begin
  update t set n = 0 where id = k;
  for i in 1..3 by x loop
    update t set n = n + 1 where id = k;
  end loop;
end $$;
create procedure bad_bound(k int, x int) language plpgsql as $$
begin
  update t set n = 0 where id = k;
  for i in x..3 loop
    update t set n = n + 1 where id = k;
  end loop;
end $$;
create procedure elements(k int, a int[], out s bigint) language plpgsql as $$
declare
  e int;
begin
  s := 0;
  foreach e in array a loop
    s := s + coalesce(e, 1000);
  end loop;
  for i in 1..coalesce(array_length(a, 1), 0) loop
    s := s + a[i] * i;
  end loop;
  update t set n = s where id = k;
end $$;
-- table t
-- call loops 1 | 0
-- call loops 1 | 3
-- call loops 2 | 9
-- call loops 3 | \N
-- call bad_step 4 | 1
-- call bad_step 4 | 0
-- call bad_step 4 | -1
-- call bad_step 4 | \N
-- call bad_bound 5 | 2
-- call bad_bound 5 | 9
-- call bad_bound 5 | \N
-- call elements 6 | {1,2,3}
-- call elements 6 | {}
-- call elements 7 | {1,NULL,3}
-- call elements 7 | \N

-- case queries
create table acct (id int primary key, bal bigint not null, owner text);
create table hist (acct int, n int, amount bigint, primary key (acct, n));
insert into acct select i, i * 100, case when i % 3 > 0 then 'o' || i % 3 end from generate_series(0, 9) i;
insert into hist select i % 4, i, i * 10 from generate_series(0, 11) i;
create procedure single(k int, out b bigint, out w text, out f boolean) language plpgsql as $$
begin
  select bal, owner into b, w from acct where id = k;
  f := found;
  if not found then
    insert into acct values (k, 0, 'new');
  end if;
end $$;
create procedure exact(k int, out b bigint) language plpgsql as $$
begin
  select bal into strict b from acct where id = k;
  update acct set bal = bal - 1 where id = k;
end $$;
create procedure many_strict(k int, out b bigint) language plpgsql as $$
begin
  insert into hist values (k, 100, 0);
  select amount into strict b from hist where acct = k;
end $$;
create procedure whole(k int, out o text) language plpgsql as $$
declare
  r record;
  a acct%rowtype;
  x acct.bal%type;
begin
  select * into r from acct where id = k;
  o := coalesce(r.owner, '-') || r.bal;
  select * into a from acct where id = k;
  x := a.bal;
  o := o || ' ' || coalesce(a.owner, 'none') || ' ' || coalesce(x::text, 'null');
end $$;
create procedure rows_of(k int, out o text, out s bigint) language plpgsql as $$
declare
  r record;
begin
  o := '';
  s := 0;
  for r in select n, amount from hist where acct = k order by n loop
    o := o || r.n || ':' || r.amount || ' ';
    continue when r.n % 2 = 1;
    exit when s > 60;
    s := s + r.amount;
    update hist set amount = amount + 1 where acct = k and n = r.n;
  end loop;
end $$;
create procedure aggregates(k int, out c bigint, out s bigint, out lo int, out hi int) language plpgsql as $$
begin
  select count(*), coalesce(sum(amount), -1), min(n), max(n) into c, s, lo, hi from hist where acct = k;
  perform 1 from acct where id = k;
  if not found then
    raise exception 'no account %', k using errcode = 'P0002', hint = 'Make one.', detail = 'There are ten.';
  end if;
end $$;
create procedure ordered(k int, out n int, out a bigint) language plpgsql as $$
begin
  select h.n, h.amount into n, a from hist h where h.acct = k order by h.n desc limit 1;
end $$;
create procedure joined(k int, out b bigint, out a bigint) language plpgsql as $$
begin
  select x.bal, y.amount into b, a from acct x join hist y on y.acct = x.id where x.id = k and y.n = k;
end $$;
-- table acct
-- table hist
-- call single 1
-- call single 3
-- call single 77
-- call single \N
-- call exact 2
-- call exact 78
-- call many_strict 2
-- call many_strict 55
-- call whole 1
-- call whole 3
-- call whole 99
-- call rows_of 1
-- call rows_of 0
-- call rows_of 8
-- call aggregates 2
-- call aggregates 8
-- call aggregates 800
-- call ordered 3
-- call ordered 9
-- call joined 1
-- call joined 9

-- case changes
create table t (id int primary key, n int not null check (n < 1000), s text unique, v varchar(5), x smallint);
create table log (k int, what text);
insert into t select i, i, 's' || i, 'v' || i, i from generate_series(0, 9) i;
create procedure ins(k int, n int, s text, out o int, out c bigint) language plpgsql as $$
begin
  insert into log values (k, 'ins');
  insert into t (id, n, s) values (k, n, s) returning t.n + 1 into o;
  get diagnostics c = row_count;
end $$;
create procedure upsert(k int, n int, s text, out f boolean) language plpgsql as $$
begin
  insert into t values (k, n, s) on conflict do nothing;
  f := found;
  insert into log values (k, case when found then 'new' else 'old' end);
end $$;
create procedure upd(k int, m int, out o int, out f boolean, out c int) language plpgsql as $$
begin
  update t set n = t.n + m, v = 'w' || m where id = k returning t.n into o;
  f := found;
  get diagnostics c = row_count;
end $$;
create procedure upd_strict(k int, m int, out o int) language plpgsql as $$
begin
  insert into log values (k, 'strict');
  update t set x = x + m where id = k returning x into strict o;
end $$;
create procedure del(k int, out o text, out f boolean) language plpgsql as $$
begin
  delete from t where id = k returning s into o;
  f := found;
  if f then
    insert into log values (k, o);
  end if;
end $$;
create procedure del_log(k int, out c bigint) language plpgsql as $$
begin
  delete from log where log.k = del_log.k;
  get diagnostics c = row_count;
end $$;
-- table t
-- table log
-- call ins 20 | 5 | new
-- call ins 20 | 6 | again
-- call ins 21 | 6 | s3
-- call ins 22 | \N | x
-- call ins 23 | 1000 | y
-- call ins \N | 1 | z
-- call ins 24 | 1 | \N
-- call ins 25 | 1 | \N
-- call upsert 1 | 1 | u
-- call upsert 30 | 1 | s1
-- call upsert 31 | 1 | u31
-- call upsert 32 | 5000 | u32
-- call upd 1 | 10
-- call upd 1 | 990
-- call upd 2 | 10000
-- call upd 77 | 1
-- call upd 3 | \N
-- call upd 4 | 2147483647
-- call upd_strict 5 | 5
-- call upd_strict 5 | 32767
-- call upd_strict 78 | 1
-- call del 6
-- call del 6
-- call del 7
-- call ins 6 | 66 | s6
-- call del_log 6
-- call del_log 6

-- case errors
create table t (id int primary key, n int not null);
insert into t select i, i from generate_series(0, 9) i;
create procedure raises(k int, x int) language plpgsql as $$
begin
  update t set n = 99 where id = k;
  if x = 0 then
    raise exception 'plain';
  elsif x = 1 then
    raise exception 'with % and %%, %', k, x;
  elsif x = 2 then
    raise exception using message = 'm' || k, errcode = '22012', detail = 'd', hint = 'h';
  elsif x = 3 then
    raise sqlstate 'AB123' using message = 'own';
  elsif x = 4 then
    raise unique_violation;
  elsif x = 5 then
    raise notice 'not seen %', k;
    raise debug 'nor this';
  elsif x = 6 then
    raise exception 'unknown condition' using errcode = 'check_violation';
  elsif x = 7 then
    assert k > 100, 'too small ' || k;
  elsif x = 8 then
    assert k > 100;
  elsif x = 9 then
    assert null;
  else
    raise exception '%', null::int;
  end if;
end $$;
create procedure arithmetic(k int, x int, y int, out o int) language plpgsql as $$
begin
  update t set n = -1 where id = k;
  o := x / y;
  o := o + x % y;
  o := o * x;
  update t set n = o where id = k;
end $$;
create procedure texts(k int, s text, out o int, out d date, out z smallint) language plpgsql as $$
begin
  update t set n = -2 where id = k;
  o := s::int;
  z := o;
  d := date '2020-01-01' + z;
end $$;
create procedure lengths(k int, s text, out v varchar(3), out c numeric(4,2)) language plpgsql as $$
begin
  update t set n = -3 where id = k;
  v := s;
  c := length(s) * 25;
end $$;
-- table t
-- call raises 0 | 0
-- call raises 1 | 1
-- call raises 2 | 2
-- call raises 3 | 3
-- call raises 4 | 4
-- call raises 5 | 5
-- call raises 6 | 6
-- call raises 7 | 7
-- call raises 8 | 8
-- call raises 9 | 9
-- call raises 9 | 10
-- call arithmetic 1 | 7 | 2
-- call arithmetic 1 | 7 | 0
-- call arithmetic 2 | 2147483647 | 1
-- call arithmetic 2 | \N | 0
-- call arithmetic 3 | -2147483648 | -1
-- call texts 4 | 12
-- call texts 4 | x
-- call texts 5 | 99999
-- call texts 5 | 99999999999
-- call texts 6 | \N
-- call lengths 7 | ab
-- call lengths 7 | abcd
-- call lengths 8 | abc
-- call lengths 8 | \N

-- case groups
create table t (k int primary key, g int, v int, s text);
create table pick (owner int, k int, primary key (owner, k));
create table out_rows (owner int, at int, what text, primary key (owner, at));
insert into t select i, i % 4, nullif(i * 7 % 5, 3), 's' || i % 3 from generate_series(1, 40) x(i);
insert into t values (100, null, 5, 'z'), (101, null, null, null);
insert into pick select i % 5, i * 3 from generate_series(1, 12) x(i);
create procedure figures(lo int, hi int, out o text) language plpgsql as $$
declare r record; a bigint; b bigint; c int;
begin
  o := '';
  for r in select g, count(*) n, sum(v) sv, count(v) cv, max(s) ms from t where k >= lo and k < hi group by g having count(*) > 1 order by n desc, g nulls first loop
    o := o || coalesce(r.g, -1) || ':' || r.n || ',' || coalesce(r.sv::text, 'N') || ',' || r.cv || ',' || coalesce(r.ms, '-') || ' ';
  end loop;
  select count(distinct s), sum(distinct v) into a, b from t where k between lo and hi;
  o := o || ' ' || a || ' ' || coalesce(b, -9);
  select g, count(*) into c, b from t where k > lo group by g order by 2 desc, 1 limit 1;
  o := o || ' top ' || coalesce(c, -9) || ' ' || coalesce(b, -9);
  select k into c from t where g = lo % 4 order by k desc offset 2 limit 1;
  o := o || ' third ' || coalesce(c, -9);
  for r in select distinct g, s from t where k < hi order by 1, 2 limit 3 offset lo loop
    o := o || ' ' || coalesce(r.g::text, 'N') || coalesce(r.s, 'N');
  end loop;
end $$;
create procedure picks(o int, out n int, out m bigint, out x boolean) language plpgsql as $$
begin
  update t set v = v + 1 where k in (select p.k from pick p where p.owner = o) and v < 100;
  get diagnostics n = row_count;
  x := o in (select g from t where k > 90);
  x := coalesce(x, o not in (select owner from pick where k > 20));
  delete from t where (k, g) in (select p.k + 1, (p.k + 1) % 4 from pick p where p.owner = o and p.k > 20);
  select count(*) into m from t where g = any (select p.owner from pick p where p.k > o * 3) and v <= all (select 4 from pick where owner = o);
end $$;
create procedure unroll(who int, lo int, out made int) language plpgsql as $$
declare r record; left_over int;
begin
  made := 0;
  for r in select k, v from t where g = who and k > lo order by k loop
    made := made + 1;
    insert into out_rows values (who, made, 'k' || r.k);
  end loop;
  select sum(v) into left_over from t where g = who;
  while left_over > 20 loop
    left_over := left_over - 7;
    insert into out_rows values (who, 1000 + left_over, 'over') on conflict (owner, at) do update set what = out_rows.what || '+';
  end loop;
  insert into out_rows select g, 2000 + k, s from t where g = who and v > 3 on conflict do nothing;
  update t set v = v + 1 where g = who;
end $$;
-- table t
-- table out_rows
-- call figures 1 | 20
-- call figures 0 | 200
-- call figures 300 | 400
-- call figures \N | 3
-- call figures -1 | 5
-- call picks 1
-- call picks 2
-- call picks 0
-- call picks 7
-- call picks \N
-- call unroll 1 | 0
-- call unroll 2 | 30
-- call unroll 1 | 0
-- call unroll 3 | \N
-- call unroll 0 | -5
-- call picks 3
-- call unroll 0 | 100
-- call figures 2 | 50

-- case constraints
create table t (id int primary key, a int not null check (a > 0), b int check (b > 0), c text unique, check (a < b), check (b < 1000));
insert into t values (1, 1, 5, 'x'), (2, 2, 6, 'y');
create procedure put(i int, x int, y int, z text) language plpgsql as $$ begin insert into t values (i, x, y, z); end $$;
create procedure change(i int, x int, y int, z text) language plpgsql as $$ begin update t set c = z, b = y, a = x where id = i; end $$;
create procedure merge(i int, x int, y int, z text, out n int) language plpgsql as $$
begin
  insert into t values (i, x, y, z) on conflict (id) do update set b = t.b + 10 / (excluded.a - 1), a = nullif(excluded.a, 4) where t.a < 10 / (excluded.b - 6);
  get diagnostics n = row_count;
end $$;
create procedure add(i int, x int, y int) language plpgsql as $$ begin update t set b = b + y, a = a + x where id = i; end $$;
-- table t
-- call put 3 | \N | 0 | x
-- call put 3 | 0 | 0 | x
-- call put 3 | 7 | 6 | x
-- call put 3 | 7 | 2000 | x
-- call put 3 | 7 | 8 | x
-- call put 1 | \N | 8 | q
-- call put 3 | 7 | 8 | q
-- call change 1 | \N | 0 | q
-- call change 1 | 0 | 0 | q
-- call change 1 | 3 | 2 | q
-- call change 1 | 3 | 4 | q
-- call change 1 | 3 | 4 | r
-- call change 9 | \N | 0 | q
-- call merge 1 | \N | 0 | q
-- call merge 1 | 0 | 5 | q
-- call merge 1 | 1 | 6 | q
-- call merge 1 | 1 | 7 | q
-- call merge 1 | 4 | 7 | q
-- call merge 1 | 6 | 7 | q
-- call merge 1 | 6 | 9 | q
-- call merge 4 | 6 | 7 | q
-- call merge 4 | 6 | 7 | s
-- call add 2 | 1 | 2147483647
-- call add 2 | \N | 2147483647
-- call add 2 | \N | 1
-- call add 2 | 100 | 1
-- call add 2 | -10 | 1

-- case handlers
create table t (id int primary key, n int not null);
insert into t select i, i from generate_series(0, 9) i;
create procedure caught(k int, x int, out o text) language plpgsql as $$
begin
  o := 'before ';
  begin
    update t set n = n + 100 where id = k;
    insert into t values (x, 10 / x);
    o := o || 'done ';
  exception
    when unique_violation then
      o := o || sqlstate || ' ';
    when division_by_zero or not_null_violation then
      o := o || sqlerrm || ' ';
      update t set n = -1 where id = k;
    when others then
      raise exception 'other %', sqlstate;
  end;
  o := o || 'after';
end $$;
create procedure again(k int) language plpgsql as $$
begin
  update t set n = n + 1 where id = k;
  begin
    raise exception 'inside';
  exception when others then
    raise;
  end;
end $$;
-- table t
-- call caught 1 | 20
-- call caught 2 | 20
-- call caught 3 | 0
-- call caught 4 | \N
-- call caught 5 | 5
-- call again 6

-- case least integers
create table t (id int primary key, a smallint not null, b int, c bigint not null, d numeric(9,2));
insert into t values (1, 0, 0, 0, 0), (2, -1, -1, -1, -1), (3, -32768, -2147483648, -9223372036854775808, -5), (4, 5, null, 7, null);
create procedure small(i int, x smallint) language plpgsql as $$ begin update t set a = a - x where id = i; end $$;
create procedure plain(i int, x int) language plpgsql as $$ begin update t set b = b - x where id = i; end $$;
create procedure large(i int, x bigint) language plpgsql as $$ begin update t set c = c - x where id = i; end $$;
create procedure wider(i int, x bigint, y numeric) language plpgsql as $$ begin update t set b = b - x, d = d - y where id = i; end $$;
create procedure several(i int, x int, y bigint) language plpgsql as $$
begin
  for k in 1 .. 4 loop
    update t set b = b - x where id = k;
    update t set c = c - y, a = a + 1 where id = k and k <= i;
  end loop;
end $$;
create procedure taken(i int, x int, out o int) language plpgsql as $$ begin update t set b = b - x where id = i returning b into o; end $$;
-- table t
-- call small 1 | -32768
-- call small 1 | 3
-- call small 1 | -3
-- call small 2 | -32768
-- call small 2 | 3
-- call small 2 | -3
-- call small 3 | -32768
-- call small 3 | 3
-- call small 3 | -3
-- call small 4 | -32768
-- call small 4 | 3
-- call small 4 | -3
-- call plain 1 | -2147483648
-- call plain 1 | 3
-- call plain 1 | 2147483647
-- call plain 2 | -2147483648
-- call plain 2 | 3
-- call plain 2 | 2147483647
-- call plain 3 | -2147483648
-- call plain 3 | 3
-- call plain 3 | 2147483647
-- call plain 4 | -2147483648
-- call plain 4 | 3
-- call plain 4 | \N
-- call large 1 | -9223372036854775808
-- call large 1 | 3
-- call large 1 | 9223372036854775807
-- call large 1 | \N
-- call large 2 | -9223372036854775808
-- call large 2 | 3
-- call large 2 | 9223372036854775807
-- call large 2 | \N
-- call large 3 | -9223372036854775808
-- call large 3 | 3
-- call large 3 | 9223372036854775807
-- call large 3 | \N
-- call large 4 | -9223372036854775808
-- call large 4 | 3
-- call large 4 | 9223372036854775807
-- call large 4 | \N
-- call wider 1 | -2147483648 | 1
-- call wider 1 | 2147483648 | 1.00
-- call wider 1 | 5 | 0.005
-- call wider 2 | -2147483648 | 1
-- call wider 2 | 2147483648 | 1.00
-- call wider 2 | 5 | 0.005
-- call wider 3 | -2147483648 | 1
-- call wider 3 | 2147483648 | 1.00
-- call wider 3 | 5 | 0.005
-- call several 4 | -1 | 1
-- call several 4 | -2147483648 | 0
-- call several 2 | 1 | -9223372036854775808
-- call several 1 | 3 | -9223372036854775808
-- call taken 1 | -2147483648
-- call taken 2 | -2147483648
-- call taken 4 | 1

-- case several sums
create table t (id int primary key, a smallint not null, b int not null, c bigint not null, d int, e numeric(5,2));
insert into t select i, 32000, 2147483000, 9223372036854775000, 2147483000, 990 from generate_series(1, 9) g(i);
create procedure forth(i int, w smallint, x int, y bigint, z int) language plpgsql as $$ begin update t set a = a + w, b = b + x, c = c + y, d = d + z where id = i; end $$;
create procedure back(i int, w smallint, x int, y bigint, z int) language plpgsql as $$ begin update t set d = d + z, c = c + y, b = b + x, a = a + w where id = i; end $$;
create procedure fixed(i int, x int, z int) language plpgsql as $$ begin update t set a = a + x, c = c + 3000, d = d + 3000, e = e + 20, b = b + z where id = i; end $$;
create procedure mixed(i int, x int, y int) language plpgsql as $$ begin update t set b = b + x, c = 10 / y, d = d + x where id = i; end $$;
create procedure written(i int, x int, y int) language plpgsql as $$ begin update t set c = 10 / y, b = b + x, d = nullif(y, 3), a = nullif(y, 4) where id = i; end $$;
create procedure round_and_round(i int, x int, y int) language plpgsql as $$
begin
  for k in i .. 9 loop
    update t set d = d + x, b = b + y, c = c + y where id = k;
  end loop;
end $$;
-- table t
-- call forth 0 | 1000 | 1000 | 1000 | 1000
-- call forth 1 | 1 | 1000 | 1000 | 1000
-- call forth 2 | 1 | 1 | 1000 | 1000
-- call forth 3 | 1 | 1 | 1 | 1000
-- call forth 4 | \N | 1 | 1000 | 1
-- call forth 5 | 1000 | \N | \N | 1
-- call forth 6 | \N | 1000 | \N | \N
-- call forth 7 | 1 | \N | \N | \N
-- call forth 8 | 1 | 1 | 1 | \N
-- call forth 9 | -1 | -2 | -3 | -4
-- call back 0 | 1000 | 1000 | 1000 | 1000
-- call back 1 | 1 | 1000 | 1000 | 1000
-- call back 2 | 1 | 1 | 1000 | 1000
-- call back 3 | 1 | 1 | 1 | 1000
-- call back 4 | \N | 1 | 1000 | 1
-- call back 5 | 1000 | \N | \N | 1
-- call back 6 | \N | 1000 | \N | \N
-- call back 7 | 1 | \N | \N | \N
-- call back 8 | 1 | 1 | 1 | \N
-- call back 9 | -1 | -2 | -3 | -4
-- call fixed 1 | 1000 | 1000
-- call fixed 2 | 1 | 1000
-- call fixed 3 | \N | 1
-- call fixed 4 | \N | 1000
-- call fixed 5 | 100000 | 1
-- call fixed 6 | 1 | \N
-- call mixed -1 | 1000 | 0
-- call mixed 0 | 1000 | 1
-- call mixed 1 | 1 | 0
-- call mixed 2 | 1 | 1
-- call mixed 3 | \N | 0
-- call mixed 4 | \N | 1
-- call mixed 5 | 1 | \N
-- call mixed 6 | 1 | 3
-- call mixed 7 | 1 | 4
-- call mixed 8 | 1000 | 4
-- call mixed 9 | \N | 4
-- call written -1 | 1000 | 0
-- call written 0 | 1000 | 1
-- call written 1 | 1 | 0
-- call written 2 | 1 | 1
-- call written 3 | \N | 0
-- call written 4 | \N | 1
-- call written 5 | 1 | \N
-- call written 6 | 1 | 3
-- call written 7 | 1 | 4
-- call written 8 | 1000 | 4
-- call written 9 | \N | 4
-- call round_and_round -1 | 1000 | 0
-- call round_and_round 0 | 1000 | 1
-- call round_and_round 1 | 1 | 0
-- call round_and_round 2 | 1 | 1
-- call round_and_round 3 | \N | 0
-- call round_and_round 4 | \N | 1
-- call round_and_round 5 | 1 | \N
-- call round_and_round 6 | 1 | 3
-- call round_and_round 7 | 1 | 4
-- call round_and_round 8 | 1000 | 4
-- call round_and_round 9 | \N | 4

-- case diagnostics
create table t (id int primary key, n int not null check (n < 1000), s varchar(4), m numeric(5,2), constraint "Two s" unique (s));
insert into t select i, i, 's' || i, i from generate_series(0, 9) i;
create procedure told(k int, kind int, out o text) language plpgsql as $$
declare
  st text; me text; de text; hi text; sc text; ta text; co text; cn text; dt text;
  z int;
begin
  begin
    if kind = 0 then
      insert into t values (k, 1, 'x' || k);
    elsif kind = 1 then
      insert into t values (100 + k, 1, 's' || k);
    elsif kind = 2 then
      insert into t values (100 + k, null);
    elsif kind = 3 then
      insert into t values (100 + k, 1000);
    elsif kind = 4 then
      update t set n = nullif(n, k) where id = k;
    elsif kind = 5 then
      update t set n = n + 1000 where id = k;
    elsif kind = 6 then
      insert into t values (k, null) on conflict (id) do update set n = 5;
    elsif kind = 7 then
      insert into t values (k, 2000) on conflict (id) do update set n = 5;
    elsif kind = 8 then
      update t set m = k * 1000 where id = k;
    elsif kind = 9 then
      raise exception 'all of %', k using errcode = 'check_violation', detail = 'd', hint = 'h', schema = 's', table = 't', column = 'c', datatype = 'dt', constraint = 'cn';
    elsif kind = 10 then
      raise unique_violation using column = 'a long name of a column, longer than sixty-three bytes are, which nobody cuts off';
    elsif kind = 11 then
      raise exception 'only a table' using table = 'where';
    elsif kind = 12 then
      z := 1 / (k - k);
    elsif kind = 13 then
      begin
        insert into t values (k, 1);
      exception when unique_violation then
        raise;
      end;
    elsif kind = 14 then
      begin
        insert into t values (k, 1);
      exception when unique_violation then
        raise exception 'another' using constraint = 'own';
      end;
    end if;
    o := 'fine';
  exception when others then
    get stacked diagnostics st = returned_sqlstate, me = message_text, de = pg_exception_detail, hi = pg_exception_hint, sc = schema_name, ta = table_name, co = column_name, cn = constraint_name, dt = pg_datatype_name;
    if sc = current_schema() then
      sc := 'ours';
    end if;
    if de like 'Failing row contains %' then
      de := 'row';
      if kind in (4, 5, 6) or st = '23514' then
        de := '';
      end if;
    end if;
    o := st || '|' || me || '|' || de || '|' || hi || '|' || sc || '|' || ta || '|' || co || '|' || cn || '|' || dt;
  end;
end $$;
create procedure untold(k int, kind int) language plpgsql as $$
begin
  if kind = 0 then
    insert into t values (k, 1, 'x' || k);
  elsif kind = 1 then
    insert into t (id, s, n) values (100 + k, 's' || k, 3);
  elsif kind = 2 then
    insert into t (s, id) values (k, 200 + k);
  elsif kind = 3 then
    insert into t values (100 + k, 1000);
  elsif kind = 4 then
    update t set n = nullif(n, k) where id = k;
  elsif kind = 5 then
    update t set n = n + 1000 where id = k;
  elsif kind = 6 then
    insert into t values (k, null) on conflict (id) do update set n = 5;
  elsif kind = 7 then
    insert into t values (k, 2000) on conflict (id) do update set n = 5;
  elsif kind = 8 then
    update t set m = k * 1000 where id = k;
  elsif kind = 9 then
    raise exception 'all of %', k using errcode = 'check_violation', detail = 'd', hint = 'h', schema = 's', table = 't', column = 'c', datatype = 'dt', constraint = 'cn';
  elsif kind = 10 then
    raise unique_violation using column = 'c';
  elsif kind = 11 then
    raise exception 'constant' using table = 'where';
  elsif kind = 12 then
    update t set m = m + k * 1000 where id = k;
  elsif kind = 13 then
    insert into t values (100 + k, 1, 'a text that is too long for it ' || k);
  elsif kind = 14 then
    insert into t values (k, 1) on conflict (id) do update set n = nullif(excluded.n, 1);
  elsif kind = 15 then
    insert into t values (k, 1) on conflict (id) do update set n = excluded.n + 2000;
  else
    begin
      insert into t values (k, 1);
    exception when unique_violation then
      raise;
    end;
  end if;
end $$;
-- table t
-- call told 0 | 0
-- call told 3 | 1
-- call told 6 | 2
-- call told 9 | 3
-- call told 2 | 4
-- call told 5 | 5
-- call told 8 | 6
-- call told 1 | 7
-- call told 4 | 8
-- call told 7 | 9
-- call told 0 | 10
-- call told 3 | 11
-- call told 6 | 12
-- call told 9 | 13
-- call told 2 | 14
-- call told 5 | 15
-- call untold 1 | 0
-- call untold 8 | 1
-- call untold 6 | 2
-- call untold 4 | 3
-- call untold 2 | 4
-- call untold 9 | 5
-- call untold 7 | 6
-- call untold 5 | 7
-- call untold 3 | 8
-- call untold 1 | 9
-- call untold 8 | 10
-- call untold 6 | 11
-- call untold 4 | 12
-- call untold 2 | 13
-- call untold 9 | 14
-- call untold 7 | 15
-- call untold 5 | 16

-- case nested handlers
create table t (id int primary key, n int not null check (n < 1000), s varchar(4) unique, m numeric(5,2));
create table log (k int, what text);
insert into t select i, i, 's' || i, i from generate_series(0, 9) i;
create procedure conditions(k int, kind int, out o text) language plpgsql as $$
declare
  m text;
  c text;
  d text;
  x int;
begin
  o := 'start';
  <<outside>>
  begin
    insert into log values (k, 'tried');
    begin
      update t set n = n + 10 where id = k;
      if kind = 1 then
        insert into t values (k, 1, null, 0);
      elsif kind = 2 then
        insert into t values (100, 1000, null, 0);
      elsif kind = 3 then
        insert into t values (100, null, null, 0);
      elsif kind = 4 then
        update t set s = 's' || (k + 1) where id = k;
      elsif kind = 5 then
        update t set s = 'too long' where id = k;
      elsif kind = 6 then
        update t set m = 12345 where id = k;
      elsif kind = 7 then
        x := 2147483647 + k;
      elsif kind = 8 then
        x := 10 / (k - k);
      elsif kind = 9 then
        select n into strict x from t where id = 77;
      elsif kind = 10 then
        select n into strict x from t where id >= k;
      elsif kind = 11 then
        raise sqlstate 'AB123' using message = 'own ' || k, detail = 'more', hint = 'less';
      elsif kind = 12 then
        exit outside;
      elsif kind = 13 then
        x := 'seven';
      elsif kind = 14 then
        assert k < 0, 'never';
      elsif kind = 15 then
        case k when -1 then null; end case;
      end if;
      o := o || ' fine';
    exception
      when unique_violation or check_violation then
        get stacked diagnostics m = message_text, d = returned_sqlstate;
        o := o || ' ' || d || ' ' || m;
      when integrity_constraint_violation then
        o := o || ' integrity ' || sqlstate || ' ' || sqlerrm;
      when numeric_value_out_of_range or division_by_zero then
        o := o || ' number ' || sqlerrm;
        raise exception 'again: %', sqlerrm using errcode = 'AB999';
      when no_data_found then
        o := o || ' none';
        x := 1 / 0;
      when sqlstate 'AB123' then
        get stacked diagnostics m = message_text, c = pg_exception_detail, d = pg_exception_hint;
        o := o || ' own ' || m || c || d;
        raise;
      when assert_failure then
        o := o || ' assert';
    end;
    insert into log values (k, 'after');
  exception
    when sqlstate 'AB999' then
      o := o || ' / outer ' || sqlstate || ' ' || sqlerrm;
    when sqlstate 'AB123' then
      o := o || ' / own again ' || sqlerrm;
    when division_by_zero then
      o := o || ' / from a handler';
    when data_exception then
      o := o || ' / data ' || sqlstate;
  end outside;
  insert into log values (k, o);
end $$;
create procedure founds(k int, out o text) language plpgsql as $$
declare
  r record;
  x int;
begin
  o := found || ' ';
  update t set n = n where id = k;
  o := o || found || ' ';
  select n into x from t where id = k + 100;
  o := o || found || ' ';
  perform 1 from t where id = k;
  o := o || found || ' ';
  for r in select 1 from t where id = k + 100 loop
    null;
  end loop;
  o := o || found || ' ';
  for i in 1..2 loop
    x := i;
  end loop;
  o := o || found || ' ';
  for i in 2..1 loop
    x := i;
  end loop;
  o := o || found || ' ';
  insert into log values (k, 'f');
  o := o || found || ' ';
  delete from log where log.k = founds.k + 100;
  o := o || found || ' ';
  x := (select 1);
  begin
    insert into log values (k, 'g');
    raise exception 'x';
  exception when others then
    o := o || found || ' ';
  end;
  delete from log where log.k = founds.k + 100;
  begin
    for i in 1..2 loop
      x := 10 / (i - i);
    end loop;
  exception when division_by_zero then
    o := o || found || ' ';
  end;
  begin
    for r in select id from t where id = k loop
      x := r.id / (x - x);
    end loop;
  exception when division_by_zero then
    o := o || found || ' ';
  end;
  for i in 1..2 loop
    exit when i = 2;
    delete from log where log.k = founds.k + 100;
  end loop;
  o := o || found;
end $$;
create procedure labels(k int, x int, out o text) language plpgsql as $$
<<top>>
declare
  v int := k;
begin
  o := '';
  <<rows>>
  for i in reverse 5..1 by 2 loop
    <<inside>>
    declare
      v int := x + i;
    begin
      exit inside when v % 2 = 0;
      for j in i..i + 2 loop
        continue rows when j = x;
        exit rows when top.v + j > 9;
        o := o || v || '.' || top.v || '.' || labels.k || '.' || j || ' ';
      end loop;
      top.v := top.v + 1;
    end inside;
    o := o || 'i' || i || ' ';
  end loop rows;
  o := o || v;
  update t set n = v where id = k;
end top $$;
create procedure numbers(k int, a numeric(5,2), b smallint, c bigint, out n numeric(5,2), out s smallint, out l bigint) language plpgsql as $$
begin
  n := a * b;
  s := b * 3;
  l := c * 3;
  update t set m = m + a where id = k;
  update t set m = c where id = k and a > 500;
end $$;
create procedure both_ways(inout a int, inout b text, k int default 3) language plpgsql as $$
begin
  update t set n = n + a where id = k returning n, s into a, b;
  if not found then
    b := coalesce(b, 'nothing') || a;
  end if;
end $$;
create procedure nulls(k int, x int, y text, out o text) language plpgsql as $$
begin
  o := coalesce((x > 3)::text, 'N') || coalesce((x is distinct from 3)::text, 'N') || coalesce(nullif(y, 'a'), 'N') || coalesce((y || x), 'N') || coalesce((x in (1, null))::text, 'N');
  if x > 3 then
    o := o || ' more';
  elsif not (x > 3) then
    o := o || ' less';
  else
    o := o || ' unknown';
  end if;
  case x
    when null then o := o || ' never';
    when 3 then o := o || ' three';
    else o := o || ' else';
  end case;
  while x < 5 loop
    x := x + 2;
    o := o || x;
  end loop;
  update t set n = n + x where id = k and (s = y or y is null);
end $$;
create function inner_fact(n int) returns bigint language plpgsql as $$
begin
  if n <= 1 then
    return 1;
  end if;
  return n * inner_fact(n - 1);
end $$;
create procedure recursive(k int, x int, out f bigint) language plpgsql as $$
begin
  f := inner_fact(x);
  update t set n = f % 1000 where id = k;
end $$;
-- table t
-- table log
-- call conditions 1 | 0
-- call conditions 1 | 1
-- call conditions 1 | 2
-- call conditions 1 | 3
-- call conditions 1 | 4
-- call conditions 1 | 5
-- call conditions 1 | 6
-- call conditions 1 | 7
-- call conditions 1 | 8
-- call conditions 1 | 9
-- call conditions 1 | 10
-- call conditions 1 | 11
-- call conditions 1 | 12
-- call conditions 1 | 13
-- call conditions 1 | 14
-- call conditions 1 | 15
-- call conditions \N | 1
-- call conditions 2 | 0
-- call founds 3
-- call founds 33
-- call labels 1 | 1
-- call labels 2 | 2
-- call labels 3 | 4
-- call labels 7 | 5
-- call labels 4 | \N
-- call numbers 4 | 2.55 | 3 | 7
-- call numbers 4 | 999.99 | 2 | 7
-- call numbers 4 | 0.005 | 20000 | 7
-- call numbers 4 | 1.005 | 2 | 9223372036854775807
-- call numbers 4 | 600 | 1 | 1000
-- call numbers 4 | 999 | 1 | 1
-- call numbers 4 | \N | \N | \N
-- call both_ways 5 | x | 3
-- call both_ways 5 | x | 33
-- call both_ways \N | \N | 33
-- call both_ways 1000 | x | 4
-- call nulls 5 | 3 | a
-- call nulls 5 | \N | \N
-- call nulls 5 | 4 | s5
-- call nulls 5 | 1 | b
-- call recursive 6 | 5
-- call recursive 6 | 20
-- call recursive 6 | 25

-- case calls
create table t (id int primary key, n int not null);
insert into t select i, i from generate_series(0, 9) i;
create function inner_double(x int) returns int language plpgsql immutable as $$
begin
  if x > 1000 then
    raise exception 'too large: %', x;
  end if;
  return x * 2;
end $$;
create procedure inner_add(k int, x int, inout total int) language plpgsql as $$
begin
  update t set n = n + x where id = k returning n into strict total;
end $$;
create procedure outer_call(k int, x int, out total int) language plpgsql as $$
begin
  total := 0;
  call inner_add(k, inner_double(x), total);
  call inner_add(k + 1, 1, total);
end $$;
create function gives(k int, x int default 3) returns bigint language plpgsql as $$
declare
  b bigint;
begin
  select n into b from t where id = k;
  if not found then
    return -1;
  end if;
  return b * x;
end $$;
create function falls(k int) returns int language plpgsql as $$
begin
  if k > 0 then
    return k;
  end if;
end $$;
create function depth(n int) returns int language plpgsql as $$
begin
  if n <= 0 then
    return 0;
  end if;
  return 1 + depth(n - 1);
end $$;
create procedure early(k int, inout o text) language plpgsql as $$
begin
  update t set n = n + 1 where id = k;
  if o is null then
    return;
  end if;
  o := o || '!';
  null;
  update t set n = n + 1 where id = k;
end $$;
-- table t
-- call outer_call 1 | 5
-- call outer_call 2 | 5000
-- call outer_call 9 | 1
-- call gives 1 | 3
-- call gives 77 | 4
-- call gives \N | 4
-- call falls 1
-- call falls 0
-- call depth 0
-- call depth 20
-- call early 3 | \N
-- call early 4 | x

-- case dynamic
create table t (id int primary key, n int not null);
insert into t select i, i from generate_series(0, 9) i;
create procedure run_text(k int, x int, out o int) language plpgsql as $$
begin
  execute 'update t set n = n + $1 where id = $2' using x, k;
  execute 'select n from t where id = ' || k into o;
end $$;
create procedure cursors(k int, out o text) language plpgsql as $$
declare
  c cursor (lo int) for select id, n from t where id >= lo order by id;
  i int;
  m int;
begin
  o := '';
  open c(k);
  loop
    fetch c into i, m;
    exit when not found;
    o := o || i || '=' || m || ' ';
  end loop;
  close c;
end $$;
-- table t
-- call run_text 1 | 5
-- call run_text 77 | 5
-- call run_text \N | 5
-- call cursors 7
-- call cursors 70

-- case foreign keys
create table p (id int primary key, u int unique, n int not null);
create table pair (a int, b int, primary key (b, a));
create table c (id int primary key, r bigint references p, s int references p (u) deferrable, n int not null default 0);
create table whole (id int primary key, x int, y int, constraint whole_key foreign key (x, y) references pair match full);
create table simple (id int primary key, x int, y int, constraint simple_key foreign key (y, x) references pair);
create table tree (id int primary key, up int references tree, n int not null);
insert into p select i, i * 10, 0 from generate_series(1, 8) i;
insert into pair values (1, 1), (1, 2), (2, 1);
insert into c values (100, 8, 80), (101, 7, null);
insert into tree values (1, null, 0), (2, 1, 0), (3, 3, 0);
create procedure add(k int, v bigint, w int) language plpgsql as $$
begin
  insert into c values (k, v, w);
end $$;
create procedure two(k int, v bigint, w int) language plpgsql as $$
begin
  insert into c values (k, v, null), (k + 1, null, w);
end $$;
create procedure copy(k int, v int, w int) language plpgsql as $$
begin
  insert into c select id + k, v, w from p where id = k;
end $$;
create procedure point(k int, v bigint, w int, out o int) language plpgsql as $$
begin
  update c set r = v, s = w where id = k returning n into o;
  update p set n = n + 1 where id = v;
end $$;
create procedure over(k int, v bigint, w int) language plpgsql as $$
begin
  insert into c values (k, v, w) on conflict (id) do update set r = excluded.r, n = c.n + 1;
end $$;
create procedure skip(k int, v bigint, w int) language plpgsql as $$
begin
  insert into c values (k, v, w) on conflict do nothing;
end $$;
create procedure pairs(k int, v int, w int) language plpgsql as $$
begin
  insert into simple values (k, v, w);
  insert into whole values (k, v, w);
end $$;
create procedure gone(k int, out o int) language plpgsql as $$
begin
  delete from p where id = k returning n into o;
end $$;
create procedure some_gone(k int) language plpgsql as $$
begin
  delete from p where u between k * 10 and k * 10 + 15;
end $$;
create procedure put(k int) language plpgsql as $$
begin
  insert into p values (k, k * 10, 1);
end $$;
create procedure caught(k int, v bigint, out o text) language plpgsql as $$
declare
  a text;
  b text;
begin
  begin
    insert into c values (k, v, null);
    o := 'in';
  exception when foreign_key_violation then
    get stacked diagnostics a = constraint_name, b = pg_exception_detail;
    o := sqlstate || ' ' || sqlerrm || ' ' || a || ' ' || b;
  end;
end $$;
create procedure grow(k int, v int) language plpgsql as $$
begin
  insert into tree values (k, v, 0);
end $$;
create procedure fell(k int) language plpgsql as $$
begin
  delete from tree where id = k;
end $$;
create procedure hang(k int, v int) language plpgsql as $$
begin
  update tree set up = v, n = n + 1 where id = k;
end $$;
-- table p
-- table c
-- table whole
-- table simple
-- table tree
-- call add 1 | 1 | 10
-- call add 2 | 9 | 10
-- call add 3 | 2 | 90
-- call add 1 | 9 | 90
-- call add 4 | \N | 20
-- call add 5 | 5000000000 | \N
-- call add 6 | 3 | \N
-- call two 10 | 4 | 40
-- call two 12 | 44 | 40
-- call two 14 | 4 | 41
-- call two 15 | 44 | 41
-- call two 100 | 44 | 41
-- call copy 5 | 2 | 20
-- call copy 6 | 20 | 20
-- call point 1 | 2 | \N
-- call point 1 | 12 | \N
-- call point 1 | 2 | 21
-- call point 77 | 99 | 21
-- call point 4 | \N | \N
-- call over 1 | 3 | 10
-- call over 1 | 33 | 10
-- call over 20 | 33 | 10
-- call over 20 | 3 | 10
-- call skip 20 | 44 | 10
-- call skip 21 | 44 | 10
-- call skip 21 | 4 | 10
-- call pairs 1 | 1 | 1
-- call pairs 2 | 2 | 2
-- call pairs 3 | 1 | \N
-- call pairs 4 | \N | \N
-- call pairs 5 | 2 | 1
-- call gone 1
-- call gone 8
-- call gone 7
-- call gone 6
-- call gone 6
-- call some_gone 5
-- call some_gone 7
-- call put 6
-- call add 30 | 6 | 60
-- call gone 6
-- call caught 40 | 6
-- call caught 41 | 66
-- call grow 10 | 1
-- call grow 11 | 11
-- call grow 12 | 13
-- call fell 1
-- call fell 3
-- call fell 11
-- call hang 10 | 10
-- call hang 10 | 99
-- call hang 2 | \N
-- call fell 1
-- call fell 10

-- case actions of foreign keys
create table p (id int primary key, u int unique, n int not null);
create table c (id int primary key, r int references p on delete cascade, n int not null default 0);
create table d (id int primary key, c int references c on delete cascade, p int references p on delete set null);
create table e (id int primary key, c int default 0 references c on delete set default, n int not null check (n >= 0));
create table f (id int primary key, d int not null references d on delete set null);
create table g (id int primary key, a int, b int, foreign key (a) references p (u) on delete restrict);
insert into p select i, i * 10, 0 from generate_series(0, 9) i;
insert into c select i, i % 5 + 1 from generate_series(0, 19) i;
insert into d select i, i % 10, i % 9 from generate_series(0, 19) i;
insert into e select i, 10 + i % 5, 0 from generate_series(0, 9) i;
insert into f values (1, 3);
insert into g values (1, 90, 0);
create procedure gone(k int, out o int) language plpgsql as $$
begin
  delete from p where id = k;
  get diagnostics o = row_count;
end $$;
create procedure some_gone(k int) language plpgsql as $$
begin
  delete from p where n = k;
end $$;
create procedure c_gone(k int) language plpgsql as $$
begin
  delete from c where id = k;
end $$;
create procedure add(k int, v int) language plpgsql as $$
begin
  insert into c values (k, v);
  insert into d values (k, k, v);
  insert into e values (k, k, 0);
end $$;
create procedure mark(k int, x int) language plpgsql as $$
begin
  update p set n = x where id = k;
end $$;
create procedure twice(k int, v int, out o text) language plpgsql as $$
begin
  begin
    delete from p where id = k;
    o := 'gone';
  exception when others then
    o := sqlstate || ' ' || sqlerrm;
  end;
  insert into c values (k + 200, v);
end $$;
-- table p
-- table c
-- table d
-- table e
-- table f
-- table g
-- call gone 9
-- call gone 8
-- call c_gone 13
-- call gone 4
-- call gone 1
-- call gone 1
-- call add 30 | 2
-- call add 31 | 1
-- call c_gone 30
-- call c_gone 10
-- call mark 2 | 5
-- call mark 3 | 5
-- call twice 5 | 2
-- call twice 4 | 77
-- call twice 4 | 3
-- call some_gone 5
-- call c_gone 0
-- call mark 7 | 5
-- call some_gone 5
-- call gone 0

-- case updates of keys
create table t (id int primary key, u text unique, a int, b int not null default 7, n int not null check (n < 100), unique (a, b));
create table p (id int primary key, u int unique, n int not null);
create table c (id int primary key, r int references p on update cascade, s int references p (u) on update set null, n int not null);
create table d (id int primary key, r int references p on update restrict on delete set null, n int not null);
create table e (id int primary key, r int default 1 references p on update set default on delete set default, n int not null);
create table g (id int primary key, r int references p (u), n int not null);
insert into t select i, 'k' || i, i, i, 0 from generate_series(1, 6) i;
insert into p select i, i * 10, 0 from generate_series(1, 9) i;
insert into c values (1, 2, 30, 0), (2, 2, null, 0), (3, 4, 40, 0), (4, null, 50, 0);
insert into d values (1, 5, 0), (2, 6, 0);
insert into e values (1, 7, 0), (2, 7, 0), (3, 1, 0);
insert into g values (1, 80, 0), (2, 90, 0);
create procedure to_id(k int, v int, out o int) language plpgsql as $$
begin
  update t set id = v, n = n + 1 where id = k returning n into o;
end $$;
create procedure to_text(k text, v text, x int) language plpgsql as $$
begin
  update t set u = v, n = x where u = k;
end $$;
create procedure to_pair(k int, v int, w int) language plpgsql as $$
begin
  update t set a = v, b = w where id = k;
end $$;
create procedure twice(k int, v int, out o text) language plpgsql as $$
begin
  begin
    update t set id = v where id = k;
    update t set id = v + 1, u = u || '+' where id = v;
    o := 'done';
  exception when unique_violation then
    o := sqlerrm;
  end;
end $$;
create procedure count_up(k int, x int) language plpgsql as $$
begin
  update t set n = n + x where id = k;
end $$;
create procedure put(k int, v text) language plpgsql as $$
begin
  insert into t values (k, v, k, 1, 0);
end $$;
create procedure take(k int) language plpgsql as $$
begin
  delete from t where id = k;
end $$;
create procedure find(v text, out o int) language plpgsql as $$
begin
  select id into strict o from t where u = v;
end $$;
create procedure to_p(k int, v int) language plpgsql as $$
begin
  update p set id = v where id = k;
end $$;
create procedure to_u(k int, v int) language plpgsql as $$
begin
  update p set u = v, n = n + 1 where id = k;
end $$;
create procedure take_p(k int) language plpgsql as $$
begin
  delete from p where id = k;
end $$;
create procedure point(k int, v int, w int) language plpgsql as $$
begin
  update c set r = v, s = w where id = k;
end $$;
create procedure mark(k int, x int, out o int) language plpgsql as $$
begin
  update c set n = x where r = k;
  get diagnostics o = row_count;
end $$;
create procedure over(k int, v int) language plpgsql as $$
begin
  insert into c values (k, v, null, 0) on conflict (id) do update set r = excluded.r, n = c.n + 1;
end $$;
-- table t
-- table p
-- table c
-- table d
-- table e
-- table g
-- call to_id 1 | 11
-- call to_id 11 | 2
-- call to_id 11 | 11
-- call to_id 77 | 78
-- call count_up 11 | 5
-- call count_up 1 | 5
-- call put 1 | new
-- call put 12 | k2
-- call to_id 3 | \N
-- call to_text k2 | k3 | 1
-- call to_text k2 | two | 1
-- call to_text two | k2 | 100
-- call to_text two | \N | 3
-- call to_text k4 | k4 | 5
-- call put 13 | k2
-- call to_pair 4 | 5 | 5
-- call to_pair 4 | 5 | 6
-- call to_pair 5 | \N | 5
-- call to_pair 6 | \N | 5
-- call to_pair 6 | 1 | \N
-- call twice 4 | 40
-- call twice 41 | 5
-- call twice 41 | 10
-- call take 41
-- call put 41 | k4+
-- call find k4+
-- call find k3
-- call find nothing
-- call to_p 2 | 20
-- call mark 20 | 1
-- call mark 2 | 1
-- call to_p 20 | 4
-- call to_p 20 | 20
-- call to_p 5 | 50
-- call to_p 7 | 70
-- call to_p 1 | 71
-- call to_u 3 | 31
-- call to_u 8 | 81
-- call to_u 9 | 90
-- call to_u 8 | 80
-- call to_p 8 | 88
-- call take_p 6
-- call take_p 70
-- call point 1 | 88 | 31
-- call point 2 | 3 | 30
-- call point 2 | 3 | \N
-- call over 1 | 9
-- call over 1 | 99
-- call over 9 | 9
-- call mark 9 | 7
-- call take_p 9

-- case partial unique indexes
create table a (id int primary key, u int, state text not null, n int not null default 0);
create unique index a_open on a (u) where state = 'open';
create table b (id int primary key, mail text, k int, n int not null);
create table d (id int primary key, mail text, k int, "Kind" text);
create unique index b_mail on d (k, lower(mail));
create unique index d_kind on d ("Kind") where k > 1;
create unique index b_two on b (k, (n % 10)) where n > 0;
insert into a select i, i % 5, case when i < 5 then 'open' else 'done' end from generate_series(0, 19) i;
insert into d select i, 'M' || i, i % 3, null from generate_series(0, 9) i;
insert into b select i, 'M' || i, i % 3, i from generate_series(0, 9) i;
create procedure add_a(k int, v int, s text) language plpgsql as $$
begin
  insert into a values (k, v, s);
end $$;
create procedure close_a(k int, s text, out o int) language plpgsql as $$
begin
  update a set state = s, n = n + 1 where id = k returning n into o;
end $$;
create procedure move_a(k int, v int) language plpgsql as $$
begin
  update a set u = v where id = k;
end $$;
create procedure take_a(k int) language plpgsql as $$
begin
  delete from a where id = k;
end $$;
create procedure count_a(k int, x int) language plpgsql as $$
begin
  update a set n = n + x where id = k;
end $$;
create procedure new_id(k int, v int) language plpgsql as $$
begin
  update a set id = v where id = k;
end $$;
create procedure add_b(i int, m text, v int, w int) language plpgsql as $$
begin
  insert into b values (i, m, v, w);
end $$;
create procedure mail_d(i int, m text) language plpgsql as $$
begin
  update d set mail = m where id = i;
end $$;
create procedure add_d(i int, m text, v int, w text) language plpgsql as $$
begin
  insert into d values (i, m, v, w);
end $$;
create procedure to_d(i int, v int, w text) language plpgsql as $$
begin
  update d set "Kind" = w, k = v where id = i;
end $$;
create procedure n_b(i int, w int) language plpgsql as $$
begin
  update b set n = w where id = i;
end $$;
create procedure either(k int, v int, out o text) language plpgsql as $$
begin
  begin
    insert into a values (k, v, 'open');
    o := 'in';
  exception when unique_violation then
    o := sqlerrm;
    update a set state = 'done' where id = k;
  end;
end $$;
-- table a
-- table b
-- table d
-- call add_a 30 | 9 | open
-- call add_a 31 | 9 | open
-- call add_a 31 | 9 | done
-- call add_a 30 | 9 | open
-- call add_a 32 | \N | open
-- call add_a 33 | \N | open
-- call close_a 31 | open
-- call close_a 30 | done
-- call close_a 31 | open
-- call close_a 31 | open
-- call close_a 30 | open
-- call move_a 31 | 1
-- call move_a 31 | 8
-- call move_a 12 | 1
-- call take_a 31
-- call add_a 34 | 8 | open
-- call count_a 34 | 5
-- call new_id 34 | 35
-- call new_id 35 | 2
-- call new_id 35 | 35
-- call add_b 20 | m3 | 7 | 7
-- call add_b 20 | m20 | 7 | 7
-- call add_b 21 | m21 | 7 | 17
-- call add_b 21 | m21 | 7 | -17
-- call add_b 22 | \N | \N | 17
-- call add_b 23 | \N | \N | 17
-- call mail_d 3 | M6
-- call mail_d 3 | M33
-- call mail_d 6 | m33
-- call mail_d 1 | \N
-- call add_d 20 | x | 0 | a
-- call add_d 21 | X | 0 | a
-- call add_d 21 | X | 2 | a
-- call add_d 22 | Y | 2 | a
-- call add_d 22 | Y | 2 | b
-- call to_d 20 | 3 | a
-- call to_d 22 | 2 | b
-- call to_d 20 | 1 | b
-- call to_d 22 | 1 | a
-- call to_d 9 | 2 | a
-- call n_b 21 | 27
-- call n_b 21 | 28
-- call n_b 22 | 0
-- call either 40 | 2
-- call either 40 | 77
-- call either 2 | 78

-- case bad input
create table t (id int primary key, n int not null check (n >= 0), s text unique);
insert into t select i, i * 10, 's' || i from generate_series(0, 9) i;
create procedure mixed(k int, x int, kind int, out o int) language plpgsql as $$
declare
  y int;
begin
  update t set n = n + x where id = k;
  if kind = 1 then
    y := x / (k - k);
  elsif kind = 2 then
    select n into strict y from t where id = k + 1000;
  elsif kind = 3 then
    insert into t values (k, 1, null);
  elsif kind = 4 then
    update t set n = null where id = k;
  elsif kind = 5 then
    update t set n = -5 where id = k;
  elsif kind = 6 then
    y := 2147483647 + k + 1;
  elsif kind = 7 then
    insert into t values (k + 100, 1, 's' || x);
  elsif kind = 8 then
    y := ('x' || k)::int;
  elsif kind = 9 then
    y := (x + 40000)::smallint;
  elsif kind = 10 then
    raise exception 'kind %', kind;
  end if;
  select n into o from t where id = k;
end $$;
-- table t
-- call mixed 1 | 1 | 0
-- call mixed 1 | 1 | 1
-- call mixed 1 | 1 | 2
-- call mixed 1 | 1 | 0
-- call mixed 1 | 1 | 3
-- call mixed 1 | 1 | 4
-- call mixed 1 | 1 | 5
-- call mixed 1 | 1 | 6
-- call mixed 2 | 3 | 7
-- call mixed 1 | 1 | 8
-- call mixed 1 | 1 | 9
-- call mixed 1 | 1 | 10
-- call mixed 1 | 1 | 0
-- call mixed \N | 1 | 0
-- call mixed \N | 1 | 3
-- call mixed 1 | \N | 0
-- call mixed 1 | -100 | 0
-- call mixed 77 | 1 | 0
-- call mixed 2 | 2147483647 | 0
-- call mixed 1 | 1 | \N
-- call mixed 1 | 1 | 0

-- case no end
set bulk_step_limit = 1000;
create table t (id int primary key, n bigint not null);
insert into t select i, i from generate_series(0, 9) i;
create procedure forever(k int, x int, out o bigint) language plpgsql as $$
declare
  i int := 0;
begin
  update t set n = n + 1000 where id = k;
  loop
    i := i + 1;
    exit when i = x;
    update t set n = n + 1 where id = k;
  end loop;
  select n into o from t where id = k;
end $$;
create procedure nested(k int, x int) language plpgsql as $$
begin
  for i in 1..x loop
    for j in 1..x loop
      update t set n = n + 1 where id = k;
    end loop;
  end loop;
end $$;
create procedure while_true(k int) language plpgsql as $$
begin
  delete from t where id = k;
  while true loop
    null;
  end loop;
end $$;
create procedure adds(k int, x int) language plpgsql as $$
begin
  update t set n = n + x where id = k;
end $$;
-- table t
-- call adds 1 | 5 => ok
-- call forever 1 | 10 => ok
-- call forever 1 | 0 => 54000 6 at LOOP
-- call adds 1 | 7 => ok
-- call nested 2 | 10 => ok
-- call nested 2 | 40 => 54000 4 at FOR with integer loop variable
-- call while_true 3 => 54000 4 at WHILE
-- call adds 3 | 1 => ok
-- call forever 2 | -1 => 54000 6 at LOOP
-- call adds 2 | 1 => ok

-- case no bottom
create table t (id int primary key, n bigint not null);
insert into t select i, i from generate_series(0, 9) i;
create function inner_deep(k int, x int) returns int language plpgsql as $$
begin
  if x = 0 then
    return 0;
  end if;
  return 1 + inner_deep(k, x - 1);
end $$;
create procedure deep(k int, x int, out o int) language plpgsql as $$
begin
  update t set n = n + 1 where id = k;
  o := inner_deep(k, x);
  update t set n = n + 10 where id = k;
end $$;
create procedure itself(k int, x int) language plpgsql as $$
begin
  update t set n = n + 1 where id = k;
  call itself(k, x + 1);
end $$;
create procedure adds(k int, x int) language plpgsql as $$
begin
  update t set n = n + x where id = k;
end $$;
-- table t
-- call adds 1 | 5 => ok
-- call deep 1 | 10 => ok
-- call deep 1 | 1000000 => 54001 4 at assignment
-- call adds 1 | 7 => ok
-- call itself 2 | 1 => 54001 4 at CALL
-- call adds 2 | 7 => ok
