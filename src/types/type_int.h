/* type_int.h - what the files of src/types share among themselves; no other file includes it.
 *
 * Text conversion of one kind of value lives with the kind (datetime.c, numeric.c); value.c
 * only dispatches.
 */
#ifndef STELE_TYPES_TYPE_INT_H
#define STELE_TYPES_TYPE_INT_H

#include "types/type.h"

/* Without blanks (space, \t \n \v \f \r) at both ends. */
Slice text_trim(Slice s);
static inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline char to_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
/* 22P02 "invalid input syntax for type <type>: "text"". */
Status text_syntax_error(const char *sqlstate, const char *type, Slice text, Err *e);

/* numeric.c: sign, digits, point; returns the length. */
int64_t numeric_format(int128_t v, int scale, bool trim_zeros, char *out);
int64_t u64_format(uint64_t v, char *out);
/* Correctly rounded and independent of the locale: digits (at most 800) * 10^exp10. */
double decimal_to_f64(const char *digits, int64_t n, int64_t exp10);
float decimal_to_f32(const char *digits, int64_t n, int64_t exp10);

/* float.c: PostgreSQL's text, at most 24 bytes; cut: TextForm.float_cut. */
int64_t f64_format(double v, int cut, char *out);
int64_t f32_format(float v, int cut, char *out);

/* datetime.c */
Status date_parse(Slice text, const struct SessionInfo *session, int32_t *out, Err *e);
Status time_parse(Slice text, int precision, const struct SessionInfo *session, int64_t *out, Err *e);
Status timetz_parse(Slice text, int precision, const struct SessionInfo *session, int64_t *out, Err *e);
Status timestamp_parse(Slice text, int precision, bool with_tz, const struct SessionInfo *session, int64_t *out,
                       Err *e);
Status interval_parse(Slice text, Type t, const struct SessionInfo *session, Interval *out, Err *e);
int64_t date_format(int32_t days, TextForm form, char *out);
int64_t time_format(int64_t micros, char *out);
int64_t timetz_format(int64_t cell, char *out);
int64_t timestamp_format(int64_t micros, bool with_tz, TextForm form, char *out);
int64_t interval_format(const Interval *iv, TextForm form, char *out);

/* A value as one of a domain, which the session knows: 23514, 23502; 0A000 where there is no session. */
struct SessionInfo;
Status type_check_domain(int64_t domain, const Value *v, const struct SessionInfo *session, Err *e);

#endif
