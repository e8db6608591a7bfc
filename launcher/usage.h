/* SPDX-License-Identifier: MIT */
/* usage.h: what mlaunch --help and --version print, on stdout. */
#ifndef LAUNCHER_USAGE_H
#define LAUNCHER_USAGE_H

void usage_print_help(void);
void usage_print_version(void);

#endif
