/* format_markup.c - tables of documents: Markdown, HTML, AsciiDoc, LaTeX, troff. psql's, but for Markdown, which it has
 * not. Rows are written as they come; nothing is cut. */
#include <string.h>

#include "shell/shell.h"

static bool is_right(const Printer *p, int64_t i) { return p->rows->is_number(p->rows, i); }
static const char *name_of(const Printer *p, int64_t i) { return p->rows->name(p->rows, i); }

/* ---- Markdown ---------------------------------------------------------------------------------------------- */

static void markdown_text(FILE *f, const char *s) {
    for (; *s; s++) {
        if (*s == '|') fputc('\\', f);
        fputc(*s == '\n' ? ' ' : *s, f);
    }
}

void print_markdown(Printer *p) {
    FILE *f = p->f;
    for (int64_t i = 0; i < p->n && !p->o->tuples_only; i++) {
        fputs("| ", f);
        markdown_text(f, name_of(p, i));
        fputs(i == p->n - 1 ? " |\n" : " ", f);
    }
    for (int64_t i = 0; i < p->n && !p->o->tuples_only; i++) {
        fputs(is_right(p, i) ? "| ---: " : "| --- ", f);
        if (i == p->n - 1) fputs("|\n", f);
    }
    while (next_row(p)) {
        for (int64_t i = 0; i < p->n; i++) {
            fputs("| ", f);
            markdown_text(f, null_plain(p, cell_text(p, i)));
            fputc(' ', f);
        }
        fputs("|\n", f);
    }
}

/* ---- HTML -------------------------------------------------------------------------------------------------- */

static void html_text(FILE *f, const char *s) {
    bool leading = true;
    for (; *s; s++) {
        if (*s == '&') fputs("&amp;", f);
        else if (*s == '<') fputs("&lt;", f);
        else if (*s == '>') fputs("&gt;", f);
        else if (*s == '"') fputs("&quot;", f);
        else if (*s == '\n') fputs("<br />\n", f);
        else if (*s == ' ' && leading) fputs("&nbsp;", f);
        else fputc(*s, f);
        leading &= *s == ' ';
    }
}

static void html_cell(Printer *p, int64_t i) {
    const char *text = null_plain(p, cell_text(p, i));
    fprintf(p->f, "    <td align=\"%s\">", is_right(p, i) ? "right" : "left");
    if (text[strspn(text, " \t")]) html_text(p->f, text);
    else fputs("&nbsp; ", p->f);
    fputs("</td>\n", p->f);
}

static void html_begin(Printer *p) {
    const char *attributes = p->o->table_attr, *title = title_of(p);
    fprintf(p->f, "<table border=\"%d\"%s%s>\n", p->o->border, attributes ? " " : "", attributes ? attributes : "");
    if (!title) return;
    fputs("  <caption>", p->f);
    html_text(p->f, title);
    fputs("</caption>\n", p->f);
}

static void html_end(Printer *p, bool footers) {
    fputs("</table>\n", p->f);
    if (footers) {
        fputs("<p>", p->f);
        for (int64_t i = 0; i < p->rows->n_footers; i++) {
            html_text(p->f, p->rows->footers[i]);
            fputs("<br />\n", p->f);
        }
        if (p->rows->n_footers == 0)
            fprintf(p->f, "(%lld row%s)<br />\n", (long long)p->printed, p->printed == 1 ? "" : "s");
        fputs("</p>", p->f);
    }
    fputc('\n', p->f);
}

static void html_records(Printer *p) {
    html_begin(p);
    while (next_row(p)) {
        if (p->o->tuples_only) fputs("\n  <tr><td colspan=\"2\">&nbsp;</td></tr>\n", p->f);
        else fprintf(p->f, "\n  <tr><td colspan=\"2\" align=\"center\">Record %lld</td></tr>\n", (long long)p->printed);
        for (int64_t i = 0; i < p->n; i++) {
            fputs("  <tr valign=\"top\">\n    <th>", p->f);
            html_text(p->f, name_of(p, i));
            fputs("</th>\n", p->f);
            html_cell(p, i);
            fputs("  </tr>\n", p->f);
        }
    }
    html_end(p, p->rows->n_footers > 0 && !p->o->tuples_only);
}

void print_html(Printer *p) {
    if (p->o->expanded == EXPANDED_ON) {
        html_records(p);
        return;
    }
    html_begin(p);
    if (!p->o->tuples_only) {
        fputs("  <tr>\n", p->f);
        for (int64_t i = 0; i < p->n; i++) {
            fputs("    <th align=\"center\">", p->f);
            html_text(p->f, name_of(p, i));
            fputs("</th>\n", p->f);
        }
        fputs("  </tr>\n", p->f);
    }
    while (next_row(p)) {
        fputs("  <tr valign=\"top\">\n", p->f);
        for (int64_t i = 0; i < p->n; i++) html_cell(p, i);
        fputs("  </tr>\n", p->f);
    }
    html_end(p, has_footers(p));
}

/* ---- AsciiDoc ------------------------------------------------------------------------------------------------ */

static void asciidoc_text(FILE *f, const char *s) {
    for (; *s; s++) {
        if (*s == '|') fputc('\\', f);
        fputc(*s, f);
    }
}

static const char *asciidoc_frame(const Printer *p) {
    static const char *const frames[] = {",frame=\"none\",grid=\"none\"", ",frame=\"none\"",
                                         ",frame=\"all\",grid=\"all\""};
    return frames[p->o->border < 2 ? p->o->border : 2];
}

static void asciidoc_end(Printer *p, bool footers) {
    fputs("|====\n", p->f);
    if (!footers) return;
    fputs("\n....\n", p->f);
    put_count(p);
    fputs("....\n", p->f);
}

static void asciidoc_records(Printer *p) {
    fprintf(p->f, "[cols=\"h,l\"%s]\n|====\n", asciidoc_frame(p));
    while (next_row(p)) {
        if (p->o->tuples_only) fputs("2+|\n", p->f);
        else fprintf(p->f, "2+^|Record %lld\n", (long long)p->printed);
        for (int64_t i = 0; i < p->n; i++) {
            fputs("<l|", p->f);
            asciidoc_text(p->f, name_of(p, i));
            const char *text = null_plain(p, cell_text(p, i));
            fprintf(p->f, " %sl|", is_right(p, i) ? ">" : "<");
            if (text[strspn(text, " \t")]) asciidoc_text(p->f, text);
            else fputc(' ', p->f);
            fputc('\n', p->f);
        }
    }
    asciidoc_end(p, p->rows->n_footers > 0 && !p->o->tuples_only);
}

void print_asciidoc(Printer *p) {
    FILE *f = p->f;
    const char *title = title_of(p);
    fputc('\n', f);
    if (title) {
        fputc('.', f);
        fprintf(f, "%s\n", title);
    }
    if (p->o->expanded == EXPANDED_ON) {
        asciidoc_records(p);
        return;
    }
    fprintf(f, "[%scols=\"", p->o->tuples_only ? "" : "options=\"header\",");
    for (int64_t i = 0; i < p->n; i++) fprintf(f, "%s%sl", i ? "," : "", is_right(p, i) ? ">" : "<");
    fprintf(f, "\"%s]\n|====\n", asciidoc_frame(p));
    for (int64_t i = 0; i < p->n && !p->o->tuples_only; i++) {
        fputs(i ? " ^l|" : "^l|", f);
        asciidoc_text(f, name_of(p, i));
        if (i == p->n - 1) fputc('\n', f);
    }
    while (next_row(p))
        for (int64_t i = 0; i < p->n; i++) {
            const char *text = null_plain(p, cell_text(p, i));
            fputs(i ? " |" : "|", f);
            if (text[strspn(text, " \t")]) asciidoc_text(f, text);
            else if (i < p->n - 1) fputc(' ', f);
            if (i == p->n - 1) fputc('\n', f);
        }
    asciidoc_end(p, has_footers(p));
}

/* ---- LaTeX ----------------------------------------------------------------------------------------------------- */

static void latex_text(FILE *f, const char *s) {
    for (; *s; s++) {
        if (strchr("#$%&_{}", *s)) fprintf(f, "\\%c", *s);
        else if (*s == '\\') fputs("\\textbackslash{}", f);
        else if (*s == '<' || *s == '>' || *s == '|')
            fprintf(f, "\\text%s{}", *s == '<' ? "less" : *s == '>' ? "greater" : "bar");
        else if (*s == '^') fputs("\\^{}", f);
        else if (*s == '~') fputs("\\~{}", f);
        else if (*s == '\n') fputs("\\\\", f);
        else fputc(*s, f);
    }
}

static void latex_columns(Printer *p) {
    int border = p->o->border < 3 ? p->o->border : 3;
    if (border >= 2) fputs("| ", p->f);
    for (int64_t i = 0; i < p->n; i++) {
        fputc(is_right(p, i) ? 'r' : 'l', p->f);
        if (border != 0 && i < p->n - 1) fputs(" | ", p->f);
    }
    if (border >= 2) fputs(" |", p->f);
}

static void latex_end(Printer *p, bool footers) {
    fputs("\\end{tabular}\n\n\\noindent ", p->f);
    for (int64_t i = 0; footers && i < p->rows->n_footers; i++) {
        latex_text(p->f, p->rows->footers[i]);
        fputs(" \\\\\n", p->f);
    }
    if (footers && p->rows->n_footers == 0)
        fprintf(p->f, "(%lld row%s) \\\\\n", (long long)p->printed, p->printed == 1 ? "" : "s");
    fputc('\n', p->f);
}

static void latex_records(Printer *p) {
    int border = p->o->border;
    fprintf(p->f, "\\begin{tabular}{%s}\n", border == 0 ? "cl" : border == 1 ? "c|l" : "|c|l|");
    while (next_row(p)) {
        if (!p->o->tuples_only) {
            if (border >= 2) fputs("\\hline\n", p->f);
            fprintf(p->f, "\\multicolumn{2}{%s}{\\textit{Record %lld}} \\\\\n", border >= 2 ? "|c|" : "c",
                    (long long)p->printed);
        }
        if (border >= 1) fputs("\\hline\n", p->f);
        for (int64_t i = 0; i < p->n; i++) {
            latex_text(p->f, name_of(p, i));
            fputs(" & ", p->f);
            latex_text(p->f, null_plain(p, cell_text(p, i)));
            fputs(" \\\\\n", p->f);
        }
    }
    if (border >= 2) fputs("\\hline\n", p->f);
    latex_end(p, p->rows->n_footers > 0 && !p->o->tuples_only);
}

void print_latex(Printer *p) {
    FILE *f = p->f;
    const char *title = title_of(p);
    int border = p->o->border;
    if (title) {
        fputs("\\begin{center}\n", f);
        latex_text(f, title);
        fputs("\n\\end{center}\n\n", f);
    }
    if (p->o->expanded == EXPANDED_ON) {
        latex_records(p);
        return;
    }
    fputs("\\begin{tabular}{", f);
    latex_columns(p);
    fputs("}\n", f);
    if (!p->o->tuples_only) {
        if (border >= 2) fputs("\\hline\n", f);
        for (int64_t i = 0; i < p->n; i++) {
            fputs(i ? " & \\textit{" : "\\textit{", f);
            latex_text(f, name_of(p, i));
            fputc('}', f);
        }
        fputs(" \\\\\n\\hline\n", f);
    }
    while (next_row(p)) {
        for (int64_t i = 0; i < p->n; i++) {
            if (i) fputs(" & ", f);
            latex_text(f, null_plain(p, cell_text(p, i)));
        }
        fputs(border >= 3 ? " \\\\\n \\hline\n" : " \\\\\n", f);
    }
    if (border == 2) fputs("\\hline\n", f);
    latex_end(p, has_footers(p));
}

/* ---- troff ------------------------------------------------------------------------------------------------------- */

static void troff_text(FILE *f, const char *s) {
    for (; *s; s++)
        if (*s == '\\') fputs("\\(rs", f);
        else fputc(*s, f);
}

static void troff_end(Printer *p, bool footers) {
    fputs(".TE\n.DS L\n", p->f);
    if (footers) put_count(p);
    fputs(".DE\n", p->f);
}

static void troff_records(Printer *p) {
    bool tuples = p->o->tuples_only;
    if (tuples) fputs("c l;\n", p->f);
    while (next_row(p)) {
        if (!tuples) {
            if (p->o->border >= 2 && p->printed > 1) fputs("_\n", p->f);
            if (p->printed > 1) fputs(".T&\n", p->f);
            fprintf(p->f, "c s.\n\\fIRecord %lld\\fP\n", (long long)p->printed);
        }
        if (p->o->border >= 1) fputs("_\n", p->f);
        if (!tuples) fputs(p->o->border == 1 ? ".T&\nc | l.\n" : ".T&\nc l.\n", p->f);
        for (int64_t i = 0; i < p->n; i++) {
            troff_text(p->f, name_of(p, i));
            fputc('\t', p->f);
            troff_text(p->f, null_plain(p, cell_text(p, i)));
            fputc('\n', p->f);
        }
    }
    troff_end(p, p->rows->n_footers > 0 && !tuples);
}

void print_troff(Printer *p) {
    FILE *f = p->f;
    const char *title = title_of(p);
    fputs(".LP\n", f);
    if (title) {
        fputs(".DS C\n", f);
        troff_text(f, title);
        fputs("\n.DE\n.LP\n", f);
    }
    fputs(p->o->border >= 2 ? ".TS\ncenter box;\n" : ".TS\ncenter;\n", f);
    if (p->o->expanded == EXPANDED_ON) {
        troff_records(p);
        return;
    }
    for (int64_t i = 0; i < p->n; i++)
        fprintf(f, "%s%c", i ? p->o->border > 0 ? " | " : " " : "", is_right(p, i) ? 'r' : 'l');
    fputs(".\n", f);
    for (int64_t i = 0; i < p->n && !p->o->tuples_only; i++) {
        fputs(i ? "\t\\fI" : "\\fI", f);
        troff_text(f, name_of(p, i));
        fputs(i == p->n - 1 ? "\\fP\n_\n" : "\\fP", f);
    }
    while (next_row(p))
        for (int64_t i = 0; i < p->n; i++) {
            troff_text(f, null_plain(p, cell_text(p, i)));
            fputc(i == p->n - 1 ? '\n' : '\t', f);
        }
    troff_end(p, has_footers(p));
}
