/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCROLL = 8 };

static bool is_choosable(const struct top_row *row)
{
    return row->kind != TOP_ROW_BLANK && row->kind != TOP_ROW_RANKS;
}

/* What makes a row the same in the next view. */
static void place_write(char *out, size_t size, const struct top_row *row)
{
    const char *job = row->whole ? row->whole->first->id : "";

    if (row->kind == TOP_ROW_TEXT) /* the same wait has other words soon */
        snprintf(out, size, "job %s", job);
    else if (row->kind == TOP_ROW_RANK)
        snprintf(out, size, "rank %lld of %s", row->rank->rank, job);
    else if (row->kind == TOP_ROW_HOSTS)
        snprintf(out, size, "hosts");
    else
        snprintf(out, size, "%s %s%s%.200s", row->kind == TOP_ROW_JOB ? "job" : "host", job,
                 *job && row->host ? " on " : "", row->host ? row->host->name : "");
}

static void cursor_set(struct top_view *v, const struct top_rows *rows, size_t row, size_t page)
{
    v->cursor = row;
    if (row < rows->count)
        place_write(v->place, sizeof(v->place), &rows->rows[row]);
    if (v->cursor < v->first)
        v->first = v->cursor;
    if (page && v->cursor >= v->first + page)
        v->first = v->cursor - page + 1;
    if (v->first + page > rows->count) /* no empty lines while rows are off */
        v->first = rows->count > page ? rows->count - page : 0;
    if (v->cursor <= 1 && v->first <= 1)
        v->first = 0;
}

void top_view_settle(struct top_view *v, const struct top_rows *rows, size_t page)
{
    size_t found = SIZE_MAX, first_job = SIZE_MAX;
    char place[sizeof(v->place)];

    for (size_t i = 0; i < rows->count; i++) {
        if (!is_choosable(&rows->rows[i]))
            continue;
        place_write(place, sizeof(place), &rows->rows[i]);
        if (*v->place && found == SIZE_MAX && strcmp(place, v->place) == 0)
            found = i;
        if (rows->rows[i].kind == TOP_ROW_JOB && first_job == SIZE_MAX)
            first_job = i;
    }
    if (found != SIZE_MAX) {
        cursor_set(v, rows, found, page);
        return;
    }
    /* What it was on has gone. Before the first key it waits for a job to appear. */
    if (!*v->place) {
        cursor_set(v, rows, first_job == SIZE_MAX ? 0 : first_job, page);
        if (first_job == SIZE_MAX)
            v->place[0] = '\0';
        return;
    }
    found = v->cursor < rows->count ? v->cursor : rows->count ? rows->count - 1 : 0;
    while (found > 0 && !is_choosable(&rows->rows[found]))
        found--;
    cursor_set(v, rows, found, page);
}

static void cursor_move(struct top_view *v, const struct top_rows *rows, long by, size_t page)
{
    long at = (long)v->cursor, last = (long)rows->count - 1;
    long target = at + by < 0 ? 0 : at + by > last ? last : at + by;
    long step = by < 0 ? -1 : 1;

    while (target >= 0 && target <= last && !is_choosable(&rows->rows[target]))
        target += step;
    if (target >= 0 && target <= last)
        cursor_set(v, rows, (size_t)target, page);
}

static void fold_switch(struct string_list *folded, const char *name)
{
    for (size_t i = 0; i < folded->count; i++) {
        if (strcmp(folded->items[i], name) != 0)
            continue;
        free(folded->items[i]);
        folded->items[i] = folded->items[--folded->count];
        folded->items[folded->count] = NULL;
        return;
    }
    string_list_add(folded, name, NULL);
}

/* The cursor of a rank stays on what its host has become, and the other way. */
static enum top_action row_fold(struct top_view *v, const struct top_rows *rows)
{
    const struct top_row *row = v->cursor < rows->count ? &rows->rows[v->cursor] : NULL;

    if (!row)
        return TOP_DRAW;
    switch (row->kind) {
    case TOP_ROW_HOSTS:
        v->choice.hides_hosts = !v->choice.hides_hosts;
        break;
    case TOP_ROW_JOB:
    case TOP_ROW_TEXT:
        fold_switch(&v->choice.folded_jobs, row->whole->first->id);
        break;
    case TOP_ROW_RANK:
        snprintf(v->place, sizeof(v->place), "host %s on %.200s", row->whole->first->id,
                 row->host->name);
        fold_switch(&v->choice.folded_hosts, row->host->name);
        break;
    case TOP_ROW_PART:
        snprintf(v->place, sizeof(v->place), "rank %lld of %s", row->rank->rank,
                 row->whole->first->id);
        fold_switch(&v->choice.folded_hosts, row->host->name);
        break;
    case TOP_ROW_HOST:
        fold_switch(&v->choice.folded_hosts, row->host->name);
        break;
    default:
        break;
    }
    return TOP_FOLD;
}

/* Folds the ranks of all hosts, or unfolds them if all are. */
static enum top_action all_fold(struct top_view *v, const struct top_rows *rows)
{
    bool are_folded = true;

    for (size_t i = 0; i < rows->count; i++)
        are_folded = are_folded && rows->rows[i].kind != TOP_ROW_RANK;
    string_list_clear(&v->choice.folded_hosts);
    for (size_t i = 0; i < rows->whole_count && !are_folded; i++) {
        for (size_t k = 0; k < rows->wholes[i].part_count; k++) {
            const char *name = rows->wholes[i].hosts[k]->name;

            if (!strings_has(v->choice.folded_hosts.items, name))
                string_list_add(&v->choice.folded_hosts, name, NULL);
        }
    }
    return TOP_FOLD;
}

static enum top_action column_set(struct top_view *v, int column)
{
    v->choice.column = (enum top_column)((column + TOP_COLUMNS) % TOP_COLUMNS);
    v->choice.is_reversed = false;
    return TOP_FOLD;
}

static enum top_action kill_ask(struct top_view *v, const struct top_rows *rows)
{
    const struct top_row *row = v->cursor < rows->count ? &rows->rows[v->cursor] : NULL;

    if (!row || !row->whole) {
        snprintf(v->message, sizeof(v->message),
                 "move to a job or one of its ranks, then k ends it");
        return TOP_DRAW;
    }
    snprintf(v->kill, sizeof(v->kill), "%s", row->whole->first->id);
    v->mode = TOP_MODE_KILL;
    return TOP_DRAW;
}

static enum top_action key_move(struct top_view *v, int key, const struct top_rows *rows,
                                size_t page)
{
    switch (key) {
    case TOP_KEY_UP:
        cursor_move(v, rows, -1, page);
        break;
    case TOP_KEY_DOWN:
        cursor_move(v, rows, 1, page);
        break;
    case TOP_KEY_PAGE_UP:
        cursor_move(v, rows, -(long)page, page);
        break;
    case TOP_KEY_PAGE_DOWN:
        cursor_move(v, rows, (long)page, page);
        break;
    case TOP_KEY_HOME:
        cursor_move(v, rows, -(long)rows->count, page);
        break;
    case TOP_KEY_END:
        cursor_move(v, rows, (long)rows->count, page);
        break;
    case TOP_KEY_LEFT:
        v->left = v->left > SCROLL ? v->left - SCROLL : 0;
        break;
    case TOP_KEY_RIGHT:
        v->left += SCROLL;
        break;
    default:
        break;
    }
    return TOP_DRAW;
}

static enum top_action key_in_rows(struct top_view *v, int key, const struct top_rows *rows,
                                   size_t page)
{
    switch (key) {
    case 'q':
        return TOP_QUIT;
    case 'h':
    case '?':
        v->mode = TOP_MODE_HELP;
        return TOP_DRAW;
    case 's':
    case '>':
        return column_set(v, (int)v->choice.column + 1);
    case '<':
        return column_set(v, (int)v->choice.column - 1);
    case 'r':
        v->choice.is_reversed = !v->choice.is_reversed;
        return TOP_FOLD;
    case ' ':
    case '\r':
    case '\n':
        return row_fold(v, rows);
    case 'f':
        return all_fold(v, rows);
    case 'H':
        v->choice.hides_hosts = !v->choice.hides_hosts;
        return TOP_FOLD;
    case 'k':
        return kill_ask(v, rows);
    case 'L' - '@': /* Ctrl-L */
        return TOP_REPAINT;
    default:
        return key_move(v, key, rows, page);
    }
}

enum top_action top_view_key(struct top_view *v, int key, const struct top_rows *rows, size_t page)
{
    enum top_mode mode = v->mode;

    v->message[0] = '\0';
    v->mode = TOP_MODE_ROWS;
    if (mode == TOP_MODE_ROWS)
        return key_in_rows(v, key, rows, page);
    if (mode == TOP_MODE_HELP)
        return key == 'q' ? TOP_QUIT : TOP_DRAW;
    return key == 'y' || key == 'Y' ? TOP_KILL : TOP_DRAW; /* any other key is a no */
}
