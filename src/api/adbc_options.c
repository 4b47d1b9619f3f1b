/* adbc_options.c - options of ADBC's databases, connections and statements, read and set as text, bytes, integers and
 * doubles. adbc_database_option and the like say what there is; adbc.h has the rules of conversion: an option is read
 * by the type that it is set by, and by others where its value has that form.
 *
 * Reading may happen on any thread at any time: values of variable length are read and set under the lock of their
 * handle.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/adbc_int.h"

/* ---- values -------------------------------------------------------------------------------------- */

bool adbc_parse_int(const char *text, int64_t *out) {
    char *end;
    if (!text || !*text) return false;
    *out = strtoll(text, &end, 10);
    return !*end;
}

bool adbc_parse_bool(const char *text, bool *out) {
    *out = text && strcmp(text, ADBC_OPTION_VALUE_ENABLED) == 0;
    return *out || (text && strcmp(text, ADBC_OPTION_VALUE_DISABLED) == 0);
}

AdbcStatusCode adbc_bad_value(struct AdbcError *e, const char *key, const char *value) {
    return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "option \"%s\" cannot have the value \"%s\"", key,
                     value ? value : "(null)");
}

/* Room for numbers as text. */
typedef char OptionText[40];

static const char *as_text(const AdbcOption *o, OptionText room) {
    switch (o->kind) {
    case ADBC_OPT_BOOL: return o->number ? ADBC_OPTION_VALUE_ENABLED : ADBC_OPTION_VALUE_DISABLED;
    case ADBC_OPT_INT: snprintf(room, sizeof(OptionText), "%lld", (long long)o->number); return room;
    case ADBC_OPT_DOUBLE: snprintf(room, sizeof(OptionText), "%.17g", o->real); return room;
    case ADBC_OPT_TEXT: break;
    }
    return o->text;
}

static AdbcStatusCode no_type(struct AdbcError *e, const char *key, const char *type) {
    return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "option \"%s\" is not of type %s", key, type);
}

/* The value where there is room for it; *length: how much it needs. */
static void give(const char *text, size_t n, void *value, size_t *length) {
    if (n <= *length && n) memcpy(value, text, n);
    *length = n;
}

static AdbcStatusCode give_int(const AdbcOption *o, const char *key, int64_t *value, struct AdbcError *e) {
    if (o->kind == ADBC_OPT_TEXT && adbc_parse_int(o->text, value)) return ADBC_STATUS_OK;
    if (o->kind != ADBC_OPT_INT) return no_type(e, key, "integer");
    *value = o->number;
    return ADBC_STATUS_OK;
}
static AdbcStatusCode give_double(const AdbcOption *o, const char *key, double *value, struct AdbcError *e) {
    if (o->kind != ADBC_OPT_DOUBLE && o->kind != ADBC_OPT_INT) return no_type(e, key, "double");
    *value = o->kind == ADBC_OPT_INT ? (double)o->number : o->real;
    return ADBC_STATUS_OK;
}

/* ---- handles ------------------------------------------------------------------------------------- */

typedef struct Handle {
    const char *what;
    Mutex *lock; /* NULL: the handle has not been made */
    const void *x;
    bool (*find)(const void *x, const char *key, AdbcOption *out);
} Handle;

static bool find_database(const void *x, const char *key, AdbcOption *out) { return adbc_database_option(x, key, out); }
static bool find_connection(const void *x, const char *key, AdbcOption *out) {
    return adbc_connection_option(x, key, out);
}
static bool find_statement(const void *x, const char *key, AdbcOption *out) {
    return adbc_statement_option(x, key, out);
}
static Handle database_of(const struct AdbcDatabase *h) {
    AdbcDb *x = h->private_data;
    return (Handle){"database", x ? &x->lock : NULL, x, find_database};
}
static Handle connection_of(const struct AdbcConnection *h) {
    AdbcConn *x = h->private_data;
    return (Handle){"connection", x ? &x->lock : NULL, x, find_connection};
}
static Handle statement_of(const struct AdbcStatement *h) {
    AdbcStmt *x = h->private_data;
    return (Handle){"statement", x ? &x->lock : NULL, x, find_statement};
}

static AdbcStatusCode find(const Handle *h, const char *key, AdbcOption *o, struct AdbcError *e) {
    if (!h->lock) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the %s has not been made", h->what);
    if (h->find(h->x, key, o)) return ADBC_STATUS_OK;
    return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "there is no %s option \"%s\"", h->what, key);
}

static void lock(const Handle *h) {
    if (h->lock) mutex_lock(h->lock);
}
static void unlock(const Handle *h) {
    if (h->lock) mutex_unlock(h->lock);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static AdbcStatusCode get_text(Handle h, const char *key, char *value, size_t *n, struct AdbcError *e) {
    AdbcOption o;
    OptionText room;
    lock(&h);
    AdbcStatusCode code = find(&h, key, &o, e);
    const char *text = code == ADBC_STATUS_OK ? as_text(&o, room) : NULL;
    if (text) give(text, strlen(text) + 1, value, n);
    unlock(&h);
    return code;
}
static AdbcStatusCode get_bytes(Handle h, const char *key, uint8_t *value, size_t *n, struct AdbcError *e) {
    AdbcOption o;
    lock(&h);
    AdbcStatusCode code = find(&h, key, &o, e);
    if (code == ADBC_STATUS_OK && o.kind != ADBC_OPT_TEXT) code = no_type(e, key, "bytes");
    if (code == ADBC_STATUS_OK) give(o.text, strlen(o.text), value, n);
    unlock(&h);
    return code;
}
static AdbcStatusCode get_int(Handle h, const char *key, int64_t *value, struct AdbcError *e) {
    AdbcOption o;
    lock(&h);
    AdbcStatusCode code = find(&h, key, &o, e);
    if (code == ADBC_STATUS_OK) code = give_int(&o, key, value, e);
    unlock(&h);
    return code;
}
static AdbcStatusCode get_double(Handle h, const char *key, double *value, struct AdbcError *e) {
    AdbcOption o;
    lock(&h);
    AdbcStatusCode code = find(&h, key, &o, e);
    if (code == ADBC_STATUS_OK) code = give_double(&o, key, value, e);
    unlock(&h);
    return code;
}

/* ---- setting ------------------------------------------------------------------------------------- */

/* No option is set as bytes or as a double, and only integers as one. */
static AdbcStatusCode refuse(Handle h, const char *key, const char *type, struct AdbcError *e) {
    if (!h.lock) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the %s has not been made", h.what);
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no %s option \"%s\" that can be set as %s", h.what, key,
                     type);
}
static bool is_int(Handle h, const char *key) {
    AdbcOption o;
    lock(&h);
    bool yes = h.lock && h.find(h.x, key, &o) && o.kind == ADBC_OPT_INT;
    unlock(&h);
    return yes;
}

#define OPTIONS_OF(name, Type)                                                                                         \
    AdbcStatusCode adbc_##name##_get_text(Type *h, const char *key, char *value, size_t *n, struct AdbcError *e) {     \
        return get_text(name##_of(h), key, value, n, e);                                                               \
    }                                                                                                                  \
    AdbcStatusCode adbc_##name##_get_bytes(Type *h, const char *key, uint8_t *value, size_t *n, struct AdbcError *e) { \
        return get_bytes(name##_of(h), key, value, n, e);                                                              \
    }                                                                                                                  \
    AdbcStatusCode adbc_##name##_get_int(Type *h, const char *key, int64_t *value, struct AdbcError *e) {              \
        return get_int(name##_of(h), key, value, e);                                                                   \
    }                                                                                                                  \
    AdbcStatusCode adbc_##name##_get_double(Type *h, const char *key, double *value, struct AdbcError *e) {            \
        return get_double(name##_of(h), key, value, e);                                                                \
    }                                                                                                                  \
    AdbcStatusCode adbc_##name##_set_bytes(Type *h, const char *key, const uint8_t *value, size_t n,                   \
                                           struct AdbcError *e) {                                                      \
        (void)value, (void)n;                                                                                          \
        return refuse(name##_of(h), key, "bytes", e);                                                                  \
    }                                                                                                                  \
    AdbcStatusCode adbc_##name##_set_double(Type *h, const char *key, double value, struct AdbcError *e) {             \
        (void)value;                                                                                                   \
        return refuse(name##_of(h), key, "a double", e);                                                               \
    }                                                                                                                  \
    AdbcStatusCode adbc_##name##_set_int(Type *h, const char *key, int64_t value, struct AdbcError *e) {               \
        OptionText text;                                                                                               \
        if (!is_int(name##_of(h), key)) return refuse(name##_of(h), key, "an integer", e);                             \
        snprintf(text, sizeof text, "%lld", (long long)value);                                                         \
        return adbc_##name##_set_option(h, key, text, e);                                                              \
    }

OPTIONS_OF(database, struct AdbcDatabase)
OPTIONS_OF(connection, struct AdbcConnection)
OPTIONS_OF(statement, struct AdbcStatement)
