/* errcodes.h - SQLSTATEs that Stele raises: one table, as in PostgreSQL's errcodes.txt.
 * X(constant suffix, code, condition name). Keep sorted by code. */
#ifndef STELE_BASE_ERRCODES_H
#define STELE_BASE_ERRCODES_H

#define ERRCODE_TABLE(X)                                                                   \
    X(CONNECTION_FAILURE, "08006", "connection_failure")                                   \
    X(FEATURE_NOT_SUPPORTED, "0A000", "feature_not_supported")                             \
    X(INVALID_GRANT_OPERATION, "0LP01", "invalid_grant_operation")                         \
    X(STACKED_DIAGNOSTICS, "0Z002", "stacked_diagnostics_accessed_without_active_handler") \
    X(CASE_NOT_FOUND, "20000", "case_not_found")                                           \
    X(CARDINALITY, "21000", "cardinality_violation")                                       \
    X(DATA_EXCEPTION, "22000", "data_exception")                                           \
    X(STRING_TRUNCATION, "22001", "string_data_right_truncation")                          \
    X(NUMERIC_RANGE, "22003", "numeric_value_out_of_range")                                \
    X(NULL_NOT_ALLOWED, "22004", "null_value_not_allowed")                                 \
    X(ERROR_IN_ASSIGNMENT, "22005", "error_in_assignment")                                 \
    X(DATETIME_FORMAT, "22007", "invalid_datetime_format")                                 \
    X(DATETIME_OVERFLOW, "22008", "datetime_field_overflow")                               \
    X(TZ_DISPLACEMENT, "22009", "invalid_time_zone_displacement_value")                    \
    X(SUBSTRING, "22011", "substring_error")                                               \
    X(DIVISION_BY_ZERO, "22012", "division_by_zero")                                       \
    X(FRAME_OFFSET, "22013", "invalid_preceding_or_following_size")                        \
    X(INVALID_NTILE, "22014", "invalid_argument_for_ntile_function")                       \
    X(INTERVAL_OVERFLOW, "22015", "interval_field_overflow")                               \
    X(INVALID_NTH_VALUE, "22016", "invalid_argument_for_nth_value_function")               \
    X(INVALID_ESCAPE_USE, "2200C", "invalid_use_of_escape_character")                      \
    X(SEQUENCE_LIMIT, "2200H", "sequence_generator_limit_exceeded")                        \
    X(INVALID_REGEX, "2201B", "invalid_regular_expression")                                \
    X(INVALID_LOGARITHM, "2201E", "invalid_argument_for_logarithm")                        \
    X(INVALID_POWER, "2201F", "invalid_argument_for_power_function")                       \
    X(WIDTH_BUCKET, "2201G", "invalid_argument_for_width_bucket_function")                 \
    X(INVALID_LIMIT, "2201W", "invalid_row_count_in_limit_clause")                         \
    X(INVALID_OFFSET, "2201X", "invalid_row_count_in_result_offset_clause")                \
    X(CHAR_NOT_IN_REPERTOIRE, "22021", "character_not_in_repertoire")                      \
    X(INVALID_PARAMETER, "22023", "invalid_parameter_value")                               \
    X(INVALID_ESCAPE, "22025", "invalid_escape_sequence")                                  \
    X(STRING_LENGTH_MISMATCH, "22026", "string_data_length_mismatch")                      \
    X(ARRAY_SUBSCRIPT, "2202E", "array_subscript_error")                                   \
    X(INVALID_SAMPLE_REPEAT, "2202G", "invalid_tablesample_repeat")                        \
    X(INVALID_SAMPLE_ARGUMENT, "2202H", "invalid_tablesample_argument")                    \
    X(JSON_DATETIME_ARGUMENT, "22031", "invalid_argument_for_sql_json_datetime_function")  \
    X(JSON_SUBSCRIPT, "22033", "invalid_sql_json_subscript")                               \
    X(JSON_NOT_NUMERIC, "22036", "non_numeric_sql_json_item")                              \
    X(JSON_SINGLETON, "22038", "singleton_sql_json_item_required")                         \
    X(JSON_NO_ARRAY, "22039", "sql_json_array_not_found")                                  \
    X(JSON_NO_MEMBER, "2203A", "sql_json_member_not_found")                                \
    X(JSON_NO_NUMBER, "2203B", "sql_json_number_not_found")                                \
    X(JSON_NO_OBJECT, "2203C", "sql_json_object_not_found")                                \
    X(INVALID_TEXT, "22P02", "invalid_text_representation")                                \
    X(BAD_COPY, "22P04", "bad_copy_file_format")                                           \
    X(UNTRANSLATABLE, "22P05", "untranslatable_character")                                 \
    X(NOT_NULL_VIOLATION, "23502", "not_null_violation")                                   \
    X(FOREIGN_KEY_VIOLATION, "23503", "foreign_key_violation")                             \
    X(UNIQUE_VIOLATION, "23505", "unique_violation")                                       \
    X(CHECK_VIOLATION, "23514", "check_violation")                                         \
    X(INVALID_CURSOR_STATE, "24000", "invalid_cursor_state")                               \
    X(ACTIVE_TRANSACTION, "25001", "active_sql_transaction")                               \
    X(READ_ONLY, "25006", "read_only_sql_transaction")                                     \
    X(NO_ACTIVE_TRANSACTION, "25P01", "no_active_sql_transaction")                         \
    X(FAILED_TRANSACTION, "25P02", "in_failed_sql_transaction")                            \
    X(IDLE_IN_TRANSACTION, "25P03", "idle_in_transaction_session_timeout")                 \
    X(BAD_STATEMENT_NAME, "26000", "invalid_sql_statement_name")                           \
    X(DEPENDENT_OBJECTS, "2BP01", "dependent_objects_still_exist")                         \
    X(INVALID_TERMINATION, "2D000", "invalid_transaction_termination")                     \
    X(NO_RETURN, "2F005", "function_executed_no_return_statement")                         \
    X(INVALID_CURSOR_NAME, "34000", "invalid_cursor_name")                                 \
    X(EXTERNAL_ROUTINE, "38000", "external_routine_exception")                             \
    X(INVALID_SAVEPOINT, "3B001", "invalid_savepoint_specification")                       \
    X(UNDEFINED_DATABASE, "3D000", "invalid_catalog_name")                                 \
    X(UNDEFINED_SCHEMA, "3F000", "invalid_schema_name")                                    \
    X(SERIALIZATION_FAILURE, "40001", "serialization_failure")                             \
    X(DEADLOCK_DETECTED, "40P01", "deadlock_detected")                                     \
    X(INSUFFICIENT_PRIVILEGE, "42501", "insufficient_privilege")                           \
    X(SYNTAX, "42601", "syntax_error")                                                     \
    X(INVALID_NAME, "42602", "invalid_name")                                               \
    X(DUPLICATE_COLUMN, "42701", "duplicate_column")                                       \
    X(AMBIGUOUS_COLUMN, "42702", "ambiguous_column")                                       \
    X(UNDEFINED_COLUMN, "42703", "undefined_column")                                       \
    X(UNDEFINED_OBJECT, "42704", "undefined_object")                                       \
    X(DUPLICATE_OBJECT, "42710", "duplicate_object")                                       \
    X(DUPLICATE_ALIAS, "42712", "duplicate_alias")                                         \
    X(DUPLICATE_FUNCTION, "42723", "duplicate_function")                                   \
    X(AMBIGUOUS_FUNCTION, "42725", "ambiguous_function")                                   \
    X(GROUPING, "42803", "grouping_error")                                                 \
    X(DATATYPE_MISMATCH, "42804", "datatype_mismatch")                                     \
    X(WRONG_OBJECT_TYPE, "42809", "wrong_object_type")                                     \
    X(INVALID_FOREIGN_KEY, "42830", "invalid_foreign_key")                                 \
    X(CANNOT_COERCE, "42846", "cannot_coerce")                                             \
    X(UNDEFINED_FUNCTION, "42883", "undefined_function")                                   \
    X(GENERATED_ALWAYS, "428C9", "generated_always")                                       \
    X(RESERVED_NAME, "42939", "reserved_name")                                             \
    X(UNDEFINED_TABLE, "42P01", "undefined_table")                                         \
    X(UNDEFINED_PARAMETER, "42P02", "undefined_parameter")                                 \
    X(DUPLICATE_CURSOR, "42P03", "duplicate_cursor")                                       \
    X(DUPLICATE_PREPARED, "42P05", "duplicate_prepared_statement")                         \
    X(DUPLICATE_SCHEMA, "42P06", "duplicate_schema")                                       \
    X(DUPLICATE_TABLE, "42P07", "duplicate_table")                                         \
    X(AMBIGUOUS_PARAMETER, "42P08", "ambiguous_parameter")                                 \
    X(AMBIGUOUS_ALIAS, "42P09", "ambiguous_alias")                                         \
    X(INVALID_COLUMN_REFERENCE, "42P10", "invalid_column_reference")                       \
    X(INVALID_CURSOR, "42P11", "invalid_cursor_definition")                                \
    X(INVALID_FUNCTION_DEFINITION, "42P13", "invalid_function_definition")                 \
    X(INVALID_SCHEMA_DEFINITION, "42P15", "invalid_schema_definition")                     \
    X(INVALID_TABLE_DEFINITION, "42P16", "invalid_table_definition")                       \
    X(INVALID_OBJECT_DEFINITION, "42P17", "invalid_object_definition")                     \
    X(INDETERMINATE_DATATYPE, "42P18", "indeterminate_datatype")                           \
    X(INVALID_RECURSION, "42P19", "invalid_recursion")                                     \
    X(WINDOWING, "42P20", "windowing_error")                                               \
    X(WITH_CHECK_OPTION, "44000", "with_check_option_violation")                           \
    X(INSUFFICIENT_RESOURCES, "53000", "insufficient_resources")                           \
    X(DISK_FULL, "53100", "disk_full")                                                     \
    X(OUT_OF_MEMORY, "53200", "out_of_memory")                                             \
    X(LIMIT_EXCEEDED, "53400", "configuration_limit_exceeded")                             \
    X(PROGRAM_LIMIT, "54000", "program_limit_exceeded")                                    \
    X(STATEMENT_TOO_COMPLEX, "54001", "statement_too_complex")                             \
    X(TOO_MANY_COLUMNS, "54011", "too_many_columns")                                       \
    X(TOO_MANY_ARGUMENTS, "54023", "too_many_arguments")                                   \
    X(NOT_IN_STATE, "55000", "object_not_in_prerequisite_state")                           \
    X(OBJECT_IN_USE, "55006", "object_in_use")                                             \
    X(CANT_CHANGE_SETTING, "55P02", "cant_change_runtime_param")                           \
    X(LOCK_NOT_AVAILABLE, "55P03", "lock_not_available")                                   \
    X(UNSAFE_NEW_ENUM_VALUE, "55P04", "unsafe_new_enum_value_usage")                       \
    X(QUERY_CANCELED, "57014", "query_canceled")                                           \
    X(SYSTEM, "58000", "system_error")                                                     \
    X(IO, "58030", "io_error")                                                             \
    X(UNDEFINED_FILE, "58P01", "undefined_file")                                           \
    X(DUPLICATE_FILE, "58P02", "duplicate_file")                                           \
    X(SNAPSHOT_TOO_OLD, "72000", "snapshot_too_old")                                       \
    X(RAISE_EXCEPTION, "P0001", "raise_exception")                                         \
    X(NO_DATA_FOUND, "P0002", "no_data_found")                                             \
    X(TOO_MANY_ROWS, "P0003", "too_many_rows")                                             \
    X(ASSERT_FAILURE, "P0004", "assert_failure")                                           \
    X(INTERNAL, "XX000", "internal_error")                                                 \
    X(DATA_CORRUPTED, "XX001", "data_corrupted")

#define ERR_CONNECTION_FAILURE "08006"
#define ERR_FEATURE_NOT_SUPPORTED "0A000"
#define ERR_INVALID_GRANT_OPERATION "0LP01"
#define ERR_STACKED_DIAGNOSTICS "0Z002"
#define ERR_CASE_NOT_FOUND "20000"
#define ERR_CARDINALITY "21000"
#define ERR_DATA_EXCEPTION "22000"
#define ERR_STRING_TRUNCATION "22001"
#define ERR_NUMERIC_RANGE "22003"
#define ERR_NULL_NOT_ALLOWED "22004"
#define ERR_ERROR_IN_ASSIGNMENT "22005"
#define ERR_DATETIME_FORMAT "22007"
#define ERR_DATETIME_OVERFLOW "22008"
#define ERR_TZ_DISPLACEMENT "22009"
#define ERR_SUBSTRING "22011"
#define ERR_DIVISION_BY_ZERO "22012"
#define ERR_FRAME_OFFSET "22013"
#define ERR_INVALID_NTILE "22014"
#define ERR_INTERVAL_OVERFLOW "22015"
#define ERR_INVALID_NTH_VALUE "22016"
#define ERR_INVALID_ESCAPE_USE "2200C"
#define ERR_SEQUENCE_LIMIT "2200H"
#define ERR_INVALID_REGEX "2201B"
#define ERR_INVALID_LOGARITHM "2201E"
#define ERR_INVALID_POWER "2201F"
#define ERR_WIDTH_BUCKET "2201G"
#define ERR_INVALID_LIMIT "2201W"
#define ERR_INVALID_OFFSET "2201X"
#define ERR_CHAR_NOT_IN_REPERTOIRE "22021"
#define ERR_INVALID_PARAMETER "22023"
#define ERR_INVALID_ESCAPE "22025"
#define ERR_STRING_LENGTH_MISMATCH "22026"
#define ERR_ARRAY_SUBSCRIPT "2202E"
#define ERR_INVALID_SAMPLE_REPEAT "2202G"
#define ERR_INVALID_SAMPLE_ARGUMENT "2202H"
#define ERR_JSON_DATETIME_ARGUMENT "22031"
#define ERR_JSON_SUBSCRIPT "22033"
#define ERR_JSON_NOT_NUMERIC "22036"
#define ERR_JSON_SINGLETON "22038"
#define ERR_JSON_NO_ARRAY "22039"
#define ERR_JSON_NO_MEMBER "2203A"
#define ERR_JSON_NO_NUMBER "2203B"
#define ERR_JSON_NO_OBJECT "2203C"
#define ERR_INVALID_TEXT "22P02"
#define ERR_BAD_COPY "22P04"
#define ERR_UNTRANSLATABLE "22P05"
#define ERR_NOT_NULL_VIOLATION "23502"
#define ERR_FOREIGN_KEY_VIOLATION "23503"
#define ERR_UNIQUE_VIOLATION "23505"
#define ERR_CHECK_VIOLATION "23514"
#define ERR_INVALID_CURSOR_STATE "24000"
#define ERR_ACTIVE_TRANSACTION "25001"
#define ERR_READ_ONLY "25006"
#define ERR_NO_ACTIVE_TRANSACTION "25P01"
#define ERR_FAILED_TRANSACTION "25P02"
#define ERR_IDLE_IN_TRANSACTION "25P03"
#define ERR_BAD_STATEMENT_NAME "26000"
#define ERR_DEPENDENT_OBJECTS "2BP01"
#define ERR_INVALID_TERMINATION "2D000"
#define ERR_NO_RETURN "2F005"
#define ERR_INVALID_CURSOR_NAME "34000"
#define ERR_EXTERNAL_ROUTINE "38000"
#define ERR_INVALID_SAVEPOINT "3B001"
#define ERR_UNDEFINED_DATABASE "3D000"
#define ERR_UNDEFINED_SCHEMA "3F000"
#define ERR_SERIALIZATION_FAILURE "40001"
#define ERR_DEADLOCK_DETECTED "40P01"
#define ERR_INSUFFICIENT_PRIVILEGE "42501"
#define ERR_SYNTAX "42601"
#define ERR_INVALID_NAME "42602"
#define ERR_DUPLICATE_COLUMN "42701"
#define ERR_AMBIGUOUS_COLUMN "42702"
#define ERR_UNDEFINED_COLUMN "42703"
#define ERR_UNDEFINED_OBJECT "42704"
#define ERR_DUPLICATE_OBJECT "42710"
#define ERR_DUPLICATE_ALIAS "42712"
#define ERR_DUPLICATE_FUNCTION "42723"
#define ERR_AMBIGUOUS_FUNCTION "42725"
#define ERR_GROUPING "42803"
#define ERR_DATATYPE_MISMATCH "42804"
#define ERR_WRONG_OBJECT_TYPE "42809"
#define ERR_INVALID_FOREIGN_KEY "42830"
#define ERR_CANNOT_COERCE "42846"
#define ERR_UNDEFINED_FUNCTION "42883"
#define ERR_GENERATED_ALWAYS "428C9"
#define ERR_RESERVED_NAME "42939"
#define ERR_UNDEFINED_TABLE "42P01"
#define ERR_UNDEFINED_PARAMETER "42P02"
#define ERR_DUPLICATE_CURSOR "42P03"
#define ERR_DUPLICATE_PREPARED "42P05"
#define ERR_DUPLICATE_SCHEMA "42P06"
#define ERR_DUPLICATE_TABLE "42P07"
#define ERR_AMBIGUOUS_PARAMETER "42P08"
#define ERR_AMBIGUOUS_ALIAS "42P09"
#define ERR_INVALID_COLUMN_REFERENCE "42P10"
#define ERR_INVALID_CURSOR "42P11"
#define ERR_INVALID_FUNCTION_DEFINITION "42P13"
#define ERR_INVALID_SCHEMA_DEFINITION "42P15"
#define ERR_INVALID_TABLE_DEFINITION "42P16"
#define ERR_INVALID_OBJECT_DEFINITION "42P17"
#define ERR_INDETERMINATE_DATATYPE "42P18"
#define ERR_INVALID_RECURSION "42P19"
#define ERR_WINDOWING "42P20"
#define ERR_WITH_CHECK_OPTION "44000"
#define ERR_INSUFFICIENT_RESOURCES "53000"
#define ERR_DISK_FULL "53100"
#define ERR_OUT_OF_MEMORY "53200"
#define ERR_LIMIT_EXCEEDED "53400"
#define ERR_PROGRAM_LIMIT "54000"
#define ERR_STATEMENT_TOO_COMPLEX "54001"
#define ERR_TOO_MANY_COLUMNS "54011"
#define ERR_TOO_MANY_ARGUMENTS "54023"
#define ERR_NOT_IN_STATE "55000"
#define ERR_OBJECT_IN_USE "55006"
#define ERR_CANT_CHANGE_SETTING "55P02"
#define ERR_LOCK_NOT_AVAILABLE "55P03"
#define ERR_UNSAFE_NEW_ENUM_VALUE "55P04"
#define ERR_QUERY_CANCELED "57014"
#define ERR_SYSTEM "58000"
#define ERR_IO "58030"
#define ERR_UNDEFINED_FILE "58P01"
#define ERR_DUPLICATE_FILE "58P02"
#define ERR_SNAPSHOT_TOO_OLD "72000"
#define ERR_RAISE_EXCEPTION "P0001"
#define ERR_NO_DATA_FOUND "P0002"
#define ERR_TOO_MANY_ROWS "P0003"
#define ERR_ASSERT_FAILURE "P0004"
#define ERR_INTERNAL "XX000"
#define ERR_DATA_CORRUPTED "XX001"

#endif
