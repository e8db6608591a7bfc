/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/options.h"

#include <stdlib.h>

struct options *options_create(void)
{
    struct options *o = calloc(1, sizeof(*o));

    if (o) {
        o->hosts_layer = o->hostfile_layer = o->spare_hosts_layer = -1;
        o->backend = BACKEND_UNSET;
        o->job.rdma.gid_index = -1;
        o->job.grace_ms = 5000;
        o->job.init_timeout_ms = 60000;
        o->ssh_connect_timeout_s = 10;
    }
    return o;
}

void options_destroy(struct options *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->app_count; i++) {
        strings_free(o->apps[i].argv);
        free(o->apps[i].cwd);
        string_list_clear(&o->apps[i].env_files);
        string_list_clear(&o->apps[i].env);
    }
    free(o->apps);
    free(o->hosts);
    free(o->hostfile);
    free(o->spare_hosts);
    free(o->stdin_to);
    free(o->output);
    free(o->ssh_config);
    free(o->rdma_device);
    free(o->tuning);
    free(o->agent);
    free(o->agent_command);
    free(o->events);
    free(o->record);
    free(o->trace);
    free(o->compare_hashes);
    free(o->job.prolog);
    free(o->job.epilog);
    string_list_clear(&o->wraps);
    free(o->gdb);
    free(o->chaos);
    free(o->job.name);
    free(o->config);
    free(o->profile);
    free(o);
}
