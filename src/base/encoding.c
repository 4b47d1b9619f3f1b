/* encoding.c - see encoding.h. */
#include "base/encoding.h"

#include <ctype.h>

static const TextEncoding encodings[] = {{"BIG5", "BIG5"},
                                         {"EUC_CN", "EUC-CN"},
                                         {"EUC_JIS_2004", "EUC-JISX0213"},
                                         {"EUC_JP", "EUC-JP"},
                                         {"EUC_KR", "EUC-KR"},
                                         {"EUC_TW", "EUC-TW"},
                                         {"GB18030", "GB18030"},
                                         {"GBK", "GBK"},
                                         {"ISO_8859_5", "ISO-8859-5"},
                                         {"ISO_8859_6", "ISO-8859-6"},
                                         {"ISO_8859_7", "ISO-8859-7"},
                                         {"ISO_8859_8", "ISO-8859-8"},
                                         {"JOHAB", "JOHAB"},
                                         {"KOI8R", "KOI8-R"},
                                         {"KOI8U", "KOI8-U"},
                                         {"LATIN1", "ISO-8859-1"},
                                         {"LATIN10", "ISO-8859-16"},
                                         {"LATIN2", "ISO-8859-2"},
                                         {"LATIN3", "ISO-8859-3"},
                                         {"LATIN4", "ISO-8859-4"},
                                         {"LATIN5", "ISO-8859-9"},
                                         {"LATIN6", "ISO-8859-10"},
                                         {"LATIN7", "ISO-8859-13"},
                                         {"LATIN8", "ISO-8859-14"},
                                         {"LATIN9", "ISO-8859-15"},
                                         {"SHIFT_JIS_2004", "SHIFT_JISX0213"},
                                         {"SJIS", "SHIFT_JIS"},
                                         {"SQL_ASCII", NULL},
                                         {"UHC", "UHC"},
                                         {"UTF8", NULL},
                                         {"WIN1250", "CP1250"},
                                         {"WIN1251", "CP1251"},
                                         {"WIN1252", "CP1252"},
                                         {"WIN1253", "CP1253"},
                                         {"WIN1254", "CP1254"},
                                         {"WIN1255", "CP1255"},
                                         {"WIN1256", "CP1256"},
                                         {"WIN1257", "CP1257"},
                                         {"WIN1258", "CP1258"},
                                         {"WIN866", "CP866"},
                                         {"WIN874", "CP874"}};
/* Further spellings, without what is neither a letter nor a digit. */
static const struct {
    const char *spelling, *name;
} others[] = {
    {"abc", "WIN1258"},         {"alt", "WIN866"},          {"iso88591", "LATIN1"},     {"iso885910", "LATIN6"},
    {"iso885913", "LATIN7"},    {"iso885914", "LATIN8"},    {"iso885915", "LATIN9"},    {"iso885916", "LATIN10"},
    {"iso88592", "LATIN2"},     {"iso88593", "LATIN3"},     {"iso88594", "LATIN4"},     {"iso88599", "LATIN5"},
    {"koi8", "KOI8R"},          {"mskanji", "SJIS"},        {"shiftjis", "SJIS"},       {"tcvn", "WIN1258"},
    {"tcvn5712", "WIN1258"},    {"unicode", "UTF8"},        {"vscii", "WIN1258"},       {"win", "WIN1251"},
    {"win932", "SJIS"},         {"win936", "GBK"},          {"win949", "UHC"},          {"win950", "BIG5"},
    {"windows1250", "WIN1250"}, {"windows1251", "WIN1251"}, {"windows1252", "WIN1252"}, {"windows1253", "WIN1253"},
    {"windows1254", "WIN1254"}, {"windows1255", "WIN1255"}, {"windows1256", "WIN1256"}, {"windows1257", "WIN1257"},
    {"windows1258", "WIN1258"}, {"windows866", "WIN866"},   {"windows874", "WIN874"},   {"windows932", "SJIS"},
    {"windows936", "GBK"},      {"windows949", "UHC"},      {"windows950", "BIG5"}};

static bool same_spelling(const char *given, const char *name) {
    for (;;) {
        while (*given && !isalnum((unsigned char)*given)) given++;
        while (*name && !isalnum((unsigned char)*name)) name++;
        if (!*given || !*name) return !*given && !*name;
        if (tolower((unsigned char)*given++) != tolower((unsigned char)*name++)) return false;
    }
}
const TextEncoding *encoding_named(const char *given) {
    for (int64_t i = 0; i < ARRAY_LEN(others); i++)
        if (same_spelling(given, others[i].spelling)) given = others[i].name;
    for (int64_t i = 0; i < ARRAY_LEN(encodings); i++)
        if (same_spelling(given, encodings[i].name)) return &encodings[i];
    return NULL;
}

void encoding_show(const char *at, int64_t n, bool utf8, char out[ENCODING_SHOWN_MAX]) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t first = (uint8_t)*at;
    const int64_t width = !utf8 || first < 0xC0 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    int k = 0;
    for (int64_t i = 0; i < width && i < n; i++) {
        if (i > 0) out[k++] = ' ';
        out[k++] = '0';
        out[k++] = 'x';
        out[k++] = digits[(uint8_t)at[i] >> 4];
        out[k++] = digits[at[i] & 15];
    }
    out[k] = 0;
}
