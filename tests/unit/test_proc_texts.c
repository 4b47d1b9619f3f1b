/* Strings and arrays in kernels of procedures: bulks on the virtual machine, and by kernels on the host, on the host as
 * if it had memory of its own, and by OpenCL, must give the same OUT values, errors and images. */
#include "unit_session.h"

#include <stdlib.h>

#include "codegen/cache.h"
#include "codegen/emit_proc.h"
#include "exec/device/dev.h"
#include "sql/pl/compile.h"
#include "txn/run/bulk.h"
#include "txn/store/device_copy.h"
#include "types/array.h"

enum { CALLS = 200, PARAMS = 9 };

static Database *db;
static Session *s;
static Err err;
static uint64_t seed = 7;
static uint64_t rnd(void) {
    uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
static int64_t to(int64_t n) { return (int64_t)(rnd() % (uint64_t)n); }

/* ---- what is run ---------------------------------------------------------------------------------------- */
#define ARGS                                                                                                        \
    "(i int, n bigint, x numeric(12,2), d date, t timestamp, a text, b text, v int[], w text[], out r text, out k " \
    "int, out z int[])"
static const char *const bodies[] = {
    "r := n::text || ' ' || x::numeric(12,2)::text || '/' || i || (n > 0)::text; k := length(r)",
    "r := d::text || t::text || '|'; k := position('-' in r)",
    "r := substr(a || b, 2, 5) || left(b, 2) || right(a, 2); k := octet_length(a)",
    "r := upper(a) || lower(b); k := strpos(a, b)",
    "r := a::varchar(5) || '<' || b::char(4) || '>'; k := length(b::char(6))",
    "r := ltrim(b) || rtrim(b) || btrim(b) || '.'; k := length(r)",
    "r := replace(a, 'a', b) || repeat(b, 2) || lpad(a, 7, 'xy') || rpad(b, 9, ' ')",
    "if a < b then r := 'less'; elsif a = b then r := 'same'; else r := 'more'; end if; if a in ('abc', 'x', b) or b "
    "like '%a_b%' then k := 1; end if",
    "k := array_length(v, 1) + cardinality(v); z := array_append(v, i); r := w[2] || coalesce(w[i % 4], '-')",
    "k := array_position(v, 3); z := array_prepend(i, v || 7); r := array_position(w, a)::text",
    "if i = any(v) then k := 1; end if; if i > all(v) then k := k + 2; end if; if a = any(w) then r := 'in'; end if",
    "z := array[i, k, null, 4]; update texts set list[1 + i % 3] = i where id = i; k := z[1] + v[1]; r := (array['p', "
    "a, b])[2]",
    "z := '{}'; for j in 1 .. least(abs(i), 150) loop z := array_append(z, j); end loop; r := ''; for j in 1 .. 60 "
    "loop r := r || a || j; end loop; k := length(r)",
    "r := concat(a, n, d, null::text, x::numeric(12,2)) || least(a, b, 'm'); k := greatest(i, 7, length(b)) - least(i, "
    "null, 3); if "
    "greatest(x, 10.5) > 20 then k := 0; end if",
    "update texts set note = a, short = b::varchar(8) where id = i; select note into r from texts where id = i; r := "
    "coalesce(r, 'none')",
    "insert into words values (a || i, b, i); select count(*) into k from words where word = a || i; r := 'in'",
    "select name into r from texts where key = b; k := length(r); update texts set list = array_append(list, i), name "
    "= r || '!' where id = i; select list into z from texts where id = i",
    "update texts set name = 'n' || i where id = i; if x > 50 then raise exception 'too much'; end if; insert into "
    "words values (b || a || i, a, 1); r := b"};

enum { PROCS = ARRAY_LEN(bodies) };

static void set_up(void) {
    session_open(&db, &s);
    session_sql(s, "create table texts (id int primary key, key text not null, name text, note varchar(200), short "
                   "varchar(8), list int[] not null);"
                   "create table words (word text primary key, other text, n int);"
                   "insert into texts select i, case when i % 3 = 0 then '' else 'k' || i end, case when i % 5 = 0 "
                   "then null else 'name ' || i end, 'a note that is longer than others ' || i, 's', '{1,2}' "
                   "from generate_series(1, 300) g(i);"
                   "insert into words select 'abc' || i, 'o', i from generate_series(1, 20) g(i);");
}
static void tear_down(void) { session_close(db, s); }

/* ---- calls ---------------------------------------------------------------------------------------------------- */
static Str any_text(Arena *a) {
    static const char *const some[] = {"",
                                       "a",
                                       "abc",
                                       "x",
                                       " ab ",
                                       "  ",
                                       "Grüße",
                                       "aXbYaab",
                                       "k7",
                                       "k10",
                                       "a longer text, of more than sixteen bytes",
                                       "ab_b"};
    const char *p = some[to(ARRAY_LEN(some))];
    (void)a;
    return str_make(p, (int64_t)strlen(p));
}
static Str any_array(Arena *a, Phys phys) {
    int64_t n = to(6);
    uint8_t valid[6];
    int32_t ints[6];
    Str texts[6], out;
    for (int64_t i = 0; i < n; i++) {
        valid[i] = to(5) != 0;
        ints[i] = (int32_t)to(5);
        texts[i] = any_text(a);
        if (!valid[i]) texts[i] = str_make("", 0);
    }
    assert_int_equal(array_build(a, phys, n, phys == PH_I32 ? (void *)ints : (void *)texts, valid, &out, &err), ST_OK);
    return out;
}
static void make_calls(Arena *a, const Proc *p, Vec *params) {
    for (int32_t c = 0; c < PARAMS; c++) {
        int64_t size = phys_size((Phys)p->vars[c].phys);
        params[c] = (Vec){.data = arena_calloc(a, CALLS * size),
                          .valid = arena_calloc(a, CALLS),
                          .phys = p->vars[c].phys,
                          .type = p->vars[c].type};
        for (int64_t i = 0; i < CALLS; i++) {
            char *cell = (char *)params[c].data + i * size;
            params[c].valid[i] = to(12) != 0;
            if (!params[c].valid[i]) continue;
            switch (c) {
            case 0: *(int32_t *)(void *)cell = (int32_t)to(320); break;
            case 1: *(int64_t *)(void *)cell = to(3) ? to(2000) - 1000 : (int64_t)rnd() >> 20; break;
            case 2: { /* a parameter's scale is not kept */
                int128_t x = (to(2) ? to(40000) - 20000 : (int64_t)rnd() >> 30) * (int128_t)100000000000000;
                memcpy(cell, &x, sizeof x);
                break;
            }
            case 3: *(int32_t *)(void *)cell = (int32_t)to(40000) - 20000; break;
            case 4: *(int64_t *)(void *)cell = to(2) ? to(1000000000) * 1000000 : (int64_t)rnd() >> 9; break;
            case 7: *(Str *)(void *)cell = any_array(a, PH_I32); break;
            case 8: *(Str *)(void *)cell = any_array(a, PH_STR); break;
            default: *(Str *)(void *)cell = any_text(a);
            }
        }
    }
}

/* ---- what is seen ------------------------------------------------------------------------------------------------ */
static void see(FILE *f, uint8_t phys, const void *cells, const uint8_t *valid, int64_t i) {
    const char *cell = (const char *)cells + i * phys_size((Phys)phys);
    if (valid && !valid[i]) {
        fputs(" NULL", f);
    } else if (phys == PH_STR) {
        Str x;
        memcpy(&x, cell, sizeof x);
        fprintf(f, " %u:", x.len);
        for (uint32_t k = 0; k < x.len; k++) fprintf(f, x.ptr[k] >= 32 ? "%c" : "\\%02x", (unsigned char)x.ptr[k]);
        Str again = str_make(x.ptr, x.len);
        if (again.prefix != x.prefix) fprintf(f, " WRONG PREFIX");
    } else {
        int64_t v = 0;
        memcpy(&v, cell, (size_t)MIN_OF(phys_size((Phys)phys), INT64_C(8)));
        fprintf(f, " %lld", (long long)v);
    }
}
static char *seen(const Proc *const *procs, const BulkResult *r, ImageSet *images) {
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    int64_t tables[8] = {0};
    for (int32_t p = 0; p < PROCS; p++)
        for (int64_t i = 0; i < CALLS; i++) {
            const CallError *e = r->errors[p][i];
            fprintf(f, "%s %lld:", bodies[p], (long long)i);
            if (e) fprintf(f, " %s %s %s %d", e->sqlstate, e->message, e->detail ? e->detail : "", (int)e->line);
            for (int32_t o = 0; !e && o < procs[p]->n_outs; o++)
                see(f, r->outs[p][o].phys, r->outs[p][o].data, r->outs[p][o].valid, i);
            fputc('\n', f);
        }
    for (int32_t p = 0; p < PROCS; p++)
        for (int32_t k = 0; k < procs[p]->n_tables; k++) {
            int32_t t = 0;
            while (tables[t] && tables[t] != procs[p]->tables[k].table_id) t++;
            if (tables[t]) continue;
            tables[t] = procs[p]->tables[k].table_id;
            Image *im = images_find(images, tables[t]);
            if (device_copy_to_host(im, &err) != ST_OK || image_verify(im, false, &err) != ST_OK)
                fail_msg("%s", err.message);
            for (int64_t row = 0; row < im->rows; row++) {
                if (im->live[row] != ROW_LIVE) continue;
                fprintf(f, "%s:", im->table->name);
                for (int32_t c = 0; c < im->n_cols; c++)
                    if (im->cols[c].used)
                        see(f, im->cols[c].phys, image_cell(&im->cols[c], row),
                            image_is_valid(&im->cols[c], row) ? NULL : (const uint8_t *)"", 0);
                fputc('\n', f);
            }
        }
    fclose(f);
    return text;
}
static void same(const char *want, const char *got, const char *where) {
    if (strcmp(want, got) == 0) return;
    const char *w = want, *g = got;
    while (*w == *g) {
        w++, g++;
        if (w[-1] == '\n') want = w, got = g; /* the line */
    }
    fail_msg("%s: %.*s instead of %.*s", where, (int)strcspn(got, "\n"), got, (int)strcspn(want, "\n"), want);
}

/* ---- running
 * --------------------------------------------------------------------------------------------------------- */
typedef struct Place {
    const char *device;
    bool copies;
    Strategy strategy;
} Place; /* device NULL: the machine */
static const Place places[] = {{"host", false, STRATEGY_KSET},    {"host", true, STRATEGY_KSET},
                               {"host", true, STRATEGY_TPL},      {"opencl:0", false, STRATEGY_KSET},
                               {"opencl:0", true, STRATEGY_KSET}, {"cuda:0", true, STRATEGY_KSET},
                               {"cuda:0", true, STRATEGY_TPL}};

typedef struct Host {
    Devices *devices;
    Device *device;
    CodeCache *cache;
    struct DevRuntime *runtime;
} Host;
static bool host_open(Host *h, const char *device) {
    *h = (Host){0};
    if (devices_open(db->pool, &db->account, &h->devices, &err) != ST_OK) fail_msg("%s", err.message);
    if (devices_get(h->devices, device, &h->device, &err) != ST_OK) {
        print_message("skipped on %s: %s\n", device, err.message);
        err_clear(&err);
        devices_close(h->devices);
        return false;
    }
    if (code_cache_new(NULL, -1, &h->cache, &err) != ST_OK ||
        dev_runtime_new(h->device, h->cache, &db->account, &h->runtime, &err) != ST_OK)
        fail_msg("%s", err.message);
    return true;
}
static void host_close(Host *h) {
    dev_runtime_free(h->runtime);
    code_cache_drop_device(h->cache, h->device);
    code_cache_free(h->cache);
    devices_close(h->devices);
}

/* Two bulks of the same calls, one after the other. */
static char *run(Arena *a, const Proc *const *procs, const Place *place, struct DevRuntime *runtime) {
    QueryOptions q = {.pool = db->pool,
                      .threads = 2,
                      .vector_size = 64,
                      .account = &db->account,
                      .session = &s->info,
                      .device = {.runtime = runtime, .wait = true}};
    BulkOptions opt = {.query = &q,
                       .strategy = place ? place->strategy : STRATEGY_AUTO,
                       .compiled = place != NULL,
                       .copies = place && place->copies,
                       .step_limit = 5000};
    ImageSet *images = images_new(&db->account, NULL, &err);
    CallGroup groups[PROCS];
    char *text = NULL;
    seed = 99;
    for (int32_t p = 0; p < PROCS; p++) {
        Vec *params = arena_array(a, Vec, PARAMS);
        uint32_t *calls = arena_array(a, uint32_t, CALLS);
        make_calls(a, procs[p], params);
        for (uint32_t i = 0; i < CALLS; i++) calls[i] = i * PROCS + (uint32_t)p;
        groups[p] = (CallGroup){.proc = procs[p], .n = CALLS, .params = params, .calls = calls};
    }
    for (int round = 0; round < 2; round++) {
        BulkResult *r = NULL;
        if (images_get(images, &db->catalog, PROCS, procs, db->pool, &err) != ST_OK ||
            bulk_run(images, PROCS, groups, &opt, &r, &err) != ST_OK)
            fail_msg("%s", err.message);
        if (place && (strcmp(r->stats.executor, "compiled") != 0 || r->stats.reason))
            fail_msg("%s: %s", r->stats.executor, r->stats.reason);
        free(text);
        text = seen(procs, r, images);
        bulk_result_free(r);
    }
    for (int32_t p = 0; p < PROCS; p++) images_forget_proc(images, procs[p]);
    images_free(images);
    return text;
}
static void compile(Arena *a, Proc **procs) {
    PlFunction *f[PROCS];
    for (int k = 0; k < PROCS; k++) {
        char sql[2048];
        snprintf(sql, sizeof sql, "create procedure p%02d" ARGS " language plpgsql as $$ begin %s; end $$", k,
                 bodies[k]);
        session_sql(s, sql);
    }
    for (int k = 0; k < PROCS; k++)
        for (int32_t i = 0; i < db->catalog.n_routines; i++)
            if (atoi(db->catalog.routines[i]->name + 1) == k &&
                pl_of_routine(a, &db->catalog, db->catalog.routines[i], &f[k], &err) != ST_OK)
                fail_msg("%s", err.message);
    const PlSources in = {
        .catalog = &db->catalog, .session = &s->info, .n = PROCS, .functions = (const PlFunction *const *)f};
    PlCompiled out;
    if (pl_compile(&in, a, &out, &err) != ST_OK) fail_msg("%s", err.message);
    Proc *all = out.procs;
    for (int k = 0; k < PROCS; k++) {
        procs[k] = &all[k];
        if (procs[k]->reason) fail_msg("%s: %s", bodies[k], procs[k]->reason);
    }
}

static void test_same(void **state) {
    (void)state;
    set_up();
    Arena *a = arena_new(NULL, &err);
    Proc *procs[PROCS];
    compile(a, procs);
    char *want = run(a, (const Proc *const *)procs, NULL, NULL);
    if (getenv("STELE_SHOW")) printf("%s\n", want);
    for (int i = 0; i < (int)ARRAY_LEN(places); i++) {
        Host h;
        char where[64];
        if (!host_open(&h, places[i].device)) continue;
        snprintf(where, sizeof where, "%s%s, %s", places[i].device, places[i].copies ? " with copies" : "",
                 strategy_name(places[i].strategy));
        char *got = run(a, (const Proc *const *)procs, &places[i], h.runtime);
        same(want, got, where);
        free(got);
        host_close(&h);
    }
    free(want);
    arena_free(a);
    tear_down();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
