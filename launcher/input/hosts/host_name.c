/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/host_name.h"

#include "common/net/address.h"
#include "common/text/number.h"
#include "common/text/utf8.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
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

/* The length without the dot of a name that is written from the root of all domains. */
static size_t name_length(const char *name)
{
    size_t length = strlen(name);

    return length > 1 && name[length - 1] == '.' ? length - 1 : length;
}

bool host_name_is_same(const char *a, const char *b)
{
    size_t x = strcspn(a, "."), y = strcspn(b, "."), length = name_length(a);

    if (x < length && y < name_length(b))
        return length == name_length(b) && strncasecmp(a, b, length) == 0;
    return x == y && strncasecmp(a, b, x) == 0;
}

/* --- this machine ----------------------------------------------------------------------------- */

/* An address of either family; IPv4 as ::ffff:a.b.c.d. */
struct own_place {
    struct in6_addr ip;
    uint32_t scope; /* the interface of a link-local address; 0: none, or any */
};

/* What the machine has when it is asked first. A list of hosts may have 65,536 names. */
static struct {
    pthread_once_t once;
    struct own_place *places;
    size_t count;
    struct string_list names; /* those of /etc/hosts; an empty string is none */
} own = {.once = PTHREAD_ONCE_INIT};

static bool place_of(struct own_place *out, const struct sockaddr *a)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;

    *out = (struct own_place){0};
    if (a && a->sa_family == AF_INET) {
        memcpy(out->ip.s6_addr, mapped, sizeof(mapped));
        memcpy(out->ip.s6_addr + sizeof(mapped), &v4->sin_addr, sizeof(v4->sin_addr));
    } else if (a && a->sa_family == AF_INET6) {
        out->ip = v6->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            out->scope = v6->sin6_scope_id;
    } else {
        return false;
    }
    return true;
}

static bool place_is_own(const struct own_place *p)
{
    if (IN6_IS_ADDR_LOOPBACK(&p->ip) || (IN6_IS_ADDR_V4MAPPED(&p->ip) && p->ip.s6_addr[12] == 127))
        return true;
    for (size_t i = 0; i < own.count; i++) {
        const struct own_place *one = &own.places[i];

        if (memcmp(&p->ip, &one->ip, sizeof(p->ip)) == 0 &&
            (p->scope == one->scope || !p->scope || !one->scope))
            return true;
    }
    return false;
}

/* The address of literal text; false: it has none here, such as an unknown interface. */
static bool place_read(struct own_place *out, const char *text)
{
    struct address a;
    struct fault why;

    return address_make(&a, text, 0, &why) == 0 &&
           place_of(out, (const struct sockaddr *)&a.storage);
}

static void places_find(void)
{
    struct ifaddrs *list = NULL;
    size_t count = 0;

    if (getifaddrs(&list))
        return;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next)
        count++;
    own.places = calloc(count + 1, sizeof(*own.places));
    for (const struct ifaddrs *i = list; i && own.places; i = i->ifa_next)
        own.count += place_of(&own.places[own.count], i->ifa_addr);
    freeifaddrs(list);
}

static void name_take_back(const char *name)
{
    for (size_t i = 0; i < own.names.count; i++)
        if (strcasecmp(own.names.items[i], name) == 0)
            own.names.items[i][0] = '\0';
}

/* A line of /etc/hosts, which is changed. First the names of own addresses are added; then those
 * which other machines have as well are taken back. */
static void line_take(char *line, bool is_own)
{
    char *rest = line, *name;
    struct own_place p;
    struct fault ignored;

    line[strcspn(line, "#")] = '\0';
    name = strtok_r(rest, " \t", &rest);
    if (!name || !place_read(&p, name) || place_is_own(&p) != is_own)
        return;
    while ((name = strtok_r(rest, " \t", &rest))) {
        if (!is_own)
            name_take_back(name);
        else if (string_list_add(&own.names, name, &ignored))
            return;
    }
}

static void names_find(bool is_own)
{
    char *text = NULL, *rest, *line;
    struct fault ignored;
    size_t size;

    if (text_file_read("/etc/hosts", &text, &size, &ignored))
        return;
    rest = text;
    while ((line = text_line(&rest)))
        line_take(line, is_own);
    free(text);
}

static void own_find(void)
{
    places_find();
    names_find(true);
    names_find(false);
}

/* --- its names -------------------------------------------------------------------------------- */

static bool is_in_file(const char *name)
{
    for (size_t i = 0; i < own.names.count; i++)
        if (strcasecmp(own.names.items[i], name) == 0)
            return true;
    return false;
}

/* A name of several machines, one of which is this one, is not this machine's own. */
static bool has_own_addresses_alone(const char *name)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    bool is = getaddrinfo(name, NULL, &hints, &found) == 0 && found;
    struct own_place p;

    for (const struct addrinfo *i = found; i && is; i = i->ai_next)
        is = place_of(&p, i->ai_addr) && place_is_own(&p);
    if (found)
        freeaddrinfo(found);
    return is;
}

/* What `hostname -f` says, by which SGE and PBS name the host, or the machine's name in another of
 * its networks. */
static bool is_longer_name(const char *name, const char *host)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_flags = AI_CANONNAME}, *found = NULL;
    size_t label = strcspn(host, ".");
    bool is = false;

    if (strncasecmp(name, host, label) != 0 || name[label] != '.')
        return false;
    if (getaddrinfo(host, NULL, &hints, &found) == 0 && found->ai_canonname)
        is = strcasecmp(name, found->ai_canonname) == 0;
    if (found)
        freeaddrinfo(found);
    return is || has_own_addresses_alone(name);
}

static bool is_plain_name(const char *name, const char *host)
{
    size_t label = strcspn(host, ".");

    return strcasecmp(name, host) == 0 ||
           (strlen(name) == label && strncasecmp(name, host, label) == 0);
}

bool host_name_is_local(const char *text)
{
    char name[HOST_NAME_MOST + 1], host[HOST_NAME_MOST + 1] = "";
    size_t size = strlen(text);
    struct own_place p;

    if (size > 1 && text[size - 1] == '.') /* the root of all domains */
        size--;
    if (size >= sizeof(name))
        return false;
    memcpy(name, text, size);
    name[size] = '\0';
    if (strcasecmp(name, "localhost") == 0)
        return true;
    if (gethostname(host, sizeof(host) - 1) == 0 && *host && is_plain_name(name, host))
        return true;
    pthread_once(&own.once, own_find);
    if (address_is_literal(name))
        return place_read(&p, name) && place_is_own(&p);
    return is_in_file(name) || (*host && is_longer_name(name, host));
}

bool host_name_is_own_user(const char *user)
{
    const struct passwd *own_user = user ? getpwuid(geteuid()) : NULL;

    return !user || (own_user && strcmp(own_user->pw_name, user) == 0);
}
