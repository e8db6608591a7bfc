/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/device_name.h"

#include "common/rdma_choice.h"
#include "common/text/port_name.h"
#include "launcher/base/text/text_file.h"

#include <ctype.h>
#include <string.h>

int device_name_check(const char *name, struct fault *why)
{
    char shown[TEXT_SHOWN], device[PORT_NAME_DEVICE];
    const char *colon = strrchr(name, ':');
    int port;

    for (const char *c = name; *c; c++)
        if (iscntrl((unsigned char)*c))
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' contains a control character",
                             text_show(shown, name));
    if (port_name_split(name, device, &port) && *name != '-' && !strpbrk(device, "/ "))
        return 0;
    if (colon && colon > name)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not the name of an RDMA device: the port after the colon must be "
                         "from 1 to %d",
                         text_show(shown, name), PORT_NAME_MOST);
    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not the name of an RDMA device",
                     text_show(shown, name));
}

int device_name_check_rails(char *const *names, size_t count, struct fault *why)
{
    if (count > RDMA_RAILS)
        return fault_set(why, ML_ERR_ARGUMENT, "names %zu devices; at most %d are allowed", count,
                         RDMA_RAILS);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            char one[PORT_NAME_DEVICE], other[PORT_NAME_DEVICE];
            int port, other_port;

            if (!port_name_split(names[i], one, &port) ||
                !port_name_split(names[j], other, &other_port) || strcmp(one, other) != 0)
                continue;
            if (port == other_port)
                return fault_set(why, ML_ERR_ARGUMENT, "names %s twice", names[i]);
            if (!port || !other_port)
                return fault_set(why, ML_ERR_ARGUMENT,
                                 "names %s and %s: give both a port, or leave one out", names[i],
                                 names[j]);
        }
    return 0;
}
