/* SPDX-License-Identifier: MIT */
/*
 * fuzz_agent_report.c: any bytes as the reports of an agent, whose host may be broken or hostile.
 * Each line of the input is a frame: two digits of its type, then its payload. In what is accepted,
 * each text is terminated and each number in range.
 */
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/protocol/agent_report.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, FILES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static void check_text(const char *text, size_t size)
{
    check(memchr(text, '\0', size) != NULL);
}

static void on_warning(const char *text, void *arg)
{
    check(arg && text);
}

static void on_survivor(int64_t pid, const char *text, void *arg)
{
    (void)pid;
    check(arg && text);
}

static int hello(const struct frame *f, struct fault *why)
{
    struct hello_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = hello_report_parse(&r, f, why);
    if (!rc) {
        check_text(r.build, sizeof(r.build));
        check_text(r.arch, sizeof(r.arch));
        check_text(r.address, sizeof(r.address));
        check_text(r.guess, sizeof(r.guess));
    }
    return rc;
}

static int refused(const struct frame *f, struct fault *why)
{
    struct refused_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = refused_report_parse(&r, f, why);
    if (!rc) {
        check_text(r.text, sizeof(r.text));
        check(r.status > 0 && r.status < 256);
    }
    return rc;
}

static int started(const struct frame *f, struct fault *why)
{
    struct started_report r;
    int rc = started_report_parse(&r, f, RANKS, why);

    check(rc || (r.rank >= 0 && r.rank < RANKS));
    if (!rc)
        free(r.binding);
    return rc;
}

static int exited(const struct frame *f, struct fault *why)
{
    struct exited_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = exited_report_parse(&r, f, RANKS, why);
    if (!rc) {
        check(r.rank >= 0 && r.rank < RANKS && r.signal >= 0 && r.signal < 128);
        check(r.signal || (r.status >= 0 && r.status < 256));
        check_text(r.error, sizeof(r.error));
        check_text(r.core_file, sizeof(r.core_file));
        check_text(r.lost, sizeof(r.lost));
    }
    return rc;
}

static int aborted(const struct frame *f, struct fault *why)
{
    struct aborted_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = aborted_report_parse(&r, f, RANKS, why);
    if (!rc) {
        check(r.rank >= 0 && r.rank < RANKS);
        check_text(r.why, sizeof(r.why));
    }
    return rc;
}

static int note(const struct frame *f, struct fault *why)
{
    struct note_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = note_report_parse(&r, f, why);
    if (!rc) {
        check(r.level >= LOG_ERROR && r.level <= LOG_DEBUG);
        check_text(r.text, sizeof(r.text));
    }
    return rc;
}

static int lost(const struct frame *f, struct fault *why)
{
    struct lost_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = lost_report_parse(&r, f, why);
    if (!rc)
        check_text(r.text, sizeof(r.text));
    return rc;
}

static int repaired(const struct frame *f, struct fault *why)
{
    struct repaired_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = repaired_report_parse(&r, f, RANKS, why);
    if (rc)
        return rc;
    check(r.now.number > 0 && r.count > 0 && r.count <= RANKS);
    for (int i = 0; i < r.count; i++)
        check(r.members[i] >= 0 && r.members[i] < RANKS);
    free(r.members);
    return 0;
}

static int unreached(const struct frame *f, struct fault *why)
{
    struct unreached_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = unreached_report_parse(&r, f, RANKS, why);
    if (!rc) {
        check(r.rank >= 0 && r.rank < RANKS && r.peer >= 0 && r.peer < RANKS);
        check_text(r.text, sizeof(r.text));
    }
    return rc;
}

static int alone(const struct frame *f, struct fault *why)
{
    struct alone_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = alone_report_parse(&r, f, RANKS, why);
    if (!rc) {
        check(r.rank >= 0 && r.rank < RANKS);
        check_text(r.text, sizeof(r.text));
    }
    return rc;
}

static int keeper(const struct frame *f, struct fault *why)
{
    struct keeper_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = keeper_report_parse(&r, f, why);
    if (!rc) {
        check_text(r.address, sizeof(r.address));
        check_text(r.text, sizeof(r.text));
    }
    return rc;
}

static int ready(const struct frame *f, struct fault *why)
{
    struct ready_report r;
    int rc;

    memset(&r, 'x', sizeof(r));
    rc = ready_report_parse(&r, f, on_warning, &r, why);
    if (!rc)
        check_text(r.coordinator, sizeof(r.coordinator));
    return rc;
}

static int done(const struct frame *f, struct fault *why)
{
    struct done_report d = {0};

    return done_report_parse(&d, f, on_survivor, why, why);
}

static int want(const struct frame *f, struct fault *why)
{
    int wanted[FILES], count = 0;
    int rc = want_report_parse(wanted, &count, f, FILES, why);

    check(count >= 0 && count <= FILES);
    for (int i = 0; i < count; i++)
        check(wanted[i] >= (i ? wanted[i - 1] + 1 : 0) && wanted[i] < FILES);
    return rc;
}

static int place(const struct frame *f, struct fault *why)
{
    char directory[PATH_MAX];
    bool is_kept;
    int rc;

    memset(directory, 'x', sizeof(directory));
    rc = place_report_parse(directory, &is_kept, f, why);
    if (!rc)
        check_text(directory, sizeof(directory));
    return rc;
}

static int report(const struct frame *f, struct fault *why)
{
    static const struct {
        int type;
        int (*parse)(const struct frame *f, struct fault *why);
    } kinds[] = {{AGENT_HELLO, hello},         {AGENT_READY, ready},   {AGENT_REFUSED, refused},
                 {AGENT_STARTED, started},     {AGENT_EXITED, exited}, {AGENT_ABORTED, aborted},
                 {AGENT_NOTE, note},           {AGENT_LOST, lost},     {AGENT_DONE, done},
                 {AGENT_WANT, want},           {AGENT_PLACE, place},   {AGENT_REPAIRED, repaired},
                 {AGENT_UNREACHED, unreached}, {AGENT_KEEPS, keeper},  {AGENT_ALONE, alone}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (kinds[i].type == f->type)
            return kinds[i].parse(f, why);
    return 0;
}

static void line(const uint8_t *at, size_t size)
{
    struct frame f = {(uint8_t)((at[0] - '0') * 10 + (at[1] - '0')), (uint32_t)(size - 2),
                      malloc(size - 1)};
    struct fault why = {0};

    check(f.payload != NULL);
    memcpy(f.payload, at + 2, size - 2);
    f.payload[size - 2] = '\0';
    if (report(&f, &why))
        check(why.code < 0 && why.text[0]);
    free(f.payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *next;

    for (; data < end; data = next + 1) {
        next = memchr(data, '\n', (size_t)(end - data));
        if (!next)
            next = end;
        if (next - data >= 2)
            line(data, (size_t)(next - data));
    }
    return 0;
}
