/* zone_int.h - what a Zone is made of: for zone*.c and their unit test. */
#ifndef STELE_TYPES_ZONE_INT_H
#define STELE_TYPES_ZONE_INT_H

#include "types/zone.h"

enum { ZONE_ABBREV_MAX = 31, ZONE_PARTS_MAX = 256, ZONE_OFFSET_END = 168 * 3600 };

/* A day of a year and the time on it, of POSIX's form. */
typedef struct RuleDay {
    char form;               /* 'J': 1 to 365, February 29 does not count; 'N': 0 to 365; 'M': month, week, weekday */
    int16_t day;             /* 'J', 'N' */
    int8_t month, week, dow; /* week 5: the last */
    int32_t seconds;         /* on the clocks before the change, since midnight: -167 to 167 hours */
} RuleDay;
typedef struct ZoneRule {
    char names[2][ZONE_ABBREV_MAX + 1]; /* in winter, in summer */
    int32_t offsets[2];
    bool has_summer;
    RuleDay days[2]; /* on which summer time begins and ends */
} ZoneRule;
/* False: the text is not of that form. */
bool zone_rule_parse(Slice text, ZoneRule *out);
/* A time without changes: [from, to), INT64_MIN and INT64_MAX when there is none on that side. */
typedef struct ZoneSpan {
    int64_t from, to;
    ZonePart part;
} ZoneSpan;
/* The one that an instant is in. */
ZoneSpan zone_rule_span(const ZoneRule *r, int64_t unix_secs);

struct Zone {
    struct Zone *next; /* of the same slot of the table of names */
    int64_t bytes;
    const char *key, *name; /* name in capitals; in its own spelling */
    int64_t n_times;
    int32_t n_parts;
    const int64_t *times; /* of changes, ascending: seconds since 1970 */
    const uint8_t *kinds; /* of each: which part begins; part 0 is in force before the first */
    const ZonePart *parts;
    bool has_rule; /* for times behind the last change */
    ZoneRule rule;
};
/* A zone with a copy of the names, and uninitialised room for the rest. NULL: no memory. */
Zone *zone_new(const char *key, const char *name, int64_t n_times, int32_t n_parts, int64_t n_chars, char **chars,
               Err *e);
void zone_free(Zone *z);

/* A file's bytes. *fault: a sentence about what is wrong with it; NULL with an error: no memory. */
Status zone_decode(const char *key, const char *name, Slice bytes, Zone **out, const char **fault, Err *e);
/* The file of that name in any case of its letters; *out is NULL when there is none. 22023 with a detail: it is not
 * readable, or no zone. */
Status zone_read(const char *key, Slice name, Zone **out, Err *e);

#endif
