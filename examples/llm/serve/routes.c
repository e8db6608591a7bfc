/* SPDX-License-Identifier: MIT */
#include "routes.h"

#include "completion_answer.h"
#include "dashboard_html.inc"
#include "reply.h"

#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scripts and styles only of the page itself, and connections only to this server. */
static const char page_policy[] = "default-src 'none'; script-src 'unsafe-inline'; "
                                  "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
                                  "frame-ancestors 'none'";

static void json_send(struct evhttp_request *request, int status, char *text)
{
    reply_send(request, status, "application/json", text, text ? strlen(text) : 0, 0);
    free(text);
}

static void health(struct service_facts *f, struct evhttp_request *request)
{
    int status;
    char *text = service_status_health(f, &status);

    json_send(request, status, text);
}

static void queue(struct service_facts *f, struct evhttp_request *request)
{
    json_send(request, 200, service_status_queue(f));
}

static void models(struct service_facts *f, struct evhttp_request *request)
{
    json_send(request, 200, service_status_models(f));
}

static void status_json(struct service_facts *f, struct evhttp_request *request)
{
    json_send(request, 200, service_status_all(f));
}

static void metrics(struct service_facts *f, struct evhttp_request *request)
{
    char *text = service_status_metrics(f);

    reply_send(request, 200, "text/plain; version=0.0.4; charset=utf-8", text,
               text ? strlen(text) : 0, 0);
    free(text);
}

static void dashboard(struct service_facts *f, struct evhttp_request *request)
{
    (void)f;
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Security-Policy",
                      page_policy);
    reply_send(request, 200, "text/html; charset=utf-8", dashboard_html, strlen(dashboard_html), 0);
}

static void chat(struct service_facts *f, struct evhttp_request *request)
{
    completions_request(f->completions, request, true);
}

static void text(struct service_facts *f, struct evhttp_request *request)
{
    completions_request(f->completions, request, false);
}

static const struct route {
    const char *path;
    enum evhttp_cmd_type method; /* GET: HEAD too */
    void (*answer)(struct service_facts *f, struct evhttp_request *request);
} routes[] = {
    {"/health", EVHTTP_REQ_GET, health},           {"/queue", EVHTTP_REQ_GET, queue},
    {"/v1/models", EVHTTP_REQ_GET, models},        {"/v1/chat/completions", EVHTTP_REQ_POST, chat},
    {"/v1/completions", EVHTTP_REQ_POST, text},    {"/metrics", EVHTTP_REQ_GET, metrics},
    {"/status.json", EVHTTP_REQ_GET, status_json}, {"/dashboard", EVHTTP_REQ_GET, dashboard},
};

static bool is_method_of(const struct route *r, enum evhttp_cmd_type method)
{
    return method == r->method || (method == EVHTTP_REQ_HEAD && r->method == EVHTTP_REQ_GET);
}

void routes_request(struct service_facts *f, struct evhttp_request *request)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    char sentence[160];

    if (!http_is_host(f->http, request)) {
        json_send(request, 421,
                  answer_error(421,
                               "on a loopback address only the Hosts localhost, 127.0.0.1, [::1] "
                               "and that of --host are answered",
                               NULL));
        return;
    }
    for (size_t i = 0; path && i < sizeof(routes) / sizeof(routes[0]); i++) {
        const char *allowed = routes[i].method == EVHTTP_REQ_GET ? "GET, HEAD" : "POST";

        if (strcmp(path, routes[i].path) != 0)
            continue;
        if (is_method_of(&routes[i], evhttp_request_get_command(request))) {
            routes[i].answer(f, request);
            return;
        }
        snprintf(sentence, sizeof(sentence), "%s takes %s", path, allowed);
        evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", allowed);
        json_send(request, 405, answer_error(405, sentence, NULL));
        return;
    }
    json_send(request, 404,
              answer_error(404,
                           "there is no such page; there are /health, /queue, /v1/models, "
                           "/v1/chat/completions, /v1/completions, /metrics and /dashboard",
                           NULL));
}
