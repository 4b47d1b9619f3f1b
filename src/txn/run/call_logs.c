/* call_logs.c - the logs of a bulk's calls as its way back (bulk.h, BulkOptions.logged).
 *
 * Each worker has a log per procedure, in its frame. A chunk of calls takes the next number of one counter when it
 * begins, and its changes have that number. Calls of a chunk do not conflict, and of two calls that do the later one
 * begins when the earlier one is done: set after set, one after the other in a partition, or once it has its locks. So
 * changes that are taken back by falling numbers meet each cell as they left it.
 */
#include "txn/run/calls_int.h"

enum { LOG_KEPT_MAX = 1 << 16 /* entries of a log that stay as room for the next bulk */ };

/* The worker's log of the procedure; NULL: there is none. */
static CallFrame *log_at(const ImageSet *s, int64_t proc, int worker) {
    const ProcEntry *x = &s->procs[proc];
    return x->body_frames && worker < x->workers ? x->body_frames[worker] : NULL;
}
static int most_workers(const ImageSet *s) {
    int most = 0;
    for (int64_t k = 0; k < s->n_procs; k++) most = MAX_OF(most, s->procs[k].workers);
    return most;
}
/* The log with the last change of all; NULL: there are no more. */
static CallFrame *last_changed(const ImageSet *s) {
    CallFrame *last = NULL;
    const int workers = most_workers(s);
    for (int64_t k = 0; k < s->n_procs; k++)
        for (int i = 0; i < workers; i++) {
            CallFrame *c = log_at(s, k, i);
            if (c && c->n_undo > 0 && (!last || c->undo[c->n_undo - 1].set > last->undo[last->n_undo - 1].set))
                last = c;
        }
    return last;
}
void images_take_back(ImageSet *s) {
    for (CallFrame *c; (c = last_changed(s));) undo_set(c, c->undo[c->n_undo - 1].set);
    images_forget_logs(s);
}
void images_forget_logs(ImageSet *s) {
    const int workers = most_workers(s);
    for (int64_t k = 0; k < s->n_procs; k++)
        for (int i = 0; i < workers; i++) {
            CallFrame *c = log_at(s, k, i);
            if (c) callframe_forget_log(c, LOG_KEPT_MAX);
        }
}
