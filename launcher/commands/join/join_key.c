/* SPDX-License-Identifier: MIT */
#include "launcher/commands/join/join_key.h"

#include "common/log.h"
#include "launcher/wire/uplink/uplink_key.h"

#include <stdlib.h>

static bool is_well(int rc, const struct fault *why)
{
    if (rc)
        log_error("%s", why->text);
    return rc == 0;
}

bool join_key_read(uint8_t out[AUTH_SECRET], const char *path)
{
    char *warning = NULL;
    struct fault why;
    int rc = uplink_key_read(out, path, &warning, &why);

    if (warning)
        log_warn("%s", warning);
    free(warning);
    return is_well(rc, &why);
}

bool join_key_write(const char *path)
{
    struct fault why;

    return is_well(uplink_key_create(path, &why), &why);
}
