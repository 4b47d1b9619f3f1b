/* test_check.c - stele_check finds every damage of a directory and names the file; stele_read_log shows what was
 * committed. */
#include "api/api_int.h"
#include "unit.h"
#include "unit_api.h"
#include "unit_disk.h"
#include "unit_random.h"

static const char statements[] =
    "create type mood as enum ('sad', 'ok');"
    "create table a (id int primary key, b text, c mood, d int[], e numeric, f pg_lsn);"
    "insert into a select i, 'text ' || i, case i % 3 when 0 then 'ok' when 1 then 'sad' end::mood, array[i, null], i "
    "/ 7.0, "
    "'0/1'::pg_lsn + i from generate_series(1, 400) i; checkpoint;"
    "insert into a values (1000, 'new', 'ok', '{}', 1.50, null); update a set b = 'other' where id in (3, 5);"
    "delete from a where id = 7; create sequence q; select nextval('q');"
    "create table z as select i as x from generate_series(1, 300) i; create schema s; create table s.t (k int, v text);"
    "insert into s.t values (1, 'it''s'), (2, null); truncate z; insert into z values (-1);"
    "begin; alter table a add column g int default 4; insert into a (id) values (2000); commit";

/* What a power cut leaves behind what is done. */
static Disk *cut_behind(uint64_t seed, void (*work)(Disk *d, stele_conn *c)) {
    Disk *d = disk_new(seed);
    const stele_options o = {.threads = 1, .durable = true};
    stele_db *db;
    stele_conn *c;
    assert_int_equal(api_open("/db", &o, &d->vfs, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    work(d, c);
    Disk *left = disk_after_cut(d);
    stele_disconnect(c);
    assert_int_equal(stele_discard(db), STELE_OK);
    disk_free(d);
    return left;
}
static void change(Disk *d, stele_conn *c) {
    (void)d;
    api_run(c, "set auto_merge = off");
    api_run(c, statements);
}
/* A database that has a generation, and a log with records of all kinds. */
static Disk *crashed(void) { return cut_behind(7, change); }
/* Checkpoints that fail: the log goes on in a second and a third. */
static void change_beside_failures(Disk *d, stele_conn *c) {
    api_run(c, "create table t (a int primary key, b text); insert into t values (1, 'one')");
    d->broken = "/catalog";
    (void)api_fails(c, "checkpoint", "58030");
    api_run(c, "insert into t values (2, 'two'); update t set b = 'uno' where a = 1");
    (void)api_fails(c, "checkpoint", "58030");
    d->broken = NULL;
    api_run(c, "create table u (x int); insert into u values (4); insert into t values (5, 'five')");
}
/* A table with a file that goes on from an older one. */
static void change_a_little(Disk *d, stele_conn *c) {
    (void)d;
    api_run(c, "set auto_merge = off; create table t (a int, b text); insert into t select i, 'text ' || i % 7 from "
               "generate_series(1, 4000) g(i); vacuum t; checkpoint; delete from t where a = 9; insert into t values "
               "(0, 'one more'); checkpoint");
}
static Disk *with_a_base(uint64_t seed) { return cut_behind(seed, change_a_little); }
static Disk *with_a_chain(uint64_t seed) { return cut_behind(seed, change_beside_failures); }

/* ---- the check ---- */
typedef struct Found {
    char bad[2000]; /* "state name;" of each that is */
    char all[4000];
    int64_t offset; /* of the first bad one */
    const char *path;
} Found;
static void each_file(void *ctx, const stele_checked_file *f) {
    Found *x = ctx;
    char line[300];
    snprintf(line, sizeof line, "%s %s;", f->state, f->name);
    strncat(x->all, line, sizeof x->all - strlen(x->all) - 1);
    if (strcmp(f->state, "good") == 0 || strcmp(f->state, "unused") == 0) return;
    if (!x->bad[0]) x->offset = f->offset;
    strncat(x->bad, line, sizeof x->bad - strlen(x->bad) - 1);
    assert_true(f->problem[0] != 0);
}
static int64_t check(Disk *d, Found *x) {
    stele_error_info e;
    int64_t bad = -1;
    const int64_t ops = d->ops;
    *x = (Found){.offset = -1};
    if (api_check("/db", &d->vfs, each_file, x, &bad, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
    assert_int_equal(d->ops, ops); /* nothing was written */
    return bad;
}
static void a_good_one(void **state) {
    (void)state;
    Disk *d = crashed();
    Found x;
    disk_put(d, "/db/g2/99.tab", "x", 1);
    disk_put(d, "/db/CURRENT.tmp", "x", 1);
    if (check(d, &x) != 0) fail_msg("%s", x.bad);
    const char *const want[] = {"good LOCK;", "good CURRENT;",     "good g2/catalog;",   "good g2/log;",
                                "good ;",     "unused g2/99.tab;", "unused CURRENT.tmp;"};
    for (int i = 0; i < (int)ARRAY_LEN(want); i++)
        if (!strstr(x.all, want[i])) fail_msg("no %s in %s", want[i], x.all);
    disk_free(d);
}

static char *copy_of(const DiskBytes *b) {
    char *p = disk_memory(NULL, (size_t)b->len + 1);
    memcpy(p, b->p, (size_t)b->len);
    return p;
}
static void expect_named(Disk *d, const char *path, const char *how, int64_t at) {
    Found x;
    char named[200];
    snprintf(named, sizeof named, " %s;", path + strlen("/db/"));
    const int64_t bad = check(d, &x);
    if (bad < 1 || !strstr(x.bad, named)) fail_msg("%s %s at %lld: %s", path, how, (long long)at, x.bad);
    if (strncmp(x.bad, "damaged", 7) == 0 && strstr(how, "flip") && x.offset < 0) fail_msg("%s has no place", x.bad);
}
/* Every byte of every file, one bit of it. Large files: some bytes of each page. */
static void flip_bits(Disk *d) {
    int64_t n = 0;
    for (int64_t i = 0; i < d->durable.n; i++) {
        const char *path = d->durable.items[i].path;
        const DiskBytes *b = d->durable.items[i].file->durable;
        if (!b || strcmp(path, "/db/LOCK") == 0) continue;
        const int64_t step = b->len < 1500 ? 1 : b->len / 700;
        for (int64_t at = 0; at < b->len; at += step, n++) {
            Disk *copy = disk_after_cut(d);
            char *p = copy_of(b);
            p[at] = (char)(p[at] ^ 1 << rnd_below(8));
            disk_put(copy, path, p, b->len);
            expect_named(copy, path, "flip", at);
            free(p);
            disk_free(copy);
        }
    }
    print_message("%lld flips were named\n", (long long)n);
    disk_free(d);
}
static void bit_flips(void **state) {
    (void)state;
    flip_bits(crashed());
    flip_bits(with_a_chain(8));
    flip_bits(with_a_base(9));
}
/* What is not used of it any more, too; the file that goes on from it is not to blame. */
static void damaged_base(void **state) {
    (void)state;
    Disk *d = with_a_base(10);
    Found x;
    for (int64_t i = 0; i < d->durable.n; i++) {
        const char *path = d->durable.items[i].path;
        const DiskBytes *b = d->durable.items[i].file->durable;
        if (!strstr(path, ".part")) continue;
        Disk *copy = disk_after_cut(d);
        char *p = copy_of(b);
        p[b->len / 2] ^= 1;
        disk_put(copy, path, p, b->len);
        assert_int_equal(check(copy, &x), 2);
        if (!strstr(x.bad, "unchecked") || !strstr(x.bad, ".part")) fail_msg("%s", x.bad);
        disk_put(copy, path, NULL, 0);
        assert_int_equal(check(copy, &x), 2);
        if (!strstr(x.bad, "missing")) fail_msg("%s", x.bad);
        free(p);
        disk_free(copy);
    }
    assert_int_equal(check(d, &x), 0);
    if (!strstr(x.all, ".part")) fail_msg("%s", x.all);
    disk_free(d);
}
static char kind_of(const char *path) {
    return strstr(path, "catalog") ? 'c' : strstr(path, ".tab") ? 't' : strstr(path, "/log") ? 'l' : 'C';
}
/* Files that are cut, gone, or of another kind. */
static void damage_files(Disk *d) {
    for (int64_t i = 0; i < d->durable.n; i++) {
        const char *path = d->durable.items[i].path;
        const DiskBytes *b = d->durable.items[i].file->durable;
        if (!b || strcmp(path, "/db/LOCK") == 0) continue;
        const int64_t cuts[] = {0, 1, b->len / 2, b->len - 1};
        for (int k = 0; k < (int)ARRAY_LEN(cuts); k++) {
            Disk *copy = disk_after_cut(d);
            disk_put(copy, path, b->p, cuts[k]);
            expect_named(copy, path, "cut", cuts[k]);
            disk_free(copy);
        }
        Disk *copy = disk_after_cut(d);
        disk_put(copy, path, NULL, 0);
        expect_named(copy, path, "removed", 0);
        disk_free(copy);
        for (int64_t k = 0; k < d->durable.n; k++) {
            const DiskBytes *other = d->durable.items[k].file->durable;
            if (!other || other->len == 0 || kind_of(path) == kind_of(d->durable.items[k].path)) continue;
            copy = disk_after_cut(d);
            disk_put(copy, path, other->p, other->len);
            expect_named(copy, path, "swapped", k);
            disk_free(copy);
        }
    }
    disk_free(d);
}
static void other_damage(void **state) {
    (void)state;
    damage_files(crashed());
    damage_files(with_a_chain(8));
}
static const char *const chain_logs[] = {"/db/g1/log", "/db/g2/log", "/db/g3/log"};
/* The file `path` is another one, and then `named` does not belong there. */
static void exchange(Disk *d, const char *path, const Disk *from, const char *other, const char *named) {
    const DiskBytes *b = disk_find(&from->durable, other)->file->durable;
    Disk *copy = disk_after_cut(d);
    disk_put(copy, path, b->p, b->len);
    expect_named(copy, named, path, 0);
    disk_free(copy);
}
/* Logs that go on from each other, and those of another database. */
static void a_chain(void **state) {
    (void)state;
    Disk *d = with_a_chain(8), *stranger = with_a_chain(9);
    Found x;
    if (check(d, &x) != 0) fail_msg("%s", x.bad);
    const char *const want[] = {"good CURRENT;", "good g1/catalog;", "good g1/log;", "good g2/log;", "good g3/log;"};
    for (int i = 0; i < (int)ARRAY_LEN(want); i++)
        if (!strstr(x.all, want[i])) fail_msg("no %s in %s", want[i], x.all);
    for (int i = 0; i < (int)ARRAY_LEN(chain_logs); i++) {
        for (int k = 0; k < (int)ARRAY_LEN(chain_logs); k++)
            if (k != i) exchange(d, chain_logs[i], d, chain_logs[k], chain_logs[i]);
        exchange(d, chain_logs[i], stranger, chain_logs[i], chain_logs[i]);
    }
    exchange(d, "/db/CURRENT", stranger, "/db/CURRENT", chain_logs[0]);
    disk_free(d);
    disk_free(stranger);
}

static void refused(void **state) {
    (void)state;
    Disk *d = crashed();
    const stele_options o = {.threads = 1};
    stele_db *db;
    stele_error_info e;
    int64_t bad;
    assert_int_equal(api_check("/none", &d->vfs, NULL, NULL, &bad, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "58P01");
    assert_int_equal(api_open("/db", &o, &d->vfs, &db, NULL), STELE_OK);
    assert_int_equal(api_check("/db", &d->vfs, NULL, NULL, &bad, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "55006");
    assert_int_equal(api_read_log("/db", &d->vfs, 0, NULL, NULL, NULL, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "55006");
    assert_int_equal(stele_discard(db), STELE_OK);
    disk_free(d);
}

/* ---- the log ---- */
typedef struct Log {
    char text[6000];
    int64_t n, stop_at, last; /* records; last: LSN */
} Log;
static bool each_part(void *ctx, const stele_log_part *p) {
    Log *l = ctx;
    char line[300];
    l->n += p->first;
    l->last = p->lsn;
    assert_true(p->lsn > 0 && p->bytes > 0 && p->generation > 0 && p->timeline > 0 && p->database != 0);
    snprintf(line, sizeof line, "%s %s +%lld ~%lld -%lld;", p->kind, p->object, (long long)p->inserted,
             (long long)p->updated, (long long)p->deleted);
    strncat(l->text, line, sizeof l->text - strlen(l->text) - 1);
    return l->stop_at > 0 && l->n >= l->stop_at;
}
static bool each_row(void *ctx, const stele_log_row *r) {
    Log *l = ctx;
    char line[300];
    snprintf(line, sizeof line, "(%s", r->change);
    for (int64_t i = 0; i < r->n; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " %s=%s", r->names[i],
                 r->values[i] ? r->values[i] : "NULL");
    snprintf(line + strlen(line), sizeof line - strlen(line), ")");
    strncat(l->text, line, sizeof l->text - strlen(l->text) - 1);
    return false;
}
static void read_log(Disk *d, int64_t from, bool rows, Log *l) {
    stele_error_info e;
    if (api_read_log("/db", &d->vfs, from, each_part, rows ? each_row : NULL, l, &e) != STELE_OK)
        fail_msg("%s %s", e.sqlstate, e.message);
}
static void the_log(void **state) {
    (void)state;
    Disk *d = crashed();
    Log l = {.n = 0}, again = {.n = 0}, first = {.stop_at = 1};
    read_log(d, 0, true, &l);
    const char *const want[] = {
        "rows public.a +1 ~0 -0;(insert id=1000 b=new c=ok d={} e=1.50 f=NULL)",
        "rows public.a +0 ~2 -0;(update b=other)(update b=other)",
        "rows public.a +0 ~0 -1;(delete)",
        "sequence public.q",
        "table public.z",
        "rows s.t +2 ~0 -0;(insert k=1 v=it's)(insert k=2 v=NULL)",
        "create sequence public.q +0 ~0 -0;sequence public.q",
        "create schema s +0 ~0 -0;create table s.t +0 ~0 -0;rows",
        "rows public.z +1 ~0 -0;(insert x=-1)alter table public.a +0 ~0 -0;table public.a",
    };
    for (int i = 0; i < (int)ARRAY_LEN(want); i++)
        if (!strstr(l.text, want[i])) fail_msg("no %s in %s", want[i], l.text);
    read_log(d, l.last, false, &again);
    assert_int_equal(again.n, 1);
    assert_int_equal(again.last, l.last);
    read_log(d, 0, false, &first);
    assert_int_equal(first.n, 1);
    disk_free(d);
}
static bool each_continued(void *ctx, const stele_log_part *p) {
    Log *l = ctx;
    char line[300];
    snprintf(line, sizeof line, "%lld %s%s%s;", (long long)p->generation, p->kind,
             strcmp(p->kind, "continued") == 0 ? " in " : "", strcmp(p->kind, "continued") == 0 ? p->file : "");
    strncat(l->text, line, sizeof l->text - strlen(l->text) - 1);
    return false;
}
static void a_log_of_several(void **state) {
    (void)state;
    Disk *d = with_a_chain(8);
    Log l = {.n = 0}, last = {.n = 0};
    stele_error_info e;
    if (api_read_log("/db", &d->vfs, 0, each_continued, NULL, &l, &e) != STELE_OK) fail_msg("%s", e.message);
    assert_string_equal(l.text, "1 create table;1 rows;1 continued in g2/log;2 rows;2 rows;2 continued in g3/log;"
                                "3 create table;3 rows;3 rows;");
    read_log(d, 0, true, &last);
    if (!strstr(last.text, "rows public.t +1 ~0 -0;(insert a=5 b=five)")) fail_msg("%s", last.text);
    disk_free(d);
}
static void a_damaged_log(void **state) {
    (void)state;
    Disk *d = crashed();
    Log l = {.n = 0};
    stele_error_info e;
    const DiskBytes *b = disk_find(&d->durable, "/db/g2/log")->file->durable;
    char *p = copy_of(b);
    p[b->len / 2] ^= 1;
    disk_put(d, "/db/g2/log", p, b->len);
    free(p);
    assert_int_equal(api_read_log("/db", &d->vfs, 0, each_part, NULL, &l, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "XX001");
    assert_true(l.n > 0 && strstr(e.message, "/db/g2/log") && strstr(e.message, "offset"));
    disk_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_one),    cmocka_unit_test(bit_flips), cmocka_unit_test(damaged_base),
        cmocka_unit_test(other_damage),  cmocka_unit_test(refused),   cmocka_unit_test(the_log),
        cmocka_unit_test(a_damaged_log), cmocka_unit_test(a_chain),   cmocka_unit_test(a_log_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
