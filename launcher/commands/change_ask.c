/* SPDX-License-Identifier: MIT */
#include "launcher/commands/change_ask.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "common/text/printable.h"
#include "launcher/ask/register_hosts.h"
#include "launcher/base/machine/job_socket.h"
#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_NOT_DONE = 1 };

/* Prints what comes. -1: the connection has ended before the last answer. */
static int answers_print(FILE *stream, const char *job)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int status = -1;

    while (status < 0 && (size = getline(&line, &room, stream)) > 0) {
        json_t *said = parsed_json(line, (size_t)size, 0, NULL);
        const char *text = object_field_text(said, "text");
        json_t *ended = json_object_get(said, "status");

        if (json_is_integer(ended))
            status = json_integer_value(ended) ? STATUS_NOT_DONE : 0;
        if (status > 0)
            log_error("job %s: %s", job, text);
        else
            printable_print("job %s: %s\n", job, text);
        fflush(stdout);
        json_decref(said);
    }
    free(line);
    return status;
}

static int entry_ask(const struct register_found *f, json_t *request)
{
    const char *job = f->entry.file.job;
    struct fault why;
    FILE *stream;
    int fd, status = -1;

    if (job_socket_connect(&fd, f, &why)) {
        log_error("%s", why.text);
        return STATUS_NOT_DONE;
    }
    stream = fdopen(fd, "r+");
    if (!stream) {
        close(fd);
    } else if (json_dumpf(request, stream, JSON_COMPACT) == 0 && fputc('\n', stream) != EOF &&
               fflush(stream) == 0) {
        status = answers_print(stream, job);
    }
    if (stream)
        fclose(stream);
    if (status >= 0)
        return status;
    log_error("job %s: its mlaunch has ended before it answered", job);
    return STATUS_NOT_DONE;
}

int change_ask(const char *job, json_t *request)
{
    const struct register_found *f = NULL;
    struct register_list here = {0};
    int status = STATUS_NOT_DONE;
    char shown[TEXT_SHOWN];
    struct fault why;

    if (job_register_list(&here, user_directory_base(), &why) ||
        register_hosts_only(&f, &here, job, &why))
        log_error("%s", why.text);
    else if (!f)
        log_error("no mlaunch of yours on this machine has a job %s; a job is changed where its "
                  "mlaunch runs, and mlaunch ps lists those",
                  text_show(shown, job));
    else
        status = entry_ask(f, request);
    job_register_list_clear(&here);
    json_decref(request);
    return status;
}
