/* conditional.c - \if, \elif, \else, \endif. A block knows how much of a statement had been collected when it began:
 * what a skipped branch adds goes when it ends, so that blocks may stand inside of statements. */
#include <stdlib.h>
#include <string.h>

#include "shell/command.h"
#include "shell/vars.h"

enum { BLOCKS_MAX = 64 };
typedef enum Branch {
    BRANCH_TAKEN,   /* its lines run */
    BRANCH_WAITS,   /* none was taken yet */
    BRANCH_DONE,    /* one before was */
    BRANCH_IGNORED, /* the whole block is in a branch that is skipped */
    ELSE_TAKEN,
    ELSE_SKIPPED
} Branch;
typedef struct Block {
    Branch branch;
    size_t kept; /* of the statement */
} Block;
struct Conditions {
    Block blocks[BLOCKS_MAX];
    int n;
};

Conditions *conditions_new(void) { return calloc(1, sizeof(Conditions)); }
void conditions_free(Conditions *c) { free(c); }
bool conditions_open(const Shell *sh) { return sh->conditions && sh->conditions->n > 0; }

static bool takes(Branch b) { return b == BRANCH_TAKEN || b == ELSE_TAKEN; }
bool is_active(const Shell *sh) {
    const Conditions *c = sh->conditions;
    return !c || c->n == 0 || takes(c->blocks[c->n - 1].branch);
}

/* The words up to the next command as one text, read as a Boolean; what is none is false, and said to be so. */
static bool read_condition(Args *a) {
    char text[256] = "";
    size_t n = 0;
    for (const char *word; (word = next_arg(a, ARG_PLAIN));)
        n += (size_t)snprintf(text + n, n < sizeof text ? sizeof text - n : 0, "%s%s", n ? " " : "", word);
    bool value = false;
    if (!a->failed && !read_bool(text, &value))
        say_error("unrecognized value \"%s\" for \"\\%s expression\": Boolean expected\n", text, a->command);
    return value && !a->failed;
}
static void skip_condition(Args *a) {
    a->skips = true;
    while (next_arg(a, ARG_PLAIN)) continue;
}

/* What a skipped branch has added goes; what a taken one has stays. */
static void end_branch(Shell *sh, Block *b) {
    if (!takes(b->branch) && sh->query.len > b->kept) {
        sh->query.len = b->kept;
        sh->query.scan = (Scan){.at = b->kept};
        if (sh->query.text) sh->query.text[b->kept] = 0;
    }
    b->kept = sh->query.len;
}

static Block *open_block(Shell *sh, const Args *a, bool or_else) {
    Conditions *c = sh->conditions;
    Block *b = c && c->n > 0 ? &c->blocks[c->n - 1] : NULL;
    if (!b) {
        say_error("\\%s: no matching \\if\n", a->command);
    } else if (or_else && (b->branch == ELSE_TAKEN || b->branch == ELSE_SKIPPED)) {
        say_error("\\%s: cannot occur after \\else\n", a->command);
        b = NULL;
    }
    return b;
}

static bool if_command(Shell *sh, Args *a) {
    Conditions *c = sh->conditions;
    if (!c || c->n == BLOCKS_MAX) {
        say_error("\\if: more than %d blocks in each other\n", BLOCKS_MAX);
        return false;
    }
    Branch branch = BRANCH_IGNORED;
    if (is_active(sh)) branch = read_condition(a) ? BRANCH_TAKEN : BRANCH_WAITS;
    else skip_condition(a);
    c->blocks[c->n++] = (Block){branch, sh->query.len};
    return true;
}

static bool elif_command(Shell *sh, Args *a) {
    Block *b = open_block(sh, a, true);
    if (!b) return false;
    end_branch(sh, b);
    if (b->branch == BRANCH_WAITS) {
        b->branch = BRANCH_TAKEN; /* for its condition */
        b->branch = read_condition(a) ? BRANCH_TAKEN : BRANCH_WAITS;
        return true;
    }
    skip_condition(a);
    if (b->branch == BRANCH_TAKEN) b->branch = BRANCH_DONE;
    return true;
}

static bool else_command(Shell *sh, Args *a) {
    Block *b = open_block(sh, a, true);
    if (!b) return false;
    end_branch(sh, b);
    b->branch = b->branch == BRANCH_WAITS ? ELSE_TAKEN : ELSE_SKIPPED;
    return true;
}

static bool endif_command(Shell *sh, Args *a) {
    Block *b = open_block(sh, a, false);
    if (!b) return false;
    end_branch(sh, b);
    sh->conditions->n--;
    return true;
}

const Command conditional_commands[] = {
    {"if", "EXPR", "begin a block that is run when EXPR is true", if_command, COMMAND_ALWAYS},
    {"elif", "EXPR", "another branch of it", elif_command, COMMAND_ALWAYS},
    {"else", "", "its last branch", else_command, COMMAND_ALWAYS},
    {"endif", "", "end of the block", endif_command, COMMAND_ALWAYS},
    {0},
};
