/* emit_join.c - probes, build sides and the kernel that finishes a hash join.
 *
 * A probe finds candidates (row + 1, 0 = none) in a chain: for DIRECT all of the same key, for HASH of the same bucket,
 * and of a join without keys all rows. Kinds that want one answer per row loop over the chain and go on behind it;
 * INNER and LEFT leave the loop open around the rest of the program, so that `continue` means the next candidate.
 * `spin` counts candidates, to look at the stop flag now and then; a loop that ends by it takes the count back, so that
 * the next one, of another row or around this one, looks at once.
 */
#include "codegen/emit_int.h"

typedef struct JoinView {
    const JoinSpec *spec;
    const DevJoin *dev;
    int32_t id;
} JoinView;
static JoinView view(const Em *m, int32_t id) { return (JoinView){&m->plan->joins[id], &m->ep->joins[id], id}; }

/* Once per kernel: flags of a join. */
static void need_join(Em *m, const JoinView *j) {
    for (int64_t i = 0; i < m->joins_done.len; i++)
        if (m->joins_done.items[i] == j->id) return;
    if (!vec_push(m->arena, &m->joins_done, j->id)) m->text.body.failed = true;
    if (j->dev->form == DJ_DIRECT)
        out_w(m, &m->text.top, "    const bool dup%d = G(u32, P(%d))[0] != 0;\n", j->id, P1(m, KP_JOIN_FLAGS, j->id));
}

/* ---- keys -------------------------------------------------------------------------------------- */
/* Declares x<pc>: the key's place in a domain, and ok<pc>: whether it is in there. */
static void direct_key(Em *m, const JoinView *j, Reg key) {
    int32_t pc = m->pc, min = P1(m, KP_JOIN_MIN, j->id), dom = P1(m, KP_JOIN_DOM, j->id);
    uint8_t phys = j->spec->keys[0].phys;
    bool narrow = phys <= PH_I32;
    bool null_slot = j->spec->keys[0].null_equal && NULLABLE(m, key);
    if (narrow)
        w(m, "u32 x%d = (u32)(i32)%r - (u32)P(%d);\nbool ok%d = x%d < (u32)P(%d);\n", pc, key, min, pc, pc, dom);
    else w(m, "u64 x%d = (u64)%r - P(%d);\nbool ok%d = x%d < P(%d);\n", pc, key, min, pc, pc, dom);
    if (null_slot) w(m, "if (!%v) { x%d = (%s)P(%d); ok%d = true; }\n", key, pc, narrow ? "u32" : "u64", dom, pc);
    else if (NULLABLE(m, key)) w(m, "ok%d = ok%d && %v;\n", pc, pc, key);
}
/* "true" unless a key is NULL that matches nothing. */
static void put_keys_valid(Em *m, const JoinView *j, const Reg *keys) {
    bool any = false;
    for (int32_t i = 0; i < j->spec->n_keys; i++) {
        if (j->spec->keys[i].null_equal || !NULLABLE(m, keys[i])) continue;
        w(m, any ? " && %v" : "%v", keys[i]);
        any = true;
    }
    if (!any) w(m, "true");
}

/* Declares h<pc>: the hash of registers. NULL hashes as its own value. */
static void hash_regs(Em *m, const JoinView *j, const Reg *keys) {
    int32_t pc = m->pc;
    w(m, "u64 h%d = 0;\n", pc);
    char h[16];
    snprintf(h, sizeof h, "h%d", (int)pc);
    for (int32_t i = 0; i < j->spec->n_keys; i++) {
        Reg k = keys[i];
        uint8_t phys = j->spec->keys[i].phys;
        bool null = j->spec->keys[i].null_equal && NULLABLE(m, k);
        w(m, "%s = ", h);
        if (null) w(m, "%v ? ", k);
        char name[32];
        if (phys == PH_STR && m->regs[k].dict) {
            w(m, "hash_combine(%s, hash_str(%t))", h, k);
        } else {
            snprintf(name, sizeof name, "r%d", (int)k);
            em_use(m, k);
            w(m, "hash_combine(%s, ", h);
            em_hash(m, &m->text.body, phys, NULL, name);
            w(m, ")");
        }
        if (null) w(m, " : hash_combine(%s, 1)", h);
        w(m, ";\n");
    }
    w(m, "h%d = KEY_HASH(h%d);\n", pc, pc);
}

/* Does build row `row` (expression) have these keys? */
static void put_same_keys(Em *m, const JoinView *j, const Reg *keys, const char *row) {
    bool any = false;
    for (int32_t i = 0; i < j->spec->n_keys; i++) {
        int32_t col = j->spec->n_payload + i;
        const DevCol *c = &j->dev->cols[col];
        Reg k = keys[i];
        char stored[96], mine[32];
        int32_t data = P2(m, KP_JOIN_DATA, j->id, col);
        if (c->phys == PH_I128) snprintf(stored, sizeof stored, "ld_i128(P(%d) + (u64)%s * 16)", (int)data, row);
        else if (c->phys == PH_BOOL) snprintf(stored, sizeof stored, "(G(u8, P(%d))[%s] != 0)", (int)data, row);
        else snprintf(stored, sizeof stored, "G(%s, P(%d))[%s]", m_type[c->phys], (int)data, row);
        snprintf(mine, sizeof mine, "r%d", (int)k);
        if (any) w(m, " && ");
        any = true;
        bool null_equal = j->spec->keys[i].null_equal && (c->nullable || NULLABLE(m, k));
        if (c->nullable) {
            int32_t valid = P2(m, KP_JOIN_VALID, j->id, col);
            if (null_equal) w(m, "((G(u8, P(%d))[%s] != 0) == %v) && (!%v || ", valid, row, k, k);
            else w(m, "G(u8, P(%d))[%s] != 0 && (", valid, row);
        } else if (null_equal) {
            w(m, "%v && (", k);
        }
        if (c->phys == PH_STR && m->regs[k].dict) {
            w(m, "str_eq(%s, %t)", stored, k);
        } else {
            em_equal(m, &m->text.body, c->phys, stored, mine);
        }
        if (c->nullable || null_equal) w(m, ")");
    }
    if (!any) w(m, "true");
}

/* ---- probes -------------------------------------------------------------------------------------------- */
/* Writes the loop's head up to its opening brace; c<pc> is the candidate. `left`: one more turn with c = 0 when none
 * matched. */
static void chain_begin(Em *m, const JoinView *j, const Reg *keys, bool left) {
    int32_t pc = m->pc;
    char first[96], next[128];
    need_join(m, j);
    if (j->spec->n_keys == 0) {
        int32_t rows = P1(m, KP_JOIN_ROWS, j->id);
        snprintf(first, sizeof first, "(P(%d) != 0 ? 1u : 0u)", (int)rows);
        snprintf(next, sizeof next, "(c%d < P(%d) ? c%d + 1 : 0)", (int)pc, (int)rows, (int)pc);
    } else if (j->dev->form == DJ_DIRECT) {
        direct_key(m, j, keys[0]);
        snprintf(first, sizeof first, "ok%d ? G(u32, P(%d))[x%d] : 0", (int)pc, (int)P1(m, KP_JOIN_HEAD, j->id),
                 (int)pc);
        snprintf(next, sizeof next, "(dup%d ? G(u32, P(%d))[c%d - 1] : 0)", (int)j->id, (int)P1(m, KP_JOIN_NEXT, j->id),
                 (int)pc);
    } else {
        hash_regs(m, j, keys);
        snprintf(first, sizeof first, "G(u32, P(%d))[h%d & P(%d)]", (int)P1(m, KP_JOIN_HEAD, j->id), (int)pc,
                 (int)P1(m, KP_JOIN_MASK, j->id));
        snprintf(next, sizeof next, "G(u32, P(%d))[c%d - 1]", (int)P1(m, KP_JOIN_NEXT, j->id), (int)pc);
    }
    w(m, "u32 c%d = ", pc);
    if (j->dev->form != DJ_DIRECT && j->spec->n_keys > 0) {
        put_keys_valid(m, j, keys);
        w(m, " ? %s : 0;\n", first);
    } else {
        w(m, "%s;\n", first);
    }
    m->spin = true;
    if (left) w(m, "for (bool done%d = false; !done%d; c%d = c%d != 0 ? %s : 0) {\n", pc, pc, pc, pc, next);
    else
        w(m, "for (; c%d != 0; c%d = %s) {\nif ((++spin & 8191) == 0 && STOPPED()) { spin--; break; }\n", pc, pc, next);
}
static void skip_other_keys(Em *m, const JoinView *j, const Reg *keys, const char *row) {
    if (j->dev->form != DJ_HASH || j->spec->n_keys == 0) return;
    w(m, "if (!(");
    put_same_keys(m, j, keys, row);
    w(m, ")) continue;\n");
}
static void mark_row(Em *m, const JoinView *j, const char *row) {
    if (!j->spec->track_matched) return;
    int32_t p = P1(m, KP_JOIN_MATCHED, j->id);
    w(m, "if (G(u8, P(%d))[%s] == 0) G(u8, P(%d))[%s] = 1;\n", p, row, p, row);
}

/* Existence without a residual condition: declares hit<pc>. */
static void exists(Em *m, const JoinView *j, const Reg *keys) {
    int32_t pc = m->pc;
    if (j->dev->form == DJ_BITMAP) {
        direct_key(m, j, keys[0]);
        w(m, "const bool hit%d = ok%d && ((G(u32, P(%d))[x%d >> 5] >> (x%d & 31)) & 1) != 0;\n", pc, pc,
          P1(m, KP_JOIN_HEAD, j->id), pc, pc);
    } else if (j->dev->form == DJ_DIRECT) {
        direct_key(m, j, keys[0]);
        w(m, "const bool hit%d = ok%d && G(u32, P(%d))[x%d] != 0;\n", pc, pc, P1(m, KP_JOIN_HEAD, j->id), pc);
    } else {
        w(m, "bool hit%d = false;\n", pc);
        chain_begin(m, j, keys, false);
        char row[24];
        snprintf(row, sizeof row, "(c%d - 1)", (int)pc);
        skip_other_keys(m, j, keys, row);
        w(m, "hit%d = true;\nbreak;\n}\n", pc);
    }
}

/* MARK's three values from hit<pc> (and unknown<pc> when there was a residual condition). */
static void set_mark(Em *m, const JoinView *j, Reg dst, const Reg *keys, int32_t pc, bool residual) {
    w(m, "const bool r%d = hit%d;\n", dst, pc);
    if (!NULLABLE(m, dst)) return;
    w(m, "const bool v%d = hit%d || (", dst, pc);
    if (residual) w(m, "!unknown%d && ", pc);
    if (j->spec->has_null_mark) {
        int32_t f = P1(m, KP_JOIN_FLAGS, j->id);
        w(m, "G(u32, P(%d))[1] == 0 && (G(u32, P(%d))[2] == 0 || (", f, f);
        for (int32_t i = 0; i < j->spec->n_keys; i++)
            if (NULLABLE(m, keys[i])) w(m, "%v && ", keys[i]);
        w(m, "true))");
    } else {
        w(m, "true");
    }
    w(m, ");\n");
}

void em_probe(Em *m, const Instr *in) {
    const ProbeSite *s = in->aux;
    JoinView j = view(m, s->join);
    int32_t pc = m->pc;
    bool body = in->op == OP_PROBE_BEGIN;
    char row[24];
    snprintf(row, sizeof row, "(c%d - 1)", (int)pc);
    if (!body && (s->kind == PK_SEMI || s->kind == PK_ANTI || s->kind == PK_MARK)) {
        exists(m, &j, s->keys);
        if (s->kind == PK_MARK) set_mark(m, &j, in->dst, s->keys, pc, false);
        else w(m, s->kind == PK_SEMI ? "if (!hit%d) continue;\n" : "if (hit%d) continue;\n", pc);
        return;
    }
    bool inner = s->kind == PK_INNER, left = s->kind == PK_LEFT, single = s->kind == PK_SINGLE;
    if (single && (body || in->dst)) w(m, body ? "i64 found%d = -1;\n" : "i64 r%d = -1;\n", body ? pc : in->dst);
    if (!inner && s->kind != PK_MARK_BUILD) w(m, "bool hit%d = false;\n", pc);
    if (body && s->kind == PK_MARK) w(m, "bool unknown%d = false;\n", pc);
    chain_begin(m, &j, s->keys, left);
    if (left) {
        w(m, "if (c%d == 0) {\ndone%d = true;\nif (hit%d) continue;\n} else {\n", pc, pc, pc);
        w(m, "if ((++spin & 8191) == 0 && STOPPED()) { spin--; break; }\n");
    }
    skip_other_keys(m, &j, s->keys, row);
    if (left && body) w(m, "}\nbool take%d = true;\nif (c%d != 0) {\ntake%d = false;\n", pc, pc, pc);
    if (body) { /* the candidate's row for the body */
        if (in->dst) w(m, "const i64 r%d = (i64)%s;\n", in->dst, row);
        return;
    }
    switch (s->kind) {
    case PK_INNER:
        mark_row(m, &j, row);
        if (in->dst) w(m, "const i64 r%d = (i64)%s;\n", in->dst, row);
        m->depth++;
        break;
    case PK_LEFT:
        w(m, "hit%d = true;\n", pc);
        mark_row(m, &j, row);
        w(m, "}\n");
        if (in->dst) w(m, "const i64 r%d = (i64)c%d - 1;\n", in->dst, pc);
        m->depth++;
        break;
    case PK_SINGLE:
        w(m, "if (hit%d) { RAISE(%d); break; }\nhit%d = true;\n", pc, raise_code(pc, RK_CARDINALITY), pc);
        if (in->dst) w(m, "r%d = (i64)%s;\n", in->dst, row);
        mark_row(m, &j, row);
        w(m, "}\n");
        break;
    case PK_MARK_BUILD:
        mark_row(m, &j, row);
        w(m, "}\n");
        m->ends = true;
        break;
    default: break;
    }
}

void em_probe_end(Em *m, const Instr *in) {
    int32_t pc = m->pc - 1;
    const Program *p = m->prog;
    while (pc > 0 && !(p->instrs[pc].op == OP_PROBE_BEGIN && p->instrs[pc].jump == m->pc)) pc--;
    const Instr *begin = &p->instrs[pc];
    const ProbeSite *s = begin->aux;
    JoinView j = view(m, s->join);
    char row[24];
    snprintf(row, sizeof row, "(c%d - 1)", (int)pc);
    w(m, "const bool pass%d = %v && %r;\n", pc, in->a, in->a);
    switch (s->kind) {
    case PK_INNER:
        w(m, "if (!pass%d) continue;\n", pc);
        mark_row(m, &j, row);
        m->depth++;
        break;
    case PK_LEFT:
        w(m, "if (pass%d) {\ntake%d = hit%d = true;\n", pc, pc, pc);
        mark_row(m, &j, row);
        w(m, "}\n}\nif (!take%d) continue;\n", pc);
        if (begin->dst) w(m, "const i64 r%d = (i64)c%d - 1;\n", begin->dst, pc);
        m->depth++;
        break;
    case PK_SINGLE:
        w(m, "if (pass%d) {\nif (hit%d) { RAISE(%d); break; }\nhit%d = true;\n", pc, pc, raise_code(pc, RK_CARDINALITY),
          pc);
        w(m, "found%d = (i64)%s;\n", pc, row);
        mark_row(m, &j, row);
        w(m, "}\n}\n");
        if (begin->dst) w(m, "const i64 r%d = found%d;\n", begin->dst, pc);
        break;
    case PK_MARK:
        w(m, "if (pass%d) { hit%d = true; break; }\n", pc, pc);
        if (NULLABLE(m, in->a)) w(m, "unknown%d |= !%v;\n", pc, in->a);
        w(m, "}\n");
        set_mark(m, &j, in->dst, s->keys, pc, true);
        break;
    case PK_SEMI:
    case PK_ANTI:
        w(m, "if (pass%d) { hit%d = true; break; }\n}\n", pc, pc);
        w(m, s->kind == PK_SEMI ? "if (!hit%d) continue;\n" : "if (hit%d) continue;\n", pc);
        break;
    case PK_MARK_BUILD:
        w(m, "if (pass%d) {\n", pc);
        mark_row(m, &j, row);
        w(m, "}\n}\n");
        m->ends = true;
        break;
    default: break;
    }
}

void em_probe_test(Em *m, const Instr *in) {
    const ProbeSite *s = in->aux;
    JoinView j = view(m, s->join);
    int32_t pc = m->pc, head = P1(m, KP_JOIN_HEAD, j.id);
    if (j.dev->form == DJ_HASH) {
        hash_regs(m, &j, s->keys);
        w(m, "const bool pass = (");
        put_keys_valid(m, &j, s->keys);
        w(m, ") & (G(u32, P(%d))[h%d & P(%d)] != 0);\n", head, pc, P1(m, KP_JOIN_MASK, j.id));
        return;
    }
    direct_key(m, &j, s->keys[0]);
    w(m, "const u64 safe%d = ok%d", pc, pc);
    if (m->loop.listing) w(m, " & ok_%d", m->loop.listing - 1);
    w(m, " ? x%d : 0;\n", pc);
    w(m, s->kind == PK_ANTI ? "const bool pass = !(ok%d & " : "const bool pass = (ok%d & ", pc);
    if (j.dev->form == DJ_BITMAP) w(m, "((G(u32, P(%d))[safe%d >> 5] >> (safe%d & 31)) & 1));\n", head, pc, pc);
    else w(m, "(G(u32, P(%d))[safe%d] != 0));\n", head, pc);
}

/* Of a join by hash, for rows that em_probe_test let pass: declares pass, false when the only candidate has other keys.
 * False: not written, since keys may be NULL. */
bool em_probe_keys(Em *m, const Instr *in) {
    const ProbeSite *s = in->aux;
    JoinView j = view(m, s->join);
    int32_t pc = m->pc;
    if (j.dev->form != DJ_HASH) return false;
    for (int32_t i = 0; i < j.spec->n_keys; i++)
        if (j.spec->keys[i].null_equal || j.dev->cols[j.spec->n_payload + i].nullable || j.spec->keys[i].phys > PH_I64)
            return false;
    hash_regs(m, &j, s->keys);
    w(m, "const u32 f%d = G(u32, P(%d))[h%d & P(%d)], at%d = f%d != 0 ? f%d - 1 : 0;\n", pc, P1(m, KP_JOIN_HEAD, j.id),
      pc, P1(m, KP_JOIN_MASK, j.id), pc, pc, pc);
    w(m, "const bool pass = (G(u32, P(%d))[at%d] != 0)", P1(m, KP_JOIN_NEXT, j.id), pc);
    for (int32_t i = 0; i < j.spec->n_keys; i++) {
        int32_t col = j.spec->n_payload + i;
        w(m, i ? " & (G(%s, P(%d))[at%d] == %r)" : " | ((G(%s, P(%d))[at%d] == %r)", m_type[j.dev->cols[col].phys],
          P2(m, KP_JOIN_DATA, j.id, col), pc, s->keys[i]);
    }
    w(m, ");\n");
    return true;
}

/* ---- build rows ---------------------------------------------------------------------------------------------- */
void em_load_build(Em *m, const Instr *in) {
    const Program *p = m->prog;
    int32_t def = p->regs[in->a].first;
    JoinView j = view(m, ((const ProbeSite *)p->instrs[def].aux)->join);
    int32_t col = (int32_t)in->imm;
    const DevCol *c = &j.dev->cols[col];
    int32_t data = P2(m, KP_JOIN_DATA, j.id, col);
    bool outer = m->regs[in->a].outer;
    char value[128], valid[192], at[48];
    if (outer)
        snprintf(at, sizeof at, "(r%d < 0 ? 0 : r%d)", (int)in->a,
                 (int)in->a); /* arrays have a first cell even when empty */
    else snprintf(at, sizeof at, "r%d", (int)in->a);
    if (c->phys == PH_I128) snprintf(value, sizeof value, "ld_i128(P(%d) + (u64)%s * 16)", (int)data, at);
    else snprintf(value, sizeof value, "G(%s, P(%d))[%s]", m_type[c->phys], (int)data, at);
    snprintf(valid, sizeof valid, "r%d >= 0", (int)in->a);
    if (c->nullable && !outer)
        snprintf(valid, sizeof valid, "G(u8, P(%d))[%s] != 0", (int)P2(m, KP_JOIN_VALID, j.id, col), at);
    if (c->nullable && outer)
        snprintf(valid, sizeof valid, "r%d >= 0 && G(u8, P(%d))[%s] != 0", (int)in->a,
                 (int)P2(m, KP_JOIN_VALID, j.id, col), at);
    em_define(m, in->dst, c, value, valid);
}

/* A chunk per group is open at the end; an item that takes n slots may leave n - 1 of them behind. */
int64_t join_slack(int64_t rows, int64_t groups) { return (groups + 1) * (int64_t)APPEND_CHUNK + rows / 12; }

/* Flags of a join are written once, at the end: a word that all items of a device look at with every row would be their
 * limit. */
static void put_flag(Em *m, int32_t flags, int32_t i, const char *cond) {
    w(m, "flag%d = flag%d || %s;\n", i, i, cond);
    out_w(m, &m->text.top, "    bool flag%d = false;\n", i);
    out_w(m, &m->text.tail, "    if (flag%d && GVOL(u32, P(%d))[%d] == 0) G(u32, P(%d))[%d] = 1;\n", i, flags, i, flags,
          i);
}

void em_sink_join(Em *m) {
    const Sink *s = &m->prog->sink;
    JoinView j = view(m, s->id);
    const JoinSpec *spec = j.spec;
    bool keys_null = false;
    for (int32_t i = 0; i < spec->n_keys; i++) keys_null |= NULLABLE(m, s->keys[i]) && !spec->keys[i].null_equal;
    int32_t flags = P1(m, KP_JOIN_FLAGS, s->id);
    w(m, "{\n");
    if (spec->has_null_mark)
        for (int32_t i = 0; i < spec->n_keys; i++)
            if (NULLABLE(m, s->keys[i])) w(m, "if (!%v) G(u32, P(%d))[1] = 1;\n", s->keys[i], flags);
    if (keys_null) {
        w(m, "const bool able = ");
        put_keys_valid(m, &j, s->keys);
        w(m, ";\n");
        if (!spec->track_matched) w(m, "if (!able) continue;\n");
    }
    if (spec->has_null_mark) put_flag(m, flags, 2, "true");
    if (j.dev->form == DJ_BITMAP) {
        direct_key(m, &j, s->keys[0]);
        int32_t head = P1(m, KP_JOIN_HEAD, s->id);
        w(m, "if (ok%d) {\nconst u32 bit = 1u << (x%d & 31);\nconst u64 word = P(%d) + (u64)(x%d >> 5) * 4;\n", m->pc,
          m->pc, head, m->pc);
        w(m, "if ((GVOL(u32, word)[0] & bit) == 0) ga_or_u32(word, bit);\n} else {\nRAISE(%d);\n}\n}\n",
          raise_code(m->pc, RK_INTERNAL));
        return;
    }
    int32_t count = P1(m, KP_OUT_COUNT, s->id), cap = P1(m, KP_OUT_CAP, s->id);
    if (spec->n_keys == 0) { /* all its rows are candidates of every probe: no empty slots */
        w(m, "const u64 slot = append(P(%d));\nif (slot < P(%d)) {\n", count, cap);
    } else {
        int32_t at = (int32_t)m->local_bytes;
        m->local_bytes += 8;
        w(m, "const u64 slot = append_chunk(P(%d), (LOCAL u64 *)(LMEM + %d), P(%d) + 12);\nif (slot < P(%d)) {\n",
          count, at, flags, cap);
        out_w(m, &m->text.top, "    if (LID == 0) append_chunk_init((LOCAL u64 *)(LMEM + %d));\n    BARRIER();\n", at);
        out_w(m, &m->text.tail,
              "    BARRIER();\n    if (LID == 0) append_chunk_end((LOCAL u64 *)(LMEM + %d), P(%d) + 12);\n", at, flags);
        if (spec->track_matched) w(m, "G(u8, P(%d))[slot] = 0;\n", P1(m, KP_JOIN_MATCHED, s->id));
        if (j.dev->form == DJ_HASH) w(m, "G(u32, P(%d))[slot] = 0;\n", P1(m, KP_JOIN_NEXT, s->id));
    }
    for (int32_t i = 0; i < spec->n_payload + spec->n_keys; i++) {
        if (!j.dev->stored[i]) continue;
        Reg r = i < spec->n_payload ? s->regs[i] : s->keys[i - spec->n_payload];
        const DevCol *c = &j.dev->cols[i];
        em_store(m, r, c, P2(m, KP_JOIN_DATA, s->id, i), c->nullable ? P2(m, KP_JOIN_VALID, s->id, i) : -1, "slot");
    }
    if (j.dev->form == DJ_DIRECT) {
        direct_key(m, &j, s->keys[0]);
        int32_t pc = m->pc;
        w(m, "if (ok%d) {\nconst u32 old = ga_xchg_u32(P(%d) + (u64)x%d * 4, (u32)slot + 1);\n", pc,
          P1(m, KP_JOIN_HEAD, s->id), pc);
        w(m, "G(u32, P(%d))[slot] = old;\n", P1(m, KP_JOIN_NEXT, s->id));
        put_flag(m, flags, 0, "old != 0");
        w(m, "} else%s {\nRAISE(%d);\n}\n", keys_null ? " if (able)" : "", raise_code(pc, RK_INTERNAL));
    }
    w(m, "}\n}\n");
}

/* HASH: links the stored rows. False when there is nothing to do. */
bool em_join_build(Em *m) {
    int32_t id = m->prog->sink.id;
    JoinView j = view(m, id);
    if (j.dev->form != DJ_HASH || j.spec->n_keys == 0) return false;
    Out *o = &m->text.extra;
    int32_t rows = P1(m, KP_JOIN_ROWS, id), head = P1(m, KP_JOIN_HEAD, id), mask = P1(m, KP_JOIN_MASK, id),
            next = P1(m, KP_JOIN_NEXT, id);
    out_w(m, o, "\nKERNEL(join_build) {\nconst u64 n = P(%d);\nu32 polls = 0;\n", rows);
    out_w(m, o,
          "for (u64 row = GID * LSIZE + LID; row < n && GOES_ON(polls, 64u); row += NGROUPS * LSIZE) {\nif (G(u32, "
          "P(%d))[row] == ~0u) continue;\nu64 h = 0;\n",
          next);
    for (int32_t i = 0; i < j.spec->n_keys; i++) {
        int32_t col = j.spec->n_payload + i;
        const DevCol *c = &j.dev->cols[col];
        char value[64];
        int32_t data = P2(m, KP_JOIN_DATA, id, col);
        if (c->phys == PH_I128) snprintf(value, sizeof value, "ld_i128(P(%d) + row * 16)", (int)data);
        else snprintf(value, sizeof value, "G(%s, P(%d))[row]", m_type[c->phys], (int)data);
        if (c->nullable) {
            int32_t valid = P2(m, KP_JOIN_VALID, id, col);
            if (!j.spec->keys[i].null_equal) out_w(m, o, "if (G(u8, P(%d))[row] == 0) continue;\nh = ", valid);
            else out_w(m, o, "h = G(u8, P(%d))[row] == 0 ? hash_combine(h, 1) : ", valid);
        } else {
            out_w(m, o, "h = ");
        }
        out_w(m, o, "hash_combine(h, ");
        em_hash(m, o, c->phys, NULL, value);
        out_w(m, o, ");\n");
    }
    out_w(m, o, "h = KEY_HASH(h);\nG(u32, P(%d))[row] = ga_xchg_u32(P(%d) + (h & P(%d)) * 4, (u32)row + 1);\n}\n}\n",
          next, head, mask);
    return true;
}
