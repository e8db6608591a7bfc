/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/rank_pty.h"

#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/run/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static void size_set(int fd, const struct job_pty *size)
{
    struct winsize w = {.ws_row = (unsigned short)size->rows,
                        .ws_col = (unsigned short)size->columns};

    ioctl(fd, TIOCSWINSZ, &w);
}

/* The usual modes of a new terminal, in which a backspace erases a whole character of UTF-8. */
static void modes_set(int fd)
{
    struct termios modes;

    if (tcgetattr(fd, &modes))
        return;
    modes.c_iflag |= IUTF8;
    tcsetattr(fd, TCSANOW, &modes);
}

int rank_pty_open(struct agent_rank *r, int *out, int *in, struct fault *why)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), copy = -1, err;
    char path[64];

    if (master < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make its terminal: /dev/ptmx");
    if (grantpt(master) || unlockpt(master) || ptsname_r(master, path, sizeof(path)))
        goto fail;
    r->pty = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (r->pty < 0)
        goto fail;
    if (in && (copy = fcntl(master, F_DUPFD_CLOEXEC, 3)) < 0)
        goto fail;
    modes_set(r->pty);
    size_set(r->pty, &r->agent->run.job->pty);
    *out = master;
    if (in)
        *in = copy;
    return 0;
fail:
    err = errno;
    close(master);
    rank_pty_close(r);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot make its terminal");
}

void rank_pty_close(struct agent_rank *r)
{
    if (r->pty >= 0)
        close(r->pty);
    r->pty = -1;
}

size_t rank_pty_end_of_input(const struct agent_rank *r, bool is_mid_line,
                             uint8_t out[RANK_PTY_END])
{
    struct termios modes;
    uint8_t end = 4;

    if (r->pty >= 0 && tcgetattr(r->pty, &modes) == 0)
        end = modes.c_cc[VEOF];
    out[0] = out[1] = end;
    return is_mid_line ? 2 : 1;
}

void rank_pty_resize(struct agent *a, uint16_t rows, uint16_t columns)
{
    a->run.job->pty.rows = rows;
    a->run.job->pty.columns = columns;
    for (int i = 0; i < a->run.job->rank_count; i++) {
        if (a->run.ranks.all[i].pty >= 0)
            size_set(a->run.ranks.all[i].pty, &a->run.job->pty); /* the kernel sends SIGWINCH */
    }
}

void rank_pty_hang_up(struct agent *a)
{
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].pty >= 0 && a->run.ranks.all[i].state == RANK_RUNNING)
            descendants_signal_group(a->run.ranks.all[i].pid, SIGHUP);
    }
}
