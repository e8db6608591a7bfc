/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_session.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/number.h"
#include "launcher/wire/ssh/remote_host_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TRIES = 5, /* connections that sshd may drop before its banner */
    /* The pause before the second try. It doubles each time, and up to its own length is added at
     * random, because otherwise all clients that were dropped would come back together. */
    PAUSE_MS = 100,
    RSA_SIZE_DEFAULT = 1024, /* bits, of ssh and of every libssh */
};

/* AES in hardware has several times the throughput of libssh's first choice, chacha20. */
static const char default_ciphers[] =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,"
    "aes192-ctr,aes128-ctr";
static const char default_kex[] =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group18-sha512,diffie-hellman-group16-sha512,"
    "diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256";

static const struct {
    enum remote_option option;
    enum ssh_options_e to, to_too;
    const char *otherwise;
} passed_on[] = {
    {REMOTE_CIPHERS, SSH_OPTIONS_CIPHERS_C_S, SSH_OPTIONS_CIPHERS_S_C, default_ciphers},
    {REMOTE_MACS, SSH_OPTIONS_HMAC_C_S, SSH_OPTIONS_HMAC_S_C, NULL},
    {REMOTE_KEX, SSH_OPTIONS_KEY_EXCHANGE, SSH_OPTIONS_KEY_EXCHANGE, default_kex},
    {REMOTE_PUBKEY_ALGORITHMS, SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES,
     SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, NULL},
    {REMOTE_COMPRESSION, SSH_OPTIONS_COMPRESSION, SSH_OPTIONS_COMPRESSION, "no"},
};

#if LIBSSH_VERSION_INT >= SSH_VERSION_INT(0, 10, 0)
static int rsa_size_pass(struct remote_session *s, int bits)
{
    return ssh_options_set(s->ssh, SSH_OPTIONS_RSA_MIN_SIZE, &bits);
}
#else
static int rsa_size_pass(struct remote_session *s, int bits)
{
    (void)s, (void)bits;
    return -1;
}
#endif

static int rsa_size_set(struct remote_session *s, struct fault *why)
{
    const char *text = s->config->option[REMOTE_RSA_SIZE];
    int64_t size;

    if (!text)
        return 0;
    if (!number_parse(text, 0, INT_MAX, &size) ||
        (rsa_size_pass(s, (int)size) < 0 && size > RSA_SIZE_DEFAULT))
        return fault_set(why, ML_ERR_ARGUMENT, "libssh does not understand \"%s\" of ssh_config",
                         text);
    return 0;
}

static int options_set(struct remote_session *s, int fd, struct fault *why)
{
    const struct remote_config *c = s->config;
    bool no = false;
    char *algorithms;
    int rc = remote_host_key_algorithms(&algorithms, c, why);

    if (rc)
        return rc;
    /* HOST is a dummy: mlaunch, not libssh, decides which address to connect to and whose key is
     * expected. */
    if (ssh_options_set(s->ssh, SSH_OPTIONS_PROCESS_CONFIG, &no) < 0 ||
        ssh_options_set(s->ssh, SSH_OPTIONS_HOST, "host") < 0 ||
        ssh_options_set(s->ssh, SSH_OPTIONS_KNOWNHOSTS, "/dev/null") < 0 ||
        ssh_options_set(s->ssh, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") < 0 ||
        ssh_options_set(s->ssh, SSH_OPTIONS_USER, c->option[REMOTE_USER]) < 0 ||
        ssh_options_set(s->ssh, SSH_OPTIONS_FD, &fd) < 0)
        rc = fault_set(why, ML_ERR_SYSTEM, "SSH: %s", ssh_get_error(s->ssh));
    if (!rc && ssh_options_set(s->ssh, SSH_OPTIONS_HOSTKEYS, algorithms) < 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "no HostKeyAlgorithms that libssh knows: %s",
                       algorithms);
    free(algorithms);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on) && !rc; i++) {
        const char *value = c->option[passed_on[i].option];

        if (!value)
            value = passed_on[i].otherwise;
        if (value && (ssh_options_set(s->ssh, passed_on[i].to, value) < 0 ||
                      ssh_options_set(s->ssh, passed_on[i].to_too, value) < 0))
            rc = fault_set(why, ML_ERR_ARGUMENT, "libssh does not understand \"%s\" of ssh_config",
                           value);
    }
    return rc ? rc : rsa_size_set(s, why);
}

int remote_session_wait(struct remote_session *s, struct fault *why)
{
    bool pending = ssh_get_poll_flags(s->ssh) & SSH_WRITE_PENDING;

    /* libssh 0.10 says SSH_AGAIN for ever once the server has hung up, as after MaxAuthTries. */
    if (ssh_get_status(s->ssh) & (SSH_CLOSED | SSH_CLOSED_ERROR))
        return fault_set(why, ML_ERR_LINK, "%s", ssh_get_error(s->ssh));
    remote_socket_hurry(&s->socket);
    return remote_wait_for(&s->wait, s->socket.fd, pending ? POLLIN | POLLOUT : POLLIN, why);
}

int remote_session_error(const struct remote_session *s)
{
    return strstr(ssh_get_error(s->ssh), "Socket error") ? ML_ERR_LINK : ML_ERR_REFUSED;
}

/* Explains a failed key exchange; the banner shows how far it went. *dropped: try again. */
static int exchange_judge(struct remote_session *s, int rc, bool *dropped, struct fault *why)
{
    const char *where = s->socket.where, *error = ssh_get_error(s->ssh);
    const char *banner = ssh_get_serverbanner(s->ssh);
    char words[256];

    if (rc == ML_ERR_STATE)
        return rc;
    remote_socket_proxy_words(&s->socket, words, sizeof(words));
    if (rc == ML_ERR_TIMEOUT && banner)
        return fault_set(why, rc, "%s did not finish the exchange of keys in time", where);
    if (rc == ML_ERR_TIMEOUT)
        return fault_set(
            why, rc, "%s accepts the connection but says nothing for too long; is it an sshd?%s%s",
            where, *words ? " It said: " : "", words);
    if (!banner && strstr(error, "banner"))
        return fault_set(why, ML_ERR_REFUSED, "what answers on %s is not an SSH server", where);
    if (banner)
        return fault_set(why, remote_session_error(s), "no agreement with the sshd on %s: %s",
                         where, error);
    /* A proxy that failed by itself has written the reason, and would fail again. */
    *dropped = !*words || strstr(words, "kex_exchange_identification") ||
               strstr(words, "Connection reset");
    if (*words)
        return fault_set(why, ML_ERR_LINK, "no connection through %s: %s", where, words);
    return fault_set(
        why, ML_ERR_LINK,
        "the sshd on %s closed the connection before its banner; is it at its MaxStartups "
        "limit, or does it bar this machine?",
        where);
}

/* Connects once and exchanges keys. */
static int session_try(struct remote_session *s, bool *dropped, struct fault *why)
{
    int fd, rc;

    s->ssh = ssh_new();
    if (!s->ssh)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = remote_socket_open(&s->socket, s->config, &s->wait, why);
    if (rc)
        return rc;
    fd = fcntl(s->socket.fd, F_DUPFD_CLOEXEC, 3); /* libssh closes it when it likes */
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot duplicate a descriptor");
    rc = options_set(s, fd, why);
    if (rc) {
        close(fd);
        return rc;
    }
    ssh_set_blocking(s->ssh, 0);
    while ((rc = ssh_connect(s->ssh)) == SSH_AGAIN) {
        rc = remote_session_wait(s, why);
        if (rc)
            return exchange_judge(s, rc, dropped, why);
    }
    if (rc != SSH_OK)
        return exchange_judge(s, 0, dropped, why);
    log_debug("%s: keys exchanged with %s (%s): %s, cipher %s", s->config->name, s->socket.where,
              ssh_get_serverbanner(s->ssh), ssh_get_kex_algo(s->ssh), ssh_get_cipher_out(s->ssh));
    return 0;
}

void remote_session_close(struct remote_session *s)
{
    if (s->ssh) {
        ssh_disconnect(s->ssh);
        ssh_free(s->ssh);
        s->ssh = NULL;
    }
    remote_socket_close(&s->socket);
}

int remote_session_open(struct remote_session *s, const struct remote_config *c,
                        const struct remote_wait *w, struct fault *why)
{
    int rc;

    *s = (struct remote_session){.wait = *w, .config = c};
    for (int tries = 1;; tries++) {
        bool dropped = false;
        struct remote_wait pause = {w->wake, 0};
        int pause_ms = PAUSE_MS << tries;

        rc = session_try(s, &dropped, why);
        if (!rc)
            return 0;
        remote_session_close(s);
        if (dropped && tries == TRIES)
            fault_wrap(why, "tried %d times", TRIES);
        if (!dropped || tries == TRIES || clock_left_ms(w->deadline_ms) == 0)
            break;
        pause_ms = pause_ms / 2 + (int)randombytes_uniform((uint32_t)pause_ms / 2);
        log_info("%s: %s; trying again in %d ms", c->name, why ? why->text : "", pause_ms);
        pause.deadline_ms = clock_ms() + pause_ms;
        rc = remote_wait_for(&pause, -1, 0, why);
        if (rc == ML_ERR_STATE)
            break;
    }
    return rc;
}
