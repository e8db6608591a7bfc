/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/profile_refuse.h"

#include "rdma/standin/profile/profile_keys.h"

#include <stdarg.h>
#include <stdio.h>

const char *const profile_section_words[PROFILE_SECTIONS] = {
    [PROFILE_NETWORK] = "network", [PROFILE_KIND] = "kind",     [PROFILE_DEVICE] = "device",
    [PROFILE_WIRE] = "wire",       [PROFILE_SWITCH] = "switch",
};

int profile_line(const struct profile_section *s, const char *key, const char *other)
{
    int line = profile_key_line(s, key);

    if (!line && other)
        line = profile_key_line(s, other);
    return line ? line : s->line;
}

int profile_refuse(const struct profile *p, const struct profile_section *s, int line,
                   struct fault *why, const char *format, ...)
{
    char text[sizeof(why->text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return fault_set(why, ML_ERR_ARGUMENT, "%s line %d: [%s %s]: %s", p->path, line,
                     profile_section_words[s->kind_of], s->name, text);
}
