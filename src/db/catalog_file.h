/* catalog_file.h - the file of a database's catalog: definitions of tables, views, foreign keys and routines.
 *
 *     "STELECAT", i64 format = 1 (2: with foreign keys, 3: with routines, 4: with expected rows, 5: with what views
 *         read, 6: with unique indexes, 7: with numerics of any length, 8: with json; these are in a
 *         Type; 9: with enumerated types; 10: with domains; 11: with composite types; 12: with timetz,
 *         13: with polymorphic and variadic routines, 14: with bit strings, 15: with sequences, identity and generated
 *         columns, 16: with definitions of indexes and oids, 17: with comments): the lowest that has all there is
 *     i64 next table id
 *     format 9 and up: i64 types, each: i64 number, by which Types in this file name it, text name, i64 labels, each:
 *         i64 code, text label; codes ascend
 *     format 11 and up: i64 types, each: i64 number, likewise, u8 row type of a table, text name, i64 fields, each:
 * text name, Type; those that others have in their fields come first i64 tables, each: i64 id, text name, i64 columns,
 * each: text name, Type (8 bytes as in types/type.h), u8 not null, text default (NULL allowed) i64 keys, each: text
 * name, u8 primary, i64 columns, i64 column number ... i64 checks, each: text name, text expression i64 views, each:
 * text name, text query, i64 column names, text name (NULL allowed) ... format 2 and up: i64 foreign keys, each: text
 * name, text table, text referenced table, u8 on delete, u8 on update (a r c n d), i64 columns, each: text column, text
 * referenced column format 3 and up: i64 routines, each: i64 id, text name, u8 procedure, u8 returns set, u8 void, u8
 * record, u8 strict, u8 may write, u8 volatility (i s v), i64 parameters, each: text name (NULL allowed), u8 mode (i o
 * b t c; format 12 and up: v, an i that is VARIADIC), Type (format 12 and up: polymorphic ones, T_VOID with a PolyType
 * as length) i64 arguments, i64 of them with defaults, Type result (void: T_VOID), text language, text CREATE statement
 *     format 4 and up: i64 expected rows of each table, in the order of the tables (0: none)
 *     format 5 and up: for each view, in their order: i64 sources, each: i64 location in the query's text (1-based
 *         byte), text relation, i64 columns, each: text column of the relation, text its name in the query. A view
 *         without sources is an older file's: its names mean what they mean now
 *     format 6 and up: for each table, in their order: for each of its keys u8 made by CREATE UNIQUE INDEX; then i64
 *         indexes with computed keys, each: text name, text predicate (NULL allowed), u8 NULLs not distinct,
 *         i64 parts, text expression ...
 *     format 10 and up: i64 domains, each: i64 id, text name, Type, i64 id of its parent (0: none), u8 not null, text
 * default (NULL allowed), i64 checks, each: text name, text expression, u8 not valid; ids ascend. Then for each column
 * of each table i64 domain (0: none), and for each routine i64 domain of its result and of each parameter
 *     format 15 and up: i64 sequences, each: i64 id, text name, Type, i64 start, i64 increment, i64 least,
 *         i64 greatest, i64 cache, i64 number given last, i64 log_cnt, u8 it was given, u8 cycle, u8 of an identity
 *         column, text table, text column that it goes with (NULL allowed). Then for each column of each table
 *         u8 kind (storage/table.h: 0, a, d, s)
 *     format 17 and up: i64 indexes, each: text name, text table, text access method, u8 unique (then the table has a
 *         key of that name), u8 NULLs not distinct, u8 clustered, text predicate (NULL allowed), i64 parts, each:
 *         text expression, text operator class, text collation (NULL allowed), u8 descending, u8 NULLs first,
 *         i64 statistics target; i64 included columns, text name ...; i64 parameters, text name=value ... Unique
 *         indexes of lower formats have no more to say than their tables' keys
 *     format 18 and up: i64 comments, each: u8 kind (catalog/comment.h), i64 routine (0: another kind), text name,
 *         text part, text comment
 *     format 20, of jsonpath (in a Type), deferrable constraints, ON COMMIT DELETE ROWS and what else foreign keys may
 * have (ON UPDATE is c there, too): for each table u8 on commit (0; once d), and for each of its keys u8 deferrable, u8
 * initially deferred; then for each foreign key u8 MATCH FULL, u8 deferrable, u8 initially deferred, u8 not valid, i64
 *         columns that ON DELETE sets (0: all of them), text ...
 *     format 23: i64 schemas but for those that are always there, each: i64 id, text name; then for each routine text
 *         search path (NULL: public). Names of objects are keys (base/key.h): those of lower formats are all in the
 *         schema public
 *     format 25, of aggregates: routines of language "internal", whose text is CREATE AGGREGATE
 *     format 26: for each table, and then for each sequence, u8 unlogged
 *     format 28: of pg_lsn (in a Type)
 *     u64 checksum of everything before
 *
 * Temporary objects are not in it.
 *
 * Integers are little-endian; text: i64 length (-1 = NULL), bytes.
 */
#ifndef STELE_DB_CATALOG_FILE_H
#define STELE_DB_CATALOG_FILE_H

#include "base/bytes.h"
#include "base/vfs.h"
#include "catalog/catalog.h"

/* The bytes of the file, appended to what `o` has: nothing. */
Status catalog_file_put(const Catalog *c, BytesOut *o);
/* One of its objects: what the file has of it, appended to `o`, but for the numbers of a sequence; its key
 * (base/key.h). */
typedef enum CatalogKind {
    CATALOG_TABLE,
    CATALOG_VIEW,
    CATALOG_FOREIGN_KEY,
    CATALOG_ROUTINE,
    CATALOG_DOMAIN,
    CATALOG_SEQUENCE,
    CATALOG_INDEX,
    CATALOG_SCHEMA,
    CATALOG_ROLE,
    CATALOG_KINDS
} CatalogKind;
int64_t catalog_object_count(const Catalog *c, CatalogKind kind);
const char *catalog_put_object(const Catalog *c, CatalogKind kind, int64_t i, BytesOut *o);
/* The bytes of such a file, appended to `o`, as they are. XX001: it is missing. */
Status catalog_file_get(Vfs *vfs, const char *path, BytesOut *o, Err *e);
/* Fills an empty catalog; tables are charged to `account` and have no rows yet. What is needed meanwhile is in `a`.
 * XX001 when the file is missing or damaged; the catalog then has a part of it. */
Status catalog_file_load(Catalog *c, Vfs *vfs, const char *path, MemAccount *account, Arena *a, Err *e);
/* The same of bytes that such a file has, `what` being named in errors. */
Status catalog_bytes_load(Catalog *c, const char *p, int64_t bytes, const char *what, MemAccount *account, Arena *a,
                          Err *e);
/* The checksum at their end, which stands for all of them; 0: they are too short. */
uint64_t catalog_bytes_seal(const char *p, int64_t len);
/* Catalog.next_id of a file, all of which is read and compared with its checksum. XX001 as above. */
Status catalog_file_next_id(Vfs *vfs, const char *path, Arena *a, int64_t *next_id, Err *e);

#endif
