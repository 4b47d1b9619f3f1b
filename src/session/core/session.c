/* session.c - running statements, transactions, results. See session.h. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "catalog/system_relation.h"
#include "session/system/functions.h"
#include "session/system/objects.h"
#include "base/log.h"
#include "db/published.h"
#include "db/redo.h"
#include "catalog/similar_names.h"
#include "session/pool/bulk.h"
#include "session/pool/callpool.h"
#include "session/pl/pl_eval.h"
#include "types/range_errors.h"
#include "session/pl/pl_run.h"
#include "session/core/advisory.h"
#include "session/core/ahead.h"
#include "session/core/changes.h"
#include "session/core/checkpointer.h"
#include "catalog/names.h"
#include "session/core/cursor.h"
#include "session/core/plancache.h"
#include "session/core/idle.h"
#include "session/core/result_stream.h"
#include "session/core/transaction.h"
#include "session/core/upkeep.h"
#include "session/core/xact.h"
#include "sql/bind/bind.h"
#include "sql/lower/lower.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"
#include "sql/plan/client_rows.h"
#include "storage/merge.h"
#include "storage/undo_edits.h"

/* ---- catalog undo ----------------------------------------------------------------------- */

typedef enum CatalogUndoKind {
    CU_ADDED_TABLE,
    CU_DROPPED_TABLE,
    CU_ADDED_VIEW,
    CU_DROPPED_VIEW,
    CU_REPLACED_VIEW,
    CU_ADDED_FOREIGN,
    CU_DROPPED_FOREIGN,
    CU_ADDED_ROUTINE,
    CU_DROPPED_ROUTINE,
    CU_ADDED_DOMAIN,
    CU_DROPPED_DOMAIN,
    CU_ADDED_SEQUENCE,
    CU_DROPPED_SEQUENCE,
    CU_ADDED_INDEX,
    CU_DROPPED_INDEX,
    CU_ADDED_COMMENT,
    CU_DROPPED_COMMENT,
    CU_ADDED_ROLE,
    CU_DROPPED_ROLE,
    CU_ADDED_PRIVILEGES,
    CU_DROPPED_PRIVILEGES,
    CU_ADDED_ROW_SECURITY,
    CU_DROPPED_ROW_SECURITY,
    CU_ADDED_SCHEMA,
    CU_DROPPED_SCHEMA,
    CU_EXPECTED_ROWS,
    CU_ENUM,
    CU_COMPOSITE,
    CU_RANGE
} CatalogUndoKind;
struct CatalogUndo {
    CatalogUndo *next;
    CatalogUndoKind kind;
    Table *table;
    View *view, *old_view;
    ForeignKey *foreign;
    Routine *routine;
    Domain *domain;
    Sequence *sequence;
    IndexDef *index;
    Comment *comment;
    Role *role;
    Privileges *privileges;
    RowSecurity *row_security;
    Schema *schema;
    int64_t expected_rows; /* of the table before */
    const EnumType *enum_from, *enum_to;
    const CompositeType *row_from, *row_to;
    const RangeType *range_from, *range_to;
};

/* Objects go that others may belong to, or parts of them. */
static bool takes_away(CatalogUndoKind kind) {
    switch (kind) {
    case CU_DROPPED_TABLE:
    case CU_DROPPED_VIEW:
    case CU_REPLACED_VIEW:
    case CU_DROPPED_FOREIGN:
    case CU_DROPPED_ROUTINE:
    case CU_DROPPED_DOMAIN:
    case CU_DROPPED_SEQUENCE:
    case CU_DROPPED_INDEX:
    case CU_DROPPED_SCHEMA:
    case CU_ENUM:
    case CU_COMPOSITE:
    case CU_RANGE: return true;
    default: return false;
    }
}
static bool is_temporary_routine(const Session *s, int64_t id) {
    const Routine *r = catalog_routine_by_id(&s->db->catalog, id);
    for (const CatalogUndo *u = s->catalog_undo; u && !r; u = u->next)
        if (u->routine && u->routine->id == id) r = u->routine;
    return r && key_is_temporary(r->name);
}
/* Of an object of a temporary schema. */
static bool is_temporary(const Session *s, const CatalogUndo *u) {
    switch (u->kind) {
    case CU_ADDED_TABLE:
    case CU_DROPPED_TABLE:
    case CU_EXPECTED_ROWS: return key_is_temporary(u->table->name);
    case CU_ADDED_VIEW:
    case CU_DROPPED_VIEW:
    case CU_REPLACED_VIEW: return key_is_temporary(u->view->name);
    case CU_ADDED_FOREIGN:
    case CU_DROPPED_FOREIGN: return key_is_temporary(u->foreign->table);
    case CU_ADDED_ROUTINE:
    case CU_DROPPED_ROUTINE: return key_is_temporary(u->routine->name);
    case CU_ADDED_SEQUENCE:
    case CU_DROPPED_SEQUENCE: return key_is_temporary(u->sequence->name);
    case CU_ADDED_INDEX:
    case CU_DROPPED_INDEX: return key_is_temporary(u->index->name);
    case CU_ADDED_ROW_SECURITY:
    case CU_DROPPED_ROW_SECURITY: return key_is_temporary(u->row_security->table);
    case CU_ADDED_COMMENT:
    case CU_DROPPED_COMMENT:
        return u->comment->routine ? is_temporary_routine(s, u->comment->routine) : key_is_temporary(u->comment->name);
    case CU_ADDED_PRIVILEGES:
    case CU_DROPPED_PRIVILEGES:
        return u->privileges->routine ? is_temporary_routine(s, u->privileges->routine)
                                      : key_is_temporary(u->privileges->name);
    default: return false;
    }
}
/* Changes the catalog and remembers how to take it back: both or neither. */
static Status change(Session *s, CatalogUndoKind kind, Table *t, View *v, ForeignKey *f, Routine *q) {
    Catalog *c = &s->db->catalog;
    CatalogUndo *u = mem_calloc(&s->account, (int64_t)sizeof *u, &s->err);
    if (!u) return ST_ERROR;
    *u = (CatalogUndo){.next = s->catalog_undo,
                       .kind = kind,
                       .table = t,
                       .view = v,
                       .foreign = f,
                       .routine = q,
                       .expected_rows = t ? t->expected_rows : 0};
    Status r = ST_OK;
    switch (kind) {
    case CU_ADDED_TABLE: r = catalog_add_table(c, t, &s->err); break;
    case CU_DROPPED_TABLE: (void)catalog_remove_table(c, slice_of(t->name)); break;
    case CU_ADDED_VIEW: r = catalog_add_view(c, v, &s->err); break;
    case CU_DROPPED_VIEW: catalog_remove_view(c, v); break;
    case CU_REPLACED_VIEW: break; /* session_replace_view does it */
    case CU_ADDED_FOREIGN: r = catalog_add_foreign(c, f, &s->err); break;
    case CU_DROPPED_FOREIGN: catalog_remove_foreign(c, f); break;
    case CU_ADDED_ROUTINE: r = catalog_add_routine(c, q, &s->err); break;
    case CU_DROPPED_ROUTINE: catalog_remove_routine(c, q); break;
    case CU_ADDED_DOMAIN:
    case CU_DROPPED_DOMAIN: break; /* session_add_domain and session_drop_domain do it */
    case CU_ADDED_SEQUENCE:
    case CU_DROPPED_SEQUENCE: break; /* session_add_sequence and session_drop_sequence do it */
    case CU_ADDED_INDEX:
    case CU_DROPPED_INDEX: break; /* session_add_index and session_drop_index do it */
    case CU_ADDED_COMMENT:
    case CU_DROPPED_COMMENT: break; /* session_add_comment and session_drop_comment do it */
    case CU_ADDED_ROLE:
    case CU_DROPPED_ROLE:
    case CU_ADDED_PRIVILEGES:
    case CU_DROPPED_PRIVILEGES:
    case CU_ADDED_ROW_SECURITY:
    case CU_DROPPED_ROW_SECURITY: break; /* session_add_role and the others do it */
    case CU_ADDED_SCHEMA:
    case CU_DROPPED_SCHEMA: break; /* session_add_schema and session_drop_schema do it */
    case CU_COMPOSITE: break;      /* session_put_composite does it */
    case CU_RANGE: break;          /* session_put_range does it */
    case CU_ENUM: break;           /* session_put_enum does it */
    case CU_EXPECTED_ROWS: break;  /* session_expect_rows does it */
    }
    if (r != ST_OK) {
        mem_free(&s->account, u, (int64_t)sizeof *u);
        return r;
    }
    s->catalog_undo = u;
    s->has_dropped |= takes_away(kind);
    return ST_OK;
}

static Status name_is_allowed(Session *s, const char *name) {
    if (system_relation_find(NULL, name) < 0) return ST_OK;
    err_set(&s->err, ERR_RESERVED_NAME, "relation name \"%s\" is reserved", name);
    err_hint(&s->err, "It is that of a system relation. Choose another.");
    return ST_ERROR;
}
Status session_add_table(Session *s, Table *t) {
    TRY(name_is_allowed(s, t->name));
    return change(s, CU_ADDED_TABLE, t, NULL, NULL, NULL);
}
Status session_drop_table(Session *s, Table *t) { return change(s, CU_DROPPED_TABLE, t, NULL, NULL, NULL); }
Status session_add_view(Session *s, View *v) {
    TRY(name_is_allowed(s, v->name));
    return change(s, CU_ADDED_VIEW, NULL, v, NULL, NULL);
}
Status session_drop_view(Session *s, View *v) { return change(s, CU_DROPPED_VIEW, NULL, v, NULL, NULL); }
Status session_replace_view(Session *s, View *old, View *v) {
    TRY(name_is_allowed(s, v->name));
    TRY(change(s, CU_REPLACED_VIEW, NULL, v, NULL, NULL));
    s->catalog_undo->old_view = old;
    catalog_replace_view(&s->db->catalog, old, v);
    return ST_OK;
}
Status session_add_foreign(Session *s, ForeignKey *f) { return change(s, CU_ADDED_FOREIGN, NULL, NULL, f, NULL); }
Status session_drop_foreign(Session *s, ForeignKey *f) { return change(s, CU_DROPPED_FOREIGN, NULL, NULL, f, NULL); }
Status session_add_routine(Session *s, Routine *r) { return change(s, CU_ADDED_ROUTINE, NULL, NULL, NULL, r); }
Status session_drop_routine(Session *s, Routine *r) { return change(s, CU_DROPPED_ROUTINE, NULL, NULL, NULL, r); }
Status session_add_domain(Session *s, Domain *d) {
    if (change(s, CU_ADDED_DOMAIN, NULL, NULL, NULL, NULL) != ST_OK) {
        domain_free(d);
        return ST_ERROR;
    }
    return catalog_add_domain(&s->db->catalog, s->catalog_undo->domain = d, &s->err);
}
Status session_drop_domain(Session *s, Domain *d) {
    TRY(change(s, CU_DROPPED_DOMAIN, NULL, NULL, NULL, NULL));
    catalog_remove_domain(&s->db->catalog, s->catalog_undo->domain = d);
    return ST_OK;
}
Status session_add_sequence(Session *s, Sequence *q) {
    if (name_is_allowed(s, q->name) != ST_OK || change(s, CU_ADDED_SEQUENCE, NULL, NULL, NULL, NULL) != ST_OK) {
        sequence_free(q);
        return ST_ERROR;
    }
    return catalog_add_sequence(&s->db->catalog, s->catalog_undo->sequence = q, &s->err);
}
Status session_drop_sequence(Session *s, Sequence *q) {
    TRY(change(s, CU_DROPPED_SEQUENCE, NULL, NULL, NULL, NULL));
    catalog_remove_sequence(&s->db->catalog, s->catalog_undo->sequence = q);
    return ST_OK;
}
Status session_add_index(Session *s, const IndexDef *like) {
    TRY(name_is_allowed(s, like->name));
    IndexDef *x = index_def_new(like, &s->err);
    if (!x) return ST_ERROR;
    if (change(s, CU_ADDED_INDEX, NULL, NULL, NULL, NULL) != ST_OK) {
        index_def_free(x);
        return ST_ERROR;
    }
    return catalog_add_index_def(&s->db->catalog, s->catalog_undo->index = x, &s->err);
}
Status session_drop_index(Session *s, IndexDef *x) {
    TRY(change(s, CU_DROPPED_INDEX, NULL, NULL, NULL, NULL));
    catalog_remove_index_def(&s->db->catalog, s->catalog_undo->index = x);
    return ST_OK;
}
Status session_add_comment(Session *s, const Comment *like) {
    Comment *x = comment_new(like, &s->err);
    if (!x) return ST_ERROR;
    if (change(s, CU_ADDED_COMMENT, NULL, NULL, NULL, NULL) != ST_OK) {
        comment_free(x);
        return ST_ERROR;
    }
    return catalog_add_comment(&s->db->catalog, s->catalog_undo->comment = x, &s->err);
}
Status session_drop_comment(Session *s, Comment *x) {
    TRY(change(s, CU_DROPPED_COMMENT, NULL, NULL, NULL, NULL));
    catalog_remove_comment(&s->db->catalog, s->catalog_undo->comment = x);
    return ST_OK;
}
Status session_add_role(Session *s, const Role *like) {
    Role *x = role_new(like, &s->err);
    if (!x) return ST_ERROR;
    if (change(s, CU_ADDED_ROLE, NULL, NULL, NULL, NULL) != ST_OK) {
        role_free(x);
        return ST_ERROR;
    }
    return catalog_add_role(&s->db->catalog, s->catalog_undo->role = x, &s->err);
}
Status session_drop_role(Session *s, Role *x) {
    TRY(change(s, CU_DROPPED_ROLE, NULL, NULL, NULL, NULL));
    catalog_remove_role(&s->db->catalog, s->catalog_undo->role = x);
    return ST_OK;
}
Status session_add_privileges(Session *s, const Privileges *like) {
    Privileges *x = privileges_new(like, &s->err);
    if (!x) return ST_ERROR;
    if (change(s, CU_ADDED_PRIVILEGES, NULL, NULL, NULL, NULL) != ST_OK) {
        privileges_free(x);
        return ST_ERROR;
    }
    return catalog_add_privileges(&s->db->catalog, s->catalog_undo->privileges = x, &s->err);
}
Status session_drop_privileges(Session *s, Privileges *x) {
    TRY(change(s, CU_DROPPED_PRIVILEGES, NULL, NULL, NULL, NULL));
    catalog_remove_privileges(&s->db->catalog, s->catalog_undo->privileges = x);
    return ST_OK;
}
Status session_put_row_security(Session *s, const RowSecurity *like) {
    RowSecurity *old = catalog_row_security(&s->db->catalog, like->table), *x;
    if (old) TRY(session_drop_row_security(s, old));
    if (!(x = row_security_new(like, &s->err))) return ST_ERROR;
    if (change(s, CU_ADDED_ROW_SECURITY, NULL, NULL, NULL, NULL) != ST_OK) {
        row_security_free(x);
        return ST_ERROR;
    }
    return catalog_add_row_security(&s->db->catalog, s->catalog_undo->row_security = x, &s->err);
}
Status session_drop_row_security(Session *s, RowSecurity *x) {
    TRY(change(s, CU_DROPPED_ROW_SECURITY, NULL, NULL, NULL, NULL));
    catalog_remove_row_security(&s->db->catalog, s->catalog_undo->row_security = x);
    return ST_OK;
}
Status session_add_schema(Session *s, const Schema *like) {
    Schema *x = schema_new(like, &s->err);
    if (!x) return ST_ERROR;
    if (change(s, CU_ADDED_SCHEMA, NULL, NULL, NULL, NULL) != ST_OK) {
        schema_free(x);
        return ST_ERROR;
    }
    return catalog_add_schema(&s->db->catalog, s->catalog_undo->schema = x, &s->err);
}
Status session_drop_schema(Session *s, Schema *x) {
    TRY(change(s, CU_DROPPED_SCHEMA, NULL, NULL, NULL, NULL));
    catalog_remove_schema(&s->db->catalog, s->catalog_undo->schema = x);
    return ST_OK;
}
Status session_expect_rows(Session *s, Table *t, int64_t rows) {
    TRY(change(s, CU_EXPECTED_ROWS, t, NULL, NULL, NULL));
    t->expected_rows = rows;
    return ST_OK;
}

/* A type that comes or goes concerns its name; of one that is altered there are columns and values, which do not name
 * it. */
static void type_changed(Catalog *c, const char *from, const char *to) {
    if (from && to) catalog_changed_all(c);
    else catalog_changed(c, from, to, 0);
}
Status session_put_enum(Session *s, const EnumType *from, const EnumType *to) {
    Catalog *c = &s->db->catalog;
    TRY(change(s, CU_ENUM, NULL, NULL, NULL, NULL));
    s->catalog_undo->enum_from = s->catalog_undo->enum_to = from; /* nothing to undo yet */
    TRY(enum_put(c->enums, from, to, &s->err));
    s->catalog_undo->enum_to = to;
    type_changed(c, from ? from->name : NULL, to ? to->name : NULL);
    return ST_OK;
}

bool session_enum_is_older(const Session *s, const EnumType *x) {
    bool made = false;
    for (const CatalogUndo *u = s->catalog_undo; u; u = u->next)
        made |= u->kind == CU_ENUM && !u->enum_from && u->enum_to && u->enum_to->number == x->number;
    return !made;
}
/* Labels that are committed can be used; the one thing of a definition that changes. */
static void enum_committed(const EnumType *x) {
    for (int32_t i = 0; x && i < x->n; i++)
        atomic_store_explicit((_Atomic bool *)(uintptr_t)&x->labels[i].fresh, false, memory_order_relaxed);
}

Status session_put_composite(Session *s, const CompositeType *from, const CompositeType *to) {
    Catalog *c = &s->db->catalog;
    TRY(change(s, CU_COMPOSITE, NULL, NULL, NULL, NULL));
    s->catalog_undo->row_from = s->catalog_undo->row_to = from; /* nothing to undo yet */
    TRY(composite_put(c->rows, from, to, &s->err));
    s->catalog_undo->row_to = to;
    type_changed(c, from ? from->name : NULL, to ? to->name : NULL);
    return ST_OK;
}

static void range_changed(Catalog *c, const RangeType *from, const RangeType *to) {
    type_changed(c, from ? from->name : NULL, to ? to->name : NULL);
    type_changed(c, from ? from->multi : NULL, to ? to->multi : NULL);
    type_changed(c, from ? from->make : NULL, to ? to->make : NULL);
    type_changed(c, from ? from->make_multi : NULL, to ? to->make_multi : NULL);
}
Status session_put_range(Session *s, const RangeType *from, const RangeType *to) {
    Catalog *c = &s->db->catalog;
    TRY(change(s, CU_RANGE, NULL, NULL, NULL, NULL));
    s->catalog_undo->range_from = s->catalog_undo->range_to = from; /* nothing to undo yet */
    TRY(range_put(c->ranges, from, to, &s->err));
    s->catalog_undo->range_to = to;
    range_changed(c, from, to);
    return ST_OK;
}

/* Another object of the kind and name went after the mark. */
static bool was_there(const CatalogUndo *from, const CatalogUndo *mark, const AddedObject *x) {
    for (const CatalogUndo *u = from; u != mark; u = u->next) {
        const char *name = u->kind == CU_DROPPED_TABLE      ? u->table->name
                           : u->kind == CU_DROPPED_VIEW     ? u->view->name
                           : u->kind == CU_DROPPED_SEQUENCE ? u->sequence->name
                           : u->kind == CU_DROPPED_DOMAIN   ? u->domain->name
                           : u->kind == CU_DROPPED_ROUTINE  ? u->routine->name
                                                            : NULL;
        const bool routine = u->kind == CU_DROPPED_ROUTINE;
        if (name && routine == (x->kind == 'f') && strcmp(name, x->name) == 0) return true;
    }
    return false;
}
bool session_next_added(const Session *s, const CatalogUndo **at, const CatalogUndo *mark, AddedObject *out) {
    for (const CatalogUndo *u = *at; u != mark; u = u->next) {
        *out = (AddedObject){0};
        switch (u->kind) {
        case CU_ADDED_TABLE: *out = (AddedObject){.kind = 'r', .name = u->table->name}; break;
        case CU_ADDED_VIEW:
            if (!u->view->materialized) *out = (AddedObject){.kind = 'r', .name = u->view->name};
            break;
        case CU_ADDED_SCHEMA: *out = (AddedObject){.kind = 'n', .name = u->schema->name}; break;
        case CU_ADDED_SEQUENCE: *out = (AddedObject){.kind = 'S', .name = u->sequence->name}; break;
        case CU_ADDED_DOMAIN: *out = (AddedObject){.kind = 'T', .name = u->domain->name}; break;
        case CU_ADDED_ROUTINE:
            if (!u->routine->generic)
                *out = (AddedObject){.kind = 'f', .name = u->routine->name, .routine = u->routine->id};
            break;
        case CU_ENUM:
            if (!u->enum_from && u->enum_to) *out = (AddedObject){.kind = 'T', .name = u->enum_to->name};
            break;
        case CU_COMPOSITE:
            if (!u->row_from && u->row_to) *out = (AddedObject){.kind = 'T', .name = u->row_to->name};
            break;
        case CU_RANGE:
            if (!u->range_from && u->range_to) *out = (AddedObject){.kind = 'T', .name = u->range_to->name};
            break;
        default: break;
        }
        *at = u->next;
        if (out->kind && !was_there(s->catalog_undo, mark, out)) return true;
    }
    return false;
}

void catalog_undo_all(Session *s) { catalog_undo_to(s, NULL); }
void catalog_undo_to(Session *s, const CatalogUndo *mark) {
    Catalog *c = &s->db->catalog;
    Err ignored = {0};
    while (s->catalog_undo != mark) {
        CatalogUndo *u = s->catalog_undo;
        s->catalog_undo = u->next;
        switch (u->kind) {
        case CU_ADDED_TABLE:
            (void)catalog_remove_table(c, slice_of(u->table->name));
            session_bulk_forget_table(s, u->table->id);
            table_free(u->table);
            break;
        case CU_DROPPED_TABLE: (void)catalog_add_table(c, u->table, &ignored); break; /* its slot is still there */
        case CU_ADDED_VIEW:
            catalog_remove_view(c, u->view);
            view_free(u->view);
            break;
        case CU_DROPPED_VIEW: (void)catalog_add_view(c, u->view, &ignored); break;
        case CU_REPLACED_VIEW:
            catalog_replace_view(c, u->view, u->old_view);
            view_free(u->view);
            break;
        case CU_ADDED_FOREIGN:
            catalog_remove_foreign(c, u->foreign);
            foreign_free(u->foreign);
            break;
        case CU_DROPPED_FOREIGN: (void)catalog_add_foreign(c, u->foreign, &ignored); break;
        case CU_ADDED_ROUTINE:
            catalog_remove_routine(c, u->routine);
            routine_free(u->routine);
            break;
        case CU_DROPPED_ROUTINE: (void)catalog_add_routine(c, u->routine, &ignored); break;
        case CU_ADDED_DOMAIN:
            catalog_remove_domain(c, u->domain);
            domain_free(u->domain);
            break;
        case CU_DROPPED_DOMAIN: (void)catalog_add_domain(c, u->domain, &ignored); break;
        case CU_ADDED_SEQUENCE:
            catalog_remove_sequence(c, u->sequence);
            sequence_free(u->sequence);
            break;
        case CU_DROPPED_SEQUENCE: (void)catalog_add_sequence(c, u->sequence, &ignored); break;
        case CU_ADDED_INDEX:
            catalog_remove_index_def(c, u->index);
            index_def_free(u->index);
            break;
        case CU_DROPPED_INDEX: (void)catalog_add_index_def(c, u->index, &ignored); break;
        case CU_ADDED_COMMENT:
            catalog_remove_comment(c, u->comment);
            comment_free(u->comment);
            break;
        case CU_DROPPED_COMMENT: (void)catalog_add_comment(c, u->comment, &ignored); break;
        case CU_ADDED_ROLE:
            catalog_remove_role(c, u->role);
            role_free(u->role);
            break;
        case CU_DROPPED_ROLE: (void)catalog_add_role(c, u->role, &ignored); break;
        case CU_ADDED_PRIVILEGES:
            catalog_remove_privileges(c, u->privileges);
            privileges_free(u->privileges);
            break;
        case CU_DROPPED_PRIVILEGES: (void)catalog_add_privileges(c, u->privileges, &ignored); break;
        case CU_ADDED_ROW_SECURITY:
            catalog_remove_row_security(c, u->row_security);
            row_security_free(u->row_security);
            break;
        case CU_DROPPED_ROW_SECURITY: (void)catalog_add_row_security(c, u->row_security, &ignored); break;
        case CU_ADDED_SCHEMA:
            catalog_remove_schema(c, u->schema);
            schema_free(u->schema);
            break;
        case CU_DROPPED_SCHEMA: (void)catalog_add_schema(c, u->schema, &ignored); break;
        case CU_ENUM:
            if (u->enum_from != u->enum_to) (void)enum_put(c->enums, u->enum_to, u->enum_from, &ignored);
            type_changed(c, u->enum_to ? u->enum_to->name : NULL, u->enum_from ? u->enum_from->name : NULL);
            break;
        case CU_COMPOSITE:
            if (u->row_from != u->row_to) (void)composite_put(c->rows, u->row_to, u->row_from, &ignored);
            type_changed(c, u->row_to ? u->row_to->name : NULL, u->row_from ? u->row_from->name : NULL);
            break;
        case CU_RANGE:
            if (u->range_from != u->range_to) (void)range_put(c->ranges, u->range_to, u->range_from, &ignored);
            range_changed(c, u->range_to, u->range_from);
            break;
        case CU_EXPECTED_ROWS: u->table->expected_rows = u->expected_rows; break;
        }
        mem_free(&s->account, u, (int64_t)sizeof *u);
    }
}
void catalog_undo_forget(Session *s) {
    if (!s->catalog_undo) return;
    database_definitions_committed(s->db);
    database_unpublish_objects(s->db);
    while (s->catalog_undo) {
        CatalogUndo *u = s->catalog_undo;
        s->catalog_undo = u->next;
        EpochDomain *d = s->db->epochs;
        if (u->kind == CU_DROPPED_TABLE) {
            transactions_forget_table(s, u->table);
            session_device_forget(s, u->table->id);
            session_bulk_forget_table(s, u->table->id);
            table_free(u->table);
        }
        if (u->kind == CU_ENUM) enum_committed(u->enum_to);
        if (u->kind == CU_DROPPED_VIEW) view_retire(d, u->view);
        if (u->kind == CU_REPLACED_VIEW) view_retire(d, u->old_view);
        if (u->kind == CU_DROPPED_FOREIGN) foreign_retire(d, u->foreign);
        if (u->kind == CU_DROPPED_ROUTINE) routine_retire(d, u->routine);
        if (u->kind == CU_DROPPED_DOMAIN) domain_retire(d, u->domain);
        if (u->kind == CU_DROPPED_SEQUENCE) sequence_retire(d, u->sequence);
        if (u->kind == CU_DROPPED_INDEX) index_def_retire(d, u->index);
        if (u->kind == CU_DROPPED_COMMENT) comment_retire(d, u->comment);
        if (u->kind == CU_DROPPED_ROLE) role_retire(d, u->role);
        if (u->kind == CU_DROPPED_PRIVILEGES) privileges_retire(d, u->privileges);
        if (u->kind == CU_DROPPED_ROW_SECURITY) row_security_retire(d, u->row_security);
        if (u->kind == CU_DROPPED_SCHEMA) schema_retire(d, u->schema);
        mem_free(&s->account, u, (int64_t)sizeof *u);
    }
}

/* ---- the reserve of statements that give memory back ---------------------------------------- */

enum { RESERVE_BYTES = 16 << 20 };

static bool is_word(Slice s, const char *word) {
    return s.len == (int64_t)strlen(word) && strncasecmp(s.ptr, word, (size_t)s.len) == 0;
}

/* By its first word, since the text has to be read for more: 0, or bytes beyond memory_limit (base/mem.h). Deleting
 * rows and merging what is left take memory in proportion to the rows deleted and to the table, before they give any
 * back: by default (a limit of 80 % of the machine's memory) as much as there is at most. */
static int64_t reserve_of(const Session *s, Slice sql) {
    static const char *const little[] = {"set",        "reset",   "show",      "drop",   "truncate", "checkpoint",
                                         "deallocate", "discard", "begin",     "start",  "commit",   "end",
                                         "rollback",   "abort",   "savepoint", "release"};
    static const char *const more[] = {"delete", "vacuum"};
    Slice word = sql_first_word(sql);
    for (int64_t i = 0; i < ARRAY_LEN(more); i++)
        if (is_word(word, more[i])) return MAX_OF((int64_t)RESERVE_BYTES, atomic_load(&s->db->account.limit) / 4);
    for (int64_t i = 0; i < ARRAY_LEN(little); i++)
        if (is_word(word, little[i])) return RESERVE_BYTES;
    return 0;
}

static void share_reserve(Session *s) {
    int64_t bytes = atomic_load(&s->account.reserve);
    if (s->lock != LOCK_EXCLUSIVE || bytes == 0) return;
    atomic_store(&s->db->account.reserve, bytes);
    s->reserve_shared = true;
}
static void unshare_reserve(Session *s) {
    if (s->reserve_shared) atomic_store(&s->db->account.reserve, 0);
    s->reserve_shared = false;
}

static void reserve_begin(Session *s, int64_t bytes) {
    atomic_store(&s->account.reserve, bytes);
    share_reserve(s); /* a transaction may have the lock already */
}
static void reserve_end(Session *s) {
    unshare_reserve(s);
    atomic_store(&s->account.reserve, 0);
}

/* ---- transactions ------------------------------------------------------------------------- */

/* Images are ahead of their tables, and that is not what the session is to see. */
static bool needs_tables(const Session *s, bool definitions) {
    if (definitions || !session_bulk_unapplied(s) || (s->bulk.under_way && s->state == 'I')) return false;
    return !s->read.images || !transaction_sees_images(s);
}
/* Bulks may have left changes in images that tables do not have yet, and a transaction without the lock its view of the
 * tables. The next statement brings the tables to the state that it has to see, under the lock held alone for that
 * long. */
static Status lock_and_enter(Session *s, LockMode mode) {
    TRY(session_read_locked(s));
    bool definitions = s->bulk.under_way && mode == LOCK_SHARED;
    while (s->lock < mode) {
        LockMode want = needs_tables(s, definitions) ? LOCK_EXCLUSIVE : transaction_lock_mode(s, mode, definitions);
        bool again = false, got = true;
        if (s->lock == LOCK_NONE && (s->read.waits || s->read.gives_way)) {
            LockWait w = {.timeout_ms = s->settings.txn.lock_timeout_ms,
                          .cancel = &s->cancel,
                          .enough = s->read.waits ? session_read_enough : NULL,
                          .ctx = s,
                          .behind = s->read.gives_way};
            TRY(txn_lock_acquire_or(s->db->txn_lock, want, &w, &got, &s->err));
        } else {
            TRY(txn_lock_acquire(s->db->txn_lock, s->lock, want, s->settings.txn.lock_timeout_ms, &s->cancel, &s->err));
        }
        if (!got) return ST_OK;
        s->lock = want;
        share_reserve(s);
        if (needs_tables(s, definitions)) {
            if (want == LOCK_EXCLUSIVE) TRY(session_bulk_sync(s));
            else again = true;
        }
        if (!again) TRY(transaction_enter(s, definitions, &again));
        if (!again) {
            if (want > mode) {
                txn_lock_downgrade(s->db->txn_lock);
                s->lock = mode;
            }
            if (!definitions) session_sees_now(s);
            if (mode == LOCK_EXCLUSIVE) transaction_leave_version(s);
            if (mode == LOCK_EXCLUSIVE) session_publish_before_write(s);
            session_note_seen(s);
            return ST_OK;
        }
        txn_lock_release(s->db->txn_lock, s->lock);
        s->lock = LOCK_NONE;
    }
    return ST_OK;
}
Status session_lock(Session *s, LockMode mode) {
    LockMode before = s->lock;
    Status st = lock_and_enter(s, mode);
    if (st != ST_OK && before == LOCK_NONE && s->lock != LOCK_NONE) session_unlock(s);
    return st;
}

static Status begin_write(Session *s) {
    TRY(session_lock(s, LOCK_EXCLUSIVE));
    if (!s->undo) s->undo = undo_new(&s->db->parts[DB_UNDO], &s->err); /* may outlive the session: transaction_end */
    return s->undo ? ST_OK : ST_ERROR;
}
static Status refuse_read_only(Session *s) {
    return err_set(&s->err, ERR_READ_ONLY, "cannot execute this statement in a read-only transaction");
}
Status session_begin_write(Session *s) { return session_read_only(s) ? refuse_read_only(s) : begin_write(s); }
Status session_begin_change(Session *s) {
    return s->path.temp.made && !s->db->read_only ? begin_write(s) : session_begin_write(s);
}
Status session_may_change(Session *s, const Table *t) {
    return session_read_only(s) && !key_is_temporary(t->name) ? refuse_read_only(s) : ST_OK;
}

void session_unlock_keep_version(Session *s) {
    unshare_reserve(s);
    txn_lock_release(s->db->txn_lock, s->lock);
    if (s->lock == LOCK_EXCLUSIVE) session_sees_now(s);
    s->lock = LOCK_NONE;
}
void session_unlock_unchanged(Session *s) {
    unshare_reserve(s);
    txn_lock_release_unchanged(s->db->txn_lock, s->lock);
    s->lock = LOCK_NONE;
}
static void release_lock(Session *s) {
    if (s->lock == LOCK_EXCLUSIVE) upkeep_note(s);
    session_read_end(s);
    session_unlock_keep_version(s);
}
static void start_transaction(Session *s) {
    s->state = 'T';
    s->read_only = s->settings.txn.default_read_only;
    s->block.level = session_default_level(s);
    s->block.deferrable = s->settings.txn.default_deferrable;
    s->kept_settings.before = s->kept_settings.keep = s->settings;
}
/* What the session's transaction has of numbers ends with it. One whose statement is to wait goes on. */
static void end_numbers(Session *s, bool committed) {
    if (s->block.holder) return;
    advisory_back_to(s, 0);
    xact_end(s, committed);
}
static void roll_back_all(Session *s) {
    session_bulk_go_back(s);
    if (s->state == 'T' || s->savepoints || s->kept_settings.changed) settings_restore(s, &s->kept_settings.before);
    s->kept_settings.changed = false;
    savepoints_free(s);
    cursors_end(s, false);
    transaction_rollback(s);
    catalog_undo_all(s);
    constraints_end(s);
    end_numbers(s, false);
}

static void progress_hook(void *ctx, double fraction) {
    Session *s = ctx;
    if (s->client.progress && s->client.progress(s->client.progress_ctx, fraction)) atomic_store(&s->cancel, true);
}

/* Others read what is published meanwhile; without memory for both it goes first. A merge that was stopped has changed
 * nothing, and what is published stays. */
static Status merge(Session *s, Table *t, const MergeOptions *o, Err *e) {
    Status merged = session_publish(s) ? table_merge_with(t, o, e) : ST_ERROR;
    if (merged != ST_OK && strcmp(e->sqlstate, ERR_QUERY_CANCELED) == 0) return merged;
    database_unpublish(s->db); /* it keeps what was replaced */
    if (merged != ST_OK) {
        err_clear(e);
        merged = table_merge_with(t, o, e);
    }
    if (merged == ST_OK) session_bulk_drop(s, t);
    return merged;
}
/* Freed blocks that are kept in case they are wanted again are as much as a quarter of what the database has, then. */
static void give_back_kept(const Session *s) {
    enum { PART = 4 };
    mem_trim_kept(atomic_load(&s->db->account.used) / PART);
}
static bool merge_stop(void *ctx, double done) {
    Session *s = ctx;
    progress_hook(s, done);
    return query_stopped(&(QueryStop){&s->cancel, s->deadline_ns});
}
Status session_merge(Session *s, Table *t, Err *e) {
    const MergeOptions o = {.pool = s->db->pool, .stop = merge_stop, .ctx = s};
    const Status merged = merge(s, t, &o, e);
    give_back_kept(s);
    return merged;
}
Status session_give_back_spare(Session *s) {
    TRY(session_bulk_spare(s));
    give_back_kept(s);
    return ST_OK;
}

static bool is_mostly_garbage(const Table *t) {
    int64_t rows = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) rows += t->tablets[i]->rows;
    return rows / 2 > t->live_rows;
}
/* A delta that has grown large against its table is merged when a writing transaction ends. Not as long as bulks use
 * the table, unless most of its rows are gone: a merge holds up all bulks and readers under the lock, for all rows and
 * not just for the new ones, and then bulks make the table's image anew, from all rows again; what they insert next
 * has the next merge due. What it would save, packed columns, is less than the image has of the same rows. */
static void merge_grown(Session *s) {
    if (!s->settings.txn.merge_auto) return;
    session_bulk_trim(s);
    for (int64_t i = 0; i < s->db->catalog.n_tables; i++) {
        Table *t = s->db->catalog.tables[i];
        int64_t d = table_delta_rows(t);
        const bool grown = d >= 100000 && d >= t->live_rows / 10;
        if (grown && session_bulk_uses(s, t) && !is_mostly_garbage(t)) continue;
        if (!grown && (session_bulk_has_image(s, t) || !table_is_wasteful(t))) continue;
        if (table_has_undo(t)) continue;
        Err e = {0};
        if (session_bulk_unapplied(s) &&
            session_bulk_sync(s) !=
                ST_OK) { /* a bulk of this very statement has changed images, which must not be of another table */
            log_write(LOG_WARNING, "merge of \"%s\" failed: %s", t->name, s->err.message);
            err_clear(&s->err);
            return;
        }
        if (table_has_undo(t)) continue; /* now it has: a snapshot may need what was before */
        if (merge(s, t, &(MergeOptions){.pool = s->db->pool}, &e) != ST_OK)
            log_write(LOG_WARNING, "merge of \"%s\" failed: %s", t->name, e.message);
    }
}

/* The statement or transaction has changed definitions that are kept. */
static bool changes_definitions(const Session *s) {
    const CatalogUndo *u = s->catalog_undo;
    while (u && is_temporary(s, u)) u = u->next;
    return u != NULL;
}
static void commit_tables(Session *s) {
    int64_t n = 0, max = 0;
    TableEvent *events = NULL;
    for (const CatalogUndo *u = s->catalog_undo; u; u = u->next)
        max += u->kind == CU_DROPPED_TABLE || u->kind == CU_ADDED_TABLE;
    if (max > 0 && !(events = mem_alloc(&s->account, max * (int64_t)sizeof *events, NULL))) n = -1;
    for (const CatalogUndo *u = s->catalog_undo; u && events; u = u->next)
        if (u->kind == CU_DROPPED_TABLE || u->kind == CU_ADDED_TABLE)
            events[n++] = (TableEvent){u->table->id, u->kind == CU_ADDED_TABLE};
    transaction_commit(s, n, events);
    mem_free(&s->account, events, max * (int64_t)sizeof *events);
}

static bool has_dropped_table(const Session *s) {
    const CatalogUndo *u = s->catalog_undo;
    while (u && u->kind != CU_DROPPED_TABLE) u = u->next;
    return u != NULL;
}

static void commit_all(Session *s) {
    session_bulk_stands(s);
    cursors_end(s, true);
    if (s->kept_settings.changed) settings_restore(s, &s->kept_settings.keep);
    s->kept_settings.changed = false;
    bool changed = s->undo && s->lock == LOCK_EXCLUSIVE;                 /* without the lock there is nothing in it */
    if (changed && undo_is_whole(s->undo, 0)) database_unpublish(s->db); /* it would keep what was truncated */
    savepoints_free(s);
    constraints_end(s);
    session_bulk_follow(s);
    if (changes_definitions(s) || (changed && undo_names_permanent(s->undo))) s->db->dirty = true;
    commit_tables(s);
    if (has_dropped_table(s) && atomic_load(&s->db->n_sessions) == 1)
        database_unpublish(s->db); /* it would keep them */
    catalog_undo_forget(s);
    end_numbers(s, true);
    if (!changed) return;
    merge_grown(s);
    checkpointer_note(s);
}

static Status log_changes(Session *s) {
    if (s->lock != LOCK_EXCLUSIVE) return ST_OK;
    return redo_commit(s->db, s->undo, changes_definitions(s), &s->block.lsn, &s->err);
}
/* What may still refuse the commit. */
static Status before_commit(Session *s) {
    TRY(constraints_at_commit(s));
    TRY(session_tables_at_commit(s));
    return log_changes(s);
}
/* Behind the statement's or transaction's end, without the lock: what it has committed, and what it has seen of others,
 * is on the disk. Where the log cannot be written, reading goes on, and commits fail. */
static Status wait_for_log(Session *s) {
    const int64_t lsn = s->block.lsn, seen = s->block.seen;
    Err unwritten = {0};
    s->block.lsn = s->block.seen = 0;
    if (lsn > 0) s->block.log.committed = lsn;
    if (s->block.log.returns || strcmp(s->settings.txn.synchronous_commit, "off") == 0) return ST_OK;
    if (MAX_OF(lsn, seen) <= redo_durable_lsn(s->db)) return ST_OK;
    const int64_t began = clock_ns();
    const Status st = lsn > 0 ? redo_wait(s->db, lsn, &s->err) : ST_OK;
    if (st == ST_OK && seen > lsn) (void)redo_wait(s->db, seen, &unwritten);
    s->block.log.waited_ns += clock_ns() - began;
    return st;
}
static Status wait_durable(Session *s) {
    const bool logged = s->block.lsn > 0;
    const Status st = wait_for_log(s);
    if (logged) checkpointer_hold(s);
    return st;
}
void session_note_seen(Session *s) {
    if (s->db->redo) s->block.seen = MAX_OF(s->block.seen, redo_end_lsn(s->db));
}

void session_unlock(Session *s) { release_lock(s); }
/* What the statement has done by now stands, or has been seen. */
static void cannot_repeat(Session *s) {
    s->block.can_wait = false;
    session_notices_tell(s);
}
Status session_end_inside(Session *s, bool commit) {
    cannot_repeat(s);
    LockMode lock = s->lock;
    if (commit) TRY(before_commit(s));
    if (commit) commit_all(s);
    else roll_back_all(s);
    release_lock(s);
    if (lock == LOCK_EXCLUSIVE) return session_begin_write(s);
    return session_lock(s, lock);
}

Status session_pause_bulk(Session *s, bool commit) {
    cannot_repeat(s);
    const Status st = commit ? log_changes(s) : ST_OK;
    if (commit && st == ST_OK) commit_all(s);
    else roll_back_all(s);
    release_lock(s);
    return st;
}
Status session_resume_bulk(Session *s) {
    s->read.gives_way = true;
    Status st = session_begin_bulk(s);
    s->read.gives_way = false;
    return st;
}

/* Without the lock, it is to wait for s->block.holder. 53200: it cannot give up the lock, and does not wait. */
static Status suspend_to_wait(Session *s) {
    Status st = transaction_suspend(s, &s->err);
    if (st != ST_OK) s->block.holder = 0;
    dbg_assert(st != ST_OK || s->lock == LOCK_NONE);
    return st;
}
/* The statement has changed rows that an open transaction holds: it is as though it had not run, and the lock is given
 * up. */
static Status step_back(Session *s) {
    if (s->state == 'I') {
        roll_back_all(s);
        s->read_only = false;
        release_lock(s);
    } else {
        if (transaction_defers(s)) transaction_drop_deferred(s, s->block.mark);
        else if (s->lock == LOCK_EXCLUSIVE) undo_rollback(s->undo, s->block.mark);
        constraints_back(s, s->block.constraints);
        cursors_back_to(s, s->block.cursor_mark);
        (void)suspend_to_wait(s);
    }
    return ST_ERROR;
}
/* A statement that has ended well, before its changes stand: ST_ERROR, with s->block.holder set when it has stepped
 * back. */
static Status look_for_holder(Session *s) {
    if (s->lock == LOCK_EXCLUSIVE && !s->block.can_wait) s->block.skipped = true;
    if (!s->block.can_wait || s->lock == LOCK_NONE) return ST_OK;
    TRY(transaction_find_holder(s, s->state == 'I'));
    return s->block.holder ? step_back(s) : ST_OK;
}

Status session_stop_waiting(Session *s) {
    TRY(look_for_holder(s));
    cannot_repeat(s);
    return ST_OK;
}

Status session_end_statement(Session *s, Status outcome) {
    s->block.defers = false;
    if (outcome != ST_OK && s->block.holder == ADVISORY_HOLDER) (void)step_back(s);
    else if (outcome != ST_OK && s->block.holder) return outcome; /* COMMIT is to wait */
    if (outcome == ST_OK && s->state != 'E') outcome = look_for_holder(s);
    if (s->block.holder) return ST_ERROR;
    if (s->state == 'I') {
        if (outcome == ST_OK) outcome = before_commit(s);
        if (outcome == ST_OK) commit_all(s);
        else roll_back_all(s);
        s->read_only = false;
        release_lock(s);
        return outcome == ST_OK ? wait_durable(s) : outcome;
    }
    if (outcome == ST_OK && s->state == 'T') outcome = transaction_pause(s);
    if (outcome != ST_OK && s->state == 'T' && s->savepoints) {
        savepoint_after_error(s);
    } else if (outcome != ST_OK && s->state == 'T') {
        roll_back_all(s);
        release_lock(s);
        s->state = 'E';
    }
    return outcome;
}

const char *session_level_name(TxnLevel l) {
    static const char *const names[] = {"read uncommitted", "read committed", "repeatable read", "serializable"};
    return names[l];
}
static bool level_of(const char *name, TxnLevel *out) {
    for (TxnLevel l = LEVEL_READ_UNCOMMITTED; l <= LEVEL_SERIALIZABLE; l++) {
        if (strcasecmp(session_level_name(l), name) != 0) continue;
        *out = l;
        return true;
    }
    return false;
}
TxnLevel session_default_level(const Session *s) {
    TxnLevel l = LEVEL_SERIALIZABLE;
    (void)level_of(s->settings.txn.default_isolation, &l);
    return l;
}
Status session_set_level(Session *s, const char *name, Err *e) {
    TxnLevel l;
    if (!level_of(name, &l))
        return err_set(e, ERR_INVALID_PARAMETER, "invalid value for parameter \"transaction_isolation\": \"%s\"", name);
    if (s->state == 'I') return ST_OK; /* the transaction is that of SET alone */
    if (l != s->block.level && s->txn)
        return err_set(e, ERR_ACTIVE_TRANSACTION, "SET TRANSACTION ISOLATION LEVEL must be called before any query");
    if (l != s->block.level && s->savepoints)
        return err_set(e, ERR_ACTIVE_TRANSACTION,
                       "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
    s->block.level = l;
    return ST_OK;
}
Status session_transaction_options(Session *s, int64_t n, const AstOption *options) {
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(options[i].name, "transaction_isolation") == 0) TRY(session_set_level(s, options[i].value, &s->err));
        bool on = options[i].value && strcmp(options[i].value, "1") == 0;
        if (strcmp(options[i].name, "transaction_deferrable") == 0 && s->txn)
            return err_set(&s->err, ERR_ACTIVE_TRANSACTION,
                           "SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
        if (strcmp(options[i].name, "transaction_deferrable") == 0) s->block.deferrable = on;
        if (strcmp(options[i].name, "transaction_read_only") != 0) continue;
        if (!on && s->db->read_only)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "cannot set transaction read-write mode in a database that was opened read-only");
        if (!on && s->read_only && s->savepoints)
            return err_set(&s->err, ERR_ACTIVE_TRANSACTION,
                           "cannot set transaction read-write mode inside a read-only transaction");
        if (!on && s->read_only && s->txn)
            return err_set(&s->err, ERR_ACTIVE_TRANSACTION, "transaction read-write mode must be set before any query");
        s->read_only = on;
    }
    return ST_OK;
}

static void end_block(Session *s) {
    release_lock(s);
    result_streams_leave_block(s);
    s->state = 'I';
    s->read_only = false;
}

void session_abandon(Session *s) {
    roll_back_all(s);
    end_block(s);
}

Status session_lock_latest(Session *s) {
    bool again;
    s->block.latest = true;
    Status st = s->lock == LOCK_EXCLUSIVE ? transaction_enter(s, false, &again) : session_lock(s, LOCK_EXCLUSIVE);
    s->block.latest = false;
    return st;
}

static Status nothing_to_end(Session *s, const AstTransaction *t, const char *chain) {
    if (t->chain)
        return err_set(&s->err, ERR_NO_ACTIVE_TRANSACTION, "%s can only be used in transaction blocks", chain);
    session_notice_text(s, "WARNING", "25P01", "there is no transaction in progress");
    return ST_OK;
}

/* COMMIT, validated. ST_ERROR with s->block.holder set: an open transaction holds rows that would change, and it is to
 * wait. */
static Status look_before_commit(Session *s) {
    if (!s->block.can_wait || transaction_pinned(s)) return ST_OK;
    TRY(transaction_find_holder(s, true));
    if (!s->block.holder) return ST_OK;
    (void)suspend_to_wait(s);
    return ST_ERROR;
}

static Status transaction(Session *s, Statement *st, const AstTransaction *t) {
    switch (t->tx_kind) {
    case AST_TX_BEGIN:
        if (s->state == 'T') session_notice_text(s, "WARNING", "25001", "there is already a transaction in progress");
        if (s->state != 'T') start_transaction(s);
        TRY(session_transaction_options(s, t->n_options, t->options));
        snprintf(st->tag, sizeof st->tag, "%s", ast_stmt_tag((const AstStmt *)t));
        return ST_OK;
    case AST_TX_COMMIT:
        snprintf(st->tag, sizeof st->tag, s->state == 'E' ? "ROLLBACK" : "COMMIT");
        if (s->state == 'I') return nothing_to_end(s, t, "COMMIT AND CHAIN");
        if (s->state == 'T') {
            bool changes = s->catalog_undo || transaction_changed(s);
            Status r = changes ? session_lock_latest(s) : ST_OK; /* 40001, or the lock was not to be had */
            if (r == ST_OK && changes) r = look_before_commit(s);
            if (r == ST_OK && changes) r = before_commit(s);
            if (r != ST_OK && !s->block.holder) session_abandon(s);
            if (r != ST_OK) return r;
            settings_restore(s, &s->kept_settings.keep);
            commit_all(s);
        } else {
            roll_back_all(s);
        }
        break;
    case AST_TX_SAVEPOINT: snprintf(st->tag, sizeof st->tag, "SAVEPOINT"); return savepoint_set(s, t->name);
    case AST_TX_RELEASE: snprintf(st->tag, sizeof st->tag, "RELEASE"); return savepoint_release(s, t->name);
    case AST_TX_ROLLBACK_TO: snprintf(st->tag, sizeof st->tag, "ROLLBACK"); return savepoint_back(s, t->name);
    case AST_TX_ROLLBACK:
        snprintf(st->tag, sizeof st->tag, "ROLLBACK");
        if (s->state == 'I') return nothing_to_end(s, t, "ROLLBACK AND CHAIN");
        roll_back_all(s);
        break;
    default: {
        Status r = err_at(&s->err, t->location, ERR_FEATURE_NOT_SUPPORTED, "two-phase commit is not supported");
        return r;
    }
    }
    bool read_only = s->read_only;
    TxnLevel level = s->block.level;
    end_block(s);
    if (t->tx_kind == AST_TX_COMMIT) TRY(wait_durable(s));
    if (t->chain) start_transaction(s);
    if (t->chain) s->read_only = read_only;
    if (t->chain) s->block.level = level;
    return ST_OK;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static const char *setting_text(void *ctx, Arena *a, const char *name, Err *e) {
    return settings_show(ctx, a, name, e);
}

static const char *set_setting(void *ctx, Arena *a, const char *name, const char *value, bool is_local, Err *e) {
    return settings_config(ctx, a, name, value, is_local, e);
}

Status session_new(Database *db, Session **out, Err *e) {
    MemAccount entry; /* with a reserve, so that a session can connect at the limit and do something about it; what is
                         charged stays with the database */
    mem_account_init(&entry, &db->parts[DB_CONNECTIONS], "connection", 0, NULL);
    atomic_store(&entry.reserve, RESERVE_BYTES);
    Session *s = mem_calloc(&entry, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    s->db = db;
    s->state = 'I';
    mem_account_init(&s->account, &db->parts[DB_CONNECTIONS], "connection", 0, NULL);
    mem_account_init(&s->kept.account, &s->account, "plan cache", 0, NULL);
    if (settings_init(&s->settings, db, &entry) != ST_OK || session_idle_init(s) != ST_OK) {
        mem_free(&db->parts[DB_CONNECTIONS], s, (int64_t)sizeof *s);
        return err_oom(e);
    }
    s->info.setting = setting_text;
    s->info.set_setting = set_setting;
    s->info.setting_ctx = s;
    s->info.call_routine = pl_call_function;
    s->info.eval = eval_for_session;
    file_finder_init(&s->files, db->vfs, &s->account, &s->info);
    s->info.call_routine_rows = pl_call_rows;
    s->info.check_domain = pl_check_domain;
    s->info.sequence = session_sequence;
    s->info.oid_name = session_oid_name;
    s->info.oid_find = session_oid_find;
    s->info.catalog_call = session_catalog_call;
    s->info.user = s->info.session_user = ROLE_BOOTSTRAP_NAME;
    s->path.now = &s->path.own;
    settings_apply_path(s);
    s->info.database = db->path ? db->path : ":memory:";
    atomic_init(&s->random.seed, (uint64_t)clock_ns());
    s->info.random = &s->random;
    const int64_t number = atomic_fetch_add(&db->last_session, 1) + 1;
    snprintf(s->path.temp.name, sizeof s->path.temp.name, KEY_TEMPORARY "%lld", (long long)number);
    if (epoch_register(db->epochs, number, &s->read.slot, e) != ST_OK) {
        mem_free(&db->parts[DB_CONNECTIONS], s, (int64_t)sizeof *s);
        return ST_ERROR;
    }
    atomic_fetch_add(&db->n_sessions, 1);
    *out = s;
    return ST_OK;
}

void session_free(Session *s) {
    if (!s) return;
    (void)session_enter(s);
    while (s->statements) statement_free(s->statements);
    session_objects_end(s);
    s->block.holder = 0;
    roll_back_all(s);
    cursors_close_all(s);
    release_lock(s);
    advisory_end_session(s);
    s->state = 'I';
    session_end_temp(s);
    session_leave(s);
    if (search_path_now() == &s->path.own) (void)search_path_use(NULL);
    const TempSchema *temp = temp_schema_use(NULL);
    if (temp != &s->path.temp) (void)temp_schema_use(temp);
    mutex_destroy(&s->idle.call);
    session_free_prepared(s);
    session_forget_sequences(s);
    pl_session_free(s);
    constraints_free(s);
    call_session_free(s);
    text_unlist_all(s);
    setting_texts_tidy(s, true);
    while (s->client.rows) {
        ClientRows *r = s->client.rows;
        s->client.rows = r->next;
        client_rows_unref(r);
    }
    epoch_unregister(s->read.slot);
    atomic_fetch_sub(&s->db->n_sessions, 1);
    mem_free(&s->db->parts[DB_CONNECTIONS], s, (int64_t)sizeof *s);
}

/* ---- statements -------------------------------------------------------------------------------- */

void statement_drop_rows(Statement *st) {
    query_free(st->query);
    st->query = NULL;
    cursor_rows_unref(st->shared);
    st->shared = NULL;
    plan_release(st->plan);
    st->plan = NULL;
    text_release(st->ran_text);
    st->ran_text = NULL;
    st->rows = NULL;
    st->row_map = NULL;
    st->text_rows = NULL;
    st->values = NULL;
    st->columns = NULL;
    st->is_text = false;
    st->n_rows = st->affected = 0;
    st->first_col = 0;
    st->tag[0] = 0;
}
static void drop_results(Statement *st) {
    statement_drop_rows(st);
    result_stream_free(st->stream);
    st->ran = false;
    st->next_row = 0;
    arena_free(st->run_arena);
    st->run_arena = NULL;
    arena_free(st->cell_arena);
    st->cell_arena = NULL;
    /* The last run's names and types were in run_arena, in the plan, or kept with what was executed. */
    st->n_cols = st->text->n_cols;
    st->names = st->text->names;
    st->types = st->text->types;
}
void statement_reset(Statement *st) { drop_results(st); }

void statement_clear_param(Statement *st, int32_t i) {
    Value *v = &st->params[i];
    if (v->type.id == T_UNKNOWN && !v->is_null)
        mem_free(&st->session->account, (void *)(uintptr_t)v->u.str.ptr, (int64_t)v->u.str.len + 1);
    *v = (Value){.type = st->param_types[i], .is_null = true};
}

void statement_free(Statement *st) {
    if (!st) return;
    drop_results(st);
    if (st->holder) *st->holder = NULL;
    *st->link = st->next;
    if (st->next) st->next->link = st->link;
    if (st->params)
        for (int32_t i = 0; i < st->n_params; i++) statement_clear_param(st, i);
    arena_free(st->arena);
    text_release(st->text);
    mem_free(&st->session->account, st, (int64_t)sizeof *st);
}

void plan_ctx_init(Session *s, Arena *a, PlanCtx *c) {
    memset(c, 0, sizeof *c);
    c->arena = a;
    c->err = &s->err;
    c->catalog = session_catalog(s);
    c->session = &s->info;
    c->disabled_rules = s->settings.exec.disabled_rules;
    (void)vec_push(a, &c->cols, ((ColInfo){.name = "", .col = -1}));
}

void plan_ctx_init_client(Session *s, Arena *a, PlanCtx *c) {
    plan_ctx_init(s, a, c);
    c->streams = &s->files.finder;
    c->client_rows = &s->client.rows;
    c->resolve.fn = s->client.resolve;
    c->resolve.ctx = s->client.resolve_ctx;
}

static Status set_shape(Statement *st, Arena *a, PlanCtx *c, const BoundStmt *b) {
    st->n_cols = b->n_result;
    st->names = arena_array(a, const char *, b->n_result + 1);
    st->types = arena_array(a, Type, b->n_result + 1);
    if (!st->names || !st->types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        st->names[i] = arena_strdup(a, b->names[i]);
        st->types[i] = c->cols.items[b->result[i]].type;
        if (!st->names[i]) return ST_ERROR;
    }
    st->has_shape = true;
    return ST_OK;
}

/* Columns and parameters of a text, under the shared lock. */
static Status bind_shape(Session *s, SqlText *t, const AstStmt *query) {
    PlanCtx c;
    BoundStmt *b;
    Arena *tmp = arena_new(&s->account, &s->err), *a = t->arena;
    if (!tmp) return ST_ERROR;
    plan_ctx_init_client(s, tmp, &c);
    c.for_shape = true; /* execute_wider() may see to it */
    Status r = sql_bind_client(&c, query, 0, NULL, &b);
    t->runs_bulk = c.n_bulks > 0;
    t->once |= c.reads_client_rows || c.reads_stream;
    if (r == ST_OK && query == t->ast) {
        t->n_cols = b->n_result;
        t->names = arena_array(a, const char *, b->n_result + 1);
        t->types = arena_array(a, Type, b->n_result + 1);
        if (!t->names || !t->types) r = ST_ERROR;
        for (int32_t i = 0; r == ST_OK && i < b->n_result; i++) {
            t->names[i] = arena_strdup(a, b->names[i]);
            t->types[i] = c.cols.items[b->result[i]].type;
            if (!t->names[i]) r = ST_ERROR;
        }
        t->has_shape = true;
    }
    if (r == ST_OK) {
        t->n_params = b->n_params;
        t->param_types = arena_array(a, Type, b->n_params + 1);
        if (!t->param_types) r = ST_ERROR;
        else if (b->n_params) memcpy(t->param_types, b->param_types, sizeof(Type) * (size_t)b->n_params);
    }
    arena_free(tmp);
    return r;
}

/* The shape of what a text plans. */
static Status try_query_shape(Session *s, SqlText *t, const AstStmt *query) {
    bool held;
    NameReads reads;
    Status r = session_read_definitions(s, &held);
    name_reads_begin(&reads, session_catalog(s));
    if (r == ST_OK) r = bind_shape(s, t, query);
    name_reads_end(&reads);
    if (r == ST_OK && !name_deps_keep(&reads, t->arena, &t->shaped)) r = ST_ERROR;
    if (r != ST_OK && session_read_outdated(s)) s->read.again = true;
    if (!held) release_lock(s);
    return r;
}
static Status query_shape(Session *s, SqlText *t, const AstStmt *query) {
    Status r = try_query_shape(s, t, query);
    if (r == ST_OK || !s->read.again) return r;
    /* Binding came to a routine, whose queries would see the tables, or to what is newer than the version. */
    err_clear(&s->err);
    s->read.again = false;
    s->read.locked = true;
    r = try_query_shape(s, t, query);
    s->read.locked = false;
    return r;
}
/* ... of a CALL: routines are looked up under the lock. */
static Status call_shape(Session *s, SqlText *t) {
    const AstCall *x = AST_AS_CONST(AstCall, t->ast);
    bool held;
    s->read.locked = true;
    Status r = session_read_definitions(s, &held);
    s->read.locked = false;
    if (r == ST_OK && session_is_bulk_call(x))
        r = session_bulk_shape(s, x, t->arena, &t->n_params, &t->param_types, &t->n_cols, &t->names, &t->types);
    else if (r == ST_OK)
        r = pl_call_shape(s, x, t->arena, &t->n_params, &t->param_types, &t->n_cols, &t->names, &t->types);
    t->has_shape = true;
    if (!held) release_lock(s);
    return r;
}

/* The text of one statement, from the list or made anew. */
static Status text_of(Session *s, Slice sql, SqlText **out) {
    SqlText *t = s->state == 'E' ? NULL : text_find(s, sql);
    if (t) {
        bool held;
        TRY(session_read_definitions(s, &held));
        bool same = name_deps_hold(&t->shaped, session_catalog(s));
        if (!held) release_lock(s);
        if (same) {
            t->refs++;
            s->kept.n_texts_found++;
            *out = t;
            return ST_OK;
        }
        text_unlist(s, t);
    }
    TRY(text_parse(s, sql, &t));
    Status r = ST_OK;
    const AstStmt *query = t->ast && t->ast->kind == AST_EXPLAIN && AST_AS_CONST(AstExplain, t->ast)->query
                               ? AST_AS_CONST(AstExplain, t->ast)->query
                               : t->ast;
    if (query && sql_is_planned(query) && s->state != 'E') {
        r = query_shape(s, t, query);
        bool comes_again = t->ast->kind == AST_SELECT || (sql_is_planned(t->ast) && t->n_params > 0);
        if (r == ST_OK && comes_again && !t->next && !t->once) text_list(s, t);
    }
    if (t->ast && t->ast->kind == AST_CALL && s->state != 'E') r = call_shape(s, t);
    if (r != ST_OK) {
        text_release(t);
        return stack_failed(&s->err);
    }
    *out = t;
    return ST_OK;
}

static Status make_params(Session *s, Statement *st) {
    if (st->n_params == 0) return ST_OK;
    st->arena = arena_new(&s->account, &s->err);
    st->params = st->arena ? arena_array(st->arena, Value, st->n_params) : NULL;
    if (!st->params) return stack_failed(&s->err);
    for (int32_t i = 0; i < st->n_params; i++) st->params[i] = (Value){.type = st->param_types[i], .is_null = true};
    return ST_OK;
}

StackWatch session_call_begin(Session *s) {
    err_clear(&s->err);
    session_forget_interrupt(s);
    s->deadline_ns =
        s->settings.txn.statement_timeout_ms > 0 ? clock_ns() + s->settings.txn.statement_timeout_ms * 1000000 : 0;
    return stack_watch_begin(&s->cancel, s->deadline_ns);
}

void session_is_past_cancel(Session *s) {
    cannot_repeat(s);
    s->deadline_ns = 0;
    (void)stack_watch_begin(NULL, 0);
}

static Status prepare(Session *s, Slice sql, Statement **out, int64_t *consumed) {
    SqlText *t = NULL;
    if (text_of(s, sql, &t) != ST_OK) return session_end_statement(s, ST_ERROR);
    if (!t->ast) {
        text_release(t);
        return ST_OK;
    }
    Statement *st = mem_calloc(&s->account, (int64_t)sizeof *st, &s->err);
    if (!st) {
        text_release(t);
        return session_end_statement(s, ST_ERROR);
    }
    if (t->next) *consumed = t->next;
    st->session = s;
    st->text = t;
    st->ast = t->ast;
    st->reserve = atomic_load(&s->account.reserve);
    st->n_params = t->n_params;
    st->param_types = t->param_types;
    st->has_shape = t->has_shape;
    st->n_cols = t->n_cols;
    st->names = t->names;
    st->types = t->types;
    mem_account_init(&st->account, &s->account, "query", 0, "memory_limit");
    atomic_store(&st->account.reserve, QUERY_RESERVE);
    st->next = s->statements;
    st->link = &s->statements;
    if (st->next) st->next->link = &st->next;
    s->statements = st;
    if (make_params(s, st) != ST_OK) {
        statement_free(st);
        return session_end_statement(s, ST_ERROR);
    }
    *out = st;
    return ST_OK;
}
Status statement_prepare(Session *s, Slice sql, Statement **out, int64_t *consumed) {
    *out = NULL;
    StackWatch before = session_call_begin(s);
    /* Only the first statement is parsed, so that a long script costs time in proportion to its length. */
    sql.len = *consumed = sql_statement_end(sql);
    Status r = session_enter(s);
    reserve_begin(s, reserve_of(s, sql));
    if (r == ST_OK) r = prepare(s, sql, out, consumed);
    reserve_end(s);
    session_leave(s);
    stack_watch_end(before);
    return r;
}

Status statement_text_columns(Statement *st, int32_t n, const char *const *names) {
    Arena *a = st->run_arena;
    st->is_text = true;
    st->show_rows = true;
    st->n_cols = n;
    st->names = arena_array(a, const char *, n + 1);
    st->types = arena_array(a, Type, n + 1);
    if (!st->names || !st->types) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) {
        st->names[i] = arena_strdup(a, names[i]);
        if (!st->names[i]) return ST_ERROR;
        st->types[i] = type_make(T_TEXT);
    }
    return ST_OK;
}
Status statement_text_row(Statement *st, const char *const *cells) {
    Arena *a = st->run_arena;
    if ((st->n_rows & (st->n_rows - 1)) == 0) {
        const char ***g = arena_array(a, const char **, st->n_rows ? st->n_rows * 2 : 1);
        if (!g) return ST_ERROR;
        if (st->n_rows) memcpy(g, st->text_rows, (size_t)st->n_rows * sizeof *g);
        st->text_rows = g;
    }
    const char **row = arena_array(a, const char *, st->n_cols + 1);
    if (!row) return ST_ERROR;
    for (int32_t i = 0; i < st->n_cols; i++) {
        if (!cells[i]) continue;
        const char *cell = arena_strdup(a, cells[i]);
        if (!cell || !(row[i] = keys_dotted(a, cell))) return ST_ERROR;
    }
    st->text_rows[st->n_rows++] = row;
    return ST_OK;
}

struct RunningPlan {
    const struct RunningPlan *up;
    const QueryPlan *plan;
};
static Status in_use(Session *s, const Table *t, const char *what) {
    return err_set(&s->err, ERR_OBJECT_IN_USE,
                   "cannot %s \"%s\" because it is being used by active queries in this session", what, t->name);
}
Status session_table_idle(Session *s, const Table *t, const char *what) {
    for (const HiddenChanges *h = s->hidden; h; h = h->up)
        if (undo_names_table(h->log, t)) return in_use(s, t, what);
    for (const struct RunningPlan *r = s->running; r; r = r->up)
        for (int32_t i = 0; i < r->plan->n_segments; i++) {
            const Source *src = &r->plan->segments[i].program->source;
            if (src->kind == SRC_TABLE && src->table == t) return in_use(s, t, what);
        }
    return ST_OK;
}

Status session_query_new(Session *s, const QueryPlan *plan, MemAccount *acct, const SessionInfo *info,
                         struct DevPlan **keep, MemAccount *keep_account, RunOutput *out) {
    QueryOptions o = {.pool = s->db->pool,
                      .threads = plan->serial ? 1 : (int)s->settings.exec.threads,
                      .vector_size = plan->row_by_row ? 1 : s->settings.exec.vector_size,
                      .morsel_rows = s->settings.exec.morsel_rows,
                      .account = acct,
                      .result_bytes = s->settings.exec.result_memory,
                      .temp_dir = s->settings.exec.temp_directory[0] ? s->settings.exec.temp_directory : NULL,
                      .vfs = s->db->vfs,
                      .session = info,
                      .cancel = &s->cancel,
                      .progress = progress_hook,
                      .progress_ctx = s,
                      .deadline_ns = s->deadline_ns};
    s->kept.n_runs++;
    TRY(session_device_use(s, plan, &o.device));
    TRY(session_read_device_run(s, &o.device));
    session_read_planned(s);
    o.device.keep = keep;
    o.device.keep_account = keep_account;
    return query_new(plan, &o, &out->query, &s->err);
}

static Status run_lowered(Session *s, const QueryPlan *plan, MemAccount *acct, struct DevPlan **keep,
                          MemAccount *keep_account, RunOutput *out) {
    int64_t start = clock_ns();
    TRY(session_query_new(s, plan, acct, &s->info, keep, keep_account, out));
    struct RunningPlan here = {s->running, plan};
    if (plan->serial) s->running = &here;
    Status st = query_run(out->query, &s->err);
    s->running = here.up;
    if (st != ST_OK) {
        s->read.again |= query_needs_host(out->query);
        query_free(out->query);
        out->query = NULL;
        return ST_ERROR;
    }
    out->rows = query_result(out->query);
    out->run_ns = clock_ns() - start;
    return ST_OK;
}

/* A failure that may be of a subquery's value that no row wants. */
static bool by_data(const Err *e) {
    return strncmp(e->sqlstate, "22", 2) == 0 || strcmp(e->sqlstate, ERR_CARDINALITY) == 0;
}

static Status plan_lowered(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, int64_t start,
                           RunOutput *out) {
    TRY(sql_optimize(c, b));
    if (s->txn) {
        TxnReads reads;
        TRY(transaction_reads_of_plan(c, b, c->arena, &reads));
        TRY(transaction_reads(s, &reads));
    }
    out->plan = sql_lower(c, b->plan, n, ids);
    if (!out->plan) return ST_ERROR;
    out->plan_ns = clock_ns() - start;
    return ST_OK;
}
static Status plan_and_run(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                           int64_t start, RunOutput *out) {
    TRY(plan_lowered(s, c, b, n, ids, start, out));
    return run_lowered(s, out->plan, acct, NULL, NULL, out);
}

Status session_run_plan(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                        RunOutput *out) {
    return b->n_members > 0 ? session_run_with_changes(s, c, b, n, ids, acct, out)
                            : session_run_member(s, c, b, n, ids, acct, out);
}

Status session_run_member(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                          RunOutput *out) {
    int64_t start = clock_ns();
    memset(out, 0, sizeof *out);
    TRY(session_resolve_limits(s, c, b->plan, acct));
    Plan *again = !c->guarded && !c->calls_routine && c->n_bulks == 0 && sql_subqueries_can_fail(b)
                      ? sql_copy_plan(c, b->plan)
                      : NULL;
    if (plan_and_run(s, c, b, n, ids, acct, start, out) == ST_OK) return ST_OK;
    if (!again || !by_data(&s->err)) return ST_ERROR;
    err_clear(&s->err);
    c->guarded = true;
    b->plan = again;
    return plan_and_run(s, c, b, n, ids, acct, start, out);
}

Status session_begin_pieces(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                            RunOutput *out) {
    memset(out, 0, sizeof *out);
    if (b->n_members > 0 || c->calls_routine || c->n_bulks > 0 || sql_subqueries_can_fail(b))
        return session_run_plan(s, c, b, n, ids, acct, out);
    int64_t start = clock_ns();
    TRY(session_resolve_limits(s, c, b->plan, acct));
    TRY(plan_lowered(s, c, b, n, ids, start, out));
    TRY(session_query_new(s, out->plan, acct, &s->info, NULL, NULL, out));
    out->more = true;
    return ST_OK;
}

Status session_next_piece(Session *s, int64_t bytes, RunOutput *out) {
    if (query_next(out->query, bytes, &out->more, &s->err) != ST_OK) {
        s->read.again |= query_needs_host(out->query);
        return ST_ERROR;
    }
    out->rows = query_result(out->query);
    return ST_OK;
}

Status session_run_pieces(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                          RunOutput *out) {
    TRY(session_begin_pieces(s, c, b, n, ids, acct, out));
    if (!out->more || session_next_piece(s, RESULT_PIECE_BYTES, out) == ST_OK) return ST_OK;
    query_free(out->query);
    return ST_ERROR;
}

/* text: NULL, or the statement's, whose last plan says whether it wants the lock anyway. */
static Status read_for(Session *s, const Statement *st, const SqlText *text) {
    const bool locked = s->read.locked;
    s->read.streams = st->streams;
    s->read.locked |= text && text->plan && text->plan->takes_numbers;
    Status r = session_read(s, false);
    s->read.streams = false;
    s->read.locked = locked;
    return r;
}

static Status run_select(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                         const Value *params, SqlText *text) {
    if (text && text->runs_bulk) TRY(session_begin_bulk(s)); /* no other statement between the check and its run */
    else TRY(read_for(s, st, text));
    plan_release(st->plan);
    st->plan = NULL;
    CachedPlan **slot = text ? &text->plan : NULL;
    TRY(plan_get(s, ast, n_params, param_types, params, &st->account, slot, &st->plan));
    CachedPlan *p = st->plan;
    TRY(transaction_reads(s, &p->reads));
    st->has_shape = true;
    st->n_cols = p->n_cols;
    st->names = p->names;
    st->types = p->types;
    st->show_rows = true;
    if (p->columns) {
        st->columns = p->columns;
        st->n_rows = st->affected = p->n_rows;
        snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)st->n_rows);
        return ST_OK;
    }
    RunOutput r = {0};
    if (st->streams && result_stream_can(s, p)) return result_stream_begin(s, st, p, &r);
    Status status = run_lowered(s, p->plan, &st->account, p->keep ? &p->device : NULL, &p->account, &r);
    if (status != ST_OK && p->may_guard && by_data(&s->err)) {
        err_clear(&s->err);
        plan_release(st->plan);
        st->plan = NULL;
        TRY(plan_get_guarded(s, ast, n_params, param_types, params, &st->account, &st->plan));
        p = st->plan;
        TRY(transaction_reads(s, &p->reads));
        st->names = p->names;
        st->types = p->types;
        status = run_lowered(s, p->plan, &st->account, NULL, NULL, &r);
    }
    if (status != ST_OK) return status;
    st->query = r.query;
    st->rows = r.rows;
    st->n_rows = rows_count(r.rows);
    st->affected = st->n_rows;
    snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)st->n_rows);
    return ST_OK;
}

/* A SELECT whose WITH changes data. */
static Status run_query(Session *s, Statement *st, PlanCtx *c, BoundStmt *b) {
    RunOutput r;
    TRY(session_run_plan(s, c, b, b->n_result, b->result, &st->account, &r));
    st->query = r.query;
    st->rows = r.rows;
    st->n_rows = st->affected = rows_count(r.rows);
    st->show_rows = true;
    snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)st->n_rows);
    return ST_OK;
}

/* LOCK TABLE. The modes that two writers of rows do not have beside each other, and the one that conflicts with itself,
 * are the database's lock, to the end of the transaction; the others are what its statements take anyway. */
static Status lock_alone(Session *s, const AstLock *x) {
    const int64_t timeout = s->settings.txn.lock_timeout_ms;
    if (x->nowait) s->settings.txn.lock_timeout_ms = 1;
    Status st = s->state == 'T' ? session_lock_latest(s) : session_lock(s, LOCK_EXCLUSIVE);
    s->settings.txn.lock_timeout_ms = timeout;
    if (st == ST_OK || !x->nowait || strcmp(s->err.sqlstate, ERR_LOCK_NOT_AVAILABLE) != 0) return st;
    err_clear(&s->err);
    return err_set(&s->err, ERR_LOCK_NOT_AVAILABLE, "could not obtain lock on relation \"%s\"", x->tables[0].name);
}
static Status lock_tables(Session *s, Statement *st, const AstLock *x) {
    static const char *const shared[] = {"ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE"};
    bool alone = true;
    snprintf(st->tag, sizeof st->tag, "LOCK TABLE");
    if (s->state == 'I' && !pl_in_call(s))
        return err_set(&s->err, ERR_NO_ACTIVE_TRANSACTION, "LOCK TABLE can only be used in transaction blocks");
    for (int64_t i = 0; i < ARRAY_LEN(shared); i++) alone &= strcmp(x->mode, shared[i]) != 0;
    TRY(alone ? lock_alone(s, x) : session_read(s, true));
    const Catalog *c = session_catalog(s);
    for (int64_t i = 0; i < x->n_tables; i++) {
        AstName of, *n = &of;
        TRY(session_relation_name(s, st->run_arena, &x->tables[i], false, n));
        if (catalog_matview(c, slice_of(n->name))) {
            err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "cannot lock relation \"%s\"", n->name);
            err_detail(&s->err, "This operation is not supported for materialized views.");
            return ST_ERROR;
        }
        if (!catalog_table(c, slice_of(n->name)) && !catalog_view(c, slice_of(n->name)))
            return catalog_no_relation(c, n->name, n->location, &s->err);
    }
    if (alone) transaction_pin(s, true);
    return ST_OK;
}

/* A statement that changes rows, and its parameters. */
typedef struct Changes {
    Session *s;
    Statement *st;
    const AstStmt *ast;
    int32_t n_params;
    const Type *param_types;
    const Value *params;
} Changes;
static Status bind_changes(const Changes *x, PlanCtx *c, BoundStmt **out) {
    Session *s = x->s;
    plan_ctx_init_client(s, x->st->run_arena, c);
    c->rows.current = cursor_current_row;
    c->rows.current_ctx = s;
    TRY(sql_bind_client(c, x->ast, x->n_params, x->param_types, out));
    TRY(set_shape(x->st, x->st->run_arena, c, *out));
    if ((*out)->n_params == 0) return ST_OK;
    if (x->n_params < (*out)->n_params)
        return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "the statement has %d parameters but %d values were given",
                       (int)(*out)->n_params, (int)x->n_params);
    return sql_bind_params(c, *out, x->n_params, x->params);
}
/* Computed beside the tables, and then applied; *done false: not so, and the lock is held alone. */
static Status run_ahead(const Changes *x, Table *target, AheadTries *tries, bool *done) {
    Session *s = x->s;
    PlanCtx c;
    BoundStmt *b;
    Ahead a;
    bool again = false;
    *done = false;
    if (!ahead_begin(s, target, tries, &a)) return ST_OK;
    Status r = bind_changes(x, &c, &b);
    const Status kept = ahead_bound(s, &a, x->st->run_arena);
    if (r == ST_OK) r = kept;
    Change change = {0};
    if (r == ST_OK) r = session_dml_plan(s, x->st, &c, b, &change);
    if (r == ST_OK) r = change_prepare(s, x->st->run_arena, &change, target);
    if (r == ST_OK) r = ahead_end(s, &a, &again);
    if (r != ST_OK || again) change_forget(&change);
    if (r != ST_OK) {
        ahead_fail(s);
        return r;
    }
    if (again) {
        query_free(x->st->query);
        x->st->query = NULL;
        return ST_OK;
    }
    *done = true;
    b->table = target; /* the version's until now */
    return session_dml_apply(s, x->st, &change);
}
/* Tables of the transaction's own are changed, without the lock; *done false: not so, and nothing has happened. */
static Status run_on_forks(const Changes *x, bool *done) {
    Session *s = x->s;
    PlanCtx c;
    BoundStmt *b;
    bool made = false;
    *done = false;
    TRY(transaction_read_to_fork(s));
    if (!transaction_may_fork(s)) return ST_OK;
    TRY(transaction_begin_forks(s));
    TRY(bind_changes(x, &c, &b));
    *done = b->kind != STMT_SELECT && b->n_members == 0 && !c.reads_client_rows && transaction_can_fork(s, b->table);
    if (!*done) {
        session_read_end(s);
        return ST_OK;
    }
    TRY(transaction_fork(s, b->table, &made));
    if (made) TRY(bind_changes(x, &c, &b));
    return session_dml(s, x->st, &c, b);
}
static Status run_changes(const Changes *x) {
    PlanCtx c;
    BoundStmt *b;
    bool done;
    TRY(run_on_forks(x, &done));
    if (done) return ST_OK;
    TRY(session_begin_change(x->s));
    TRY(bind_changes(x, &c, &b));
    if (b->kind == STMT_SELECT) return run_query(x->s, x->st, &c, b);
    if (b->n_members == 0) TRY(session_may_change(x->s, b->table));
    AheadTries tries = {0};
    while (ahead_again(&tries) && ahead_pays(x->s, &c, b)) {
        TRY(run_ahead(x, b->table, &tries, &done));
        if (done) return ST_OK;
        TRY(bind_changes(x, &c, &b));
    }
    return session_dml(x->s, x->st, &c, b);
}

/* What a failed transaction takes. */
static bool ends_failure(const AstStmt *ast) {
    if (ast->kind != AST_TRANSACTION) return false;
    AstTransactionKind kind = AST_AS_CONST(AstTransaction, ast)->tx_kind;
    return kind == AST_TX_ROLLBACK || kind == AST_TX_COMMIT || kind == AST_TX_ROLLBACK_TO;
}

static Status execute(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                      const Value *params, SqlText *text) {
    TRY(stack_check(&s->err));
    if (s->state == 'E' && !ends_failure(ast))
        return err_set(&s->err, ERR_FAILED_TRANSACTION,
                       "current transaction is aborted, commands ignored until end of transaction block");
    if (ast->kind == AST_CALL && session_is_bulk_call(AST_AS_CONST(AstCall, ast)))
        return session_bulk_call(s, st, AST_AS_CONST(AstCall, ast), n_params, params);
    const AstFunc *call = ast->kind == AST_CALL     ? AST_AS_CONST(AstCall, ast)->func
                          : ast->kind == AST_SELECT ? pl_lone_function(AST_AS_CONST(AstSelect, ast))
                                                    : NULL;
    bool one_row =
        ast->kind == AST_INSERT || ast->kind == AST_UPDATE || ast->kind == AST_DELETE || ast->kind == AST_SELECT;
    if (text && (call || (one_row && n_params > 0))) {
        bool done;
        TRY(call_statement(s, st, text, call, n_params, param_types, params, &done));
        if (done) return ST_OK;
    }
    if (ast->kind == AST_CALL || ast->kind == AST_DO) return pl_statement(s, st, ast, n_params, param_types, params);
    if (ast->kind == AST_TRANSACTION) return transaction(s, st, AST_AS_CONST(AstTransaction, ast));
    if (ast->kind == AST_EXPLAIN)
        return session_explain(s, st, AST_AS_CONST(AstExplain, ast), n_params, param_types, params);
    if (ast->kind == AST_DECLARE_CURSOR)
        return declare_cursor(s, st, AST_AS_CONST(AstDeclareCursor, ast), n_params, param_types, params);
    if (ast->kind == AST_FETCH) return fetch_statement(s, st, AST_AS_CONST(AstFetch, ast));
    if (ast->kind == AST_CLOSE) return close_statement(s, st, AST_AS_CONST(AstClose, ast));
    if (ast->kind == AST_LOCK) return lock_tables(s, st, AST_AS_CONST(AstLock, ast));
    if (ast->kind == AST_SET_CONSTRAINTS) {
        snprintf(st->tag, sizeof st->tag, "SET CONSTRAINTS");
        return constraints_set(s, st, AST_AS_CONST(AstSetConstraints, ast));
    }
    if (ast->kind == AST_DESCRIBE) return session_describe(s, st, AST_AS_CONST(AstDescribe, ast));
    if (!sql_is_planned(ast)) {
        bool by_statement = ast->kind == AST_EXECUTE || ast->kind == AST_PREPARE || ast->kind == AST_DEALLOCATE ||
                            ast->kind == AST_SET || ast->kind == AST_SHOW || ast->kind == AST_DISCARD ||
                            (ast->kind == AST_COPY && !AST_AS_CONST(AstCopy, ast)->from);
        if (!by_statement && s->state == 'T') TRY(session_lock_latest(s));
        Status r = session_utility(s, st, ast);
        if (!by_statement && s->lock != LOCK_NONE) transaction_pin(s, true);
        return r;
    }
    bool point;
    TRY(point_statement(s, st, text, n_params, param_types, params, &point));
    if (point) return ST_OK;
    if (ast->kind == AST_SELECT) {
        bool done;
        TRY(pl_lone_call(s, st, AST_AS_CONST(AstSelect, ast), n_params, param_types, params, &done));
        if (done) return ST_OK;
        if (!sql_changes_data(ast)) return run_select(s, st, ast, n_params, param_types, params, text);
    }
    return run_changes(&(Changes){s, st, ast, n_params, param_types, params});
}

/* The statement was refused because a column has no NaN: again, when it has. */
static Status execute_wider(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                            const Value *params, SqlText *text) {
    Err why;
    bool done = false;
    err_copy(&why, &s->err);
    err_clear(&s->err);
    if (s->lock == LOCK_SHARED && session_may_read_images(s)) session_unlock(s);
    session_read_end(s); /* of a version, if it has come so far without the lock */
    Status r = s->state == 'T' ? session_lock_latest(s) : session_begin_write(s);
    if (r == ST_OK) r = numerics_widen(s, st, ast, &done);
    if (r == ST_OK && done) {
        transaction_pin(s, true);
        return execute(s, st, ast, n_params, param_types, params, text);
    }
    err_clear(&s->err);
    return err_copy(&s->err, &why), ST_ERROR;
}
Status session_execute(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                       const Value *params, SqlText *text) {
    dbg_assert(!text || text->ast == ast);
    const CatalogUndo *definitions = s->catalog_undo;
    const int64_t mark = s->undo ? undo_mark(s->undo) : 0;
    s->read.again = false;
    Status r = execute(s, st, ast, n_params, param_types, params, text);
    const bool no_effect = s->catalog_undo == definitions && (s->undo ? undo_mark(s->undo) : 0) == mark;
    if (r != ST_OK && no_effect && numeric_is_nan_error(&s->err) && sql_is_planned(ast))
        return execute_wider(s, st, ast, n_params, param_types, params, text);
    if (r == ST_OK || !(s->read.again || session_read_outdated(s))) return r;
    /* It has read a version, or rows on a device, and came to something that needs the lock, or rows on the host: from
     * the start, with them. */
    if (s->lock == LOCK_SHARED && session_may_read_images(s)) session_unlock(s);
    session_read_end(s);
    s->read.again = false;
    s->read.locked = true;
    err_clear(&s->err);
    r = execute(s, st, ast, n_params, param_types, params, text);
    s->read.locked = false;
    return r;
}

void session_begin_clock(Session *s) {
    if (s->state == 'I') {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        s->info.now_micros = ((int64_t)ts.tv_sec - INT64_C(946684800)) * 1000000 + ts.tv_nsec / 1000;
    }
    s->info.form = s->settings.client.form;
}

static Status run_once(Statement *st) {
    Session *s = st->session;
    drop_results(st);
    session_objects_end(s);
    st->run_arena = arena_new(&st->account, &s->err);
    if (!st->run_arena) return err_oom(&s->err);
    session_begin_clock(s);
    if (s->state == 'I') setting_texts_tidy(s, false);
    s->block.mark = s->undo ? undo_mark(s->undo) : 0;
    s->block.cursor_mark = s->names.last_cursor;
    s->block.constraints = constraints_mark(s);
    s->block.holder = 0;
    s->block.read_adds = s->block.defers = false;
    s->read.since_ns = clock_ns();
    Value *vals = arena_array(st->run_arena, Value, st->n_params + 1);
    Status r = vals ? stack_check(&s->err) : ST_ERROR; /* interrupted by now: nothing begins */
    for (int32_t i = 0; r == ST_OK && i < st->n_params; i++) {
        vals[i] = st->params[i];
        if (vals[i].is_null) vals[i].type = st->param_types[i];
    }
    if (r == ST_OK) r = session_execute(s, st, st->ast, st->n_params, st->param_types, vals, st->text);
    if (r == ST_OK) r = stack_check(&s->err); /* a walk that was cut short: what it was for may be wrong */
    else if (!s->block.holder) (void)stack_failed(&s->err);
    if (r != ST_OK && s->deadline_ns && clock_ns() > s->deadline_ns &&
        strcmp(s->err.sqlstate, ERR_QUERY_CANCELED) == 0) {
        err_clear(&s->err);
        err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    }
    r = session_end_statement(s, r);
    if (r != ST_OK) {
        Err keep;
        err_copy(&keep, &s->err);
        drop_results(st);
        err_copy(&s->err, &keep);
        return r;
    }
    st->ran = true;
    st->next_row = 0;
    return ST_OK;
}

/* Nothing but its result comes of it, so that it can run once more when it has failed as a whole. */
static bool is_repeatable(const AstStmt *ast) {
    if (!ast) return false;
    if (ast->kind == AST_COPY) {
        const AstCopy *x = AST_AS_CONST(AstCopy, ast);
        return x->from && x->path && !x->program;
    }
    return sql_is_planned(ast) || ast->kind == AST_CREATE_TABLE_AS;
}
/* memory_limit has refused something: what can be had from tables and bulks is given back. */
static bool give_back(Session *s) {
    Err why;
    err_copy(&why, &s->err);
    err_clear(&s->err);
    Status st = session_begin_bulk(s);
    bool more = st == ST_OK && session_give_back(s);
    if (st == ST_OK && err_is_set(&s->err)) err_copy(&why, &s->err); /* a device was lost */
    err_clear(&s->err);
    (void)session_end_statement(s, st);
    err_clear(&s->err);
    err_copy(&s->err, &why);
    return more;
}
/* The wait has failed. COMMIT ends its block even then. */
static Status end_wait(Statement *st) {
    Session *s = st->session;
    if (st->ast->kind != AST_TRANSACTION) return session_end_statement(s, ST_ERROR);
    session_abandon(s);
    return ST_ERROR;
}
/* Once more whenever it has waited for a transaction that held rows which it changes. */
static Status run_when_held(Statement *st) {
    Session *s = st->session;
    s->block.can_wait = true;
    advisory_begin_statement(s, false);
    Status r = run_once(st);
    while (s->block.holder) {
        session_notices_drop(s);
        if (transaction_wait(s) != ST_OK) {
            r = end_wait(st);
            break;
        }
        advisory_begin_statement(s, true);
        r = run_once(st);
    }
    cannot_repeat(s);
    return r;
}
static Status run_statement(Statement *st) {
    Session *s = st->session;
    const bool alone = s->state == 'I';
    const int64_t refused = atomic_load(&s->db->account.refused), notices = s->n_notices;
    Status r = run_when_held(st);
    if (r == ST_OK || strncmp(s->err.sqlstate, "53", 2) != 0 || atomic_load(&s->db->account.refused) == refused)
        return r;
    if (!alone || !is_repeatable(st->ast) || s->n_notices != notices || !give_back(s)) return r;
    err_clear(&s->err);
    return run_when_held(st);
}

Status statement_run(Statement *st) {
    Session *s = st->session;
    StackWatch before = session_call_begin(s);
    Status r = session_enter(s);
    reserve_begin(s, st->reserve);
    if (r == ST_OK) r = run_statement(st);
    reserve_end(s);
    session_leave(s);
    stack_watch_end(before);
    return r;
}
