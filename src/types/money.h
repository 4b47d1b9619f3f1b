/* money.h - values of type money: hundredths in 64 bits, whose text is PostgreSQL's for the C locale ("-$1,234.56"). */
#ifndef STELE_TYPES_MONEY_H
#define STELE_TYPES_MONEY_H

#include "base/base.h"
#include "base/err.h"

enum { MONEY_SCALE = 2, MONEY_TEXT_MAX = 28 };
/* At most MONEY_TEXT_MAX bytes; returns how many. */
int64_t money_format(int64_t cell, char *out);
/* 22P02, 22003 */
Status money_parse(Slice text, int64_t *cell, Err *e);

#endif
