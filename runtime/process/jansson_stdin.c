/* SPDX-License-Identifier: MIT */
/*
 * jansson_stdin.c: lets a static libjansson into the module. Debian's is compiled for executables:
 * its json_loadf, which nobody here calls, refers to `stdin` in a way that no shared object may
 * refer to another's variable. This hidden one takes its place, inside the module only.
 */
extern void *stdin __attribute__((visibility("hidden")));
void *stdin;
