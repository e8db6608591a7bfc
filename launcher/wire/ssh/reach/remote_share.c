/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_share.h"

#include "common/clock.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/string_list.h"
#include "launcher/wire/ssh/reach/remote_alike.h"
#include "launcher/wire/ssh/reach/remote_answer.h"
#include "launcher/wire/ssh/reach/remote_ask.h"

#include <ctype.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* So long an answer is given to others: hosts that connect later see a configuration that has been
 * changed meanwhile. */
enum { FRESH_MS = 10000 };

/* An answer of ssh's, from the thread that asks to all that wait for it. They are never freed:
 * there is one for each kind of host. */
struct shared_answer {
    struct shared_answer *next;
    char *key;
    enum { SHARED_NONE, SHARED_ASKED, SHARED_KNOWN, SHARED_OWN /* each host asks itself */ } state;
    int64_t at_ms;
    int done; /* an eventfd, readable unless it is being asked */
    char *name, *text;
    struct remote_alike alike; /* what the files that ssh has read tell apart */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_answer *answers; /* under lock, with all their members but `done` */

/* Under lock. NULL: out of memory. */
static struct shared_answer *answer_find(const char *key)
{
    struct shared_answer *a = answers;

    while (a && strcmp(a->key, key) != 0)
        a = a->next;
    if (a)
        return a;
    a = calloc(1, sizeof(*a));
    if (a) {
        a->key = strdup(key);
        a->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (!a || !a->key || a->done < 0) {
        free(a ? a->key : NULL);
        free(a);
        return NULL;
    }
    a->next = answers;
    answers = a;
    return a;
}

/* Under lock. */
static void answer_forget(struct shared_answer *a)
{
    free(a->name);
    free(a->text);
    remote_alike_clear(&a->alike);
    a->name = a->text = NULL;
    a->state = SHARED_NONE;
}

/* Under lock. True: this thread is to ask, and ends that with answer_end(). */
static bool answer_is_mine(struct shared_answer *a)
{
    eventfd_t count;

    if (a->state != SHARED_NONE && a->state != SHARED_ASKED && clock_ms() - a->at_ms > FRESH_MS)
        answer_forget(a);
    if (a->state != SHARED_NONE)
        return false;
    a->state = SHARED_ASKED;
    (void)!eventfd_read(a->done, &count);
    return true;
}

/* Whether the text has `word`, with nothing of a name beside it. */
static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[size]))
            return true;
    return false;
}

/* Whether the answer about one host holds for others with their names in its place: the address is
 * the name as it is, and nothing else has been made from it. */
static bool is_general(const char *name, const char *text)
{
    size_t length = 0, size = strlen(name);
    const char *host = remote_answer_value(text, "hostname", &length), *canonical;
    const char *rest = host ? host + length : text;

    if (!host || length != size || strncasecmp(host, name, size) != 0)
        return false;
    canonical = remote_answer_value(text, "canonicalizehostname", &length);
    if (canonical && strncmp(canonical, "false", 5) != 0 && strncmp(canonical, "no", 2) != 0)
        return false;
    return !has_word(rest, name);
}

/* The answer for `name`, which has no capitals, from that for another one. NULL: out of memory. */
static char *answer_rename(const char *text, const char *name)
{
    size_t length = 0;
    const char *host = remote_answer_value(text, "hostname", &length);
    char *made = NULL;

    if (host)
        (void)string_format(&made, NULL, "%.*s%s%s", (int)(host - text), text, name, host + length);
    return made;
}

/* Under lock: what has been asked, for all that wait. `text` NULL: it failed, so another one is to
 * ask. */
static void answer_keep(struct shared_answer *a, const char *name, const char *text)
{
    answer_forget(a);
    a->at_ms = clock_ms();
    a->name = text ? strdup(name) : NULL;
    a->text = text ? strdup(text) : NULL;
    if (a->name && a->text)
        a->state = is_general(name, text) ? SHARED_KNOWN : SHARED_OWN;
    eventfd_write(a->done, 1);
}

/* The same for the list of files that ssh has read. */
static void files_keep(struct shared_answer *a, const char *name, char *files)
{
    char *save = NULL;

    answer_keep(a, name, files);
    if (a->state == SHARED_NONE)
        return;
    for (char *path = strtok_r(files, "\n", &save); path; path = strtok_r(NULL, "\n", &save))
        remote_alike_scan(&a->alike, path);
}

/* Under lock, which it gives up meanwhile: until it is this thread's turn to ask (*is_mine), or
 * somebody's answer is there. */
static int answer_await(struct shared_answer *a, bool *is_mine, const struct remote_wait *wait,
                        struct fault *why)
{
    int rc = 0;

    *is_mine = answer_is_mine(a);
    while (!rc && !*is_mine && a->state == SHARED_ASKED) {
        pthread_mutex_unlock(&lock);
        rc = remote_wait_for(wait, a->done, POLLIN, why);
        pthread_mutex_lock(&lock);
        *is_mine = !rc && answer_is_mine(a);
    }
    if (rc == ML_ERR_TIMEOUT)
        fault_set(why, rc,
                  "ssh -G, which another host's connection asks, has not said in time what its "
                  "configuration is; does a command of Match exec hang?");
    return rc;
}

/* Under lock, which it gives up meanwhile: asks for `a`. */
static int answer_ask(struct shared_answer *a, char **text, const struct remote_question *q,
                      const struct remote_wait *wait, struct fault *why)
{
    char *files = NULL;
    int rc;

    pthread_mutex_unlock(&lock);
    rc = remote_ask(text, &files, q, wait, why);
    pthread_mutex_lock(&lock);
    answer_keep(a, q->name, rc ? NULL : *text);
    if (!rc)
        free(files);
    return rc;
}

/* Under lock, which it gives up meanwhile: the answer with that key, by whoever asks first. *text
 * stays NULL where the host is to ask for itself. */
static int answer_get(char **text, const char *key, const struct remote_question *q,
                      const struct remote_wait *wait, struct fault *why)
{
    struct shared_answer *a = answer_find(key);
    bool is_mine;
    int rc = a ? answer_await(a, &is_mine, wait, why) : 0;

    if (!a || rc)
        return rc;
    if (is_mine)
        return answer_ask(a, text, q, wait, why);
    if (a->state == SHARED_KNOWN)
        *text = answer_rename(a->text, q->name);
    else if (strcmp(a->name, q->name) == 0)
        *text = strdup(a->text);
    return 0;
}

/* The key of hosts that are alike. NULL: the host is to ask for itself. */
static char *key_of(const struct shared_answer *files, const struct remote_question *q)
{
    char *signature = remote_alike_signature(&files->alike, q->name), *key = NULL;

    if (signature)
        (void)string_format(&key, NULL, "%s %s@:%d%s", signature, q->user ? q->user : "", q->port,
                            files->key);
    free(signature);
    return key;
}

/* Under lock, which it gives up meanwhile. Who asks first learns what the files are, too. */
static int files_ask(struct shared_answer *files, char **text, const struct remote_question *q,
                     const struct remote_wait *wait, struct fault *why)
{
    char *list = NULL, *key;
    struct shared_answer *a;
    int rc;

    pthread_mutex_unlock(&lock);
    rc = remote_ask(text, &list, q, wait, why);
    pthread_mutex_lock(&lock);
    files_keep(files, q->name, rc ? NULL : list);
    if (rc)
        return rc;
    free(list);
    key = key_of(files, q);
    a = key ? answer_find(key) : NULL;
    if (a && a->state != SHARED_ASKED)
        answer_keep(a, q->name, *text);
    free(key);
    return 0;
}

/* Under lock, which it gives up meanwhile. *text NULL: as answer_get(). */
static int text_get(char **text, bool *sets_algorithms, const struct remote_question *q,
                    const struct remote_wait *wait, struct fault *why)
{
    struct shared_answer *files;
    char *key = NULL;
    bool is_mine;
    int rc = string_format(&key, why, " of %s", q->file ? q->file : "ssh's own files");

    if (rc)
        return rc;
    files = answer_find(key);
    free(key);
    if (!files)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = answer_await(files, &is_mine, wait, why);
    if (!rc && is_mine)
        rc = files_ask(files, text, q, wait, why);
    *sets_algorithms = files->alike.sets_algorithms;
    if (rc || is_mine)
        return rc;
    key = key_of(files, q);
    if (key)
        rc = answer_get(text, key, q, wait, why);
    free(key);
    return rc;
}

/* What ssh prints of a host without any configuration, for comparison. */
static int defaults_get(char **text, const struct remote_wait *wait, struct fault *why)
{
    const struct remote_question q = {.name = "localhost", .file = "none"};

    return answer_get(text, "defaults", &q, wait, why);
}

/* --- without ssh ------------------------------------------------------------------------------ */

static int file_refuse(const char *path, struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED,
                     "there is no ssh program here, which alone reads ssh_config, and %s is there; "
                     "install OpenSSH's client, or say --ssh-config none",
                     path);
}

static int without_ssh(struct remote_config *c, const struct remote_question *q, struct fault *why)
{
    static const char systems[] = "/etc/ssh/ssh_config";
    char own[4096];

    snprintf(own, sizeof(own), "%s/.ssh/config", remote_config_home());
    if (q->file && strcmp(q->file, "none") != 0)
        return file_refuse(q->file, why);
    if (!q->file && access(own, F_OK) == 0)
        return file_refuse(own, why);
    if (!q->file && access(systems, F_OK) == 0)
        return file_refuse(systems, why);
    return remote_answer_none(c, q->user, q->port, why);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* "user@[::1]" → "::1": user and brackets belong to the hostfile's syntax, not to ssh_config's. */
static char *name_copy(const char *name)
{
    const char *at = strrchr(name, '@');
    size_t size;

    if (at)
        name = at + 1;
    size = strlen(name);
    if (*name == '[' && size > 2 && name[size - 1] == ']')
        return strndup(name + 1, size - 2);
    return strdup(name);
}

static int config_read(struct remote_config *c, const struct remote_question *q,
                       const struct remote_wait *wait, struct fault *why)
{
    char *text = NULL, *defaults = NULL, *files = NULL;
    bool sets_algorithms = false;
    int rc;

    pthread_mutex_lock(&lock);
    rc = text_get(&text, &sets_algorithms, q, wait, why);
    if (!rc && sets_algorithms)
        rc = defaults_get(&defaults, wait, why);
    pthread_mutex_unlock(&lock);
    if (!rc && !text) {
        rc = remote_ask(&text, &files, q, wait, why);
        if (!rc)
            free(files);
    }
    if (!rc)
        rc = remote_answer_read(c, text, defaults, why);
    free(text);
    free(defaults);
    return rc;
}

int remote_share_config(struct remote_config **out, const struct host *host, const char *file,
                        const struct remote_wait *wait, struct fault *why)
{
    struct remote_config *c = calloc(1, sizeof(*c));
    struct remote_question q = {.user = host->user, .port = host->port, .file = file};
    char *ssh = NULL;
    int rc;

    if (!c || !(c->name = name_copy(host->name)) || (file && !(c->file = strdup(file)))) {
        remote_config_destroy(c);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    q.name = c->name;
    if (program_path_find(&ssh, "ssh", NULL))
        rc = without_ssh(c, &q, why);
    else
        rc = config_read(c, &q, wait, why);
    free(ssh);
    if (rc) {
        remote_config_destroy(c);
        return rc;
    }
    *out = c;
    return 0;
}
