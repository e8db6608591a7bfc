/* SPDX-License-Identifier: MIT */
/* build_id.h: identifies the sources and the version that this binary was built from. */
#ifndef COMMON_BUILD_ID_H
#define COMMON_BUILD_ID_H

extern const char build_id[];      /* 16 hex digits over sources and data model */
extern const char build_version[]; /* "0.1.0" */

#endif
