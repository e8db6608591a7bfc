/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/options_load.h"

#include "common/failure_times.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/config_file.h"
#include "launcher/input/options/option_value.h"
#include "launcher/input/options/setting.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable_prefix[] = "MLAUNCH_OPT_";

/* "INIT_TIMEOUT=5" → "init-timeout". */
static char *option_name_of(const char *variable)
{
    char *name = strndup(variable, strcspn(variable, "="));

    for (char *c = name; c && *c; c++)
        *c = (char)(*c == '_' ? '-' : tolower((unsigned char)*c));
    return name;
}

static int variable_read(struct setting_list *l, const char *variable, struct fault *why)
{
    char *name = option_name_of(variable + strlen(variable_prefix)), *where = NULL;
    const char *value = strchr(variable, '=');
    struct setting s = {name ? option_table_find(name) : NULL, (char *)value + 1, NULL, -1,
                        LAYER_ENVIRONMENT};
    int rc = name ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!rc)
        rc = string_format(&where, why, "%.*s", (int)(value - variable), variable);
    s.where = where;
    if (!rc && !s.option && (rc = option_table_unknown(name, why)))
        fault_wrap(why, "%s", where);
    else if (!rc)
        rc = setting_add(l, &s, why);
    free(name);
    free(where);
    return rc;
}

/* Adds the settings of MLAUNCH_OPT_<OPTION>; empty values are ignored. */
static int environment_scan(struct setting_list *l, char *const *environment, struct fault *why)
{
    int rc = 0;

    for (; !rc && environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');

        if (strncmp(*environment, variable_prefix, strlen(variable_prefix)) == 0 && equals &&
            equals[1])
            rc = variable_read(l, *environment, why);
    }
    return rc;
}

/* Appends the settings of all files: the defaults, then the profile. */
static int files_read(struct setting_list *l, const struct options_source *from, const char *file,
                      const char *profile, struct fault *why)
{
    struct config c = {.wanted = profile};
    int rc = 0;

    if (from->system_config)
        rc = config_file_read_optional(&c, from->system_config, LAYER_SYSTEM, LAYER_PROFILE, why);
    if (!rc && from->user_config)
        rc = config_file_read_optional(&c, from->user_config, LAYER_USER,
                                       LAYER_PROFILE + LAYER_USER, why);
    if (!rc && file)
        rc = config_file_read(&c, file, LAYER_CONFIG, LAYER_PROFILE + LAYER_CONFIG, why);
    if (!rc)
        rc = config_file_check_profile(&c, why);
    if (!rc)
        rc = setting_add_all(l, &c.defaults, why);
    if (!rc)
        rc = setting_add_all(l, &c.profile, why);
    config_file_clear(&c);
    return rc;
}

static int setting_apply(struct options *o, const struct setting *s, struct fault *why)
{
    int first = s->app < 0 ? 0 : s->app, last = s->app < 0 ? o->app_count - 1 : s->app, rc = 0;

    o->layer = s->layer;
    if (s->option->scope != OPTION_APP)
        last = first;
    for (int i = first; i <= last && !rc; i++)
        rc = s->option->set(s->option->scope == OPTION_APP ? (void *)&o->apps[i] : o, s->option,
                            s->value, why);
    return rc ? fault_wrap(why, "%s", s->where) : 0;
}

/* Own options of a subcommand are not for `o`. Options that have no meaning for it are not on its
 * command line, and are ignored elsewhere. */
static int settings_apply(struct options *o, const struct setting_list *l,
                          const struct command_syntax *syntax, struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < l->count && !rc; i++) {
        const struct option *option = l->items[i].option;

        if (option->set && (!syntax->borrows_all || command_syntax_borrows(syntax, option->name)))
            rc = setting_apply(o, &l->items[i], why);
    }
    return rc;
}

/* Takes over the argv of each program. Options of a program may be set without one, too. */
static int programs_take(struct options *o, struct command_line *c, struct fault *why)
{
    int count = c->program_count ? c->program_count : 1;

    o->apps = calloc((size_t)count, sizeof(*o->apps));
    if (!o->apps)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    o->app_count = count;
    for (int i = 0; i < c->program_count; i++) {
        o->apps[i].argv = c->programs[i];
        c->programs[i] = NULL;
    }
    return 0;
}

/* --config and --profile may themselves come from the environment. */
static const char *value_find(const struct setting_list *command_line,
                              const struct setting_list *environment, const char *name)
{
    const char *value = setting_last(command_line, name);

    return value ? value : setting_last(environment, name);
}

static int settings_gather(struct options *o, struct command_line *c,
                           const struct options_source *from, struct fault *why)
{
    struct setting_list environment = {0}, all = {0};
    int rc;

    for (size_t i = 0; i < c->settings.count; i++)
        c->settings.items[i].layer = LAYER_COMMAND_LINE;
    if ((rc = programs_take(o, c, why)) ||
        (rc = environment_scan(&environment, from->environment, why)) ||
        (rc = files_read(&all, from, value_find(&c->settings, &environment, "config"),
                         value_find(&c->settings, &environment, "profile"), why)) ||
        (rc = setting_add_all(&all, &environment, why)) ||
        (rc = setting_add_all(&all, &c->settings, why)))
        goto out;
    rc = settings_apply(o, &all, c->syntax, why);
out:
    setting_clear(&environment);
    setting_clear(&all);
    return rc;
}

/* The defaults, without programs. NULL: out of memory. */
static struct options *options_create(void)
{
    struct options *o = calloc(1, sizeof(*o));

    if (o) {
        o->hosts_layer = o->hostfile_layer = o->spare_hosts_layer = -1;
        o->backend = BACKEND_UNSET;
        o->job.rdma.gid_index = -1;
        o->job.grace_ms = GRACE_DEFAULT_MS;
        o->job.init_timeout_ms = INIT_TIMEOUT_DEFAULT_MS;
        o->job.replace_wait_ms = 10000;
        o->job.keep = 1;
        o->ssh_connect_timeout_s = 10;
    }
    return o;
}

static void values_clear(void *of, bool is_app)
{
    for (const struct option *s = option_table; s->help; s++)
        if ((s->scope == OPTION_APP) == is_app)
            option_value_clear(of, s);
}

void options_destroy(struct options *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->app_count; i++) {
        strings_free(o->apps[i].argv);
        values_clear(&o->apps[i], true);
    }
    free(o->apps);
    free(o->exclude);
    values_clear(o, false);
    free(o);
}

static int line_load(struct options **out, struct command_line *c,
                     const struct options_source *from, struct fault *why)
{
    struct options *o = options_create();
    int rc = 0;

    if (!o)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    o->action = c->action;
    if (o->action == OPTIONS_RUN)
        rc = settings_gather(o, c, from, why);
    if (rc)
        options_destroy(o);
    else
        *out = o;
    return rc;
}

static const struct command_syntax run_syntax = {.borrows_all = true};

int options_load_from(struct options **out, const struct options_source *from, struct fault *why)
{
    struct command_line c = {0};
    int rc = command_line_read(&c, &run_syntax, NULL, from->argc, from->argv, why);

    if (!rc)
        rc = line_load(out, &c, from, why);
    command_line_clear(&c);
    return rc;
}

int options_load_line(struct options **out, struct command_line *c, struct fault *why)
{
    struct options_source from = {.environment = environ, .system_config = "/etc/mlaunch.ini"};
    char *user_config = NULL;
    int rc = config_file_user_path(&user_config, why);

    from.user_config = user_config;
    if (!rc)
        rc = line_load(out, c, &from, why);
    free(user_config);
    return rc;
}

int options_load(struct options **out, int argc, char *const *argv, struct fault *why)
{
    struct command_line c = {0};
    int rc = command_line_read(&c, &run_syntax, NULL, argc, argv, why);

    if (!rc)
        rc = options_load_line(out, &c, why);
    command_line_clear(&c);
    return rc;
}
