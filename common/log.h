/* SPDX-License-Identifier: MIT */
/*
 * log.h: lines on stderr for the people who run mlaunch and its agent. Never a secret. Not used in
 * the runtime, which lives in strangers' programs and prints only what the job's agent would.
 * error: the job can't go on; warn: it can; info (-v): a line per job event; debug (-vv): per object;
 * trace (-vvv): per message. Thread-safe: a line is one write.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/* The program's name before each line ("mlaunch"), kept by reference; the level that is still shown
 * (LOG_WARN unless set). */
void log_open(const char *program, enum log_level level);
enum log_level log_level(void);

/* Where lines go instead of stderr (the agent sends them to the launcher); NULL: stderr. */
void log_to(void (*sink)(enum log_level level, const char *text, void *arg), void *arg);

/* At a level that is known only now. */
void log_at(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
