/* pl_settings.c - SET in the definition of a routine: in force for the duration of its calls.
 *
 * A plain SET of such a setting inside of the call overrides the definition and stays; SET LOCAL ends with the call.
 */
#include "session/ddl/setting_text.h"
#include "session/pl/pl_run_int.h"

static const char *shown(Session *s, Arena *a, const char *name) {
    Err none = {0};
    return settings_show(s, a, name, &none); /* NULL: one of the client's own, not there yet */
}
static Status begin(Session *s, const PlFunction *f, PlSettings *o) {
    for (int64_t i = 0; i < f->n_sets; i++) {
        const AstSet *x = f->sets[i];
        const char *value;
        o->before[i] = shown(s, o->a, x->name);
        TRY(setting_value_text(s, o->a, x, &value));
        TRY(settings_change(s, x->name, value, true, &s->err));
        o->own[i] = shown(s, o->a, x->name);
        o->n++;
    }
    s->info.form = s->settings.client.form;
    return ST_OK;
}
Status pl_settings_begin(Session *s, const PlFunction *f, PlSettings *o) {
    *o = (PlSettings){0};
    if (f->n_sets == 0) return ST_OK;
    if (!(o->a = arena_new(&s->account, &s->err)) || !(o->before = arena_array(o->a, const char *, f->n_sets)) ||
        !(o->own = arena_array(o->a, const char *, f->n_sets)))
        return ST_ERROR;
    return begin(s, f, o);
}

static bool same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }
/* The call has given it another value, which is the session's from now on: COMMIT leaves it. */
static bool stays(Session *s, PlSettings *o, const char *name, const char *own) {
    const char *now = shown(s, o->a, name);
    if (same(now, own)) return false; /* there was no plain SET */
    Settings *const running = arena_new_of(o->a, Settings);
    if (!running) return false;
    *running = s->settings;
    s->settings = s->kept_settings.keep;
    const bool kept = same(shown(s, o->a, name), now);
    s->settings = *running;
    return kept;
}
/* The call may have failed: its error stays. */
void pl_settings_end(Session *s, const PlFunction *f, PlSettings *o) {
    while (o->n > 0) {
        Err none = {0};
        const int64_t i = --o->n;
        const char *name = f->sets[i]->name;
        if (!stays(s, o, name, o->own[i])) (void)settings_set(s, name, o->before[i] ? o->before[i] : "", &none);
    }
    if (o->a) s->info.form = s->settings.client.form;
    arena_free(o->a);
    *o = (PlSettings){0};
}
