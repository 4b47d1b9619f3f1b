/* pg_settings.h - settings that PostgreSQL has and that have no effect here, and settings of clients' own.
 *
 * Programs written for PostgreSQL set work_mem, enable_seqscan and the like. Their names, types, ranges, units and
 * values are PostgreSQL's (pg_settings.inc), what is wrong with a value is said in its words, and a session keeps what
 * was set. Where another value would change results, or what a statement may do, only the default is taken (0A000).
 * What its server reads from files can be shown, and not be set.
 * A name with a point in it is a setting of the client's own, which takes any text.
 */
#ifndef STELE_SESSION_CORE_PG_SETTINGS_H
#define STELE_SESSION_CORE_PG_SETTINGS_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/mem.h"

struct Session;
typedef struct PgSetting PgSetting;

/* By its name in any case; NULL: PostgreSQL has none of that name, or it is one of settings.c. */
const PgSetting *pg_setting_find(const char *name);
const char *pg_setting_name(const PgSetting *p);
/* 55P02 for one that PostgreSQL's server has from its files, its start or its build (pg_server_settings.inc): SHOW
 * shows what initdb makes it, and it has no effect. */
Status pg_setting_may_change(const PgSetting *p, Err *e);
/* The i-th name, for suggestions; NULL behind the last. */
const char *pg_setting_nth(int64_t i);
/* What SHOW shows of `value` in the arena. NULL: 22023 with PostgreSQL's message, 0A000, or out of memory. */
const char *pg_setting_text(const PgSetting *p, const char *value, Arena *a, Err *e);
/* The default, as SHOW shows it; NULL: out of memory. */
const char *pg_setting_boot(const PgSetting *p, Arena *a, Err *e);
/* As the relation pg_settings has it; texts are static. */
typedef struct PgSettingAbout {
    const char *name, *type, *unit, *boot;
    const char *choices; /* a|b; NULL */
    bool ranged, whole;  /* a number; an integer */
    double min, max;     /* where it is */
} PgSettingAbout;
/* The i-th by name; false: there are no more. */
bool pg_setting_about(int64_t i, PgSettingAbout *out);
/* Whether it takes a list of values. */
bool pg_setting_is_list(const PgSetting *p);
/* PostgreSQL's spellings of booleans: a beginning of true, false, yes, no, off, or on, 1, 0; in any case. */
bool pg_bool_parse(const char *text, bool *out);

/* Names and values that were set, each "name", 0, "value", 0. A block never changes: copies of Settings share it. */
typedef struct SettingTexts {
    struct SettingTexts *next; /* older ones of the session */
    MemAccount *account;       /* of the connections, not of the session: calls in the pool outlive that */
    int64_t serial;            /* of no other block of the session */
    uint64_t hash;             /* of the text: equal ones have equal hashes */
    _Atomic int64_t refs;      /* its session, and calls in the pool (callpool.c), which may outlive that */
    int64_t bytes;             /* of text */
    char text[];
} SettingTexts;
/* NULL: it was not set. */
const char *setting_texts_get(const SettingTexts *t, const char *name);
/* Another block in the place of the session's, with `value` for `name`; NULL takes the name out. 53200 */
Status setting_texts_set(struct Session *s, const char *name, const char *value, Err *e);
/* RESET ALL: PostgreSQL's have their defaults, the client's own are empty texts. */
Status setting_texts_reset(struct Session *s, Err *e);
void setting_texts_release(SettingTexts *t); /* NULL is accepted */
/* Gives up the session's blocks that nothing refers to, or all of them when the session ends. Outside of transactions
 * and statements. */
void setting_texts_tidy(struct Session *s, bool all);

#endif
