/* SPDX-License-Identifier: MIT */
#include "launcher/channel/ssh_module.h"

#include "common/build_id.h"

__attribute__((visibility("default")))
const struct ssh_module mlaunch_ssh_module = {build_id, log_open, log_to, remote_channel_open};
