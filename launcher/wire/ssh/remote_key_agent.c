/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_key_agent.h"

#include "launcher/base/process/side_thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    MESSAGE_MOST = 256 * 1024, /* as ssh-agent itself has it */
    KEYS_MOST = 2048,
    REQUEST_IDENTITIES = 11, /* draft-miller-ssh-agent */
    IDENTITIES_ANSWER = 12,
};

struct agent_key {
    const unsigned char *blob; /* in `list` */
    uint32_t size;
    char *base64;
};

struct remote_key_agent {
    int fd;     /* the agent's */
    int served; /* our end of libssh's socket, or -1 */
    struct side_thread thread;
    atomic_int chosen;
    unsigned char *list; /* the agent's answer */
    struct agent_key *keys;
    int count;
};

/* --- its keys --------------------------------------------------------------------------------- */

/* Takes a string with its length in front from the message. False: the message is too short. */
static bool string_take(const unsigned char **at, size_t *left, const unsigned char **string,
                        uint32_t *size)
{
    uint32_t length;

    if (*left < sizeof(length))
        return false;
    memcpy(&length, *at, sizeof(length));
    *size = ntohl(length);
    if (*size > *left - sizeof(length))
        return false;
    *string = *at + sizeof(length);
    *at = *string + *size;
    *left -= sizeof(length) + *size;
    return true;
}

/* Cuts the answer into keys; what is not an answer has none. */
static int list_read(struct remote_key_agent *a, size_t size, struct fault *why)
{
    const unsigned char *at = a->list + 1, *comment;
    size_t left = size - 1;
    uint32_t count, comment_size;

    if (size < 5 || a->list[0] != IDENTITIES_ANSWER)
        return 0;
    memcpy(&count, at, sizeof(count));
    count = ntohl(count);
    at += sizeof(count);
    left -= sizeof(count);
    if (count > KEYS_MOST)
        count = KEYS_MOST;
    a->keys = calloc(count ? count : 1, sizeof(*a->keys));
    if (!a->keys)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (; (uint32_t)a->count < count; a->count++) {
        struct agent_key *k = &a->keys[a->count];
        size_t room;

        if (!string_take(&at, &left, &k->blob, &k->size) ||
            !string_take(&at, &left, &comment, &comment_size))
            break;
        room = sodium_base64_ENCODED_LEN(k->size, sodium_base64_VARIANT_ORIGINAL);
        k->base64 = malloc(room);
        if (!k->base64)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        sodium_bin2base64(k->base64, room, k->blob, k->size, sodium_base64_VARIANT_ORIGINAL);
    }
    return 0;
}

/* Reads `size` bytes before the deadline. ML_ERR_LINK: the agent has closed the connection. */
static int bytes_await(int fd, unsigned char *bytes, size_t size, const struct remote_wait *wait,
                       struct fault *why)
{
    int rc = 0;

    while (!rc && size > 0) {
        ssize_t n = recv(fd, bytes, size, MSG_DONTWAIT);

        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            rc = remote_wait_for(wait, fd, POLLIN, why);
        } else {
            rc = ML_ERR_LINK;
        }
    }
    return rc;
}

/* Asks for the list. An agent that does not answer as one has no keys. */
static int list_ask(struct remote_key_agent *a, const struct remote_wait *wait, struct fault *why)
{
    static const unsigned char request[] = {0, 0, 0, 1, REQUEST_IDENTITIES};
    uint32_t length;
    int rc;

    if (send(a->fd, request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
        return 0;
    rc = bytes_await(a->fd, (unsigned char *)&length, sizeof(length), wait, why);
    length = ntohl(length);
    if (rc || length < 1 || length > MESSAGE_MOST)
        return rc == ML_ERR_LINK ? 0 : rc;
    a->list = malloc(length);
    if (!a->list)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = bytes_await(a->fd, a->list, length, wait, why);
    if (rc == ML_ERR_LINK)
        return 0;
    return rc ? rc : list_read(a, length, why);
}

/* --- the socket for libssh -------------------------------------------------------------------- */

static bool bytes_read(struct remote_key_agent *a, int fd, unsigned char *bytes, size_t size)
{
    while (size > 0 && !side_thread_is_stopping(&a->thread)) {
        ssize_t n = recv(fd, bytes, size, 0);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return size == 0;
}

static bool bytes_write(struct remote_key_agent *a, int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0 && !side_thread_is_stopping(&a->thread)) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return false;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return size == 0;
}

/* A message with its length in front, into `room`. 0: there is none any more. */
static size_t message_read(struct remote_key_agent *a, int fd, unsigned char *room)
{
    uint32_t length;

    if (!bytes_read(a, fd, room, sizeof(length)))
        return 0;
    memcpy(&length, room, sizeof(length));
    length = ntohl(length);
    if (length < 1 || length > MESSAGE_MOST || !bytes_read(a, fd, room + sizeof(length), length))
        return 0;
    return sizeof(length) + length;
}

/* The list of one key, without a comment. */
static size_t chosen_write(const struct remote_key_agent *a, unsigned char *room)
{
    const struct agent_key *k = &a->keys[atomic_load(&a->chosen)];
    uint32_t words[] = {htonl(1 + 4 + 4 + k->size + 4), htonl(1), htonl(k->size), 0};

    memcpy(room, &words[0], 4);
    room[4] = IDENTITIES_ANSWER;
    memcpy(room + 5, &words[1], 8);
    memcpy(room + 13, k->blob, k->size);
    memcpy(room + 13 + k->size, &words[3], 4);
    return 17 + k->size;
}

static void *socket_serve(void *arg)
{
    struct remote_key_agent *a = arg;
    unsigned char *room = malloc(MESSAGE_MOST + 32);
    size_t size = 0;

    while (room && (size = message_read(a, a->served, room)) > 0) {
        if (room[4] == REQUEST_IDENTITIES)
            size = chosen_write(a, room);
        else if (bytes_write(a, a->fd, room, size))
            size = message_read(a, a->fd, room);
        else
            break;
        if (size == 0 || !bytes_write(a, a->served, room, size))
            break;
    }
    shutdown(a->served, SHUT_RDWR);
    free(room);
    return NULL;
}

int remote_key_agent_serve(struct remote_key_agent *a)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    a->served = ends[0];
    if (side_thread_start(&a->thread, socket_serve, a, "ssh-agent", NULL)) {
        close(ends[1]);
        errno = EAGAIN;
        return -1;
    }
    return ends[1];
}

void remote_key_agent_choose(struct remote_key_agent *a, int key)
{
    atomic_store(&a->chosen, key);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Where the agent is; NULL: there is none, or ssh_config forbids its use. Freed by the caller. */
static char *path_find(const struct remote_config *c)
{
    const char *named = c->option[REMOTE_IDENTITY_AGENT];
    char *path = NULL;

    if (named && strcasecmp(named, "none") == 0)
        return NULL;
    if (!named || strcmp(named, "SSH_AUTH_SOCK") == 0)
        named = getenv("SSH_AUTH_SOCK");
    else if (*named == '$' && named[1] != '{')
        named = getenv(named + 1);
    if (!named || !*named || remote_config_expand(&path, c, named, NULL))
        return NULL;
    return path;
}

static int agent_connect(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd, err;

    if (strlen(path) >= sizeof(a.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(a.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        err = errno;
        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

int remote_key_agent_open(struct remote_key_agent **out, const struct remote_config *c,
                          const struct remote_wait *wait, char *missing, size_t size,
                          struct fault *why)
{
    struct remote_key_agent *a;
    char *path = path_find(c);
    int fd, rc;

    *out = NULL;
    *missing = '\0';
    if (!path)
        return 0;
    fd = agent_connect(path);
    if (fd < 0)
        snprintf(missing, size, "ssh-agent at %s (%s)", path, strerror(errno));
    free(path);
    if (fd < 0)
        return 0;
    a = calloc(1, sizeof(*a));
    if (!a) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    a->fd = fd;
    a->served = -1;
    rc = list_ask(a, wait, why);
    if (rc == ML_ERR_TIMEOUT)
        fault_set(why, rc, "ssh-agent did not answer in time; is it waiting for you?");
    if (rc)
        remote_key_agent_close(a);
    else
        *out = a;
    return rc;
}

int remote_key_agent_count(const struct remote_key_agent *a)
{
    return a ? a->count : 0;
}

const char *remote_key_agent_public(const struct remote_key_agent *a, int key)
{
    return a->keys[key].base64;
}

int remote_key_agent_socket(const struct remote_key_agent *a)
{
    return a->fd;
}

void remote_key_agent_close(struct remote_key_agent *a)
{
    if (!a)
        return;
    side_thread_stop(&a->thread);
    close(a->fd);
    if (a->served >= 0)
        close(a->served);
    for (int i = 0; i < a->count; i++)
        free(a->keys[i].base64);
    free(a->keys);
    free(a->list);
    free(a);
}
