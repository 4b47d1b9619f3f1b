/* comment.c - comments on objects. See comment.h. */
#include "catalog/comment.h"

#include "catalog/catalog_int.h"
#include "catalog/names.h"

static int64_t comment_bytes(const Comment *x) {
    return (int64_t)(sizeof *x + strlen(x->name) + strlen(x->part) + strlen(x->text)) + 3;
}
Comment *comment_new(const Comment *like, Err *e) {
    Comment *x = mem_calloc(NULL, comment_bytes(like), e);
    if (!x) return NULL;
    char *at = (char *)(x + 1);
    x->kind = like->kind;
    x->routine = like->routine;
    x->name = catalog_put_text(&at, like->name);
    x->part = catalog_put_text(&at, like->part);
    x->text = catalog_put_text(&at, like->text);
    return x;
}
void comment_free(Comment *x) {
    if (x) mem_free(NULL, x, comment_bytes(x));
}
static void reclaim(EpochNode *n) { comment_free((Comment *)(void *)n); }
void comment_retire(EpochDomain *d, Comment *x) { epoch_retire(d, &x->node, comment_bytes(x), reclaim); }

/* No statement's meaning depends on a comment, but what is kept of system relations may not outlive one. */
static void changed(Catalog *c, const Comment *x) { catalog_changed(c, "pg_description", x->name, 0); }
Status catalog_add_comment(Catalog *c, Comment *x, Err *e) {
    TRY(catalog_room(c, &c->comments, c->n_comments, &c->room.comments, e));
    c->comments[c->n_comments++] = x;
    changed(c, x);
    return ST_OK;
}
void catalog_remove_comment(Catalog *c, const Comment *x) {
    for (int64_t i = 0; i < c->n_comments; i++) {
        if (c->comments[i] != x) continue;
        memmove(&c->comments[i], &c->comments[i + 1], (size_t)(--c->n_comments - i) * sizeof *c->comments);
        changed(c, x);
        return;
    }
}
Comment *catalog_comment(const Catalog *c, const Comment *of) {
    for (int64_t i = 0; i < c->n_comments; i++) {
        Comment *x = c->comments[i];
        if (x->kind == of->kind && x->routine == of->routine && strcmp(x->name, of->name) == 0 &&
            strcmp(x->part, of->part) == 0)
            return x;
    }
    return NULL;
}
