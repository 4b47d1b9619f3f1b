create table t(a int primary key, b text);
insert into t select g, 'x' || g % 10 from generate_series(1, 100) g;
explain select nope from t;
explain select 1/0;
select count(*) from t;
explain nonsense;
