/* arrow.c - columns in and out by Arrow's C data interface, without Arrow's library: a stream of the program's own
 * arrays under a name for FROM, a result as a record batch, and a bulk from a batch. Programs that have Arrow hand its
 * own structs over (in C++ arrow::ExportRecordBatchReader and arrow::ImportRecordBatch). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <stele/stele.h>

enum { ROWS = 5, COLUMNS = 3 };

/* Three columns, in the form that Arrow gives them: cells, offsets and bytes of strings, bits that say what is there.
 */
static const int32_t days[ROWS] = {19723, 19723, 19724, 19724, 19725};
static const int32_t ends[ROWS + 1] = {0, 6, 11, 17, 22, 28};
static const char cities[] = "ZurichBaselZurichBerneZurich";
static const double degrees[ROWS] = {3.5, 4.25, 0, -1.5, 2};
static const uint8_t known[] = {0x1b}; /* the third is NULL */

static const void *day_buffers[] = {NULL, days}, *city_buffers[] = {NULL, ends, cities},
                  *degree_buffers[] = {known, degrees}, *row_buffers[] = {NULL};

static void release_schema(struct ArrowSchema *s) { s->release = NULL; } /* all is static: nothing to free */
static void release_array(struct ArrowArray *a) { a->release = NULL; }

static struct ArrowSchema columns[COLUMNS], *column_of[COLUMNS] = {&columns[0], &columns[1], &columns[2]};
static struct ArrowArray arrays[COLUMNS], *array_of[COLUMNS] = {&arrays[0], &arrays[1], &arrays[2]};

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    (void)s;
    columns[0] = (struct ArrowSchema){.format = "tdD", .name = "day", .release = release_schema};
    columns[1] = (struct ArrowSchema){.format = "u", .name = "city", .release = release_schema};
    columns[2] =
        (struct ArrowSchema){.format = "g", .name = "degrees", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    *out = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = COLUMNS, .children = column_of, .release = release_schema};
    return 0;
}
/* One batch, then the end. */
static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    bool *done = s->private_data;
    *out = (struct ArrowArray){0};
    if (*done) return 0;
    *done = true;
    arrays[0] = (struct ArrowArray){.length = ROWS, .n_buffers = 2, .buffers = day_buffers, .release = release_array};
    arrays[1] = (struct ArrowArray){.length = ROWS, .n_buffers = 3, .buffers = city_buffers, .release = release_array};
    arrays[2] = (struct ArrowArray){
        .length = ROWS, .null_count = 1, .n_buffers = 2, .buffers = degree_buffers, .release = release_array};
    *out = (struct ArrowArray){.length = ROWS,
                               .n_buffers = 1,
                               .buffers = row_buffers,
                               .n_children = COLUMNS,
                               .children = array_of,
                               .release = release_array};
    return 0;
}
static const char *last_error(struct ArrowArrayStream *s) {
    (void)s;
    return NULL;
}
static void release_stream(struct ArrowArrayStream *s) { s->release = NULL; }

static stele_conn *conn;

static int complain(void) {
    stele_error_info e;
    stele_error(conn, &e);
    fprintf(stderr, "%s: %s\n", e.sqlstate, e.message);
    return 1;
}

/* A batch of: text, bigint, double precision. */
static void print_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch) {
    for (int64_t k = 0; k < schema->n_children; k++)
        printf("%s%s %s", k ? ", " : "", schema->children[k]->name, schema->children[k]->format);
    putchar('\n');
    const int64_t *text_ends = batch->children[0]->buffers[1], *counts = batch->children[1]->buffers[1];
    const char *text = batch->children[0]->buffers[2];
    const double *means = batch->children[2]->buffers[1];
    const uint8_t *there = batch->children[2]->buffers[0];
    for (int64_t i = 0; i < batch->length; i++) {
        printf("%.*s, %" PRId64 ", ", (int)(text_ends[i + 1] - text_ends[i]), text + text_ends[i], counts[i]);
        if (there[i >> 3] >> (i & 7) & 1) printf("%.2f\n", means[i]);
        else printf("NULL\n");
    }
}

int main(void) {
    stele_db *db;
    stele_stmt *s;
    bool done = false;
    struct ArrowArrayStream stream = {get_schema, get_next, last_error, release_stream, &done};
    struct ArrowSchema schema;
    struct ArrowArray batch;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;

    /* A name for this connection's statements; tables are made of it as of any other relation. */
    if (stele_register_arrow(conn, "weather", &stream) != STELE_OK) return complain();
    if (stele_exec(conn, "create table measured as select * from weather", NULL, NULL) != STELE_OK) return complain();
    stele_unregister(conn, "weather");

    if (stele_prepare(conn,
                      "select city, count(*) as days, avg(degrees) as mean from measured where day < '2024-01-04' "
                      "group by city order by city",
                      -1, &s, NULL) != STELE_OK)
        return complain();
    if (stele_fetch_arrow(s, 0, &schema, &batch) == STELE_ERROR) return complain();
    stele_finalize(s); /* the batch stays until it is released */
    print_batch(&schema, &batch);
    schema.release(&schema);
    batch.release(&batch);

    /* A bulk: a call for each row, and a batch of how they ended. */
    if (stele_exec(conn,
                   "create procedure correct(d date, c text, by double precision) language plpgsql as $$ begin"
                   "  if by is null then raise exception 'no correction for %', c; end if;"
                   "  update measured set degrees = degrees + by where day = d and city = c;"
                   "end $$",
                   NULL, NULL) != STELE_OK)
        return complain();
    stele_bulk *bulk;
    if (stele_bulk_new(conn, "correct", &bulk) != STELE_OK) return complain();
    done = false;
    get_schema(&stream, &schema);
    get_next(&stream, &batch);
    if (stele_bulk_add_arrow(bulk, &schema, &batch) != STELE_OK || stele_bulk_run(bulk) != STELE_OK) return complain();
    if (stele_bulk_get_arrow(bulk, &schema, &batch) != STELE_OK) return complain();
    stele_bulk_free(bulk);
    printf("%s, %s: %" PRId64 " calls, %" PRId64 " failed\n", schema.children[0]->name, schema.children[1]->name,
           batch.length, batch.length - batch.children[0]->null_count);
    schema.release(&schema);
    batch.release(&batch);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
