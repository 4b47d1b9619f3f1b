/* function_int.h - what the files of clients' functions share. Included by src/api only. */
#ifndef STELE_API_FUNCTION_INT_H
#define STELE_API_FUNCTION_INT_H

#include "api/api_int.h"
#include "catalog/user_function.h"

/* A call under way. */
struct stele_call {
    const UserFunction *f;
    Arena *arena;   /* of its results; NULL: made of the account when one is asked for, */
    Arena *scratch; /* which is this one, the caller's to free */
    MemAccount *account;
    Err *err;
    int64_t n;           /* rows */
    const int32_t *rows; /* the statement's batch has them at these places; NULL: all, in order */
    int64_t error_row;   /* in the batch; -1: none was named */
};

/* Its arena; NULL: no memory, the call's error is set. */
Arena *function_arena(stele_call *c);

/* Results of one column in the making. */
typedef struct ResultCells {
    Type type;
    int64_t n;
    void *cells;
    uint8_t *valid;
} ResultCells;
/* n results, valid, zero or empty. */
void function_result_begin(ResultCells *r, stele_result *out);
/* What clients have left there becomes cells of the type; 22003, 22008, 22P02. */
Status function_result_end(stele_call *call, ResultCells *r);

/* Cells of a column as clients see them: n of the type's own form, none of them constant. `rows` picks some. */
Status function_column(stele_call *c, Type t, const Vec *v, int64_t n, const int32_t *rows, stele_column *out);
int64_t function_cell_size(Type t); /* as clients see them */
/* Numerics come in either width. */
void function_copy_numeric(const Vec *v, int64_t from, Phys want, void *out);
/* SQLSTATE and message were set by the client, or the call failed without any. */
Status function_failed(const stele_call *call);

enum { GROUP_ARGS_MAX = 8 };
/* An aggregate (UserFunction.own). entry and whole: what calls over whole groups are made of (function_group.c). */
typedef struct ClientAggregate {
    AggOps ops;
    stele_aggregate of; /* name and types are not the copy's */
    FuncDef entry, whole;
} ClientAggregate;
void function_group_defs(const UserFunction *f, ClientAggregate *g);
/* What a call has returned; errors get the aggregate as context. */
Status function_aggregate_failed(const stele_call *c, stele_status st);

/* What all kinds of functions are registered with. */
typedef struct FunctionHead {
    UserFunctionKind kind;
    const char *name;
    int64_t n_params;
    const char *const *param_types, *const *param_names;
    int32_t flags;
    void *data;
    void (*destroy)(void *data);
} FunctionHead;
/* A definition with its signature but for the result. */
Status function_new(stele_conn *c, const FunctionHead *h, UserFunction **out);
/* A type of the interface by its SQL name. */
Status function_type(stele_conn *c, UserFunction *f, const char *name, Type *out);
Status function_type_of(Arena *a, const char *name, Type *out, Err *e);
/* Registers it, or frees it without calling `destroy`. */
stele_status function_add(stele_conn *c, UserFunction *f, Status st);

#endif
