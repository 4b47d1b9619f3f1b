/* fuzz_files.c - any bytes as a file that is read as a table. The first byte chooses the reader, and how many columns
 * are wanted; the file is one in memory. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static const char *const readers[] = {"read_parquet", "read_parquet", "read_json", "read_csv", "read_arrow"};
enum { READERS = sizeof readers / sizeof readers[0] };

static void try_run(stele_conn *c, const char *sql, uint64_t *sum) {
    stele_error_info e;
    if (stele_exec(c, sql, fuzz_read_row, sum) == STELE_OK) return;
    stele_error(c, &e);
    /* no error says that the library is wrong */
    fuzz_must(strcmp(e.sqlstate, "XX000") != 0, e.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static stele_db *db;
    stele_conn *c;
    char from[100], sql[300];
    uint64_t sum = 0;
    if (size < 2) return 0;
    if (!db) db = fuzz_open(NULL); /* kept: opening takes longer than most files */
    int fd = memfd_create("fuzz", 0);
    fuzz_must(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1, "memfd");
    fuzz_must(stele_connect(db, &c) == STELE_OK, "stele_connect");
    fuzz_run(c, "set statement_timeout = '2s'");
    snprintf(from, sizeof from, "%s('/proc/self/fd/%d')", readers[data[0] % READERS], fd);
    snprintf(sql, sizeof sql, "select * from %s", from);
    try_run(c, sql, &sum);
    if (data[0] & 128) {
        snprintf(sql, sizeof sql, "create table t as select * from %s", from);
        try_run(c, sql, &sum);
        stele_exec(c, "drop table if exists t", NULL, NULL);
    }
    snprintf(sql, sizeof sql, "select count(*) from %s x where x is not null limit 1", from);
    try_run(c, sql, &sum);
    stele_disconnect(c);
    close(fd);
    return 0;
}
