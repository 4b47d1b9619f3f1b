/* fuzz_sql.c - any text as SQL on a small database: parser, binder, optimizer, execution, sessions. */
#include <strings.h>

#include "fuzz.h"

static const char schema[] =
    "create table t(a int primary key, b text, c numeric(12,2), d date, e double precision, f boolean);"
    "insert into t select i, 'row ' || i, i * 1.25, date '2020-01-01' + i, i / 3.0, i % 2 = 0 from generate_series(1, "
    "50) g(i);"
    "insert into t values (51, null, null, null, null, null);"
    "create table u(a bigint, k smallint, s varchar(10), p char(4), ts timestamp, y bytea);"
    "insert into u select i * 7, i % 5, 'k' || (i % 5), 'p', timestamp '2021-01-01' + i * interval '1 hour', 'x' from "
    "generate_series(1, 30) g(i);"
    "create view v as select t.a, u.s, c from t join u on t.a = u.a;"
    "set statement_timeout = 200; set memory_limit = '64MB'";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *sql = malloc(size + 1);
    fuzz_must(sql != NULL, "out of memory");
    memcpy(sql, data, size);
    sql[size] = 0;
    /* COPY with a file name would write wherever a mutation points. */
    if (strcasestr(sql, "copy")) goto done;
    stele_db *db = fuzz_open(NULL);
    stele_conn *c;
    fuzz_must(stele_connect(db, &c) == STELE_OK, "stele_connect");
    fuzz_run(c, schema);
    uint64_t sum = 0;
    (void)stele_exec(c, sql, fuzz_read_row, &sum);
    stele_disconnect(c);
    stele_error_info e;
    fuzz_must(stele_close(db, &e) == STELE_OK, "stele_close");
done:
    free(sql);
    return 0;
}
