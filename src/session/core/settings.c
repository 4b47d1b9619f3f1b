/* settings.c - SET, SHOW, RESET: one table of settings. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/similar.h"
#include "device/device.h"
#include "exec/vm.h"
#include "io/recode.h"
#include "session/core/session.h"
#include "session/ddl/access.h"
#include "session/pool/callpool.h"
#include "sql/optimize/optimize.h"
#include "types/zone.h"

/* K_S: milliseconds, plain numbers being seconds. K_FIXED: PostgreSQL refuses to change it, too; K_ONLY: there it can
 * be changed. */
typedef enum Kind {
    K_INT,
    K_BYTES,
    K_MS,
    K_S,
    K_US,
    K_BOOL,
    K_TEXT,
    K_ENUM,
    K_RULES,
    K_TZ,
    K_DATES,
    K_FIXED,
    K_ONLY
} Kind;
typedef struct Def {
    const char *name;
    Kind kind;
    size_t offset, size;
    int64_t min, max;
    const char *def; /* K_FIXED, K_ONLY: the value; K_ENUM: list "a|b" with the default first */
    const char *doc;
} Def;
#define AT(f) offsetof(Settings, f), sizeof(((Settings *)0)->f)

static const Def defs[] = {
    {"threads", K_INT, AT(exec.threads), 1, 1024, NULL, "worker threads a statement may use"},
    {"memory_limit", K_BYTES, AT(exec.memory_limit), 1 << 20, INT64_MAX, NULL,
     "memory of the whole database; operators spill to temporary files beyond it"},
    {"result_memory", K_BYTES, AT(exec.result_memory), 0, INT64_MAX, "0",
     "memory for the rows of a statement's result, which go to temporary files beyond it; 0 = as memory_limit allows"},
    {"temp_directory", K_TEXT, AT(exec.temp_directory), 0, 0, "",
     "directory of temporary files ($TMPDIR or /tmp when empty)"},
    {"vector_size", K_INT, AT(exec.vector_size), 1, 65536, "1024", "rows per vector of the virtual machine"},
    {"morsel_rows", K_INT, AT(exec.morsel_rows), 1, TABLET_ROWS, "65536", "rows a worker takes at a time"},
    {"disabled_rules", K_RULES, 0, 0, 0, 0, "", "optimiser rules switched off, separated by commas"},
    {"executor", K_ENUM, AT(exec.executor), 0, 0, "auto|vm|compiled|interpreted|kernel|pipelined",
     "how programs run: on the virtual machine, compiled into one kernel, by a device's interpreter, one kernel per "
     "operator, or such kernels at the same time"},
    {"device", K_TEXT, AT(device.id), 0, 0, "auto", "where compiled programs run: auto, cpu, cuda:N or opencl:N"},
    {"device_strict", K_BOOL, AT(device.strict), 0, 0, "off",
     "an error instead of running part of a query on the processor's virtual machine"},
    {"device_memory_limit", K_BYTES, AT(device.memory_limit), 0, INT64_MAX, "0",
     "memory of the device that may be used, 0 = nearly all"},
    {"device_residence", K_ENUM, AT(device.residence), 0, 0, "auto|cached|serial|streamed|mapped",
     "how a device gets at table columns"},
    {"device_wait", K_BOOL, AT(device.wait), 0, 0, "off",
     "wait for kernels to be compiled instead of using the virtual machine meanwhile"},
    {"device_result_cache", K_BOOL, AT(device.result_cache), 0, 0, "on",
     "rows that a device makes are staged in its local memory"},
    {"device_initial_rows", K_INT, AT(device.initial_rows), 0, INT64_MAX / 4, "0",
     "testing: first capacity of every operator on a device, 0 = by estimate"},
    {"pipelined_concurrency", K_BOOL, AT(pipelined.concurrency), 0, 0, "on",
     "executor pipelined: kernels run at the same time; off: tile by tile, one after the other"},
    {"pipelined_tile_rows", K_INT, AT(pipelined.tile_rows), 0, INT64_MAX / 4, "0",
     "executor pipelined: rows of the source scheduled at a time, 0 = by the model"},
    {"pipelined_channels", K_INT, AT(pipelined.channels), 0, 64, "0",
     "executor pipelined: channels between two kernels, 0 = by the model"},
    {"pipelined_packet_rows", K_INT, AT(pipelined.packet_rows), 0, 1 << 20, "0",
     "executor pipelined: rows in a packet of a channel, 0 = by the model"},
    {"pipelined_ring", K_INT, AT(pipelined.ring), 0, 4096, "0",
     "executor pipelined: packets a channel holds, 0 = by the model"},
    {"pipelined_groups", K_INT, AT(pipelined.groups), 0, 1 << 20, "0",
     "executor pipelined: work-groups of each kernel, 0 = by the model"},
    {"instruction_set", K_ENUM, AT(exec.isa), 0, 0, "auto|baseline|avx2|avx512",
     "instruction set of the virtual machine's loops (whole process)"},
    {"hash_constant", K_BOOL, AT(exec.hash_constant), 0, 0, "off",
     "testing: every hash value is the same (whole process)"},
    {"auto_merge", K_BOOL, AT(txn.merge_auto), 0, 0, "on", "merge a large delta into main when a transaction ends"},
    {"auto_merge_delay", K_MS, AT(txn.merge_delay_ms), 0, INT32_MAX, "5000",
     "pack tables when the database has not been changed for so long; 0 = not then"},
    {"snapshot_memory_limit", K_BYTES, AT(txn.snapshot_memory_limit), 0, INT64_MAX, "0",
     "what is kept of changes, and of versions, for open transactions that began before; beyond it the oldest fail "
     "with "
     "72000; 0 = a quarter of memory_limit"},
    {"snapshot", K_ENUM, AT(txn.snapshot), 0, 0, "auto|version|lock",
     "what a SELECT reads, unless the tables have changes of its transaction: a published version of these, or the "
     "tables under the lock; auto: a version when there are other sessions, or a GPU that keeps columns"},
    {"snapshot_interval", K_MS, AT(txn.snapshot_interval_ms), 0, INT32_MAX, "0",
     "how old the version may be that a SELECT reads outside of a transaction, or in one that is READ ONLY: what "
     "others "
     "have committed since may be missing; 0 = nothing is"},
    {"bulk_step_limit", K_INT, AT(bulk.step_limit), 0, INT64_MAX, "0",
     "loop iterations a call of a routine may make, those of what it calls included; 0 = no limit"},
    {"bulk_strategy", K_ENUM, AT(bulk.strategy), 0, 0, "auto|kset|tpl|part|serial",
     "how the calls of a bulk are kept apart: set by set, with counter locks, by partition, or one after the other"},
    {"bulk_figures", K_BOOL, AT(bulk.figures), 0, 0, "off",
     "find the depth of a bulk also where a device ranks its calls, which takes time"},
    {"bulk_group_bits", K_INT, AT(bulk.group_bits), -1, 16, "-1",
     "kernels: calls of a bulk are brought together by so many upper bits of their procedures' numbers; -1 = as "
     "measured"},
    {"bulk_set_min", K_INT, AT(bulk.set_min), 0, INT64_MAX, "0",
     "calls that the sets of a bulk have on average for bulk_strategy = auto to take kset; 0 = as measured"},
    {"bulk_release", K_ENUM, AT(bulk.release), 0, 0, "auto|statement|call",
     "bulk_strategy = tpl on a device with memory of its own: when a call gives up its locks; auto: by statement where "
     "calls have loops and bulk_order = any"},
    {"bulk_lanes", K_INT, AT(bulk.lanes), 0, 32, "0",
     "bulk_strategy = tpl or part on CUDA: a call, or a partition, for so many neighbouring threads, a power of two; 0 "
     "= as measured"},
    {"bulk_replay", K_BOOL, AT(bulk.replay), 0, 0, "on",
     "keep the inputs of bulks whose changes only a device has, and run them again on the processors when it is lost; "
     "off: what it has is lost with it"},
    {"bulk_replay_memory", K_BYTES, AT(bulk.replay_memory), 0, INT64_MAX, "0",
     "memory for such inputs, beyond which tables are brought up to date; 0 = an eighth of memory_limit or of what "
     "tables and bulks hold, whichever is more, at most a quarter of memory_limit"},
    {"bulk_copies", K_BOOL, AT(bulk.copies), 0, 0, "off",
     "testing: bulks run as if no device shared the host's memory"},
    {"bulk_partitions", K_INT, AT(bulk.partitions), 0, INT64_MAX, "0",
     "partitions over which the strategy part spreads keys; 0 = as many as there are groups of calls that conflict"},
    {"bulk_size", K_INT, AT(bulk.size), 1, 1 << 28, "65536", "calls in the pool after which a bulk is cut"},
    {"bulk_interval", K_US, AT(bulk.interval_us), 0, INT32_MAX, "0",
     "longest time a call in the pool waits for others; > 0: plain CALLs of several connections join the pool, and "
     "statements with parameters on one row"},
    {"bulk_slice", K_MS, AT(bulk.slice_ms), 0, INT32_MAX, "5",
     "a bulk outside a transaction that takes longer runs in slices of about this length, between which statements "
     "that "
     "wait for it run; 0 = never"},
    {"bulk_slice_calls", K_INT, AT(bulk.slice_calls), 0, 1 << 28, "0",
     "testing: such slices have so many calls, and the lock is given up after each; 0 = as bulk_slice says"},
    {"bulk_order", K_ENUM, AT(bulk.order), 0, 0, "timestamp|any",
     "whether a bulk's result is that of its calls in the order given, or in some order"},
    {"bulk_cut", K_ENUM, AT(bulk.cut), 0, 0, "arrival|zero_set",
     "which calls in the pool a bulk takes: those that came first, or of these all that wait for no other, while the "
     "rest stays"},
    {"lock_timeout", K_MS, AT(txn.lock_timeout_ms), 0, INT32_MAX, "10000",
     "longest wait for other transactions, 0 = for ever"},
    {"statement_timeout", K_MS, AT(txn.statement_timeout_ms), 0, INT32_MAX, "0",
     "longest run of a statement, 0 = no limit"},
    {"idle_in_transaction_session_timeout", K_MS, AT(txn.idle_timeout_ms), 0, INT32_MAX, "0",
     "longest time between calls in a transaction, which is ended then; 0 = no limit"},
    {"check_function_bodies", K_BOOL, AT(client.check_bodies), 0, 0, "on",
     "names and types in the body of a LANGUAGE sql routine must be right when it is made"},
    {"copy_programs", K_BOOL, AT(client.programs), 0, 0, "on",
     "COPY may run programs, with the process's rights; off: it must not, and the session cannot turn it on again"},
    {"synchronous_commit", K_ENUM, AT(txn.synchronous_commit), 0, 0, "on|off|local|remote_write|remote_apply",
     "off: a commit that is logged does not wait for the disk; all others are the same"},
    {"log_verify", K_BOOL, AT(txn.log_verify), 0, 0, "off",
     "testing: a bulk that is logged by its inputs has a checksum of the tables that it may change with them, which is "
     "compared when it is run again"},
    {"max_wal_size", K_BYTES, AT(txn.max_log_size), 1 << 20, INT64_MAX, "1GB",
     "a checkpoint begins when the redo log has grown to this"},
    {"checkpoint_timeout", K_S, AT(txn.checkpoint_timeout_ms), 30000, 86400000, "5min",
     "a checkpoint begins when the last one did so long ago, and something was committed since"},
    {"recovery_target_seconds", K_INT, AT(txn.recovery_target_s), 0, INT32_MAX, "0",
     "a checkpoint begins when recovery would take longer, by the rates at which this database was loaded and its log "
     "applied; 0 = no bound"},
    {"default_transaction_isolation", K_ENUM, AT(txn.default_isolation), 0, 0,
     "serializable|repeatable read|read committed|read uncommitted",
     "isolation level of transactions that do not name one; repeatable read gives what serializable does"},
    {"default_transaction_read_only", K_BOOL, AT(txn.default_read_only), 0, 0, "off",
     "transactions begin as READ ONLY"},
    {"default_transaction_deferrable", K_BOOL, AT(txn.default_deferrable), 0, 0, "off",
     "accepted for compatibility; no transaction that only reads waits or fails"},
    {"timezone", K_TZ, 0, 0, 0, 0, "UTC",
     "time zone: a name such as Europe/Berlin, hours east of UTC such as 5.5, or as POSIX's TZ has it"},
    {"application_name", K_TEXT, AT(client.application_name), 0, 0, "", "name of the client program"},
    {"search_path", K_TEXT, AT(client.search_path), 0, 0, "\"$user\", public",
     "schemas in which names without one are looked for, one after the other"},
    {"client_encoding", K_ONLY, 0, 0, 0, 0, "UTF8", "encoding of text"},
    {"server_encoding", K_FIXED, 0, 0, 0, 0, "UTF8", "encoding of text"},
    {"datestyle", K_DATES, 0, 0, 0, 0, "ISO, MDY",
     "form of dates that are shown: ISO, SQL, Postgres or German; order of day, month and year: MDY, DMY or YMD"},
    {"intervalstyle", K_ENUM, AT(client.interval_style), 0, 0, "postgres|postgres_verbose|sql_standard|iso_8601",
     "form of intervals that are shown; sql_standard: a sign in front of one that is read is that of all its parts"},
    {"bytea_output", K_ENUM, AT(client.bytea_output), 0, 0, "hex|escape", "form of bytea values that are shown"},
    {"extra_float_digits", K_INT, AT(client.extra_float_digits), -15, 3, "1",
     "below 1, real and double precision are shown with 6 and 15 significant digits, and as many more; else exactly"},
    {"standard_conforming_strings", K_ONLY, 0, 0, 0, 0, "on", "backslashes in plain strings are ordinary"},
    {"transaction_isolation", K_ONLY, 0, 0, 0, 0, "serializable", "isolation level of the transaction"},
    {"transaction_read_only", K_ONLY, 0, 0, 0, 0, "off", "whether the transaction only reads"},
    {"transaction_deferrable", K_ONLY, 0, 0, 0, 0, "off", "whether the transaction is DEFERRABLE"},
    {"server_version", K_FIXED, 0, 0, 0, 0, "15.0 (Stele)", "version of the SQL dialect"},
    {"server_version_num", K_FIXED, 0, 0, 0, 0, "150000", "the same as a number"},
    {"integer_datetimes", K_FIXED, 0, 0, 0, 0, "on", "times are integers"},
    {"is_superuser", K_FIXED, 0, 0, 0, 0, "on", "privileges are not looked at"},
    {"lc_collate", K_FIXED, 0, 0, 0, 0, "C", "texts are ordered by their bytes"},
    {"lc_ctype", K_FIXED, 0, 0, 0, 0, "C", "kinds of characters"},
    {"max_identifier_length", K_FIXED, 0, 0, 0, 0, "63", "bytes of a name"},
    /* As in PostgreSQL these are in no list, and RESET ALL leaves them. */
    {"role", K_TEXT, AT(client.role), 0, 0, "none", "the role that statements run as"},
    {"session_authorization", K_TEXT, AT(client.authorization), 0, 0, "", "the session's role"},
};
enum { HIDDEN_SETTINGS = 2 }; /* the last */

int64_t settings_count(void) { return ARRAY_LEN(defs) - HIDDEN_SETTINGS; }
const char *settings_name(int64_t i) { return defs[i].name; }

static bool is_fixed(const Def *d) { return d->kind == K_FIXED || d->kind == K_ONLY; }
static const Def *find(const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(defs); i++)
        if (strcasecmp(defs[i].name, name) == 0) return &defs[i];
    return NULL;
}

/* When a bulk is cut is the pool's business. */
static bool looked_at_by_bulks(const char *name) {
    static const char *const others[] = {"executor", "threads", "vector_size", "log_verify"};
    for (int i = 0; i < (int)ARRAY_LEN(others); i++)
        if (strcmp(name, others[i]) == 0) return true;
    if (strcmp(name, "bulk_size") == 0 || strcmp(name, "bulk_interval") == 0) return false;
    return strncmp(name, "bulk_", 5) == 0 || strncmp(name, "device", 6) == 0;
}
int64_t settings_for_bulks(const Settings *s, uint8_t *out) {
    int64_t n = sizeof s->client.form;
    const uint64_t texts = s->client.texts ? s->client.texts->hash : 0;
    memcpy(out, &s->client.form, sizeof s->client.form);
    memcpy(out + n, &texts, sizeof texts);
    n += (int64_t)sizeof texts;
    for (int64_t i = 0; i < ARRAY_LEN(defs); i++) {
        const Def *d = &defs[i];
        const char *x = (const char *)s + d->offset;
        int64_t size = d->kind == K_TEXT || d->kind == K_ENUM ? (int64_t)strlen(x) + 1 : (int64_t)d->size;
        if (!looked_at_by_bulks(d->name)) continue;
        memcpy(out + n, x, (size_t)size);
        n += size;
    }
    return n;
}

static Status bad(Err *e, const Def *d, const char *value) {
    return err_set(e, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": \"%s\"", d->name, value);
}

/* Number with an optional unit: bytes (B, kB, MB, GB, TB; plain numbers are bytes) or milliseconds (ms, s, min, h); the
 * latter in microseconds (us too) when that is the setting's own unit. */
static bool parse_units(const char *v, bool bytes, bool micro, int64_t *out) {
    char *end;
    double x = strtod(v, &end);
    while (*end == ' ') end++;
    double f = 1;
    if (bytes) {
        if (!*end || !strcasecmp(end, "b")) f = 1;
        else if (!strcasecmp(end, "kb") || !strcasecmp(end, "k") || !strcasecmp(end, "kib")) f = 1024;
        else if (!strcasecmp(end, "mb") || !strcasecmp(end, "m") || !strcasecmp(end, "mib")) f = 1048576;
        else if (!strcasecmp(end, "gb") || !strcasecmp(end, "g") || !strcasecmp(end, "gib")) f = 1073741824.0;
        else if (!strcasecmp(end, "tb") || !strcasecmp(end, "t") || !strcasecmp(end, "tib")) f = 1099511627776.0;
        else return false;
    } else {
        if ((!*end && !micro) || !strcasecmp(end, "ms")) f = 1;
        else if (micro && (!*end || !strcasecmp(end, "us"))) f = 0.001;
        else if (!strcasecmp(end, "s")) f = 1000;
        else if (!strcasecmp(end, "min")) f = 60000;
        else if (!strcasecmp(end, "h")) f = 3600000;
        else return false;
        if (micro) f *= 1000;
    }
    if (end == v || !(x * f < 9e18) || x < 0) return false;
    *out = (int64_t)(x * f);
    return true;
}

static bool has_unit(const char *v) {
    const int64_t n = (int64_t)strlen(v);
    return n > 0 && isalpha((unsigned char)v[n - 1]);
}
/* Of a setting that is a number, but K_INT. */
static bool parse_number(const Def *d, const char *v, int64_t *out) {
    if (!parse_units(v, d->kind == K_BYTES, d->kind == K_US, out)) return false;
    if (d->kind == K_S && !has_unit(v)) *out = MIN_OF(*out, INT64_MAX / 1000) * 1000;
    return true;
}

/* Who the session is. */
static void apply_role(Session *s) {
    const ClientSettings *c = &s->settings.client;
    s->info.session_user = *c->authorization ? c->authorization : ROLE_BOOTSTRAP_NAME;
    s->info.user = strcmp(c->role, "none") != 0 ? c->role : s->info.session_user;
    settings_apply_path(s); /* "$user" */
}
/* What the client's settings mean for texts. */
static void apply_form(Session *s) {
    ClientSettings *c = &s->settings.client;
    c->form.bytea_escape = strcmp(c->bytea_output, "escape") == 0;
    c->form.float_cut = c->extra_float_digits < 1 ? (int32_t)(1 - c->extra_float_digits) : 0;
    c->form.interval_style = strcmp(c->interval_style, "postgres_verbose") == 0 ? INTERVALS_VERBOSE
                             : strcmp(c->interval_style, "sql_standard") == 0   ? INTERVALS_SQL_STANDARD
                             : strcmp(c->interval_style, "iso_8601") == 0       ? INTERVALS_ISO_8601
                                                                                : INTERVALS_POSTGRES;
    s->info.form = c->form;
}

void settings_apply_path(Session *s) {
    (void)search_path_parse(s->settings.client.search_path, s->info.user, &s->path.own); /* it was looked at */
}

/* hash_constant and instruction_set are switches of the whole process; nothing may run beside them in tests. */
static void apply(Session *s, const Def *d) {
    apply_form(s);
    apply_role(s);
    if (d->kind == K_BOOL && strcmp(d->name, "hash_constant") == 0) hash_constant = s->settings.exec.hash_constant;
    if (strcmp(d->name, "instruction_set") == 0)
        (void)vm_set_isa(strcmp(s->settings.exec.isa, "auto") == 0 ? NULL : s->settings.exec.isa);
    if (strcmp(d->name, "memory_limit") == 0) atomic_store(&s->db->account.limit, s->settings.exec.memory_limit);
    if (strcmp(d->name, "device_memory_limit") == 0) session_device_limits(s);
    if (strcmp(d->name, "search_path") == 0) settings_apply_path(s);
}

static const char *const date_styles[] = {"ISO", "SQL", "Postgres", "German"}; /* by DateStyle */
static const char *const date_orders[] = {"MDY", "DMY", "YMD"};                /* by DateOrder */

/* One of PostgreSQL's words: a style (`style`, else -1) or an order (`order`), or "default" for what has none yet. */
static bool date_word(const char *w, int *style, int *order, bool *defaults) {
    *style = *order = -1;
    *defaults = strcasecmp(w, "default") == 0;
    if (strcasecmp(w, "iso") == 0) *style = DATES_ISO;
    else if (strcasecmp(w, "sql") == 0) *style = DATES_SQL;
    else if (strncasecmp(w, "postgres", 8) == 0) *style = DATES_POSTGRES;
    else if (strcasecmp(w, "german") == 0) *style = DATES_GERMAN;
    else if (strcasecmp(w, "ymd") == 0) *order = DATES_YMD;
    else if (strcasecmp(w, "dmy") == 0 || strncasecmp(w, "euro", 4) == 0) *order = DATES_DMY;
    else if (strcasecmp(w, "mdy") == 0 || strcasecmp(w, "us") == 0 || strncasecmp(w, "noneuro", 7) == 0)
        *order = DATES_MDY;
    return *style >= 0 || *order >= 0 || *defaults;
}

/* "iso, dmy": what is not named stays as it is. */
static Status set_dates(Session *s, const char *value, Err *e) {
    TextForm *form = &s->settings.client.form;
    int style = -1, order = -1;
    const char *wrong = NULL;
    char word[32];
    for (const char *p = value; *p && !wrong;) {
        size_t n = strcspn(p, ","), from = strspn(p, " \t\n"), to = n;
        while (to > from && strchr(" \t\n", p[to - 1])) to--;
        snprintf(word, sizeof word, "%.*s", from < n ? (int)(to - from) : 0, p + MIN_OF(from, n));
        int new_style, new_order;
        bool defaults;
        if (!date_word(word, &new_style, &new_order, &defaults)) wrong = "Unrecognized key word: \"%s\".";
        else if ((new_style >= 0 && style >= 0 && new_style != style) ||
                 (new_order >= 0 && order >= 0 && new_order != order))
            wrong = "Conflicting \"datestyle\" specifications.";
        if (new_style >= 0) style = new_style;
        if (new_order >= 0) order = new_order;
        if (defaults && style < 0) style = DATES_ISO;
        if (defaults && order < 0) order = DATES_MDY;
        p += n + (p[n] != 0);
    }
    if (wrong) {
        err_set(e, ERR_INVALID_PARAMETER, "invalid value for parameter \"DateStyle\": \"%s\"", value);
        if (*wrong == 'U') err_detail(e, "Unrecognized key word: \"%s\".", word);
        else err_detail(e, "%s", wrong);
        return ST_ERROR;
    }
    if (style == DATES_GERMAN && order < 0) order = DATES_DMY;
    if (style >= 0) form->date_style = (uint8_t)style;
    if (order >= 0) form->date_order = (uint8_t)order;
    return ST_OK;
}

/* Now, and not when something is to be written there. */
Status temp_directory_check(const char *path, Err *e) {
    struct stat st;
    const char *sqlstate = ERR_UNDEFINED_FILE;
    int why = stat(path, &st) != 0             ? errno
              : !S_ISDIR(st.st_mode)           ? ENOTDIR
              : access(path, W_OK | X_OK) != 0 ? errno
                                               : 0;
    if (why == 0) return ST_OK;
    if (why == EACCES || why == EPERM || why == EROFS) sqlstate = ERR_INSUFFICIENT_PRIVILEGE;
    if (why == ENOTDIR) sqlstate = ERR_WRONG_OBJECT_TYPE;
    return err_set(e, sqlstate, "could not use \"%s\" as temp_directory: %s", path, strerror(why));
}

static Status set_text(Session *s, const Def *d, const char *value, Err *e) {
    if (strlen(value) >= d->size) return bad(e, d, value);
    SearchPath path;
    if (strcmp(d->name, "search_path") == 0 && !search_path_parse(value, s->info.user, &path)) {
        bad(e, d, value);
        err_detail(e, "List syntax is invalid.");
        return ST_ERROR;
    }
    if (strcmp(d->name, "device") == 0 && !device_setting_valid(value)) {
        bad(e, d, value);
        char names[256];
        devices_list_names(names, sizeof names);
        err_hint(e, "Use auto, %s.", names);
        return ST_ERROR;
    }
    const bool role = strcmp(d->name, "role") == 0 && strcmp(value, "none") != 0;
    if (role || (strcmp(d->name, "session_authorization") == 0 && *value)) TRY(session_may_be_role(s, value, e));
    if (strcmp(d->name, "session_authorization") == 0) memcpy(s->settings.client.role, "none", sizeof "none");
    if (strcmp(d->name, "temp_directory") == 0 && *value) TRY(temp_directory_check(value, e));
    memset((char *)&s->settings + d->offset, 0, d->size); /* settings are compared byte by byte */
    memcpy((char *)&s->settings + d->offset, value, strlen(value) + 1);
    return ST_OK;
}

/* One of the words of d->def, in its spelling there. */
static Status set_enum(Session *s, const Def *d, const char *value, Err *e) {
    char *to = (char *)&s->settings + d->offset;
    const char *p = d->def;
    while (p) {
        const char *bar = strchr(p, '|');
        size_t len = bar ? (size_t)(bar - p) : strlen(p);
        if (strlen(value) == len && strncasecmp(p, value, len) == 0) {
            memcpy(to, p, len);
            to[len] = 0;
            return ST_OK;
        }
        p = bar ? bar + 1 : NULL;
    }
    static const char *const words[][2] = {{"true", "on"},   {"yes", "on"}, {"1", "on"},
                                           {"false", "off"}, {"no", "off"}, {"0", "off"}};
    for (int i = 0; i < ARRAY_LEN(words) && strstr(d->def, "on|off") == d->def; i++)
        if (strcasecmp(value, words[i][0]) == 0) return set_enum(s, d, words[i][1], e);
    bad(e, d, value);
    err_hint(e, "Available values: %s.", d->def);
    return ST_ERROR;
}

static Status set_rules(Session *s, const Def *d, const char *value, Err *e) {
    uint32_t bits;
    if (strlen(value) >= sizeof s->settings.exec.rules_text) return bad(e, d, value);
    TRY(optimizer_rules_parse(slice_of(value), &bits, e));
    s->settings.exec.disabled_rules = bits;
    memcpy(s->settings.exec.rules_text, value, strlen(value) + 1);
    return ST_OK;
}

static Status set_zone(Session *s, const Def *d, const char *value, Err *e) {
    Err why = {0};
    if (zone_of_setting(slice_of(value), &s->settings.client.form.zone, &why) == ST_OK) return ST_OK;
    if (strcmp(why.sqlstate, ERR_INVALID_PARAMETER) != 0) return err_copy(e, &why), ST_ERROR;
    bad(e, d, value);
    if (why.detail[0]) err_detail(e, "%s", why.detail);
    err_hint(e, "Use a name such as 'Europe/Berlin', or hours east of UTC such as '5.5'.");
    return ST_ERROR;
}

/* The words of PostgreSQL that mean the value that there is. */
static bool is_same(const Def *d, const char *value) {
    bool on;
    if (strcasecmp(value, d->def) == 0) return true;
    if (strcmp(d->name, "client_encoding") == 0) return !strcasecmp(value, "utf-8") || !strcasecmp(value, "unicode");
    return strcmp(d->def, "on") == 0 && pg_bool_parse(value, &on) && on;
}
/* transaction_read_only and transaction_deferrable, of the open transaction. */
static bool is_mode(const Def *d) { return d->kind == K_ONLY && strncmp(d->name, "transaction_", 12) == 0; }
static Status set_mode(Session *s, const Def *d, const char *value, Err *e) {
    bool on;
    if (!pg_bool_parse(value, &on))
        return err_set(e, ERR_INVALID_PARAMETER, "parameter \"%s\" requires a Boolean value", d->name);
    const AstOption option = {.name = d->name, .value = on ? "1" : "0"};
    if (s->state == 'I' || session_transaction_options(s, 1, &option) == ST_OK) return ST_OK;
    if (e != &s->err) err_copy(e, &s->err);
    return ST_ERROR;
}
static Status set_fixed(Session *s, const Def *d, const char *value, Err *e) {
    if (strcmp(d->name, "transaction_isolation") == 0) return session_set_level(s, value, e);
    if (is_mode(d)) return set_mode(s, d, value, e);
    if (d->kind == K_FIXED) return err_set(e, ERR_CANT_CHANGE_SETTING, "parameter \"%s\" cannot be changed", d->name);
    if (is_same(d, value)) return ST_OK;
    if (strcmp(d->name, "client_encoding") == 0 && !encoding_named(value))
        return err_set(e, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": \"%s\"", d->name, value);
    bool on;
    if (strcmp(d->def, "on") == 0 && !pg_bool_parse(value, &on))
        return err_set(e, ERR_INVALID_PARAMETER, "parameter \"%s\" requires a Boolean value", d->name);
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "parameter \"%s\" cannot be changed: it is always \"%s\"", d->name,
                   d->def);
}

static Status set_value(Session *s, const Def *d, const char *value, Err *e) {
    char *base = (char *)&s->settings;
    int64_t n = 0;
    bool b = false;
    switch (d->kind) {
    case K_INT: {
        char *end;
        n = strtoll(value, &end, 10);
        if (end == value || *end) return bad(e, d, value);
        break;
    }
    case K_BYTES:
        if (!parse_number(d, value, &n)) {
            bad(e, d, value);
            err_hint(e, "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".");
            return ST_ERROR;
        }
        break;
    case K_MS:
    case K_S:
    case K_US:
        if (!parse_number(d, value, &n)) {
            bad(e, d, value);
            err_hint(e, "Valid units for this parameter are %s\"ms\", \"s\", \"min\", and \"h\".",
                     d->kind == K_US ? "\"us\", " : "");
            return ST_ERROR;
        }
        break;
    case K_BOOL:
        if (!pg_bool_parse(value, &b))
            return err_set(e, ERR_INVALID_PARAMETER, "parameter \"%s\" requires a Boolean value", d->name);
        memcpy(base + d->offset, &b, sizeof b);
        return ST_OK;
    case K_TEXT: return set_text(s, d, value, e);
    case K_ENUM: return set_enum(s, d, value, e);
    case K_RULES: return set_rules(s, d, value, e);
    case K_TZ: return set_zone(s, d, value, e);
    case K_DATES: return set_dates(s, value, e);
    case K_FIXED:
    case K_ONLY: return set_fixed(s, d, value, e);
    }
    if (n < d->min || n > d->max)
        return err_set(e, ERR_INVALID_PARAMETER, "%s is outside the valid range for parameter \"%s\" (%lld .. %lld)",
                       value, d->name, (long long)d->min, (long long)d->max);
    memcpy(base + d->offset, &n, sizeof n);
    return ST_OK;
}

static const char *default_of(const Def *d, Database *db, char *buf, size_t size) {
    if (strcmp(d->name, "threads") == 0) snprintf(buf, size, "%d", pool_threads(db->pool));
    else if (d->kind == K_ENUM) {
        const char *bar = strchr(d->def, '|');
        snprintf(buf, size, "%.*s", (int)(bar ? bar - d->def : (ptrdiff_t)strlen(d->def)), d->def);
    } else snprintf(buf, size, "%s", d->def ? d->def : "");
    return buf;
}

/* What the database was opened with need not be what SET takes: no limit, or a small one. */
static Status set_default(Session *s, const Def *d, Err *e) {
    char buf[128];
    const char *dir = s->db->temp_directory;
    if (strcmp(d->name, "memory_limit") == 0) return s->settings.exec.memory_limit = s->db->memory_limit, ST_OK;
    return set_value(s, d, strcmp(d->name, "temp_directory") == 0 && dir ? dir : default_of(d, s->db, buf, sizeof buf),
                     e);
}

Status settings_init(Settings *st, Database *db, MemAccount *account) {
    Err e = {0};
    Session *fake = mem_calloc(account, (int64_t)sizeof *fake, &e);
    if (!fake) return ST_ERROR;
    fake->db = db;
    Status r = ST_OK;
    for (int64_t i = 0; i < ARRAY_LEN(defs) && r == ST_OK; i++)
        if (!is_fixed(&defs[i])) r = set_default(fake, &defs[i], &e);
    fake->settings.exec.memory_limit = atomic_load(&db->account.limit); /* others may have set it */
    *st = fake->settings;
    mem_free(account, fake, (int64_t)sizeof *fake);
    return r;
}

/* A limit below what is in use would refuse whatever comes. */
static Status check_limit(Session *s, Err *e) {
    int64_t want = s->settings.exec.memory_limit, used = atomic_load(&s->db->account.used);
    if (want <= 0 || want >= used || want == atomic_load(&s->db->account.limit)) return ST_OK;
    err_set(e, ERR_LIMIT_EXCEEDED, "memory_limit cannot be less than what is in use");
    err_detail(e, "%lld bytes are in use, %lld bytes are wanted as the limit.", (long long)used, (long long)want);
    err_hint(e, "Drop or truncate tables first, or delete rows and VACUUM.");
    return ST_ERROR;
}

static void no_setting(const char *name, Err *e) {
    Similar near;
    similar_init(&near, name);
    for (int64_t i = 0; i < ARRAY_LEN(defs); i++) similar_offer(&near, defs[i].name);
    for (int64_t i = 0; pg_setting_nth(i); i++) similar_offer(&near, pg_setting_nth(i));
    err_set(e, ERR_UNDEFINED_OBJECT, "unrecognized configuration parameter \"%s\"", name);
    if (near.best) err_hint(e, "Perhaps you meant \"%s\". SHOW ALL lists the parameters.", near.best);
    else err_hint(e, "SHOW ALL lists the parameters.");
}

/* Identifiers with points between them. */
static bool is_own_name(const char *name) {
    bool begins = true;
    for (const char *p = name; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' || *p & 0x80;
        bool more = (*p >= '0' && *p <= '9') || *p == '$';
        if (*p == '.' ? begins : !(letter || (more && !begins))) return false;
        begins = *p == '.';
    }
    return !begins;
}
/* One without effect, or one of the client's own. */
static Status set_other(Session *s, const char *name, const char *value, Err *e) {
    const PgSetting *p = pg_setting_find(name);
    if (!p && !strchr(name, '.')) {
        no_setting(name, e);
        return ST_ERROR;
    }
    if (!p && !is_own_name(name)) {
        err_set(e, ERR_INVALID_NAME, "invalid configuration parameter name \"%s\"", name);
        err_detail(e, "Custom parameter names must be two or more simple identifiers separated by dots.");
        return ST_ERROR;
    }
    if (!p) return setting_texts_set(s, name, value ? value : "", e);
    TRY(pg_setting_may_change(p, e));
    if (!value && !setting_texts_get(s->settings.client.texts, name)) return ST_OK;
    if (!value) return setting_texts_set(s, name, NULL, e);
    Arena *a = arena_new(&s->account, e);
    const char *text = a ? pg_setting_text(p, value, a, e) : NULL;
    Status r = text ? setting_texts_set(s, pg_setting_name(p), text, e) : ST_ERROR;
    if (a) arena_free(a);
    return r;
}

Status settings_set(Session *s, const char *name, const char *value, Err *e) {
    const Def *d = find(name);
    if (!d) return set_other(s, name, value, e);
    if (!value && is_fixed(d)) return ST_OK;
    int64_t limit = s->settings.exec.memory_limit;
    TRY(value ? set_value(s, d, value, e) : set_default(s, d, e));
    if (strcmp(d->name, "memory_limit") == 0 && check_limit(s, e) != ST_OK) {
        s->settings.exec.memory_limit = limit;
        return ST_ERROR;
    }
    apply(s, d);
    return ST_OK;
}

/* Outside a transaction block kept_settings is its statement's. */
Status settings_change(Session *s, const char *name, const char *value, bool is_local, Err *e) {
    if (!s->settings.client.programs && strcmp(name, "copy_programs") == 0) {
        bool on = true;
        if (!value || !pg_bool_parse(value, &on) || on)
            return err_set(e, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to set parameter \"%s\"", name);
    }
    if (s->state != 'T' && !s->kept_settings.changed) {
        s->kept_settings.before = s->kept_settings.keep = s->settings;
        s->kept_settings.changed = true;
    }
    TRY(settings_set(s, name, value, e));
    bool is_new = !find(name) && !pg_setting_find(name) && !setting_texts_get(s->kept_settings.keep.client.texts, name);
    if (is_local && !is_new) return ST_OK;
    Settings now = s->settings;
    s->settings = s->kept_settings.keep;
    Status st = settings_set(s, name, is_local ? "" : value, e); /* one of the client's own is there from now on */
    s->kept_settings.keep = s->settings;
    s->settings = now;
    s->info.form = now.client.form;
    apply_role(s);
    return st;
}

Status settings_reset_all(Session *s) {
    Err *e = &s->err;
    TRY(settings_change(s, "memory_limit", NULL, false, e)); /* the one that may be refused: then all stay */
    for (int64_t i = 0; i < settings_count(); i++)
        if (s->settings.client.programs || strcmp(defs[i].name, "copy_programs") != 0)
            TRY(settings_change(s, defs[i].name, NULL, false, e));
    TRY(setting_texts_reset(s, e));
    s->kept_settings.keep.client.texts = s->settings.client.texts;
    s->kept_settings.keep.client.texts_serial = s->settings.client.texts_serial;
    return ST_OK;
}

const char *settings_config(Session *s, Arena *a, const char *name, const char *value, bool is_local, Err *e) {
    const Def *d = find(name);
    const CallPool *pool = session_call_pool(s);
    const bool runs = d && d->size && d->offset < offsetof(Settings, txn);
    if (runs || (d && strncmp(d->name, "bulk_", 5) == 0) || (pool && call_pool_runs_on(pool, s))) {
        err_set(e, ERR_FEATURE_NOT_SUPPORTED, "set_config cannot change parameter \"%s\"%s", name,
                runs ? "" : " in a bulk");
        err_hint(e, "Use SET.");
        return NULL;
    }
    return settings_change(s, name, value, is_local, e) == ST_OK ? settings_show(s, a, name, e) : NULL;
}

bool settings_is_list(const char *name) {
    static const char *const lists[] = {"datestyle", "search_path", "disabled_rules"};
    const PgSetting *p = pg_setting_find(name);
    for (int64_t i = 0; i < ARRAY_LEN(lists); i++)
        if (strcasecmp(name, lists[i]) == 0) return true;
    return p && pg_setting_is_list(p);
}

void settings_restore(Session *s, const Settings *to) {
    Settings from = s->settings;
    s->settings = *to;
    for (int64_t i = 0; i < ARRAY_LEN(defs); i++) {
        const Def *d = &defs[i];
        if (d->size && memcmp((const char *)&from + d->offset, (const char *)to + d->offset, d->size) != 0) apply(s, d);
    }
    s->info.form = to->client.form;
    apply_role(s);
}

/* A number in the largest unit in which it is whole. */
static const char *time_text(Arena *a, const Def *d, int64_t n) {
    static const struct {
        int64_t us;
        const char *unit;
    } units[] = {{3600000000, "h"}, {60000000, "min"}, {1000000, "s"}, {1000, "ms"}, {1, "us"}};
    int64_t own = d->kind == K_US ? 1 : 1000; /* in microseconds */
    for (int i = 0; n != 0 && i < 5; i++)
        if (n % MAX_OF(units[i].us / own, INT64_C(1)) == 0 && units[i].us >= own)
            return arena_printf(a, "%lld%s", (long long)(n / (units[i].us / own)), units[i].unit);
    return "0";
}
static const char *bytes_text(Arena *a, int64_t n) {
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    int u = 0;
    while (u < 4 && n >= 1024 && n % 1024 == 0) n /= 1024, u++;
    return arena_printf(a, "%lld%s", (long long)n, unit[u]);
}
static const char *number_text(Arena *a, const Def *d, int64_t n) {
    if (d->kind == K_BYTES) return bytes_text(a, n);
    return d->kind == K_INT ? arena_printf(a, "%lld", (long long)n) : time_text(a, d, n);
}
static bool is_number(const Def *d) {
    return d->kind == K_INT || d->kind == K_BYTES || d->kind == K_MS || d->kind == K_S || d->kind == K_US;
}

static const char *show_other(Session *s, Arena *a, const char *name, Err *e) {
    const char *text = setting_texts_get(s->settings.client.texts, name);
    const PgSetting *p = pg_setting_find(name);
    if (text) return arena_strdup(a, text);
    if (p) return pg_setting_boot(p, a, e);
    no_setting(name, e);
    return NULL;
}

const char *settings_show(Session *s, Arena *a, const char *name, Err *e) {
    const Def *d = find(name);
    if (!d) return show_other(s, a, name, e);
    const char *base = (const char *)&s->settings;
    if (is_number(d)) {
        int64_t n;
        memcpy(&n, base + d->offset, sizeof n);
        if (strcmp(d->name, "memory_limit") == 0) n = atomic_load(&s->db->account.limit); /* of all connections */
        return number_text(a, d, n);
    }
    switch (d->kind) {
    case K_BOOL: return base[d->offset] ? "on" : "off";
    case K_TEXT:
    case K_ENUM:
        if (strcmp(d->name, "session_authorization") == 0) return arena_strdup(a, s->info.session_user);
        return arena_strdup(a, base + d->offset);
    case K_RULES: return arena_strdup(a, s->settings.exec.rules_text);
    case K_TZ: return arena_strdup(a, zone_name(s->settings.client.form.zone));
    case K_DATES:
        return arena_printf(a, "%s, %s", date_styles[s->settings.client.form.date_style],
                            date_orders[s->settings.client.form.date_order]);
    default: break;
    }
    if (strcmp(d->name, "transaction_isolation") == 0)
        return session_level_name(s->state == 'I' ? session_default_level(s) : s->block.level);
    if (strcmp(d->name, "transaction_read_only") == 0) return session_read_only(s) ? "on" : "off";
    if (strcmp(d->name, "transaction_deferrable") == 0)
        return (s->state == 'I' ? s->settings.txn.default_deferrable : s->block.deferrable) ? "on" : "off";
    return d->def;
}

/* What RESET sets. */
static const char *boot_text(const Def *d, Database *db, Arena *a) {
    char buf[128];
    const char *dir = db->temp_directory, *text = default_of(d, db, buf, sizeof buf);
    if (strcmp(d->name, "memory_limit") == 0) return number_text(a, d, db->memory_limit);
    if (strcmp(d->name, "temp_directory") == 0 && dir) text = dir;
    int64_t n = strtoll(text, NULL, 10);
    if (is_number(d) && d->kind != K_INT) (void)parse_number(d, text, &n); /* it is right */
    return is_number(d) ? number_text(a, d, n) : arena_strdup(a, text);
}
void settings_info(Session *s, Arena *a, int64_t i, SettingInfo *out) {
    const Def *d = &defs[i];
    bool number = is_number(d);
    *out = (SettingInfo){.name = d->name, .doc = d->doc, .min = d->min, .max = d->max, .ranged = number};
    out->type = number ? "integer" : d->kind == K_BOOL ? "bool" : d->kind == K_ENUM ? "enum" : "string";
    out->unit = d->kind == K_BYTES ? "B" : d->kind == K_MS || d->kind == K_S ? "ms" : d->kind == K_US ? "us" : NULL;
    out->choices = d->kind == K_ENUM ? d->def : NULL;
    out->boot = boot_text(d, s->db, a);
}
