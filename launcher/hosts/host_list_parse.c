/* SPDX-License-Identifier: MIT */
#include "launcher/hosts/host_list_parse.h"

#include "launcher/hosts/host_list_finish.h"
#include "launcher/hosts/host_name.h"
#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdlib.h>
#include <string.h>

int host_list_parse_host(struct host *out, const char *text, struct fault *why)
{
    static const struct host_number slots = {"slots", SLOTS_LIMIT};
    struct host_name n;
    int rc = host_name_parse(&n, text, &slots, why);

    if (rc)
        return rc;
    *out = (struct host){.name = n.name, .user = n.user, .slots = (int)n.number};
    return 0;
}

static int entry_add(struct host_list *l, const char *text, struct fault *why)
{
    struct host h = {0};
    int rc = host_list_parse_host(&h, text, why);

    if (!rc)
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    return rc;
}

/* Changes `text`. */
static int entries_add(struct host_list *l, char *text, struct fault *why)
{
    char *entry, shown[TEXT_SHOWN];
    int rc = 0;

    for (int i = 1; !rc && (entry = strsep(&text, ",")); i++) {
        entry = text_trim(entry);
        rc = entry_add(l, entry, why);
        if (rc)
            fault_wrap(why, "--hosts: entry %d ('%s')", i, text_show(shown, entry));
    }
    return rc;
}

int host_list_parse(struct host_list **out, const char *text, struct fault *why)
{
    struct host_list *l = NULL;
    char *copy = NULL;
    int rc = host_list_create(&l, "--hosts", why);

    if (!rc)
        rc = string_copy(&copy, text, why);
    if (!rc)
        rc = entries_add(l, copy, why);
    free(copy);
    return host_list_finish(out, l, rc, why);
}
