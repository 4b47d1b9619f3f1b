/* jsonpath_run.c - what a path finds in a document.
 *
 * PostgreSQL's procedure step by step (jsonpath_exec.c), since it decides what is found, in which order, and which
 * error comes first:
 *
 *   - Items go through the chain of accessors one at a time, depth first; the last accessor adds its items to those
 *     that are found. Without a list to add to (found NULL) only the existence of an item counts, and the walk stops at
 *     the first.
 *   - In lax mode an array in front of a member accessor, filter or numeric method stands for its elements (unwrap),
 * and something that is no array in front of a subscript is an array of itself; what is not there is no error.
 *   - Operands of predicates are lists, of which any pair may satisfy it. Errors in them make it unknown. In strict
 *     mode all pairs are looked at, since one of them may be an error.
 *   - Errors of the document (not of variables or time zones) are suppressed inside of predicates, and everywhere in a
 *     silent run: JP_ERROR instead of JP_FAILED.
 *
 * Lists of a predicate's operands begin on the stack, and a larger one is kept for the next: a filter over a million
 * elements takes no memory.
 */
#include <string.h>

#include "base/stack.h"
#include "types/dec.h"
#include "types/jsonpath.h"

typedef struct Run {
    const JpRun *r;
    bool lax, lenient /* what is not there is no error */, raise;
    JpItem root;
    const JpItem *current; /* @ */
    int64_t array_size;    /* for last */
    Slice base;            /* the document that objects are in, for keyvalue(), */
    int64_t base_id, next_id;
    JpItems spare;
} Run;

/* A list that begins on the stack. */
typedef struct Short {
    JpItems l;
    JpItem room[4];
} Short;
static void short_init(Short *s) { s->l = (JpItems){s->room, 0, ARRAY_LEN(s->room)}; }
static void short_release(Run *run, Short *s) {
    if (s->l.items != s->room && s->l.cap > run->spare.cap) run->spare = s->l;
}
static JpResult add(Run *run, JpItems *l, const JpItem *x) {
    if (l->len == l->cap && run->spare.cap > l->len) {
        memcpy(run->spare.items, l->items, sizeof *x * (size_t)l->len);
        l->items = run->spare.items;
        l->cap = run->spare.cap;
        run->spare = (JpItems){0};
    }
    if (vec_push(run->r->arena, l, *x)) return JP_OK;
    if (!err_is_set(run->r->err)) err_oom(run->r->err);
    return JP_FAILED;
}

static inline bool is_error(JpResult r) { return r >= JP_ERROR; }
/* An error that may be suppressed. */
#define DATA_ERROR(run, ...)                                         \
    do {                                                             \
        if (!(run)->raise) return JP_ERROR;                          \
        return (void)err_set((run)->r->err, __VA_ARGS__), JP_FAILED; \
    } while (0)

static JpResult run_item(Run *run, const JpNode *n, const JpItem *x, JpItems *found);
static JpResult run_unwrap(Run *run, const JpNode *n, const JpItem *x, JpItems *found, bool unwrap);
static JpBool run_predicate(Run *run, const JpNode *n, const JpItem *x);

/* What follows n, or the end of the chain. */
static JpResult run_next(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    if (n->next) return run_item(run, n->next, x, found);
    return found ? add(run, found, x) : JP_OK;
}
static JpResult run_number(Run *run, const JpNode *n, int64_t v, JpItems *found) {
    Str text;
    Dec d;
    if (!n->next && !found) return JP_OK;
    if (dec_from_i128(run->r->arena, v, 0, &d, run->r->err) != ST_OK ||
        dec_format(run->r->arena, &d, &text, run->r->err) != ST_OK)
        return JP_FAILED;
    const JpItem x = jp_item((Slice){text.ptr, text.len});
    return run_next(run, n, &x, found);
}

/* ---- containers ----------------------------------------------------------------------------------- */

/* Which levels of a container, and how what is there is looked at. */
typedef struct Walk {
    const JpNode *next; /* NULL: the end of the chain */
    uint32_t low, high;
    bool lenient, unwrap;
} Walk;
static JpResult run_at_level(Run *run, const Walk *w, const JpItem *x, JpItems *found) {
    const bool lenient = run->lenient;
    if (w->lenient) run->lenient = true;
    const JpResult r = run_unwrap(run, w->next, x, found, w->unwrap);
    run->lenient = lenient;
    return r;
}
static JpResult run_levels(Run *run, const Walk *w, Slice container, uint32_t level, JpItems *found) {
    JpResult r = JP_NOT_FOUND;
    if (level > w->high) return r;
    if (stack_check(run->r->err) != ST_OK) return JP_FAILED;
    JsonIter it = json_iter(container);
    Slice key, value;
    while (json_next(&it, &key, &value)) {
        const JpItem x = jp_item(value);
        const bool deep = json_is_container((JsonType)x.type);
        if (level >= w->low || (w->low == JP_LEVEL_LAST && w->high == JP_LEVEL_LAST && !deep)) {
            if (w->next) r = run_at_level(run, w, &x, found);
            else if (!found) return JP_OK;
            else if (add(run, found, &x) != JP_OK) return JP_FAILED;
            if (is_error(r) || (r == JP_OK && !found)) return r;
        }
        if (level >= w->high || !deep) continue;
        r = run_levels(run, w, value, level + 1, found);
        if (is_error(r) || (r == JP_OK && !found)) return r;
    }
    return r;
}
/* The elements of an array, in its place. */
static JpResult run_elements(Run *run, const JpNode *n, const JpItem *x, JpItems *found, bool unwrap) {
    const Walk w = {.next = n, .low = 1, .high = 1, .unwrap = unwrap};
    return run_levels(run, &w, x->text, 1, found);
}

static JpResult run_key(Run *run, const JpNode *n, const JpItem *x, JpItems *found, bool unwrap) {
    if (x->type == JT_OBJECT) {
        Slice v;
        if (json_find(x->text, n->text, true, &v)) {
            const JpItem part = jp_item(v);
            return run_next(run, n, &part, found);
        }
        if (run->lenient) return JP_NOT_FOUND;
        DATA_ERROR(run, ERR_JSON_NO_MEMBER, "JSON object does not contain key \"%.*s\"", (int)MIN_OF(n->text.len, 800),
                   n->text.ptr);
    }
    if (unwrap && x->type == JT_ARRAY) return run_elements(run, n, x, found, false);
    if (run->lenient) return JP_NOT_FOUND;
    DATA_ERROR(run, ERR_JSON_NO_MEMBER, "jsonpath member accessor can only be applied to an object");
}
static JpResult run_any_key(Run *run, const JpNode *n, const JpItem *x, JpItems *found, bool unwrap) {
    if (x->type == JT_OBJECT) return run_elements(run, n->next, x, found, run->lax);
    if (unwrap && x->type == JT_ARRAY) return run_elements(run, n, x, found, false);
    if (run->lenient) return JP_NOT_FOUND;
    DATA_ERROR(run, ERR_JSON_NO_OBJECT, "jsonpath wildcard member accessor can only be applied to an object");
}
static JpResult run_any_array(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    if (x->type == JT_ARRAY) return run_elements(run, n->next, x, found, run->lax);
    if (run->lax) return run_next(run, n, x, found);
    if (run->lenient) return JP_NOT_FOUND;
    DATA_ERROR(run, ERR_JSON_NO_ARRAY, "jsonpath wildcard array accessor can only be applied to an array");
}
static JpResult run_any_level(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    JpResult r = JP_NOT_FOUND;
    if (n->low == 0) { /* the item itself */
        const bool lenient = run->lenient;
        run->lenient = true;
        r = run_next(run, n, x, found);
        run->lenient = lenient;
        if (r == JP_FAILED || (r == JP_OK && !found)) return r;
    }
    const Walk w = {.next = n->next, .low = n->low, .high = n->high, .lenient = true, .unwrap = run->lax};
    return json_is_container((JsonType)x->type) ? run_levels(run, &w, x->text, 1, found) : r;
}

/* ---- subscripts -------------------------------------------------------------------------------------- */

static JpResult subscript(Run *run, const JpNode *n, const JpItem *x, int32_t *out) {
    Short s;
    short_init(&s);
    const JpResult r = run_item(run, n, x, &s.l);
    const bool single = s.l.len == 1 && s.l.items[0].type == JT_NUMBER;
    const bool fits = single && !is_error(r) && jsonpath_index(s.l.items[0].text, out);
    short_release(run, &s);
    if (is_error(r)) return r;
    if (!single) DATA_ERROR(run, ERR_JSON_SUBSCRIPT, "jsonpath array subscript is not a single numeric value");
    if (!fits) DATA_ERROR(run, ERR_JSON_SUBSCRIPT, "jsonpath array subscript is out of integer range");
    return JP_OK;
}
/* Elements low to high. */
static JpResult run_range(Run *run, const JpNode *n, const JpItem *x, int64_t low, int64_t high, JpItems *found) {
    JpResult r = JP_NOT_FOUND;
    if (low <= high && x->type != JT_ARRAY) return run_next(run, n, x, found);
    JsonIter it = json_iter(x->text);
    Slice key, value;
    for (int64_t i = 0; i <= high && json_next(&it, &key, &value); i++) {
        if (i < low) continue;
        const JpItem part = jp_item(value);
        r = run_next(run, n, &part, found);
        if (is_error(r) || (r == JP_OK && !found)) break;
    }
    return r;
}
static JpResult run_subscripts(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    const bool array = x->type == JT_ARRAY;
    if (!array && !run->lax) {
        if (run->lenient) return JP_NOT_FOUND;
        DATA_ERROR(run, ERR_JSON_NO_ARRAY, "jsonpath array accessor can only be applied to an array");
    }
    const int64_t outer = run->array_size, size = array ? json_count(x->text) : 1;
    JpResult r = JP_NOT_FOUND;
    run->array_size = size;
    for (int32_t i = 0; i < n->n; i++) {
        int32_t from, to;
        if (is_error(r = subscript(run, n->from[i], x, &from))) break;
        to = from;
        if (n->to[i] && is_error(r = subscript(run, n->to[i], x, &to))) break;
        if (!run->lenient && (from < 0 || from > to || to >= size))
            DATA_ERROR(run, ERR_JSON_SUBSCRIPT, "jsonpath array subscript is out of bounds");
        r = run_range(run, n, x, MAX_OF(from, 0), MIN_OF((int64_t)to, size - 1), found);
        if (is_error(r) || (r == JP_OK && !found)) break;
    }
    run->array_size = outer;
    return r;
}

/* ---- methods ------------------------------------------------------------------------------------------- */

static JpResult run_size(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    if (x->type == JT_ARRAY) return run_number(run, n, json_count(x->text), found);
    if (run->lax) return run_number(run, n, 1, found);
    if (run->lenient) return JP_NOT_FOUND;
    DATA_ERROR(run, ERR_JSON_NO_ARRAY, "jsonpath item method .size() can only be applied to an array");
}
static JpResult run_type(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    JsonOut o = {.a = run->r->arena};
    Str text;
    json_put_string(&o, slice_of(jsonpath_item_type(x)));
    if (json_done(&o, &text, run->r->err) != ST_OK) return JP_FAILED;
    const JpItem name = jp_item((Slice){text.ptr, text.len});
    return run_next(run, n, &name, found);
}
/* abs(), floor(), ceiling() */
static JpResult run_numeric(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    if (x->type != JT_NUMBER)
        DATA_ERROR(run, ERR_JSON_NOT_NUMERIC, "jsonpath item method .%s() can only be applied to a numeric value",
                   jp_name(n->kind));
    Slice z;
    if (!n->next && !found) return JP_OK;
    if (jsonpath_number(run->r, (JpKind)n->kind, x->text, (Slice){0}, true, &z) != JP_OK) return JP_FAILED;
    const JpItem item = jp_item(z);
    return run_next(run, n, &item, found);
}
static JpResult run_double(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    const JpRun *r = run->r;
    const bool string = x->type == JT_STRING;
    Str text = str_make(x->text.ptr, x->text.len);
    double v;
    Err own;
    if (!string && x->type != JT_NUMBER)
        DATA_ERROR(run, ERR_JSON_NOT_NUMERIC,
                   "jsonpath item method .double() can only be applied to a string or numeric value");
    if (string && json_unescape(r->arena, x->text, &text, r->err) != ST_OK) return JP_FAILED;
    err_clear(&own);
    if (cell_from_text(type_make(T_FLOAT8), (Slice){text.ptr, text.len}, r->session, r->arena, &v, &own) != ST_OK ||
        __builtin_isinf(v) || __builtin_isnan(v)) {
        if (string)
            DATA_ERROR(run, ERR_JSON_NOT_NUMERIC,
                       "string argument of jsonpath item method .double() is not a valid representation of a double "
                       "precision number");
        DATA_ERROR(run, ERR_JSON_NOT_NUMERIC,
                   "numeric argument of jsonpath item method .double() is out of range for type double precision");
    }
    if (!string) return run_next(run, n, x, found);
    Dec d;
    if (dec_from_f64(r->arena, v, &d, r->err) != ST_OK || dec_format(r->arena, &d, &text, r->err) != ST_OK)
        return JP_FAILED;
    const JpItem item = jp_item((Slice){text.ptr, text.len});
    return run_next(run, n, &item, found);
}
static JpResult run_datetime(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    static const char *const formats[] = {"yyyy-mm-dd",
                                          "HH24:MI:SS.USTZH:TZM",
                                          "HH24:MI:SS.USTZH",
                                          "HH24:MI:SSTZH:TZM",
                                          "HH24:MI:SSTZH",
                                          "HH24:MI:SS.US",
                                          "HH24:MI:SS",
                                          "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
                                          "yyyy-mm-dd HH24:MI:SS.USTZH",
                                          "yyyy-mm-dd HH24:MI:SSTZH:TZM",
                                          "yyyy-mm-dd HH24:MI:SSTZH",
                                          "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
                                          "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
                                          "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
                                          "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
                                          "yyyy-mm-dd HH24:MI:SS.US",
                                          "yyyy-mm-dd HH24:MI:SS",
                                          "yyyy-mm-dd\"T\"HH24:MI:SS.US",
                                          "yyyy-mm-dd\"T\"HH24:MI:SS"};
    Str text;
    JpItem z;
    JpResult r = JP_ERROR;
    if (x->type != JT_STRING)
        DATA_ERROR(run, ERR_JSON_DATETIME_ARGUMENT, "jsonpath item method .datetime() can only be applied to a string");
    if (json_unescape(run->r->arena, x->text, &text, run->r->err) != ST_OK) return JP_FAILED;
    const Slice given = {text.ptr, text.len};
    if (n->left) {
        r = jsonpath_datetime(run->r, given, n->left->text, run->raise, &z);
        if (is_error(r)) return r;
    }
    for (int64_t i = 0; i < ARRAY_LEN(formats) && r == JP_ERROR; i++)
        r = jsonpath_datetime(run->r, given, slice_of(formats[i]), false, &z);
    if (r == JP_ERROR && run->raise) {
        err_set(run->r->err, ERR_JSON_DATETIME_ARGUMENT, "datetime format is not recognized: \"%.*s\"",
                (int)MIN_OF(given.len, 800), given.ptr);
        err_hint(run->r->err, "Use a datetime template argument to specify the input data format.");
        return JP_FAILED;
    }
    return is_error(r) ? r : run_next(run, n, &z, found);
}

static Status pair_text(Run *run, int64_t id, Slice key, Slice value, Slice *out) {
    JsonOut o = {.a = run->r->arena};
    Dec d;
    Str text;
    TRY(dec_from_i128(o.a, id, 0, &d, run->r->err));
    TRY(dec_format(o.a, &d, &text, run->r->err));
    json_put_text(&o, "{\"id\": ");
    json_put(&o, text.ptr, text.len);
    json_put_text(&o, ", \"key\": ");
    json_put_slice(&o, key);
    json_put_text(&o, ", \"value\": ");
    json_put_slice(&o, value);
    json_put_text(&o, "}");
    TRY(json_done(&o, &text, run->r->err));
    *out = (Slice){text.ptr, text.len};
    return ST_OK;
}
/* An object's id: of the document that it is in, and where PostgreSQL has it there. */
static JpResult run_keyvalue(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    if (x->type != JT_OBJECT)
        DATA_ERROR(run, ERR_JSON_NO_OBJECT, "jsonpath item method .keyvalue() can only be applied to an object");
    const int64_t id = run->base_id * INT64_C(10000000000) + jsonpath_offset(run->base, x->text.ptr);
    JpResult r = JP_NOT_FOUND;
    JsonIter it = json_iter(x->text);
    Slice key, value, text;
    while (json_next(&it, &key, &value)) {
        if (!n->next && !found) return JP_OK;
        if (pair_text(run, id, key, value, &text) != ST_OK) return JP_FAILED;
        const Slice base = run->base;
        const int64_t base_id = run->base_id;
        const JpItem pair = jp_item(text);
        run->base = text;
        run->base_id = run->next_id++;
        r = run_next(run, n, &pair, found);
        run->base = base;
        run->base_id = base_id;
        if (is_error(r) || (r == JP_OK && !found)) break;
    }
    return r;
}

/* ---- operators -------------------------------------------------------------------------------------------- */

/* The items of an operand; in lax mode elements in place of arrays. */
static JpResult operand(Run *run, const JpNode *n, const JpItem *x, bool unwrap, JpItems *found) {
    if (!unwrap || !run->lax) return run_item(run, n, x, found);
    Short s;
    short_init(&s);
    JpResult r = run_item(run, n, x, &s.l);
    for (int64_t i = 0; i < s.l.len && !is_error(r); i++) {
        const JpItem *item = &s.l.items[i];
        r = item->type == JT_ARRAY ? run_elements(run, NULL, item, found, false) : add(run, found, item);
    }
    short_release(run, &s);
    return is_error(r) ? r : JP_OK;
}
static JpResult two_operands(Run *run, const JpNode *n, const JpItem *x, JpItems *left, JpItems *right, Slice *out) {
    JpResult r = operand(run, n->left, x, true, left);
    if (!is_error(r)) r = operand(run, n->right, x, true, right);
    if (is_error(r)) return r;
    if (left->len != 1 || left->items[0].type != JT_NUMBER)
        DATA_ERROR(run, ERR_JSON_SINGLETON, "left operand of jsonpath operator %s is not a single numeric value",
                   jp_name(n->kind));
    if (right->len != 1 || right->items[0].type != JT_NUMBER)
        DATA_ERROR(run, ERR_JSON_SINGLETON, "right operand of jsonpath operator %s is not a single numeric value",
                   jp_name(n->kind));
    return jsonpath_number(run->r, (JpKind)n->kind, left->items[0].text, right->items[0].text, run->raise, out);
}
static JpResult run_arithmetic(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    Short left, right;
    Slice z;
    short_init(&left);
    short_init(&right);
    const JpResult r = two_operands(run, n, x, &left.l, &right.l, &z);
    short_release(run, &left);
    short_release(run, &right);
    if (is_error(r)) return r;
    const JpItem item = jp_item(z);
    return run_next(run, n, &item, found);
}
static JpResult run_sign(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    if (x->type != JT_NUMBER) {
        if (!found && !n->next) return JP_NOT_FOUND;
        DATA_ERROR(run, ERR_JSON_NO_NUMBER, "operand of unary jsonpath operator %s is not a numeric value",
                   jp_name(n->kind));
    }
    JpItem item = *x;
    if (!found && !n->next) return JP_OK;
    if (n->kind == JP_MINUS) {
        Slice z;
        if (jsonpath_number(run->r, JP_MINUS, x->text, (Slice){0}, true, &z) != JP_OK) return JP_FAILED;
        item = jp_item(z);
    }
    return run_next(run, n, &item, found);
}
static JpResult run_unary(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    Short s;
    short_init(&s);
    JpResult r = operand(run, n->left, x, true, &s.l), all = JP_NOT_FOUND;
    for (int64_t i = 0; i < s.l.len && !is_error(r); i++) {
        r = run_sign(run, n, &s.l.items[i], found);
        if (r == JP_OK) all = JP_OK;
        if (r == JP_OK && !found) break;
    }
    short_release(run, &s);
    return is_error(r) ? r : all;
}

static JpResult run_literal(Run *run, const JpNode *n, JpItems *found) {
    const Slice base = run->base, vars = run->r->vars;
    const int64_t base_id = run->base_id;
    JpItem x = {.type = JT_NULL, .text = slice_of("null")};
    if (n->kind != JP_VARIABLE) {
        x = jp_item(n->json);
    } else if (vars.ptr) {
        Slice v;
        if (!json_find(vars, n->text, true, &v)) {
            err_set(run->r->err, ERR_UNDEFINED_OBJECT, "could not find jsonpath variable \"%.*s\"",
                    (int)MIN_OF(n->text.len, 800), n->text.ptr);
            return JP_FAILED;
        }
        x = jp_item(v);
        run->base = vars;
        run->base_id = 1;
    }
    const JpResult r = run_next(run, n, &x, found);
    run->base = base;
    run->base_id = base_id;
    return r;
}
static JpResult run_root(Run *run, const JpNode *n, JpItems *found) {
    const Slice base = run->base;
    const int64_t base_id = run->base_id;
    run->base = run->root.text;
    run->base_id = 0;
    const JpResult r = run_next(run, n, &run->root, found);
    run->base = base;
    run->base_id = base_id;
    return r;
}

/* ---- predicates --------------------------------------------------------------------------------------------- */

static JpBool starts_with(Run *run, const JpItem *whole, const JpItem *start) {
    Str x, y;
    if (whole->type != JT_STRING || start->type != JT_STRING) return JP_UNKNOWN;
    if (json_unescape(run->r->arena, whole->text, &x, run->r->err) != ST_OK ||
        json_unescape(run->r->arena, start->text, &y, run->r->err) != ST_OK)
        return JP_BOOL_FAILED;
    return x.len >= y.len && memcmp(x.ptr, y.ptr, y.len) == 0 ? JP_TRUE : JP_FALSE;
}
static JpBool like_regex(Run *run, const JpNode *n, const JpItem *x) {
    Str text;
    if (x->type != JT_STRING) return JP_UNKNOWN;
    if (json_unescape(run->r->arena, x->text, &text, run->r->err) != ST_OK) return JP_BOOL_FAILED;
    const int found = regex_search(n->regex, text, 0, run->r->err);
    return found < 0 ? JP_BOOL_FAILED : found ? JP_TRUE : JP_FALSE;
}
static JpBool check_pair(Run *run, const JpNode *n, const JpItem *x, const JpItem *y) {
    if (n->kind == JP_LIKE_REGEX) return like_regex(run, n, x);
    if (n->kind == JP_STARTS_WITH) return starts_with(run, x, y);
    return jsonpath_compare(run->r, (JpKind)n->kind, x, y);
}
static JpBool check_pairs(Run *run, const JpNode *n, const JpItems *left, const JpItems *right) {
    bool error = false, found = false;
    for (int64_t i = 0; i < left->len; i++) {
        for (int64_t k = 0; k < right->len; k++) {
            const JpBool b = check_pair(run, n, &left->items[i], &right->items[k]);
            if (b == JP_BOOL_FAILED || (!run->lax && b == JP_UNKNOWN)) return b;
            if (run->lax && b == JP_TRUE) return b;
            error |= b == JP_UNKNOWN;
            found |= b == JP_TRUE;
        }
    }
    return found ? JP_TRUE : error ? JP_UNKNOWN : JP_FALSE;
}
/* An operand without errors: JP_ERROR for any that may be suppressed. */
static JpResult quiet_operand(Run *run, const JpNode *n, const JpItem *x, bool unwrap, JpItems *found) {
    const bool raise = run->raise;
    run->raise = false;
    const JpResult r = operand(run, n, x, unwrap, found);
    run->raise = raise;
    return r;
}
static JpBool run_comparison(Run *run, const JpNode *n, const JpItem *x) {
    Short left, right;
    JpBool b = JP_UNKNOWN;
    short_init(&left);
    short_init(&right);
    JpResult r = quiet_operand(run, n->left, x, true, &left.l);
    if (!is_error(r) && n->right) r = quiet_operand(run, n->right, x, n->kind != JP_STARTS_WITH, &right.l);
    if (!n->right) right.l.len = 1; /* no item of it is read */
    if (!is_error(r)) b = check_pairs(run, n, &left.l, &right.l);
    short_release(run, &left);
    short_release(run, &right);
    return r == JP_FAILED ? JP_BOOL_FAILED : b;
}
static JpBool run_exists(Run *run, const JpNode *n, const JpItem *x) {
    Short s;
    short_init(&s);
    JpResult r = quiet_operand(run, n->left, x, false, run->lax ? NULL : &s.l);
    if (!run->lax && !is_error(r)) r = s.l.len > 0 ? JP_OK : JP_NOT_FOUND;
    short_release(run, &s);
    return r == JP_FAILED ? JP_BOOL_FAILED : r == JP_ERROR ? JP_UNKNOWN : r == JP_OK ? JP_TRUE : JP_FALSE;
}
static JpBool run_predicate(Run *run, const JpNode *n, const JpItem *x) {
    JpBool a, b;
    if (stack_check(run->r->err) != ST_OK) return JP_BOOL_FAILED;
    switch ((JpKind)n->kind) {
    case JP_AND:
    case JP_OR: {
        const JpBool decides = n->kind == JP_AND ? JP_FALSE : JP_TRUE, neutral = n->kind == JP_AND ? JP_TRUE : JP_FALSE;
        a = run_predicate(run, n->left, x);
        if (a == decides || a == JP_BOOL_FAILED) return a;
        b = run_predicate(run, n->right, x);
        return b == neutral ? a : b;
    }
    case JP_NOT: a = run_predicate(run, n->left, x); return a == JP_TRUE ? JP_FALSE : a == JP_FALSE ? JP_TRUE : a;
    case JP_IS_UNKNOWN:
        a = run_predicate(run, n->left, x);
        return a == JP_BOOL_FAILED ? a : a == JP_UNKNOWN ? JP_TRUE : JP_FALSE;
    case JP_EXISTS: return run_exists(run, n, x);
    default: return run_comparison(run, n, x);
    }
}
/* A predicate as an item. */
static JpResult run_truth(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    const JpBool b = run_predicate(run, n, x);
    if (b == JP_BOOL_FAILED) return JP_FAILED;
    const JpItem item = jp_item(slice_of(b == JP_TRUE ? "true" : b == JP_FALSE ? "false" : "null"));
    return run_next(run, n, &item, found);
}
static JpResult run_filter(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    const JpItem *outer = run->current;
    run->current = x;
    const JpBool b = run_predicate(run, n->left, x);
    run->current = outer;
    if (b == JP_BOOL_FAILED) return JP_FAILED;
    return b == JP_TRUE ? run_next(run, n, x, found) : JP_NOT_FOUND;
}

/* ---- all -------------------------------------------------------------------------------------------------- */

/* Elements take the place of an array that they are in. */
static bool unwraps(uint8_t kind) { return kind == JP_FILTER || (kind >= JP_DOUBLE && kind <= JP_KEYVALUE); }
static JpResult run_unwrap(Run *run, const JpNode *n, const JpItem *x, JpItems *found, bool unwrap) {
    if (stack_check(run->r->err) != ST_OK) return JP_FAILED;
    if (unwrap && x->type == JT_ARRAY && unwraps(n->kind)) return run_elements(run, n, x, found, false);
    switch ((JpKind)n->kind) {
    case JP_ROOT: return run_root(run, n, found);
    case JP_KEY: return run_key(run, n, x, found, unwrap);
    case JP_CURRENT: return run_next(run, n, run->current, found);
    case JP_ANY_KEY: return run_any_key(run, n, x, found, unwrap);
    case JP_ANY_ARRAY: return run_any_array(run, n, x, found);
    case JP_SUBSCRIPTS: return run_subscripts(run, n, x, found);
    case JP_LEVELS: return run_any_level(run, n, x, found);
    case JP_FILTER: return run_filter(run, n, x, found);
    case JP_LAST: return run_number(run, n, run->array_size - 1, found);
    case JP_NULL:
    case JP_BOOL:
    case JP_NUMBER:
    case JP_STRING:
    case JP_VARIABLE: return run_literal(run, n, found);
    case JP_ADD:
    case JP_SUB:
    case JP_MUL:
    case JP_DIV:
    case JP_MOD: return run_arithmetic(run, n, x, found);
    case JP_PLUS:
    case JP_MINUS: return run_unary(run, n, x, found);
    case JP_TYPE: return run_type(run, n, x, found);
    case JP_SIZE: return run_size(run, n, x, found);
    case JP_DOUBLE: return run_double(run, n, x, found);
    case JP_CEILING:
    case JP_FLOOR:
    case JP_ABS: return run_numeric(run, n, x, found);
    case JP_DATETIME: return run_datetime(run, n, x, found);
    case JP_KEYVALUE: return run_keyvalue(run, n, x, found);
    default: return run_truth(run, n, x, found);
    }
}
static JpResult run_item(Run *run, const JpNode *n, const JpItem *x, JpItems *found) {
    return run_unwrap(run, n, x, found, run->lax);
}

JpResult jsonpath_run(const JpRun *r, JpItems *found) {
    Run run = {.r = r,
               .lax = r->path->lax,
               .lenient = r->path->lax,
               .raise = !r->silent,
               .root = jp_item(r->document),
               .array_size = -1,
               .next_id = r->vars.ptr ? 2 : 1};
    if (r->vars.ptr && json_type(r->vars) != JT_OBJECT) {
        err_set(r->err, ERR_INVALID_PARAMETER, "\"vars\" argument is not an object");
        err_detail(r->err, "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.");
        return JP_FAILED;
    }
    run.current = &run.root;
    if (found || run.lax) return run_item(&run, r->path->root, &run.root, found);
    Short all; /* any of them may be an error */
    short_init(&all);
    const JpResult res = run_item(&run, r->path->root, &run.root, &all.l);
    return is_error(res) ? res : all.l.len > 0 ? JP_OK : JP_NOT_FOUND;
}
