/* date_format.h - dates and times in a format that is given: %d.%m.%Y, %m/%d/%Y %I:%M %p. For files.
 *
 *   %Y year  %y two digits of it (00-68: 20xx)  %m month  %b %B its English name  %d day  %j day of the year
 *   %H hour  %I hour of 12  %p AM or PM  %M minute  %S second, with a fraction if there is one  %f fraction
 *   %z zone: Z, +02, +0200, +02:00  %a %A weekday's name, ignored  %% itself
 *   %T is %H:%M:%S, %R is %H:%M, %F is %Y-%m-%d, %D is %m/%d/%y
 *
 * Numbers have one digit or all of them; a blank stands for any number of blanks; other bytes for themselves. Pure
 * functions.
 */
#ifndef STELE_IO_DATE_FORMAT_H
#define STELE_IO_DATE_FORMAT_H

#include "types/func.h"

/* Whether the format can be read, and what it has. */
bool date_format_valid(const char *format, bool *has_date, bool *has_time, bool *has_zone);
/* The whole text in that format: *day for a date, *micros for a timestamp (with a time zone: in UTC; without a zone in
 * the text, the session's) and for a time. False when it is not in that format or no such day. */
bool date_format_parse(const char *format, Slice text, const SessionInfo *session, Type type, int32_t *day,
                       int64_t *micros);

#endif
