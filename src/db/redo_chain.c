/* redo_chain.c - see redo_chain.h. */
#include "db/redo_chain.h"

#include <stdio.h>

#include "db/redo_parts.h"

static RedoChainLog *last_log(const RedoChain *c) { return &c->logs.items[c->logs.len - 1]; }
const RedoChainLog *redo_chain_last(const RedoChain *c) { return last_log(c); }

static Status another(const RedoChainLog *l, const char *what, Err *e) {
    char text[64];
    snprintf(text, sizeof text, "the redo log is of another %s", what);
    return err_corrupted(e, l->reader.path, 16, text);
}
/* Opens the log of a generation; *there: false when it has none. */
static Status open_log(RedoChain *c, int64_t generation, RedoChainLog *l, bool *there, Err *e) {
    *l = (RedoChainLog){.generation = generation};
    c->at_fault = generation;
    const char *path = generation_file(c->a, c->path, generation, "log");
    return path ? redo_reader_open(c->vfs, path, &l->reader, there, e) : ST_ERROR;
}
static Status keep_log(RedoChain *c, RedoChainLog *l, Err *e) {
    if (vec_push(c->a, &c->logs, *l)) return ST_OK;
    redo_reader_close(&l->reader);
    return err_is_set(e) ? ST_ERROR : err_oom(e);
}
Status redo_chain_open(RedoChain *c, bool *there, Err *e) {
    const Current *now = &c->current;
    RedoChainLog l;
    TRY(open_log(c, now->generation, &l, there, e));
    if (!*there && now->has_log) return err_corrupted(e, l.reader.path, 0, "file is missing");
    if (!*there) return ST_OK;
    TRY(keep_log(c, &l, e));
    const RedoReader *in = &l.reader;
    if (in->id.generation != now->generation) return another(&l, "generation", e);
    if (now->database && in->id.database != now->database) return another(&l, "database", e);
    if (now->database && in->id.timeline != now->timeline) return another(&l, "timeline", e);
    if (!in->begun) return err_corrupted(e, in->path, 64, "the beginning of the redo log is damaged");
    if (now->database && in->first_lsn != now->lsn)
        return err_corrupted(e, in->path, 72, "the redo log begins elsewhere");
    return ST_OK;
}
void redo_chain_close(RedoChain *c) {
    for (int64_t i = 0; i < c->logs.len; i++) redo_reader_close(&c->logs.items[i].reader);
    c->logs.len = 0;
}

/* It goes on from the log `before`: as that one says, or it has nothing yet. */
static Status check_next(RedoChain *c, const RedoChainLog *before, RedoChainLog *l, Err *e) {
    const RedoLogId *id = &l->reader.id, *was = &before->reader.id;
    if (id->generation != l->generation) return another(l, "generation", e);
    if (id->database != was->database) return another(l, "database", e);
    if (id->timeline != was->timeline) return another(l, "timeline", e);
    if (before->next == l->generation) return redo_reader_follow(&l->reader, redo_reader_lsn(&before->reader), e);
    if (!l->reader.begun) return ST_OK;
    c->at_fault = before->generation;
    return err_corrupted(e, before->reader.path, before->reader.at,
                         "the redo log ends before the one behind it begins");
}
/* The log of a later generation: *more, it is the next one of the chain. Else it must not claim to be. */
static Status look_at_later(RedoChain *c, const RedoChainLog *before, int64_t generation, bool *more, Err *e) {
    bool there;
    RedoChainLog l;
    TRY(open_log(c, generation, &l, &there, e));
    if (!there) return ST_OK;
    const bool is_next = generation == before->next;
    const bool follows = l.reader.format > 1 && l.reader.id.previous == before->generation;
    Status st = is_next || follows ? check_next(c, before, &l, e) : ST_OK;
    if (st == ST_OK && is_next && !follows) st = another(&l, "generation", e);
    if (st == ST_OK && is_next) {
        *more = true;
        return keep_log(c, &l, e);
    }
    redo_reader_close(&l.reader);
    return st;
}
/* The log behind the last one, which was read to its end; *more false: there is none. */
static Status open_next(RedoChain *c, bool *more, Err *e) {
    const RedoChainLog before = *last_log(c);
    *more = false;
    for (int64_t i = 0; i < c->all.len; i++)
        if (c->all.items[i] > before.generation) TRY(look_at_later(c, &before, c->all.items[i], more, e));
    if (*more || before.next == 0) return ST_OK;
    c->at_fault = before.next;
    const char *path = generation_file(c->a, c->path, before.next, "log");
    return path ? err_corrupted(e, path, 0, "file is missing") : ST_ERROR;
}
/* A record that says where the log goes on. */
static Status note_next(const RedoChain *c, RedoChainLog *l, const RedoRecord *x, Err *e) {
    BytesIn in = {.p = x->bytes, .len = x->n, .arena = c->a};
    RedoPart p;
    if (x->n == 0 || x->bytes[0] != (char)REDO_NEXT) return ST_OK;
    redo_get_part(&in, &p);
    l->next = p.id;
    if (!in.failed && in.at == in.len && l->next > l->generation) return ST_OK;
    return err_corrupted(e, l->reader.path, x->bytes - l->reader.p, "a record of the redo log is invalid");
}
Status redo_chain_next(RedoChain *c, RedoRecord *out, bool *got, Err *e) {
    for (bool more = true; more;) {
        RedoChainLog *l = last_log(c);
        RedoReader *in = &l->reader;
        c->at_fault = l->generation;
        TRY(redo_reader_next(in, out, got, e));
        if (*got && l->next > 0) return err_corrupted(e, in->path, out->bytes - in->p, "a record behind the last one");
        if (*got && c->current.database && !c->current.has_log)
            return err_corrupted(e, in->path, in->first_at, "a database that has no redo log");
        l->n_records += *got;
        if (*got) return note_next(c, l, out, e);
        TRY(open_next(c, &more, e));
    }
    return ST_OK;
}
