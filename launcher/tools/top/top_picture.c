/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const help[] = {
    "q          quit",
    "up, down   move; also PgUp, PgDn, Home, End; left and right show what is cut off",
    "s or >, <  sort by the next or the last column: rank, cpu, mem, calls, bytes, wait",
    "r          turn the order round",
    "space      fold or unfold the row: a job, a host's ranks, or all hosts at their title",
    "f          fold or unfold the ranks of all hosts, a line for each host of each job",
    "H          hide or show the hosts",
    "k          end the job, as mlaunch kill does; asks first",
    "Ctrl-L     write the terminal anew",
    "",
    "%CPU   of one processor, of a host of all      MEM   resident memory",
    "CALLS/s, shm> tcp< …   calls of mlaunch's library; bytes a second sent > and received <",
    "WAIT%  of the time, a call had nothing to do but to wait for other ranks",
    "SENT/s, RECV/s, ERRORS   of the host's RDMA ports; errors since mlaunch top was started",
    "",
    "any key goes back",
};
enum { HELP_LINES = sizeof(help) / sizeof(*help), FRAME = 2 /* the first and the last line */ };

int top_picture_resize(struct top_picture *p, size_t height, struct fault *why)
{
    struct top_picture_line *lines = calloc(height + 1, sizeof(*lines));

    if (!lines)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    free(p->lines);
    p->lines = lines;
    p->height = height;
    return 0;
}

void top_picture_clear(struct top_picture *p)
{
    free(p->lines);
    *p = (struct top_picture){0};
}

size_t top_picture_page(size_t height)
{
    return height > FRAME ? height - FRAME : 1;
}

/* Cuts the columns that are off to the left. */
static void text_shift(char *text, size_t columns)
{
    const char *from = text;

    while (columns > 0 && *from) {
        from++;
        if ((*from & 0xc0) != 0x80)
            columns--;
    }
    memmove(text, from, strlen(from) + 1);
}

static enum top_style style_of(const struct top_row *row)
{
    switch (row->kind) {
    case TOP_ROW_HOSTS:
    case TOP_ROW_RANKS:
        return TOP_STYLE_TITLE;
    case TOP_ROW_JOB:
        return TOP_STYLE_JOB;
    case TOP_ROW_TEXT:
        return TOP_STYLE_BAD;
    case TOP_ROW_HOST:
        return row->host->said || !row->host->error[0] ? TOP_STYLE_PLAIN : TOP_STYLE_BAD;
    default:
        return TOP_STYLE_PLAIN;
    }
}

static void body_draw(struct top_picture *p, const struct top_view *v, const struct top_rows *rows,
                      const struct top_moment *m)
{
    size_t page = top_picture_page(p->height), titles = 0;
    struct top_widths widths;

    top_widths_find(&widths, rows);
    for (size_t i = 0; i < rows->count && i < v->first + page; i++) {
        struct top_picture_line *line;
        size_t shown = i;

        if (rows->rows[i].kind == TOP_ROW_RANKS)
            titles = i;
        if (i < v->first)
            continue;
        if (i == v->first && titles < i && titles > 0) /* the titles stay in sight */
            shown = titles;
        line = &p->lines[1 + i - v->first];
        top_text_row(line->text, &rows->rows[shown], &widths, m);
        text_shift(line->text, v->left);
        line->style = shown == v->cursor ? TOP_STYLE_CURSOR : style_of(&rows->rows[shown]);
    }
}

static void help_draw(struct top_picture *p)
{
    for (size_t i = 0; i < HELP_LINES && i < top_picture_page(p->height); i++)
        snprintf(p->lines[i + 1].text, TOP_TEXT, "%s", help[i]);
}

static void foot_draw(struct top_picture_line *line, const struct top_view *v)
{
    line->style = TOP_STYLE_HEAD;
    if (v->mode == TOP_MODE_KILL)
        snprintf(line->text, TOP_TEXT, "end job %s on all its hosts? y or n", v->kill);
    else if (v->message[0])
        snprintf(line->text, TOP_TEXT, "%s", v->message);
    else
        snprintf(line->text, TOP_TEXT,
                 "q quit  s sort by: %s%s  r reverse  space fold  f fold all  k kill  h help",
                 top_column_names[v->choice.column], v->choice.is_reversed ? ", reversed" : "");
}

void top_picture_draw(struct top_picture *p, const struct top_view *v, const struct top_rows *rows,
                      const struct top_moment *m)
{
    memset(p->lines, 0, p->height * sizeof(*p->lines));
    if (p->height == 0)
        return;
    top_text_head(p->lines[0].text, rows, m);
    p->lines[0].style = TOP_STYLE_HEAD;
    if (p->height < FRAME + 1)
        return;
    if (v->mode == TOP_MODE_HELP)
        help_draw(p);
    else
        body_draw(p, v, rows, m);
    foot_draw(&p->lines[p->height - 1], v);
}
