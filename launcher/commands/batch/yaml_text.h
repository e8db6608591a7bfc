/* SPDX-License-Identifier: MIT */
/* yaml_text.h: writes JSON values as YAML, one name a line. */
#ifndef LAUNCHER_COMMANDS_BATCH_YAML_TEXT_H
#define LAUNCHER_COMMANDS_BATCH_YAML_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Writes an object in the order of its members. Each string is between quotes, with escapes that
 * YAML 1.1 and 1.2 read alike; the objects' names are letters, digits and "-_./" only. */
void yaml_write(FILE *to, const json_t *object);

#endif
