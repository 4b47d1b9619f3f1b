/* ch_plot.c - the throughput frontier as a picture: calls per second from left to right, queries per second upwards; a
 * line for each number of analysts, one for each number of clients, and the freshness at each point. SVG. */
#include <math.h>
#include <stdio.h>

#include "ch_int.h"

enum { WIDTH = 760, HEIGHT = 520, LEFT = 80, RIGHT = 30, TOP = 30, BOTTOM = 60, TICKS = 5 };
static const char *const colours[] = {"#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b", "#444444"};

typedef struct Plot {
    FILE *f;
    double x, y; /* most */
} Plot;
static double at_x(const Plot *p, double v) { return LEFT + v / p->x * (WIDTH - LEFT - RIGHT); }
static double at_y(const Plot *p, double v) { return HEIGHT - BOTTOM - v / p->y * (HEIGHT - TOP - BOTTOM); }

/* 1, 2 or 5 times a power of ten, not below v. */
static double round_up(double v) {
    if (!(v > 0)) return 1;
    const double ten = pow(10, floor(log10(v)));
    return v <= ten ? ten : v <= 2 * ten ? 2 * ten : v <= 5 * ten ? 5 * ten : 10 * ten;
}
static void axes(const Plot *p) {
    fprintf(p->f, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"black\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
            WIDTH - RIGHT);
    for (int i = 0; i <= TICKS; i++) {
        const double x = p->x * i / TICKS, y = p->y * i / TICKS;
        fprintf(p->f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", at_x(p, x), HEIGHT - BOTTOM + 18,
                x);
        fprintf(p->f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8, at_y(p, y) + 4, y);
    }
    fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">calls per second</text>\n",
            (WIDTH + LEFT - RIGHT) / 2, HEIGHT - 15);
    fprintf(p->f, "<text transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\">queries per second</text>\n",
            (HEIGHT + TOP - BOTTOM) / 2);
}
/* Points with the same number of one side, by that of the other. */
static void line(const Plot *p, const Point *v, int n, int number, bool analysts) {
    int last = -1;
    bool any = false;
    fputs("<polyline points=\"", p->f);
    for (;;) {
        int next = -1;
        for (int i = 0; i < n; i++) {
            const int mine = analysts ? v[i].analysts : v[i].clients, other = analysts ? v[i].clients : v[i].analysts;
            if (mine != number || other <= last) continue;
            if (next < 0 || other < (analysts ? v[next].clients : v[next].analysts)) next = i;
        }
        if (next < 0) break;
        last = analysts ? v[next].clients : v[next].analysts;
        fprintf(p->f, "%s%.1f,%.1f", any ? " " : "", at_x(p, v[next].calls_per_s), at_y(p, v[next].queries_per_s));
        any = true;
    }
    fprintf(p->f, "\" fill=\"none\" stroke=\"%s\"%s/>\n", analysts ? colours[number % 6] : "#999999",
            analysts ? "" : " stroke-dasharray=\"4 3\"");
}
static void mark(const Plot *p, const Point *x) {
    fprintf(p->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", at_x(p, x->calls_per_s),
            at_y(p, x->queries_per_s), colours[x->analysts % 6]);
    fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\">%d + %d", at_x(p, x->calls_per_s) + 6,
            at_y(p, x->queries_per_s) - 5, x->clients, x->analysts);
    if (!isnan(x->fresh_s)) fprintf(p->f, ": %.3g ms", x->fresh_s * 1e3);
    fputs("</text>\n", p->f);
}
bool ch_plot(const char *path, const Point *v, int n) {
    Plot p = {.f = fopen(path, "w")};
    if (!p.f) return false;
    for (int i = 0; i < n; i++) p.x = fmax(p.x, v[i].calls_per_s), p.y = fmax(p.y, v[i].queries_per_s);
    p.x = round_up(p.x);
    p.y = round_up(p.y);
    fprintf(p.f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    fprintf(p.f, "<text x=\"%d\" y=\"18\">clients + analysts: freshness (99 of 100 queries)</text>\n", LEFT);
    axes(&p);
    for (int number = 0; number <= CLIENTS_MOST; number++) {
        bool clients = false, analysts = false;
        for (int i = 0; i < n; i++) clients |= v[i].clients == number, analysts |= v[i].analysts == number;
        if (clients) line(&p, v, n, number, false);
        if (analysts) line(&p, v, n, number, true);
    }
    for (int i = 0; i < n; i++) mark(&p, &v[i]);
    fputs("</svg>\n", p.f);
    return fclose(p.f) == 0;
}
