/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_kill.h"

#include "launcher/base/process/install_path.h"
#include "launcher/base/process/last_words.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct top_kill {
    struct stream_child child;
    struct event *outputs[2];
    int open; /* how many are open */
    struct last_words words;
    top_kill_on_end *on_end;
    void *arg;
};

static void kill_on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct top_kill *k = arg;
    char text[512];

    (void)what;
    if (last_words_read(&k->words, fd))
        return;
    event_del(k->outputs[fd == k->child.errors]);
    if (--k->open > 0)
        return;
    while (waitpid(k->child.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    last_words_line(&k->words, text, sizeof(text));
    k->on_end(text, k->arg);
}

static int words_make(struct string_list *words, char *const *passed, const char *job,
                      struct fault *why)
{
    char self[PATH_MAX];
    const char *const first[] = {self, "kill", NULL};
    int rc = install_path_find(self, INSTALL_MLAUNCH, why);

    if (!rc)
        rc = string_list_add_all(words, (char *const *)first, why);
    if (!rc)
        rc = string_list_add_all(words, passed, why);
    if (!rc)
        rc = string_list_add(words, job, why);
    return rc;
}

int top_kill_start(struct top_kill **out, struct event_base *base, char *const *passed,
                   const char *job, top_kill_on_end *on_end, void *arg, struct fault *why)
{
    struct top_kill *k = calloc(1, sizeof(*k));
    struct string_list words = {0};
    int rc = fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!k)
        return rc;
    *k = (struct top_kill){.child = {.fd = -1, .errors = -1}, .on_end = on_end, .arg = arg};
    /* The name comes from another host. */
    if (*job == '-' || !*job)
        rc = fault_set(why, ML_ERR_ARGUMENT, "job %.80s cannot be ended: its id could be an option",
                       job);
    else
        rc = words_make(&words, passed, job, why);
    if (!rc)
        rc = stream_child_start(&k->child, words.items, environ, true, why);
    string_list_clear(&words);
    if (rc)
        goto fail;
    k->outputs[0] = event_new(base, k->child.fd, EV_READ | EV_PERSIST, kill_on_readable, k);
    k->outputs[1] = event_new(base, k->child.errors, EV_READ | EV_PERSIST, kill_on_readable, k);
    k->open = 2;
    if (!k->outputs[0] || !k->outputs[1] || event_add(k->outputs[0], NULL) ||
        event_add(k->outputs[1], NULL)) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    *out = k;
    return 0;
fail:
    top_kill_close(k);
    return rc;
}

void top_kill_close(struct top_kill *k)
{
    if (!k)
        return;
    for (int i = 0; i < 2; i++)
        if (k->outputs[i])
            event_free(k->outputs[i]);
    if (k->child.fd >= 0)
        close(k->child.fd);
    if (k->child.errors >= 0)
        close(k->child.errors);
    free(k);
}
