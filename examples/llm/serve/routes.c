/* SPDX-License-Identifier: MIT */
#include "routes.h"

#include "../http/reply.h"
#include "completion_answer.h"
#include "dashboard_html.inc"

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

/* The same, counted by its status. Pages that show how the server is are not counted, as those who
 * watch it ask for them without end. */
static void counted_send(struct service_facts *f, struct evhttp_request *request, int status,
                         char *text)
{
    metrics_answered(&f->metrics, status);
    json_send(request, status, text);
}

static void refuse(struct service_facts *f, struct evhttp_request *request, int status,
                   const char *sentence)
{
    counted_send(f, request, status, answer_error(status, sentence, NULL));
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
    counted_send(f, request, 200, service_status_models(f));
}

/* "/v1/models/ID": what clients ask before they use a model. */
static void model(struct service_facts *f, struct evhttp_request *request, const char *id)
{
    char *name = evhttp_uridecode(id, 0, NULL);

    if (name && strcmp(name, f->model) == 0)
        counted_send(f, request, 200, service_status_model(f));
    else
        refuse(f, request, 404, "there is no such model here; /v1/models has the name of the one");
    free(name);
}

static void front(struct service_facts *f, struct evhttp_request *request)
{
    (void)f;
    evhttp_add_header(evhttp_request_get_output_headers(request), "Location", "/dashboard");
    reply_send(request, 302, "text/plain; charset=utf-8", NULL, 0, 0);
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

#define MODELS "/v1/models"

static const struct route {
    const char *path;
    enum evhttp_cmd_type method; /* GET: HEAD too */
    void (*answer)(struct service_facts *f, struct evhttp_request *request);
    bool is_public; /* without a key, too */
} routes[] = {
    {"/health", EVHTTP_REQ_GET, health, true},
    {"/queue", EVHTTP_REQ_GET, queue, false},
    {MODELS, EVHTTP_REQ_GET, models, false},
    {"/v1/chat/completions", EVHTTP_REQ_POST, chat, false},
    {"/v1/completions", EVHTTP_REQ_POST, text, false},
    {"/metrics", EVHTTP_REQ_GET, metrics, false},
    {"/status.json", EVHTTP_REQ_GET, status_json, false},
    {"/dashboard", EVHTTP_REQ_GET, dashboard, true}, /* it asks for the key */
    {"/", EVHTTP_REQ_GET, front, true},
};

static bool is_method_of(const struct route *r, enum evhttp_cmd_type method)
{
    return method == r->method || (method == EVHTTP_REQ_HEAD && r->method == EVHTTP_REQ_GET);
}

/* NULL: there is no such page. *id: what follows "/v1/models/", or NULL. */
static const struct route *route_find(const char *path, const char **id)
{
    const size_t models_length = strlen(MODELS "/");

    *id = strncmp(path, MODELS "/", models_length) == 0 ? path + models_length : NULL;
    if (*id)
        path = MODELS;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (strcmp(path, routes[i].path) == 0)
            return &routes[i];
    return NULL;
}

static bool is_allowed(const struct service_facts *f, const struct route *r,
                       struct evhttp_request *request)
{
    return !f->keys || (r && r->is_public) ||
           api_keys_has(f->keys, evhttp_find_header(evhttp_request_get_input_headers(request),
                                                    "Authorization"));
}

static void route_answer(struct service_facts *f, const struct route *r, const char *path,
                         const char *id, struct evhttp_request *request)
{
    const char *allowed = r->method == EVHTTP_REQ_GET ? "GET, HEAD" : "POST";
    char sentence[160];

    if (!is_method_of(r, evhttp_request_get_command(request))) {
        snprintf(sentence, sizeof(sentence), "%.100s takes %s", path, allowed);
        evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", allowed);
        refuse(f, request, 405, sentence);
    } else if (id) {
        model(f, request, id);
    } else {
        r->answer(f, request);
    }
}

void routes_request(struct service_facts *f, struct evhttp_request *request)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL, *id = NULL;
    const struct route *r = path ? route_find(path, &id) : NULL;
    char sentence[256];

    if (!http_is_host(f->http, request)) {
        refuse(
            f, request, 421,
            "on a loopback address only the Hosts localhost, 127.0.0.1, [::1] and that of --host "
            "are answered");
    } else if (!is_allowed(f, r, request)) {
        evhttp_add_header(evhttp_request_get_output_headers(request), "WWW-Authenticate", "Bearer");
        refuse(f, request, 401,
               "this server asks for a key: send Authorization: Bearer KEY, one of its "
               "--api-key-file");
    } else if (r) {
        route_answer(f, r, path, id, request);
    } else {
        snprintf(sentence, sizeof(sentence),
                 "there is no %.100s; there are /health, /queue, /v1/models, /v1/chat/completions, "
                 "/v1/completions, /metrics and /dashboard",
                 path ? path : "such page");
        refuse(f, request, 404, sentence);
    }
}
