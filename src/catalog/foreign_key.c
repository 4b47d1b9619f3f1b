/* foreign_key.c - see foreign_key.h. */
#include "catalog/foreign_key.h"

int foreign_parent_key(const Table *parent, const ForeignKey *f) {
    for (int k = 0; k < parent->n_keys; k++) {
        bool same = parent->keys[k].n_cols == f->n_cols && !parent->keys[k].deferrable;
        for (int j = 0; same && j < f->n_cols; j++) {
            bool found = false;
            for (int i = 0; i < f->n_cols; i++)
                found |= strcmp(parent->cols[parent->keys[k].cols[j]].name, f->ref_cols[i]) == 0;
            same = found;
        }
        if (same) return k;
    }
    return -1;
}
