/* SPDX-License-Identifier: MIT */
/* sync_stream.h: one round's stream, as it comes from a host that need not be a friendly one: its
 * frames are checked, and carried out. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_STREAM_H
#define LAUNCHER_TOOLS_COPIER_SYNC_STREAM_H

#include "launcher/tools/copier/sync_copy.h"

struct sync_stream;

/* Forgets the list of the round before. ML_ERR_MEMORY. */
int sync_stream_open(struct sync_stream **out, struct sync_copy *copy, uint32_t round,
                     struct fault *why);
void sync_stream_close(struct sync_stream *s); /* takes NULL */

/* ML_ERR_REFUSED: the stream is malformed. What cannot be written has been reported, and is no
 * failure. */
int sync_stream_take(struct sync_stream *s, const void *bytes, size_t size, struct fault *why);
bool sync_stream_has_ended(const struct sync_stream *s);

#endif
