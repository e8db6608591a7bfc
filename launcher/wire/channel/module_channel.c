/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/module_channel.h"

#include "config.h"

#include "common/build_id.h"
#include "launcher/base/process/install_path.h"

#include <dlfcn.h>
#include <string.h>

/* The module's lines are complete except for the program's name, which mlaunch's log adds. */
static void line_pass_on(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_at(level, "%s", text);
}

/* Never closed: libcrypto cleans up when the process exits. */
static int module_load(const struct channel_module **out, struct fault *why)
{
    char path[PATH_MAX];
    const struct channel_module *m;
    void *library;
    int rc;

    if (!HAVE_SSH)
        return fault_set(why, ML_ERR_SYSTEM,
                         "SSH cannot be used: this mlaunch was built without it; ./bootstrap in "
                         "its source installs libssh and builds all of it");
    rc = install_path_find(path, INSTALL_SSH, why);
    if (rc)
        return rc;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    m = library ? dlsym(library, CHANNEL_MODULE_SYMBOL) : NULL;
    if (!m)
        return fault_set(why, ML_ERR_SYSTEM, "SSH cannot be used: %s", dlerror());
    if (strcmp(m->build, build_id) != 0)
        return fault_set(why, ML_ERR_REFUSED,
                         "%s is of build %s, this mlaunch of %s; install mlaunch as a whole", path,
                         m->build, build_id);
    m->log_open("mlaunch", log_level());
    m->log_to(line_pass_on, NULL);
    log_debug("SSH module %s loaded", path);
    *out = m;
    return 0;
}

int module_channel_open(struct channel **out, const struct host *host,
                        const struct channel_config *config, channel_ready_fn *ready, void *arg,
                        struct fault *why)
{
    static const struct channel_module *module;
    int rc = module ? 0 : module_load(&module, why);

    return rc ? rc : module->open(out, host, config, ready, arg, why);
}
