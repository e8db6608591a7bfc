/* SPDX-License-Identifier: MIT */
#include "common/text/port_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool port_name_split(const char *text, char device[PORT_NAME_DEVICE], int *port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char *end;
    long number = 0;

    if (length == 0 || length >= PORT_NAME_DEVICE)
        return false;
    if (colon) {
        number = strtol(colon + 1, &end, 10);
        if (colon[1] < '1' || colon[1] > '9' || *end || number > PORT_NAME_MOST)
            return false;
    }
    memcpy(device, text, length);
    device[length] = '\0';
    *port = (int)number;
    return true;
}

const char *port_name_format(char text[PORT_NAME_TEXT], const char *device, int port)
{
    if (port)
        snprintf(text, PORT_NAME_TEXT, "%.*s:%d", PORT_NAME_DEVICE - 1, device, port);
    else
        snprintf(text, PORT_NAME_TEXT, "%.*s", PORT_NAME_DEVICE - 1, device);
    return text;
}
