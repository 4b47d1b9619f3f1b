/* func_json_int.h - what the files of JSON's functions share. Only src/types/func_json*.c may include it.
 *
 * Functions of json and of jsonb have one kernel each: it looks at its argument's type where they differ. A function
 * that makes jsonb of parts writes JSON text and brings it into jsonb's form at the end (json_finish).
 */
#ifndef STELE_TYPES_FUNC_JSON_INT_H
#define STELE_TYPES_FUNC_JSON_INT_H

#include "types/array.h"
#include "types/func_int.h"
#include "types/json.h"

static inline Slice json_arg(const Vec *args, int k, int64_t i) {
    Str s = AT(Str, k, i);
    return args[k].type.id == T_JSON ? json_trim(slice_of_str(s)) : slice_of_str(s);
}
/* The array of texts that argument k has in row i. */
static inline Status json_texts_arg(FuncCtx *ctx, const Vec *args, int k, int64_t i, ArrayView *out) {
    return array_view_of(AT(Str, k, i), PH_STR, out, ctx->err) == ST_OK ? ST_OK : FAILED(i);
}
/* The text of `o` as a value of ctx->ret: jsonb has a form of its own. */
static inline Status json_finish(FuncCtx *ctx, const JsonOut *o, Str *z) {
    TRY(json_done(o, z, ctx->err));
    return ctx->ret.id == T_JSONB ? jsonb_from_text(ctx->arena, slice_of_str(*z), z, ctx->err) : ST_OK;
}
/* A text as an index, as C's strtol reads it; false: it is none, or it is beyond 32 bits. */
bool json_index(Slice text, int32_t *i);
/* What json_to_recordset and the like take: 22023 unless it is an array of objects. name: of the function, len bytes.
 */
Status json_check_records(const char *name, int len, bool jsonb, Slice json, Err *e);
/* What becomes a row: 22023 unless it is an object. */
Status json_check_row(Slice json, Err *e);
/* Any cell as JSON text, as to_json() has it: func_json_make.c. */
Status json_put_cell(FuncCtx *ctx, JsonOut *o, Type t, const void *cell);

#endif
