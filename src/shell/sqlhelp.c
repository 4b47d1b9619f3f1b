/* sqlhelp.c - \h: the syntax of the statements that there are, in short. What PostgreSQL has besides is not in it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/command.h"

static const struct Topic {
    const char *name, *what, *syntax;
} topics[] = {
    {"ABORT", "end the transaction, its changes go", "ABORT [ WORK | TRANSACTION ] [ AND [ NO ] CHAIN ]"},
    {"ALTER DOMAIN", "change a domain",
     "ALTER DOMAIN name { SET DEFAULT expression | DROP DEFAULT }\n"
     "ALTER DOMAIN name { SET | DROP } NOT NULL\n"
     "ALTER DOMAIN name ADD [ CONSTRAINT constraint_name ] CHECK ( expression ) [ NOT VALID ]\n"
     "ALTER DOMAIN name DROP CONSTRAINT [ IF EXISTS ] constraint_name\n"
     "ALTER DOMAIN name RENAME CONSTRAINT constraint_name TO new_constraint_name\n"
     "ALTER DOMAIN name VALIDATE CONSTRAINT constraint_name\n"
     "ALTER DOMAIN name RENAME TO new_name"},
    {"ALTER FUNCTION", "change the definition of a function",
     "ALTER { FUNCTION | PROCEDURE | ROUTINE } name [ ( [ argument_type [, ...] ] ) ] option [ ... ]\n"
     "ALTER { FUNCTION | PROCEDURE | ROUTINE | AGGREGATE } name [ ( .. ) ] RENAME TO new_name\n"
     "ALTER { FUNCTION | PROCEDURE | ROUTINE | AGGREGATE } name [ ( .. ) ] OWNER TO role\n"
     "ALTER { FUNCTION | PROCEDURE | ROUTINE | AGGREGATE } name [ ( .. ) ] SET SCHEMA schema\n\n"
     "where option can be one of:\n\n"
     "    IMMUTABLE, STABLE, VOLATILE, STRICT, CALLED ON NULL INPUT, [ NOT ] LEAKPROOF\n"
     "    SECURITY { DEFINER | INVOKER }, PARALLEL { SAFE | RESTRICTED | UNSAFE }, COST number, ROWS number\n"
     "    SET setting { TO value | = value | FROM CURRENT }, RESET setting, RESET ALL"},
    {"ALTER INDEX", "change the definition of an index",
     "ALTER INDEX [ IF EXISTS ] name RENAME TO new_name\n"
     "ALTER INDEX [ IF EXISTS ] name SET ( storage_parameter [= value] [, ...] )\n"
     "ALTER INDEX [ IF EXISTS ] name RESET ( storage_parameter [, ...] )\n"
     "ALTER INDEX [ IF EXISTS ] name ALTER [ COLUMN ] number SET STATISTICS target"},
    {"ALTER MATERIALIZED VIEW", "change the name of a materialized view, or of one of its columns",
     "ALTER MATERIALIZED VIEW [ IF EXISTS ] name RENAME [ COLUMN ] column TO new_column\n"
     "ALTER MATERIALIZED VIEW [ IF EXISTS ] name RENAME TO new_name"},
    {"ALTER SEQUENCE", "change a sequence",
     "ALTER SEQUENCE [ IF EXISTS ] name\n"
     "    [ AS { smallint | integer | bigint } ]\n"
     "    [ INCREMENT [ BY ] number ]\n"
     "    [ MINVALUE number | NO MINVALUE ] [ MAXVALUE number | NO MAXVALUE ]\n"
     "    [ START [ WITH ] number ] [ RESTART [ [ WITH ] number ] ]\n"
     "    [ CACHE number ] [ [ NO ] CYCLE ]\n"
     "    [ OWNED BY { table.column | NONE } ]\n"
     "ALTER SEQUENCE [ IF EXISTS ] name RENAME TO new_name"},
    {"ALTER TABLE", "change the definition of a table",
     "ALTER TABLE [ IF EXISTS ] name action [, ... ]\n"
     "ALTER TABLE [ IF EXISTS ] name RENAME [ COLUMN ] column TO new_column\n"
     "ALTER TABLE [ IF EXISTS ] name RENAME CONSTRAINT constraint TO new_constraint\n"
     "ALTER TABLE [ IF EXISTS ] name RENAME TO new_name\n\n"
     "where action is one of:\n\n"
     "    ADD [ COLUMN ] [ IF NOT EXISTS ] column type [ column_constraint [ ... ] ]\n"
     "    DROP [ COLUMN ] [ IF EXISTS ] column [ RESTRICT | CASCADE ]\n"
     "    ALTER [ COLUMN ] column [ SET DATA ] TYPE type [ USING expression ]\n"
     "    ALTER [ COLUMN ] column SET DEFAULT expression\n"
     "    ALTER [ COLUMN ] column DROP DEFAULT\n"
     "    ALTER [ COLUMN ] column { SET | DROP } NOT NULL\n"
     "    ALTER [ COLUMN ] column ADD GENERATED { ALWAYS | BY DEFAULT } AS IDENTITY [ ( sequence_options ) ]\n"
     "    ALTER [ COLUMN ] column { SET GENERATED { ALWAYS | BY DEFAULT } | SET sequence_option |\n"
     "        RESTART [ [ WITH ] number ] } [ ... ]\n"
     "    ALTER [ COLUMN ] column DROP { IDENTITY | EXPRESSION } [ IF EXISTS ]\n"
     "    ADD table_constraint [ NOT VALID ]\n"
     "    ALTER CONSTRAINT constraint [ deferral ]\n"
     "    VALIDATE CONSTRAINT constraint\n"
     "    DROP CONSTRAINT [ IF EXISTS ] constraint [ RESTRICT | CASCADE ]\n"
     "    CLUSTER ON index\n"
     "    SET WITHOUT CLUSTER\n"
     "    SET { LOGGED | UNLOGGED }\n"
     "    SET ( expected_rows = number )\n"
     "    RESET ( expected_rows )"},
    {"ALTER TYPE", "change an enumerated or a composite type, or rename a type",
     "ALTER TYPE name ADD VALUE [ IF NOT EXISTS ] 'label' [ { BEFORE | AFTER } 'other label' ]\n"
     "ALTER TYPE name RENAME VALUE 'label' TO 'new label'\n"
     "ALTER TYPE name ADD ATTRIBUTE attribute_name data_type [, ...]\n"
     "ALTER TYPE name DROP ATTRIBUTE [ IF EXISTS ] attribute_name [, ...]\n"
     "ALTER TYPE name ALTER ATTRIBUTE attribute_name [ SET DATA ] TYPE data_type [, ...]\n"
     "ALTER TYPE name RENAME ATTRIBUTE attribute_name TO new_attribute_name\n"
     "ALTER TYPE name RENAME TO new_name"},
    {"ALTER VIEW", "change the definition of a view",
     "ALTER VIEW [ IF EXISTS ] name ALTER [ COLUMN ] column SET DEFAULT expression\n"
     "ALTER VIEW [ IF EXISTS ] name ALTER [ COLUMN ] column DROP DEFAULT\n"
     "ALTER VIEW [ IF EXISTS ] name RENAME [ COLUMN ] column TO new_column\n"
     "ALTER VIEW [ IF EXISTS ] name RENAME TO new_name\n"
     "ALTER VIEW [ IF EXISTS ] name SET ( view_option_name [ = value ] [, ...] )\n"
     "ALTER VIEW [ IF EXISTS ] name RESET ( view_option_name [, ...] )"},
    {"ANALYZE", "collect statistics about tables", "ANALYZE [ VERBOSE ] [ table [, ...] ]"},
    {"BEGIN", "start a transaction",
     "BEGIN [ WORK | TRANSACTION ] [ transaction_mode [, ...] ]\n\n"
     "where transaction_mode is one of:\n\n"
     "    ISOLATION LEVEL { SERIALIZABLE | REPEATABLE READ | READ COMMITTED | READ UNCOMMITTED }\n"
     "    READ WRITE | READ ONLY\n"
     "    [ NOT ] DEFERRABLE"},
    {"CALL", "run a procedure",
     "CALL name ( [ argument ] [, ...] )\n"
     "CALL bulk_call ( 'procedure', 'query' )    -- a call for each row of the query, in one bulk"},
    {"CHECKPOINT", "save the database", "CHECKPOINT"},
    {"CLOSE", "close a cursor", "CLOSE { name | ALL }"},
    {"CLUSTER", "put the rows of a table in the order of an index",
     "CLUSTER [ VERBOSE ] table [ USING index ]\n"
     "CLUSTER [ VERBOSE ]"},
    {"COMMENT", "say something about an object",
     "COMMENT ON { TABLE | VIEW | SEQUENCE | INDEX | TYPE | DOMAIN | SCHEMA | DATABASE } name IS { 'text' | NULL }\n"
     "COMMENT ON COLUMN relation.column IS { 'text' | NULL }\n"
     "COMMENT ON CONSTRAINT name ON { table | DOMAIN domain } IS { 'text' | NULL }\n"
     "COMMENT ON { FUNCTION | PROCEDURE | ROUTINE } name [ ( types ) ] IS { 'text' | NULL }"},
    {"COMMIT", "end the transaction, its changes stay", "COMMIT [ WORK | TRANSACTION ] [ AND [ NO ] CHAIN ]"},
    {"COPY", "copy data between a file and a table",
     "COPY table [ ( column [, ...] ) ] FROM { 'file' | PROGRAM 'command' | STDIN } [ [ WITH ] ( option [, ...] ) ]\n"
     "    [ WHERE condition ]\n"
     "COPY { table [ ( column [, ...] ) ] | ( query ) } TO { 'file' | PROGRAM 'command' | STDOUT }\n"
     "    [ [ WITH ] ( option [, ...] ) ]\n\n"
     "where option can be one of:\n\n"
     "    FORMAT { text | csv | binary | auto | tbl | parquet | arrow }  -- auto: FROM only, parquet, arrow: TO\n"
     "    DELIMITER 'character'\n"
     "    NULL 'text'\n"
     "    HEADER [ boolean | MATCH ]\n"
     "    QUOTE 'character'\n"
     "    ESCAPE 'character'\n"
     "    FORCE_QUOTE { ( column [, ...] ) | * }\n"
     "    FORCE_NOT_NULL ( column [, ...] )\n"
     "    FORCE_NULL ( column [, ...] )\n"
     "    ENCODING 'name'\n"
     "    ON_ERROR { stop | ignore }    -- FROM; lines that cannot be read are left out\n"
     "    REJECT_LIMIT number           -- so many of them at most\n"
     "    REJECT 'file'                 -- and written there, with the reason\n"
     "    DATE_FORMAT 'format'\n"
     "    TIMESTAMP_FORMAT 'format'\n"
     "    DECIMAL_SEPARATOR 'character'"},
    {"CREATE AGGREGATE", "define an aggregate function",
     "CREATE [ OR REPLACE ] AGGREGATE name ( { * | [ argument ] type [, ...] } ) (\n"
     "    SFUNC = function,\n"
     "    STYPE = state_type\n"
     "    [ , FINALFUNC = function ] [ , FINALFUNC_EXTRA ]\n"
     "    [ , COMBINEFUNC = function ]\n"
     "    [ , INITCOND = 'value' ]\n"
     "    [ , MSFUNC = function , MINVFUNC = function , MSTYPE = state_type [ , MFINALFUNC = function ]\n"
     "      [ , MINITCOND = 'value' ] ]\n"
     "    [ , PARALLEL = { SAFE | RESTRICTED | UNSAFE } ] )\n\n"
     "SFUNC gets the state and a row's arguments, and returns the next state."},
    {"CREATE DOMAIN", "define a domain: a type with conditions",
     "CREATE DOMAIN name [ AS ] data_type\n"
     "    [ COLLATE collation ]\n"
     "    [ DEFAULT expression ]\n"
     "    [ [ CONSTRAINT constraint_name ] { NOT NULL | NULL | CHECK ( expression ) } [ ... ] ]\n\n"
     "In expression, VALUE is the value."},
    {"CREATE FUNCTION", "define a function",
     "CREATE [ OR REPLACE ] FUNCTION name ( [ [ mode ] [ argument ] type [ { DEFAULT | = } expression ] [, ...] ] )\n"
     "    [ RETURNS type | RETURNS SETOF type | RETURNS TABLE ( column type [, ...] ) ]\n"
     "    LANGUAGE { sql | plpgsql }\n"
     "    [ IMMUTABLE | STABLE | VOLATILE ] [ STRICT | CALLED ON NULL INPUT ]\n"
     "    [ SET setting { TO value | = value | FROM CURRENT } ] ...\n"
     "    { AS 'body' | RETURN expression | BEGIN ATOMIC statement; ... END }"},
    {"CREATE INDEX", "define an index",
     "CREATE [ UNIQUE ] INDEX [ CONCURRENTLY ] [ [ IF NOT EXISTS ] name ] ON table [ USING method ]\n"
     "    ( { column | ( expression ) } [ COLLATE collation ] [ operator_class ] [ ASC | DESC ]\n"
     "    [ NULLS { FIRST | LAST } ] [, ...] )\n"
     "    [ INCLUDE ( column [, ...] ) ] [ NULLS [ NOT ] DISTINCT ]\n"
     "    [ WITH ( storage_parameter [= value] [, ...] ) ] [ WHERE predicate ]\n\n"
     "Only unique indexes are built; others are kept as definitions."},
    {"CREATE MATERIALIZED VIEW", "define a view that keeps its rows",
     "CREATE MATERIALIZED VIEW [ IF NOT EXISTS ] name [ ( column [, ...] ) ]\n"
     "    AS query\n"
     "    [ WITH [ NO ] DATA ]"},
    {"CREATE PROCEDURE", "define a procedure",
     "CREATE [ OR REPLACE ] PROCEDURE name ( [ [ mode ] [ argument ] type [ { DEFAULT | = } expression ] [, ...] ] )\n"
     "    LANGUAGE { sql | plpgsql }\n"
     "    AS 'body'"},
    {"CREATE SEQUENCE", "define a sequence of numbers",
     "CREATE [ TEMPORARY | UNLOGGED ] SEQUENCE [ IF NOT EXISTS ] name\n"
     "    [ AS { smallint | integer | bigint } ]\n"
     "    [ INCREMENT [ BY ] number ]\n"
     "    [ MINVALUE number | NO MINVALUE ] [ MAXVALUE number | NO MAXVALUE ]\n"
     "    [ START [ WITH ] number ] [ CACHE number ] [ [ NO ] CYCLE ]\n"
     "    [ OWNED BY { table.column | NONE } ]"},
    {"CREATE TABLE", "define a table",
     "CREATE [ TEMPORARY | UNLOGGED ] TABLE [ IF NOT EXISTS ] name (\n"
     "    { column type [ column_constraint [ ... ] ] | table_constraint |\n"
     "      LIKE relation [ { INCLUDING | EXCLUDING } { COMMENTS | CONSTRAINTS | DEFAULTS | GENERATED | IDENTITY |\n"
     "        INDEXES | ALL } ... ] } [, ... ]\n"
     ") [ WITH ( expected_rows = number ) ]\n"
     "[ ON COMMIT { PRESERVE ROWS | DELETE ROWS | DROP } ]    -- of a temporary table\n\n"
     "where column_constraint is:\n\n"
     "    [ CONSTRAINT name ] { NOT NULL | NULL | CHECK ( expression ) | DEFAULT expression | UNIQUE | PRIMARY KEY |\n"
     "        GENERATED ALWAYS AS ( expression ) STORED |\n"
     "        GENERATED { ALWAYS | BY DEFAULT } AS IDENTITY [ ( sequence_options ) ] |\n"
     "        REFERENCES table [ ( column ) ] [ MATCH FULL ] [ ON DELETE action ] [ ON UPDATE action ] }\n"
     "    [ deferral ]\n\n"
     "and table_constraint is:\n\n"
     "    [ CONSTRAINT name ] { CHECK ( expression ) | UNIQUE ( column [, ...] ) | PRIMARY KEY ( column [, ...] ) |\n"
     "        FOREIGN KEY ( column [, ...] ) REFERENCES table [ ( column [, ...] ) ]\n"
     "        [ MATCH FULL ] [ ON DELETE action ] [ ON UPDATE action ] } [ deferral ]\n\n"
     "action is NO ACTION, RESTRICT, CASCADE, SET NULL [ ( column [, ...] ) ] or SET DEFAULT [ ( column [, ...] ) ];\n"
     "deferral, of keys and foreign keys, is [ NOT ] DEFERRABLE [ INITIALLY { DEFERRED | IMMEDIATE } ]"},
    {"CREATE TABLE AS", "define a table from the result of a query",
     "CREATE [ TEMPORARY | UNLOGGED ] TABLE [ IF NOT EXISTS ] name [ ( column [, ...] ) ]\n"
     "    [ ON COMMIT { PRESERVE ROWS | DELETE ROWS | DROP } ]\n"
     "    AS query [ WITH [ NO ] DATA ]"},
    {"CREATE TYPE", "define an enumerated, a composite or a range type",
     "CREATE TYPE name AS ENUM ( [ 'label' [, ...] ] )\n"
     "CREATE TYPE name AS ( [ attribute_name data_type [, ...] ] )\n"
     "CREATE TYPE name AS RANGE ( SUBTYPE = subtype\n"
     "    [, COLLATION = collation ] [, SUBTYPE_DIFF = function ] [, MULTIRANGE_TYPE_NAME = name ] )"},
    {"CREATE VIEW", "define a view",
     "CREATE [ OR REPLACE ] [ TEMPORARY ] [ RECURSIVE ] VIEW name [ ( column [, ...] ) ]\n"
     "    [ WITH ( view_option_name [ = value ] [, ...] ) ]\n"
     "    AS query\n"
     "    [ WITH [ CASCADED | LOCAL ] CHECK OPTION ]"},
    {"DEALLOCATE", "forget a prepared statement", "DEALLOCATE [ PREPARE ] { name | ALL }"},
    {"DECLARE", "define a cursor",
     "DECLARE name [ BINARY ] [ ASENSITIVE | INSENSITIVE ] [ [ NO ] SCROLL ] CURSOR [ { WITH | WITHOUT } HOLD ]\n"
     "    FOR query"},
    {"DELETE", "delete rows of a table",
     "[ WITH query [, ...] ]\n"
     "DELETE FROM table [ [ AS ] alias ]\n"
     "    [ USING from_item [, ...] ]\n"
     "    [ WHERE condition ]\n"
     "    [ RETURNING { * | expression [ [ AS ] name ] } [, ...] ]"},
    {"DESCRIBE", "show the columns of a query, a table or a file", "DESCRIBE { query | table | 'file' }"},
    {"DISCARD", "forget the settings, prepared statements, numbers of sequences and temporary objects of the session",
     "DISCARD { ALL | PLANS | SEQUENCES | TEMPORARY | TEMP }"},
    {"DO", "run an anonymous block", "DO [ LANGUAGE plpgsql ] 'body'"},
    {"DROP AGGREGATE", "remove an aggregate function",
     "DROP AGGREGATE [ IF EXISTS ] name ( { * | type [, ...] } ) [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP DOMAIN", "remove a domain", "DROP DOMAIN [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP FUNCTION", "remove a function",
     "DROP FUNCTION [ IF EXISTS ] name [ ( [ type [, ...] ] ) ] [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP MATERIALIZED VIEW", "remove a materialized view",
     "DROP MATERIALIZED VIEW [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP PROCEDURE", "remove a procedure",
     "DROP PROCEDURE [ IF EXISTS ] name [ ( [ type [, ...] ] ) ] [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP ROUTINE", "remove a function or a procedure",
     "DROP ROUTINE [ IF EXISTS ] name [ ( [ type [, ...] ] ) ] [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP SEQUENCE", "remove a sequence", "DROP SEQUENCE [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP TABLE", "remove a table", "DROP TABLE [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP TYPE", "remove an enumerated, a composite or a range type",
     "DROP TYPE [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"DROP VIEW", "remove a view", "DROP VIEW [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"END", "end the transaction, its changes stay", "END [ WORK | TRANSACTION ] [ AND [ NO ] CHAIN ]"},
    {"EXECUTE", "run a prepared statement", "EXECUTE name [ ( parameter [, ...] ) ]"},
    {"EXPLAIN", "show how a statement is run",
     "EXPLAIN [ ANALYZE ] [ VERBOSE ] statement\n"
     "EXPLAIN ( [ ANALYZE, ] [ VERBOSE, ] [ FORMAT { TEXT | JSON } ] ) statement\n"
     "EXPLAIN [ VERBOSE ] PROCEDURE name    -- how it runs in bulk, and what its calls conflict on"},
    {"FETCH", "read rows of a cursor",
     "FETCH [ direction ] [ FROM | IN ] cursor\n\n"
     "where direction can be one of:\n\n"
     "    NEXT, PRIOR, FIRST, LAST, ABSOLUTE count, RELATIVE count, count, ALL\n"
     "    FORWARD [ count | ALL ], BACKWARD [ count | ALL ]"},
    {"INSERT", "create rows of a table",
     "[ WITH query [, ...] ]\n"
     "INSERT INTO table [ AS alias ] [ ( column [, ...] ) ]\n"
     "    [ OVERRIDING { SYSTEM | USER } VALUE ]\n"
     "    { DEFAULT VALUES | VALUES ( { expression | DEFAULT } [, ...] ) [, ...] | query }\n"
     "    [ ON CONFLICT [ ( column [, ...] ) | ON CONSTRAINT name ]\n"
     "        { DO NOTHING | DO UPDATE SET column = expression [, ...] [ WHERE condition ] } ]\n"
     "    [ RETURNING { * | expression [ [ AS ] name ] } [, ...] ]"},
    {"LOCK", "lock tables to the end of the transaction",
     "LOCK [ TABLE ] table [, ...] [ IN mode MODE ] [ NOWAIT ]\n\n"
     "where mode is one of:\n\n"
     "    ACCESS SHARE | ROW SHARE | ROW EXCLUSIVE | SHARE UPDATE EXCLUSIVE\n"
     "    SHARE | SHARE ROW EXCLUSIVE | EXCLUSIVE | ACCESS EXCLUSIVE"},
    {"MERGE", "insert, update or delete rows of a table, by those of a query",
     "[ WITH query [, ...] ]\n"
     "MERGE INTO table [ [ AS ] alias ]\n"
     "    USING from_item ON condition\n"
     "    { WHEN MATCHED [ AND condition ] THEN { UPDATE SET column = { expression | DEFAULT } [, ...] | DELETE |\n"
     "        DO NOTHING } |\n"
     "      WHEN NOT MATCHED [ AND condition ] THEN { INSERT [ ( column [, ...] ) ]\n"
     "        { VALUES ( { expression | DEFAULT } [, ...] ) | DEFAULT VALUES } | DO NOTHING } } [ ... ]"},
    {"MOVE", "move a cursor", "MOVE [ direction ] [ FROM | IN ] cursor    -- directions are those of FETCH"},
    {"PREPARE", "prepare a statement", "PREPARE name [ ( type [, ...] ) ] AS statement"},
    {"REFRESH MATERIALIZED VIEW", "compute the rows of a materialized view anew",
     "REFRESH MATERIALIZED VIEW [ CONCURRENTLY ] name [ WITH [ NO ] DATA ]"},
    {"REINDEX", "build indexes anew",
     "REINDEX [ ( option [, ...] ) ] { INDEX | TABLE | SCHEMA | DATABASE | SYSTEM } [ CONCURRENTLY ] name"},
    {"RELEASE SAVEPOINT", "forget a savepoint", "RELEASE [ SAVEPOINT ] name"},
    {"RESET", "a setting to its default", "RESET { name | ALL }"},
    {"ROLLBACK", "end the transaction, its changes go",
     "ROLLBACK [ WORK | TRANSACTION ] [ AND [ NO ] CHAIN ]\nROLLBACK [ WORK | TRANSACTION ] TO [ SAVEPOINT ] name"},
    {"SAVEPOINT", "a point in the transaction to roll back to", "SAVEPOINT name"},
    {"SELECT", "read rows of tables and views",
     "[ WITH [ RECURSIVE ] name [ ( column [, ...] ) ] AS [ [ NOT ] MATERIALIZED ] ( query ) [, ...] ]\n"
     "SELECT [ ALL | DISTINCT [ ON ( expression [, ...] ) ] ]\n"
     "    [ * | expression [ [ AS ] name ] [, ...] ]\n"
     "    [ FROM from_item [, ...] ]\n"
     "    [ WHERE condition ]\n"
     "    [ GROUP BY grouping_element [, ...] ]\n"
     "    [ HAVING condition ]\n"
     "    [ WINDOW name AS ( window ) [, ...] ]\n"
     "    [ { UNION | INTERSECT | EXCEPT } [ ALL | DISTINCT ] select ]\n"
     "    [ ORDER BY expression [ ASC | DESC ] [ NULLS { FIRST | LAST } ] [, ...] ]\n"
     "    [ LIMIT { count | ALL } ] [ OFFSET start ]\n"
     "    [ FETCH { FIRST | NEXT } [ count ] { ROW | ROWS } { ONLY | WITH TIES } ]\n\n"
     "where from_item can be one of:\n\n"
     "    table [ [ AS ] alias [ ( column [, ...] ) ] ] [ TABLESAMPLE { BERNOULLI | SYSTEM } ( percent ) ]\n"
     "    'file' [ [ AS ] alias [ ( column [, ...] ) ] ]\n"
     "    [ LATERAL ] ( query ) [ [ AS ] alias [ ( column [, ...] ) ] ]\n"
     "    [ LATERAL ] function ( [ argument [, ...] ] ) [ WITH ORDINALITY ] [ [ AS ] alias [ ( column [, ...] ) ] ]\n"
     "    from_item join_type from_item { ON condition | USING ( column [, ...] ) }\n"
     "    from_item { NATURAL join_type | CROSS JOIN } from_item\n\n"
     "and grouping_element: ( ), expression, ROLLUP (...), CUBE (...), GROUPING SETS (...)"},
    {"SET", "change a setting of the session", "SET [ SESSION | LOCAL ] name { TO | = } { value | DEFAULT }"},
    {"SET CONSTRAINTS", "say when deferrable constraints are looked at",
     "SET CONSTRAINTS { ALL | name [, ...] } { DEFERRED | IMMEDIATE }"},
    {"SET TRANSACTION", "say what the transaction may do", "SET TRANSACTION transaction_mode [, ...]    -- see BEGIN"},
    {"SHOW", "show a setting", "SHOW { name | ALL | TABLES | DEVICES }"},
    {"START TRANSACTION", "start a transaction", "START TRANSACTION [ transaction_mode [, ...] ]    -- see BEGIN"},
    {"SUMMARIZE", "show least and greatest values, averages and NULLs of columns",
     "SUMMARIZE { query | table | 'file' }"},
    {"TABLE", "read all rows of a table", "TABLE name"},
    {"TRUNCATE", "empty tables", "TRUNCATE [ TABLE ] name [, ...] [ CASCADE | RESTRICT ]"},
    {"UPDATE", "change rows of a table",
     "[ WITH query [, ...] ]\n"
     "UPDATE table [ [ AS ] alias ]\n"
     "    SET { column = { expression | DEFAULT } | ( column [, ...] ) = ( expression [, ...] ) } [, ...]\n"
     "    [ FROM from_item [, ...] ]\n"
     "    [ WHERE condition ]\n"
     "    [ RETURNING { * | expression [ [ AS ] name ] } [, ...] ]"},
    {"VACUUM", "give back the memory of deleted rows", "VACUUM [ FULL ] [ ANALYZE ] [ table [, ...] ]"},
    {"VALUES", "rows that are given", "VALUES ( expression [, ...] ) [, ...]"},
};
enum { N_TOPICS = sizeof topics / sizeof *topics };

const char *sql_topic(size_t i) { return i < N_TOPICS ? topics[i].name : NULL; }

static void list_topics(Shell *sh) {
    enum { COLUMNS = 4, WIDTH = 22 };
    size_t lines = (N_TOPICS + COLUMNS - 1) / COLUMNS;
    fputs("Available help:\n", sh->out);
    for (size_t r = 0; r < lines; r++) {
        for (size_t i = r; i < N_TOPICS; i += lines) {
            bool last = i + lines >= N_TOPICS;
            if (last) fprintf(sh->out, "  %s\n", topics[i].name);
            else fprintf(sh->out, "  %-*s", WIDTH, topics[i].name);
        }
    }
}

static void put_topic(Shell *sh, const struct Topic *t) {
    fprintf(sh->out, "Command:     %s\nDescription: %s\nSyntax:\n%s\n\n", t->name, t->what, t->syntax);
}

/* All topics that begin with the text; when there are none, those of its first word. */
bool help_sql(Shell *sh, const char *topic) {
    char text[64];
    size_t n = 0;
    if (!topic || !*topic) {
        list_topics(sh);
        return true;
    }
    for (const char *s = topic; *s && n < sizeof text - 1; s++) { /* blanks as one */
        if (*s == ' ' && n > 0 && text[n - 1] == ' ') continue;
        text[n++] = *s;
    }
    while (n > 0 && strchr("; ", text[n - 1])) n--;
    text[n] = 0;
    for (;;) {
        bool any = false;
        for (size_t i = 0; i < N_TOPICS; i++) {
            if (strcmp(text, "*") != 0 && strncasecmp(topics[i].name, text, n) != 0) continue;
            if (n == strlen(topics[i].name) && any) continue;
            put_topic(sh, &topics[i]);
            any = true;
            if (n == strlen(topics[i].name)) break;
        }
        if (any) return true;
        while (n > 0 && text[n - 1] != ' ') n--;
        while (n > 0 && text[n - 1] == ' ') n--;
        text[n] = 0;
        if (n == 0) break;
    }
    fprintf(sh->out, "No help available for \"%s\".\nTry \\h with no arguments to see available help.\n", topic);
    return true;
}
