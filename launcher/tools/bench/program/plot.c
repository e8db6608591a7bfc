/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/program/plot.h"

#include "launcher/base/text/result_file.h"
#include "launcher/base/text/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 460, LEFT = 70, RIGHT = 690, TOP = 80, BOTTOM = 400 };
enum { LABELS = 9 /* along an axis, at most */ };
enum { HOSTS_TEXT = 30, ALGORITHM_TEXT = 20 /* characters of the title, about */ };

/* The axes: log2 of sizes, log10 of times, and bandwidths from 0. */
struct plot {
    FILE *file;
    double first, last;     /* log2 of bytes */
    double lowest, highest; /* whole numbers: log10 of us */
    double most;            /* GB/s; 0: none to draw */
};

/* log2(), exp2() and pow() would need glibc 2.29, log10(), frexp() and ldexp() any. This one is
 * exact for powers of two. */
static double log2_of(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);

    return exponent - 1 + log10(2 * mantissa) / log10(2);
}

static double power_of_ten(int exponent)
{
    double power = 1;

    for (int i = 0; i < abs(exponent); i++)
        power *= 10;
    return exponent < 0 ? 1 / power : power;
}

static double x_of(const struct plot *p, double bytes)
{
    return LEFT + (log2_of(bytes) - p->first) / (p->last - p->first) * (RIGHT - LEFT);
}

static double y_of(const struct plot *p, double us)
{
    return BOTTOM - (log10(us) - p->lowest) / (p->highest - p->lowest) * (BOTTOM - TOP);
}

static double bandwidth_y_of(const struct plot *p, double gbps)
{
    return BOTTOM - gbps / p->most * (BOTTOM - TOP);
}

static bool is_drawn(const struct bench_result *r)
{
    return r->bytes > 0 && r->min_us > 0;
}

/* Sets the ends of the axes. False: there is nothing to draw. */
static bool axes_set(struct plot *p, const struct bench_result *all, int count)
{
    bool has_any = false;

    *p = (struct plot){.first = 64, .lowest = 20, .highest = -20};
    for (int i = 0; i < count; i++) {
        if (!is_drawn(&all[i]))
            continue;
        has_any = true;
        p->first = fmin(p->first, floor(log2_of((double)all[i].bytes)));
        p->last = fmax(p->last, ceil(log2_of((double)all[i].bytes)));
        p->lowest = fmin(p->lowest, floor(log10(all[i].min_us)));
        p->highest = fmax(p->highest, ceil(log10(all[i].p99_us)));
        p->most = fmax(p->most, all[i].bus_gbps);
    }
    if (p->last <= p->first)
        p->last = p->first + 1;
    if (p->highest <= p->lowest)
        p->highest = p->lowest + 1;
    if (p->most > 0) { /* up to a round number */
        double unit = power_of_ten((int)floor(log10(p->most)));

        p->most = ceil(p->most / unit) * unit;
    }
    return has_any;
}

/* --- axes ------------------------------------------------------------------------------------- */

static void text_draw(const struct plot *p, double x, double y, const char *anchor,
                      const char *words)
{
    fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
            words);
}

static void line_draw(const struct plot *p, double x1, double y1, double x2, double y2)
{
    fprintf(p->file, "<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x1, y1, x2, y2);
}

static void sizes_draw(const struct plot *p)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    int step = ((int)(p->last - p->first) + LABELS - 1) / LABELS;

    for (int power = (int)p->first; power <= (int)p->last; power += step) {
        double x = x_of(p, ldexp(1, power));
        char words[32];

        snprintf(words, sizeof(words), "%d%s", 1 << power % 10, units[power / 10]);
        line_draw(p, x, TOP, x, BOTTOM);
        text_draw(p, x, BOTTOM + 20, "middle", words);
    }
    text_draw(p, (LEFT + RIGHT) / 2.0, BOTTOM + 44, "middle", "bytes");
}

static void times_draw(const struct plot *p)
{
    for (int power = (int)p->lowest; power <= (int)p->highest; power++) {
        double y = y_of(p, power_of_ten(power));
        char words[32];

        snprintf(words, sizeof(words), "%g", power_of_ten(power));
        line_draw(p, LEFT, y, RIGHT, y);
        text_draw(p, LEFT - 8, y + 4, "end", words);
    }
    text_draw(p, LEFT - 8, TOP - 14, "end", "us");
}

static void bandwidths_draw(const struct plot *p)
{
    for (int i = 0; i <= 4 && p->most > 0; i++) {
        char words[32];

        snprintf(words, sizeof(words), "%.3g", p->most * i / 4);
        text_draw(p, RIGHT + 8, bandwidth_y_of(p, p->most * i / 4) + 4, "start", words);
    }
    if (p->most > 0)
        text_draw(p, RIGHT + 8, TOP - 14, "start", "GB/s");
}

/* --- curves ----------------------------------------------------------------------------------- */

/* Draws the area between the 99th percentiles and the least times. */
static void span_draw(const struct plot *p, const struct bench_result *all, int count)
{
    fputs("<path class=\"span\" d=\"", p->file);
    for (int i = 0, points = 0; i < count; i++) {
        if (is_drawn(&all[i]))
            fprintf(p->file, "%c%.1f %.1f", points++ ? 'L' : 'M', x_of(p, (double)all[i].bytes),
                    y_of(p, all[i].p99_us));
    }
    for (int i = count - 1; i >= 0; i--) {
        if (is_drawn(&all[i]))
            fprintf(p->file, "L%.1f %.1f", x_of(p, (double)all[i].bytes), y_of(p, all[i].min_us));
    }
    fputs("Z\"/>\n", p->file);
}

static void curve_draw(const struct plot *p, const char *name, const struct bench_result *all,
                       int count, bool is_time)
{
    fprintf(p->file, "<path class=\"%s\" d=\"", name);
    for (int i = 0, points = 0; i < count; i++) {
        double y;

        if (!is_drawn(&all[i]))
            continue;
        y = is_time ? y_of(p, all[i].median_us) : bandwidth_y_of(p, all[i].bus_gbps);
        fprintf(p->file, "%c%.1f %.1f", points++ ? 'L' : 'M', x_of(p, (double)all[i].bytes), y);
    }
    fputs("\"/>\n", p->file);
    for (int i = 0; i < count; i++)
        if (is_drawn(&all[i]))
            fprintf(p->file, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", name,
                    x_of(p, (double)all[i].bytes),
                    is_time ? y_of(p, all[i].median_us) : bandwidth_y_of(p, all[i].bus_gbps));
}

/* --- all -------------------------------------------------------------------------------------- */

/* The second line of the title: with what was measured. */
static void setup_draw(const struct plot *p, const struct bench_setup *s)
{
    char *hosts = bench_setup_hosts_text(s, HOSTS_TEXT);

    fprintf(p->file,
            "<text x=\"%d\" y=\"44\" text-anchor=\"middle\" style=\"font-size:11px\">%s%s%s, ",
            WIDTH / 2, s->backend, s->local_net ? ", local net" : "", s->secure ? ", secure" : "");
    svg_text(p->file, hosts ? hosts : "");
    fprintf(p->file, ", memory %s, algorithm ", s->memory);
    svg_text(p->file, strlen(s->algorithm) > ALGORITHM_TEXT ? "by MLAUNCH_ALGO" : s->algorithm);
    fprintf(p->file, ", %.10s</text>\n", s->date);
    free(hosts);
}

static void picture_draw(const struct plot *p, const struct bench_options *o,
                         const struct bench_setup *s, const struct bench_result *all, int count)
{
    fprintf(p->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:13px sans-serif;fill:#333}path{fill:none}.grid{stroke:#ddd}"
            ".span{fill:#1f77b4;opacity:.2}.time{stroke:#1f77b4;stroke-width:2}"
            ".bandwidth{stroke:#d95f02;stroke-width:2}circle.time{fill:#1f77b4}"
            "circle.bandwidth{fill:#d95f02}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(p->file, "<text x=\"%d\" y=\"24\" text-anchor=\"middle\">%s, %d %s", WIDTH / 2,
            bench_options_kind_name(o->kind), s->ranks, s->ranks == 1 ? "rank" : "ranks");
    if (bench_options_kind_reduces(o->kind))
        fprintf(p->file, ", %s of %s", bench_options_op_name(o->op),
                bench_options_type_name(o->type));
    fprintf(p->file,
            ": <tspan fill=\"#1f77b4\">median time, least to 99th percentile</tspan>%s</text>\n",
            p->most > 0 ? "; <tspan fill=\"#d95f02\">bus bandwidth</tspan>" : "");
    setup_draw(p, s);
    sizes_draw(p);
    times_draw(p);
    bandwidths_draw(p);
    span_draw(p, all, count);
    curve_draw(p, "time", all, count, true);
    if (p->most > 0)
        curve_draw(p, "bandwidth", all, count, false);
    fputs("</svg>\n", p->file);
}

int plot_write(const char *path, const struct bench_options *o, const struct bench_setup *s,
               const struct bench_result *all, int count, struct fault *why)
{
    struct result_file f;
    struct plot p;
    int rc;

    if (!axes_set(&p, all, count))
        return fault_set(why, ML_ERR_ARGUMENT, "--plot: no size above 0 was measured");
    rc = result_file_open(&f, "--plot", path, why);
    if (rc)
        return rc;
    p.file = f.file;
    picture_draw(&p, o, s, all, count);
    return result_file_close(&f, why);
}
