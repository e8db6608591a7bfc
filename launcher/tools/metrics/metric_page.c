/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_page.h"

#include "common/text/printable.h"
#include "common/text/text_stream.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILIES = 64, LABEL = 512 };

struct metric_page {
    struct {
        const struct metric_family *family;
        json_t *samples; /* {"name{labels}": value}, in the order in which they were added */
    } families[FAMILIES];
    int count;
    char host[LABEL]; /* or "" */
    bool is_short;    /* memory has run out */
};

struct metric_page *metric_page_create(void)
{
    return calloc(1, sizeof(struct metric_page));
}

void metric_page_destroy(struct metric_page *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->count; i++)
        json_decref(p->families[i].samples);
    free(p);
}

void metric_page_set_host(struct metric_page *p, const char *name)
{
    snprintf(p->host, sizeof(p->host), "%s", name ? name : "");
}

static json_t *samples_of(struct metric_page *p, const struct metric_family *family)
{
    for (int i = 0; i < p->count; i++) {
        if (p->families[i].family == family)
            return p->families[i].samples;
    }
    if (p->count == FAMILIES)
        return NULL;
    p->families[p->count].family = family;
    p->families[p->count].samples = json_object();
    return p->families[p->count++].samples;
}

/* A control character could end the line, or do things to the terminal of a reader. */
static void label_write(FILE *to, int *written, const char *name, const char *value)
{
    char mended[LABEL];

    if (!*value)
        return;
    snprintf(mended, sizeof(mended), "%s", value);
    printable_mend(mended, "");
    fprintf(to, "%s%s=\"", (*written)++ ? "," : "{", name);
    for (const char *at = mended; *at; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', to);
        fputc(*at, to);
    }
    fputc('"', to);
}

void metric_page_put(struct metric_page *p, const struct metric_family *family, const char *suffix,
                     double value, const char *const labels[])
{
    json_t *samples = samples_of(p, family), *number;
    struct text_stream s;
    FILE *to = text_stream_open(&s);
    int written = 0;
    char *series = NULL;

    if (to) {
        fprintf(to, "%s%s", family->name, suffix);
        label_write(to, &written, "host", p->host);
        for (; labels[0]; labels += 2)
            label_write(to, &written, labels[0], labels[1]);
        fputs(written ? "}" : "", to);
        series = text_stream_close(to, &s);
    }
    number = json_real(isfinite(value) ? value : 0);
    if (!samples || !series || !number)
        p->is_short = true;
    else if (!json_object_get(samples, series))
        json_object_set(samples, series, number); /* not if it was cut off within a character */
    json_decref(number);
    free(series);
}

/* With as few digits as tell it from every other number. */
static void number_write(FILE *to, double value)
{
    char text[64];

    if (fabs(value) < 9e15 && value == (double)(int64_t)value)
        snprintf(text, sizeof(text), "%.0f", value);
    else
        snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    fprintf(to, "%s\n", text);
}

char *metric_page_text(const struct metric_page *p)
{
    struct text_stream s;
    FILE *to = p->is_short ? NULL : text_stream_open(&s);
    const char *series;
    json_t *value;

    if (!to)
        return NULL;
    for (int i = 0; i < p->count; i++) {
        const struct metric_family *f = p->families[i].family;

        fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
        json_object_foreach(p->families[i].samples, series, value)
        {
            fprintf(to, "%s ", series);
            number_write(to, json_real_value(value));
        }
    }
    return text_stream_close(to, &s);
}
