/* SPDX-License-Identifier: MIT */
/* usage.h: what mlaunch --help and --version print, on stdout. */
#ifndef LAUNCHER_USAGE_H
#define LAUNCHER_USAGE_H

void usage_print_help(void);

struct option;
void usage_print_option(const struct option *s); /* its line of --help */
void usage_print_version(void);

#endif
