/* acl.c - lists of grants. See acl.h. */
#include "catalog/acl.h"

#include <strings.h>

#include "base/stack.h"
#include "catalog/catalog.h"

static const struct {
    uint32_t right;
    const char *name;
} rights[] = {{ACL_INSERT, "INSERT"},   {ACL_SELECT, "SELECT"},     {ACL_UPDATE, "UPDATE"},
              {ACL_DELETE, "DELETE"},   {ACL_TRUNCATE, "TRUNCATE"}, {ACL_REFERENCES, "REFERENCES"},
              {ACL_TRIGGER, "TRIGGER"}, {ACL_EXECUTE, "EXECUTE"},   {ACL_USAGE, "USAGE"},
              {ACL_CREATE, "CREATE"},   {ACL_TEMP, "TEMPORARY"},    {ACL_TEMP, "TEMP"},
              {ACL_CONNECT, "CONNECT"}};
const char *acl_right_name(uint32_t right) {
    for (int64_t i = 0; i < ARRAY_LEN(rights); i++)
        if (rights[i].right == right) return rights[i].name;
    return NULL;
}
uint32_t acl_right(const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(rights); i++)
        if (strcasecmp(rights[i].name, name) == 0) return rights[i].right;
    return 0;
}
uint32_t acl_rights_of(char kind) {
    switch (kind) {
    case 'r': return ACL_INSERT | ACL_SELECT | ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE | ACL_REFERENCES | ACL_TRIGGER;
    case 'c': return ACL_INSERT | ACL_SELECT | ACL_UPDATE | ACL_REFERENCES;
    case 'S': return ACL_USAGE | ACL_SELECT | ACL_UPDATE;
    case 'n': return ACL_USAGE | ACL_CREATE;
    case 'D': return ACL_CREATE | ACL_TEMP | ACL_CONNECT;
    case 'f': return ACL_EXECUTE;
    case 'l':
    case 'T': return ACL_USAGE;
    default: return 0;
    }
}
static Status new_acl(Arena *a, int n, Acl *out) {
    *out = (Acl){.items = arena_array(a, AclItem, n + 1)};
    return out->items ? ST_OK : ST_ERROR;
}
Status acl_default(char kind, int64_t owner, Arena *a, Acl *out) {
    const uint32_t world = kind == 'D'                  ? ACL_TEMP | ACL_CONNECT
                           : kind == 'f'                ? ACL_EXECUTE
                           : kind == 'T' || kind == 'l' ? ACL_USAGE
                                                        : 0;
    TRY(new_acl(a, 2, out));
    if (world) out->items[out->n++] = (AclItem){0, owner, world, 0};
    if (kind != 'c') out->items[out->n++] = (AclItem){owner, owner, acl_rights_of(kind), 0};
    return ST_OK;
}
bool acl_equal(const Acl *x, const Acl *y) {
    if (x->n != y->n) return false;
    for (int i = 0; i < x->n; i++) {
        bool found = false;
        for (int k = 0; k < y->n && !found; k++) found = memcmp(&x->items[i], &y->items[k], sizeof *x->items) == 0;
        if (!found) return false;
    }
    return true;
}

/* ---- what a role has ---- */

/* As if each right with its option: what the owner can always grant is added. */
static uint64_t of_item(const AclItem *x) { return x->rights | acl_options(x->options); }
static uint64_t enough(uint64_t result, uint64_t mask, bool any) { return any ? result != 0 : result == mask; }
uint64_t acl_mask(const Catalog *c, const Acl *acl, int64_t role, int64_t owner, uint64_t mask, bool any) {
    uint64_t result = 0;
    if (mask >> 32 && role_is_member(c, role, owner, true)) result = mask & ~(uint64_t)UINT32_MAX;
    if (enough(result, mask, any)) return result;
    for (int i = 0; i < acl->n; i++)
        if (acl->items[i].grantee == 0 || acl->items[i].grantee == role) result |= of_item(&acl->items[i]) & mask;
    for (int i = 0; i < acl->n && !enough(result, mask, any); i++) {
        const AclItem *x = &acl->items[i];
        if (x->grantee != 0 && x->grantee != role && of_item(x) & mask & ~result &&
            role_is_member(c, role, x->grantee, true))
            result |= of_item(x) & mask;
    }
    return result;
}
static int bits(uint32_t x) { return __builtin_popcount(x); }
void acl_best_grantor(const Catalog *c, const Acl *acl, int64_t role, int64_t owner, uint32_t wanted, int64_t *grantor,
                      uint32_t *options) {
    if (role_is_member(c, role, owner, true)) {
        *grantor = owner;
        *options = wanted;
        return;
    }
    *grantor = role;
    *options = 0;
    const Role *x;
    for (int64_t i = -1; i < 0 || (x = catalog_role_nth(c, i)) != NULL; i++) { /* the role itself first */
        const int64_t id = i < 0 ? role : x->id;
        if (!role_is_member(c, role, id, true)) continue;
        uint32_t has = 0;
        for (int k = 0; k < acl->n; k++)
            if (acl->items[k].grantee == id) has |= acl->items[k].options & wanted;
        if (has == wanted || bits(has) > bits(*options)) {
            *grantor = id;
            *options = has;
        }
        if (has == wanted) return;
    }
}

/* ---- changes ---- */

/* Grant options that the role has been given, by others than itself. */
static uint32_t options_of(const Acl *acl, int64_t role, int64_t owner) {
    uint32_t has = role == owner ? ACL_ALL : 0;
    for (int i = 0; i < acl->n; i++)
        if (acl->items[i].grantee == role) has |= acl->items[i].options;
    return has;
}
static Status apply(const Catalog *c, const Acl *old, const AclChange *x, int64_t owner, bool check, Arena *a, Acl *out,
                    Err *e);
/* The grantee is about to give options: the grantor must have its own from elsewhere. */
static Status check_circle(const Catalog *c, const Acl *old, const AclItem *x, int64_t owner, Arena *a, Err *e) {
    Acl without = *old;
    if (x->grantor == owner) return ST_OK;
    for (bool again = true; again;) { /* as if the grantee had no options at all */
        again = false;
        for (int i = 0; i < without.n && !again; i++) {
            const AclItem *y = &without.items[i];
            if (y->grantee != x->grantee || !y->options) continue;
            const AclChange take = {.item = {y->grantee, y->grantor, 0, y->options}, .cascade = true};
            Acl next;
            TRY(apply(c, &without, &take, owner, false, a, &next, e));
            without = next;
            again = true;
        }
    }
    if ((x->options & ~options_of(&without, x->grantor, owner)) == 0) return ST_OK;
    return err_set(e, ERR_INVALID_GRANT_OPERATION, "grant options cannot be granted back to your own grantor");
}
/* The role has lost options: what it granted by them goes. */
static Status revoke_dependent(const Catalog *c, Acl *acl, int64_t role, uint32_t lost, int64_t owner, bool cascade,
                               Arena *a, Err *e) {
    if (role == owner) return ST_OK;
    lost &= ~options_of(acl, role, owner);
    for (int i = 0; lost && i < acl->n;) {
        const AclItem *y = &acl->items[i];
        if (y->grantor != role || !(y->rights & lost)) {
            i++;
            continue;
        }
        if (!cascade) {
            err_set(e, ERR_DEPENDENT_OBJECTS, "dependent privileges exist");
            err_hint(e, "Use CASCADE to revoke them too.");
            return ST_ERROR;
        }
        const AclChange take = {.item = {y->grantee, role, lost, lost}, .cascade = true};
        Acl next;
        TRY(apply(c, acl, &take, owner, false, a, &next, e));
        *acl = next;
        i = 0;
    }
    return ST_OK;
}
static Status apply(const Catalog *c, const Acl *old, const AclChange *x, int64_t owner, bool check, Arena *a, Acl *out,
                    Err *e) {
    const AclItem *y = &x->item;
    TRY(stack_check(e));
    TRY(new_acl(a, old->n + 1, out));
    if (old->n) memcpy(out->items, old->items, (size_t)old->n * sizeof *out->items);
    out->n = old->n;
    if (check && x->add && y->options && y->grantee) TRY(check_circle(c, old, y, owner, a, e));
    int at = 0;
    while (at < out->n && (out->items[at].grantee != y->grantee || out->items[at].grantor != y->grantor)) at++;
    if (at == out->n) out->items[out->n++] = (AclItem){.grantee = y->grantee, .grantor = y->grantor};
    AclItem *item = &out->items[at];
    const uint32_t had = item->options;
    item->rights = x->add ? item->rights | y->rights : item->rights & ~y->rights;
    item->options = x->add ? item->options | y->options : item->options & ~y->options;
    const uint32_t lost = had & ~item->options;
    if (!item->rights && !item->options) {
        memmove(item, item + 1, (size_t)(out->n - at - 1) * sizeof *item);
        out->n--;
    }
    return lost ? revoke_dependent(c, out, y->grantee, lost, owner, x->cascade, a, e) : ST_OK;
}
Status acl_change(const Catalog *c, const Acl *old, const AclChange *x, int64_t owner, Arena *a, Acl *out, Err *e) {
    return apply(c, old, x, owner, true, a, out, e);
}
Status acl_new_owner(const Acl *old, int64_t from, int64_t to, Arena *a, Acl *out) {
    TRY(new_acl(a, old->n, out));
    for (int i = 0; i < old->n; i++) {
        AclItem x = old->items[i];
        if (x.grantor == from) x.grantor = to;
        if (x.grantee == from) x.grantee = to;
        int at = 0;
        while (at < out->n && (out->items[at].grantee != x.grantee || out->items[at].grantor != x.grantor)) at++;
        if (at == out->n) out->items[out->n++] = x;
        else out->items[at].rights |= x.rights, out->items[at].options |= x.options;
    }
    return ST_OK;
}

/* ---- text ---- */

const char *acl_item_text(const Catalog *c, const AclItem *x, Arena *a) {
    char letters[2 * sizeof ACL_LETTERS], *at = letters;
    for (int i = 0; ACL_LETTERS[i]; i++) {
        if (!(x->rights >> i & 1)) continue;
        *at++ = ACL_LETTERS[i];
        if (x->options >> i & 1) *at++ = '*';
    }
    *at = 0;
    const char *to = x->grantee ? role_shown(c, x->grantee, a) : "", *by = role_shown(c, x->grantor, a);
    return to && by ? arena_printf(a, "%s=%s/%s", to, letters, by) : NULL;
}
/* A name, in quotes or not, up to a character that is of none. */
static bool read_name(const char **text, char *out) {
    const char *p = *text;
    bool quoted = false;
    for (; *p; p++) {
        const bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p & 0x80;
        if (*p == '"' && !(quoted && p[1] == '"')) {
            quoted = !quoted;
            continue;
        }
        if (!quoted && !letter && !(*p >= '0' && *p <= '9') && *p != '_') break;
        p += *p == '"';
        *out++ = *p;
    }
    *out = 0;
    *text = p;
    return !quoted;
}
static Status find_role(const Catalog *c, const char *name, int64_t *out, Err *e) {
    const Role *x = catalog_role(c, name);
    if (!x) return err_set(e, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", name);
    return *out = x->id, ST_OK;
}
Status acl_item_parse(const Catalog *c, const char *text, Arena *a, AclItem *out, Err *e) {
    char *name = arena_alloc(a, (int64_t)strlen(text) + 1);
    const char *p = text;
    if (!name) return err_oom(e);
    *out = (AclItem){.grantor = ROLE_BOOTSTRAP};
    if (!read_name(&p, name)) return err_set(e, ERR_INVALID_TEXT, "unterminated quoted identifier");
    if (*p != '=' && (strcmp(name, "group") == 0 || strcmp(name, "user") == 0)) {
        while (*p == ' ') p++;
        (void)read_name(&p, name);
        if (!*name) {
            err_set(e, ERR_INVALID_TEXT, "missing name");
            err_hint(e, "A name must follow the \"group\" or \"user\" key word.");
            return ST_ERROR;
        }
    }
    if (*p != '=') return err_set(e, ERR_INVALID_TEXT, "missing \"=\" sign");
    if (*name) TRY(find_role(c, name, &out->grantee, e));
    uint32_t last = 0;
    for (p++; *p && *p != '/'; p++) {
        const char *at = strchr(ACL_LETTERS, *p);
        if (*p == '*') {
            out->options |= last;
            continue;
        }
        if (!at) return err_set(e, ERR_INVALID_TEXT, "invalid mode character: must be one of \"%s\"", "arwdDxtXUCTcsA");
        out->rights |= last = UINT32_C(1) << (at - ACL_LETTERS);
    }
    if (!*p) return ST_OK;
    p++;
    if (!read_name(&p, name) || !*name) return err_set(e, ERR_INVALID_TEXT, "a name must follow the \"/\" sign");
    return find_role(c, name, &out->grantor, e);
}
