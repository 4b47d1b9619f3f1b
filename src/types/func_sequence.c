/* func_sequence.c - nextval, currval, lastval and setval: calls of SessionInfo.sequence.
 *
 * The binder knows most sequences by name and gives their ids to the forms with a bigint, which are internal; the forms
 * with a text look the name up for each row. All of them run on the statement's own thread, in the order of rows.
 */
#include "types/func_int.h"

static Status ask(FuncCtx *ctx, int64_t i, const SequenceCall *call, int64_t *out) {
    FAIL_IF(!ctx->session || !ctx->session->sequence, i, ERR_FEATURE_NOT_SUPPORTED,
            "sequences cannot be used here: the expression is computed without a session");
    return ctx->session->sequence(ctx->session->setting_ctx, call, out, ctx->err) == ST_OK ? ST_OK : FAILED(i);
}
static SequenceCall call_of(uint8_t action, const Vec *sequence, int64_t i) {
    SequenceCall call = {.action = action, .n = 1};
    const int64_t at = sequence->is_const ? 0 : i;
    if (sequence->phys == PH_STR) call.name = ((const Str *)sequence->data)[at];
    else call.sequence = ((const int64_t *)sequence->data)[at];
    return call;
}
static Status each_row(FuncCtx *ctx, int64_t n, uint8_t action, const Vec *args, Vec *out) {
    for (int64_t i = 0; i < n; i++) {
        int64_t *z = &((int64_t *)out->data)[i];
        *z = 0;
        if (!row_valid(out, i)) continue;
        const SequenceCall call = call_of(action, &args[0], i);
        TRY(ask(ctx, i, &call, z));
    }
    return ST_OK;
}

KERNEL(nextval) {
    (void)nargs;
    if (!args[0].is_const || out->valid || n == 0) return each_row(ctx, n, SEQUENCE_NEXT, args, out);
    SequenceCall all = call_of(SEQUENCE_NEXT, &args[0], 0);
    all.n = n;
    return ask(ctx, 0, &all, out->data);
}
KERNEL(currval) {
    (void)nargs;
    return each_row(ctx, n, SEQUENCE_CURRENT, args, out);
}
KERNEL(lastval) {
    (void)args, (void)nargs;
    const SequenceCall call = {.action = SEQUENCE_LAST, .n = 1};
    for (int64_t i = 0; i < n; i++) TRY(ask(ctx, i, &call, &((int64_t *)out->data)[i]));
    return ST_OK;
}
KERNEL(setval) {
    for (int64_t i = 0; i < n; i++) {
        int64_t *z = &((int64_t *)out->data)[i];
        *z = 0;
        if (!row_valid(out, i)) continue;
        SequenceCall call = call_of(SEQUENCE_SET, &args[0], i);
        call.value = AT(int64_t, 1, i);
        call.is_called = nargs < 3 || AT(uint8_t, 2, i);
        TRY(ask(ctx, i, &call, z));
    }
    return ST_OK;
}
/* sequence_value(sequence, action): a column of the sequence as a table. */
KERNEL(sequence_value) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        const SequenceCall call = call_of((uint8_t)AT(int64_t, 1, i), &args[0], i);
        TRY(ask(ctx, i, &call, &((int64_t *)out->data)[i]));
    }
    return ST_OK;
}

#define VOLATILE (SF | FN_VOLATILE)
static const FuncDef defs[] = {
    DEF("nextval", VOLATILE, T_INT8, 1, ARGS(T_TEXT), OP_NONE, nextval, NULL, "next number of a sequence"),
    DEF("currval", VOLATILE, T_INT8, 1, ARGS(T_TEXT), OP_NONE, currval, NULL,
        "number of a sequence that the session was given last"),
    DEF("lastval", VOLATILE, T_INT8, 0, ARGS(0), OP_NONE, lastval, NULL,
        "number of any sequence that the session was given last"),
    DEF("setval", VOLATILE, T_INT8, 2, ARGS(T_TEXT, T_INT8), OP_NONE, setval, NULL,
        "sets the number that a sequence has given last"),
    DEF("setval", VOLATILE, T_INT8, 3, ARGS(T_TEXT, T_INT8, T_BOOL), OP_NONE, setval, NULL,
        "sets the number that a sequence has given last, or gives next"),
    DEF("sequence_nextval", VOLATILE, T_INT8, 1, ARGS(T_INT8), OP_NONE, nextval, NULL, "internal: nextval by id"),
    DEF("sequence_currval", VOLATILE, T_INT8, 1, ARGS(T_INT8), OP_NONE, currval, NULL, "internal: currval by id"),
    DEF("sequence_setval", VOLATILE, T_INT8, 2, ARGS(T_INT8, T_INT8), OP_NONE, setval, NULL, "internal: setval by id"),
    DEF("sequence_setval", VOLATILE, T_INT8, 3, ARGS(T_INT8, T_INT8, T_BOOL), OP_NONE, setval, NULL,
        "internal: setval by id"),
    DEF("sequence_value", VOLATILE, T_INT8, 2, ARGS(T_INT8, T_INT8), OP_NONE, sequence_value, NULL,
        "internal: a column of a sequence"),
};
const FuncDefs func_defs_sequence = {defs, ARRAY_LEN(defs)};
