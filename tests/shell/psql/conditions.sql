-- \if and its like: nesting, inside of statements, errors.
\if true
  \echo taken
\elif true
  \echo not 1
\else
  \echo not 2
\endif
\if false
  \echo not 3
\elif yes
  \echo elif
\elif on
  \echo not 4
\endif
\if 0
  select 'not 5';
  \if 1
    \echo not 6
  \elif 1
    \echo not 7
  \else
    \echo not 8
  \endif
  \echo not 9
\else
  \if f
    \echo not 10
  \else
    \echo nested else
  \endif
\endif
select
\if true
  'yes'
\else
  'no'
\endif
  as picked;
select 1
\if false
  , 2
\endif
  as one;
\if false \echo not 11 \elif true \echo same line \endif
\if maybe
  \echo not 12
\else
  \echo maybe is false
\endif
\set t 1
\if :t
  \echo variable
\endif
\if :undefined
  \echo not 13
\endif
\if :{?t}
  \echo t is set
\endif
\if false
  \nonsense 'unterminated
  select ';
  ' ;
  \set t 2
  \q
  \i /nonexistent
\endif
\echo :t
select 5 as n, true as yes \gset
\if :yes
  \echo from a query
\endif
\else
\endif
\elif true
\if true
\else
\else
\elif true
\endif
\if true extra words
\endif
\echo end
\if true
