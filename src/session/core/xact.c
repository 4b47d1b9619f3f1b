/* xact.c - numbers of transactions. See xact.h. */
#include "session/core/xact.h"

#include <time.h>

#include "session/core/transaction_int.h"

enum { XACT_PERMANENT = 3 /* numbers below are of transactions that PostgreSQL always has */ };
typedef enum XactOutcome { XACT_UNKNOWN, XACT_OPEN, XACT_COMMITTED, XACT_ABORTED } XactOutcome;

/* A million transactions in a second, for as long as the database is open, before a number comes again. */
static int64_t first_number(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ((int64_t)ts.tv_sec - INT64_C(946684800)) << 20;
}
static uint8_t *outcome(XactNumbers *x, int64_t number) { return &x->outcome[number % XACTS_KEPT]; }

int64_t xact_number(Session *s) {
    TxnHub *h = transaction_hub(s);
    if (s->numbers.xact) return s->numbers.xact;
    mutex_lock(&h->mutex);
    XactNumbers *x = &h->xacts;
    if (!x->next) x->first = x->next = first_number();
    s->numbers.xact = x->next++;
    *outcome(x, s->numbers.xact) = XACT_OPEN;
    mutex_unlock(&h->mutex);
    return s->numbers.xact;
}
void xact_end(Session *s, bool committed) {
    TxnHub *h = transaction_hub(s);
    if (!s->numbers.xact) return;
    mutex_lock(&h->mutex);
    if (s->numbers.xact >= h->xacts.next - XACTS_KEPT)
        *outcome(&h->xacts, s->numbers.xact) = committed ? XACT_COMMITTED : XACT_ABORTED;
    mutex_unlock(&h->mutex);
    s->numbers.xact = 0;
}
Status xact_status(Session *s, int64_t number, const char **out, Err *e) {
    static const char *const texts[] = {NULL, "in progress", "committed", "aborted"};
    TxnHub *h = transaction_hub(s);
    mutex_lock(&h->mutex);
    XactNumbers *x = &h->xacts;
    const int64_t next = x->next ? x->next : first_number();
    const bool future = number < 0 || number >= next;
    const bool known = !future && x->next && number >= x->first && number >= x->next - XACTS_KEPT;
    *out = texts[known ? *outcome(x, number) : XACT_UNKNOWN];
    mutex_unlock(&h->mutex);
    if (number > 0 && number < XACT_PERMANENT) *out = texts[XACT_COMMITTED];
    return future
               ? err_set(e, ERR_INVALID_PARAMETER, "transaction ID %llu is in the future", (unsigned long long)number)
               : ST_OK;
}
