/* csv_int.h - between csv_*.c and files.c only (and their tests). */
#ifndef STELE_IO_CSV_INT_H
#define STELE_IO_CSV_INT_H

#include "io/blocks.h"
#include "io/files.h"

/* ---- csv_guess.c: the type of a column from texts ---------------------------------------------------------------- */
enum { GUESS_DATES = 16, GUESS_TIMES = 6 };
typedef struct Guess {
    int64_t values;      /* texts that are neither empty nor a word for NULL */
    uint32_t null_words; /* seen, by number */
    uint8_t can;         /* what all values are: GUESS_* of csv_guess.c */
    bool begun, point, comma, beyond, exponent, iso_time, iso_zone;
    int8_t scale_min, scale_max;   /* of values with a point */
    int8_t whole;                  /* most digits before it */
    uint32_t formats[GUESS_TIMES]; /* dates by bit, that all values are in */
} Guess;
typedef struct GuessRules {
    bool null_words; /* the usual words for NULL are looked for */
    bool no_comma;   /* 1,5 is not a number: the comma delimits, or numbers are said to have points */
    bool only_comma; /* numbers are said to have commas */
} GuessRules;
void guess_init(Guess *g);
void guess_add(Guess *g, const GuessRules *rules, Slice text, bool quoted);
/* What the column is: its type, and how its texts are read. The strings are in the arena or static. */
Status guess_type(const Guess *g, Arena *a, Type *type, const char **format, bool *comma, int32_t *n_nulls,
                  const Slice **nulls);
/* Whether a text looks like something with a meaning of its own (a number, a word, a date), for choosing delimiters. */
bool guess_knows(Slice text, char delimiter);

/* ---- csv_dialect.c ----------------------------------------------------------------------------------------------- */
enum { CSV_NO_QUOTE = 0xFF /* a byte that UTF-8 does not have */ };
typedef struct CsvColumn {
    const char *name;
    Type type;
    const char *format;
    bool comma;
    bool guessed; /* the type was */
    int32_t n_nulls;
    const Slice *nulls;
} CsvColumn;
typedef struct CsvFile {
    RowStream stream; /* first: the binder has a pointer to it */
    int32_t n_paths;
    const char *const *paths;
    CopyOptions o;
    int64_t skip_lines;
    int32_t n_header; /* texts of the first file's header record; 0: there is none */
    const Slice *header;
    CsvColumn *cols;
    int32_t n_cols;
    int64_t sampled; /* rows that were looked at */
    bool ignore_errors, pad;
    bool unknown_keys; /* JSON: are left out */
    JsonLayout layout; /* JSON */
} CsvFile;
typedef struct CsvGiven { /* what the statement says; the rest is found out */
    bool delimiter, quote, escape, has_header, header, skip, nulls, decimal, decimal_comma;
    bool all_text;
    int64_t sample_rows; /* below 0: all; 0: as many as usual */
    const char *date_format, *timestamp_format;
    int32_t n_nulls;
    const Slice *null_texts;
    int32_t n_types; /* of columns by name */
    const char **type_names;
    Type *types;
    int32_t n_cols; /* all columns: names, and types unless NULL */
    const char *const *names;
    const Type *col_types;
} CsvGiven;
/* Delimiter, quote, escape and lines to skip, as far as they are not given, from the beginning of a file; the usual
 * number of fields. whole: that is all of it. */
Status csv_dialect(Arena *a, const CsvGiven *given, Slice sample, bool whole, CsvFile *f, int32_t *n_fields);

/* ---- csv_sniff.c ------------------------------------------------------------------------------------------------- */
/* Completes f, whose paths are there: dialect, header, columns. */
Status csv_sniff(const FileFinder *finder, Arena *a, const CsvGiven *given, CsvFile *f, Err *e);

/* ---- json_sniff.c ------------------------------------------------------------------------------------------------ */
/* The same for JSON lines. */
Status json_sniff(const FileFinder *finder, Arena *a, const CsvGiven *given, CsvFile *f, Err *e);

/* ---- csv_read.c -------------------------------------------------------------------------------------------------- */
Status csv_begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e);

#endif
