/* listed.c - functions that are not in the function table (types/func.h), since the binder has a form of plan for each:
 * window functions, ordered-set aggregates, functions that return rows, and what the grammar has. Only for lists: \df,
 * completion, suggestions, the reference. tests/guide checks that none of the binder's own tables has a name that is
 * missing here. */
#include "sql/bind/bind.h"

static const ListedFunction functions[] = {
    {"row_number", "", "bigint", "number of the row in its partition, from 1"},
    {"rank", "", "bigint", "rank of the row, with gaps; WITHIN GROUP: of the arguments, were they a row"},
    {"dense_rank", "", "bigint", "rank of the row, without gaps; WITHIN GROUP: of the arguments"},
    {"percent_rank", "", "double precision", "(rank - 1) / (rows - 1); WITHIN GROUP: of the arguments"},
    {"cume_dist", "", "double precision", "share of the rows up to this one; WITHIN GROUP: of the arguments"},
    {"ntile", "integer", "integer", "number of the bucket of the row, of so many equal ones"},
    {"lag", "any, integer, any", "any", "value of a row before (1; else NULL, or the third argument)"},
    {"lead", "any, integer, any", "any", "value of a row behind (1; else NULL, or the third argument)"},
    {"first_value", "any", "any", "value of the frame's first row"},
    {"last_value", "any", "any", "value of the frame's last row"},
    {"nth_value", "any, integer", "any", "value of the frame's n-th row"},
    {"mode", "", "any", "WITHIN GROUP: the most frequent value"},
    {"percentile_cont", "double precision", "double precision", "WITHIN GROUP: value at a fraction, interpolated"},
    {"percentile_disc", "double precision", "any", "WITHIN GROUP: first value at or behind a fraction"},
    {"grouping", "any, ...", "integer", "bits of the arguments that the grouping set of the row does not have"},
    {"coalesce", "any, ...", "any", "first argument that is not NULL"},
    {"nullif", "any, any", "any", "first argument, NULL when both are equal"},
    {"generate_series", "integer, integer, integer", "integer", "rows from the first to the second, by the third (1)"},
    {"generate_series", "bigint, bigint, bigint", "bigint", "the same"},
    {"generate_series", "numeric, numeric, numeric", "numeric", "the same"},
    {"generate_series", "timestamp, timestamp, interval", "timestamp", "the same"},
    {"generate_series", "timestamptz, timestamptz, interval", "timestamptz", "the same"},
    {"unnest", "anyarray, ...", "any", "a row for each element; in FROM of several arrays side by side"},
    {"generate_subscripts", "anyarray, integer, boolean", "integer",
     "a row for each subscript of a dimension, the last first where the third is true"},
    {"regexp_matches", "text, text, text", "text[]", "a row for each match (with flag g) of a pattern"},
    {"regexp_split_to_table", "text, text, text", "text", "a row for each part between matches of a pattern"},
    {"string_to_table", "text, text, text", "text", "a row for each part between delimiters; the third is NULL"},
    {"json_array_elements", "json", "json", "a row for each element"},
    {"jsonb_array_elements", "jsonb", "jsonb", "a row for each element"},
    {"json_array_elements_text", "json", "text", "a row for each element, as text"},
    {"jsonb_array_elements_text", "jsonb", "text", "a row for each element, as text"},
    {"json_object_keys", "json", "text", "a row for each key"},
    {"jsonb_object_keys", "jsonb", "text", "a row for each key"},
    {"json_each", "json", "record", "a row for each member: key, value"},
    {"jsonb_each", "jsonb", "record", "a row for each member: key, value"},
    {"json_each_text", "json", "record", "a row for each member: key, value as text"},
    {"jsonb_each_text", "jsonb", "record", "a row for each member: key, value as text"},
    {"json_to_record", "json", "record", "an object as a row of the columns that follow: AS x(a integer, b text)"},
    {"jsonb_to_record", "jsonb", "record", "the same"},
    {"json_to_recordset", "json", "record", "a row for each object of an array, of the columns that follow"},
    {"jsonb_to_recordset", "jsonb", "record", "the same"},
    {"row_to_json", "record, boolean", "json", "a row as JSON, its members on lines of their own if so wanted"},
    {"bulk_call", "text, text", "record", "calls of a procedure for the rows of a query, as a bulk; a row for each"},
    {"read_arrow", "text, ...", "record", "rows of Arrow files and streams; options by name"},
    {"read_csv", "text, ...", "record", "rows of CSV files; options by name"},
    {"read_csv_auto", "text, ...", "record", "the same"},
    {"read_json", "text, ...", "record", "rows of files with a JSON object on each line, or an array of objects"},
    {"read_json_auto", "text, ...", "record", "the same"},
    {"read_ndjson", "text, ...", "record", "the same"},
    {"read_parquet", "text, ...", "record", "rows of Parquet files"},
};

const ListedFunction *sql_listed_functions(int64_t *n) {
    *n = ARRAY_LEN(functions);
    return functions;
}
