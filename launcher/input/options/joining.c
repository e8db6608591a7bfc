/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/joining.h"

int joining_check(const struct options *o, struct fault *why)
{
    if (!o->await && o->is_joining_typed && (!o->fanout || !o->listen))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s goes with --await N, which says how many hosts join",
                         o->listen ? "--listen" : "--key-file");
    if (o->fanout && (o->spare_hosts || o->check != FITNESS_NONE || o->evict_slow))
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--spare-hosts, --check and --evict-slow choose among hosts, and do not go "
            "with --fanout, where each host has its place");
    if (!o->await)
        return 0;
    if (!o->key_file)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "hosts that join need a key: --key-file FILE, which `mlaunch join "
                         "--key-new FILE` writes");
    if (o->hosts || o->hostfile || o->spare_hosts || o->exclude)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "the hosts are those that join, so --hosts, --hostfile and --spare-hosts "
                         "do not go with --await");
    if (o->agent_command || o->agent_launcher != LAUNCHER_AUTO)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "hosts that join start their agents themselves, so --agent-launcher and "
                         "--agent-command do not go with --await");
    if (o->check != FITNESS_NONE || o->evict_slow)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--check and --evict-slow choose among hosts, and do not go with --await");
    return 0;
}
