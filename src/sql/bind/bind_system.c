/* bind_system.c - system relations: what the database shows of itself, as tables that are read only. See bind.h.
 *
 * A system relation in FROM becomes LP_VALUES whose rows the session makes when the plan is about to run
 * (session/core/system.c), as the rows of a routine are (PlanValues.routine_id, which is below 0 for them). Their names
 * are reserved (session_add_table): else what a view reads would change with a table that comes later.
 */
#include "sql/bind/bind_int.h"

typedef struct SystemColumn {
    const char *name;
    TypeId type;
} SystemColumn;

static const SystemColumn tablets[] = {{"table_name", T_TEXT}, {"tablet", T_INT8}, {"form", T_TEXT},
                                       {"rows", T_INT8},       {"dead", T_INT8},   {"bytes", T_INT8},
                                       {"devices", T_TEXT},    {NULL, T_UNKNOWN}};
static const SystemColumn tablet_columns[] = {{"table_name", T_TEXT}, {"tablet", T_INT8},   {"column_name", T_TEXT},
                                              {"form", T_TEXT},       {"encoding", T_TEXT}, {"bits", T_INT8},
                                              {"nulls", T_INT8},      {"minimum", T_TEXT},  {"maximum", T_TEXT},
                                              {"bytes", T_INT8},      {"devices", T_TEXT},  {NULL, T_UNKNOWN}};
static const SystemColumn snapshots[] = {{"kind", T_TEXT},   {"session", T_INT8}, {"label", T_TEXT},
                                         {"age_ms", T_INT8}, {"epoch", T_INT8},   {"held_bytes", T_INT8},
                                         {"lost", T_BOOL},   {NULL, T_UNKNOWN}};

static const SystemColumn bulks[] = {
    {"bulk", T_INT8},         {"why_cut", T_TEXT},   {"ended_ms_ago", T_INT8},   {"calls", T_INT8},
    {"failed", T_INT8},       {"strategy", T_TEXT},  {"depth", T_INT8},          {"executor", T_TEXT},
    {"device", T_TEXT},       {"reason", T_TEXT},    {"footprint_ms", T_FLOAT8}, {"rank_ms", T_FLOAT8},
    {"reserve_ms", T_FLOAT8}, {"run_ms", T_FLOAT8},  {"total_ms", T_FLOAT8},     {"bulk_order", T_TEXT},
    {"why", T_TEXT},          {"send_ms", T_FLOAT8}, {"transfer_ms", T_FLOAT8},  {"retries", T_INT8},
    {"alone", T_INT8},        {"sqlstate", T_TEXT},  {NULL, T_UNKNOWN}};

static const SystemColumn memory[] = {{"what", T_TEXT},    {"table_name", T_TEXT},   {"bytes", T_INT8},
                                      {"charged", T_INT8}, {"memory_limit", T_INT8}, {NULL, T_UNKNOWN}};

/* Named as those of PostgreSQL's pg_settings. */
static const SystemColumn settings[] = {
    {"name", T_TEXT},    {"setting", T_TEXT},  {"unit", T_TEXT},     {"vartype", T_TEXT},    {"min_val", T_INT8},
    {"max_val", T_INT8}, {"enumvals", T_TEXT}, {"boot_val", T_TEXT}, {"short_desc", T_TEXT}, {NULL, T_UNKNOWN}};
static const SystemColumn machine[] = {
    {"topic", T_TEXT}, {"item", T_TEXT}, {"value", T_TEXT}, {"problem", T_TEXT}, {NULL, T_UNKNOWN}};

static const struct {
    const char *name;
    const SystemColumn *cols;
} relations[N_SYSTEM_RELATIONS] = {
    [SYSTEM_TABLETS] = {"stele_tablets", tablets},       [SYSTEM_COLUMNS] = {"stele_tablet_columns", tablet_columns},
    [SYSTEM_SNAPSHOTS] = {"stele_snapshots", snapshots}, [SYSTEM_BULKS] = {"stele_bulks", bulks},
    [SYSTEM_MEMORY] = {"stele_memory", memory},          [SYSTEM_SETTINGS] = {"stele_settings", settings},
    [SYSTEM_MACHINE] = {"stele_machine", machine}};

int sql_system_relation(const char *name) {
    for (int i = 0; i < N_SYSTEM_RELATIONS; i++)
        if (strcmp(relations[i].name, name) == 0) return i;
    return -1;
}

Status sql_refuse_system_relation(const char *name, Err *e) {
    if (sql_system_relation(name) < 0) return ST_OK;
    return err_set(e, ERR_INSUFFICIENT_PRIVILEGE, "permission denied: \"%s\" is a system catalog", name);
}

Plan *bind_system_rows(Binder *b, int relation) {
    const SystemColumn *cols = relations[relation].cols;
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    int32_t n = 0;
    while (cols[n].name) n++;
    if (!p || !(p->out_cols = arena_array(b->a, ColId, n))) return NULL;
    for (int32_t i = 0; i < n; i++)
        if (!(p->out_cols[i] = plan_new_col(b->c, cols[i].name, type_make(cols[i].type), true))) return NULL;
    p->n_out = n;
    p->values.routine_id = -1 - relation;
    b->c->reads_system = true;
    p->alias = relations[relation].name;
    return p;
}
