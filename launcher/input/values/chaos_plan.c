/* SPDX-License-Identifier: MIT */
#include "launcher/input/values/chaos_plan.h"

#include "common/text/number.h"
#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 6 /* stop RANKS for TIME after TIME */, WORD = 512, ACTION = 1024 };

/* An action as it was written, and its words. */
struct written {
    char text[ACTION];
    char words[WORDS][WORD];
    int count;
};

static int action_refuse(const struct written *w, const char *what, struct fault *why)
{
    char shown[TEXT_SHOWN];

    return fault_set(why, ML_ERR_ARGUMENT, "'%s': %s", text_show(shown, w->text), what);
}

/* Splits at blanks. */
static int words_split(struct written *w, const char *text, size_t length, struct fault *why)
{
    static const char blanks[] = " \t\r";
    const char *at;

    for (; length > 0 && strchr(blanks, *text); length--)
        text++;
    *w = (struct written){.count = 0};
    snprintf(w->text, sizeof(w->text), "%.*s",
             length < sizeof(w->text) ? (int)length : (int)sizeof(w->text) - 1, text);
    if (length >= sizeof(w->text))
        return action_refuse(w, "an action is not that long", why);
    for (at = w->text; *(at += strspn(at, blanks));) {
        size_t size = strcspn(at, blanks);

        if (w->count == WORDS || size >= WORD)
            return action_refuse(w, "an action is not that long", why);
        memcpy(w->words[w->count++], at, size);
        at += size;
    }
    return 0;
}

static bool time_parse(const char *text, int *ms)
{
    static const struct {
        const char *unit;
        int ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}, {"", 1000}};
    size_t digits = strspn(text, "0123456789");
    char number[16];
    int64_t value;

    if (digits == 0 || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        if (!number_parse(number, 0, CHAOS_MS_LIMIT / units[i].ms, &value))
            return false;
        *ms = (int)value * units[i].ms;
        return true;
    }
    return false;
}

/* The words behind the object: "after TIME" and "for TIME", in any order, each once at most. */
static int times_parse(struct chaos_action *a, const struct written *w, struct fault *why)
{
    a->after_ms = a->for_ms = -1;
    for (int i = 2; i < w->count; i += 2) {
        bool is_for = strcmp(w->words[i], "for") == 0 && a->kind == CHAOS_STOP;
        int *ms = is_for ? &a->for_ms : &a->after_ms;

        if (!is_for && strcmp(w->words[i], "after") != 0)
            return action_refuse(w,
                                 a->kind == CHAOS_STOP
                                     ? "behind the ranks stand 'for TIME' and 'after TIME'"
                                     : "behind what is meant stands 'after TIME' or nothing",
                                 why);
        if (*ms >= 0)
            return action_refuse(w, "it names the same time twice", why);
        if (i + 1 == w->count || !time_parse(w->words[i + 1], ms))
            return action_refuse(w, "a time is written as 10s, 500ms, 2m or 1h, at most 24h", why);
    }
    if (a->kind == CHAOS_STOP && a->for_ms <= 0)
        return action_refuse(w, "it does not say for how long: write stop RANKS for 5s", why);
    if (a->after_ms < 0)
        a->after_ms = 0;
    return 0;
}

static int action_parse(struct chaos_action *a, const struct written *w, struct fault *why)
{
    static const char *const kinds[] = {"kill", "stop", "cut"};
    int kind = 0;

    while (kind < 3 && strcmp(w->words[0], kinds[kind]) != 0)
        kind++;
    if (kind == 3)
        return action_refuse(w, "an action begins with kill, stop or cut", why);
    *a = (struct chaos_action){.kind = (enum chaos_kind)kind};
    if (w->count == 1)
        return action_refuse(
            w, a->kind == CHAOS_CUT ? "it does not say which host" : "it does not say which ranks",
            why);
    if (a->kind != CHAOS_CUT && rank_set_parse(&a->ranks, w->words[1], strlen(w->words[1]), why))
        return why->code;
    if (a->kind == CHAOS_CUT) {
        if (strlen(w->words[1]) >= CHAOS_HOST)
            return action_refuse(w, "no host has such a long name", why);
        snprintf(a->host, sizeof(a->host), "%.*s", CHAOS_HOST - 1, w->words[1]);
    }
    return times_parse(a, w, why);
}

int chaos_plan_parse(struct chaos_plan *out, const char *text, struct fault *why)
{
    struct written w;

    out->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ";\n");
        int rc = words_split(&w, at, length, why);

        if (rc)
            return rc;
        if (w.count > 0 && out->count == CHAOS_ACTIONS)
            return fault_set(why, ML_ERR_ARGUMENT, "there are more than %d actions", CHAOS_ACTIONS);
        if (w.count > 0) {
            rc = action_parse(&out->actions[out->count], &w, why);
            if (rc)
                return rc;
            out->count++;
        }
        at += length;
        if (!*at)
            break;
    }
    if (out->count == 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "it names no action: write kill RANKS, stop RANKS for TIME or cut HOST");
    return 0;
}
