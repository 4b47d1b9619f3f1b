"""CSV files written by hand, after files that people have sent each other: what is in them, as a person would say.

files() yields (name, bytes, columns, n): columns as a list of (name, types that are right), n rows.
Types: a tuple of all that a careful reader may choose.
"""
I, T, B, D, TS, F = ("bigint",), ("text",), ("boolean",), ("date",), ("timestamp without time zone",), ("double precision",)
TZ = ("timestamp with time zone",)
TM = ("time without time zone",)


def N(scale):
    return (f"numeric(18,{scale})", "double precision")


ANY = I + T + B + D + TS + F


def case(name, text, columns, n, encoding="utf-8"):
    return name, text.encode(encoding) if isinstance(text, str) else text, columns, n


def files():
    yield case("bom", "\ufeffid,name\n1,Ann\n2,Bob\n", [("id", I), ("name", T)], 2)
    yield case("bom_crlf_semicolon", "\ufeffid;betrag\r\n1;1,50\r\n2;20,00\r\n", [("id", I), ("betrag", N(2))], 2)
    yield case("german", "Datum;Konto;Betrag\n31.12.2023;4400;1.234,56\n01.01.2024;1200;-12,00\n15.02.2024;8400;999,99\n",
               [("Datum", D), ("Konto", I), ("Betrag", N(2))], 3)
    yield case("french", "nom;prix;stock\nPain;1,20;10\nBeurre;2,35;5\nLait;0,99;40\n", [("nom", T), ("prix", N(2)), ("stock", I)], 3)
    yield case("swiss", "ort;preis\nBern;1'250.50\nChur;999.00\n", [("ort", T), ("preis", T + N(2))], 2)
    yield case("us_thousands", 'state,population,area\nOhio,"11,799,448","44,825.6"\nUtah,"3,271,616","84,899.0"\n',
               [("state", T), ("population", T + I), ("area", T + N(1))], 2)
    yield case("dollar", "item,price\nA,$1.50\nB,$22.00\n", [("item", T), ("price", T)], 2)
    yield case("percent", "year,share\n2020,12.5%\n2021,13%\n", [("year", I), ("share", T)], 2)
    yield case("newlines", 'id,note\n1,"first\nsecond"\n2,"one"\n3,"a\n\nb"\n', [("id", I), ("note", T)], 3)
    yield case("newlines_crlf", 'id,note,x\r\n1,"first\r\nsecond",5\r\n2,one,6\r\n', [("id", I), ("note", T), ("x", I)], 2)
    yield case("doubled", 'id,said\n1,"he said ""no"""\n2,"""quoted"""\n', [("id", I), ("said", T)], 2)
    yield case("backslash", 'id,said\n1,"he said \\"no\\""\n2,"plain"\n3,"\\"x\\", y"\n', [("id", I), ("said", T)], 3)
    yield case("single_quotes", "id,title\n1,'one, two'\n2,'three'\n3,'four, five'\n", [("id", I), ("title", T)], 3)
    yield case("tabs", "id\tname\tcity\n1\tAnn\tParis, France\n2\tBob\tRome, Italy\n", [("id", I), ("name", T), ("city", T)], 2)
    yield case("pipes", "id|name|when\n1|Ann|2020-01-01\n2|Bob|2020-01-02\n", [("id", I), ("name", T), ("when", D)], 2)
    yield case("comments", "# exported by hand\n# 2020\nid,v\n1,2\n3,4\n", [("id", I), ("v", I)], 2)
    yield case("preamble", "Sales report\nAll regions\n\nregion,q1,q2\nNorth,10,12\nSouth,9,15\nEast,7,7\n",
               [("region", T), ("q1", I), ("q2", I)], 3)
    yield case("preamble_commas", "Report of the office,,\nprinted 2020-05-05,,\nname,a,b\nx,1,2\ny,3,4\nz,5,6\n",
               [("name", T), ("a", I), ("b", I)], 3)
    yield case("trailing_delimiter", "a,b,\n1,2,\n3,4,\n", [("a", I), ("b", I), (None, ANY)], 2)
    yield case("trailing_semicolon", "a;b;\n1;x;\n3;y;\n", [("a", I), ("b", T), (None, ANY)], 2)
    yield case("one_number", "n\n1\n2\n3\n", [("n", I)], 3)
    yield case("one_text", "name\nAnn\nBob\nCleo\n", [("name", T)], 3)
    yield case("one_text_commas_quoted", 'place\n"Paris, France"\n"Rome, Italy"\n', [("place", T)], 2)
    yield case("all_text", "first,last,town\nAnn,Lee,Oslo\nBob,Ray,Rome\nCy,Fox,Bern\n", [("first", T), ("last", T), ("town", T)], 3)
    yield case("no_header_numbers", "1,2,3\n4,5,6\n7,8,9\n", [(None, I), (None, I), (None, I)], 3)
    yield case("no_header_mixed", "1,Ann,2020-01-01\n2,Bob,2020-01-02\n3,Cy,2020-01-03\n", [(None, I), (None, T), (None, D)], 3)
    yield case("years_header", "country,2019,2020,2021\nNorway,5.3,5.4,5.4\nPeru,32.5,33.0,33.4\n",
               [("country", T), ("2019", N(1)), ("2020", N(1)), ("2021", N(1))], 2)
    yield case("iso_week", "week,n\n2020-W01,5\n2020-W02,7\n", [("week", T), ("n", I)], 2)
    yield case("quarters", "quarter,gdp\n2020-Q1,1.5\n2020-Q2,-9.25\n", [("quarter", T), ("gdp", N(2))], 2)
    yield case("months", "month,n\n2020-01,5\n2020-02,7\n", [("month", T + D), ("n", I)], 2)
    yield case("us_dates", "d,v\n01/02/2020,1\n12/31/2020,2\n07/04/2021,3\n", [("d", D), ("v", I)], 3)
    yield case("uk_dates", "d,v\n01/02/2020,1\n31/12/2020,2\n04/07/2021,3\n", [("d", D), ("v", I)], 3)
    yield case("mixed_dates", "d,v\n2020-01-31,1\n31.01.2020,2\nJan 5 2020,3\n", [("d", T), ("v", I)], 3)
    yield case("stamps", "at,v\n2020-01-01 10:00:00,1\n2020-01-01 11:30:15,2\n", [("at", TS), ("v", I)], 2)
    yield case("stamps_t", "at,v\n2020-01-01T10:00:00,1\n2020-01-01T11:30:15.250,2\n", [("at", TS), ("v", I)], 2)
    yield case("stamps_z", "at,v\n2020-01-01T10:00:00Z,1\n2020-06-01T11:30:15+02:00,2\n", [("at", TZ), ("v", I)], 2)
    yield case("times", "t,v\n10:00:00,1\n23:59:59,2\n", [("t", TM), ("v", I)], 2)
    yield case("times_short", "t;v\n9:05;1\n23:59;2\n", [("t", TM + T), ("v", I)], 2)
    yield case("zip_codes", "zip,town\n01067,Dresden\n10115,Berlin\n80331,Munich\n", [("zip", T), ("town", T)], 3)
    yield case("phones", "name,phone\nAnn,+49 30 1234\nBob,+1 555 0100\n", [("name", T), ("phone", T)], 2)
    yield case("yes_no", "name,member\nAnn,yes\nBob,no\n", [("name", T), ("member", T + B)], 2)
    yield case("true_false", "name,ok\nAnn,TRUE\nBob,FALSE\n", [("name", T), ("ok", B)], 2)
    yield case("na", "a,b\n1,NA\nNA,2.5\n3,4.0\n", [("a", I), ("b", N(1))], 3)
    yield case("null_words", "a,b\n1,NULL\n2,x\n", [("a", I), ("b", T)], 2)
    yield case("dashes", "a,b\n1,-\n2,-\n3,5\n", [("a", I), ("b", T + I)], 3)
    yield case("empty_lines", "a,b\n1,2\n\n3,4\n\n\n", [("a", I), ("b", I)], 2)
    yield case("empty_lines_front", "\n\na,b\n1,2\n3,4\n", [("a", I), ("b", I)], 2)
    yield case("blanks", "a, b, c\n1, x, 2.5\n2, y, 3.5\n", [("a", I), ("b", T), ("c", N(1))], 2)
    yield case("no_last_newline", "a,b\n1,2\n3,4", [("a", I), ("b", I)], 2)
    yield case("old_mac", "a,b\r1,x\r2,y\r", [("a", I), ("b", T)], 2)
    yield case("exponents", "x,y\n1e5,1.5E-3\n2e-7,3E8\n", [("x", F), ("y", F)], 2)
    yield case("signs", "x\n+5\n-3\n0\n", [("x", I + T)], 3)
    yield case("big", "id,n\n12345678901234567890,1\n2,2\n", [("id", ("numeric", "double precision")), ("n", I)], 2)
    yield case("json_cells", 'id,data\n1,"{""a"": [1, 2]}"\n2,"{}"\n', [("id", I), ("data", T)], 2)
    yield case("urls", "id,url\n1,http://a.org/?x=1;y=2\n2,https://b.org/a|b\n", [("id", I), ("url", T)], 2)
    yield case("addresses", 'name,address\nAnn,"1 Main St; Apt 2; Springfield"\nBob,"22 Oak; Unit 1; Salem"\n', [("name", T), ("address", T)], 2)
    yield case("semicolons_in_commas", "id,tags\n1,a;b;c\n2,d;e;f\n3,g;h;i\n", [("id", I), ("tags", T)], 3)
    yield case("only_header", "id,name,v\n", [("id", ANY), ("name", ANY), ("v", ANY)], 0)
    yield case("excel_sep", "sep=;\nid;name\n1;Ann\n2;Bob\n", [("id", I), ("name", T)], 2)
    yield case("excel_sep_tab", "sep=\t\nid\tname\n1\tAnn\n2\tBob\n", [("id", I), ("name", T)], 2)
    yield case("same_names", "a,a,b\n1,2,3\n4,5,6\n", [("a", I), (None, I), ("b", I)], 2)
    yield case("units", "depth (m),temp [°C]\n1.5,20.1\n2.0,19.8\n", [("depth (m)", N(1)), ("temp [°C]", N(1))], 2)
    yield case("log", "2020-01-01 10:00:00,123|INFO|started\n2020-01-01 10:00:01,456|WARN|slow, very\n2020-01-01 10:00:02,001|INFO|ok\n",
               [(None, T + TS), (None, T), (None, T)], 3)
