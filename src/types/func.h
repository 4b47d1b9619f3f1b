/* func.h - functions, operators, casts and aggregates: names to kernels.
 *
 * Operators are functions named by their symbol ("+", "<=", "||", "~~" for LIKE).
 * The binder resolves a name and argument types to a FuncDef by PostgreSQL's rules
 * (exact match, then implicit casts, preferred types, unknown literals); the
 * lowering emits the FuncDef's opcode when it has one and CALL otherwise.
 *
 * Kernels are vectorised: `n` dense rows, arguments as Vec. A strict function never
 * looks at NULLs for its result's validity (the virtual machine computes the AND of
 * its arguments' validity beforehand into out->valid), but it must not raise errors for
 * rows that are not valid. Non-strict kernels fill out->valid themselves.
 * Kernels are pure, thread-safe, and keep per-call-site state in ctx->state.
 */
#ifndef STELE_TYPES_FUNC_H
#define STELE_TYPES_FUNC_H

#include "types/opcode.h"
#include "types/type.h"

/* A vector of n cells. `valid` is NULL when no row is NULL, else one byte (0/1) per row.
 * When is_const, data and valid hold one cell that stands for all rows. Data of NULL rows is
 * defined (zero or any legal cell) so that arithmetic on it is harmless. */
typedef struct Vec {
    void *data;
    uint8_t *valid;
    uint8_t phys; /* Phys */
    bool is_const;
    Type type;
} Vec;
/* Row i of a vector as a value of type t, whose cells it has (cells_agree): integers may be of another size, which is
 * why they fill the value. */
static inline Value vec_value(const Vec *v, int64_t i, Type t) {
    const int64_t at = v->is_const ? 0 : i, size = phys_size((Phys)v->phys);
    const void *cell = (const char *)v->data + at * size;
    Value out = {.type = t, .is_null = v->valid && !v->valid[at]};
    if (out.is_null) return out;
    switch (v->phys) {
    case PH_I16: out.u.i128 = *(const int16_t *)cell; break;
    case PH_I32: out.u.i128 = *(const int32_t *)cell; break;
    case PH_I64: out.u.i128 = *(const int64_t *)cell; break;
    default: memcpy(&out.u, cell, (size_t)size);
    }
    return out;
}

/* What a sequence's functions ask the session for. */
typedef enum SequenceAction {
    SEQUENCE_NEXT,      /* nextval: n numbers */
    SEQUENCE_CURRENT,   /* currval */
    SEQUENCE_LAST,      /* lastval, of no sequence */
    SEQUENCE_SET,       /* setval: `value`, which was given (is_called) or comes next */
    SEQUENCE_READ_LAST, /* the sequence as a table */
    SEQUENCE_READ_LOG,
    SEQUENCE_READ_CALLED
} SequenceAction;
typedef struct SequenceCall {
    uint8_t action;   /* SequenceAction */
    int64_t sequence; /* its id in the catalog; 0: it is named, */
    Str name;         /* as SQL has names */
    int64_t value;
    bool is_called;
    int64_t n; /* results */
} SequenceCall;

/* What random() and the like draw from: each use in a statement has a stream of its own, of the seed and of how many
 * uses there were since. setseed() begins anew. */
typedef struct RandomSource {
    _Atomic uint64_t seed, uses;
} RandomSource;
/* Another stream's state. */
uint64_t random_stream(const struct SessionInfo *session);

struct Expr;
typedef struct SessionInfo {
    int64_t now_micros;              /* transaction_timestamp(), timestamptz; also 'now' in texts */
    TextForm form;                   /* of texts that are made and read; the time zone */
    const char *user, *session_user; /* the role that statements run as, and the session's own */
    const char *database;
    RandomSource *random; /* NULL: always the same numbers */
    /* A setting's text (as SHOW has it) in the arena; NULL with an error (42704) when there is none of that name. NULL:
     * no settings. */
    const char *(*setting)(void *ctx, Arena *a, const char *name, Err *e);
    /* SET of a setting (in a transaction with is_local: to its end); its text then in the arena. On the session's
     * thread only. NULL: no settings. */
    const char *(*set_setting)(void *ctx, Arena *a, const char *name, const char *value, bool is_local, Err *e);
    void *setting_ctx;
    /* Calls a function of the catalog (setting_ctx is the session); on the session's thread only. */
    Status (*call_routine)(void *ctx, int64_t routine, int n, const Value *args, Type ret, Arena *a, Value *out,
                           Err *e);
    /* An object's name as its kind of oid is shown (types/oid.h), and the object of a name: 42P01, 42704, 42883 when
     * there is none. On the session's thread only. NULL: there is no catalog. */
    Status (*oid_name)(void *ctx, int kind, int64_t oid, Arena *a, Str *out, Err *e);
    Status (*oid_find)(void *ctx, int kind, Slice name, int64_t *out, Err *e);
    /* A function on the catalog (func_catalog.c) by its name; on the session's thread only. NULL: there is no catalog.
     */
    Status (*catalog_call)(void *ctx, const char *name, int n, const Value *args, Arena *a, Value *out, Err *e);
    /* All its rows: *cells has n_cols values of the given types for each, in the arena. */
    Status (*call_routine_rows)(void *ctx, int64_t routine, int n, const Value *args, int32_t n_cols, const Type *types,
                                Arena *a, int64_t *n_rows, Value **cells, Err *e);
    /* 23502 or 23514 unless the value, of its base type, is one of the catalog's domain; on the session's thread only.
     */
    Status (*check_domain)(void *ctx, int64_t domain, const Value *v, Err *e);
    /* The value of a bound expression (sql/plan/plan.h) of parameters alone; on the session's thread only. */
    Status (*eval)(void *ctx, const struct Expr *x, int32_t n, const Value *params, Arena *a, Value *out, Err *e);
    /* One or (SEQUENCE_NEXT) several numbers; on the session's thread only. NULL: no sequences. */
    Status (*sequence)(void *ctx, const SequenceCall *call, int64_t *out, Err *e);
} SessionInfo;

/* Grows whenever this thread's work looks at the clock: now() and its like, words such as 'today' in texts of dates and
 * times. What was computed meanwhile is good for once, or as long as its transaction. zone_reads: the same for the
 * session's time zone and form of texts. */
extern _Thread_local int64_t time_reads, zone_reads;

typedef struct FuncDef FuncDef;
/* An aggregate of a client. A state is a flat block of bytes without pointers of its own, which moves, goes to disk and
 * is copied; `fresh` is the one of no rows, which changes nothing when it is combined with another. Rows with a NULL
 * argument do not count. Functions are called by several threads, for different states. Scratch memory is charged to
 * the account, results' strings lie in the arena. update NULL: it has no states, all calls are over whole groups. */
typedef struct AggOps {
    int32_t state_bytes; /* a multiple of 8; states are aligned to 8 */
    const void *fresh;
    /* in: two, the second may be NULL */
    Status (*update)(const FuncDef *f, int64_t n, char *const *states, const Vec *const *in, MemAccount *account,
                     Err *e);
    Status (*combine)(const FuncDef *f, int64_t n, char *const *into, const char *const *from, MemAccount *account,
                      Err *e);
    /* fills validity */
    Status (*finish)(const FuncDef *f, int64_t n, const char *const *states, Vec *out, Arena *a, Err *e);
    /* Over whole groups: a row's arguments as bytes (NULL: it does not count), and the result of all of a group's, one
     * behind the other in the order of the call. */
    const FuncDef *entry, *whole;
} AggOps;
typedef struct FuncCtx {
    const FuncDef *func; /* that is called; NULL: a cast */
    Arena *arena;        /* results' strings: live until the batch of rows has left the pipeline */
    Err *err;
    const SessionInfo *session;
    void *state;        /* kernel-owned cache (compiled pattern), NULL at first; lives in state_arena */
    Arena *state_arena; /* as long as the query's worker */
    Type ret;           /* resolved result type */
    int64_t error_row;  /* set with err: the failing row, for messages */
} FuncCtx;

/* out->data has room for n cells of out->phys; out->type is ctx->ret. For strict functions out->valid is set
 * (NULL = no NULLs) and the kernel only reads it. For others out->valid has room for n bytes and the kernel
 * writes every one. Numeric arguments and results may be PH_I64 or PH_I128, as their Vec says. */
typedef Status (*FuncKernel)(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);

enum {
    FN_STRICT = 1,
    FN_VOLATILE = 2,  /* random(), clock_timestamp(): never folded or merged */
    FN_STABLE = 4,    /* now(): constant within a statement */
    FN_VARIADIC = 8,  /* last argument type repeats (0 or more times) */
    FN_CAN_FAIL = 16, /* may raise a data error (order of evaluation matters) */
    FN_OPERATOR = 32,
    FN_AGGREGATE = 64,
    FN_ANY_NUMERIC_SCALE = 128, /* numeric arguments keep their own scales; otherwise all get a common one */
    FN_COMMON_TYPE = 256,       /* all arguments and the result have their common type (greatest, least) */
    FN_NULL_ARGS = 512, /* NULL when an argument is, as a strict one, but also of other values, so that the kernel fills
                           validity */
};

typedef enum AggKind {
    AGG_NONE = 0,
    AGG_COUNT_STAR,
    AGG_COUNT,
    AGG_SUM,
    AGG_AVG, /* the planner splits it into SUM and COUNT */
    AGG_MIN,
    AGG_MAX,
    AGG_BOOL_AND,
    AGG_BOOL_OR,
    AGG_BIT_AND,
    AGG_BIT_OR,
    AGG_ANY, /* any_value; also for functionally dependent columns */
    AGG_VAR_POP,
    AGG_VAR_SAMP,
    AGG_STDDEV_POP,
    AGG_STDDEV_SAMP, /* exact of integers and numerics, else over double */
    AGG_STRING_AGG,  /* (text, delimiter) */
    AGG_BIT_XOR,
    AGG_CORR, /* from here to the next comment: of (y, x) */
    AGG_COVAR_POP,
    AGG_COVAR_SAMP,
    AGG_REGR_AVGX,
    AGG_REGR_AVGY,
    AGG_REGR_COUNT,
    AGG_REGR_INTERCEPT,
    AGG_REGR_R2,
    AGG_REGR_SLOPE,
    AGG_REGR_SXX,
    AGG_REGR_SXY,
    AGG_REGR_SYY,
    AGG_SINGLE, /* scalar subquery: the value, 21000 on a second row */
    AGG_CLIENT, /* of a client: FuncDef.agg_ops */
    AGG_COUNT_
} AggKind;
/* Of no rows it is 0, where others are NULL. */
static inline bool agg_is_count(uint8_t kind) {
    return kind == AGG_COUNT_STAR || kind == AGG_COUNT || kind == AGG_REGR_COUNT;
}

/* Result type from actual argument types (numeric scales, char lengths); NULL in FuncDef = type_make(ret). */
typedef Type (*FuncTypeFn)(const FuncDef *f, int nargs, const Type *args);

enum { FUNC_ARRAY_OF = 0x80, FUNC_REGCLASS = 0x40 | T_OID }; /* in FuncDef.args */

struct FuncDef {
    const char *name;
    uint16_t flags;
    uint8_t ret;       /* TypeId */
    int8_t nargs;      /* declared; with FN_VARIADIC the minimum */
    uint8_t args[8];   /* TypeIds; T_VOID = any type, T_ARRAY = any array, FUNC_ARRAY_OF | TypeId = arrays of that type
                          only. With FN_VARIADIC args[nargs-1] repeats */
    uint16_t opcode;   /* Opcode that computes it in a program, OP_NONE when only the kernel does.
                          The opcode's operand types are those of the (coerced) arguments. */
    uint8_t agg;       /* AggKind */
    FuncKernel kernel; /* present for every scalar function, also those with opcodes (constant folding) */
    FuncTypeFn type_fn;
    const char *doc;       /* one line for \df and the manual */
    const AggOps *agg_ops; /* AGG_CLIENT */
    const void *own;       /* of a client's function: what it is (catalog/user_function.h) */
};

/* Best candidate for a call. arg types may be T_UNKNOWN (literals, parameters). On success *out and
 * coerced[] (the types to cast each argument to, numerics with final precision and scale) and
 * *ret are set. 42883 with a hint when none or 42725 when several match; the message shows the call as
 * PostgreSQL does: function foo(integer, text) does not exist / operator does not exist: date + date. */
Status func_resolve(Slice name, bool is_operator, int nargs, const Type *args, int64_t position, const FuncDef **out,
                    Type *coerced, Type *ret, Err *e);
/* What argument k of a call is declared as: arrays of any type have elements of T_UNKNOWN. */
Type func_arg_type(const FuncDef *f, int k);
char type_category(uint8_t id); /* PostgreSQL's categories of types, for choosing among overloads */
bool type_preferred(uint8_t id);
const FuncDef *func_named(Slice name); /* the first of its overloads; NULL: there is none */
bool func_is_aggregate(Slice name);
/* An SQL name that needs no quotes, as quote_ident() has it. */
bool name_is_plain(Str s);
/* A name in double quotes, those in it doubled, or a key (base/key.h) as "schema"."name"; at most 2 * len + 2 bytes.
 * Returns how many. */
int64_t name_quote(Str s, char *out);
/* As a text has it, in quotes where it needs them, with a NUL behind; at most 2 * strlen + 3 bytes. Returns its bytes
 * with the end. */
int64_t name_put_quoted(const char *name, char *out);
const FuncDef *func_table(int64_t *count); /* whole table, for \df, docs and tests */

/* Casts. Contexts as in PostgreSQL. */
typedef enum CastCtx { CAST_IMPLICIT, CAST_ASSIGNMENT, CAST_EXPLICIT } CastCtx;
/* True when a cast exists in that context. T_UNKNOWN casts to everything implicitly. */
bool cast_exists(Type from, Type to, CastCtx ctx);
/* True when cells of `from` are cells of `to` as they are (varchar -> text, numeric(9,2) -> numeric(12,2)):
 * the binder relabels and nothing is computed. */
bool cast_is_noop(Type from, Type to);
/* The same of strings. */
static inline bool cast_keeps_string(Type from, Type to) {
    return type_both_strings(from, to) && cast_is_noop(from, to);
}
/* The kernel of a cast: one argument, strict; ctx->ret is the target type. Numerics are rescaled, rounding half
 * away from zero (22003 when they do not fit). Strings longer than varchar(n) or char(n) are cut when ctx_kind is
 * CAST_EXPLICIT and otherwise raise 22001, unless only blanks would be lost. NULL when no such cast exists. */
FuncKernel cast_kernel(Type from, Type to, CastCtx ctx_kind);
/* Both sides' common type for comparison, CASE, UNION, IN (PostgreSQL's select_common_type); false when none. */
bool type_common(Type a, Type b, Type *out);
/* An integer type as the numeric that holds it; numeric stays, everything else is unconstrained. */
Type type_as_numeric(Type t);
/* A better result type when some arguments are constants (NULL pointers = not constant): round(x, 2) and
 * trunc(x, 2) on numerics get scale 2, fields of times the digits they have (the Julian day of a timestamp 20). Returns
 * `ret` when nothing is gained. Kernels follow ctx->ret. */
Type func_refine_type(const FuncDef *f, int nargs, const Type *args, const Value *const *consts, Type ret);

/* Evaluate one function over single values (constant folding, defaults). For casts f is NULL and kernel is
 * cast_kernel's; kernel NULL means f->kernel. A string result is in `a` or borrowed from
 * an argument's bytes. args have the coerced types. */
Status func_eval(const FuncDef *f, FuncKernel kernel, const SessionInfo *s, Arena *a, Type ret, int nargs,
                 const Value *args, Value *out, Err *e);

/* It calls SessionInfo.catalog_call. */
bool func_of_catalog(const FuncDef *f);

/* A seed for one use of TABLESAMPLE without REPEATABLE (func_rows.c). */
double func_sample_seed(const SessionInfo *session);

#endif
