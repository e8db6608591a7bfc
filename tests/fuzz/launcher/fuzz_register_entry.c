/* SPDX-License-Identifier: MIT */
/* fuzz_register_entry.c: any bytes as an entry of the register of mlaunch processes. What is
 * accepted is in range, and the same after it was written and read back. */
#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "launcher/base/machine/register_entry.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct register_entry *e)
{
    char text[REGISTER_STATE_TEXT];
    json_t *host;
    size_t i;

    register_entry_state(e, text);
    if ((unsigned)e->state >= REGISTER_STATES || !text[0] || e->restart < 0 || e->restarts < 0 ||
        e->file.agent_pid < 2 || e->file.agent_pid > INT_MAX ||
        !memchr(e->file.job, '\0', sizeof(e->file.job)) || !json_is_array(e->hosts) ||
        (e->door && !*object_field_text(e->door, "path")) ||
        strlen(object_field_text(e->reach, "ssh_config")) >= PATH_MAX)
        abort();
    json_array_foreach(e->hosts, i, host)
    {
        if (!*object_field_text(host, "name"))
            abort();
    }
}

static void check_again(const struct register_entry *e)
{
    char *text = register_entry_text(e);
    json_t *object = text ? parsed_json(text, strlen(text), 0, NULL) : NULL;
    struct register_entry again;
    struct fault why;

    if (!object || register_entry_take(&again, "again", object, &why))
        abort();
    if (again.state != e->state || again.restart != e->restart ||
        again.file.agent_pid != e->file.agent_pid || !json_equal(again.hosts, e->hosts) ||
        (e->door ? !json_equal(again.door, e->door) : again.door != NULL) ||
        strcmp(again.file.command, e->file.command) != 0)
        abort();
    register_entry_clear(&again);
    json_decref(object);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *object = parsed_json((const char *)data, size, 0, NULL);
    struct register_entry e = {.restart = -7};
    struct fault why = {0};

    if (register_entry_take(&e, "its file", object, &why) == 0) {
        check(&e);
        check_again(&e);
        register_entry_clear(&e);
    } else if (e.restart != -7 || why.code >= 0 || !why.text[0]) {
        abort();
    }
    json_decref(object);
    return 0;
}
