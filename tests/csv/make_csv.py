#!/usr/bin/env python3
"""Varied CSV files, and what is in them. The same files every time.

files() yields (name, bytes, columns, rows) with columns as a list of (name, types): the types that are right answers; and
rows of texts as they were before they were quoted, None for NULL.
Written from the kinds of files that people have: exports of spreadsheets in several countries, data frames, databases,
logs, statistics offices' tables with titles above.
"""
import random

INT, TEXT, BOOL, DATE, TS, TSTZ, TIME, UUID, F8 = ("bigint",), ("text",), ("boolean",), ("date",), (
    "timestamp without time zone",), ("timestamp with time zone",), ("time without time zone",), ("uuid",), ("double precision",)
MONEY = ("numeric(18,2)", "double precision")
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omikron pi rho sigma tau upsilon".split()
FIRST = "Anna Boris Chiara David Elif Farid Grace Hugo Ines Jonas Keiko Liam Mara Nils Olga".split()
LAST = "Adams Baker Chen Diaz Evans Fischer Garcia Haddad Ito Jensen Kim Lopez Meyer Novak O'Neil".split()
CITIES = ["Berlin", "New York", "São Paulo", "Zürich", "Paris", "Tokyo", "Washington, DC", "Köln", "Oslo", "Lima"]
CODES = ["DE", "FR", "US", "BR", "JP", "NO", "PE", "CH"]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class Col:
    """A column: its name, right types, and a value for a row."""

    def __init__(self, name, types, value):
        self.name, self.types, self.value = name, types, value


def date(fmt):
    def value(r, i):
        y, m, d = 1990 + r.randrange(35), 1 + r.randrange(12), 1 + r.randrange(28)
        if i == 1:
            d = 17 + r.randrange(11)  # tells day from month
        return fmt.format(Y=y, y=y % 100, m=m, d=d, b=MONTHS[m - 1])
    return value


def stamp(fmt):
    def value(r, i):
        h = r.randrange(24)
        d = 17 + r.randrange(11) if i == 1 else 1 + r.randrange(28)
        return fmt.format(Y=2000 + r.randrange(25), m=1 + r.randrange(12), d=d, H=h, I=h % 12 or 12, p="PM" if h >= 12 else "AM",
                          M=r.randrange(60), S=r.randrange(60), f=r.randrange(1000))
    return value


ident = Col("id", INT, lambda r, i: str(i + 1))
number = Col("count", INT, lambda r, i: str(r.randrange(-500, 100000)))
big = Col("bytes_total", INT, lambda r, i: str(r.randrange(10**15, 10**18)))
money = Col("price", MONEY, lambda r, i: "%d.%02d" % (r.randrange(5000), r.randrange(100)))
mixed = Col("ratio", F8, lambda r, i: ["%.3f", "%.1f", "%.6f", "%g"][i % 4] % (r.random() * 100))
late = Col("score", F8 + ("numeric(18,1)",), lambda r, i: str(i) if i < 20 else "%d.5" % i)
expo = Col("mass", F8, lambda r, i: "%.4e" % (r.random() * 1e20))
word = Col("kind", TEXT, lambda r, i: r.choice(WORDS))
person = Col("full name", TEXT, lambda r, i: r.choice(FIRST) + " " + r.choice(LAST))
first = Col("first_name", TEXT, lambda r, i: r.choice(FIRST))
last = Col("last_name", TEXT, lambda r, i: r.choice(LAST))
city = Col("city", TEXT, lambda r, i: r.choice(CITIES))
code = Col("country", TEXT, lambda r, i: r.choice(CODES))
zipcode = Col("zip", TEXT, lambda r, i: "0%04d" % r.randrange(10000))
phone = Col("phone", TEXT, lambda r, i: "+49 30 %06d" % r.randrange(10**6))
email = Col("email", TEXT, lambda r, i: r.choice(WORDS) + "%d@example.com" % r.randrange(99))
percent = Col("share", TEXT, lambda r, i: "%d%%" % r.randrange(100))
dollars = Col("amount", TEXT, lambda r, i: "$%d.%02d" % (r.randrange(99), r.randrange(100)))
flag = Col("active", BOOL, lambda r, i: r.choice(["true", "false"]))
flag_upper = Col("ACTIVE", BOOL, lambda r, i: r.choice(["TRUE", "FALSE"]))
flag_t = Col("seen", BOOL, lambda r, i: r.choice("tf"))
yes_no = Col("member", TEXT + BOOL, lambda r, i: r.choice(["yes", "no"]))
iso = Col("day", DATE, date("{Y:04}-{m:02}-{d:02}"))
iso_ts = Col("created_at", TS, stamp("{Y:04}-{m:02}-{d:02} {H:02}:{M:02}:{S:02}"))
iso_t = Col("ts", TS, stamp("{Y:04}-{m:02}-{d:02}T{H:02}:{M:02}:{S:02}.{f:03}"))
iso_z = Col("updated", TSTZ, stamp("{Y:04}-{m:02}-{d:02}T{H:02}:{M:02}:{S:02}Z"))
iso_off = Col("sent", TSTZ, stamp("{Y:04}-{m:02}-{d:02} {H:02}:{M:02}:{S:02}+02:00"))
clock = Col("starts", TIME, stamp("{H:02}:{M:02}:{S:02}"))
short_clock = Col("opens", TIME, stamp("{H:02}:{M:02}"))
uid = Col("uuid", UUID, lambda r, i: "%08x-%04x-4%03x-a%03x-%012x" % (r.getrandbits(32), r.getrandbits(16), r.getrandbits(12), r.getrandbits(12), r.getrandbits(48)))
url = Col("url", TEXT, lambda r, i: "https://example.org/%s?q=%d&x=y" % (r.choice(WORDS), r.randrange(99)))
ip = Col("ip", TEXT, lambda r, i: "10.%d.%d.%d" % (r.randrange(256), r.randrange(256), r.randrange(256)))
version = Col("version", TEXT, lambda r, i: "%d.%d.%d" % (r.randrange(9), r.randrange(20), r.randrange(9)))
lat = Col("lat", F8 + ("numeric(18,5)", "numeric(18,6)"), lambda r, i: "%.5f" % (r.random() * 180 - 90))
note = Col("note", TEXT, lambda r, i: r.choice(["plain", "with, comma", "semi; colon", 'said "hi"', "two\nlines", "tab\there", "it's", ""]))
quiet = Col("remark", TEXT, lambda r, i: r.choice(["fine", "so so", "not good", "", "ok"]))
code_id = Col("code", TEXT, lambda r, i: "%s-%03d" % (r.choice("ABCD"), r.randrange(1000)))
mac = Col("mac", TEXT, lambda r, i: ":".join("%02x" % r.randrange(256) for _ in range(6)))
empty = Col("unused", TEXT, lambda r, i: "")
jsonish = Col("attributes", TEXT, lambda r, i: '{"a": %d, "b": "x"}' % r.randrange(9))
DATES = [("us", "{m:02}/{d:02}/{Y:04}"), ("gb", "{d:02}/{m:02}/{Y:04}"), ("de", "{d:02}.{m:02}.{Y:04}"), ("de2", "{d}.{m}.{Y}"),
         ("dash", "{d:02}-{m:02}-{Y:04}"), ("slash", "{Y:04}/{m:02}/{d:02}"), ("mon", "{d:02}-{b}-{Y:04}"), ("monb", "{d} {b} {Y}"),
         ("usb", "{b} {d}, {Y}"), ("us2", "{m}/{d}/{Y}")]


def german(value):
    def v(r, i):
        whole, part = value(r, i).split(".")
        groups = ""
        while len(whole) > 3:
            groups = "." + whole[-3:] + groups
            whole = whole[:-3]
        return whole + groups + "," + part
    return v


class Form:
    """How a file is written."""

    def __init__(self, delim=",", quote='"', eol="\n", header=True, bom=False, front=(), escape=None, always=False, last_eol=True,
                 space="", nulls=0.0, null="", blank=0, tail=False):
        self.__dict__.update(locals())


def field(f, text):
    special = f.delim in text or "\n" in text or "\r" in text or (f.quote and f.quote in text)
    if f.quote and (f.always or special):
        esc = f.escape or f.quote
        if esc != f.quote:
            text = text.replace(esc, esc + esc)
        return f.quote + text.replace(f.quote, esc + f.quote) + f.quote
    return text


def build(seed, cols, n, f):
    r = random.Random(seed)
    lines = list(f.front)
    rows = []
    for i in range(n):
        row = [c.value(r, i) for c in cols]
        for k in range(1, len(row)):
            if f.nulls and r.random() < f.nulls and i > 1:
                row[k] = None
        rows.append(row)
    glue = f.delim + f.space
    if f.header:
        lines.append(glue.join(field(f, c.name) for c in cols))
    for i, row in enumerate(rows):
        lines.append(glue.join(f.null if x is None else field(f, x) for x in row))
        if f.blank and i % f.blank == 1:
            lines.append("")
    text = f.eol.join(lines) + (f.eol if f.last_eol else "")
    names = [c.name if f.header else "column%d" % (k + 1) for k, c in enumerate(cols)]
    return (b"\xef\xbb\xbf" if f.bom else b"") + text.encode(), [(a, c.types) for a, c in zip(names, cols)], rows


def recipes():
    """(name, columns, rows, form)"""
    shop = [ident, word, money, iso, flag]
    people = [ident, first, last, email, city, iso]
    for d, label in ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "pipe")):
        for header in (True, False):
            h = "" if header else "_bare"
            yield f"shop_{label}{h}", shop, 30, Form(d, header=header)
            yield f"people_{label}{h}", people, 40, Form(d, header=header)
        yield f"notes_{label}", [ident, note, number], 60, Form(d)
        yield f"quoted_{label}", [ident, person, money, iso_ts], 25, Form(d, always=True)
        yield f"crlf_{label}", [ident, city, mixed, iso], 25, Form(d, eol="\r\n")
        yield f"cr_{label}", [ident, word, number], 25, Form(d, eol="\r")
        yield f"bom_{label}", [ident, city, mixed], 25, Form(d, bom=True)
        yield f"nulls_{label}", [ident, word, number, money, iso, flag], 50, Form(d, nulls=0.3)
        yield f"na_{label}", [ident, number, mixed, iso], 50, Form(d, nulls=0.2, null="NA")
        yield f"no_last_eol_{label}", [ident, word, iso], 20, Form(d, last_eol=False)
        yield f"single_quotes_{label}", [ident, person if d != "x" else word, number], 30, Form(d, quote="'", always=True)
        yield f"one_row_{label}", [ident, word, money], 1, Form(d)
        yield f"title_{label}", [code, number, mixed], 20, Form(d, front=("Report of the year", ""))
        yield f"comment_{label}", [ident, word, number], 20, Form(d, front=("# made by a program", "# second line"))
        yield f"blank_lines_{label}", [ident, word, number], 20, Form(d, blank=4)
    for name, fmt in DATES:
        yield f"date_{name}", [ident, Col("when", DATE, date(fmt)), word], 30, Form(";" if "," in fmt else ",")
        yield f"date_{name}_bare", [ident, Col("when", DATE, date(fmt)), word], 30, Form("\t", header=False)
    yield "date_quoted_comma", [ident, Col("when", DATE, date("{b} {d}, {Y}"))], 30, Form(",", quote='"')
    for name, fmt in (("us_12", "{m:02}/{d:02}/{Y:04} {I}:{M:02}:{S:02} {p}"), ("us_short", "{m}/{d}/{Y} {I}:{M:02} {p}"), ("de", "{d:02}.{m:02}.{Y:04} {H:02}:{M:02}"),
                      ("de_s", "{d:02}.{m:02}.{Y:04} {H:02}:{M:02}:{S:02}"), ("gb", "{d:02}/{m:02}/{Y:04} {H:02}:{M:02}"), ("iso_min", "{Y:04}-{m:02}-{d:02} {H:02}:{M:02}"), ("slash", "{Y:04}/{m:02}/{d:02} {H:02}:{M:02}:{S:02}")):
        yield f"stamp_{name}", [ident, Col("at", TS, stamp(fmt)), number], 40, Form(",")
        yield f"stamp_{name}_semicolon", [word, Col("at", TS, stamp(fmt))], 40, Form(";", header=False)
    for c in (iso_ts, iso_t, iso_z, iso_off, clock, short_clock, uid, big, expo, mixed, late, zipcode, phone, percent, dollars, flag_upper, flag_t,
              yes_no, url, ip, version, lat, code_id, mac, jsonish, city, empty):
        yield f"kind_{c.name.replace(' ', '_')}", [ident, c, word], 40, Form(",")
        yield f"kind_{c.name.replace(' ', '_')}_bare", [c, number], 40, Form("\t", header=False)
    euro = Col("Betrag", MONEY, german(money.value))
    euro_big = Col("Umsatz", MONEY, german(lambda r, i: "%d.%02d" % (r.randrange(10**7), r.randrange(100))))
    de_day = Col("Datum", DATE, date("{d:02}.{m:02}.{Y:04}"))
    yield "german", [de_day, Col("Ort", TEXT, city.value), euro], 40, Form(";", eol="\r\n")
    yield "german_big", [de_day, euro_big, Col("Anzahl", INT, number.value)], 40, Form(";", bom=True)
    yield "german_tab", [euro, de_day], 40, Form("\t")
    yield "german_quoted", [Col("Name", TEXT, person.value), euro], 40, Form(";", always=True)
    yield "german_titles", [Col("Kreis", TEXT, city.value), Col("Einwohner", INT, number.value), euro], 40, Form(";", front=("Tabelle 12411", "Bevölkerung: Stand 31.12.", ""))
    yield "comma_space", [ident, word, mixed], 30, Form(",", space=" ")
    yield "comma_space_quoted", [ident, city, money], 30, Form(",", space=" ")
    yield "backslash", [ident, note, number], 60, Form(",", escape="\\", always=True)
    yield "backslash_tab", [ident, note, word], 60, Form("\t", escape="\\", always=True)
    yield "frame_index", [Col("", INT, ident.value), word, mixed], 30, Form(",")
    yield "caret", [ident, word, money], 30, Form("^")
    yield "tilde", [ident, city, money], 30, Form("~")
    yield "spaces", [number, ident, Col("v", F8, mixed.value)], 30, Form(" ", header=False)
    yield "null_word", [ident, number, word, iso], 40, Form(",", nulls=0.25, null="NULL")
    yield "null_backslash", [ident, number, money], 40, Form("\t", nulls=0.25, null="\\N")
    yield "null_dash", [ident, number, iso], 40, Form(";", nulls=0.25, null="-")
    yield "one_column", [Col("value", INT, number.value)], 40, Form(",")
    yield "one_column_text", [Col("word", TEXT, word.value)], 40, Form(",")
    yield "one_column_bare", [number], 40, Form(",", header=False)
    yield "header_only", [Col(n, TEXT, word.value) for n in ("id", "name", "size")], 0, Form(",")
    yield "years", [Col("Country", TEXT, city.value)] + [Col(str(y), INT, number.value) for y in range(2015, 2022)], 20, Form(",")
    yield "texts_header", [first, last, Col("favourite_colour", TEXT, word.value)], 30, Form(",")
    yield "texts_codes", [Col("code", TEXT, code.value), Col("Name", TEXT, city.value)], 30, Form(";")
    yield "texts_bare", [code, code, code], 30, Form(",", header=False)
    yield "emails_bare", [email, email], 30, Form(",", header=False)
    yield "wide", [Col("c%d" % k, (INT, MONEY, TEXT)[k % 3], (number, money, word)[k % 3].value) for k in range(120)], 12, Form(",")
    yield "long", [ident, word, money, iso, note], 5000, Form(",")
    yield "upper", [Col(n, t, v) for n, t, v in (("ORDER_ID", INT, ident.value), ("CUSTOMER", TEXT, person.value), ("TOTAL", MONEY, money.value))], 30, Form("|")
    yield "camel", [Col("orderId", INT, ident.value), Col("isPaid", BOOL, flag.value), Col("createdAt", TSTZ, iso_z.value)], 30, Form(",")
    yield "unicode", [Col("名前", TEXT, city.value), Col("値", INT, number.value)], 30, Form(",")
    yield "same_names", [Col("a", INT, ident.value), Col("b", TEXT, word.value)], 30, Form(",")
    yield "lists", [ident, Col("tags", TEXT, lambda r, i: ";".join(r.sample(WORDS, 3))), number], 30, Form(",")
    yield "lists_pipe", [ident, Col("tags", TEXT, lambda r, i: "|".join(r.sample(WORDS, 2))), money], 30, Form(";")
    yield "sentence", [ident, Col("text", TEXT, lambda r, i: "The %s, as seen by %s, is %s." % tuple(r.sample(WORDS, 3)))], 30, Form("\t")
    yield "log", [iso_t, Col("level", TEXT, lambda r, i: r.choice(["INFO", "WARN", "ERROR"])), Col("message", TEXT, lambda r, i: "took %d ms: %s" % (r.randrange(999), r.choice(WORDS)))], 40, Form("|")
    yield "coordinates", [Col("name", TEXT, city.value), lat, Col("lon", lat.types, lat.value)], 30, Form(",")
    yield "measurements", [iso_ts] + [Col(n, F8, mixed.value) for n in ("t_in", "t_out", "p")], 200, Form(",", nulls=0.1)
    yield "nan", [ident, Col("x", F8, lambda r, i: "NaN" if i % 5 == 0 else "%.4f" % r.random())], 30, Form(",")
    yield "ints_as_text_keys", [Col("sku", TEXT, lambda r, i: "%05d" % r.randrange(2000)), number], 30, Form(",")
    yield "ragged_title", [ident, city, money, flag], 30, Form(",", front=("Sales, all regions", "Source: office"))
    yield "stocks", [Col("Date", DATE, date("{Y:04}-{m:02}-{d:02}")), Col("Open", MONEY, money.value), Col("Volume", INT, big.value)], 250, Form(",")
    yield "contacts", [first, last, phone, email, zipcode, city], 60, Form(";", always=True)
    yield "quoted_numbers", [ident, number, money], 30, Form(",", always=True)
    yield "quoted_numbers_bare", [ident, number, money], 30, Form(";", always=True, header=False)


def files():
    for k, (name, cols, n, form) in enumerate(recipes()):
        data, columns, rows = build(k, cols, n, form)
        yield name, data, columns, rows


if __name__ == "__main__":
    print(sum(1 for _ in files()), "files")
