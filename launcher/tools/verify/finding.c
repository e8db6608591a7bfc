/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/finding.h"

#include "common/text/printable.h"
#include "common/text/text_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FINDINGS_MOST = 100000 };

static const struct finding_rule {
    const char *group, *name;
    enum finding_severity severity;
    const char *remedy;
} rules[FINDING_KINDS] = {
#define FINDING_RULE(kind, group, name, severity, remedy)                                          \
    {#group, name, FINDING_##severity, remedy},
    FINDING_ROWS(FINDING_RULE)};

static const char *const words[FINDING_SEVERITIES] = {"note", "warning", "error"};

void finding_add(struct finding_list *l, enum finding_kind kind, const char *host, const char *peer,
                 const char *format, ...)
{
    struct verify_finding f = {.kind = kind, .host = host, .peer = peer}, *more;
    va_list args;

    if (l->count >= FINDINGS_MOST)
        return;
    if ((l->count & (l->count + 1)) == 0) { /* 0, 1, 3, 7, … */
        more = realloc(l->list, (2 * l->count + 1) * sizeof(*more));
        if (!more) {
            l->is_short = true;
            return;
        }
        l->list = more;
    }
    va_start(args, format);
    if (vasprintf(&f.text, format, args) < 0)
        l->is_short = true;
    else
        l->list[l->count++] = f;
    va_end(args);
}

void finding_clear(struct finding_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i].text);
    free(l->list);
    *l = (struct finding_list){0};
}

int finding_count(const struct finding_list *l, enum finding_severity severity)
{
    int count = 0;

    for (size_t i = 0; i < l->count; i++)
        count += rules[l->list[i].kind].severity == severity;
    return count;
}

void finding_print(const struct finding_list *l)
{
    for (int severity = FINDING_ERROR; severity >= FINDING_NOTE; severity--) {
        for (size_t i = 0; i < l->count; i++) {
            const struct verify_finding *f = &l->list[i];
            const struct finding_rule *r = &rules[f->kind];

            if ((int)r->severity != severity)
                continue;
            printable_print("%-7s  %-6s  %s %s%s%s: %s; %s\n", words[severity], r->group,
                            f->peer ? "hosts" : "host", f->host, f->peer ? " and " : "",
                            f->peer ? f->peer : "", f->text, r->remedy);
        }
    }
}

json_t *finding_json(const struct finding_list *l)
{
    json_t *all = json_array();

    for (size_t i = 0; i < l->count; i++) {
        const struct verify_finding *f = &l->list[i];
        const struct finding_rule *r = &rules[f->kind];
        json_t *one = json_pack("{ss ss ss}", "severity", words[r->severity], "group", r->group,
                                "kind", r->name);

        json_object_set_new(one, "host", text_json(f->host));
        if (f->peer)
            json_object_set_new(one, "peer", text_json(f->peer));
        json_object_set_new(one, "text", text_json(f->text));
        json_object_set_new(one, "remedy", json_string(r->remedy));
        json_array_append_new(all, one);
    }
    return all;
}
