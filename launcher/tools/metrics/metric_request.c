/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_request.h"

#include "launcher/tools/metrics/metric_listen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATIENCE_MOST_S = 3600 };

/* The text behind "NAME:", without blanks around it, or NULL: the line is another one. */
static char *line_value(char *line, const char *name)
{
    size_t length = strlen(name);
    char *value;

    if (strncasecmp(line, name, length) != 0 || line[length + strspn(line + length, " \t")] != ':')
        return NULL;
    value = strchr(line, ':') + 1;
    value += strspn(value, " \t");
    value[strcspn(value, " \t")] = '\0';
    return value;
}

static void line_read(struct metric_request *r, char *line, const struct metric_listen *at)
{
    char *host = line_value(line, "Host"),
         *patience = host ? NULL : line_value(line, "X-Prometheus-Scrape-Timeout-Seconds");
    double seconds = patience ? strtod(patience, NULL) : 0;

    if (host && !metric_listen_is_host(at, host))
        r->is_host_ours = false;
    if (seconds > 0 && seconds <= PATIENCE_MOST_S)
        r->patience_ms = (int)(seconds * 1000);
}

void metric_request_read(struct metric_request *out, char *head, const struct metric_listen *at)
{
    char *method = strsep(&head, "\n"), *path, *version;

    *out = (struct metric_request){.is_host_ours = true, .path = "", .patience_ms = INT_MAX};
    method[strcspn(method, "\r")] = '\0';
    path = strchr(method, ' ');
    version = path ? strchr(path + 1, ' ') : NULL;
    if (!version || strncmp(version + 1, "HTTP/1.", 7) != 0)
        return;
    *path++ = *version = '\0';
    path[strcspn(path, "?")] = '\0';
    out->is_http = true;
    out->is_head = strcmp(method, "HEAD") == 0;
    out->is_get = strcmp(method, "GET") == 0;
    out->path = path;
    while (head) {
        char *line = strsep(&head, "\n");

        line[strcspn(line, "\r")] = '\0';
        line_read(out, line, at);
    }
}
