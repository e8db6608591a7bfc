/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/host_list_parse.h"

#include "common/log.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/hosts/host_name.h"
#include "launcher/input/hosts/node_list.h"

#include <stdlib.h>
#include <string.h>

enum {
    PORT_OF_SSH = 22,
    PORTS_FROM = 1024, /* more slots than any host has, but a usual range for other ports of SSH */
};

int host_list_parse_host(struct host *out, const char *text, struct fault *why)
{
    static const struct host_number slots = {"slots", SLOTS_LIMIT};
    struct host_name n;
    char shown[TEXT_SHOWN];
    int rc = host_name_parse(&n, text, &slots, why);

    if (rc)
        return rc;
    if (n.number == PORT_OF_SSH || n.number >= PORTS_FROM)
        log_warn("'%s' means %ld slots; a port goes into ssh_config, or into \"ssh\" of a JSON "
                 "hostfile",
                 text_show(shown, text), n.number);
    *out = (struct host){.name = n.name, .user = n.user, .slots = (int)n.number};
    return 0;
}

static int name_add(struct host_list *l, const char *text, struct fault *why)
{
    struct host h = {0};
    int rc = host_list_parse_host(&h, text, why);

    if (!rc)
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    return rc;
}

/* "n[1-4]:2" or "[a-c]", but not an address, "[::1]:2" or "user@[::1]". */
static bool entry_is_range(const char *entry)
{
    const char *at = strrchr(entry, '@'), *name = at ? at + 1 : entry;
    const char *open = strchr(name, '[');

    return open && (open > name || open[strcspn(open, ":]")] == ']');
}

int host_list_parse_range(struct string_list *out, const char *entry, struct fault *why)
{
    return entry_is_range(entry) ? node_list_expand(out, entry, HOSTS_LIMIT, why)
                                 : string_list_add(out, entry, why);
}

static int entry_add(struct host_list *l, const char *entry, struct fault *why)
{
    struct string_list names = {0};
    int rc = host_list_parse_range(&names, entry, why);

    for (size_t i = 0; i < names.count && !rc; i++)
        rc = name_add(l, names.items[i], why);
    string_list_clear(&names);
    return rc;
}

/* Changes `text`. A comma at its end is ignored. */
static int entries_add(struct host_list *l, char *text, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int rc = 0;

    for (int i = 1; !rc && (i == 1 || *text); i++) {
        char *entry = text, *end = (char *)node_list_end(text);

        text = *end ? end + 1 : end;
        *end = '\0';
        entry = text_trim(entry);
        rc = entry_add(l, entry, why);
        if (rc)
            fault_wrap(why, "%s: entry %d ('%s')", l->source, i, text_show(shown, entry));
    }
    return rc;
}

int host_list_parse(struct host_list **out, const char *option, const char *text, struct fault *why)
{
    struct host_list *l = NULL;
    char *copy = NULL;
    int rc = host_list_create(&l, option, why);

    if (!rc)
        rc = string_copy(&copy, text, why);
    if (!rc)
        rc = entries_add(l, text_trim(copy), why);
    free(copy);
    return host_list_finish(out, l, rc, why);
}
