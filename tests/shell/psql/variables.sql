-- Variables: setting, listing, quoting; where they are put in, and where not.
\set x 3
\set text 'it''s\ta \\ \'quote\''
\set name "Mixed Case"
\set empty
\set many a b 'c d' :x
\echo :x :text :name :empty :many :undefined
select :x as x, :'text' as text, :'x' as quoted;
select 1 as :"many";
select ':x' as quoted, 1::int as cast, array[1,2,3] as a; -- :x
select $$:x$$ as dollar, "?column?" from (select 5) s;
select :{?x} as is_set, :{?nothing} as is_not;
select :undefined;
\set query 'select 5 as five;'
:query
\set two 'select 6 as six; select 7 as seven;'
:two
\set part '1 + '
select :part 2 as three;
\unset x
\echo :x
\unset nothing
\set 9digits ok
\echo :9digits
\set bad-name x
\set ON_ERROR_STOP maybe
\set VERBOSITY loud
\set ECHO sometimes
\echo :VERBOSITY :ECHO :ON_ERROR_STOP
\set QUIET on
\echo :QUIET
\echo -n no newline
\echo ' ' then 'more  blanks' "double quotes" `echo program` `printf 'a\nb\n'`
\echo 'octal \101 hex \x42 \n'
\qecho to output
\getenv home_dir HOME
\setenv STELE_TEST_VARIABLE value
\getenv got STELE_TEST_VARIABLE
\echo :got
\setenv STELE_TEST_VARIABLE
\unset got
\getenv got STELE_TEST_VARIABLE
\echo :got
\setenv A=B x
-- results as variables
select 1 as a, 'two' as b, null as c \gset
\echo :a :b :c
select 10 as a, 'x' as "B" \gset pre_
\echo :pre_a :pre_B :a
select 1 as a where false \gset
select * from generate_series(1, 2) g \gset
select 1 as ON_ERROR_STOP, 5 as "bad name" \gset
select count(*) as n from generate_series(1, 5) \gset
select :n * 2 as twice;
\echo :ROW_COUNT :ERROR :SQLSTATE
select * from generate_series(1, 3) g;
\echo :ROW_COUNT
