/* SPDX-License-Identifier: MIT */
/*
 * metric_page.h: a page of metrics in Prometheus' text format 0.0.4: each family once, with its
 * help, its type and all its samples.
 */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_PAGE_H
#define LAUNCHER_TOOLS_METRICS_METRIC_PAGE_H

/* Static; a page tells families apart by their addresses. */
struct metric_family {
    const char *name, *type, *help; /* type: "counter", "gauge" or "histogram" */
};

struct metric_page;

/* NULL: out of memory. */
struct metric_page *metric_page_create(void);
void metric_page_destroy(struct metric_page *p); /* takes NULL */

/* From now on every sample has the label host="NAME". NULL: none has. */
void metric_page_set_host(struct metric_page *p, const char *name);

/* Adds a sample. The labels are pairs of name and value, then NULL; those with an empty value are
 * left out. A sample that is there already is not added again: Prometheus would refuse the whole
 * page. `suffix` is what a part of a histogram has behind its name: "_bucket", "_sum", "_count". */
void metric_page_put(struct metric_page *p, const struct metric_family *family, const char *suffix,
                     double value, const char *const labels[]);
#define metric_page_add_part(p, family, suffix, value, ...)                                        \
    metric_page_put(p, family, suffix, value, (const char *const[]){__VA_ARGS__})
#define metric_page_add(p, family, value, ...)                                                     \
    metric_page_add_part(p, family, "", value, __VA_ARGS__)

/* The page, which the caller frees; NULL: out of memory, now or before. */
char *metric_page_text(const struct metric_page *p);

#endif
