/* zone.c - see zone.h: the table of zones by name, and times of a zone.
 *
 * The table is read without a lock: slots are lists that only grow, at their heads, and zones never change. A zone is
 * made when its name is first asked for; of two threads that ask at once the second finds it when it has the lock.
 *
 * Local times become instants by PostgreSQL's rule: the first change behind the day before tells both offsets that come
 * into question.
 */
#include "types/zone.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "types/type.h"
#include "types/type_int.h"
#include "types/zone_int.h"

#define UNIX_EPOCH_SECS INT64_C(946684800) /* 1970-01-01 to 2000-01-01 */

enum { SLOTS = 1024, DAY = 86400 };
static _Atomic(Zone *) slots[SLOTS];
static Mutex making = MUTEX_INITIALIZER(RANK_ZONES);
static int64_t n_zones; /* under `making` */

/* ---- the table ---- */

Zone *zone_new(const char *key, const char *name, int64_t n_times, int32_t n_parts, int64_t n_chars, char **chars,
               Err *e) {
    const int64_t key_len = (int64_t)strlen(key) + 1, name_len = (int64_t)strlen(name) + 1;
    const int64_t head = (int64_t)sizeof(Zone) + n_parts * (int64_t)sizeof(ZonePart) + n_times * 8;
    const int64_t bytes = head + n_times + n_chars + key_len + name_len;
    Zone *z = mem_calloc(NULL, bytes, e);
    if (!z) return NULL;
    ZonePart *parts = (ZonePart *)(void *)(z + 1);
    int64_t *times = (int64_t *)(void *)(parts + n_parts);
    char *at = (char *)z + head;
    *z = (Zone){.bytes = bytes, .n_times = n_times, .n_parts = n_parts, .times = times, .parts = parts};
    z->kinds = (uint8_t *)at;
    *chars = at + n_times;
    z->key = memcpy(*chars + n_chars, key, (size_t)key_len);
    z->name = memcpy(*chars + n_chars + key_len, name, (size_t)name_len);
    return z;
}
void zone_free(Zone *z) {
    if (z) mem_free(NULL, z, z->bytes);
}

static _Atomic(Zone *) *slot_of(const char *key, int64_t len) {
    uint64_t h = 0;
    for (int64_t i = 0; i < len; i++) h = h * 31 + (uint8_t)key[i];
    return &slots[hash_u64(h) % SLOTS];
}
static const Zone *find_in(_Atomic(Zone *) *slot, const char *key) {
    const Zone *z = atomic_load_explicit(slot, memory_order_acquire);
    while (z && strcmp(z->key, key) != 0) z = z->next;
    return z;
}

static Status not_recognized(Err *e, Slice name) {
    err_set(e, ERR_INVALID_PARAMETER, "time zone \"%.*s\" not recognized", (int)MIN_OF(name.len, 255), name.ptr);
    return ST_ERROR;
}

/* A file, or a rule. */
static Status make(const char *key, Slice name, Zone **out, Err *e) {
    ZoneRule rule;
    char *chars;
    *out = NULL;
    const bool gmt = strcmp(key, "GMT") == 0;
    if (!gmt) TRY(zone_read(key, name, out, e));
    if (*out) return ST_OK;
    if (!zone_rule_parse(gmt ? slice_of("GMT0") : slice_of(key), &rule)) return not_recognized(e, name);
    if (!(*out = zone_new(key, key, 0, 0, 0, &chars, e))) return ST_ERROR;
    (*out)->has_rule = true;
    (*out)->rule = rule;
    return ST_OK;
}

Status zone_find(Slice name, const Zone **out, Err *e) {
    char key[ZONE_NAME_MAX + 1];
    Zone *z = NULL;
    if (name.len == 0 || name.len > ZONE_NAME_MAX || memchr(name.ptr, 0, (size_t)name.len))
        return not_recognized(e, name);
    memcpy(key, name.ptr, (size_t)name.len);
    key[name.len] = 0;
    for (char *p = key; *p; p++)
        if (*p >= 'a' && *p <= 'z') *p = (char)(*p - 32);
    *out = NULL;
    if (strcmp(key, "UTC") == 0) return ST_OK;
    _Atomic(Zone *) *slot = slot_of(key, name.len);
    if ((*out = find_in(slot, key))) return ST_OK;
    mutex_lock(&making);
    Status st = (*out = find_in(slot, key)) ? ST_OK
                : n_zones >= ZONES_MAX      ? err_set(e, ERR_PROGRAM_LIMIT, "there are too many time zones")
                                            : make(key, name, &z, e);
    if (z) {
        z->next = atomic_load_explicit(slot, memory_order_relaxed);
        atomic_store_explicit(slot, z, memory_order_release);
        n_zones++;
        *out = z;
    }
    mutex_unlock(&making);
    return st;
}

Status zone_of_offset(int32_t offset, const Zone **out, Err *e) {
    const int32_t secs = abs(offset);
    char digits[16], text[48];
    int n = snprintf(digits, sizeof digits, "%02d", (int)(secs / 3600));
    if (secs % 3600) n += snprintf(digits + n, sizeof digits - (size_t)n, ":%02d", (int)(secs / 60 % 60));
    if (secs % 60) (void)snprintf(digits + n, sizeof digits - (size_t)n, ":%02d", (int)(secs % 60));
    const char east = offset < 0 ? '-' : '+', west = offset < 0 ? '+' : '-';
    (void)snprintf(text, sizeof text, "<%c%s>%c%s", east, digits, west, digits);
    return zone_find(slice_of(text), out, e);
}

static Status not_setting(Err *e, Slice text, const char *detail) {
    not_recognized(e, text);
    err_detail(e, "%s", detail);
    return ST_ERROR;
}
static Status of_seconds(Err *e, Slice text, double secs, const Zone **out) {
    if (!(fabs(secs) < ZONE_OFFSET_END)) return not_setting(e, text, "UTC timezone offset is out of range.");
    return zone_of_offset((int32_t)secs, out, e);
}
/* INTERVAL 'text' */
static Status of_interval(Slice text, const Zone **out, Err *e) {
    const char *p = text.ptr + 8, *end = text.ptr + text.len;
    Interval v;
    while (p < end && is_blank(*p)) p++;
    if (end - p < 2 || *p != '\'' || end[-1] != '\'') return not_recognized(e, text);
    TRY(interval_parse((Slice){p + 1, end - p - 2}, type_make(T_INTERVAL), NULL, &v, e));
    if (v.months) return not_setting(e, text, "Cannot specify months in time zone interval.");
    if (v.days) return not_setting(e, text, "Cannot specify days in time zone interval.");
    return of_seconds(e, text, (double)(v.micros / USECS_PER_SEC), out);
}

Status zone_of_setting(Slice text, const Zone **out, Err *e) {
    char number[64], *end;
    if (text.len >= 8 && strncasecmp(text.ptr, "interval", 8) == 0) return of_interval(text, out, e);
    if (text.len > 0 && text.len < (int64_t)sizeof number) {
        memcpy(number, text.ptr, (size_t)text.len);
        number[text.len] = 0;
        const double hours = strtod(number, &end);
        if (end != number && *end == 0) return of_seconds(e, text, hours * 3600, out);
    }
    return zone_find(text, out, e);
}

const char *zone_name(const Zone *z) { return z ? z->name : "UTC"; }

/* ---- times ---- */

/* The number of changes until then, that instant included. */
static int64_t changes_until(const Zone *z, int64_t unix_secs) {
    int64_t lo = 0, hi = z->n_times;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (z->times[mid] <= unix_secs) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

static ZoneSpan find_span(const Zone *z, int64_t unix_secs) {
    const int64_t n = changes_until(z, unix_secs), from = n > 0 ? z->times[n - 1] : INT64_MIN;
    if (n == z->n_times && z->has_rule) {
        ZoneSpan s = zone_rule_span(&z->rule, unix_secs);
        s.from = MAX_OF(s.from, from);
        return s;
    }
    return (ZoneSpan){
        .from = from, .to = n < z->n_times ? z->times[n] : INT64_MAX, .part = z->parts[n == 0 ? 0 : z->kinds[n - 1]]};
}
/* The one that this thread asked for last is kept: times of rows lie near each other. Zones are never freed. */
static ZoneSpan span_at(const Zone *z, int64_t unix_secs) {
    static _Thread_local const Zone *zone;
    static _Thread_local ZoneSpan last;
    if (z == zone && unix_secs >= last.from && unix_secs < last.to) return last;
    zone = z;
    return last = find_span(z, unix_secs);
}

ZonePart zone_at(const Zone *z, int64_t unix_secs) {
    return z ? span_at(z, unix_secs).part : (ZonePart){.abbrev = "UTC"};
}

static int64_t floor_secs(int64_t micros) { return micros / USECS_PER_SEC - (micros % USECS_PER_SEC < 0); }
ZonePart zone_part_at(const Zone *z, int64_t micros) { return zone_at(z, floor_secs(micros) + UNIX_EPOCH_SECS); }
int32_t zone_offset_at(const Zone *z, int64_t micros) { return z ? zone_part_at(z, micros).offset : 0; }

int32_t zone_offset_of_local(const Zone *z, int64_t local) {
    if (!z) return 0;
    const int64_t secs = floor_secs(local) + UNIX_EPOCH_SECS;
    const ZoneSpan before = span_at(z, secs - DAY);
    const int32_t offset = before.part.offset;
    if (before.to - DAY > secs + ZONE_OFFSET_END) return offset; /* whatever the next offset is */
    const int32_t next = find_span(z, before.to).part.offset;
    const int64_t before_at = secs - offset, after_at = secs - next;
    if (before_at < before.to && after_at < before.to) return offset;
    if (before_at > before.to && after_at >= before.to) return next;
    return before_at > after_at ? offset : next; /* skipped, or twice */
}

bool zone_is_constant(const Zone *z, int32_t *offset) {
    *offset = 0;
    if (!z) return true;
    *offset = z->n_parts > 0 ? z->parts[0].offset : z->rule.offsets[0];
    bool same = !z->has_rule || (z->rule.offsets[0] == *offset && !z->rule.has_summer);
    for (int32_t i = 0; i < z->n_parts; i++) same &= z->parts[i].offset == *offset;
    return same;
}

/* ---- abbreviations ---- */

static const struct {
    const char *name;
    int32_t offset;
    bool summer;
    const char *zone;
} abbrevs[] = {
#define Z(name, offset, summer) {name, offset, summer, NULL},
#define W(name, zone) {name, 0, false, zone},
#include "types/zone_abbrevs.inc"
#undef Z
#undef W
};

const char *zone_abbrev_nth(int64_t i) { return i >= 0 && i < ARRAY_LEN(abbrevs) ? abbrevs[i].name : NULL; }

Status zone_abbrev(Slice word, bool *found, ZoneRef *out, Err *e) {
    char lower[16];
    int64_t lo = 0, hi = ARRAY_LEN(abbrevs);
    *found = false;
    if (word.len >= (int64_t)sizeof lower) return ST_OK;
    for (int64_t i = 0; i < word.len; i++) lower[i] = to_lower(word.ptr[i]);
    lower[word.len] = 0;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        const int c = strcmp(abbrevs[mid].name, lower);
        if (c == 0) {
            *out = (ZoneRef){.abbrev = abbrevs[mid].name,
                             .offset = abbrevs[mid].offset,
                             .summer = abbrevs[mid].summer,
                             .fixed = !abbrevs[mid].zone};
            *found = true;
            return abbrevs[mid].zone ? zone_find(slice_of(abbrevs[mid].zone), &out->zone, e) : ST_OK;
        }
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return ST_OK;
}

Status zone_ref_find(Slice text, ZoneRef *out, Err *e) {
    *out = (ZoneRef){0};
    bool found;
    TRY(zone_abbrev(text, &found, out, e));
    return found ? ST_OK : zone_find(text, &out->zone, e);
}

/* The part with that abbreviation: the last one until then, else the first one after it. */
static const ZonePart *part_named(const Zone *z, const char *abbrev, int64_t unix_secs) {
    const int64_t n = changes_until(z, unix_secs);
    for (int64_t i = n - 1; i >= -1; i--) {
        const ZonePart *p = &z->parts[i < 0 ? 0 : z->kinds[i]];
        if (strcasecmp(p->abbrev, abbrev) == 0) return p;
    }
    for (int64_t i = n; i < z->n_times; i++)
        if (strcasecmp(z->parts[z->kinds[i]].abbrev, abbrev) == 0) return &z->parts[z->kinds[i]];
    return NULL;
}
static int32_t ref_offset(const ZoneRef *r, int64_t unix_secs) {
    const ZonePart *p = r->zone && r->zone->n_parts > 0 ? part_named(r->zone, r->abbrev, unix_secs) : NULL;
    return p ? p->offset : zone_at(r->zone, unix_secs).offset;
}

int32_t zone_ref_offset_at(const ZoneRef *r, int64_t micros) {
    if (r->fixed) return r->offset;
    return r->abbrev ? ref_offset(r, floor_secs(micros) + UNIX_EPOCH_SECS) : zone_offset_at(r->zone, micros);
}
int32_t zone_ref_offset_of_local(const ZoneRef *r, int64_t local) {
    if (r->fixed) return r->offset;
    const int32_t offset = zone_offset_of_local(r->zone, local);
    if (!r->abbrev || !r->zone || r->zone->n_parts == 0) return offset;
    const ZonePart *p = part_named(r->zone, r->abbrev, floor_secs(local) + UNIX_EPOCH_SECS - offset);
    return p ? p->offset : offset;
}
Status zone_ref_zone(const ZoneRef *r, const Zone **out, Err *e) {
    *out = r->zone;
    return r->fixed ? zone_of_offset(r->offset, out, e) : ST_OK;
}
