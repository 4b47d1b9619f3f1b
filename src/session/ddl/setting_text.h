/* setting_text.h - the value of SET as a setting's text. */
#ifndef STELE_SESSION_DDL_SETTING_TEXT_H
#define STELE_SESSION_DDL_SETTING_TEXT_H

#include "session/core/session.h"

/* 22023, 42601 */
Status setting_value_text(Session *s, Arena *a, const AstSet *x, const char **out);

#endif
