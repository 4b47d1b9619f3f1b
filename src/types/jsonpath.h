/* jsonpath.h - SQL/JSON paths: their grammar, the text that a jsonpath is kept as, and what they find in jsonb.
 *
 * A jsonpath value is a canonical text, the one that PostgreSQL shows: names in double quotes, operators with blanks
 * around them, numbers as numeric shows them. So it is a plain string in tablets, files and for clients. To run, the
 * text is parsed into a tree; a call site keeps the tree of a constant path (func_jsonpath.c). Where PostgreSQL leaves
 * out parentheses that a text needs to mean the same, as in $ ? ((@ + 1).abs() > 0), the canonical text has them.
 *
 * A path runs over the text of jsonb (json.h) in place. What it finds borrows from the document, from the path or from
 * the arena. The rules of lax and strict mode, the order in which things are looked at, and so which of several errors
 * is reported, are PostgreSQL's (jsonpath_run.c).
 *
 * Recursion asks for the stack (54001). A tree may be used by one thread at a time: its regular expressions are.
 */
#ifndef STELE_TYPES_JSONPATH_H
#define STELE_TYPES_JSONPATH_H

#include "types/json.h"
#include "types/regex.h"

typedef enum JpKind {
    JP_NULL, /* literals */
    JP_BOOL,
    JP_NUMBER,
    JP_STRING,
    JP_VARIABLE,
    JP_ROOT,
    JP_CURRENT,
    JP_LAST,
    JP_KEY, /* accessors */
    JP_ANY_KEY,
    JP_ANY_ARRAY,
    JP_SUBSCRIPTS,
    JP_LEVELS, /* .** */
    JP_FILTER,
    JP_OR, /* predicates */
    JP_AND,
    JP_NOT,
    JP_IS_UNKNOWN,
    JP_EQ,
    JP_NE,
    JP_LT,
    JP_LE,
    JP_GT,
    JP_GE,
    JP_STARTS_WITH,
    JP_LIKE_REGEX,
    JP_EXISTS,
    JP_ADD, /* arithmetic */
    JP_SUB,
    JP_MUL,
    JP_DIV,
    JP_MOD,
    JP_PLUS,
    JP_MINUS,
    JP_TYPE, /* methods */
    JP_SIZE,
    JP_DOUBLE,
    JP_CEILING,
    JP_FLOOR,
    JP_ABS,
    JP_DATETIME,
    JP_KEYVALUE
} JpKind;
static inline bool jp_is_predicate(uint8_t kind) { return kind >= JP_OR && kind <= JP_EXISTS; }
/* Of an operator or a method. */
const char *jp_name(uint8_t kind);

#define JP_LEVEL_LAST UINT32_MAX

typedef struct JpNode JpNode;
struct JpNode {
    uint8_t kind;       /* JpKind */
    uint8_t flags;      /* like_regex: LIKE_REGEX_*; boolean: its value */
    uint32_t low, high; /* .**: levels */
    int32_t n;          /* subscripts */
    JpNode *next;       /* what is applied to the items of this one */
    JpNode *left;       /* operand; of a filter its condition, of datetime() the template or NULL */
    JpNode *right;      /* second operand */
    JpNode **from;      /* subscripts, n each; to[i] NULL: only one */
    JpNode **to;
    Slice text; /* string, key, variable, pattern: without escapes */
    Slice json; /* literal: as jsonb */
    Regex *regex;
};
typedef struct JsonPath {
    JpNode *root;
    bool lax;
} JsonPath;

/* The tree borrows from the text. 42601, 22P02 and others as PostgreSQL has them. */
Status jsonpath_parse(Arena *a, Slice text, JsonPath *out, Err *e);
/* The canonical text. */
Status jsonpath_from_text(Arena *a, Slice text, Str *out, Err *e);

/* ---- what a path finds ----------------------------------------------------------------------------- */

typedef enum JpItemType { JP_ITEM_DATETIME = JT_OBJECT + 1 /* below: JsonType */ } JpItemType;
typedef struct JpItem {
    uint8_t type;   /* JsonType or JP_ITEM_DATETIME */
    Slice text;     /* as jsonb; not of datetimes */
    Type time_type; /* of a datetime: date, time, timetz, timestamp, timestamptz */
    int64_t time;   /* its cell (a date's, too) */
    int32_t offset; /* timestamptz: the zone it is shown in, seconds east of UTC */
} JpItem;
typedef struct JpItems {
    JpItem *items;
    int64_t len, cap;
} JpItems;

typedef struct JpRun {
    const JsonPath *path;
    Slice document; /* jsonb */
    Slice vars;     /* an object, or without ptr: there are none */
    bool silent;    /* errors that may be suppressed are */
    bool zoned;     /* comparisons may use the session's time zone */
    Arena *arena;
    const struct SessionInfo *session;
    Err *err;
} JpRun;
typedef enum JpResult {
    JP_OK,
    JP_NOT_FOUND,
    JP_ERROR /* one that is suppressed */,
    JP_FAILED /* err has it */
} JpResult;
/* found NULL: whether there is an item; it stops at the first where that is allowed. */
JpResult jsonpath_run(const JpRun *run, JpItems *found);

/* ---- items (jsonpath_item.c) -------------------------------------------------------------------------- */

static inline JpItem jp_item(Slice json) { return (JpItem){.type = (uint8_t)json_type(json), .text = json}; }
/* As jsonb. */
Status jsonpath_item_text(Arena *a, const JpItem *x, Str *out, Err *e);
/* What .type() says. */
const char *jsonpath_item_type(const JpItem *x);
/* Three-valued. */
typedef enum JpBool { JP_FALSE, JP_TRUE, JP_UNKNOWN, JP_BOOL_FAILED /* err has it */ } JpBool;
/* op: JP_EQ and so on. */
JpBool jsonpath_compare(const JpRun *run, JpKind op, const JpItem *x, const JpItem *y);
/* Of two numbers as jsonb has them. */
int json_number_cmp(Slice x, Slice y);
/* A number without its fraction; false: beyond 32 bits. */
bool jsonpath_index(Slice number, int32_t *out);
/* x op y, of one operand where y has no ptr: JP_ADD .. JP_MINUS, JP_ABS, JP_FLOOR, JP_CEILING. JP_ERROR: 22003, 22012,
 * which `raise` makes errors. */
JpResult jsonpath_number(const JpRun *run, JpKind op, Slice x, Slice y, bool raise, Slice *out);
/* Where PostgreSQL has the container at `part` within its form of the container `base`, in bytes; keyvalue() shows it.
 */
int64_t jsonpath_offset(Slice base, const char *part);
/* A text as a date or time by a template, as the method datetime() has it (func_format.c). raise: that it is none is an
 * error; otherwise it is JP_ERROR. */
JpResult jsonpath_datetime(const JpRun *run, Slice text, Slice format, bool raise, JpItem *out);

#endif
