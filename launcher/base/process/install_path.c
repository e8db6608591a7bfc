/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/install_path.h"

#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative places start from the running program's directory: launcher/, launcher/agent/ or
 * launcher/tools/ in a build tree, bin/ or libexec/mlaunch/ in an installation. Those of a build
 * tree come first, because a build must never use another one's installed files. */
static const char *const agent_places[] = {"mlaunch-agent",
                                           "agent/mlaunch-agent",
                                           "../agent/mlaunch-agent",
                                           "../libexec/mlaunch/mlaunch-agent",
                                           "mlaunch/mlaunch-agent",
                                           PKGLIBEXECDIR "/mlaunch-agent",
                                           NULL};
/* A program that mlaunch becomes, or that it or the agent starts. */
#define PROGRAM(name, folder)                                                                      \
    {                                                                                              \
        name, folder "/" name, "../" folder "/" name, "../libexec/mlaunch/" name,                  \
            PKGLIBEXECDIR "/" name, NULL                                                           \
    }
static const char *const bench_places[] = PROGRAM(BENCH_PROGRAM, "tools/bench");
static const char *const pmix_places[] = PROGRAM("mlaunch-pmix", "pmix");
static const char *const entry_places[] = PROGRAM("mlaunch-entry", "agent");
static const char *const bench_command_places[] = PROGRAM("mlaunch-bench-command", "tools");
static const char *const copier_places[] = PROGRAM("mlaunch-copier", "tools");
static const char *const metrics_places[] = PROGRAM("mlaunch-metrics", "tools");
static const char *const sync_places[] = PROGRAM("mlaunch-sync", "tools");
static const char *const top_places[] = PROGRAM("mlaunch-top", "tools");
static const char *const verify_places[] = PROGRAM("mlaunch-verify", "tools");

static const char *const shim_places[] = {"libmlaunch.so.0",
                                          "../runtime/libmlaunch.so.0",
                                          "../../runtime/libmlaunch.so.0",
                                          "../lib/libmlaunch.so.0",
                                          "../../lib/libmlaunch.so.0",
                                          LIBDIR "/libmlaunch.so.0",
                                          NULL};
static const char *const runtime_places[] = {"mlaunch-runtime.so",
                                             "../runtime/mlaunch-runtime.so",
                                             "../../runtime/mlaunch-runtime.so",
                                             "../lib/mlaunch/mlaunch-runtime.so",
                                             "../../lib/mlaunch/mlaunch-runtime.so",
                                             PKGLIBDIR "/mlaunch-runtime.so",
                                             NULL};
static const char *const rdma_places[] = {"mlaunch-rdma.so",
                                          "../rdma/mlaunch-rdma.so",
                                          "../../rdma/mlaunch-rdma.so",
                                          "../lib/mlaunch/mlaunch-rdma.so",
                                          "../../lib/mlaunch/mlaunch-rdma.so",
                                          PKGLIBDIR "/mlaunch-rdma.so",
                                          NULL};
static const char *const probe_places[] = {"mlaunch-probe",
                                           "../rdma/probe/mlaunch-probe",
                                           "../../rdma/probe/mlaunch-probe",
                                           "../bin/mlaunch-probe",
                                           "../../bin/mlaunch-probe",
                                           BINDIR "/mlaunch-probe",
                                           NULL};
/* The package mlaunch, in the directory that is put into PYTHONPATH. */
#define PYTHON_PLACES(part, file)                                                                  \
    {                                                                                              \
        "python/mlaunch/" file, "../runtime/python/mlaunch/" file,                                 \
            "../../runtime/python/mlaunch/" file, "../share/mlaunch/python/mlaunch/" file,         \
            "../../share/mlaunch/python/mlaunch/" file, PKGDATADIR "/python/mlaunch/" file, NULL   \
    }
static const char *const python_places[INSTALL_PYTHON_FILES][7] = {
    INSTALL_PYTHON_ROWS(PYTHON_PLACES),
};

static const char *const hosts_places[] = {
    "hosts", "../hosts", "../libexec/mlaunch/hosts", "../../hosts", PKGLIBEXECDIR "/hosts", NULL};
static const char *const ssh_places[] = {"mlaunch-ssh.so",
                                         "../mlaunch-ssh.so",
                                         "../lib/mlaunch/mlaunch-ssh.so",
                                         "../../lib/mlaunch/mlaunch-ssh.so",
                                         PKGLIBDIR "/mlaunch-ssh.so",
                                         NULL};

/* mlaunch-uninstalled.pc comes before mlaunch.pc, as in pkg-config: the latter is for the
 * installation that the build is to become. */
static const char *const mlaunch_places[] = {"mlaunch", "../../launcher/mlaunch",
                                             "../../bin/mlaunch", BINDIR "/mlaunch", NULL};
static const char *const man_places[] = {"../doc/man/man1", "../share/man/man1", MANDIR "/man1",
                                         NULL};
static const char *const pkg_config_places[] = {"../runtime/mlaunch-uninstalled.pc",
                                                "../lib/pkgconfig/mlaunch.pc",
                                                PKGCONFIGDIR "/mlaunch.pc", NULL};

#define PYTHON_PART(part, file) [part] = {python_places[part - INSTALL_MODULE], R_OK}
static const struct {
    const char *const *places;
    int mode;
} parts[] = {
    [INSTALL_AGENT] = {agent_places, X_OK},
    [INSTALL_SHIM] = {shim_places, R_OK},
    [INSTALL_RUNTIME] = {runtime_places, R_OK},
    INSTALL_PYTHON_ROWS(PYTHON_PART),
    [INSTALL_RDMA] = {rdma_places, R_OK},
    [INSTALL_PROBE] = {probe_places, X_OK},
    [INSTALL_BENCH] = {bench_places, X_OK},
    [INSTALL_PMIX] = {pmix_places, X_OK},
    [INSTALL_ENTRY] = {entry_places, X_OK},
    [INSTALL_COPIER] = {copier_places, X_OK},
    [INSTALL_HOSTS] = {hosts_places, X_OK},
    [INSTALL_SSH] = {ssh_places, R_OK},
    [INSTALL_MLAUNCH] = {mlaunch_places, X_OK},
    [INSTALL_METRICS] = {metrics_places, X_OK},
    [INSTALL_SYNC] = {sync_places, X_OK},
    [INSTALL_TOP] = {top_places, X_OK},
    [INSTALL_VERIFY] = {verify_places, X_OK},
    [INSTALL_BENCH_COMMAND] = {bench_command_places, X_OK},
    [INSTALL_MAN] = {man_places, R_OK},
    [INSTALL_PKG_CONFIG] = {pkg_config_places, R_OK},
};

static int program_directory(char out[PATH_MAX], struct fault *why)
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

    if (n < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read /proc/self/exe");
    out[n] = '\0';
    *strrchr(out, '/') = '\0'; /* the kernel gives an absolute path */
    return 0;
}

/* A build without PMIx, RDMA or SSH will not make these. */
static bool is_of_this_build(enum install_part part)
{
    return (part != INSTALL_PMIX || HAVE_PMIX) && (part != INSTALL_SSH || HAVE_SSH) &&
           ((part != INSTALL_RDMA && part != INSTALL_PROBE) || HAVE_RDMA);
}

/* Whether the running program lies in a build folder: in launcher/ or a folder of it. */
static bool is_build_folder(const char *dir)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s/../config.status", dir);
    if (access(path, F_OK) == 0)
        return true;
    snprintf(path, sizeof(path), "%s/../../config.status", dir);
    return access(path, F_OK) == 0;
}

static int missing_say(enum install_part part, const char *dir, struct fault *why)
{
    const char *place = parts[part].places[0];
    const char *name = strncmp(place, "../", 3) == 0 ? strrchr(place, '/') + 1 : place;

    if (is_of_this_build(part) && is_build_folder(dir))
        return fault_set(why, ML_ERR_STATE,
                         "%s is not built yet: ./bootstrap in mlaunch's source builds all of it",
                         name);
    return fault_set(why, ML_ERR_SYSTEM,
                     "%s is missing: searched beside %s and in the places of the installation; "
                     "install mlaunch as a whole",
                     name, dir);
}

/* The kernel has resolved `dir`, so each "../" of the place takes the last folder away. False: the
 * path is too long. */
static bool place_join(char path[PATH_MAX], const char *dir, const char *place)
{
    size_t length = *place == '/' ? 0 : strlen(dir);

    for (; strncmp(place, "../", 3) == 0; place += 3)
        while (length && dir[--length] != '/')
            ;
    return snprintf(path, PATH_MAX, "%.*s/%s", (int)length, dir, place + (*place == '/')) <
           PATH_MAX;
}

/* The first of the places at which there is such a file. */
int install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why)
{
    const char *const *place = parts[part].places; /* at least one */
    char dir[PATH_MAX], path[PATH_MAX];
    int rc = program_directory(dir, why);

    if (rc)
        return rc;
    do {
        if (**place == '/' && is_build_folder(dir))
            continue; /* it is from another build */
        if (place_join(path, dir, *place) && access(path, parts[part].mode) == 0) {
            memcpy(out, path, strlen(path) + 1);
            return 0;
        }
    } while (*++place);
    return missing_say(part, dir, why);
}

int install_path_find_directory(char out[PATH_MAX], enum install_part part, struct fault *why)
{
    int rc = install_path_find(out, part, why);

    if (rc)
        return rc;
    *strrchr(out, '/') = '\0';  /* each place has one */
    if (part == INSTALL_MODULE) /* the directory of the package, not the one in it */
        *strrchr(out, '/') = '\0';
    return 0;
}

bool install_path_is_partial(const char *name)
{
    static const char digits[] = "0123456789abcdef";

    return name[0] == '.' && strlen(name) == 17 && strspn(name + 1, digits) == 16;
}
