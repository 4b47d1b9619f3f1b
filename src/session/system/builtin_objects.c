/* builtin_objects.c - see builtin_objects.h. */
#include "session/system/builtin_objects.h"

static const BuiltinObject objects[] = {
    {IN_LANGUAGE, 12, "internal"},
    {IN_LANGUAGE, 13, "c"},
    {IN_LANGUAGE, OID_SQL, "sql"},
    {IN_LANGUAGE, OID_PLPGSQL, "plpgsql"},
    {IN_EXTENSION, OID_PLPGSQL_EXTENSION, "plpgsql"},
    {IN_TABLESPACE, 1663, "pg_default"},
    {IN_TABLESPACE, 1664, "pg_global"},
    {IN_COLLATION, OID_COLLATION_DEFAULT, "default"},
    {IN_COLLATION, OID_COLLATION_C, "C"},
    {IN_COLLATION, OID_COLLATION_POSIX, "POSIX"},
    {IN_COLLATION, 12340, "ucs_basic"},
    {IN_TS_CONFIG, 3748, "simple"},
    {IN_TS_CONFIG, 13152, "arabic"},
    {IN_TS_CONFIG, 13154, "armenian"},
    {IN_TS_CONFIG, 13156, "basque"},
    {IN_TS_CONFIG, 13158, "catalan"},
    {IN_TS_CONFIG, 13160, "danish"},
    {IN_TS_CONFIG, 13162, "dutch"},
    {IN_TS_CONFIG, 13164, "english"},
    {IN_TS_CONFIG, 13166, "finnish"},
    {IN_TS_CONFIG, 13168, "french"},
    {IN_TS_CONFIG, 13170, "german"},
    {IN_TS_CONFIG, 13172, "greek"},
    {IN_TS_CONFIG, 13174, "hindi"},
    {IN_TS_CONFIG, 13176, "hungarian"},
    {IN_TS_CONFIG, 13178, "indonesian"},
    {IN_TS_CONFIG, 13180, "irish"},
    {IN_TS_CONFIG, 13182, "italian"},
    {IN_TS_CONFIG, 13184, "lithuanian"},
    {IN_TS_CONFIG, 13186, "nepali"},
    {IN_TS_CONFIG, 13188, "norwegian"},
    {IN_TS_CONFIG, 13190, "portuguese"},
    {IN_TS_CONFIG, 13192, "romanian"},
    {IN_TS_CONFIG, 13194, "russian"},
    {IN_TS_CONFIG, 13196, "serbian"},
    {IN_TS_CONFIG, 13198, "spanish"},
    {IN_TS_CONFIG, 13200, "swedish"},
    {IN_TS_CONFIG, 13202, "tamil"},
    {IN_TS_CONFIG, 13204, "turkish"},
    {IN_TS_CONFIG, 13206, "yiddish"},
    {IN_TS_DICT, 3765, "simple"},
    {IN_TS_DICT, 13151, "arabic_stem"},
    {IN_TS_DICT, 13153, "armenian_stem"},
    {IN_TS_DICT, 13155, "basque_stem"},
    {IN_TS_DICT, 13157, "catalan_stem"},
    {IN_TS_DICT, 13159, "danish_stem"},
    {IN_TS_DICT, 13161, "dutch_stem"},
    {IN_TS_DICT, 13163, "english_stem"},
    {IN_TS_DICT, 13165, "finnish_stem"},
    {IN_TS_DICT, 13167, "french_stem"},
    {IN_TS_DICT, 13169, "german_stem"},
    {IN_TS_DICT, 13171, "greek_stem"},
    {IN_TS_DICT, 13173, "hindi_stem"},
    {IN_TS_DICT, 13175, "hungarian_stem"},
    {IN_TS_DICT, 13177, "indonesian_stem"},
    {IN_TS_DICT, 13179, "irish_stem"},
    {IN_TS_DICT, 13181, "italian_stem"},
    {IN_TS_DICT, 13183, "lithuanian_stem"},
    {IN_TS_DICT, 13185, "nepali_stem"},
    {IN_TS_DICT, 13187, "norwegian_stem"},
    {IN_TS_DICT, 13189, "portuguese_stem"},
    {IN_TS_DICT, 13191, "romanian_stem"},
    {IN_TS_DICT, 13193, "russian_stem"},
    {IN_TS_DICT, 13195, "serbian_stem"},
    {IN_TS_DICT, 13197, "spanish_stem"},
    {IN_TS_DICT, 13199, "swedish_stem"},
    {IN_TS_DICT, 13201, "tamil_stem"},
    {IN_TS_DICT, 13203, "turkish_stem"},
    {IN_TS_DICT, 13205, "yiddish_stem"},
};

const BuiltinObject *builtin_object_nth(int64_t i) { return i < ARRAY_LEN(objects) ? &objects[i] : NULL; }
const BuiltinObject *builtin_object(int64_t in, const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(objects); i++)
        if (objects[i].in == in && strcmp(objects[i].name, name) == 0) return &objects[i];
    return NULL;
}

static const BuiltinOperator operators[] = {
#include "session/system/builtin_operators.inc"
};
const BuiltinOperator *builtin_operators(int64_t *n) {
    *n = ARRAY_LEN(operators);
    return operators;
}
static const BuiltinCast casts[] = {
#include "session/system/builtin_casts.inc"
};
const BuiltinCast *builtin_casts(int64_t *n) {
    *n = ARRAY_LEN(casts);
    return casts;
}
