/* SPDX-License-Identifier: MIT */
/*
 * pickle_value.h: the value that a pickle holds, as JSON. It understands the opcodes that torch's
 * own writer uses (torch/csrc/jit/serialization/pickler.cpp), and calls nothing: where a pickle
 * says what is to be called, its first argument is the value.
 */
#ifndef LAUNCHER_AGENT_EVIDENCE_PICKLE_VALUE_H
#define LAUNCHER_AGENT_EVIDENCE_PICKLE_VALUE_H

#include <jansson.h>
#include <stddef.h>

/* For the caller to release. Members of a dictionary whose key is no text are left out. NULL: the
 * bytes end too early, are too many values or not what torch writes, or memory is short. */
json_t *pickle_value_read(const void *bytes, size_t size);

#endif
