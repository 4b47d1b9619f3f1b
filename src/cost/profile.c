/* profile.c - the machine profile's text form, and looking things up in it: see profile.h.
 *
 * One table per section says which key is which field; reading and writing both walk it. Numbers are written with up to
 * three decimals and read by hand, so that the locale of the embedding program has no say.
 */
#include "cost/profile.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum FieldKind { F_TEXT, F_NUMBER, F_CURVE, F_CHANNELS } FieldKind;
typedef struct Field {
    const char *key;
    FieldKind kind;
    int64_t offset, size;
} Field;

#define FIELD(T, kind, key, member) \
    { key, kind, (int64_t)offsetof(T, member), (int64_t)sizeof(((T *)0)->member) }
static const Field cpu_fields[] = {
    FIELD(CpuProfile, F_NUMBER, "threads", threads),
    FIELD(CpuProfile, F_NUMBER, "read_gbps_thread", read_gbps_thread),
    FIELD(CpuProfile, F_NUMBER, "read_gbps_all", read_gbps_all),
    FIELD(CpuProfile, F_NUMBER, "bulk_set_min", bulk_set_min),
};
static const Field device_fields[] = {
    FIELD(DeviceProfile, F_TEXT, "name", name),
    FIELD(DeviceProfile, F_TEXT, "arch", arch),
    FIELD(DeviceProfile, F_TEXT, "driver", driver),
    FIELD(DeviceProfile, F_NUMBER, "read_gbps", read_gbps),
    FIELD(DeviceProfile, F_NUMBER, "copy_gbps", copy_gbps),
    FIELD(DeviceProfile, F_NUMBER, "to_device_gbps", to_device_gbps),
    FIELD(DeviceProfile, F_NUMBER, "to_host_gbps", to_host_gbps),
    FIELD(DeviceProfile, F_NUMBER, "mapped_gbps", mapped_gbps),
    FIELD(DeviceProfile, F_NUMBER, "launch_us", launch_us),
    FIELD(DeviceProfile, F_NUMBER, "launch_sync_us", launch_sync_us),
    FIELD(DeviceProfile, F_NUMBER, "local_atomic_mps", local_atomic_mps),
    FIELD(DeviceProfile, F_NUMBER, "compute_gips", compute_gips),
    FIELD(DeviceProfile, F_NUMBER, "latency_ns", latency_ns),
    FIELD(DeviceProfile, F_NUMBER, "pipeline_us", pipeline_us),
    FIELD(DeviceProfile, F_NUMBER, "pipeline_kernel_us", pipeline_kernel_us),
    FIELD(DeviceProfile, F_NUMBER, "bulk_set_min", bulk_set_min),
    FIELD(DeviceProfile, F_NUMBER, "bulk_groups", bulk_groups),
    FIELD(DeviceProfile, F_CURVE, "gather_mps", gather),
    FIELD(DeviceProfile, F_CURVE, "atomic_add_mps", atomic_add),
    FIELD(DeviceProfile, F_CURVE, "atomic_cas_mps", atomic_cas),
    FIELD(DeviceProfile, F_CHANNELS, "channel_gbps", channels),
};
enum { FILE_BYTES_MAX = 1 << 20 };

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static Slice trim(Slice s) {
    while (s.len && is_blank(s.ptr[0])) s.ptr++, s.len--;
    while (s.len && is_blank(s.ptr[s.len - 1])) s.len--;
    return s;
}

const DeviceProfile *profile_device(const Profile *p, const char *id, const char *name) {
    for (int64_t i = 0; i < p->n_devices; i++) {
        const DeviceProfile *d = &p->devices[i];
        if (strcmp(d->id, id) == 0)
            return !name || slice_eq(trim(slice_of(d->name)), trim(slice_of(name))) ? d : NULL; /* drivers pad names */
    }
    return NULL;
}

double profile_rate_at(const ProfileCurve *c, int64_t bytes) {
    int64_t i = 0;
    while (i + 1 < c->n && c->bytes[i] < bytes) i++;
    return c->n ? c->mps[i] : 0;
}

/* ---- reading --------------------------------------------------------------------------------------- */

typedef struct Reader {
    const char *name;
    int64_t line;
    Err *e;
} Reader;

static Status bad(const Reader *r, const char *what, Slice s) {
    return err_set(r->e, ERR_INVALID_PARAMETER, "profile \"%s\", line %lld: %s \"%.*s\"", r->name, (long long)r->line,
                   what, (int)MIN_OF(s.len, 80), s.ptr);
}

/* Cuts `s` before the first `c`; what is behind it goes to *rest. False: there is none, and *rest is empty. */
static bool split(Slice *s, char c, Slice *rest) {
    const char *at = s->len ? memchr(s->ptr, c, (size_t)s->len) : NULL;
    *rest = (Slice){s->ptr + s->len, 0};
    if (!at) return false;
    *rest = (Slice){at + 1, s->ptr + s->len - at - 1};
    s->len = at - s->ptr;
    return true;
}

/* Up to 15 digits. */
static bool whole_number(Slice s, int64_t *out) {
    int64_t v = 0;
    if (s.len < 1 || s.len > 15) return false;
    for (int64_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        v = v * 10 + (s.ptr[i] - '0');
    }
    *out = v;
    return true;
}

static bool number(Slice s, double *out) {
    Slice rest;
    int64_t whole, part = 0;
    bool point = split(&s, '.', &rest);
    if (!whole_number(s, &whole) || (point && !whole_number(rest, &part))) return false;
    double scale = 1;
    for (int64_t i = 0; point && i < rest.len; i++) scale *= 10;
    *out = (double)whole + (double)part / scale;
    return true;
}

static bool curve(Slice s, ProfileCurve *out) {
    *out = (ProfileCurve){0};
    for (bool more = true; more;) {
        Slice rest, rate;
        more = split(&s, ',', &rest);
        if (!split(&s, ':', &rate) || out->n == PROFILE_POINTS_MAX) return false;
        if (!whole_number(trim(s), &out->bytes[out->n]) || !number(trim(rate), &out->mps[out->n])) return false;
        if (out->n && out->bytes[out->n] <= out->bytes[out->n - 1]) return false;
        out->n++;
        s = rest;
    }
    return true;
}

static bool channels(Slice s, ProfileChannels *out) {
    *out = (ProfileChannels){0};
    for (bool more = true; more;) {
        Slice rest, packet, bytes, rate;
        more = split(&s, ',', &rest);
        if (out->n == PROFILE_CHANNELS_MAX || !split(&s, ':', &packet) || !split(&packet, ':', &bytes) ||
            !split(&bytes, ':', &rate))
            return false;
        if (!whole_number(trim(s), &out->at[out->n].channels) ||
            !whole_number(trim(packet), &out->at[out->n].packet_bytes) ||
            !whole_number(trim(bytes), &out->at[out->n].bytes) || !number(trim(rate), &out->at[out->n].gbps))
            return false;
        out->n++;
        s = rest;
    }
    return true;
}

static Status set_field(const Reader *r, const Field *f, void *record, Slice value) {
    char *at = (char *)record + f->offset;
    bool ok = true;
    switch (f->kind) {
    case F_TEXT:
        ok = value.len < f->size;
        if (ok) memcpy(at, value.ptr, (size_t)value.len);
        break;
    case F_NUMBER: ok = number(value, (double *)(void *)at); break;
    case F_CURVE: ok = curve(value, (ProfileCurve *)(void *)at); break;
    case F_CHANNELS: ok = channels(value, (ProfileChannels *)(void *)at); break;
    }
    return ok ? ST_OK : bad(r, "invalid value", value);
}

typedef struct Section {
    const Field *fields;
    int64_t n;
    void *record; /* NULL: before the first section */
    uint64_t seen;
} Section;

static Status open_section(const Reader *r, Slice line, Profile *p, Section *s, bool *cpu_seen) {
    static const char device[] = "[device ";
    const int64_t skip = (int64_t)sizeof device - 1;
    if (slice_eq(line, slice_of("[cpu]"))) {
        if (*cpu_seen) return bad(r, "repeated section", line);
        *cpu_seen = true;
        *s = (Section){.fields = cpu_fields, .n = ARRAY_LEN(cpu_fields), .record = &p->cpu};
        return ST_OK;
    }
    if (line.len <= skip || line.ptr[line.len - 1] != ']' || memcmp(line.ptr, device, (size_t)skip) != 0)
        return bad(r, "unknown section", line);
    Slice id = trim((Slice){line.ptr + skip, line.len - skip - 1});
    if (id.len < 1 || id.len >= (int64_t)sizeof p->devices[0].id) return bad(r, "invalid device in section", line);
    if (p->n_devices == PROFILE_DEVICES_MAX) return bad(r, "too many devices, first of those beyond the limit:", id);
    DeviceProfile *d = &p->devices[p->n_devices];
    memcpy(d->id, id.ptr, (size_t)id.len);
    if (profile_device(p, d->id, NULL)) return bad(r, "repeated section", line);
    p->n_devices++;
    *s = (Section){.fields = device_fields, .n = ARRAY_LEN(device_fields), .record = d};
    return ST_OK;
}

static Status set_key(const Reader *r, Slice line, Section *s, bool *version_seen) {
    Slice key = line, value;
    if (!split(&key, '=', &value)) return bad(r, "neither a section nor \"key = value\":", line);
    key = trim(key);
    value = trim(value);
    if (!s->record) {
        int64_t version = 0;
        if (!slice_eq(key, slice_of("version"))) return bad(r, "unknown key", key);
        if (*version_seen) return bad(r, "repeated key", key);
        *version_seen = true;
        return whole_number(value, &version) && version == PROFILE_VERSION ? ST_OK
                                                                           : bad(r, "unsupported version", value);
    }
    for (int64_t i = 0; i < s->n; i++) {
        if (!slice_eq(key, slice_of(s->fields[i].key))) continue;
        if (s->seen >> i & 1) return bad(r, "repeated key", key);
        s->seen |= UINT64_C(1) << i;
        return set_field(r, &s->fields[i], s->record, value);
    }
    return bad(r, "unknown key", key);
}

Status profile_parse(const char *name, const char *text, int64_t len, Profile *out, Err *e) {
    static_assert(ARRAY_LEN(device_fields) <= 64, "Section.seen");
    memset(out, 0, sizeof *out);
    Reader r = {.name = name, .e = e};
    Section section = {0};
    bool version_seen = false, cpu_seen = false;
    Slice rest = {text, len}, line;
    for (bool more = len > 0; more;) {
        line = rest;
        more = split(&line, '\n', &rest);
        r.line++;
        line = trim(line);
        if (line.len == 0 || line.ptr[0] == '#') continue;
        if (memchr(line.ptr, 0, (size_t)line.len)) return bad(&r, "zero byte in", line);
        if (line.ptr[0] == '[') {
            if (!version_seen) return bad(&r, "section before \"version\":", line);
            TRY(open_section(&r, line, out, &section, &cpu_seen));
        } else {
            TRY(set_key(&r, line, &section, &version_seen));
        }
    }
    if (!version_seen) return err_set(e, ERR_INVALID_PARAMETER, "profile \"%s\" has no \"version\"", name);
    return ST_OK;
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* Up to three decimals; what is not a number or out of range is unknown. */
static char *number_text(Arena *a, double v) {
    if (!(v > 0) || v > 1e14) return arena_strdup(a, "0");
    long long thousandths = (long long)(v * 1000 + 0.5);
    if (thousandths % 1000 == 0) return arena_printf(a, "%lld", thousandths / 1000);
    return arena_printf(a, "%lld.%03lld", thousandths / 1000, thousandths % 1000);
}

static char *value_text(Arena *a, const Field *f, const void *record) {
    const char *at = (const char *)record + f->offset;
    if (f->kind == F_TEXT) {
        Slice t = trim(slice_of(at)); /* as it will be read */
        char *copy = arena_strndup(a, t.ptr, t.len);
        for (char *c = copy; c && *c; c++) {
            if ((unsigned char)*c < ' ') *c = '?';
        }
        return copy;
    }
    if (f->kind == F_NUMBER) return number_text(a, *(const double *)(const void *)at);
    char *text = arena_strdup(a, "");
    if (f->kind == F_CHANNELS) {
        const ProfileChannels *g = (const ProfileChannels *)(const void *)at;
        for (int64_t i = 0; text && i < g->n; i++) {
            char *v = number_text(a, g->at[i].gbps);
            text = v ? arena_printf(a, "%s%s%lld:%lld:%lld:%s", text, i ? ", " : "", (long long)g->at[i].channels,
                                    (long long)g->at[i].packet_bytes, (long long)g->at[i].bytes, v)
                     : NULL;
        }
        return text;
    }
    const ProfileCurve *c = (const ProfileCurve *)(const void *)at;
    for (int64_t i = 0; text && i < c->n; i++) {
        char *v = number_text(a, c->mps[i]);
        text = v ? arena_printf(a, "%s%s%lld:%s", text, i ? ", " : "", (long long)c->bytes[i], v) : NULL;
    }
    return text;
}

/* Unknown values are left out. */
static char *section_text(Arena *a, char *text, const Field *fields, int64_t n, const void *record) {
    for (int64_t i = 0; text && i < n; i++) {
        char *v = value_text(a, &fields[i], record);
        if (!v) return NULL;
        if (v[0] && strcmp(v, "0") != 0) text = arena_printf(a, "%s%s = %s\n", text, fields[i].key, v);
    }
    return text;
}

char *profile_text(Arena *a, const Profile *p) {
    char *text = arena_printf(
        a,
        "# Machine profile: what this machine reached when it was measured (stele calibrate).\n"
        "# gbps: 10^9 bytes a second; mps: 10^6 operations a second, after the working set's bytes; us: microseconds.\n"
        "version = %d\n\n[cpu]\n",
        PROFILE_VERSION);
    text = section_text(a, text, cpu_fields, ARRAY_LEN(cpu_fields), &p->cpu);
    for (int64_t i = 0; text && i < p->n_devices; i++) {
        text = arena_printf(a, "%s\n[device %s]\n", text, p->devices[i].id);
        text = section_text(a, text, device_fields, ARRAY_LEN(device_fields), &p->devices[i]);
    }
    return text;
}

/* ---- the file --------------------------------------------------------------------------------------- */

Status profile_path(char out[PROFILE_PATH_MAX], Err *e) {
    const char *base = secure_getenv("STELE_PROFILE"), *tail = "";
    if (!base || !base[0]) {
        base = secure_getenv("XDG_CONFIG_HOME");
        tail = "/stele/profile";
        if (!base || base[0] != '/') { /* relative ones are invalid, says the standard */
            base = secure_getenv("HOME");
            tail = "/.config/stele/profile";
        }
    }
    if (!base || !base[0])
        return err_set(e, ERR_INVALID_PARAMETER,
                       "no place for the machine profile: neither STELE_PROFILE nor XDG_CONFIG_HOME nor HOME is set");
    if (snprintf(out, PROFILE_PATH_MAX, "%s%s", base, tail) >= PROFILE_PATH_MAX)
        return err_set(e, ERR_INVALID_PARAMETER, "the machine profile's path is too long");
    return ST_OK;
}

Status profile_load(Vfs *v, const char *path, Profile *out, bool *found, Err *e) {
    char own[PROFILE_PATH_MAX];
    memset(out, 0, sizeof *out);
    *found = false;
    if (!path) {
        TRY(profile_path(own, e));
        path = own;
    }
    TRY(v->exists(v, path, found, e));
    if (!*found) return ST_OK;
    VfsFile *f;
    TRY(v->open(v, path, VFS_READ, &f, e));
    int64_t size = 0, got = 0;
    char *text = NULL;
    Status st = v->size(f, &size, e);
    if (st == ST_OK && size > FILE_BYTES_MAX)
        st = err_set(e, ERR_INVALID_PARAMETER, "profile \"%s\" has %lld bytes, more than a profile can have", path,
                     (long long)size);
    if (st == ST_OK && !(text = mem_alloc(NULL, size + 1, e))) st = ST_ERROR;
    if (st == ST_OK) st = v->read_at(f, text, size, 0, &got, e);
    if (st == ST_OK) st = profile_parse(path, text, got, out, e);
    if (text) mem_free(NULL, text, size + 1);
    if (v->close(f, st == ST_OK ? e : NULL) != ST_OK) st = ST_ERROR;
    if (st != ST_OK) memset(out, 0, sizeof *out);
    return st;
}

static Status write_file(Vfs *v, const char *path, const char *text, Err *e) {
    VfsFile *f;
    TRY(v->open(v, path, VFS_WRITE | VFS_CREATE | VFS_TRUNCATE, &f, e));
    Status st = v->write_at(f, text, (int64_t)strlen(text), 0, e);
    if (st == ST_OK) st = v->sync(f, e);
    if (v->close(f, st == ST_OK ? e : NULL) != ST_OK) st = ST_ERROR;
    return st;
}

Status profile_save(Vfs *v, const char *path, const Profile *p, Err *e) {
    char own[PROFILE_PATH_MAX];
    if (!path) {
        TRY(profile_path(own, e));
        path = own;
    }
    Arena *a = arena_new(NULL, e);
    if (!a) return ST_ERROR;
    Status st = ST_ERROR;
    char *text = profile_text(a, p), *dir = arena_strdup(a, path), *temp = arena_printf(a, "%s.new", path);
    if (!text || !dir || !temp) goto out;
    for (char *at = dir + 1; *dir && *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        bool there = false;
        if (v->exists(v, dir, &there, e) != ST_OK || (!there && v->make_dir(v, dir, e) != ST_OK)) goto out;
        *at = '/';
    }
    st = write_file(v, temp, text, e);
    if (st == ST_OK) st = v->rename(v, temp, path, e);
    if (st != ST_OK) v->remove(v, temp, NULL);
out:
    arena_free(a);
    return st;
}
