/* SPDX-License-Identifier: MIT */
/* temporary_directory.h: where this machine's temporary files are made. */
#ifndef LAUNCHER_BASE_TEXT_TEMPORARY_DIRECTORY_H
#define LAUNCHER_BASE_TEXT_TEMPORARY_DIRECTORY_H

/* `wanted`; if that is "", $TMPDIR where that is an absolute path of a directory and no longer than
 * TMPDIR_MOST, else "/tmp". */
const char *temporary_directory(const char *wanted);

#endif
