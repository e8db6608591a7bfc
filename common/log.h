/* SPDX-License-Identifier: MIT */
/*
 * log.h: lines on stderr for the people who run mlaunch and its agent. Never a secret. Not used in
 * the runtime, because that is part of the users' programs. Any thread may log: a line is one
 * write.
 *
 *   error        the job cannot go on
 *   warn         it can
 *   info (-v)    a line for each event of the job
 *   debug (-vv)  a line for each connection, frame or choice
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Sets the program's name that begins each line ("mlaunch"; not copied) and the highest level that
 * is shown (LOG_WARN unless set). */
void log_open(const char *program, enum log_level level);
enum log_level log_level(void);

/* Passes lines to `sink` instead of stderr, without the program's name: the launcher writes them
 * between the ranks' output, and its SSH module hands them to the launcher. NULL: stderr again. */
void log_to(void (*sink)(enum log_level level, const char *text, void *arg), void *arg);

/* Logs at a level that is known only at run time. */
void log_at(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
