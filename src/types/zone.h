/* zone.h - time zones: what clocks show at an instant, and which instant clocks of a zone show.
 *
 * A zone is one of
 *   a file of the system's time zone database (TZif, RFC 8536, versions 1 to 4), below TZDIR, else /usr/share/zoneinfo;
 *     names are found whatever the case of their letters, as PostgreSQL finds them
 *   a rule in POSIX's form: "EST5EDT,M3.2.0,M11.1.0", "<+03>-03"; without rules summer time is that of the USA since
 *     2007. An offset is such a rule
 *   UTC, which needs no file: NULL.
 *
 * Zones never change and are kept until the process ends, one for a name: a const Zone * may be kept, and compared.
 * There are at most ZONES_MAX (54000). They are read by any thread without a lock; reading a file takes a lock of its
 * own. Memory is not of any database and counts in no account.
 *
 * Instants are seconds since 1970 (zone_at), or microseconds since 2000 as cells of timestamptz have them; these are
 * finite. Offsets are seconds east of UTC, less than 168 hours.
 */
#ifndef STELE_TYPES_ZONE_H
#define STELE_TYPES_ZONE_H

#include "base/base.h"
#include "base/err.h"

enum { ZONES_MAX = 1 << 16, ZONE_NAME_MAX = 255 };

typedef struct Zone Zone;

/* What clocks show between two changes. */
typedef struct ZonePart {
    int32_t offset;
    bool summer;
    const char *abbrev; /* as long as the zone */
} ZonePart;

/* 22023: `time zone "x" not recognized`, with a detail when there is a file that is damaged, or has leap seconds. */
Status zone_find(Slice name, const Zone **out, Err *e);
/* A zone that is always that far from UTC: "<+05:30>-05:30". */
Status zone_of_offset(int32_t offset, const Zone **out, Err *e);
/* The value of the setting TimeZone: a name, hours east of UTC ("-3.5"), "INTERVAL '02:00'". 22023 as zone_find. */
Status zone_of_setting(Slice text, const Zone **out, Err *e);
const char *zone_name(const Zone *z); /* in its own spelling */

ZonePart zone_at(const Zone *z, int64_t unix_secs);
ZonePart zone_part_at(const Zone *z, int64_t micros);
int32_t zone_offset_at(const Zone *z, int64_t micros);
/* The offset with which clocks of the zone show this; `local` is microseconds since 2000 on them. A time that was
 * skipped counts with the offset before the change, one that came twice with the offset behind it. */
int32_t zone_offset_of_local(const Zone *z, int64_t local);

/* What a text names that stands for a time zone. */
typedef struct ZoneRef {
    const Zone *zone;
    const char *abbrev; /* the zone's offset is that of the last time when it used this abbreviation; NULL: any */
    int32_t offset;     /* when `fixed` */
    bool fixed, summer;
} ZoneRef;
/* An abbreviation of PostgreSQL's set "Default"; *found is false when `word` is none. 22023: its zone is missing. */
Status zone_abbrev(Slice word, bool *found, ZoneRef *out, Err *e);
/* An abbreviation, else a zone. */
Status zone_ref_find(Slice text, ZoneRef *out, Err *e);
int32_t zone_ref_offset_at(const ZoneRef *r, int64_t micros);
int32_t zone_ref_offset_of_local(const ZoneRef *r, int64_t local);
/* As a zone: one of an offset, or the zone. */
Status zone_ref_zone(const ZoneRef *r, const Zone **out, Err *e);

/* Whether its offset never changes. */
bool zone_is_constant(const Zone *z, int32_t *offset);

/* The directory of the database, without a slash at its end. */
const char *zone_directory(void);
/* The i-th abbreviation in the order of their names, in lower case; NULL behind the last. */
const char *zone_abbrev_nth(int64_t i);

#endif
