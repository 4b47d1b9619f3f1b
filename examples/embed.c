/* embed.c - a database inside a program: open, run SQL, read rows, handle errors, save, close. */
#include <stdio.h>
#include <stele/stele.h>

/* Called for every row of stele_exec; returning true would stop. */
static bool print_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) printf("%s%s = %s", i ? ", " : "", names[i], values[i] ? values[i] : "NULL");
    putchar('\n');
    return false;
}

static int complain(stele_conn *conn) {
    stele_error_info e;
    stele_error(conn, &e);
    fprintf(stderr, "%s: %s\n", e.sqlstate, e.message);
    return 1;
}

int main(int argc, char **argv) {
    /* A directory: what is in it now, and what CHECKPOINT or closing saves. Without one nothing is kept. */
    const char *path = argc > 1 ? argv[1] : ":memory:";
    stele_error_info e;
    stele_db *db;
    stele_conn *conn;
    if (stele_open(path, NULL, &db, &e) != STELE_OK) {
        fprintf(stderr, "%s: %s: %s\n", path, e.sqlstate, e.message);
        return 1;
    }
    if (stele_connect(db, &conn) != STELE_OK) return 1;
    if (stele_exec(
            conn,
            "create table city (name text primary key, country text not null, people int);"
            "insert into city values ('Tokyo', 'JP', 37435191), ('Delhi', 'IN', 29399141), ('Osaka', 'JP', null)",
            NULL, NULL) != STELE_OK)
        return complain(conn);
    if (stele_exec(conn, "select country, count(*) as cities, sum(people) as people from city group by 1 order by 1",
                   print_row, NULL) != STELE_OK)
        return complain(conn);

    /* Errors have a SQLSTATE, and say what they are about. The statement that failed has changed nothing. */
    if (stele_exec(conn, "insert into city values ('Cairo', 'EG', 1), ('Tokyo', 'JP', 2)", NULL, NULL) == STELE_ERROR) {
        stele_error(conn, &e);
        printf("%s: %s (table %s, constraint %s)\n", e.sqlstate, e.message, e.table_name, e.constraint_name);
    }
    if (stele_exec(conn, "select count(*) from city", print_row, NULL) != STELE_OK) return complain(conn);

    stele_disconnect(conn);
    if (stele_close(db, &e) != STELE_OK) {
        fprintf(stderr, "not saved: %s\n", e.message);
        stele_discard(db);
        return 1;
    }
    return 0;
}
