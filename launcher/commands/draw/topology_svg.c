/* SPDX-License-Identifier: MIT */
#include "launcher/commands/draw/topology_drawing.h"

#include "launcher/base/text/svg.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 90,
    RADIUS_LEAST = 170,
    HOST_ROOM = 130,  /* from the circle's line, for a host */
    HOST_HEIGHT = 34, /* its box's */
    LETTER = 8,       /* about as wide, in a host's name */
    NAME_MOST = 24,   /* letters of a name; the title has all */
    RAIL_GAP = 20,    /* between links of the same two hosts */
    LEGEND = 150,
    LABELS_MOST = 60, /* links; of more, only the titles have the ports' names */
};
enum cable_style { MISSING = TOPOLOGY_CABLE_SILENT + 1, STYLES };

static const char *const classes[STYLES] = {[TOPOLOGY_CABLE_GOOD] = "good",
                                            [TOPOLOGY_CABLE_SLOW] = "slow",
                                            [TOPOLOGY_CABLE_ONE_WAY] = "oneway",
                                            [TOPOLOGY_CABLE_SILENT] = "silent",
                                            [MISSING] = "missing"};
static const char *const meanings[STYLES] = {[TOPOLOGY_CABLE_GOOD] = "a link",
                                             [TOPOLOGY_CABLE_SLOW] =
                                                 "a link that is slower than others",
                                             [TOPOLOGY_CABLE_ONE_WAY] = "one way only",
                                             [TOPOLOGY_CABLE_SILENT] = "nothing comes through",
                                             [MISSING] = "no link between these hosts"};

struct canvas {
    const struct topology_picture *picture;
    FILE *file;
    double radius, middle_x, middle_y;
};

/* Sine and cosine of a part of the circle, by the series: mlaunch does not need libm for these. */
static void circle_point(double part, double *x, double *y)
{
    double angle = 6.283185307179586 * (part > 0.5 ? part - 1 : part), term = 1;

    *x = *y = 0;
    for (int n = 0; n < 32; n++) {
        double *sum = n % 2 ? y : x;

        *sum += n % 4 < 2 ? term : -term;
        term *= angle / (n + 1);
    }
}

/* The first host is at the top, the others follow clockwise. */
static void host_place(const struct canvas *c, int host, double *x, double *y)
{
    double up, right;

    circle_point((double)host / c->picture->count, &up, &right);
    *x = c->middle_x + c->radius * right;
    *y = c->middle_y - c->radius * up;
}

static double root(double square)
{
    double r = square > 1 ? square : 1;

    for (int i = 0; i < 60; i++)
        r = (r + square / r) / 2;
    return r;
}

/* --- links ------------------------------------------------------------------------------------ */

static bool is_between(const struct topology_cable *l, int i, int j)
{
    return (l->from == i && l->to == j) || (l->from == j && l->to == i);
}

/* Which of the links of its two hosts link k is, and how many these are. */
static int rail_of(const struct topology_picture *p, size_t k, int *count)
{
    int at = 0;

    *count = 0;
    for (size_t i = 0; i < p->cable_count; i++) {
        if (!is_between(&p->cables[i], p->cables[k].from, p->cables[k].to))
            continue;
        at = i == k ? *count : at;
        ++*count;
    }
    return at;
}

/* The ends of a line between two hosts, which is aside by `offset` of the line between them. */
static void line_place(const struct canvas *c, int from, int to, double offset, double out[4])
{
    double dx, dy, length;
    int low = from < to ? from : to, high = from < to ? to : from;

    host_place(c, low, &out[0], &out[1]);
    host_place(c, high, &out[2], &out[3]);
    dx = out[2] - out[0];
    dy = out[3] - out[1];
    length = root(dx * dx + dy * dy);
    for (int i = 0; i < 4; i++)
        out[i] += offset * (i % 2 ? dx : -dy) / length;
    if (low == to)
        for (int i = 0; i < 2; i++) {
            double first = out[i];

            out[i] = out[i + 2];
            out[i + 2] = first;
        }
}

static void label_draw(const struct canvas *c, const double line[4], double at, const char *text)
{
    fprintf(c->file, "<text class=\"port\" x=\"%.1f\" y=\"%.1f\">",
            line[0] + (line[2] - line[0]) * at, line[1] + (line[3] - line[1]) * at - 3);
    svg_text(c->file, text);
    fputs("</text>\n", c->file);
}

static void cable_draw(const struct canvas *c, size_t k)
{
    const struct topology_picture *p = c->picture;
    const struct topology_cable *l = &p->cables[k];
    int count, rail = rail_of(p, k, &count);
    double line[4], aside = rail % 2 ? 0.4 : 0.27; /* where labels are, so that neighbours' are
                                                    * apart */

    line_place(c, l->from, l->to, (rail - (count - 1) / 2.0) * RAIL_GAP, line);
    fprintf(c->file, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"%s><title>", classes[l->state],
            line[0], line[1], line[2], line[3],
            l->state == TOPOLOGY_CABLE_ONE_WAY ? " marker-mid=\"url(#arrow)\"" : "");
    svg_text(c->file, p->names[l->from]);
    fputc(' ', c->file);
    svg_text(c->file, l->from_port);
    fputs(l->state == TOPOLOGY_CABLE_ONE_WAY ? " to " : " and ", c->file);
    svg_text(c->file, p->names[l->to]);
    fputc(' ', c->file);
    svg_text(c->file, l->to_port);
    if (l->gigabits > 0)
        fprintf(c->file, ", %g Gb/s", l->gigabits);
    fprintf(c->file, ": %s</title></path>\n", meanings[l->state]);
    if (l->state == TOPOLOGY_CABLE_ONE_WAY) /* a marker in the middle needs a point there */
        fprintf(c->file,
                "<path class=\"oneway\" d=\"M%.1f %.1fL%.1f %.1f\" marker-end=\"url(#arrow)\"/>\n",
                line[0], line[1], (line[0] + line[2]) / 2, (line[1] + line[3]) / 2);
    if (p->cable_count > LABELS_MOST)
        return;
    label_draw(c, line, aside, l->from_port);
    label_draw(c, line, 1 - aside, l->to_port);
    if (l->state == TOPOLOGY_CABLE_SLOW) {
        char rate[32];

        snprintf(rate, sizeof(rate), "%g Gb/s", l->gigabits);
        label_draw(c, line, 0.5, rate);
    }
}

/* A pair that nothing joins, not even a link that does not work, which is drawn by itself. */
static void missing_draw(const struct canvas *c, int i, int j)
{
    const struct topology_picture *p = c->picture;
    double line[4];

    for (size_t k = 0; k < p->cable_count; k++)
        if (is_between(&p->cables[k], i, j))
            return;
    line_place(c, i, j, 0, line);
    fprintf(c->file, "<path class=\"missing\" d=\"M%.1f %.1fL%.1f %.1f\"><title>", line[0], line[1],
            line[2], line[3]);
    svg_text(c->file, p->names[i]);
    fputs(" and ", c->file);
    svg_text(c->file, p->names[j]);
    fprintf(c->file, ": %s</title></path>\n", meanings[MISSING]);
}

/* --- hosts and all ---------------------------------------------------------------------------- */

static void host_draw(const struct canvas *c, int host)
{
    const char *name = c->picture->names[host];
    char shown[NAME_MOST + 4];
    double x, y;
    size_t length;
    int width;

    snprintf(shown, sizeof(shown), strlen(name) > NAME_MOST ? "%.*s..." : "%.*s", NAME_MOST, name);
    length = strlen(shown);
    width = (int)(length < 6 ? 6 : length) * LETTER + 20;
    host_place(c, host, &x, &y);
    fprintf(c->file, "<g><title>");
    svg_text(c->file, name);
    fprintf(c->file,
            "</title><rect class=\"host\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
            "rx=\"6\"/><text class=\"host\" x=\"%.1f\" y=\"%.1f\">",
            x - width / 2.0, y - HOST_HEIGHT / 2.0, width, HOST_HEIGHT, x, y + 5);
    svg_text(c->file, shown);
    fputs("</text></g>\n", c->file);
}

static void legend_draw(const struct canvas *c, int top)
{
    for (int style = 0; style < STYLES; style++) {
        int y = top + style * 22;

        fprintf(c->file,
                "<path class=\"%s\" d=\"M20 %dL80 %d\"%s/><text x=\"92\" y=\"%d\">%s</text>\n",
                classes[style], y, y,
                style == TOPOLOGY_CABLE_ONE_WAY ? " marker-end=\"url(#arrow)\"" : "", y + 4,
                meanings[style]);
    }
}

void topology_svg_draw(const struct topology_picture *p, FILE *to)
{
    struct canvas c = {.picture = p, .file = to, .radius = p->count * HOST_ROOM / 6.283};
    int side;

    if (c.radius < RADIUS_LEAST)
        c.radius = RADIUS_LEAST;
    side = (int)(2 * c.radius) + 2 * MARGIN;
    c.middle_x = c.middle_y = side / 2.0;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:13px sans-serif;fill:#333}.port{font-size:10px;text-anchor:middle;"
            "paint-order:stroke;stroke:#fff;stroke-width:3}text.host{text-anchor:middle}"
            "rect.host{fill:#f4f4f4;stroke:#555}path{fill:none}.good{stroke:#1f77b4;stroke-width:3}"
            ".slow{stroke:#d95f02;stroke-width:1.2}.oneway{stroke:#7b3fa0;stroke-width:2;"
            "stroke-dasharray:9 4}.silent{stroke:#cc2222;stroke-width:2;stroke-dasharray:2 4}"
            ".missing{stroke:#888;stroke-dasharray:2 7}</style>\n"
            "<defs><marker id=\"arrow\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" "
            "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path style=\"fill:#7b3fa0\" "
            "d=\"M0 0L8 4L0 8Z\"/></marker></defs>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            side, side + LEGEND, side, side + LEGEND);
    for (int i = 0; i < p->count; i++)
        for (int j = i + 1; j < p->count; j++)
            missing_draw(&c, i, j);
    for (size_t k = 0; k < p->cable_count; k++)
        cable_draw(&c, k);
    for (int i = 0; i < p->count; i++)
        host_draw(&c, i);
    legend_draw(&c, side + 20);
    fputs("</svg>\n", to);
}
