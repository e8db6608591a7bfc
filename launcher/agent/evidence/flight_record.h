/* SPDX-License-Identifier: MIT */
/* flight_record.h: what a dump of torch's flight recorder (torch/csrc/distributed/c10d/
 * FlightRecorderDetail.hpp) says of the rank that wrote it. */
#ifndef LAUNCHER_AGENT_EVIDENCE_FLIGHT_RECORD_H
#define LAUNCHER_AGENT_EVIDENCE_FLIGHT_RECORD_H

#include <jansson.h>

/* A list with an object for each process group in which the rank has begun a call: {"group":
 * "default_pg", "name": torch's own name, "members": [ranks], "call": "all_reduce", "number": 41,
 * "waits": true, "at": "train.py:17 step" or ""}. The call is the first that is not complete; or,
 * with "waits": false, the last one, and "at" is "". `dump`: as its JSON or its pickle has it,
 * unchecked. NULL: it is no dump. */
json_t *flight_record_calls(const json_t *dump);

#endif
