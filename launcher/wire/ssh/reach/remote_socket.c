/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_socket.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/net/address.h"
#include "common/text/text_stream.h"
#include "launcher/base/text/command_words.h"
#include "launcher/wire/ssh/reach/remote_resolve.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *option_or_none(const struct remote_config *c, enum remote_option option)
{
    const char *value = c->option[option];

    return value && strcasecmp(value, "none") != 0 ? value : NULL;
}

static bool config_has_proxy(const struct remote_config *c)
{
    return option_or_none(c, REMOTE_PROXY_COMMAND) || option_or_none(c, REMOTE_PROXY_JUMP);
}

/* The command that `ssh -J` would run for [user@]host[:port][,…]: ssh to the last jump host,
 * through the others. It uses the user's configuration, and never asks for anything. */
static int jump_command(char **out, const struct remote_config *c, const char *jumps,
                        struct fault *why)
{
    const char *last = strrchr(jumps, ',');
    const char *name = last ? last + 1 : jumps;
    const char *at = strrchr(name, '@'), *colon = strrchr(name, ':');
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    fputs("SSH_ASKPASS_REQUIRE=never exec ssh -o BatchMode=yes", to);
    if (c->file) {
        fputs(" -F ", to);
        command_words_quote(to, c->file);
    }
    if (last)
        fprintf(to, " -J '%.*s'", (int)(last - jumps), jumps);
    if (at) {
        fprintf(to, " -l '%.*s'", (int)(at - name), name);
        name = at + 1;
    }
    if (colon < name || strchr(colon, ']') || (strchr(name, ':') != colon && *name != '['))
        colon = NULL; /* no port: the colon belongs to an IPv6 address */
    if (colon)
        fprintf(to, " -p '%s'", colon + 1);
    fprintf(to, " -W '[%s]:%d' -- ", c->option[REMOTE_HOSTNAME], c->port);
    if (*name == '[')
        fprintf(to, "'%.*s'", (int)strcspn(name + 1, "]"), name + 1);
    else
        fprintf(to, "'%.*s'", colon ? (int)(colon - name) : (int)strlen(name), name);
    *out = text_stream_close(to, &s);
    return *out ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* The list of ProxyJump, which ssh -G prints with the quotes around it. NULL: there is none. Freed
 * by the caller. */
static int jumps_find(char **out, const struct remote_config *c, struct fault *why)
{
    const char *jumps = option_or_none(c, REMOTE_PROXY_JUMP);
    size_t size = jumps ? strlen(jumps) : 0;
    bool is_quoted = size > 2 && jumps[0] == '"' && jumps[size - 1] == '"';

    if (!jumps)
        return 0;
    *out = is_quoted ? strndup(jumps + 1, size - 2) : strdup(jumps);
    if (!*out)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!strpbrk(*out, "'\"\\ \t$`"))
        return 0;
    free(*out);
    *out = NULL;
    return fault_set(why, ML_ERR_ARGUMENT, "ProxyJump %s in ssh_config is not a list of hosts",
                     jumps);
}

static int proxy_open(struct remote_socket *s, const struct remote_config *c, struct fault *why)
{
    const char *shell = getenv("SHELL");
    char *command = NULL, *argv[] = {"/bin/sh", "-c", NULL, NULL};
    char *jumps = NULL;
    int rc = jumps_find(&jumps, c, why);

    if (rc)
        return rc;
    if (jumps) {
        rc = jump_command(&command, c, jumps, why);
    } else {
        char *expanded;

        /* As ssh does: by the user's own shell, which the command replaces. */
        rc = remote_config_expand(&expanded, c, c->option[REMOTE_PROXY_COMMAND], why);
        if (!rc) {
            rc = string_format(&command, why, "exec %s", expanded);
            free(expanded);
        }
        if (shell && *shell)
            argv[0] = (char *)shell;
    }
    argv[2] = command;
    if (!rc)
        rc = stream_child_start(&s->proxy, argv, environ, true, why);
    if (!rc) {
        s->fd = s->proxy.fd;
        snprintf(s->where, sizeof(s->where), "%s", jumps ? "the jump host" : "the proxy command");
    }
    free(command);
    free(jumps);
    return rc;
}

static int connect_judge(int err, const char *where, struct fault *why)
{
    if (err == ECONNREFUSED)
        return fault_set(why, ML_ERR_LINK,
                         "%s refused the connection; is sshd running there, and on that port?",
                         where);
    return fault_os(why, ML_ERR_LINK, err, "cannot connect to %s", where);
}

/* An address of that family which the interface has. */
static int interface_address(struct address *out, const char *interface, int family,
                             struct fault *why)
{
    struct ifaddrs *list = NULL;
    bool is_found = false;

    if (getifaddrs(&list))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot list this machine's addresses");
    for (const struct ifaddrs *i = list; i && !is_found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || strcmp(i->ifa_name, interface) != 0)
            continue;
        out->length = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        memcpy(&out->storage, i->ifa_addr, out->length);
        is_found = true;
    }
    freeifaddrs(list);
    return is_found ? 0
                    : fault_set(why, ML_ERR_ARGUMENT,
                                "BindInterface %s of ssh_config has no address of IPv%d here",
                                interface, family == AF_INET ? 4 : 6);
}

/* BindAddress comes before BindInterface, as with ssh. */
static int source_bind(int fd, const struct remote_config *c, int family, struct fault *why)
{
    const char *address = option_or_none(c, REMOTE_BIND_ADDRESS);
    const char *interface = option_or_none(c, REMOTE_BIND_INTERFACE);
    struct address from;
    int rc;

    if (!address && !interface)
        return 0;
    rc = address ? address_make(&from, address, 0, why)
                 : interface_address(&from, interface, family, why);
    if (!rc && bind(fd, (struct sockaddr *)&from.storage, from.length) < 0)
        rc = fault_os(why, ML_ERR_ARGUMENT, errno, "cannot use %s %s of ssh_config",
                      address ? "BindAddress" : "BindInterface", address ? address : interface);
    return rc;
}

/* Connects to one address. */
static int address_try(struct remote_socket *s, const struct addrinfo *to,
                       const struct remote_config *c, const struct remote_wait *w,
                       struct fault *why)
{
    int one = 1, err = 0, rc;
    socklen_t size = sizeof(err);
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    rc = source_bind(fd, c, to->ai_family, why);
    if (!rc && connect(fd, to->ai_addr, to->ai_addrlen) < 0) {
        if (errno == EINPROGRESS) {
            rc = remote_wait_for(w, fd, POLLOUT, why);
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size);
        } else {
            err = errno;
        }
    }
    if (!rc && err)
        rc = connect_judge(err, s->where, why);
    if (rc)
        close(fd);
    else
        s->fd = fd;
    return rc;
}

static int family_of(const struct remote_config *c)
{
    const char *family = c->option[REMOTE_ADDRESS_FAMILY];

    if (family && strcasecmp(family, "inet") == 0)
        return AF_INET;
    return family && strcasecmp(family, "inet6") == 0 ? AF_INET6 : AF_UNSPEC;
}

static int tcp_open(struct remote_socket *s, const struct remote_config *c,
                    const struct remote_wait *w, struct fault *why)
{
    const char *name = c->option[REMOTE_HOSTNAME];
    struct addrinfo *all;
    int64_t began_ms = clock_ms();
    int left = 0, rc = remote_resolve(&all, name, c->port, family_of(c), w, why);

    if (rc)
        return rc;
    for (struct addrinfo *to = all; to; to = to->ai_next)
        left++;
    for (struct addrinfo *to = all; to; to = to->ai_next, left--) {
        struct remote_wait share = *w;
        struct address a = {.length = to->ai_addrlen};
        char ip[ADDRESS_TEXT];

        memcpy(&a.storage, to->ai_addr, to->ai_addrlen);
        address_format_ip(&a, ip);
        if (strcmp(ip, name) == 0)
            snprintf(s->where, sizeof(s->where), "%s port %d", ip, c->port);
        else
            snprintf(s->where, sizeof(s->where), "%s (%s) port %d", name, ip, c->port);
        share.deadline_ms = clock_ms() + clock_left_ms(w->deadline_ms) / left;
        rc = address_try(s, to, c, &share, why);
        if (!rc || rc == ML_ERR_STATE)
            break;
        if (rc == ML_ERR_TIMEOUT)
            fault_set(why, rc,
                      "no answer from %s within %.0f s; is the host up, and does a firewall let "
                      "SSH through?",
                      s->where, (double)(clock_ms() - began_ms) / 1000);
    }
    freeaddrinfo(all);
    return rc;
}

int remote_socket_open(struct remote_socket *s, const struct remote_config *c,
                       const struct remote_wait *w, struct fault *why)
{
    int rc;

    *s = (struct remote_socket){.fd = -1, .proxy = {.fd = -1, .errors = -1}};
    rc = config_has_proxy(c) ? proxy_open(s, c, why) : tcp_open(s, c, w, why);
    if (rc)
        s->fd = -1;
    else
        log_debug("%s: connected to %s", c->name, s->where);
    return rc;
}

void remote_socket_hurry(const struct remote_socket *s)
{
    int one = 1;

    if (!s->proxy.pid)
        setsockopt(s->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
}

void remote_socket_proxy_words(struct remote_socket *s, char *text, size_t size)
{
    if (s->proxy.pid)
        last_words_read(&s->words, s->proxy.errors);
    last_words_line(&s->words, text, size);
}

void remote_socket_close(struct remote_socket *s)
{
    if (s->proxy.pid)
        stream_child_end(&s->proxy);
    else if (s->fd >= 0)
        close(s->fd);
    *s = (struct remote_socket){.fd = -1, .proxy = {.fd = -1, .errors = -1}};
}
