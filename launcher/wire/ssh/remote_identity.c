/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_identity.h"

#include <arpa/inet.h>
#define LIBSSH_LEGACY_0_4 /* as in remote_session.h */
#include <libssh/libssh.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { KEY_MOST = 16384 /* bytes of a key or a certificate */ };

/* The second word of a file such as id.pub or id-cert.pub. NULL: there is none. */
static char *word_of(const char *file)
{
    char *line = NULL, *save, *type, *key = NULL;
    FILE *from = fopen(file, "re");
    size_t room = 0;

    while (from && !key && getline(&line, &room, from) >= 0) {
        type = strtok_r(line, " \t\r\n", &save);
        if (!type || *type == '#')
            continue;
        key = strtok_r(NULL, " \t\r\n", &save);
        if (!key)
            break;
    }
    key = key ? strdup(key) : NULL;
    free(line);
    if (from)
        fclose(from);
    return key;
}

/* The public part of a key's file, which OpenSSH's own format shows without a passphrase; else that
 * of FILE.pub. NULL: unknown. */
static char *public_of(const char *file)
{
    char *base64 = NULL, *copy = NULL, path[4096];
    ssh_key key = NULL;

    if (access(file, R_OK) == 0 && ssh_pki_import_pubkey_file(file, &key) == SSH_OK &&
        ssh_pki_export_pubkey_base64(key, &base64) == SSH_OK)
        copy = strdup(base64);
    ssh_string_free_char(base64);
    ssh_key_free(key);
    if (copy)
        return copy;
    snprintf(path, sizeof(path), "%s.pub", file);
    return word_of(path);
}

/* Appends one, of which it takes over `public`. */
static int identity_add(struct remote_identities *l, const char *file, const char *certificate,
                        char *public, bool is_named, struct fault *why)
{
    struct remote_identity *more = realloc(l->items, ((size_t)l->count + 1) * sizeof(*more)), *one;

    if (more)
        l->items = more;
    if (!more) {
        free(public);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    one = &l->items[l->count++];
    *one = (struct remote_identity){.file = file ? strdup(file) : NULL,
                                    .certificate = certificate ? strdup(certificate) : NULL,
                                    .public = public,
                                    .agent_key = -1,
                                    .is_named = is_named};
    if ((file && !one->file) || (certificate && !one->certificate))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

/* The files of IdentityFile, each with its certificate behind it. */
static int files_list(struct remote_identities *l, const struct remote_config *c, struct fault *why)
{
    char path[4096];
    int rc = 0;

    for (size_t i = 0; i < c->identities.count && !rc; i++) {
        const char *file = c->identities.items[i];
        char *certified;

        if (strcasecmp(file, "none") == 0)
            continue;
        rc = identity_add(l, file, NULL, public_of(file), !c->has_default_identities, why);
        snprintf(path, sizeof(path), "%s-cert.pub", file);
        certified = rc ? NULL : word_of(path);
        if (certified)
            rc = identity_add(l, file, path, certified, false, why);
    }
    return rc;
}

/* Moves an identity from one list to the other. */
static int identity_move(struct remote_identities *to, struct remote_identities *from, int at,
                         int agent_key, struct fault *why)
{
    struct remote_identity one = from->items[at];
    int rc = identity_add(to, NULL, NULL, NULL, false, why);

    if (rc)
        return rc;
    one.agent_key = agent_key;
    to->items[to->count - 1] = one;
    memmove(from->items + at, from->items + at + 1,
            (size_t)(from->count - at - 1) * sizeof(*from->items));
    from->count--;
    return 0;
}

static int find(const struct remote_identities *l, const char *public)
{
    for (int i = 0; i < l->count; i++)
        if (l->items[i].public && strcmp(l->items[i].public, public) == 0)
            return i;
    return -1;
}

/* The agent's keys: with those of `files`, or without. */
static int agent_list(struct remote_identities *to, struct remote_identities *files,
                      const struct remote_key_agent *agent, bool with_files, struct fault *why)
{
    int rc = 0;

    for (int key = 0; key < remote_key_agent_count(agent) && !rc; key++) {
        const char *public = remote_key_agent_public(agent, key);
        int at = find(files, public);

        if (with_files && at >= 0) {
            rc = identity_move(to, files, at, key, why);
        } else if (!with_files && find(to, public) < 0) {
            rc = identity_add(to, NULL, NULL, strdup(public), false, why);
            if (!rc)
                to->items[to->count - 1].agent_key = key;
        }
    }
    return rc;
}

int remote_identity_list(struct remote_identities *out, const struct remote_config *c,
                         const struct remote_key_agent *agent, struct fault *why)
{
    const char *only = c->option[REMOTE_IDENTITIES_ONLY];
    struct remote_identities files = {0};
    int rc = 0;

    *out = (struct remote_identities){0};
    for (size_t i = 0; i < c->certificates.count && !rc; i++) {
        char *certified = word_of(c->certificates.items[i]);

        if (certified)
            rc = identity_add(out, NULL, c->certificates.items[i], certified, true, why);
    }
    if (!rc)
        rc = files_list(&files, c, why);
    if (!rc)
        rc = agent_list(out, &files, agent, true, why);
    if (!rc && !(only && strcasecmp(only, "yes") == 0))
        rc = agent_list(out, &files, agent, false, why);
    while (!rc && files.count > 0)
        rc = identity_move(out, &files, 0, -1, why);
    remote_identity_clear(&files);
    if (rc)
        remote_identity_clear(out);
    return rc;
}

/* The bytes behind that number of strings, each with its length in front; NULL: there are fewer. */
static const unsigned char *behind(const unsigned char *blob, size_t size, int strings,
                                   size_t *left)
{
    for (uint32_t length; strings > 0; strings--) {
        if (size < sizeof(length))
            return NULL;
        memcpy(&length, blob, sizeof(length));
        length = ntohl(length);
        if (length > size - sizeof(length))
            return NULL;
        blob += sizeof(length) + length;
        size -= sizeof(length) + length;
    }
    *left = size;
    return blob;
}

/* A key is its type and its numbers; a certificate has its own type, a nonce, and then the numbers
 * of the key (OpenSSH's PROTOCOL.certkeys). */
bool remote_identity_is_for(const char *certificate, const char *public)
{
    unsigned char whole[KEY_MOST], key[KEY_MOST];
    size_t whole_size, key_size, whole_left = 0, key_left = 0;
    const unsigned char *in_whole, *in_key;

    if (sodium_base642bin(whole, sizeof(whole), certificate, strlen(certificate), NULL, &whole_size,
                          NULL, sodium_base64_VARIANT_ORIGINAL) ||
        sodium_base642bin(key, sizeof(key), public, strlen(public), NULL, &key_size, NULL,
                          sodium_base64_VARIANT_ORIGINAL))
        return false;
    in_whole = behind(whole, whole_size, 2, &whole_left);
    in_key = behind(key, key_size, 1, &key_left);
    return in_whole && in_key && key_left > 0 && key_left <= whole_left &&
           memcmp(in_whole, in_key, key_left) == 0;
}

void remote_identity_clear(struct remote_identities *l)
{
    for (int i = 0; i < l->count; i++) {
        free(l->items[i].file);
        free(l->items[i].certificate);
        free(l->items[i].public);
    }
    free(l->items);
    *l = (struct remote_identities){0};
}
