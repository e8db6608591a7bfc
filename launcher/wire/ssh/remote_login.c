/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_login.h"

#include "common/log.h"
#include "launcher/wire/ssh/remote_identity.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct login {
    struct remote_session *s;
    char tried[160], skipped[200];  /* lists for the message */
    struct remote_key_agent *agent; /* or NULL */
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

static int hanging_up_explain(const struct login *l, struct fault *why)
{
    return fault_set(why, remote_session_error(l->s), "its sshd ended the login after %s: %s",
                     *l->tried ? l->tried : "no key at all", ssh_get_error(l->s->ssh));
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
    return hanging_up_explain(l, why);
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

/* Asks about a key that cannot sign here, as ssh does before it looks for the private half. */
static int public_offer(struct login *l, const char *file, struct fault *why)
{
    ssh_key key = NULL;
    int answer = SSH_AUTH_DENIED, rc = 0;

    if (ssh_pki_import_pubkey_file(file, &key) != SSH_OK)
        return 0;
    while (!rc && (answer = ssh_userauth_try_publickey(l->s->ssh, NULL, key)) == SSH_AUTH_AGAIN)
        rc = remote_session_wait(l->s, why);
    ssh_key_free(key);
    if (rc || answer != SSH_AUTH_ERROR)
        return rc;
    return answer_take(l, file, answer, why);
}

/* A key that is not used: why, for the message. */
static void file_skip(struct login *l, const struct remote_identity *i, bool is_read, bool asked)
{
    bool is_there = access(i->file, R_OK) == 0;

    if (is_read)
        list_note(l->skipped, sizeof(l->skipped), "%s (others may read it: run chmod 600)",
                  i->file);
    else if (asked)
        list_note(l->skipped, sizeof(l->skipped), "%s (needs a passphrase: use ssh-add)", i->file);
    else if (is_there)
        list_note(l->skipped, sizeof(l->skipped),
                  "%s (libssh cannot read it as a private key, and ssh-agent has none for it)",
                  i->file);
    else if (i->is_named || errno != ENOENT)
        list_note(l->skipped, sizeof(l->skipped), "%s (%s)", i->file, strerror(errno));
}

/* Makes the private key that of the certificate, of which `text` is the base64. False: it was made
 * for another one. */
static bool certificate_join(ssh_key certificate, const char *text, ssh_key key)
{
    char *public = NULL;
    bool is_joined = ssh_pki_export_pubkey_base64(key, &public) == SSH_OK &&
                     remote_identity_is_for(text, public) &&
                     ssh_pki_copy_cert_to_privkey(certificate, key) == SSH_OK;

    ssh_string_free_char(public);
    return is_joined;
}

/* Whether others may read it: ssh does not use a private key then. */
static bool is_open(const char *file)
{
    struct stat st;

    return stat(file, &st) == 0 && st.st_uid == getuid() && st.st_mode & 077;
}

/* certificate: a file, or NULL for the plain key. */
static int file_try(struct login *l, const struct remote_identity *i, struct fault *why)
{
    ssh_key key = NULL, certificate = NULL;
    bool asked = false;
    int rc = ssh_pki_import_privkey_file(i->file, NULL, passphrase_none, &asked, &key);

    if (rc != SSH_OK || is_open(i->file)) {
        ssh_key_free(key);
        if (i->certificate)
            return 0; /* its key has been tried before, and has said why */
        file_skip(l, i, rc == SSH_OK, asked);
        return public_offer(l, i->file, why);
    }
    rc = 0;
    if (i->certificate && (ssh_pki_import_cert_file(i->certificate, &certificate) != SSH_OK ||
                           !certificate_join(certificate, i->public, key))) {
        list_note(l->skipped, sizeof(l->skipped), "%s (it is not for %s)", i->certificate, i->file);
    } else {
        const char *name = i->certificate ? i->certificate : i->file;

        list_note(l->tried, sizeof(l->tried), "%s", name);
        rc = key_offer(l, name, key, why);
    }
    ssh_key_free(certificate);
    ssh_key_free(key);
    return rc;
}

/* A certificate of CertificateFile: with the first key of IdentityFile that it was made for. */
static int certificate_try(struct login *l, const struct remote_identity *one, struct fault *why)
{
    const char *file = one->certificate;
    const struct string_list *files = &l->s->config->identities;
    ssh_key certificate = NULL, key = NULL;
    bool asked = false, is_matched = false;
    int rc = 0;

    if (ssh_pki_import_cert_file(file, &certificate) != SSH_OK) {
        list_note(l->skipped, sizeof(l->skipped), "%s (libssh cannot read it)", file);
        return 0;
    }
    for (size_t i = 0; i < files->count && !is_matched; i++) {
        if (ssh_pki_import_privkey_file(files->items[i], NULL, passphrase_none, &asked, &key) !=
            SSH_OK)
            continue;
        is_matched = certificate_join(certificate, one->public, key);
        if (is_matched) {
            list_note(l->tried, sizeof(l->tried), "%s", file);
            rc = key_offer(l, file, key, why);
        }
        ssh_key_free(key);
        key = NULL;
    }
    if (!is_matched)
        list_note(l->skipped, sizeof(l->skipped), "%s (no IdentityFile is its key)", file);
    ssh_key_free(certificate);
    return rc;
}

/* The watch limits the time, because libssh waits forever for ssh-agent, which may be asking its
 * user. */
static int agent_key_try(struct login *l, const struct remote_identity *i, struct fault *why)
{
    struct remote_session *s = l->s;
    struct remote_watch *watch = NULL;
    int answer = SSH_AUTH_DENIED, rc;

    if (i->file)
        list_note(l->tried, sizeof(l->tried), "%s (of ssh-agent)", i->file);
    else if (!strstr(l->tried, "ssh-agent's keys"))
        list_note(l->tried, sizeof(l->tried), "ssh-agent's keys");
    remote_key_agent_choose(l->agent, i->agent_key);
    rc = remote_watch_begin(&watch, &s->wait, s->socket.fd, remote_key_agent_socket(l->agent), why);
    while (!rc && (answer = ssh_userauth_agent(s->ssh, NULL)) == SSH_AUTH_AGAIN)
        rc = remote_session_wait(s, why);
    if (remote_watch_end(watch) && !rc)
        rc = fault_set(why, ML_ERR_TIMEOUT,
                       "ssh-agent did not answer in time; is it waiting for you?");
    return rc ? rc : answer_take(l, "a key of ssh-agent", answer, why);
}

static int agent_open(struct login *l, struct fault *why)
{
    struct remote_session *s = l->s;
    char missing[160];
    int given,
        rc = remote_key_agent_open(&l->agent, s->config, &s->wait, missing, sizeof(missing), why);

    if (*missing)
        list_note(l->skipped, sizeof(l->skipped), "%s", missing);
    if (rc || !l->agent)
        return rc;
    given = remote_key_agent_serve(l->agent);
    if (given < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket");
    ssh_set_agent_socket(s->ssh, given);
    return 0;
}

static int identities_try(struct login *l, struct fault *why)
{
    struct remote_identities all;
    int rc = remote_identity_list(&all, l->s->config, l->agent, why);

    if (rc)
        return rc;
    for (int i = 0; i < all.count && !rc && !l->done; i++) {
        const struct remote_identity *one = &all.items[i];

        if (one->agent_key >= 0)
            rc = agent_key_try(l, one, why);
        else if (one->file)
            rc = file_try(l, one, why);
        else
            rc = certificate_try(l, one, why);
    }
    remote_identity_clear(&all);
    return rc;
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
    struct login l = {.s = s};
    int rc = keys_permitted(s->config, why);

    if (!rc)
        rc = agent_open(&l, why);
    if (!rc)
        rc = identities_try(&l, why);
    remote_key_agent_close(l.agent);
    if (rc == ML_ERR_TIMEOUT && why && strcmp(why->text, "time-out") == 0)
        fault_set(why, rc, "its sshd did not finish the login in time; tried: %s", l.tried);
    if (rc == ML_ERR_LINK)
        rc = hanging_up_explain(&l, why);
    if (rc || l.done)
        return rc;
    return login_refuse(&l, why);
}
