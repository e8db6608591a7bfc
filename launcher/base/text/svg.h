/* SPDX-License-Identifier: MIT */
/* svg.h: text in pictures. */
#ifndef LAUNCHER_BASE_TEXT_SVG_H
#define LAUNCHER_BASE_TEXT_SVG_H

#include <stdio.h>

/* Writes text that came from elsewhere as the content or an attribute of an XML element. What XML
 * cannot hold, control characters and bytes that are not UTF-8, becomes '?'. */
void svg_text(FILE *to, const char *text);

#endif
