/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_report.h"

#include "launcher/base/text/result_file.h"
#include "launcher/base/text/svg.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LEFT = 150,
    TOP = 120,
    GAP = 90,
    BIG = 64,   /* a cell with its number */
    SMALL = 14, /* without: then its title has it */
    NUMBERS_MOST = 16,
    KEY = 60,     /* the legend's height */
    LEGEND = 150, /* a mark and its words */
    WIDTH_LEAST = 16 + LEGEND * PAIR_GRADES,
};

static const char *const fills[PAIR_GRADES] = {"#8fcf87", "#c3dc7c", "#f3d35e", "#f09a59",
                                               "#e0635c"};

static int cell_size(const struct pair_result *r)
{
    return r->end_count <= NUMBERS_MOST ? BIG : SMALL;
}

static void cell_draw(FILE *to, const struct pair_result *r, int from, int to_end, bool is_latency,
                      double best, int top)
{
    int size = cell_size(r), x = LEFT + to_end * size, y = top + from * size;
    double value;
    bool is_known = pair_result_cell(r, from, to_end, is_latency, &value);
    int grade = is_known ? pair_result_grade(value, best, is_latency) : 0;

    fprintf(to,
            "<g><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#fff\"/>",
            x, y, size, size, is_known ? fills[grade] : "#eee");
    fputs("<title>", to);
    svg_text(to, r->ends[from].name);
    fputs(is_latency ? " and " : " to ", to);
    svg_text(to, r->ends[to_end].name);
    if (is_known)
        fprintf(to, ": %.3g %s", value, is_latency ? "us" : "GB/s");
    fputs("</title>", to);
    if (is_known && size == BIG)
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.3g</text>", x + size / 2,
                y + size / 2 + 4, value);
    fputs("</g>\n", to);
}

static void names_draw(FILE *to, const struct pair_result *r, int top)
{
    int size = cell_size(r);

    for (int i = 0; i < r->end_count; i++) {
        int middle = i * size + size / 2 + 4;

        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8, top + middle);
        svg_text(to, r->ends[i].name);
        fprintf(to, "</text>\n<text transform=\"translate(%d %d) rotate(-40)\">", LEFT + middle,
                top - 8);
        svg_text(to, r->ends[i].name);
        fputs("</text>\n", to);
    }
}

static void matrix_draw(FILE *to, const struct pair_result *r, bool is_latency, int top)
{
    double best = 0;
    bool has_any = pair_result_best(r, is_latency, &best);

    fprintf(to, "<text x=\"%d\" y=\"%d\" class=\"title\">%s of %zu bytes%s</text>\n", 16, top - 74,
            is_latency ? "Typical latency in us" : "Bandwidth in GB/s",
            pair_result_cell_bytes(r, is_latency),
            is_latency ? "" : ", from the row's to the column's");
    names_draw(to, r, top);
    for (int i = 0; i < r->end_count; i++)
        for (int j = 0; j < r->end_count; j++)
            if (has_any)
                cell_draw(to, r, i, j, is_latency, best, top);
}

static void legend_draw(FILE *to, int top)
{
    for (int i = 0; i < PAIR_GRADES; i++)
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"%d\">%s</text>\n",
                16 + LEGEND * i, top, fills[i], 36 + LEGEND * i, top + 12,
                pair_result_grade_words(i));
}

static void picture_draw(FILE *to, const struct pair_result *r)
{
    int side = r->end_count * cell_size(r), width = LEFT + side + GAP;
    int second = TOP + side + GAP + 20, height = second + side + KEY;
    char *hosts = bench_setup_hosts_text(&r->setup, 60);

    if (width < WIDTH_LEAST)
        width = WIDTH_LEAST;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n<style>text{font:12px sans-serif;fill:#333}"
            ".title{font-size:14px}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"16\" y=\"22\">mlaunch bench link, %s: ",
            width, height, width, height, r->setup.backend);
    svg_text(to, hosts ? hosts : "");
    fprintf(to, ", %.10s</text>\n", r->setup.date);
    free(hosts);
    matrix_draw(to, r, true, TOP);
    matrix_draw(to, r, false, second);
    legend_draw(to, second + side + 24);
    fputs("</svg>\n", to);
}

int pair_picture_write(const char *path, const struct pair_result *r, struct fault *why)
{
    struct result_file f;
    int rc = result_file_open(&f, "--svg", path, why);

    if (rc)
        return rc;
    picture_draw(f.file, r);
    return result_file_close(&f, why);
}
