/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_login.h"

#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct login {
    struct remote_session *s;
    char tried[160], skipped[200]; /* lists for the message */
    bool needs_passphrase;         /* a key file that was named needs one */
    bool done;
};

static void list_note(char *list, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void list_note(char *list, size_t size, const char *format, ...)
{
    size_t used = strlen(list);
    va_list args;

    if (used > 0)
        used += (size_t)snprintf(list + used, size - used, ", ");
    if (used >= size)
        return;
    va_start(args, format);
    vsnprintf(list + used, size - used, format, args);
    va_end(args);
}

/* Evaluates sshd's answer to a key. */
static int answer_take(struct login *l, const char *what, int answer, struct fault *why)
{
    const struct remote_config *c = l->s->config;

    if (answer == SSH_AUTH_SUCCESS) {
        log_debug("%s: logged in as %s with %s", c->name, c->option[REMOTE_USER], what);
        l->done = true;
    } else {
        log_debug("%s: sshd does not accept %s", c->name, what);
    }
    if (answer != SSH_AUTH_ERROR)
        return 0;
    return fault_set(why, remote_session_error(l->s), "its sshd ended the login after %s: %s",
                     *l->tried ? l->tried : "no key at all", ssh_get_error(l->s->ssh));
}

/* libssh calls this for a passphrase, and there is nobody to ask. */
static int passphrase_none(const char *prompt, char *buf, size_t size, int echo, int verify,
                           void *asked)
{
    (void)prompt;
    (void)echo;
    (void)verify;
    if (size > 0)
        *buf = '\0';
    *(bool *)asked = true;
    return -1;
}

static void certificate_add(ssh_key key, const char *file)
{
    char path[4096];
    ssh_key certificate = NULL;

    snprintf(path, sizeof(path), "%s-cert.pub", file);
    if (access(path, R_OK) == 0 && ssh_pki_import_cert_file(path, &certificate) == SSH_OK &&
        ssh_pki_copy_cert_to_privkey(certificate, key) == SSH_OK)
        log_debug("key %s is offered with its certificate %s", file, path);
    ssh_key_free(certificate);
}

static int key_offer(struct login *l, const char *file, ssh_key key, struct fault *why)
{
    int answer;

    while ((answer = ssh_userauth_publickey(l->s->ssh, NULL, key)) == SSH_AUTH_AGAIN) {
        int rc = remote_session_wait(l->s, why);

        if (rc)
            return rc;
    }
    return answer_take(l, file, answer, why);
}

static int file_try(struct login *l, const char *file, bool named, struct fault *why)
{
    ssh_key key = NULL;
    bool asked = false;
    int rc = ssh_pki_import_privkey_file(file, NULL, passphrase_none, &asked, &key);

    if (rc == SSH_OK) {
        certificate_add(key, file);
        list_note(l->tried, sizeof(l->tried), "%s", file);
        rc = key_offer(l, file, key, why);
        ssh_key_free(key);
        return rc;
    }
    if (asked && named)
        l->needs_passphrase = true;
    if (asked)
        list_note(l->skipped, sizeof(l->skipped), "%s (needs a passphrase: use ssh-add)", file);
    else if (access(file, R_OK) < 0 && (named || errno != ENOENT))
        list_note(l->skipped, sizeof(l->skipped), "%s (%s)", file, strerror(errno));
    else if (access(file, R_OK) == 0)
        list_note(l->skipped, sizeof(l->skipped), "%s (libssh cannot read it)", file);
    return 0;
}

/* A connected socket to ssh-agent; -1: there is none, or ssh_config forbids its use. */
static int agent_connect(struct login *l)
{
    const char *named = l->s->config->option[REMOTE_IDENTITY_AGENT];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char *path = NULL;
    int fd = -1;

    if (named && strcasecmp(named, "none") == 0)
        return -1;
    if (!named || strcmp(named, "SSH_AUTH_SOCK") == 0)
        named = getenv("SSH_AUTH_SOCK");
    else if (*named == '$' && named[1] != '{')
        named = getenv(named + 1);
    if (!named || !*named || remote_config_expand(&path, l->s->config, named, NULL))
        return -1;
    if (strlen(path) < sizeof(a.sun_path)) {
        memcpy(a.sun_path, path, strlen(path) + 1);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        list_note(l->skipped, sizeof(l->skipped), "ssh-agent at %s (%s)", path, strerror(errno));
        close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

/* The watch limits the time, because libssh waits forever for ssh-agent, which may be asking its
 * user. */
static int agent_try(struct login *l, struct fault *why)
{
    struct remote_session *s = l->s;
    struct remote_watch *watch = NULL;
    int fd = agent_connect(l), given, answer = SSH_AUTH_DENIED, rc;

    if (fd < 0)
        return 0;
    given = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* libssh closes this one at a time of its own */
    if (given < 0) {
        close(fd);
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot duplicate a descriptor");
    }
    list_note(l->tried, sizeof(l->tried), "ssh-agent's keys");
    ssh_set_agent_socket(s->ssh, given);
    rc = remote_watch_begin(&watch, &s->wait, s->socket.fd, fd, why);
    while (!rc && (answer = ssh_userauth_agent(s->ssh, NULL)) == SSH_AUTH_AGAIN)
        rc = remote_session_wait(s, why);
    if (remote_watch_end(watch) && !rc)
        rc = fault_set(why, ML_ERR_TIMEOUT,
                       "ssh-agent did not answer in time; is it waiting for you?");
    close(fd);
    return rc ? rc : answer_take(l, "a key of ssh-agent", answer, why);
}

static int login_refuse(struct login *l, struct fault *why)
{
    const char *user = l->s->config->option[REMOTE_USER];
    int methods = ssh_userauth_list(l->s->ssh, NULL);
    const char *skipped = *l->skipped ? "; not tried: " : "";

    if (!*l->tried)
        return fault_set(
            why, ML_ERR_REFUSED,
            "no key to log in with as %s%s%s; make one with ssh-keygen and give it to the "
            "host with ssh-copy-id, or name it as IdentityFile in ssh_config",
            user, skipped, l->skipped);
    if (methods > 0 && !(methods & SSH_AUTH_METHOD_PUBLICKEY))
        return fault_set(why, ML_ERR_REFUSED,
                         "its sshd takes no public keys, and mlaunch offers nothing else");
    return fault_set(
        why, ML_ERR_REFUSED,
        "no permitted key: its sshd lets none of these in as %s: %s%s%s; give it one with "
        "ssh-copy-id, or name the right one as IdentityFile in ssh_config",
        user, l->tried, skipped, l->skipped);
}

static int files_try(struct login *l, struct fault *why)
{
    const struct remote_config *c = l->s->config;
    int rc = 0;

    for (size_t i = 0; i < c->identities.count && !l->done && !rc; i++)
        if (strcasecmp(c->identities.items[i], "none") != 0)
            rc = file_try(l, c->identities.items[i], !c->has_default_identities, why);
    return rc;
}

/* Keys are all that mlaunch has to log in with. */
static int keys_permitted(const struct remote_config *c, struct fault *why)
{
    const char *keys = c->option[REMOTE_PUBKEY_AUTHENTICATION];
    const char *preferred = c->option[REMOTE_PREFERRED_AUTHENTICATIONS];

    if (keys && (strcasecmp(keys, "no") == 0 || strcasecmp(keys, "false") == 0))
        return fault_set(why, ML_ERR_REFUSED,
                         "ssh_config says \"PubkeyAuthentication no\" about it, and mlaunch logs "
                         "in with keys only");
    if (preferred && !strstr(preferred, "publickey"))
        return fault_set(why, ML_ERR_REFUSED,
                         "PreferredAuthentications of ssh_config has no publickey for it, and "
                         "mlaunch logs in with keys only");
    return 0;
}

int remote_login(struct remote_session *s, struct fault *why)
{
    const char *only = s->config->option[REMOTE_IDENTITIES_ONLY];
    bool is_named = !s->config->has_default_identities;
    bool identities_only = only && strcasecmp(only, "yes") == 0 && is_named;
    struct login l = {.s = s};
    int rc = keys_permitted(s->config, why);

    if (!rc && is_named)
        rc = files_try(&l, why);
    if (!rc && !l.done && (!identities_only || l.needs_passphrase))
        rc = agent_try(&l, why);
    if (!rc && !l.done && !is_named)
        rc = files_try(&l, why);
    if (rc == ML_ERR_TIMEOUT && why && strcmp(why->text, "time-out") == 0)
        fault_set(why, rc, "its sshd did not finish the login in time; tried: %s", l.tried);
    if (rc || l.done)
        return rc;
    return login_refuse(&l, why);
}
