/* explain_json.c - EXPLAIN (FORMAT JSON): the plan as a tree, the segments as a list, with the names that PostgreSQL
 * gives to what it has, too. */
#include <stdio.h>

#include "exec/vm.h"
#include "session/core/explain.h"
#include "sql/plan/plan_explain.h"

/* The beginning of a line, as deep as its object. */
static void line(JsonOut *o, int depth, const char *name, bool *first) {
    char text[96];
    const int n = snprintf(text, sizeof text, "%s\n%*s\"%s\": ", *first ? "" : ",", 2 * depth, "", name);
    json_put(o, text, MIN_OF(n, (int)sizeof text - 1));
    *first = false;
}
static void put_text(JsonOut *o, int depth, const char *name, const char *value, bool *first) {
    line(o, depth, name, first);
    json_put_string(o, slice_of(value));
}
static void put_number(JsonOut *o, int depth, const char *name, double value, int decimals, bool *first) {
    char text[64];
    const int n = snprintf(text, sizeof text, "%.*f", decimals, value);
    line(o, depth, name, first);
    json_put(o, text, MIN_OF(n, (int)sizeof text - 1));
}

static void put_segment(const Explained *x, const SegmentPlan *g, int32_t i, JsonOut *o) {
    const SegmentStats *t = x->analyze ? query_stats(x->run.query, i) : NULL;
    const bool device = t && t->device.on_device;
    bool first = true;
    json_put_text(o, "      {");
    put_number(o, 4, "Segment", i, 0, &first);
    put_text(o, 4, "Label", g->label, &first);
    put_text(o, 4, "Executor", device ? t->device.executor : "vm", &first);
    put_text(o, 4, "Device", device ? t->device.device : "cpu", &first);
    if (t) {
        put_number(o, 4, "Rows In", (double)t->rows_in, 0, &first);
        put_number(o, 4, "Rows Out", (double)t->rows_out, 0, &first);
        put_number(o, 4, "Actual Total Time", (double)t->wall_ns / 1e6, 3, &first);
        put_number(o, 4, "Workers", t->workers, 0, &first);
        put_number(o, 4, "Tablets Skipped", (double)t->tablets_skipped, 0, &first);
        put_number(o, 4, "Spilled Bytes", (double)t->spilled_bytes, 0, &first);
    }
    if (t && t->device.reason) put_text(o, 4, "Not On Device", t->device.reason, &first);
    json_put_text(o, "\n      }");
}
static Status put_members(Explained *x, JsonOut *o, bool *first) {
    line(o, 2, "Members", first);
    json_put_text(o, "[\n");
    for (int32_t i = 0; i < x->b->n_members; i++) {
        const WithMember *m = &x->b->members[i];
        bool own = true;
        json_put_text(o, "      {");
        put_text(o, 4, "Name", m->name, &own);
        if (m->stmt->kind != STMT_SELECT) put_text(o, 4, "Operation", explain_change_name(m->stmt), &own);
        if (x->analyze) put_number(o, 4, "Actual Rows", (double)m->n_done, 0, &own);
        line(o, 4, "Plan", &own);
        TRY(plan_json(&x->c, m->stmt->plan, 4, o));
        json_put_text(o, "\n      }");
        if (i + 1 < x->b->n_members) json_put_text(o, ",");
        json_put_text(o, "\n");
    }
    json_put_text(o, "    ]");
    return ST_OK;
}
/* The change above the plan of its rows. */
static Status put_change(Explained *x, JsonOut *o) {
    bool first = true;
    json_put_text(o, "{");
    put_text(o, 3, "Node Type", "ModifyTable", &first);
    put_text(o, 3, "Operation", explain_change_name(x->b), &first);
    put_text(o, 3, "Relation Name", name_of_key(x->b->table->name), &first);
    if (x->analyze) put_number(o, 3, "Actual Rows", (double)x->n_rows, 0, &first);
    if (x->analyze) put_number(o, 3, "Actual Total Time", (double)x->apply_ns / 1e6, 3, &first);
    line(o, 3, "Plans", &first);
    json_put_text(o, "[\n        ");
    TRY(plan_json(&x->c, x->b->plan, 4, o));
    json_put_text(o, "\n      ]\n    }");
    return ST_OK;
}

Status explain_json(Statement *st, Explained *x, Str *out) {
    JsonOut o = {.a = st->run_arena};
    bool first = true;
    json_put_text(&o, "[\n  {");
    if (x->b) {
        const QueryPlan *plan = x->analyze ? query_plan(x->run.query) : x->run.plan;
        line(&o, 2, "Plan", &first);
        if (x->changes) TRY(put_change(x, &o));
        else TRY(plan_json(&x->c, x->b->plan, 2, &o));
        if (x->b->n_members > 0) TRY(put_members(x, &o, &first));
        line(&o, 2, "Segments", &first);
        json_put_text(&o, "[\n");
        for (int32_t i = 0; i < plan->n_segments; i++) {
            put_segment(x, &plan->segments[i], i, &o);
            if (i + 1 < plan->n_segments) json_put_text(&o, ",");
            json_put_text(&o, "\n");
        }
        json_put_text(&o, "    ]");
    }
    if (x->b && x->analyze) {
        if (x->run.plan_ns) put_number(&o, 2, "Planning Time", (double)x->run.plan_ns / 1e6, 3, &first);
        put_number(&o, 2, "Execution Time", (double)(x->run.run_ns + x->apply_ns) / 1e6, 3, &first);
        put_number(&o, 2, "Peak Memory", (double)atomic_load(&st->account.peak), 0, &first);
    }
    json_put_text(&o, "\n  }\n]");
    return json_done(&o, out, &st->session->err);
}
