/* json_array.h - a file that is one JSON array of objects, as JSON lines.
 *
 * The bytes are changed where they are, as they are read: commas between elements become line ends, line ends elsewhere
 * and the array's brackets become blanks. All further reading is that of JSON lines, whose line number is the number of
 * the object.
 */
#ifndef STELE_IO_JSON_ARRAY_H
#define STELE_IO_JSON_ARRAY_H

#include "base/err.h"
#include "base/base.h"

typedef enum JsonLayout { JSON_AUTO, JSON_LINES, JSON_ARRAY } JsonLayout;

typedef struct JsonArray {
    JsonLayout layout; /* JSON_AUTO until the first byte that is no blank */
    bool begun, closed;
    bool in_string, escaped;
    bool element; /* one has begun since the last comma */
    bool comma;   /* there was one */
    int64_t depth;
} JsonArray;
/* The next n bytes of the file; end: there are no more. 22P04: something before or behind the array, or it does not
 * end. */
Status json_array_lines(JsonArray *j, char *p, int64_t n, bool end, Err *e);

#endif
