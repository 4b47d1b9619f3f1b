/* func_catalog.c - functions on the catalog: format_type, pg_get_constraintdef, has_table_privilege, ..
 *
 * What they return is the session's to say (SessionInfo.catalog_call; session/system/functions.c): here are their names
 * and types. Rows are computed one by one, on the statement's own thread (the binder sees to it, by func_of_catalog).
 * Their results change with the catalog and with what tables hold: plans that have computed one are good for once.
 */
#include <stdio.h>

#include "types/func_int.h"
#include "types/oid.h"

KERNEL(catalog_call) {
    const SessionInfo *s = ctx->session;
    const int64_t w = phys_size((Phys)out->phys);
    Value *v = arena_array(ctx->arena, Value, nargs + 1);
    if (!v) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    if (!s || !s->catalog_call) return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "there is no catalog here");
    time_reads++;
    for (int64_t i = 0; i < n; i++) {
        char *z = (char *)out->data + i * w;
        bool null = false;
        if (out->phys == PH_STR) *(Str *)(void *)z = STR0;
        else memset(z, 0, (size_t)w);
        out->valid[i] = 0;
        for (int k = 0; k < nargs; k++) {
            v[k] = vec_value(&args[k], i, args[k].type);
            null = null || v[k].is_null;
        }
        if (null && ctx->func->flags & FN_NULL_ARGS) continue;
        Value r = {.type = ctx->ret};
        if (s->catalog_call(s->setting_ctx, ctx->func->name, nargs, v, ctx->arena, &r, ctx->err) != ST_OK)
            return FAILED(i);
        out->valid[i] = !r.is_null;
        if (!r.is_null) memcpy(z, value_cell(&r), (size_t)w);
    }
    return ST_OK;
}
bool func_of_catalog(const FuncDef *f) { return f->kernel == catalog_call; }

static Type tf_name(const FuncDef *f, int nargs, const Type *args) {
    (void)f, (void)nargs, (void)args;
    Type t = type_make(T_TEXT);
    t.flags = TF_NAME;
    return t;
}
static Type tf_jsons(const FuncDef *f, int nargs, const Type *args) {
    (void)f, (void)nargs, (void)args;
    return type_array_of(type_make(T_JSON));
}
static Type tf_names(const FuncDef *f, int nargs, const Type *args) { return type_array_of(tf_name(f, nargs, args)); }
/* to_regclass and the like: by their names. */
static Type tf_to_reg(const FuncDef *f, int nargs, const Type *args) {
    Type t = type_make(T_OID);
    (void)nargs, (void)args;
    (void)oid_type_named(slice_of(f->name + 3), &t);
    return t;
}
static Type tf_classes(const FuncDef *f, int nargs, const Type *args) {
    (void)f, (void)nargs, (void)args;
    return type_array_of(oid_type(OID_CLASS));
}

static Type tf_xid8(const FuncDef *f, int nargs, const Type *args) {
    (void)f, (void)nargs, (void)args;
    return oid_type(OID_XID8);
}

/* PostgreSQL's: the largest unit of which there are less than 10240 (of the last: any number), halves away from zero.
 */
KERNEL(size_pretty) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        char text[40];
        ((Str *)out->data)[i] = STR0;
        if (!row_valid(out, i)) continue;
        int64_t size = AT(int64_t, 0, i);
        int u = 0;
        if (size > -10240 && size < 10240) {
            snprintf(text, sizeof text, "%lld bytes", (long long)size);
        } else {
            size >>= 9; /* keeps one bit more, for rounding */
            for (u = 1; u < 5 && (size >= 20479 || size <= -20479); u++) size >>= 10;
            snprintf(text, sizeof text, "%lld %s", (long long)((size + (size > 0) - (size < 0)) / 2), units[u]);
        }
        if (!ctx_str(ctx, text, (int64_t)strlen(text), (Str *)out->data + i)) return FAILED(i);
    }
    return ST_OK;
}
#define FL (FN_STABLE | FN_CAN_FAIL)
#define N_ (FL | FN_NULL_ARGS)
#define CALL(nm, fl, rt, na, tf, dc, ...)                                                            \
    {                                                                                                \
        .name = nm, .flags = (fl), .ret = rt, .nargs = na, .args = {__VA_ARGS__}, .opcode = OP_NONE, \
        .kernel = catalog_call, .type_fn = tf, .doc = dc                                             \
    }
#define TEXT(nm, na, dc, ...) CALL(nm, N_, T_TEXT, na, NULL, dc, __VA_ARGS__)
#define VISIBLE(what) \
    CALL("pg_" what "_is_visible", N_, T_BOOL, 1, NULL, "whether it is found without its schema's name", T_OID)
#define HAS(what)                                                                                       \
    CALL("has_" what "_privilege", N_, T_BOOL, 2, NULL, "whether the user may do that", T_ANY, T_TEXT), \
        CALL("has_" what "_privilege", N_, T_BOOL, 3, NULL, "whether a user may do that", T_ANY, T_ANY, T_TEXT)
#define TO_REG(what) CALL("to_reg" what, N_, T_OID, 1, tf_to_reg, "the object of that name, or NULL", T_TEXT)
#define SIZE(nm, dc) CALL(nm, N_, T_INT8, 1, NULL, dc, FUNC_REGCLASS)
#define LOG(nm, dc) CALL(nm, FN_VOLATILE | FN_CAN_FAIL, T_LSN, 0, NULL, dc, 0)
#define ON_NUMBERS(nm, rt, dc)                                                   \
    CALL(nm, FN_VOLATILE | FN_CAN_FAIL | FN_NULL_ARGS, rt, 1, NULL, dc, T_INT8), \
        CALL(nm, FN_VOLATILE | FN_CAN_FAIL | FN_NULL_ARGS, rt, 2, NULL, dc, T_INT4, T_INT4)
#define OF_XACT(nm, rt, na, tf, dc, ...) CALL(nm, FN_VOLATILE | FN_CAN_FAIL | FN_NULL_ARGS, rt, na, tf, dc, __VA_ARGS__)
#define SCHEMA(nm, rt, ...) CALL(nm, N_, rt, 2, NULL, "information_schema's", __VA_ARGS__)

static const FuncDef defs[] = {
    CALL("format_type", FL, T_TEXT, 2, NULL, "a type's name", T_OID, T_INT4),
    TEXT("pg_get_expr", 2, "an expression of the catalog as SQL", T_TEXT, T_OID),
    TEXT("pg_get_expr", 3, "an expression of the catalog as SQL", T_TEXT, T_OID, T_BOOL),
    TEXT("pg_get_constraintdef", 1, "a constraint as SQL", T_OID),
    TEXT("pg_get_constraintdef", 2, "a constraint as SQL", T_OID, T_BOOL),
    TEXT("pg_get_indexdef", 1, "CREATE INDEX of an index", T_OID),
    TEXT("pg_get_indexdef", 3, "a part of an index's key", T_OID, T_INT4, T_BOOL),
    TEXT("pg_get_viewdef", 1, "a view's query", T_OID),
    TEXT("pg_get_viewdef", 2, "a view's query", T_OID, T_BOOL),
    TEXT("pg_get_viewdef", 1, "a view's query", T_TEXT),
    TEXT("pg_get_viewdef", 2, "a view's query", T_TEXT, T_BOOL),
    TEXT("pg_get_ruledef", 1, "a rule as SQL", T_OID),
    TEXT("pg_get_ruledef", 2, "a rule as SQL", T_OID, T_BOOL),
    TEXT("pg_get_triggerdef", 1, "a trigger as SQL", T_OID),
    TEXT("pg_get_triggerdef", 2, "a trigger as SQL", T_OID, T_BOOL),
    TEXT("pg_get_functiondef", 1, "CREATE FUNCTION of a routine", T_OID),
    TEXT("pg_get_function_arguments", 1, "a routine's parameters, with defaults", T_OID),
    TEXT("pg_get_function_identity_arguments", 1, "a routine's parameters, as DROP FUNCTION names them", T_OID),
    TEXT("pg_get_function_result", 1, "a function's result", T_OID),
    TEXT("pg_get_function_sqlbody", 1, "a routine's body, if it is SQL's own form", T_OID),
    TEXT("pg_get_function_arg_default", 2, "a parameter's default", T_OID, T_INT4),
    CALL("pg_sequence_last_value", N_, T_INT8, 1, NULL, "the last value of a sequence", FUNC_REGCLASS),
    TEXT("pg_get_partkeydef", 1, "a partition key", T_OID),
    TEXT("pg_get_statisticsobjdef_columns", 1, "columns of a statistics object", T_OID),
    TEXT("pg_tablespace_location", 1, "where a tablespace is", T_OID),
    CALL("pg_get_userbyid", N_, T_TEXT, 1, tf_name, "a role's name", T_OID),
    VISIBLE("table"),
    VISIBLE("type"),
    VISIBLE("function"),
    VISIBLE("operator"),
    VISIBLE("opclass"),
    VISIBLE("opfamily"),
    VISIBLE("collation"),
    VISIBLE("conversion"),
    VISIBLE("statistics_obj"),
    VISIBLE("ts_config"),
    VISIBLE("ts_dict"),
    VISIBLE("ts_parser"),
    VISIBLE("ts_template"),
    TEXT("obj_description", 1, "an object's comment", T_OID),
    TEXT("obj_description", 2, "an object's comment", T_OID, T_TEXT),
    TEXT("shobj_description", 2, "a shared object's comment", T_OID, T_TEXT),
    TEXT("col_description", 2, "a column's comment", T_OID, T_INT4),
    TO_REG("class"),
    TO_REG("type"),
    TO_REG("proc"),
    TO_REG("procedure"),
    TO_REG("oper"),
    TO_REG("operator"),
    TO_REG("namespace"),
    TO_REG("role"),
    TO_REG("collation"),
    HAS("table"),
    HAS("any_column"),
    HAS("schema"),
    HAS("database"),
    HAS("function"),
    HAS("sequence"),
    HAS("type"),
    HAS("language"),
    HAS("tablespace"),
    HAS("foreign_data_wrapper"),
    HAS("server"),
    CALL("has_column_privilege", N_, T_BOOL, 3, NULL, "whether the user may do that", T_ANY, T_ANY, T_TEXT),
    CALL("has_column_privilege", N_, T_BOOL, 4, NULL, "whether a user may do that", T_ANY, T_ANY, T_ANY, T_TEXT),
    CALL("pg_has_role", N_, T_BOOL, 2, NULL, "whether the user has the role", T_ANY, T_TEXT),
    CALL("pg_has_role", N_, T_BOOL, 3, NULL, "whether a user has the role", T_ANY, T_ANY, T_TEXT),
    CALL("acldefault", FL, T_ARRAY, 2, tf_texts, "privileges on a new object of a kind: aclitems", T_TEXT, T_OID),
    CALL("aclexplode_array", N_, T_ARRAY, 1, tf_jsons, "internal: of aclexplode", T_TEXTS),
    CALL("makeaclitem", FL, T_TEXT, 4, NULL, "an aclitem", T_OID, T_OID, T_TEXT, T_BOOL),
    SIZE("pg_relation_size", "bytes of a table's rows"),
    CALL("pg_relation_size", N_, T_INT8, 2, NULL, "bytes of a table's rows", FUNC_REGCLASS, T_TEXT),
    SIZE("pg_table_size", "bytes of a table's rows"),
    SIZE("pg_indexes_size", "bytes of a table's indexes"),
    SIZE("pg_total_relation_size", "bytes of a table and its indexes"),
    CALL("pg_database_size", N_, T_INT8, 1, NULL, "bytes of the database", T_ANY),
    CALL("pg_tablespace_size", N_, T_INT8, 1, NULL, "bytes of a tablespace", T_ANY),
    CALL("pg_relation_filenode", N_, T_OID, 1, NULL, "the number of a table's file", FUNC_REGCLASS),
    CALL("pg_relation_is_publishable", N_, T_BOOL, 1, NULL, "whether it can be published", FUNC_REGCLASS),
    CALL("pg_relation_is_updatable", N_, T_INT4, 2, NULL, "which statements change it", FUNC_REGCLASS, T_BOOL),
    CALL("pg_column_is_updatable", N_, T_BOOL, 3, NULL, "whether UPDATE sets it", FUNC_REGCLASS, T_INT2, T_BOOL),
    CALL("partition_ancestors_array", N_, T_ARRAY, 1, tf_classes, "internal: of pg_partition_ancestors", FUNC_REGCLASS),
    CALL("pg_encoding_to_char", N_, T_TEXT, 1, tf_name, "an encoding's name", T_INT4),
    CALL("pg_char_to_encoding", N_, T_INT4, 1, NULL, "an encoding's number", T_TEXT),
    CALL("getdatabaseencoding", FL, T_TEXT, 0, tf_name, "the database's encoding", 0),
    CALL("pg_client_encoding", FL, T_TEXT, 0, tf_name, "the client's encoding", 0),
    CALL("current_schema", FL, T_TEXT, 0, tf_name, "the schema that objects are made in", 0),
    CALL("current_schemas", N_, T_ARRAY, 1, tf_names, "schemas that are searched", T_BOOL),
    CALL("pg_my_temp_schema", FL, T_OID, 0, NULL, "the schema of temporary tables, 0: none", 0),
    CALL("pg_is_other_temp_schema", N_, T_BOOL, 1, NULL, "whether it is that of another session", T_OID),
    CALL("pg_describe_object", FL, T_TEXT, 3, NULL, "an object in words", T_OID, T_OID, T_INT4),
    CALL("pg_identify_object_array", N_, T_ARRAY, 3, tf_jsons, "internal: of pg_identify_object", T_OID, T_OID, T_INT4),
    CALL("pg_get_keywords_array", FL, T_ARRAY, 0, tf_jsons, "internal: of pg_get_keywords", 0),
    CALL("pg_postmaster_start_time", FL, T_TIMESTAMPTZ, 0, NULL, "when the process began", 0),
    CALL("pg_conf_load_time", FL, T_TIMESTAMPTZ, 0, NULL, "when settings were read: when the process began", 0),
    CALL("inet_server_addr", FL, T_TEXT, 0, NULL, "the address that the client has connected to", 0),
    CALL("inet_client_addr", FL, T_TEXT, 0, NULL, "the client's address", 0),
    CALL("inet_server_port", FL, T_INT4, 0, NULL, "the port that the client has connected to", 0),
    CALL("inet_client_port", FL, T_INT4, 0, NULL, "the client's port", 0),
    CALL("pg_backend_pid", FL, T_INT4, 0, NULL, "the process's number", 0),
    CALL("row_security_active", N_, T_BOOL, 1, NULL, "whether policies hide rows of a table: never", T_TEXT),
    CALL("row_security_active", N_, T_BOOL, 1, NULL, "whether policies hide rows of a table: never", T_OID),
    CALL("pg_jit_available", FL, T_BOOL, 0, NULL, "whether PostgreSQL's JIT compiler is there: never", 0),
    CALL("pg_is_in_recovery", FL, T_BOOL, 0, NULL, "whether the database is a standby", 0),
    ON_NUMBERS("pg_advisory_lock", T_VOID, "takes a lock of the session, or waits for it"),
    ON_NUMBERS("pg_advisory_lock_shared", T_VOID, "takes a shared lock of the session, or waits for it"),
    ON_NUMBERS("pg_advisory_xact_lock", T_VOID, "takes a lock of the transaction, or waits for it"),
    ON_NUMBERS("pg_advisory_xact_lock_shared", T_VOID, "takes a shared lock of the transaction, or waits for it"),
    ON_NUMBERS("pg_try_advisory_lock", T_BOOL, "takes a lock of the session, if it can be had at once"),
    ON_NUMBERS("pg_try_advisory_lock_shared", T_BOOL, "takes a shared lock of the session, if it can be had at once"),
    ON_NUMBERS("pg_try_advisory_xact_lock", T_BOOL, "takes a lock of the transaction, if it can be had at once"),
    ON_NUMBERS("pg_try_advisory_xact_lock_shared", T_BOOL,
               "takes a shared lock of the transaction, if it can be had at once"),
    ON_NUMBERS("pg_advisory_unlock", T_BOOL, "gives a lock of the session back"),
    ON_NUMBERS("pg_advisory_unlock_shared", T_BOOL, "gives a shared lock of the session back"),
    CALL("pg_advisory_unlock_all", FN_VOLATILE | FN_CAN_FAIL, T_VOID, 0, NULL, "gives all locks of the session back",
         0),
    OF_XACT("txid_current", T_INT8, 0, NULL, "the transaction's number", 0),
    OF_XACT("txid_current_if_assigned", T_INT8, 0, NULL, "the transaction's number, NULL before it has one", 0),
    OF_XACT("txid_status", T_TEXT, 1, NULL, "what has become of a transaction", T_INT8),
    OF_XACT("pg_current_xact_id", T_OID, 0, tf_xid8, "the transaction's number", 0),
    OF_XACT("pg_current_xact_id_if_assigned", T_OID, 0, tf_xid8, "the transaction's number, NULL before it has one", 0),
    OF_XACT("pg_xact_status", T_TEXT, 1, NULL, "what has become of a transaction", T_OID),
    LOG("pg_current_wal_lsn", "the place up to which the redo log is written"),
    LOG("pg_current_wal_flush_lsn", "the place up to which the redo log is on the disk"),
    LOG("pg_current_wal_insert_lsn", "the place behind the last record of the redo log"),
    LOG("pg_last_wal_replay_lsn", "the place up to which a standby has replayed: NULL"),
    LOG("pg_last_wal_receive_lsn", "the place up to which a standby has received: NULL"),
    CALL("stele_is_stable", FN_VOLATILE | FN_CAN_FAIL | FN_NULL_ARGS, T_BOOL, 2, NULL,
         "whether the redo log is on the disk up to a place, or waits until it is", T_LSN, T_BOOL),
    DEF("pg_size_pretty", SF, T_TEXT, 1, ARGS(T_INT8), OP_NONE, size_pretty, NULL, "a number of bytes with a unit"),
    SCHEMA("_pg_char_max_length", T_INT4, T_OID, T_INT4),
    SCHEMA("_pg_char_octet_length", T_INT4, T_OID, T_INT4),
    SCHEMA("_pg_numeric_precision", T_INT4, T_OID, T_INT4),
    SCHEMA("_pg_numeric_precision_radix", T_INT4, T_OID, T_INT4),
    SCHEMA("_pg_numeric_scale", T_INT4, T_OID, T_INT4),
    SCHEMA("_pg_datetime_precision", T_INT4, T_OID, T_INT4),
    SCHEMA("_pg_interval_type", T_TEXT, T_OID, T_INT4),
    SCHEMA("_pg_index_position", T_INT4, T_OID, T_INT2),
};
const FuncDefs func_defs_catalog = {defs, ARRAY_LEN(defs)};
