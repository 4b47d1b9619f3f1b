"""Random definitions, changes, cursors, COPY and looks at the catalogs, over the expressions and queries of grammar.py.

`round_of(seed)` yields lists of statements, each list behind the one before it: what they make is known to the generator only once PostgreSQL has
taken it. The program that runs them sets `failed` of a statement that PostgreSQL has refused.

What is avoided, since both answers are right: updates of keys that meet others, rows that an UPDATE or MERGE finds twice, numbers of sequences for rows
in no order. {DIR} in COPY is a directory of each system's own.
"""
from grammar import Gen, Table, TYPE_OF
from values import ALL, ENUM, KEYS, MADE, NO_EQUALITY, NO_ORDER, PICKED, domain, family, quote

QUERY_KINDS = {k for k, _ in Gen.QUERIES if k != "constants"}
ACTIONS = ["", "", " on delete cascade", " on delete set null", " on update cascade", " on delete set default", " on delete restrict", " on update cascade on delete cascade",
           " on update set null", " on delete no action on update restrict"]
DEFER = ["", "", " deferrable", " deferrable initially deferred", " not deferrable"]
# Looks at the catalogs that are the same whatever oids there are.
CATALOGS = """
select table_name, column_name, row_number() over (partition by table_name order by ordinal_position), column_default, is_nullable, data_type, character_maximum_length, numeric_precision, numeric_scale, datetime_precision, udt_name,
 is_identity, identity_generation, is_generated, generation_expression, is_updatable, domain_name from information_schema.columns where table_schema = 'public' order by 1, 3
select table_name, table_type, is_insertable_into from information_schema.tables where table_schema = 'public' order by 1
select conrelid::regclass::text, conname, contype, condeferrable, condeferred, convalidated, pg_get_constraintdef(oid), confupdtype, confdeltype from pg_constraint
 where conrelid <> 0 and connamespace = 'public'::regnamespace order by 1, 2
select contypid::regtype::text, conname, pg_get_constraintdef(oid) from pg_constraint where contypid <> 0 and connamespace = 'public'::regnamespace order by 1, 2
select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2
select indexrelid::regclass::text, indisunique, indisprimary, indimmediate, indnatts, indnkeyatts, pg_get_expr(indpred, indrelid), pg_get_expr(indexprs, indrelid) from pg_index i
 join pg_class c on c.oid = i.indexrelid where relnamespace = 'public'::regnamespace order by 1
select c.relname, row_number() over (partition by c.oid order by a.attnum), a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atthasdef, a.attidentity, a.attgenerated from pg_attribute a
 join pg_class c on c.oid = a.attrelid where c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'm', 'c') order by 1, 2
select adrelid::regclass::text, attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum order by 1, 2
select relname, relkind, relhasindex, relispopulated, reltype <> 0 from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm', 'S', 'i') order by 1
select sequencename, data_type::text, start_value, min_value, max_value, increment_by, cycle, cache_size, last_value from pg_sequences where schemaname = 'public' order by 1
select t.typname, typtype, typcategory, typnotnull, typdefault, format_type(typbasetype, typtypmod) from pg_type t where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r', 'm') order by 1
select t.typname, enumlabel, row_number() over (partition by t.oid order by enumsortorder) from pg_enum e join pg_type t on t.oid = e.enumtypid order by 1, 3
select constraint_name, table_name, constraint_type, is_deferrable, initially_deferred from information_schema.table_constraints where table_schema = 'public'
 and constraint_name !~ '_not_null$' order by 1, 2
select constraint_name, table_name, column_name, ordinal_position from information_schema.key_column_usage where table_schema = 'public' order by 1, 2, 4
select constraint_name, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints order by 1
select constraint_name, check_clause from information_schema.check_constraints where constraint_schema = 'public' and constraint_name !~ '_not_null$' order by 1
select table_name, check_option, is_updatable, is_insertable_into from information_schema.views where table_schema = 'public' order by 1
select domain_name, data_type, character_maximum_length, domain_default from information_schema.domains where domain_schema = 'public' order by 1
select sequence_name, data_type, start_value, minimum_value, maximum_value, increment, cycle_option from information_schema.sequences where sequence_schema = 'public' order by 1
select viewname from pg_views where schemaname = 'public' order by 1
select matviewname, hasindexes, ispopulated from pg_matviews where schemaname = 'public' order by 1
select udt_name, attribute_name, data_type, ordinal_position from information_schema.attributes where udt_schema = 'public' order by 1, 3
""".strip()
CATALOGS = [x.strip() for x in CATALOGS.replace("\n ", " ").split("\n")]


class Statement:
    """ordered: rows come in this order. change: data or definitions change. exact: messages of errors are compared. lenient: whether, and where, values
    overflow is open. lazy: PostgreSQL may compute constants that nothing needs, and meet an error of theirs."""

    def __init__(self, sql, ordered=False, change=False, kind="", lenient=False, exact=False):
        self.sql, self.ordered, self.change, self.kind, self.lenient, self.exact = sql, ordered, change, kind, lenient, exact
        self.lazy = not exact and kind != "constants"
        self.failed = False


class Writer(Gen):
    """Statements over the tables that there are."""

    def __init__(self, seed):
        super().__init__(seed)
        self.n = 0
        self.txn = False

    def name(self, p):
        self.n += 1
        return f"{p}{self.n}"

    def of(self, sql, kind, change=True, ordered=False, exact=False):
        return Statement(sql, ordered, change, kind, self.edgy, exact)

    # -- definitions
    def types(self):
        labels = list(ENUM)
        self.r.shuffle(labels)
        for t, (ddl, *_) in MADE.items():
            if ddl:
                yield self.of(ddl.replace("{labels}", ", ".join(quote(x) for x in labels)), "create type")

    def default_of(self, t):
        v = self.value(t)
        forms = {"int": ["1 + 1", "(2 * 3)", "length('abc')"], "txt": ["'x' || 'y'", "upper('abc')"], "date": ["'2020-05-05'::date + 1"], "ts": ["'2020-05-05 00:00:00'::timestamp"],
                 "integer[]": ["'{1,2}'"], "bool": ["not false", "1 > 2"], "num": ["1.50", "round(2.567, 1)"], "jsonb": ["'{}'"], "enum": ["'red'"]}.get(family(t), [])
        return self.pick(forms) if forms and self.chance(0.4) else v

    def check_of(self, c, t):
        f = family(t)
        forms = {"int": [f"{c} > -1000", f"{c} between -5000 and 500000", f"{c} <> 9999", f"{c} is null or {c} <> 12345"], "txt": [f"length({c}) < 400", f"{c} <> 'forbidden'"],
                 "num": [f"{c} > -2000000", f"{c} < 1e30 or {c} is null"], "date": [f"{c} > '1900-01-01'", f"{c} <> '2001-02-03'::date"], "bool": [f"{c} in (true, false)"],
                 "enum": [f"{c} in ('red', 'green', 'blue', 'a b', 'Ä')"], "integer[]": [f"coalesce(array_length({c}, 1), 0) < 100"],
                 "jsonb": [f"jsonb_typeof({c}) <> 'x'"], "int4range": [f"not {c} @> 5000"]}.get(f)
        return self.pick(forms) if forms else None

    def create_table(self, temporary=False):
        name = self.name("r")
        t = Table(name, [("k", "integer")], "k")
        defs, cons = [], []
        k = self.r.random()
        if k < 0.55:
            defs.append("k integer primary key")
        elif k < 0.75:
            defs.append("k integer generated by default as identity primary key")
            t.identity = "k"
        else:
            defs.append("k integer not null")
            cons.append(self.pick(["unique (k)", f"constraint {name}_pk primary key (k)", "unique (k) include (k)"]))
        t.unique.append(["k"])
        for i in range(self.r.randint(2, 7)):
            c = f"c{i}"
            ty = self.pick(PICKED)
            d = f"{c} {ty}"
            if self.chance(0.2):
                d += f" default {self.default_of(ty)}"
            if self.chance(0.1):
                d += " not null"
                t.not_null = t.not_null | {c}
            check = self.check_of(c, ty)
            if check and self.chance(0.25):
                d += self.pick(["", f" constraint {name}_{c}_ok"]) + f" check ({check})"
                t.checked.add(c)
            t.cols.append((c, ty))
            defs.append(d)
        g = self.generated(t)
        if g and self.chance(0.3):
            defs.append(f"g0 {g[0]} generated always as ({g[1]}) stored")
            t.cols.append(("g0", g[0]))
            t.fixed["g0"] = "generated"
        if self.chance(0.2):
            defs.append(f"s0 {self.pick(['integer', 'bigint'])} generated {self.pick(['always', 'by default'])} as identity (start 10 increment {self.pick(['1', '5', '-2 minvalue -1000'])})")
            t.cols.append(("s0", "integer"))
            t.fixed["s0"] = "identity"
        parents = [] if temporary else [p for p in self.keyed() if not p.temporary]
        if parents and self.chance(0.5):
            p = self.pick(parents)
            defs.append(f"p0 integer {self.pick(['', 'default 1 '])}references {p.name}{self.pick(['', ' (k)'])}{self.pick(ACTIONS)}{self.pick(DEFER)}")
            t.cols.append(("p0", "integer"))
            t.parent = p
        if self.chance(0.15):
            cs = [c for c, ty in t.cols if ty in ("integer", "text", "date")][:2]
            if len(cs) == 2:
                cons.append(f"check ({cs[0]} is not null or {cs[1]} is not null)")
        t.temporary = temporary
        self.made = t
        return self.of(f"create {'temporary ' if temporary else ''}table {name} ({', '.join(defs + cons)})", "create table"), t

    def generated(self, t):
        scope = [(c, family(ty), ty) for c, ty in t.cols]
        forms = [("integer", "length(<txt>)", "txt"), ("text", "<txt> || 'g'", "txt"), ("integer", "<i4> * 2", "int"), ("date", "<date> + 1", "date"), ("boolean", "<date> > '2020-01-01'", "date"),
                 ("jsonb", "jsonb_build_object('a', <int>)", "int"), ("text", "left(<txt>, 2)", "txt"), ("integer[]", "array[<i4>, 1]", "int"), ("integer", "case when <bool> then 1 else 0 end", "bool")]
        got = [x for x in forms if any(s[1] == x[2] and not domain(s[2]) and s[2] not in ("smallint", "bigint") for s in scope)]
        if not got:
            return None
        ty, rule, f = self.pick(got)
        c = self.pick([s for s in scope if s[1] == f and not domain(s[2]) and s[2] not in ("smallint", "bigint")])[0]
        return ty, rule.replace("<i4>", c).replace(f"<{f}>", c)

    def index(self, t):
        cols = [(c, ty) for c, ty in t.cols if ty in KEYS]
        if not cols:
            return None
        c, ty = self.pick(cols)
        n = self.name("i")
        k = self.r.random()
        plain = {"integer": f"({c} + 1)", "text": f"(left({c}, 3))", "date": f"({c} + 7)", "timestamp": f"(date_trunc('day', {c}))"}.get(ty)
        if k < 0.35:
            return self.of(f"create unique index {n} on {t.name} (k, {c}{self.pick(['', ' desc', ' nulls first'])})" + self.pick(["", f" where {c} is not null", " where k > 3"]), "create index")
        if k < 0.55 and plain:
            return self.of(f"create unique index {n} on {t.name} ({plain}, k)", "create index")
        if k < 0.7:
            return self.of(f"create unique index {n} on {t.name} (k) {self.pick(['where k > 100', 'nulls not distinct', f'include ({c})', f'where {c} is null'])}", "create index")
        return self.of(f"create index {self.pick([n, ''])} on {t.name} {self.pick(['', 'using btree '])}({self.pick([c, plain or c])}{self.pick(['', ' desc', ' asc nulls first'])})".replace("index  on", "index on"), "create index")

    def view(self):
        n = self.name("v")
        k = self.r.random()
        base = [t for t in self.tables if t.what == "table" and not t.temporary]
        if not base:
            return None
        if k < 0.6:
            t = self.pick(base)
            cols = [t.cols[0]] + [c for c in t.cols[1:] if self.chance(0.7)]
            v = Table(n, cols, "k", "view")
            v.fixed = dict(t.fixed)
            v.next, v.base = 5000, t
            where = self.pick(["", f" where {t.cols[0][0]} < 9000", f" where k <> 4", " where k % 2 = 0"])
            option = self.pick(["", "", " with check option", " with local check option", " with cascaded check option"])
            return self.of(f"create view {n} as select {', '.join(c for c, _ in cols)} from {t.name}{where}{option}", "create view"), v
        save, self.tables = self.tables, base
        # no numerics: Stele knows the scale of those that are computed, and its catalogs show it
        fams = [self.pick(["int", "txt", "date", "bool", "ts", "enum", "int4range"]) for _ in range(self.r.randint(1, 4))]
        sql = self.select([], fams)
        self.tables = save
        cols = [(f"x{i}", TYPE_OF.get(f, f)) for i, f in enumerate(fams)]
        what = "materialized view" if k > 0.8 else "view"
        v = Table(n, cols, None, "matview" if k > 0.8 else "fixed view")
        return self.of(f"create {what} {n} ({', '.join(c for c, _ in cols)}) as {sql}" + (self.pick(["", "", " with data"]) if k > 0.8 else ""), "create " + what), v

    # -- rows
    def stored(self, t, ty):
        if self.chance(0.1):
            return "null"
        v = self.value(ty)
        return f"'{v}'" if family(ty) in ("int", "num", "flt") and not v.startswith("'") and self.chance(0.1) else v

    def row(self, t, key=None):
        out = []
        for c, ty in t.cols:
            if c in t.fixed:
                out.append("default")
            elif c == t.key:
                out.append(str(key if key is not None else t.next))
                t.next += 1
            elif c == "p0":
                out.append(self.pick(["null", str(self.r.randint(1, 9)), str(self.r.randint(1, 9)), "default"]))
            elif c in t.not_null:
                out.append(self.value(ty) if self.chance(0.98) or t.fixed else "null")
            else:
                out.append("default" if self.chance(0.05) else self.stored(t, ty))
        return "(" + ", ".join(out) + ")"

    def fill_table(self, t, n):
        return self.of(f"insert into {t.name} values " + ", ".join(self.row(t) for _ in range(1 if "identity" in t.fixed.values() else n)), "insert")

    def returning(self, t):
        if not self.chance(0.35):
            return ""
        cols = [(c, family(ty), ty) for c, ty in t.cols]
        return " returning " + self.pick(["*", "k", f"k, {self.expr(self.any_family([cols]), [cols], 1)}", ", ".join(c for c, _, _ in cols[:3])]) if t.key else " returning *"

    def targets(self, whats=("table", "view")):
        return [t for t in self.tables if t.what in whats]

    def assignments(self, t, scopes, most=3):
        cols = [(c, ty) for c, ty in t.cols if c not in t.fixed and c not in (t.key, "p0")]
        out = []
        for c, ty in self.r.sample(cols, min(len(cols), self.r.randint(1, most))):
            if family(ty) == "integer[]" and self.chance(0.3):
                out.append(f"{c}[{self.pick(['1', '2', '1:2'])}] = {self.pick(['5', 'null'])}" if ":" not in str(out) and self.chance(0.6) else f"{c}[1:2] = '{{7,8}}'")
            elif ty == "jsonb" and self.chance(0.2):
                out.append(f"{c}['a'] = '{self.pick(['1', 'true', '[]'])}'")
            elif ty == "c0" and self.chance(0.4):
                out.append(f"{c}.{self.pick(['a = 4', chr(98) + ' = ' + self.value('text')])}")
            else:
                k = self.r.random()
                e = "default" if k < 0.06 else self.value(ty) if k < 0.3 else "null" if k < 0.35 and c not in t.not_null else f"({self.expr(family(ty), scopes, 1)})::{ty}"
                out.append(f"{c} = {e}")
        if len(out) == 2 and self.chance(0.15) and all(" = " in x and "[" not in x.split(" = ")[0] and "." not in x.split(" = ")[0] and "default" not in x for x in out):
            a, b = (x.split(" = ", 1) for x in out)
            return f"({a[0]}, {b[0]}) = ({a[1]}, {b[1]})" if self.chance(0.6) else f"({a[0]}, {b[0]}) = (select {a[1]}, {b[1]})"
        return ", ".join(out)

    def insert(self):
        t = self.pick(self.targets())
        k = self.r.random()
        ret = self.returning(t)
        cols = [c for c, _ in t.cols if c not in t.fixed]
        if k < 0.4:
            most = 1 if "identity" in t.fixed.values() else 4  # which rows of a failing statement have taken numbers is open
            rows = ", ".join(self.row(t, self.r.randint(1, 12) if self.chance(0.04) else None) for _ in range(self.r.randint(1, most)))
            return self.of(f"insert into {t.name} values {rows}{ret}", "insert")
        if k < 0.65 and "identity" not in t.fixed.values():
            src, sc = self.keyed_source()
            if src:
                t.next += 200
                es = [f"{sc[0][0]} + {t.next + 1000}" if c == t.key else "null" if c == "p0" else f"({self.expr(family(ty), [sc], 1)})::{ty}" for c, ty in t.cols if c not in t.fixed]
                t.next += 1000
                ends = f" where {sc[0][0]} between 1 and 900 order by 1"
                return self.of(f"insert into {t.name} ({', '.join(cols)}) select {', '.join(es)} from {src}{ends} limit 5{ret}", "insert select")
        rows = ", ".join(self.row(t, self.r.randint(1, 15) if self.chance(0.8) else None) for _ in range(1 if "identity" in t.fixed.values() else self.r.randint(1, 2)))
        target = self.pick(["(k)", "(k)", "" if not t.deferrable else "(k)", "(k) where k > 100"])
        if t.what != "table":
            target = "(k)"
        if self.chance(0.4):
            return self.of(f"insert into {t.name} values {rows} on conflict {target} do nothing{ret}", "on conflict")
        scope = [(f"{t.name}.{c}", family(ty), ty) for c, ty in t.cols] + [(f"excluded.{c}", family(ty), ty) for c, ty in t.cols]
        where = f" where {self.cond([scope], 1)}" if self.chance(0.3) else ""
        return self.of(f"insert into {t.name} values {rows} on conflict {target or '(k)'} do update set {self.assignments(t, [scope], 2)}{where}{ret}", "on conflict")

    def keyed_source(self):
        ts = self.keyed()
        if not ts:
            return None, None
        t = self.pick(ts)
        a = self.new_alias()
        return f"{t.name} {a}", self.table_scope(t, a)

    def update(self):
        t = self.pick(self.targets())
        a = self.new_alias("u")
        scope = self.table_scope(t, a)
        src, sc = self.keyed_source() if self.chance(0.35) else (None, [])
        w = [self.cond([scope + sc], 1)] if self.chance(0.7) else []
        if src:
            w.append(f"{a}.k = {sc[0][0]}")
        where = " where " + " and ".join(f"({x})" for x in w) if w else ""
        if self.chance(0.06):
            return self.of(f"update {t.name} set k = k + 100000 where k between 5 and {self.r.randint(6, 9)}", "update")
        ret = f" returning {a}.k" if self.chance(0.3) else ""
        return self.of(f"update {t.name} {a} set {self.assignments(t, [scope + sc])}{f' from {src}' if src else ''}{where}{ret}", "update")

    def delete(self):
        t = self.pick(self.targets())
        a = self.new_alias("u")
        scope = self.table_scope(t, a)
        src, sc = self.keyed_source() if self.chance(0.3) else (None, [])
        w = [self.cond([scope + sc], 1), f"{a}.k % {self.pick(['3', '5', '7'])} = 0"] + ([f"{a}.k = {sc[0][0]}"] if src else [])
        ret = self.pick(["", f" returning {a}.k", f" returning {a}.*"])
        return self.of(f"delete from {t.name} {a}{f' using {src}' if src else ''} where {' and '.join(f'({x})' for x in w)}{ret}", "delete")

    def merge(self):
        ts = self.targets(("table",))
        src, sc = self.keyed_source()
        if not src or not ts:
            return self.insert()
        t = self.pick(ts)
        a = self.new_alias("m")
        scope = self.table_scope(t, a)
        both = [scope + sc]
        acts = []
        for _ in range(self.r.randint(1, 3)):
            k = self.r.random()
            extra = f" and {self.cond(both if k < 0.6 else [sc], 1)}" if self.chance(0.5) else ""
            if k < 0.35:
                acts.append(f"when matched{extra} then update set {self.assignments(t, both, 2)}")
            elif k < 0.5:
                acts.append(f"when matched{extra} then {self.pick(['delete', 'do nothing'])}")
            else:
                cols = [(c, ty) for c, ty in t.cols if c not in t.fixed]
                if t.fixed:
                    acts.append(f"when not matched{extra} then do nothing" if k < 0.6 or "identity" in t.fixed.values() else "when not matched then insert (k) values (" + f"{sc[0][0]} + 20000)")
                else:
                    es = [f"{sc[0][0]} + {t.next + 30000}" if c == "k" else "null" if c == "p0" else f"({self.expr(family(ty), [sc], 1)})::{ty}" for c, ty in cols]
                    t.next += 3000
                    acts.append(f"when not matched{extra} then insert ({', '.join(c for c, _ in cols)}) values ({', '.join(es)})")
        return self.of(f"merge into {t.name} {a} using {src} on {a}.k = {sc[0][0]}{self.pick(['', ' + 3', ' - 2'])} {' '.join(acts)}", "merge")

    def with_changes(self):
        s = [self.pick([self.insert, self.update, self.delete])() for _ in range(self.pick([1, 1, 2]))]
        heads, tails = [], []
        for i, x in enumerate(s):
            sql = x.sql if " returning " in x.sql else x.sql + " returning 1 as k"
            heads.append(f"w{i} as ({sql})")
            tails.append(f"(select count(*) from w{i})")
        if len(s) == 2 and s[0].sql.split()[2] == s[1].sql.split()[2]:  # twice the same row: which change is done is open
            heads, tails = heads[:1], tails[:1]
        t = self.pick(self.tables)
        return self.of(f"with {', '.join(heads)} select {', '.join(tails)}, (select count(*) from {t.name})", "with changes")

    def change(self):
        k = self.r.random()
        for p, f in ((0.3, self.insert), (0.62, self.update), (0.78, self.delete), (0.9, self.merge), (0.99, self.with_changes)):
            if k < p:
                return f()
        t = self.pick(self.targets(("table",)))
        return self.of(f"truncate {t.name}{self.pick(['', ' restart identity', ' cascade', ' continue identity'])}", "truncate")

    # -- ALTER and the like: (statement, what is so when it is done)
    def alter(self):
        ts = self.targets(("table",))
        t = self.pick(ts)
        n = t.name
        free = [(c, ty) for c, ty in t.cols if c not in t.fixed and c not in ("k", "p0")]
        c, ty = self.pick(free) if free else ("k", "integer")

        def rename():
            new = self.name("n")

            def done():
                t.cols = [(new if x == c else x, y) for x, y in t.cols]
                t.not_null = {new if x == c else x for x in t.not_null}
                t.checked = {new if x == c else x for x in t.checked}
            return f"alter table {n} rename {self.pick(['', 'column '])}{c} to {new}", done

        def add():
            new, nt = self.name("a"), self.pick(PICKED)
            d = self.pick(["", f" default {self.default_of(nt)}", f" not null default {self.value(nt)}", f" default {self.value(nt)} check (k > -1000000)"])
            return f"alter table {n} add column {self.pick(['', 'if not exists '])}{new} {nt}{d}", lambda: t.cols.append((new, nt))

        def drop():
            def done():
                t.cols = [x for x in t.cols if x[0] != c]
                gone = [v for v in self.tables if v.base is t and any(x[0] == c for x in v.cols)]
                self.tables = [v for v in self.tables if v not in gone]
            if c == "k":
                return f"alter table {n} drop column if exists nix", None
            return f"alter table {n} drop column {c}{self.pick(['', ' cascade'])}", done

        def retype():
            to = {"integer": ["bigint", "numeric(20,4)", "text", "double precision"], "smallint": ["integer", "text"], "bigint": ["numeric"], "text": ["varchar(12)", "text"],
                  "varchar(12)": ["text"], "date": ["timestamp", "text"], "timestamp": ["date", "timestamptz"], "boolean": ["text"], "numeric(8,2)": ["numeric", "numeric(20,4)", "integer"],
                  "json": ["jsonb"], "jsonb": ["json", "text"], "e0": ["text"], "int4range": ["text"], "integer[]": ["text[]", "d2"], "real": ["double precision"], "uuid": ["text"],
                  "char(5)": ["text"], "bit(4)": ["varbit"], "interval": ["text"]}.get(ty)
            if not to or c in t.checked:  # conditions are read anew in Stele, with constants of the new type
                return f"alter table {n} alter {c} drop default", None
            new = self.pick(to)
            using = self.pick(["", f" using {c}::{new}"]) if (ty, new) != ("boolean", "text") else f" using {c}::text"

            def done():
                t.cols = [(x, new if x == c else y) for x, y in t.cols]
            return f"alter table {n} alter {c} drop default, alter {c} {self.pick(['', 'set data '])}type {new}{using}", done

        def not_null():
            s = self.pick(["set", "drop"])

            def done():
                t.not_null = t.not_null | {c} if s == "set" else t.not_null - {c}
            return f"alter table {n} alter column {c} {s} not null", done

        def default():
            return f"alter table {n} alter {c} {self.pick([f'set default {self.default_of(ty)}', 'drop default', 'set default null'])}", None

        def check():
            x = self.check_of(c, ty)
            t.checked.add(c)
            return f"alter table {n} add {self.pick(['', f'constraint {self.name(chr(120))} '])}check ({x or 'k > -1000000'})", None

        def unique():
            defer = self.pick(DEFER)
            t.deferrable = t.deferrable or " defer" in defer
            return f"alter table {n} add {self.pick(['', f'constraint {self.name(chr(121))} '])}unique (k, {c}){defer}", None

        def foreign():
            p = self.pick([p for p in self.keyed() if p.temporary == t.temporary] or [t])
            return f"alter table {n} add foreign key (k) references {p.name} (k){self.pick(ACTIONS[:6])}{self.pick(['', ' not valid'])}", None

        def constraint():
            return self.pick([f"alter table {n} drop constraint if exists {n}_{c}_check", f"alter table {n} drop constraint if exists {n}_p0_fkey", f"alter table {n} validate constraint {n}_k_fkey",
                              f"alter table {n} drop constraint {n}_{c}_ok", f"alter table {n} rename constraint {n}_pkey to {n}_key", f"alter table {n} alter constraint {n}_p0_fkey deferrable",
                              f"alter table {n} drop constraint if exists {n}_k_fkey, add constraint {n}_more check (k is not null)"]), None

        def identity():
            if "s0" in t.fixed:
                return self.pick([f"alter table {n} alter s0 set generated {self.pick(['always', 'by default'])}", f"alter table {n} alter s0 set increment 3 restart with 500",
                                  f"alter table {n} alter s0 restart"]), None
            return f"alter table {n} alter k add generated by default as identity (start 700000)", None

        def expression():
            if "g0" not in t.fixed:
                return f"alter table {n} alter {c} drop expression if exists", None

            def done():
                del t.fixed["g0"]
            return f"alter table {n} alter g0 drop expression", done

        def several():
            a, b = add(), default()

            def done():
                a[1]()
            return f"{a[0]}, {b[0].removeprefix(f'alter table {n} ')}", done

        def comment():
            return self.pick([f"comment on table {n} is 'it''s'", f"comment on column {n}.{c} is {self.pick(['null', quote('c')])}"]), None

        def table_name():
            new = self.name("r")

            def done():
                t.name = new
            return f"alter table {n} rename to {new}", done

        def enum():
            return self.pick([f"alter type e0 add value if not exists '{self.name('l')}' {self.pick(['', chr(98) + 'efore ' + quote('red'), 'after ' + quote('blue')])}",
                              "alter domain d0 set default 3", "alter domain d0 drop default", f"alter domain d0 add constraint {self.name('q')} check (value <> 12345)",
                              "alter domain d1 drop constraint if exists d1_short", "alter type c0 add attribute z integer", "alter domain d0 set not null"]), None
        sql, done = self.pick([rename, add, add, drop, retype, retype, not_null, default, check, unique, foreign, constraint, identity, expression, several, comment, table_name, enum])()
        return self.of(sql, "alter"), done

    def sequence(self):
        n = "q0"
        return self.of(self.pick([f"select nextval('{n}'), currval('{n}'), lastval()", f"select setval('{n}', {self.r.randint(1, 50)}, {self.pick(['true', 'false'])})", f"select nextval('{n}')",
                                  f"alter sequence {n} {self.pick(['increment by 3', 'restart', 'restart with 7', 'maxvalue 60 cycle', 'no maxvalue', 'no cycle', 'cache 1', 'as bigint'])}",
                                  f"select last_value, is_called from {n}"]), "sequence", ordered=True)

    # -- several statements that belong together
    def cursor(self):
        sql, _ = self.plain()
        # A total order; DECLARE computes all rows in Stele, and has their errors.
        yield self.of("begin", "cursor")
        declare = self.of(f"declare c scroll cursor for select q::text from ({sql}) q order by 1", "cursor")
        declare.lenient = True
        yield declare
        for _ in range(self.r.randint(2, 5)):
            what = self.pick(["next", "1", "2", "forward 3", "backward 2", "prior", "first", "last", "absolute 2", "absolute -1", "relative -1", "all", "forward all", "backward all", "0",
                              "relative 0"])
            yield self.of(f"{self.pick(['fetch', 'fetch', 'move'])} {what} {self.pick(['from', 'in'])} c", "cursor", ordered=True)
        yield self.of("close c", "cursor")
        yield self.of(self.pick(["commit", "rollback"]), "cursor")

    def copy(self):
        ts = [t for t in self.targets(("table",)) if not t.temporary]
        t = self.pick(ts)
        f = self.name("x")
        # numerics in keys have no zeros at the end; elements of types that a round makes have no binary format
        cols = [c for c, ty in t.cols if t.fixed.get(c) != "generated" and ty not in ("numeric", "e0[]", "c0[]", "c0", "tr")]
        fmt = self.pick(["", "", " (format csv)", " (format csv, header)", " (format csv, delimiter ';', quote '''', escape '\\')", " (format csv, null 'NIL', force_quote *)", " (delimiter '|', null '')",
                         " (format binary)", " (format binary)", f" (format csv, force_quote ({cols[0]}))", " (format text, header)"])
        yield self.of(f"copy (select {', '.join(cols)} from {t.name} order by k) to '{{DIR}}{f}'{fmt}", "copy to")
        n = self.name("z")
        yield self.of(f"create table {n} as select {', '.join(cols)} from {t.name} with no data", "create table as")
        back = fmt.replace(", force_quote *", "").replace(f", force_quote ({cols[0]})", "")
        yield self.of(f"copy {n} from '{{DIR}}{f}'{back}", "copy from")
        yield self.of(f"select * from {n} order by k", "copy from", change=False, ordered=True)
        yield self.of(f"drop table {n}", "copy from")

    def transaction(self):
        yield self.of("begin", "transaction")
        sp = []
        for _ in range(self.r.randint(2, 6)):
            k = self.r.random()
            if k < 0.25:
                sp.append(self.name("sp"))
                yield self.of(f"savepoint {sp[-1]}", "transaction")
            elif k < 0.4 and sp:
                at = self.r.randint(0, len(sp) - 1)
                yield self.of(f"{self.pick(['rollback to', 'rollback to', 'release'])} {sp[at]}", "transaction")
                sp = sp[: at + 1]
            elif k < 0.5:
                yield self.of(f"set constraints all {self.pick(['deferred', 'immediate'])}", "transaction")
            else:
                yield self.change()
                t = self.pick(self.targets())
                yield self.of(f"select * from {t.name}", "transaction", change=False)
        yield self.of(self.pick(["commit", "commit", "rollback"]), "transaction")

    def catalog(self):
        return self.of(self.pick(CATALOGS), "catalog", change=False, ordered=True)

    def hidden(self):
        """Temporary tables are in another schema, and in Stele ordinary ones."""
        return any(t.temporary for t in self.tables)

    def look(self, t):
        return self.of(f"select * from {t.name}", "look", change=False)

    # -- a round
    def round(self, size):
        yield list(self.types()) + [self.of("create sequence q0 start 5 increment 2", "sequence")]
        for i in range(self.r.randint(2, 4)):
            s, t = self.create_table(temporary=i > 1 and self.chance(0.2))
            yield [s]
            if s.failed:
                continue
            self.tables.append(t)
            yield [self.fill_table(t, self.pick([1, 4, 7, 10])) for _ in range(self.pick([1, 2, 3]))]
            if self.chance(0.5):
                x = self.index(t)
                if x:
                    yield [x]
        for _ in range(self.pick([0, 1, 2])):
            v = self.view()
            if v:
                yield [v[0]]
                if not v[0].failed:
                    self.tables.append(v[1])
        if not self.targets(("table",)):
            return
        yield self.batch(size // 4)
        for _ in range(self.pick([2, 3, 4])):
            done = 0
            while done < 3:
                s, effect = self.alter()
                yield [s]
                if effect and not s.failed:
                    effect()
                done += 1
            if not self.targets(("table",)):
                return
            yield self.batch(size // 5)
        yield [self.look(t) for t in self.tables] + [self.of(c, "catalog", change=False, ordered=True) for c in self.r.sample(CATALOGS, 0 if self.hidden() else 6)]

    def batch(self, n):
        out = []
        while len(out) < n:
            k = self.r.random()
            if k < 0.6:
                sql, ordered, kind = self.query()
                if len(sql) < 4000:
                    out.append(Statement(sql, ordered, False, kind, self.edgy or kind == "constants"))
            elif k < 0.66:
                out.append(self.of(self.input_form(), "input", change=False, exact=True))
            elif k < 0.86:
                out.append(self.change())
            elif k < 0.88:
                out.extend(self.transaction())
            elif k < 0.895:
                out.extend(self.copy())
            elif k < 0.915:
                out.extend(self.cursor())
            elif k < 0.93:
                out.append(self.sequence())
            elif k < 0.96 and not self.hidden():
                out.append(self.catalog())
            else:
                ms = [t for t in self.tables if t.what == "matview"]
                out.append(self.of(f"refresh materialized view {self.pick(ms).name}", "refresh") if ms else self.look(self.pick(self.tables)))
        return out


def round_of(seed, size=100):
    return Writer(seed).round(size)
