/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_names.h"

#include "common/address.h"
#include "common/clock.h"
#include "common/text/text_json.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_MS = 3000, ADDRESSES_MOST = 16 };

/* The library's threads go on with a name that is not found in time; the agent ends before them, so
 * nothing of this is freed. */
static struct names_lookup {
    struct gaicb *list, **pointers;
    struct addrinfo hints;
} lookup;

static json_t *addresses_list(const struct addrinfo *found)
{
    json_t *all = json_array();

    for (; found && json_array_size(all) < ADDRESSES_MOST; found = found->ai_next) {
        struct address a = {.length = found->ai_addrlen};
        char text[ADDRESS_TEXT];

        if (found->ai_addrlen > sizeof(a.storage))
            continue;
        memcpy(&a.storage, found->ai_addr, found->ai_addrlen);
        address_format_ip(&a, text);
        json_array_append_new(all, text_json(text));
    }
    return all;
}

static json_t *name_conclude(struct gaicb *one)
{
    int error = gai_error(one);

    if (!one->ar_name)
        return json_object();
    if (error == EAI_INPROGRESS)
        return json_pack("{ss}", "error", "no answer in 3 s");
    if (error)
        return json_pack("{so}", "error", text_json(gai_strerror(error)));
    return json_pack("{so}", "addresses", addresses_list(one->ar_result));
}

static void lookups_wait(size_t count)
{
    int64_t deadline = clock_ms() + WAIT_MS;
    size_t left = count;

    while (left > 0 && clock_left_ms(deadline) > 0) {
        int ms = clock_left_ms(deadline);
        struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

        gai_suspend((const struct gaicb *const *)lookup.pointers, (int)count, &time);
        left = 0;
        for (size_t i = 0; i < count; i++) {
            if (!lookup.pointers[i])
                continue;
            if (gai_error(lookup.pointers[i]) == EAI_INPROGRESS)
                left++;
            else
                lookup.pointers[i] = NULL;
        }
    }
}

void facts_names_resolve(const json_t *names, json_t *out)
{
    size_t count = json_array_size(names);
    json_t *resolved = json_array();

    lookup.hints = (struct addrinfo){.ai_socktype = SOCK_STREAM};
    lookup.list = calloc(count + 1, sizeof(*lookup.list));
    lookup.pointers = calloc(count + 1, sizeof(*lookup.pointers));
    for (size_t i = 0; i < count && lookup.list && lookup.pointers; i++) {
        const char *name = json_string_value(json_array_get(names, i));

        if (!name || !*name)
            continue;
        lookup.list[i].ar_name = strdup(name);
        lookup.list[i].ar_request = &lookup.hints;
        if (lookup.list[i].ar_name)
            lookup.pointers[i] = &lookup.list[i];
    }
    if (lookup.list && lookup.pointers &&
        getaddrinfo_a(GAI_NOWAIT, lookup.pointers, (int)count, NULL) == 0)
        lookups_wait(count);
    for (size_t i = 0; i < count && lookup.list; i++)
        json_array_append_new(resolved, name_conclude(&lookup.list[i]));
    json_object_set_new(out, "resolved", resolved);
}
