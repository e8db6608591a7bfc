/* SPDX-License-Identifier: MIT */
/*
 * pmi_store.h: what the ranks have put, as texts by key. What this host's ranks have put since the
 * last barrier is also kept in the form in which hosts exchange it: a line KEY=VALUE for each pair.
 */
#ifndef LAUNCHER_AGENT_MPI_PMI_STORE_H
#define LAUNCHER_AGENT_MPI_PMI_STORE_H

#include "common/fault.h"

#include <stddef.h>

struct pmi_store;

int pmi_store_create(struct pmi_store **out, struct fault *why);
void pmi_store_destroy(struct pmi_store *s); /* takes NULL */

/* Keeps a copy, for this host and for the next exchange; a later value replaces an earlier one. A
 * key holds no '=', and neither text a newline. ML_ERR_MEMORY. */
int pmi_store_put(struct pmi_store *s, const char *key, const char *value, struct fault *why);

/* The value, valid until the next call; NULL: there is none. */
const char *pmi_store_get(const struct pmi_store *s, const char *key);

/* The pairs for the exchange, valid until the next call that changes the store. */
const char *pmi_store_fresh(const struct pmi_store *s, size_t *size);

/* Takes the lines of all hosts, and begins to collect for the next exchange. ML_ERR_REFUSED: they
 * are malformed; ML_ERR_MEMORY. */
int pmi_store_merge(struct pmi_store *s, const char *lines, size_t size, struct fault *why);

#endif
