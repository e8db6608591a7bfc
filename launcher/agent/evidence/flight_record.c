/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/flight_record.h"

#include "common/text/object_field.h"
#include "common/text/text_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MOST = 64, MEMBERS_MOST = 1024, TEXT = 256 };

/* torch's name of the group; older versions have no description beside it. */
static const char *group_name(const json_t *entry)
{
    const json_t *both = json_object_get(entry, "process_group");
    const char *name = json_string_value(json_is_array(both) ? json_array_get(both, 0) : both);

    return name ? name : "";
}

/* What the program calls it, where it does. */
static const char *group_title(const json_t *entry)
{
    const json_t *both = json_object_get(entry, "process_group");
    const char *title = json_string_value(json_array_get(both, 1));

    return title && *title && strcmp(title, "undefined") != 0 ? title : group_name(entry);
}

static bool is_between_two(const json_t *entry)
{
    return json_is_true(json_object_get(entry, "is_p2p"));
}

static bool is_complete(const json_t *entry)
{
    return strcmp(object_field_text(entry, "state"), "completed") == 0 ||
           json_is_true(json_object_get(entry, "retired"));
}

static long long call_number(const json_t *entry)
{
    if (is_between_two(entry))
        return object_field_whole(entry, "p2p_seq_id");
    return json_object_get(entry, "collective_seq_id")
               ? object_field_whole(entry, "collective_seq_id")
               : object_field_whole(entry, "seq_id"); /* until torch 2.3 */
}

/* "all_reduce" of "nccl:all_reduce" */
static json_t *call_name(const json_t *entry)
{
    const char *name = object_field_text(entry, "profiling_name"), *colon = strchr(name, ':');

    return text_json(colon ? colon + 1 : name);
}

/* Where the program calls torch: the innermost frame that is not torch's. */
static json_t *call_place(const json_t *entry)
{
    json_t *frames = json_object_get(entry, "frames"), *frame;
    char text[TEXT] = "";
    size_t i;

    json_array_foreach(frames, i, frame)
    {
        const char *file = object_field_text(frame, "filename"), *slash = strrchr(file, '/');

        if (!*file || strstr(file, "/torch/"))
            continue;
        snprintf(text, sizeof(text), "%.100s:%lld %.100s", slash ? slash + 1 : file,
                 object_field_whole(frame, "line"), object_field_text(frame, "name"));
        break;
    }
    return text_json(text);
}

/* The ranks of "[0, 1, 3]" */
static json_t *members_read(const json_t *dump, const char *name)
{
    const json_t *group = json_object_get(json_object_get(dump, "pg_config"), name);
    const char *at = object_field_text(group, "ranks");
    json_t *list = json_array();

    while (json_array_size(list) < MEMBERS_MOST) {
        char *end;
        long rank;

        at += strspn(at, "[, ");
        rank = strtol(at, &end, 10);
        if (end == at || rank < 0)
            break;
        json_array_append_new(list, json_integer(rank));
        at = end;
    }
    return list;
}

static json_t *call_describe(const json_t *dump, const json_t *entry)
{
    const char *name = group_name(entry);
    bool waits = !is_complete(entry);
    json_t *call = json_object();

    json_object_set_new(call, "group", text_json(group_title(entry)));
    json_object_set_new(call, "name", text_json(name));
    json_object_set_new(call, "members", members_read(dump, name));
    json_object_set_new(call, "call", call_name(entry));
    json_object_set_new(call, "number", json_integer(call_number(entry)));
    json_object_set_new(call, "waits", json_boolean(waits));
    json_object_set_new(call, "at", waits ? call_place(entry) : json_string(""));
    return call;
}

/* By group: the first entry behind the last one that is complete, or that one. Entries before it
 * that are not complete are sends and receives of a batch, which torch completes as a whole. */
static json_t *entries_choose(const json_t *entries)
{
    json_t *chosen = json_object(), *entry;
    size_t i;

    json_array_foreach(entries, i, entry)
    {
        const char *name = group_name(entry);
        const json_t *known = json_object_get(chosen, name);

        if (!json_is_object(entry) || (known && !is_complete(known) && !is_complete(entry)) ||
            (!known && json_object_size(chosen) >= GROUPS_MOST))
            continue;
        json_object_set(chosen, name, entry);
    }
    return chosen;
}

json_t *flight_record_calls(const json_t *dump)
{
    json_t *entries = json_object_get(dump, "entries"), *chosen, *calls, *entry;
    const char *name;

    /* torch leaves the list out where it is empty. */
    if (!json_is_string(json_object_get(dump, "version")) || (entries && !json_is_array(entries)))
        return NULL;
    chosen = entries_choose(entries);
    calls = json_array();
    json_object_foreach(chosen, name, entry)
    {
        json_array_append_new(calls, call_describe(dump, entry));
    }
    json_decref(chosen);
    return calls;
}
