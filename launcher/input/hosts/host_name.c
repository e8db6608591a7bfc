/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/host_name.h"

#include "common/net/address.h"
#include "common/text/number.h"
#include "common/text/utf8.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int host_name_check(const char *word, const char *what, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (!*word)
        return fault_set(why, ML_ERR_ARGUMENT, "%s is empty", what);
    text_show(shown, word);
    if (*word == '-')
        return fault_set(why, ML_ERR_ARGUMENT, "%s '%s' begins with '-', as an option would", what,
                         shown);
    if (strlen(word) > HOST_NAME_MOST)
        return fault_set(why, ML_ERR_ARGUMENT, "%s '%s' is longer than %d bytes", what, shown,
                         HOST_NAME_MOST);
    if (!utf8_is_valid(word))
        return fault_set(why, ML_ERR_ARGUMENT, "%s must be UTF-8", what);
    for (const char *c = word; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return fault_set(why, ML_ERR_ARGUMENT, "%s '%s' contains a control character", what,
                             shown);
        if (strchr(" '`\"$\\;&<>|(){}[]*?!/,=#@", *c))
            return fault_set(why, ML_ERR_ARGUMENT, "%s '%s' must not contain '%c'", what, shown,
                             *c);
    }
    return 0;
}

/* Splits what follows "user@" into name and number, and removes brackets. Changes `text`. */
static int text_split(char *text, char **name, char **number, struct fault *why)
{
    char shown[TEXT_SHOWN], *end;

    *name = text;
    *number = NULL;
    if (*text == '[') {
        end = strchr(text, ']');
        if (!end)
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' has no closing ']'",
                             text_show(shown, text));
        if (end[1] && end[1] != ':')
            return fault_set(why, ML_ERR_ARGUMENT, "'%s': only ':NUMBER' may follow the ']'",
                             text_show(shown, text));
        *number = end[1] ? end + 2 : NULL;
        *end = '\0';
        *name = text + 1;
        if (!address_is_literal(*name))
            return fault_set(why, ML_ERR_ARGUMENT, "[%s] is not an IPv6 address",
                             text_show(shown, *name));
        return 0;
    }
    end = strchr(text, ':');
    if (!end)
        return 0;
    if (strchr(end + 1, ':'))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' has two colons; an IPv6 address goes in brackets: [::1]",
                         text_show(shown, text));
    *end = '\0';
    *number = end + 1;
    return 0;
}

static int number_read(struct host_name *h, const char *text, const struct host_number *number,
                       struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t n;

    if (!number_parse(text, 1, number->max, &n))
        return fault_set(why, ML_ERR_ARGUMENT, "%s is '%s', not a whole number from 1 to %ld",
                         number->what, text_show(shown, text), number->max);
    h->number = (long)n;
    return 0;
}

/* `text` is a private copy. */
static int name_read(struct host_name *h, char *text, const struct host_number *number,
                     struct fault *why)
{
    char *at = strrchr(text, '@'), *name, *digits;
    int rc;

    if (at) {
        *at = '\0';
        if ((rc = host_name_check(text, "the user's name", why)) ||
            (rc = string_copy(&h->user, text, why)))
            return rc;
        text = at + 1;
    }
    if ((rc = text_split(text, &name, &digits, why)) ||
        (rc = host_name_check(name, "the host's name", why)) ||
        (rc = string_copy(&h->name, name, why)))
        return rc;
    return digits ? number_read(h, digits, number, why) : 0;
}

static void name_clear(struct host_name *h)
{
    free(h->user);
    free(h->name);
    *h = (struct host_name){0};
}

int host_name_parse(struct host_name *out, const char *text, const struct host_number *number,
                    struct fault *why)
{
    struct host_name h = {0};
    char *copy = NULL;
    int rc = string_copy(&copy, text, why);

    if (rc)
        return rc;
    rc = name_read(&h, copy, number, why);
    free(copy);
    if (rc)
        name_clear(&h);
    else
        *out = h;
    return rc;
}

bool host_name_is_same(const char *a, const char *b)
{
    size_t x = strcspn(a, "."), y = strcspn(b, ".");

    if (a[x] && b[y])
        return strcasecmp(a, b) == 0;
    return x == y && strncasecmp(a, b, x) == 0;
}

/* What `hostname -f` says, by which SGE and PBS name the host. It is resolved only for names that
 * begin as the machine's own does, for an answer may take seconds. */
static bool is_full_name(const char *name, const char *own)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_flags = AI_CANONNAME}, *found = NULL;
    size_t label = strcspn(own, ".");
    bool is = false;

    if (strncasecmp(name, own, label) != 0 || name[label] != '.')
        return false;
    if (getaddrinfo(own, NULL, &hints, &found) == 0 && found->ai_canonname)
        is = strcasecmp(name, found->ai_canonname) == 0;
    if (found)
        freeaddrinfo(found);
    return is;
}

bool host_name_is_local(const char *name)
{
    char own[256] = "";
    size_t first_label;

    if (strcasecmp(name, "localhost") == 0)
        return true;
    if (address_is_loopback(name) && address_is_literal(name))
        return true;
    if (gethostname(own, sizeof(own) - 1) || !*own)
        return false;
    first_label = strcspn(own, ".");
    return strcasecmp(name, own) == 0 ||
           (strlen(name) == first_label && strncasecmp(name, own, first_label) == 0) ||
           is_full_name(name, own);
}
