/* fuzz_csv.c - any bytes as the input of COPY FROM STDIN. The first byte chooses the form, the second how the bytes
 * arrive; what was loaded goes out again through COPY TO STDOUT. */
#include "fuzz.h"

typedef struct Input {
    const uint8_t *p;
    size_t left, step;
} Input;

static int64_t read_input(void *ctx, char *buf, int64_t size) {
    Input *in = ctx;
    size_t n = in->left < in->step ? in->left : in->step;
    if (n > (size_t)size) n = (size_t)size;
    memcpy(buf, in->p, n);
    in->p += n;
    in->left -= n;
    return (int64_t)n;
}
static bool write_output(void *ctx, const char *data, int64_t size) {
    Input *in = ctx;
    for (int64_t i = 0; i < size; i++) in->step += (unsigned char)data[i] != 0; /* reads every byte */
    return true;
}

static const char *const tables[] = {
    "create table t(a int, b text, c numeric(12,2), d date)",
    "create table t(a text)",
    "create table t(a double precision, b timestamp, c boolean, d varchar(5), e interval)",
    "create table t(a bigint primary key, b char(3) not null, c bytea, d time)",
};
static const char *const forms[] = {
    "copy t from stdin with (format csv)",
    "copy t from stdin with (format text)",
    "copy t from stdin with (format tbl)",
    "copy t from stdin with (format csv, header, delimiter ';', null 'N')",
    "copy t from stdin with (format csv, quote '''', escape '\\')",
    "copy t from stdin with (format text, delimiter ',', null '')",
    "copy t from stdin with (format csv, header match)",
    "copy t(a) from stdin with (format csv)",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    stele_db *db = fuzz_open(NULL);
    stele_conn *c;
    fuzz_must(stele_connect(db, &c) == STELE_OK, "stele_connect");
    fuzz_run(c, tables[(data[0] >> 3) & 3]);
    Input in = {data + 2, size - 2, (size_t)data[1] + 1};
    stele_set_copy_streams(c, read_input, write_output, &in);
    uint64_t sum = 0;
    (void)stele_exec(c, forms[data[0] & 7], NULL, NULL);
    fuzz_must(stele_exec(c, "select * from t", fuzz_read_row, &sum) == STELE_OK, "select after copy");
    fuzz_must(stele_exec(c, data[0] & 1 ? "copy t to stdout" : "copy t to stdout with (format csv, header)", NULL,
                         NULL) == STELE_OK,
              "copy to stdout");
    stele_disconnect(c);
    stele_error_info e;
    fuzz_must(stele_close(db, &e) == STELE_OK, "stele_close");
    return 0;
}
