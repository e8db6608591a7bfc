/* SPDX-License-Identifier: MIT */
/*
 * job_register.h: the user's running mlaunch processes on this machine, one small file each,
 * run.JOB in the user's directory (user_directory.h), mode 0600. By it `mlaunch ps` and others find
 * jobs whose agents are all on other hosts, and those between two runs.
 *
 * A file is written under another name and then renamed, so that it is never seen incomplete. Its
 * mlaunch removes it at its end, or `mlaunch clean` does, if mlaunch was killed. What is not the
 * user's own, is open to others or malformed is left aside. Beside it is run.JOB.door, a socket, if
 * hosts have joined the job.
 */
#ifndef LAUNCHER_BASE_MACHINE_JOB_REGISTER_H
#define LAUNCHER_BASE_MACHINE_JOB_REGISTER_H

#include "launcher/base/machine/register_entry.h"
#include "launcher/base/machine/user_directory.h"

/* Where this process's own entry is. Begins empty. */
struct job_register {
    char path[USER_DIRECTORY_PATH]; /* "": there is none */
    int lock;                       /* on its directory (place_lock.h), while there is one */
};

/* Fills in what of e->file is about this process. */
void job_register_describe(struct register_entry *e);

/* Writes this process's entry, or replaces it; makes the directory again if it was removed. `base`
 * is "/tmp" (in tests another). ML_ERR_SYSTEM names the file or directory. */
int job_register_write(struct job_register *r, const char *base, const struct register_entry *e,
                       struct fault *why);
/* Where its socket is to be; "": it has no entry. */
void job_register_door(const struct job_register *r, char *out, size_t size);
/* Lets the entry look as if it had just been written, for those who remove what is old. */
void job_register_touch(struct job_register *r);
/* Removes the entry, and the user's directory if that is empty then. */
void job_register_remove(struct job_register *r);

struct register_list {
    struct register_found {
        char path[USER_DIRECTORY_PATH];
        struct register_entry entry;
        bool lives; /* its mlaunch does; false: it has ended, and left its file */
    } * found;      /* the oldest first */
    size_t count;
};

/* Lists the entries of this user's processes on this machine and in this pid namespace. log_info()
 * gets what is left aside. ML_ERR_MEMORY. */
int job_register_list(struct register_list *out, const char *base, struct fault *why);
void job_register_list_clear(struct register_list *l); /* takes an empty one */

/* Whether a question about `job` is about this entry: its id, its name, or "", which is all. */
bool job_register_is_asked(const struct register_found *f, const char *job);

/* Sends its mlaunch a signal. -1: it has ended, and its pid may belong to another process. */
int job_register_signal(const struct register_found *f, int signal);
/* The same with a signal's value (process_signal_value). */
int job_register_signal_value(const struct register_found *f, int signal, int value);
/* Waits for its end. False: it has not ended within `ms`. */
bool job_register_await(const struct register_found *f, int ms);

/* Removes the files of one that has ended, unless another has taken its place. 0 or errno. */
int job_register_forget(const struct register_found *f);

#endif
