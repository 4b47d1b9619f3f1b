/* pg_settings.c - see pg_settings.h. Numbers are read and shown as PostgreSQL's guc.c does. */
#include "session/core/pg_settings.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "session/core/session.h"

typedef enum PgKind { PG_BOOL, PG_INT, PG_REAL, PG_ENUM, PG_TEXT } PgKind;
struct PgSetting {
    const char *name;
    PgKind kind;
    bool only; /* its default */
    double min, max;
    const char *choices; /* a|b */
    const char *unit, *boot;
    const char *why; /* no session may change it */
};

#define BOOL(n, b) {.name = n, .kind = PG_BOOL, .boot = b},
#define INT(n, lo, hi, u, b) {.name = n, .kind = PG_INT, .min = lo, .max = hi, .unit = u, .boot = b},
#define REAL(n, lo, hi, u, b) {.name = n, .kind = PG_REAL, .min = lo, .max = hi, .unit = u, .boot = b},
#define ENUM(n, c, b) {.name = n, .kind = PG_ENUM, .choices = c, .boot = b},
#define TEXT(n, b) {.name = n, .kind = PG_TEXT, .boot = b},
#define ONLY_BOOL(n, b) {.name = n, .kind = PG_BOOL, .only = true, .boot = b},
#define ONLY_INT(n, lo, hi, u, b) {.name = n, .kind = PG_INT, .only = true, .min = lo, .max = hi, .unit = u, .boot = b},
#define ONLY_ENUM(n, c, b) {.name = n, .kind = PG_ENUM, .only = true, .choices = c, .boot = b},
#define ONLY_TEXT(n, b) {.name = n, .kind = PG_TEXT, .only = true, .boot = b},
static const PgSetting table[] = {
#include "session/core/pg_settings.inc"
};

#define PRESET(n, b) {.name = n, .kind = PG_TEXT, .boot = b, .why = "cannot be changed"},
#define START(n, b) {.name = n, .kind = PG_TEXT, .boot = b, .why = "cannot be changed without restarting the server"},
#define CONFIG(n, b) {.name = n, .kind = PG_TEXT, .boot = b, .why = "cannot be changed now"},
#define CONNECT(n, b) {.name = n, .kind = PG_TEXT, .boot = b, .why = "cannot be set after connection start"},
static const PgSetting of_servers[] = {
#include "session/core/pg_server_settings.inc"
};

static const PgSetting *find(const PgSetting *in, int64_t hi, const char *name) {
    int64_t lo = 0;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int c = strcasecmp(name, in[mid].name);
        if (c == 0) return &in[mid];
        if (c < 0) hi = mid;
        else lo = mid + 1;
    }
    return NULL;
}
const PgSetting *pg_setting_find(const char *name) {
    const PgSetting *p = find(table, ARRAY_LEN(table), name);
    return p ? p : find(of_servers, ARRAY_LEN(of_servers), name);
}
const char *pg_setting_name(const PgSetting *p) { return p->name; }
const char *pg_setting_nth(int64_t i) {
    if (i < ARRAY_LEN(table)) return table[i].name;
    i -= ARRAY_LEN(table);
    return i < ARRAY_LEN(of_servers) ? of_servers[i].name : NULL;
}
Status pg_setting_may_change(const PgSetting *p, Err *e) {
    return p->why ? err_set(e, ERR_CANT_CHANGE_SETTING, "parameter \"%s\" %s", p->name, p->why) : ST_OK;
}
bool pg_setting_is_list(const PgSetting *p) {
    static const char *const lists[] = {"local_preload_libraries", "restrict_nonsystem_relation_kind",
                                        "session_preload_libraries", "temp_tablespaces", "wal_consistency_checking"};
    for (int64_t i = 0; i < ARRAY_LEN(lists); i++)
        if (strcmp(p->name, lists[i]) == 0) return true;
    return false;
}

/* ---- units ----------------------------------------------------------------------------------------------- */

typedef struct Unit {
    const char *name;
    double size; /* bytes, or microseconds */
} Unit;
/* The largest first, as SHOW tries them. */
static const Unit memory_units[] = {{"TB", 1099511627776.0}, {"GB", 1073741824.0}, {"MB", 1048576.0},
                                    {"kB", 1024.0},          {"B", 1.0},           {NULL, 0}};
static const Unit time_units[] = {{"d", 86400e6}, {"h", 3600e6}, {"min", 60e6}, {"s", 1e6},
                                  {"ms", 1e3},    {"us", 1.0},   {NULL, 0}};
static const char *const memory_hint = "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
static const char *const time_hint =
    "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";

static bool is_memory(const PgSetting *p) { return strchr(p->unit, 'B') != NULL; }
static const Unit *units_of(const PgSetting *p) { return is_memory(p) ? memory_units : time_units; }
/* Of the setting's own unit, which may be "8kB". */
static double own_size(const PgSetting *p) {
    int times = 1, used = 0;
    if (sscanf(p->unit, "%d%n", &times, &used) != 1) times = 1, used = 0;
    for (const Unit *u = units_of(p); u->name; u++)
        if (strcmp(u->name, p->unit + used) == 0) return u->size * times;
    return 1;
}

/* Blanks, and a unit where there is one: the number in the setting's own unit. */
static bool apply_unit(const PgSetting *p, const char *rest, double *x, const char **hint) {
    while (*rest == ' ' || (*rest >= '\t' && *rest <= '\r')) rest++;
    if (!*rest) return true;
    if (!p->unit) return false;
    size_t n = strcspn(rest, " \t\n\v\f\r");
    *hint = is_memory(p) ? memory_hint : time_hint;
    if (rest[n + strspn(rest + n, " \t\n\v\f\r")]) return false;
    for (const Unit *u = units_of(p); u->name; u++) {
        if (strlen(u->name) != n || memcmp(u->name, rest, n) != 0) continue;
        /* Larger units than the next are rounded to a whole number of the next smaller one. */
        *x *= u->size;
        if (u[1].name) *x = rint(*x / u[1].size) * u[1].size;
        *x /= own_size(p);
        *hint = NULL;
        return true;
    }
    return false;
}

static Status bad(Err *e, const PgSetting *p, const char *value, const char *hint) {
    err_set(e, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": \"%s\"", p->name, value);
    if (hint) err_hint(e, "%s", hint);
    return ST_ERROR;
}

static const char *number_shown(const PgSetting *p, double x, Arena *a) {
    const char *unit = "";
    if (p->unit && x > 0) {
        double base = x * own_size(p);
        for (const Unit *u = units_of(p); u->name; u++) {
            x = base / u->size;
            unit = u->name;
            if (p->kind == PG_INT ? x == floor(x) : fabs(rint(x) / x - 1.0) <= 1e-8) break;
        }
    }
    return p->kind == PG_INT ? arena_printf(a, "%lld%s", (long long)x, unit) : arena_printf(a, "%g%s", x, unit);
}

static const char *number_text(const PgSetting *p, const char *value, Arena *a, Err *e) {
    char *end;
    const char *hint = NULL;
    errno = 0;
    double x = (double)strtol(value, &end, 0);
    if (p->kind == PG_REAL || *end == '.' || *end == 'e' || *end == 'E' || errno == ERANGE) {
        errno = 0;
        x = strtod(value, &end);
    }
    if (end == value || errno == ERANGE || isnan(x) || !apply_unit(p, end, &x, &hint)) {
        bad(e, p, value, hint);
        return NULL;
    }
    if (p->kind == PG_INT) x = rint(x);
    if (p->kind == PG_INT && (x > INT_MAX || x < INT_MIN)) {
        bad(e, p, value, "Value exceeds integer range.");
        return NULL;
    }
    if (x >= p->min && x <= p->max) return number_shown(p, x, a);
    const char *space = p->unit ? " " : "", *unit = p->unit ? p->unit : "";
    if (p->kind == PG_INT)
        err_set(e, ERR_INVALID_PARAMETER, "%d%s%s is outside the valid range for parameter \"%s\" (%d .. %d)", (int)x,
                space, unit, p->name, (int)p->min, (int)p->max);
    else
        err_set(e, ERR_INVALID_PARAMETER, "%g%s%s is outside the valid range for parameter \"%s\" (%g .. %g)", x, space,
                unit, p->name, p->min, p->max);
    return NULL;
}

/* ---- booleans and words ------------------------------------------------------------------------------------ */

bool pg_bool_parse(const char *text, bool *out) {
    size_t n = strlen(text);
    if (n == 0) return false;
    if (strncasecmp(text, "true", n) == 0 || strncasecmp(text, "yes", n) == 0 || strcmp(text, "1") == 0 ||
        strcasecmp(text, "on") == 0)
        return *out = true, true;
    if (strncasecmp(text, "false", n) == 0 || strncasecmp(text, "no", n) == 0 || strcmp(text, "0") == 0 ||
        (n > 1 && strncasecmp(text, "off", n) == 0))
        return *out = false, true;
    return false;
}

static const char *choice(const char *choices, const char *word, Arena *a) {
    for (const char *p = choices; p;) {
        const char *bar = strchr(p, '|');
        size_t n = bar ? (size_t)(bar - p) : strlen(p);
        if (strlen(word) == n && strncasecmp(p, word, n) == 0) return arena_strndup(a, p, (int64_t)n);
        p = bar ? bar + 1 : NULL;
    }
    return NULL;
}

/* Other words for some of the values, which PostgreSQL does not list: those of booleans, and of levels. */
static const char *enum_text(const PgSetting *p, const char *value, Arena *a, Err *e) {
    static const char *const words[][2] = {{"true", "on"}, {"yes", "on"}, {"1", "on"},        {"false", "off"},
                                           {"no", "off"},  {"0", "off"},  {"debug", "debug2"}};
    const char *found = choice(p->choices, value, a);
    for (int64_t i = 0; i < ARRAY_LEN(words) && !found; i++) {
        if (strcasecmp(value, words[i][0]) != 0) continue;
        found = choice(p->choices, words[i][1], a);
    }
    if (!found && strcasecmp(value, "info") == 0 && strstr(p->choices, "debug5"))
        found = "info"; /* a level, unlisted */
    if (found) return found;
    char list[256];
    int64_t n = 0;
    for (const char *c = p->choices; *c && n + 3 < (int64_t)sizeof list; c++) {
        if (*c != '|') list[n++] = *c;
        else list[n++] = ',', list[n++] = ' ';
    }
    list[n] = 0;
    bad(e, p, value, NULL);
    err_hint(e, "Available values: %s.", list);
    return NULL;
}

static const char *text_of(const PgSetting *p, const char *value, Arena *a, Err *e) {
    bool on;
    switch (p->kind) {
    case PG_BOOL:
        if (pg_bool_parse(value, &on)) return on ? "on" : "off";
        err_set(e, ERR_INVALID_PARAMETER, "parameter \"%s\" requires a Boolean value", p->name);
        return NULL;
    case PG_INT:
    case PG_REAL: return number_text(p, value, a, e);
    case PG_ENUM: return enum_text(p, value, a, e);
    case PG_TEXT: return arena_strdup(a, value);
    }
    return NULL;
}

const char *pg_setting_boot(const PgSetting *p, Arena *a, Err *e) { return text_of(p, p->boot, a, e); }

const char *pg_setting_text(const PgSetting *p, const char *value, Arena *a, Err *e) {
    const char *text = text_of(p, value, a, e), *boot = text ? pg_setting_boot(p, a, e) : NULL;
    if (!text || !boot) return NULL;
    if (!p->only || strcmp(text, boot) == 0) return text;
    err_set(e, ERR_FEATURE_NOT_SUPPORTED, "parameter \"%s\" cannot be changed: it is always \"%s\"", p->name, boot);
    return NULL;
}

/* ---- what was set ------------------------------------------------------------------------------------------ */

const char *setting_texts_get(const SettingTexts *t, const char *name) {
    for (int64_t at = 0; t && at < t->bytes;) {
        const char *key = t->text + at, *value = key + strlen(key) + 1;
        if (strcasecmp(key, name) == 0) return value;
        at += (int64_t)(strlen(key) + strlen(value)) + 2;
    }
    return NULL;
}

/* A block with room for `bytes`, not yet the session's. */
static SettingTexts *texts_new(Session *s, int64_t bytes, Err *e) {
    MemAccount *account = &s->db->parts[DB_CONNECTIONS];
    SettingTexts *t = mem_alloc(account, (int64_t)sizeof *t + bytes, e);
    if (!t) return NULL;
    t->account = account;
    const SettingTexts *last = s->kept_settings.texts;
    t->next = s->kept_settings.texts;
    t->serial = last ? last->serial + 1 : 1;
    t->bytes = bytes;
    atomic_init(&t->refs, 1);
    s->kept_settings.texts = t;
    return t;
}
static void texts_install(Session *s, SettingTexts *t) {
    t->hash = hash_bytes(t->text, t->bytes);
    s->settings.client.texts = t;
    s->settings.client.texts_serial = t->serial;
}
static int64_t put(char *to, const char *name, const char *value) {
    size_t n = strlen(name) + 1, m = strlen(value) + 1;
    if (to) memcpy(to, name, n);
    if (to) memcpy(to + n, value, m);
    return (int64_t)(n + m);
}

/* All but `name` of `old`, or with `reset` empty texts for the client's own. Returns the bytes; to may be NULL. */
static int64_t copy_others(const SettingTexts *old, const char *name, bool reset, char *to) {
    int64_t n = 0;
    for (int64_t at = 0; old && at < old->bytes;) {
        const char *key = old->text + at, *value = key + strlen(key) + 1;
        at += put(NULL, key, value);
        if (name && strcasecmp(key, name) == 0) continue;
        if (reset && !strchr(key, '.')) continue;
        n += put(to ? to + n : NULL, key, reset ? "" : value);
    }
    return n;
}

Status setting_texts_set(Session *s, const char *name, const char *value, Err *e) {
    const SettingTexts *old = s->settings.client.texts;
    int64_t n = copy_others(old, name, false, NULL);
    SettingTexts *t = texts_new(s, n + (value ? put(NULL, name, value) : 0), e);
    if (!t) return ST_ERROR;
    copy_others(old, name, false, t->text);
    if (value) put(t->text + n, name, value);
    texts_install(s, t);
    return ST_OK;
}
Status setting_texts_reset(Session *s, Err *e) {
    const SettingTexts *old = s->settings.client.texts;
    if (!old) return ST_OK;
    SettingTexts *t = texts_new(s, copy_others(old, NULL, true, NULL), e);
    if (!t) return ST_ERROR;
    copy_others(old, NULL, true, t->text);
    texts_install(s, t);
    return ST_OK;
}

void setting_texts_release(SettingTexts *t) {
    if (t && atomic_fetch_sub(&t->refs, 1) == 1) mem_free(t->account, t, (int64_t)sizeof *t + t->bytes);
}
void setting_texts_tidy(Session *s, bool all) {
    SettingTexts **link = &s->kept_settings.texts;
    while (*link) {
        SettingTexts *t = *link;
        if (!all &&
            (t == s->settings.client.texts || t == s->kept_settings.texts)) { /* the newest has the last serial */
            link = &t->next;
            continue;
        }
        *link = t->next;
        setting_texts_release(t);
    }
}

bool pg_setting_about(int64_t i, PgSettingAbout *out) {
    static const char *const types[] = {
        [PG_BOOL] = "bool", [PG_INT] = "integer", [PG_REAL] = "real", [PG_ENUM] = "enum", [PG_TEXT] = "string"};
    if (i >= ARRAY_LEN(table)) return false;
    const PgSetting *p = &table[i];
    *out = (PgSettingAbout){.name = p->name,
                            .type = types[p->kind],
                            .unit = p->unit,
                            .boot = p->boot,
                            .choices = p->choices,
                            .ranged = p->kind == PG_INT || p->kind == PG_REAL,
                            .whole = p->kind == PG_INT,
                            .min = p->min,
                            .max = p->max};
    return true;
}
