/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/framework_error.h"

#include "common/agent_to_rank.h"
#include "common/text/parsed_json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The call stack, which follows the message, is long. */
enum { FILE_MOST = 1 << 20 };

/* The file's text, which the caller frees, or NULL. O_NONBLOCK: the rank may have put a FIFO
 * there. */
static char *file_text(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *text = fd < 0 ? NULL : malloc(FILE_MOST);
    ssize_t n;

    *size = 0;
    while (text && *size < FILE_MOST && (n = read(fd, text + *size, FILE_MOST - *size)) > 0)
        *size += (size_t)n;
    if (fd >= 0)
        close(fd);
    return text;
}

void framework_error_read(char *text, size_t size, const char *job_dir, int rank)
{
    char path[4096];
    size_t length;
    json_t *root, *message;
    char *json;

    text[0] = '\0';
    if ((size_t)snprintf(path, sizeof(path), "%s/" RANK_ERROR_FILE, job_dir, rank) >= sizeof(path))
        return;
    json = file_text(path, &length);
    root = json ? reported_json(json, length, NULL) : NULL;
    /* {"message": {"message": "ValueError: no data", "extraInfo": …}}, or {"message": "…"} */
    message = json_object_get(root, "message");
    if (json_is_object(message))
        message = json_object_get(message, "message");
    if (json_is_string(message))
        snprintf(text, size, "%.*s", (int)strcspn(json_string_value(message), "\r\n"),
                 json_string_value(message));
    json_decref(root);
    free(json);
}
