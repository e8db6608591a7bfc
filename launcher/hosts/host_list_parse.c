/* SPDX-License-Identifier: MIT */
/* host_list_parse.c: hosts in one word each, as -H takes them. */
#include "launcher/hosts/host_name.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdlib.h>
#include <string.h>

int host_parse(struct host *out, const char *text, struct fault *why)
{
    static const struct host_number slots = {"slots", SLOTS_LIMIT};
    struct host_name n;
    int rc = host_name_parse(&n, text, &slots, why);

    if (rc)
        return rc;
    *out = (struct host){.name = n.name, .user = n.user, .slots = (int)n.number};
    return 0;
}

static int add_entry(struct host_list *l, const char *text, struct fault *why)
{
    struct host h = {0};
    int rc = host_parse(&h, text, why);

    if (!rc)
        rc = host_list_add(l, &h, why);
    host_clear(&h);
    return rc;
}

/* Changes `text`. */
static int add_entries(struct host_list *l, char *text, struct fault *why)
{
    char *entry, shown[TEXT_SHOWN];
    int rc = 0;

    for (int i = 1; !rc && (entry = strsep(&text, ",")); i++) {
        entry = text_trim(entry);
        rc = add_entry(l, entry, why);
        if (rc)
            fault_wrap(why, "--hosts: entry %d ('%s')", i, text_show(shown, entry));
    }
    return rc;
}

int host_list_parse(struct host_list **out, const char *text, struct fault *why)
{
    struct host_list *l = NULL;
    char *copy = NULL;
    int rc;

    if ((rc = host_list_create(&l, "--hosts", why)) || (rc = string_copy(&copy, text, why)) ||
        (rc = add_entries(l, copy, why)) || (rc = host_list_merge(l, why)))
        goto fail;
    free(copy);
    *out = l;
    return 0;
fail:
    free(copy);
    host_list_destroy(l);
    return rc;
}

int host_list_local(struct host_list **out, struct fault *why)
{
    struct host_list *l = NULL;
    int rc = host_list_create(&l, "this machine", why);

    if (!rc)
        rc = add_entry(l, "localhost", why);
    if (rc)
        host_list_destroy(l);
    else
        *out = l;
    return rc;
}
