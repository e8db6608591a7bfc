/* SPDX-License-Identifier: MIT */
/* routes.h: which page a request is for. */
#ifndef LLM_SERVE_ROUTES_H
#define LLM_SERVE_ROUTES_H

#include "service_status.h"

/* Answers, or lets the completions answer later. */
void routes_request(struct service_facts *f, struct evhttp_request *request);

#endif
