/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_config.h"

#include "common/text/text_stream.h"

#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t identity_once = PTHREAD_ONCE_INIT;
static char *identity_home, *identity_user;

/* Taken from the user database rather than $HOME, as ssh does. */
static void identity_find(void)
{
    char buf[4096];
    struct passwd entry, *found = NULL;
    const char *home = getenv("HOME"), *user = getenv("USER");

    getpwuid_r(getuid(), &entry, buf, sizeof(buf), &found);
    identity_home = strdup(found ? found->pw_dir : home ? home : "/");
    identity_user = strdup(found ? found->pw_name : user ? user : "");
}

const char *remote_config_home(void)
{
    pthread_once(&identity_once, identity_find);
    return identity_home ? identity_home : "/";
}

const char *remote_config_local_user(void)
{
    pthread_once(&identity_once, identity_find);
    return identity_user ? identity_user : "";
}

/* The value of a %-token; NULL: unknown. `room` holds values that are composed here. */
static const char *token_value(const struct remote_config *c, char token, char *room, size_t size)
{
    switch (token) {
    case '%':
        return "%";
    case 'd':
        return remote_config_home();
    case 'h':
        return c->option[REMOTE_HOSTNAME] ? c->option[REMOTE_HOSTNAME] : c->name;
    case 'i':
        snprintf(room, size, "%u", (unsigned)getuid());
        return room;
    case 'k':
        return c->option[REMOTE_HOST_KEY_ALIAS] ? c->option[REMOTE_HOST_KEY_ALIAS] : c->name;
    case 'L':
    case 'l':
        if (gethostname(room, size) < 0)
            return NULL;
        room[size - 1] = '\0';
        if (token == 'L')
            room[strcspn(room, ".")] = '\0';
        return room;
    case 'n':
        return c->name;
    case 'p':
        return c->option[REMOTE_PORT] ? c->option[REMOTE_PORT] : "22";
    case 'r':
        return c->option[REMOTE_USER] ? c->option[REMOTE_USER] : remote_config_local_user();
    case 'u':
        return remote_config_local_user();
    default:
        return NULL;
    }
}

int remote_config_expand(char **out, const struct remote_config *c, const char *text,
                         struct fault *why)
{
    char *made, room[256];
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (text[0] == '~' && (text[1] == '/' || !text[1])) {
        fputs(remote_config_home(), to);
        text++;
    }
    for (; *text; text++) {
        const char *value, *end = strchr(text, '}');
        bool variable = text[0] == '$' && text[1] == '{' && end;

        if (*text == '%') {
            value = token_value(c, *++text, room, sizeof(room));
        } else if (variable) {
            snprintf(room, sizeof(room), "%.*s", (int)(end - text - 2), text + 2);
            value = getenv(room);
            text = end;
        } else {
            fputc(*text, to);
            continue;
        }
        if (!value) {
            free(text_stream_close(to, &s));
            return variable ? fault_set(why, ML_ERR_ARGUMENT, "${%s} is not set", room)
                            : fault_set(why, ML_ERR_ARGUMENT,
                                        "mlaunch does not know the token %%%c", *text);
        }
        fputs(value, to);
    }
    made = text_stream_close(to, &s);
    if (!made)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = made;
    return 0;
}

void remote_config_command(const struct remote_config *c, char *text, size_t size)
{
    snprintf(text, size, "ssh%s%s %s@%s", c->file ? " -F " : "", c->file ? c->file : "",
             c->option[REMOTE_USER], c->name);
}

void remote_config_destroy(struct remote_config *c)
{
    if (!c)
        return;
    for (int i = 0; i < REMOTE_OPTIONS; i++)
        free(c->option[i]);
    string_list_clear(&c->identities);
    string_list_clear(&c->certificates);
    string_list_clear(&c->known_hosts);
    string_list_clear(&c->revoked);
    free(c->name);
    free(c->file);
    free(c);
}
