/* args.c - arguments of backslash commands, read as psql reads them. */
#include <stdlib.h>
#include <string.h>

#include "shell/command.h"
#include "shell/vars.h"

typedef struct Text {
    char *s;
    size_t len, cap;
    bool failed;
} Text;

static void add(Text *t, const char *s, size_t n) {
    if (t->failed) return;
    if (t->len + n + 1 > t->cap) {
        size_t cap = (t->len + n + 1) * 2;
        char *more = realloc(t->s, cap);
        if (!more) {
            t->failed = true;
            return;
        }
        t->s = more;
        t->cap = cap;
    }
    memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

/* An escape in single quotes, behind the backslash. */
static const char *add_escape(Text *t, const char *s) {
    static const char letters[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *at = *s ? strchr(letters, *s) : NULL;
    if (at) {
        add(t, &bytes[at - letters], 1);
        return s + 1;
    }
    int base = *s == 'x' ? 16 : 8, most = *s == 'x' ? 2 : 3;
    const char *from = s + (*s == 'x');
    char digits[4] = "", *end;
    for (int i = 0; i < most && from[i] && strchr(base == 16 ? "0123456789abcdefABCDEF" : "01234567", from[i]); i++)
        digits[i] = from[i];
    long code = strtol(digits, &end, base);
    if (end != digits) {
        char c = (char)code;
        add(t, &c, 1);
        return from + (end - digits);
    }
    if (*s) add(t, s, 1);
    return s + (*s != 0);
}

static const char *add_quoted(Args *a, Text *t, const char *s) {
    for (s++; *s; s++) {
        if (*s == '\\') {
            s = add_escape(t, s + 1) - 1;
        } else if (*s != '\'') {
            add(t, s, 1);
        } else if (s[1] == '\'') {
            add(t, s++, 1);
        } else {
            return s + 1;
        }
    }
    if (!a->skips) say_error("unterminated quoted string\n");
    a->failed = true;
    return s;
}

/* What a program prints, without the last end of line. */
static const char *add_program(Args *a, Text *t, const char *s) {
    const char *end = strchr(s + 1, '`');
    if (!end) {
        if (!a->skips) say_error("unterminated quoted string\n");
        a->failed = true;
        return s + strlen(s);
    }
    if (a->skips) return end + 1;
    Text command = {0};
    add(&command, "", 0);
    for (const char *p = s + 1; p < end;) {
        size_t len;
        bool failed = false;
        char *value = *p == ':' ? variable_expand(a->sh, p, (size_t)(end - p), &len, &failed) : NULL;
        if (value) add(&command, value, strlen(value)), p += len;
        else add(&command, p++, 1);
        free(value);
    }
    fflush(NULL);
    FILE *f = command.failed ? NULL : popen(command.s, "r");
    char buf[4096];
    size_t first = t->len;
    for (size_t n; f && (n = fread(buf, 1, sizeof buf, f)) > 0;) add(t, buf, n);
    if (!f || pclose(f) != 0) {
        if (command.s) say_error("%s: the program failed\n", command.s);
        a->failed = true;
    }
    while (t->len > first && (t->s[t->len - 1] == '\n' || t->s[t->len - 1] == '\r')) t->s[--t->len] = 0;
    free(command.s);
    return end + 1;
}

/* In double quotes: kept as it is, or, of a name, without them. */
static const char *add_name(Args *a, Text *t, const char *s, bool name) {
    const char *from = s;
    for (s++; *s; s++) {
        if (*s != '"') {
            if (name) add(t, s, 1);
        } else if (s[1] == '"') {
            s++;
            if (name) add(t, s, 1);
        } else {
            if (!name) add(t, from, (size_t)(s + 1 - from));
            return s + 1;
        }
    }
    if (!a->skips) say_error("unterminated quoted string\n");
    a->failed = true;
    return s;
}

static const char *add_word(Args *a, Text *t, const char *s, ArgKind kind) {
    while (*s && !is_blank(*s) && *s != '\\') {
        size_t len;
        bool failed = false;
        char *value = *s == ':' && !a->skips ? variable_expand(a->sh, s, strlen(s), &len, &failed) : NULL;
        char lower = kind == ARG_NAME && *s >= 'A' && *s <= 'Z' ? (char)(*s | 32) : *s;
        if (value) add(t, value, strlen(value)), s += len;
        else if (*s == '\'') s = add_quoted(a, t, s);
        else if (*s == '"') s = add_name(a, t, s, kind == ARG_NAME);
        else if (*s == '`') s = add_program(a, t, s);
        else add(t, &lower, 1), s++;
        free(value);
        if (failed) t->failed = true;
    }
    return s;
}

static void strip_end(Text *t, const char *what) {
    while (t->len > 0 && strchr(what, t->s[t->len - 1])) t->s[--t->len] = 0;
}

char *next_arg(Args *a, ArgKind kind) {
    const char *s = a->at;
    while (is_blank(*s)) s++;
    a->at = s;
    bool line = kind == ARG_LINE || (kind == ARG_FILE && *s == '|');
    if (!*s || a->failed || (!line && *s == '\\') || a->n == (int)(sizeof a->held / sizeof *a->held)) return NULL;
    Text t = {0};
    add(&t, "", 0);
    if (line) {
        add(&t, s, strlen(s));
        strip_end(&t, " \t\r\n\f\v");
        a->at = s + strlen(s);
    } else {
        a->at = add_word(a, &t, s, kind);
        if (kind != ARG_PLAIN) strip_end(&t, ";");
    }
    if (t.failed) {
        a->failed = true;
        (void)say_no_memory();
    }
    if (a->failed) {
        free(t.s);
        return NULL;
    }
    return a->held[a->n++] = t.s;
}

bool missing_arg(const Args *a) {
    if (!a->failed) say_error("\\%s: missing required argument\n", a->command);
    return false;
}

bool has_suffix(const Args *a, char c) { return strchr(a->command, c) != NULL; }

void args_free(Args *a) {
    for (int i = 0; i < a->n; i++) free(a->held[i]);
}
