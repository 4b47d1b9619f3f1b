/* copy_binary.h - COPY's format binary, as PostgreSQL has it: a signature, flags, an extension; rows as counts of
 * fields and fields as lengths and the types' binary forms (send and receive), in network order; -1 at the end.
 *
 * Types without an OID of their own that PostgreSQL would share (enumerated and composite ones) can be columns, and not
 * elements of arrays or fields of rows, which name their types: 0A000.
 */
#ifndef STELE_IO_COPY_BINARY_H
#define STELE_IO_COPY_BINARY_H

#include "io/copy.h"

bool copy_is_binary(const AstCopy *stmt); /* FORMAT binary */
Status copy_binary_to(const CopySource *from, CopyWrite write, void *ctx, int64_t *n_rows, Err *e);
/* As copy_from. 22P04: not of the format, or not of the types. */
Status copy_binary_from(const CopyTarget *t, CopyRead read, void *ctx, UndoLog *undo, int64_t *rows, Err *e);

#endif
