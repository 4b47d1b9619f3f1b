/* json_array.c - see json_array.h. What is wrong within an element is left for its parser to say. */
#include "io/json_array.h"

static inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* The first bytes: what the layout is, if that is not known. *at is left at the first byte of an element. */
static Status begin(JsonArray *j, char *p, int64_t n, int64_t *at, Err *e) {
    for (; *at < n; ++*at) {
        char c = p[*at];
        if (is_blank(c) || (uint8_t)c == 0xEF || (uint8_t)c == 0xBB || (uint8_t)c == 0xBF) { /* "UTF-8" */
            if (c == '\n' && j->layout == JSON_ARRAY) p[*at] = ' ';
            continue;
        }
        if (j->layout == JSON_AUTO) j->layout = c == '[' ? JSON_ARRAY : JSON_LINES;
        j->begun = true;
        if (j->layout == JSON_LINES) return ST_OK;
        if (c != '[') return err_set(e, ERR_BAD_COPY, "expected '[' of an array of objects at its begin");
        p[(*at)++] = ' ';
        return ST_OK;
    }
    return ST_OK;
}

/* A byte between elements, or one that begins or ends them. */
static void structure(JsonArray *j, char *c) {
    switch (*c) {
    case '\n': *c = ' '; return;
    case '"': j->in_string = true; break;
    case '{':
    case '[': j->depth++; break;
    case '}': j->depth--; return;
    case ']':
        if (j->depth > 0) {
            j->depth--;
            return;
        }
        j->closed = true;
        /* else the parser finds a bracket where an object should be */
        if (j->element || !j->comma) *c = j->element ? '\n' : ' ';
        return;
    case ',':
        if (j->depth > 0) return;
        if (j->element) *c = '\n'; /* else the parser finds a comma where an object should be */
        j->element = false;
        j->comma = true;
        return;
    default:
        if (is_blank(*c)) return;
        break;
    }
    j->element = true;
}

Status json_array_lines(JsonArray *j, char *p, int64_t n, bool end, Err *e) {
    int64_t i = 0;
    if (!j->begun) TRY(begin(j, p, n, &i, e));
    if (j->layout == JSON_LINES) return ST_OK;
    for (; j->begun && i < n; i++) {
        if (j->closed) {
            if (!is_blank(p[i])) return err_set(e, ERR_BAD_COPY, "expected the end of the file behind the array");
            p[i] = ' ';
        } else if (!j->in_string) {
            structure(j, &p[i]);
        } else if (j->escaped) {
            j->escaped = false;
        } else if (p[i] == '\\') {
            j->escaped = true;
        } else if (p[i] == '"') {
            j->in_string = false;
        }
    }
    if (end && j->begun && !j->closed) return err_set(e, ERR_BAD_COPY, "the array ends without ']'");
    return ST_OK;
}
