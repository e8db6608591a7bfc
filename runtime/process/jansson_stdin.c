/* SPDX-License-Identifier: MIT */
/*
 * jansson_stdin.c: makes it possible to link a static libjansson into the module. Debian's is
 * compiled for executables: its json_loadf, which mlaunch does not call, refers to `stdin` in a way
 * in which a shared object may not refer to another object's variable. This hidden variable takes
 * its place, inside the module only.
 */
extern void *stdin __attribute__((visibility("hidden")));
void *stdin;
