/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_text.h"

#include "common/text/printable.h"
#include "launcher/base/text/amount.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 24, CORES_MOST = 24, LEAD_LEAST = 26, LEAD_MOST = 60, SLOW_S = 3 };

/* --- cells ------------------------------------------------------------------------------------ */

struct top_line {
    char *out;
    size_t size;
};

/* Characters, not bytes. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

/* Adds text in `width` columns, to the right of them if `width` is negative; 0: as it is. */
__attribute__((format(printf, 3, 4))) static void cell(struct top_line *l, int width,
                                                       const char *format, ...)
{
    int wide = width < 0 ? -width : width, pad;
    char text[TOP_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printable_mend(text, ""); /* even what was cut */
    pad = wide - width_of(text);
    pad = pad > 0 ? pad : 0;
    if (l->size < TOP_TEXT)
        l->size +=
            (size_t)snprintf(l->out + l->size, TOP_TEXT - l->size, "%s%*s%s%*s", l->size ? " " : "",
                             width < 0 ? pad : 0, "", text, width > 0 ? pad : 0, "");
}

static void line_end(struct top_line *l)
{
    printable_mend(l->out, "");
    for (size_t n = strlen(l->out); n > 0 && l->out[n - 1] == ' '; n--)
        l->out[n - 1] = '\0';
}

/* "0", "950", "1.2k", "34M": a thousand is 1,000 here. */
static void count_cell(struct top_line *l, int width, double count)
{
    static const char units[] = " kMGTPE";
    unsigned unit = 0;

    if (isnan(count)) {
        cell(l, width, "-");
        return;
    }
    while (count >= 999.5 && unit < sizeof(units) - 2) {
        count /= 1000;
        unit++;
    }
    if (unit == 0)
        cell(l, width, count > 0 && count < 9.95 ? "%.1f" : "%.0f", count);
    else
        cell(l, width, count < 9.95 ? "%.1f%c" : "%.0f%c", count, units[unit]);
}

static void memory_cell(struct top_line *l, int width, double bytes)
{
    char text[AMOUNT];

    cell(l, width, "%s", isnan(bytes) ? "-" : amount_size(text, bytes));
}

static void percent_cell(struct top_line *l, int width, double part)
{
    if (isnan(part))
        cell(l, width, "-");
    else
        cell(l, width, "%.0f", part * 100);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static void hosts_title(struct top_line *l, const struct top_widths *w, const struct top_moment *m)
{
    cell(l, w->host, m->choice->hides_hosts ? "+ HOSTS" : "HOST");
    cell(l, -5, "%%CPU");
    cell(l, -6, "LOAD");
    cell(l, -5, "CORES");
    cell(l, -5, "MEM");
    cell(l, -5, "OF");
    cell(l, -5, "PORTS");
    cell(l, -6, "SENT/s");
    cell(l, -6, "RECV/s");
    cell(l, -6, "ERRORS");
    cell(l, -5, "RANKS");
}

static void host_line(struct top_line *l, const struct top_host *h, const struct top_widths *w,
                      const struct top_moment *m)
{
    long long late_s = (long long)((m->now_ns - h->said_ns) / 1000000000);
    double cpu = h->rates[TOP_HOST_CPU] / (h->cores >= 1 ? h->cores : 1);
    char ports[32] = "-";
    int ranks = 0;

    cell(l, w->host, "%.*s", NAME_MOST * 4, h->name);
    if (!h->said) {
        cell(l, 0, "%s", h->error[0] ? h->error : "is being asked");
        return;
    }
    for (size_t i = 0; i < h->job_count; i++)
        for (size_t k = 0; k < h->jobs[i].rank_count; k++)
            ranks += h->jobs[i].ranks[k].is_alive;
    if (h->ports)
        snprintf(ports, sizeof(ports), "%d/%d", h->ports_active, h->ports);
    /* The times of the processors and of the two answers are not read at one moment. */
    percent_cell(l, -5, cpu > 1 ? 1 : cpu);
    cell(l, -6, isnan(h->load) ? "-" : "%.2f", h->load);
    cell(l, -5, isnan(h->cores) ? "-" : "%.0f", h->cores);
    memory_cell(l, -5, h->memory - h->available);
    memory_cell(l, -5, h->memory);
    cell(l, -5, "%s", ports);
    count_cell(l, -6, h->rates[TOP_HOST_SENT]);
    count_cell(l, -6, h->rates[TOP_HOST_RECEIVED]);
    count_cell(l, -6, h->errors);
    cell(l, -5, "%d", ranks);
    if (late_s > m->every_s + SLOW_S)
        cell(l, 0, "last answer %lld s ago", late_s);
}

/* --- jobs and ranks --------------------------------------------------------------------------- */

static void ranks_title(struct top_line *l, const struct top_widths *w)
{
    char lead[TOP_TEXT];

    snprintf(lead, sizeof(lead), "%5s %-*s %7s S", "RANK", w->host, "HOST", "PID");
    cell(l, w->lead, "%s", lead);
    cell(l, -5, "%%CPU");
    cell(l, -5, "MEM");
    cell(l, -7, "CALLS/s");
    for (int i = 0; i < TOP_LINK_KINDS; i++) {
        if (!w->links[i])
            continue;
        cell(l, -6, "%s>", top_link_names[i]);
        cell(l, -6, "%s<", top_link_names[i]);
    }
    cell(l, -5, "WAIT%%");
    if (w->cores)
        cell(l, w->cores, "CORES");
    cell(l, 0, "WHAT");
}

/* The share of the time of all the ranks. */
static double wait_of(const struct top_row *row)
{
    int ranks = row->kind == TOP_ROW_RANK ? 1 : row->alive;

    return ranks > 0 ? row->use.rates[TOP_WAIT] / ranks : NAN;
}

static void use_cells(struct top_line *l, const struct top_row *row, const struct top_widths *w)
{
    percent_cell(l, -5, row->use.rates[TOP_CPU]);
    memory_cell(l, -5, row->use.memory);
    count_cell(l, -7, row->use.rates[TOP_CALLS]);
    for (int i = 0; i < TOP_LINK_KINDS; i++) {
        if (!w->links[i])
            continue;
        count_cell(l, -6, row->use.rates[TOP_LINKS + 2 * i]);
        count_cell(l, -6, row->use.rates[TOP_LINKS + 2 * i + 1]);
    }
    percent_cell(l, -5, wait_of(row));
    if (w->cores)
        cell(l, w->cores, "%.*s", CORES_MOST, row->kind == TOP_ROW_RANK ? row->rank->cores : "");
}

static void job_lead(char *out, size_t size, const struct top_row *row, bool is_folded)
{
    const struct top_job *j = row->whole->first;

    snprintf(out, size, "%c %.80s %d/%lld", is_folded ? '+' : '-', j->id, row->alive, j->size);
}

static void job_line(struct top_line *l, const struct top_row *row, const struct top_widths *w,
                     const struct top_moment *m)
{
    const struct top_job *j = row->whole->first;
    char lead[256], age[AMOUNT];

    job_lead(lead, sizeof(lead), row, strings_has(m->choice->folded_jobs.items, j->id));
    cell(l, w->lead, "%s", lead);
    use_cells(l, row, w);
    cell(l, 0, "%s%.100s%s%s %s %.64s: %s", *j->name ? "(" : "", j->name, *j->name ? ") " : "",
         row->whole->is_stale ? "stale" : j->shown, amount_age(age, j->age_s), j->user, j->command);
}

/* The host's number and the state take no more than the columns of a rank do. */
static void part_line(struct top_line *l, const struct top_row *row, const struct top_widths *w)
{
    char lead[TOP_TEXT];

    snprintf(lead, sizeof(lead), "%5s %.*s", "+", NAME_MOST * 4, row->host->name);
    cell(l, w->lead, "%s", lead);
    use_cells(l, row, w);
    if (row->waiting)
        cell(l, 0, "%d ranks, %d wait%s", row->alive, row->waiting, row->waiting == 1 ? "s" : "");
    else
        cell(l, 0, "%d ranks", row->alive);
}

static void rank_line(struct top_line *l, const struct top_row *row, const struct top_widths *w)
{
    const struct top_rank *r = row->rank;
    char name[NAME_MOST * 4 + 1], age[AMOUNT], lead[TOP_TEXT];
    int pad;

    snprintf(name, sizeof(name), "%s", row->host->name);
    printable_mend(name, "");
    pad = w->host - width_of(name);
    snprintf(lead, sizeof(lead), "%5lld %s%*s %7lld %.1s", r->rank, name, pad > 0 ? pad : 0, "",
             r->pid, r->is_alive && *r->state ? r->state : "-");
    cell(l, w->lead, "%s", lead);
    use_cells(l, row, w);
    if (r->waits_s > 0)
        cell(l, 0, "waits %s in %s", amount_age(age, (long long)r->waits_s), r->wait);
    else
        cell(l, 0, "%s", r->is_alive ? r->name : "has ended");
}

void top_text_row(char out[TOP_TEXT], const struct top_row *row, const struct top_widths *w,
                  const struct top_moment *m)
{
    struct top_line l = {.out = out};

    out[0] = '\0';
    switch (row->kind) {
    case TOP_ROW_HOSTS:
        hosts_title(&l, w, m);
        break;
    case TOP_ROW_HOST:
        host_line(&l, row->host, w, m);
        break;
    case TOP_ROW_RANKS:
        ranks_title(&l, w);
        break;
    case TOP_ROW_JOB:
        job_line(&l, row, w, m);
        break;
    case TOP_ROW_TEXT:
        cell(&l, 0, "  ! %s", row->text);
        break;
    case TOP_ROW_PART:
        part_line(&l, row, w);
        break;
    case TOP_ROW_RANK:
        rank_line(&l, row, w);
        break;
    default:
        break;
    }
    line_end(&l);
}

void top_text_head(char out[TOP_TEXT], const struct top_rows *r, const struct top_moment *m)
{
    struct top_line l = {.out = out};

    out[0] = '\0';
    cell(&l, 0, "%s, every %d s: %d of %d hosts, %zu job%s, %d ranks", m->clock, m->every_s,
         r->hosts_known, r->host_count, r->whole_count, r->whole_count == 1 ? "" : "s", r->ranks);
    if (r->waiting)
        cell(&l, 0, "(%d wait%s)", r->waiting, r->waiting == 1 ? "s" : "");
    line_end(&l);
}

void top_widths_find(struct top_widths *out, const struct top_rows *r)
{
    *out = (struct top_widths){.host = 8};
    memcpy(out->links, r->links, sizeof(out->links));
    for (size_t i = 0; i < r->count; i++) {
        int width = r->rows[i].host ? width_of(r->rows[i].host->name) : 0;

        out->host = width > out->host ? width : out->host;
        width = r->rows[i].kind == TOP_ROW_RANK ? width_of(r->rows[i].rank->cores) : 0;
        out->cores = width > out->cores ? width : out->cores;
    }
    if (out->cores)
        out->cores = out->cores > CORES_MOST ? CORES_MOST : out->cores < 5 ? 5 : out->cores;
    out->host = out->host > NAME_MOST ? NAME_MOST : out->host;
    out->lead = out->host + 16;
    out->lead = out->lead < LEAD_LEAST ? LEAD_LEAST : out->lead;
    for (size_t i = 0; i < r->count; i++) {
        char lead[256];

        if (r->rows[i].kind != TOP_ROW_JOB)
            continue;
        job_lead(lead, sizeof(lead), &r->rows[i], false);
        out->lead = width_of(lead) > out->lead ? width_of(lead) : out->lead;
    }
    out->lead = out->lead > LEAD_MOST ? LEAD_MOST : out->lead;
}
