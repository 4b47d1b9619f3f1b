/* functions.c - functions in C that SQL calls: a scalar function over vectors, an aggregate, a table function. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stele/stele.h>

static stele_conn *conn;

static void check(stele_status st) {
    stele_error_info e;
    if (st == STELE_OK) return;
    stele_error(conn, &e);
    fprintf(stderr, "%s %s (%s)\n", e.sqlstate, e.message, e.context);
    exit(1);
}

static bool print_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)ctx, (void)names;
    for (int64_t i = 0; i < n; i++) printf("%s%s", i ? " | " : "", values[i] ? values[i] : "NULL");
    printf("\n");
    return false;
}

/* ---- price_of(pieces, each): a scalar function. Rows with a NULL argument do not come here. ---- */
static stele_status price_of(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const int32_t *pieces = args[0].data;
    const int64_t *each = args[1].data; /* numeric(10,2): hundredths */
    int64_t *price = result->data;
    for (int64_t i = 0; i < n; i++) {
        if (pieces[i] < 0) return stele_call_fail(call, i, "22023", "a number of pieces cannot be negative");
        int64_t full = pieces[i] * each[i];
        price[i] = pieces[i] >= 100 ? full - full / 10 : full;
    }
    return STELE_OK;
}

/* ---- mean_square(x): an aggregate. Its state is a flat block of bytes. ---- */
typedef struct Mean {
    double squares;
    int64_t n;
} Mean;
static stele_status mean_update(stele_call *call, int64_t n, void *const *states, const stele_column *args) {
    const double *x = args[0].data;
    (void)call;
    for (int64_t i = 0; i < n; i++) {
        Mean *m = states[i];
        m->squares += x[i] * x[i];
        m->n++;
    }
    return STELE_OK;
}
static stele_status mean_combine(stele_call *call, int64_t n, void *const *into, const void *const *from) {
    (void)call;
    for (int64_t i = 0; i < n; i++) {
        ((Mean *)into[i])->squares += ((const Mean *)from[i])->squares;
        ((Mean *)into[i])->n += ((const Mean *)from[i])->n;
    }
    return STELE_OK;
}
static stele_status mean_finish(stele_call *call, int64_t n, const void *const *states, stele_result *result) {
    (void)call;
    for (int64_t i = 0; i < n; i++) {
        const Mean *m = states[i];
        result->valid[i] = m->n > 0; /* NULL for no rows */
        if (m->n > 0) ((double *)result->data)[i] = m->squares / (double)m->n;
    }
    return STELE_OK;
}

/* ---- sentence(word ORDER BY ..): an aggregate that gets all rows of a group at once, in order. ---- */
static stele_status sentence_group(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const stele_string *words = args[0].data;
    int64_t bytes = 0, at = 0;
    for (int64_t i = 0; i < n; i++) bytes += words[i].size + 1;
    char *text = stele_call_alloc(call, bytes);
    if (!text) return STELE_ERROR;
    for (int64_t i = 0; i < n; i++) {
        memcpy(text + at, words[i].data, words[i].size);
        at += words[i].size;
        text[at++] = i == n - 1 ? '.' : ' ';
    }
    return stele_call_set_text(call, result, 0, text, at);
}

/* ---- fibonacci(rows => n): a table function. ---- */
typedef struct Scan {
    int64_t at, rows, a, b;
} Scan;
static stele_status fibonacci_bind(stele_call *call, int64_t n_args, const stele_value *args, stele_columns *columns,
                                   void **bound) {
    (void)n_args;
    if (args[0].type == STELE_TYPE_NULL || args[0].u.i64 > 90)
        return stele_call_fail(call, -1, "22003", "there are 90 numbers that fit");
    int64_t *rows = malloc(sizeof *rows);
    if (!rows) return stele_call_fail(call, -1, "53200", "out of memory");
    *rows = args[0].u.i64;
    *bound = rows;
    if (stele_columns_add(columns, "n", "bigint") != STELE_OK) return STELE_ERROR;
    return stele_columns_add(columns, "value", "bigint");
}
static stele_status fibonacci_begin(stele_call *call, void *bound, int64_t n_columns, const bool *wanted, void **scan) {
    (void)n_columns, (void)wanted;
    Scan *s = malloc(sizeof *s);
    if (!s) return stele_call_fail(call, -1, "53200", "out of memory");
    *s = (Scan){1, *(int64_t *)bound, 1, 1};
    *scan = s;
    return STELE_OK;
}
static stele_status fibonacci_next(stele_call *call, void *scan, int64_t room, stele_result *columns, int64_t *n) {
    Scan *s = scan;
    (void)call;
    for (*n = 0; *n < room && s->at <= s->rows; ++*n) {
        ((int64_t *)columns[0].data)[*n] = s->at++;
        ((int64_t *)columns[1].data)[*n] = s->a;
        int64_t next = s->a + s->b;
        s->a = s->b;
        s->b = next;
    }
    return STELE_OK;
}

int main(void) {
    stele_db *db;
    stele_error_info e;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;
    check(stele_create_scalar(conn, &(stele_scalar){.name = "price_of",
                                                    .n_params = 2,
                                                    .param_types = (const char *const[]){"int", "numeric(10,2)"},
                                                    .param_names = (const char *const[]){"pieces", "each"},
                                                    .result_type = "numeric(12,2)",
                                                    .call = price_of}));
    check(stele_create_aggregate(conn, &(stele_aggregate){.name = "mean_square",
                                                          .n_params = 1,
                                                          .param_types = (const char *const[]){"double precision"},
                                                          .result_type = "double precision",
                                                          .state_size = sizeof(Mean),
                                                          .update = mean_update,
                                                          .combine = mean_combine,
                                                          .finish = mean_finish}));
    check(stele_create_aggregate(conn, &(stele_aggregate){.name = "sentence",
                                                          .n_params = 1,
                                                          .param_types = (const char *const[]){"text"},
                                                          .result_type = "text",
                                                          .group = sentence_group}));
    check(stele_create_table_function(conn, &(stele_table_function){.name = "fibonacci",
                                                                    .n_params = 1,
                                                                    .param_types = (const char *const[]){"bigint"},
                                                                    .param_names = (const char *const[]){"rows"},
                                                                    .bind = fibonacci_bind,
                                                                    .free_bound = free,
                                                                    .begin = fibonacci_begin,
                                                                    .next = fibonacci_next,
                                                                    .end = free}));

    check(stele_exec(conn,
                     "create table item (name text, pieces int, price numeric(10,2));"
                     "insert into item values ('nail', 250, 0.02), ('saw', 3, 22.50), ('glue', null, 4.00);"
                     "create view worth as select name, price_of(pieces, each => price) as total from item",
                     NULL, NULL));
    check(stele_exec(conn, "select * from worth order by name", print_row, NULL));
    check(stele_exec(conn, "select round(mean_square(price)::numeric, 4) from item", print_row, NULL));
    check(stele_exec(conn, "select sentence(name order by price desc) from item", print_row, NULL));
    check(stele_exec(conn, "select n, value from fibonacci(rows => 60) where value % 1000 = 0 or n > 59", print_row,
                     NULL));
    if (stele_exec(conn, "select price_of(-1, price) from item", NULL, NULL) != STELE_OK) {
        stele_error(conn, &e);
        printf("%s %s\n  %s\n", e.sqlstate, e.message, e.context);
    }

    /* Views keep the name: without the function they say so, and with another one they use that. */
    check(stele_drop_function(conn, "price_of", -1, NULL));
    if (stele_exec(conn, "select * from worth", NULL, NULL) != STELE_OK) {
        stele_error(conn, &e);
        printf("%s %s\n", e.sqlstate, e.message);
    }
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
