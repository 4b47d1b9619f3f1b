/* fuzz_db.c - damaged database directories. A small valid database is saved once; each input is a list of patches over
 * its files, and the result is opened and read in full. Checksums are off in this build: what is tested is that shapes
 * are checked, so that damage ends in an error.
 *
 * A patch is five bytes and its data: file (low 2 bits) and kind (bit 7: cut the file there), u16 offset from the
 * start, or from the end (bit 6), length 0..15 of the data, and a byte for the multiplier of the offset. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { N_FILES = 4, MAX_PATH = 160 };
typedef struct File {
    const char *name;
    uint8_t *bytes;
    size_t size;
} File;
static File files[N_FILES] = {{.name = "CURRENT"}, {.name = "g1/catalog"}, {.name = "g1/1.tab"}, {.name = "g1/2.tab"}};
static char dir[MAX_PATH - 40];

static void path_of(char *out, const char *name) { snprintf(out, MAX_PATH, "%s/%s", dir, name); }

static void remove_dir(void) {
    char cmd[MAX_PATH + 16];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    if (system(cmd) != 0) perror(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    snprintf(dir, sizeof dir, "%s/stele-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    fuzz_must(mkdtemp(dir) != NULL, "mkdtemp");
    atexit(remove_dir);
    stele_db *db = fuzz_open(dir);
    stele_conn *c;
    stele_error_info e;
    fuzz_must(stele_connect(db, &c) == STELE_OK, "stele_connect");
    fuzz_run(
        c,
        "create table t(a int primary key, b text, c numeric(12,2), d date default current_date, e double precision);"
        "insert into t select i, 'name ' || i % 7, i * 1.5, date '2020-01-01' + i, i / 7.0 from generate_series(1, "
        "100) g(i);"
        "delete from t where a % 10 = 3;"
        "create table u(k varchar(8) unique, n bigint check (n > 0), s text);"
        "insert into u values ('one', 1, null), ('two', 2, 'a longer text than a view holds inline'), ('three', 3, '');"
        "create view v as select t.a, u.s from t join u on t.a = u.n");
    stele_disconnect(c);
    fuzz_must(stele_close(db, &e) == STELE_OK, "stele_close");
    for (int i = 0; i < N_FILES; i++) {
        char path[MAX_PATH];
        struct stat st;
        path_of(path, files[i].name);
        int fd = open(path, O_RDONLY);
        fuzz_must(fd >= 0 && fstat(fd, &st) == 0, path);
        files[i].size = (size_t)st.st_size;
        files[i].bytes = malloc(files[i].size);
        fuzz_must(files[i].bytes && read(fd, files[i].bytes, files[i].size) == st.st_size, path);
        close(fd);
    }
    return 0;
}

static void write_file(const char *name, const uint8_t *bytes, size_t size) {
    char path[MAX_PATH];
    path_of(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, path);
    close(fd);
}

static bool each_name(void *ctx, const char *name, const char *kind, int64_t rows) {
    (void)kind, (void)rows;
    char(*names)[80] = ctx;
    for (int i = 0; i < 8; i++)
        if (!names[i][0]) {
            snprintf(names[i], 80, "%s", name);
            return false;
        }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[MAX_PATH];
    path_of(path, "g1");
    (void)mkdir(path, 0700); /* a CURRENT that was damaged into another valid one makes the open tidy g1 away */
    uint8_t *copy[N_FILES];
    size_t len[N_FILES];
    for (int i = 0; i < N_FILES; i++) {
        len[i] = files[i].size;
        copy[i] = malloc(len[i] + 1);
        fuzz_must(copy[i] != NULL, "out of memory");
        memcpy(copy[i], files[i].bytes, len[i]);
    }
    bool patched = size >= 5;
    while (size >= 5) {
        int f = data[0] & 3;
        size_t off = ((size_t)data[1] | (size_t)data[2] << 8) * (data[4] & 7 ? 1 : 8), n = data[3] & 15;
        if (data[0] & 0x40) off = off < len[f] ? len[f] - off : 0;
        bool cut = data[0] & 0x80;
        data += 5, size -= 5;
        if (n > size) n = size;
        if (off <= len[f] && cut) len[f] = off;
        for (size_t i = 0; i < n && off + i < len[f]; i++) copy[f][off + i] = data[i];
        data += n, size -= n;
    }
    for (int i = 0; i < N_FILES; i++) {
        write_file(files[i].name, copy[i], len[i]);
        free(copy[i]);
    }
    stele_options opt = {.threads = 1, .memory_limit = 64 << 20};
    stele_db *db = NULL;
    stele_error_info e;
    if (stele_open(dir, &opt, &db, &e) != STELE_OK) {
        fuzz_must(patched, "the undamaged database does not open");
        fuzz_must(strlen(e.sqlstate) == 5 && *e.message, "an error without a message");
        return 0;
    }
    stele_conn *c;
    fuzz_must(stele_connect(db, &c) == STELE_OK, "stele_connect");
    static char names[8][80];
    memset(names, 0, sizeof names);
    (void)stele_list_tables(c, each_name, names);
    uint64_t sum = 0;
    (void)stele_exec(c, "set statement_timeout = 1000", NULL, NULL);
    for (int i = 0; i < 8 && names[i][0]; i++) {
        static const char *const queries[] = {"select * from \"%s\"",
                                              "select count(*) from \"%s\" where \"%s\" is not null",
                                              "delete from \"%s\"", "vacuum \"%s\""};
        for (int q = 0; q < 4; q++) {
            char sql[256];
            snprintf(sql, sizeof sql, queries[q], names[i], names[i]);
            (void)stele_exec(c, sql, fuzz_read_row, &sum);
        }
    }
    stele_disconnect(c);
    (void)stele_close(db, &e);
    return 0;
}
