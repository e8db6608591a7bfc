/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/config_file.h"

#include "common/log.h"
#include "launcher/base/text/nearest.h"
#include "launcher/base/text/text_file.h"

#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_LIMIT = 197,   /* characters that inih takes in a line */
    SECTION_LIMIT = 49, /* and in a section's name */
};

/* One file, given to inih line by line. */
struct config_source {
    struct config *config;
    const char *path;
    char *rest;
    int line;
    int layer, profile_layer;
    struct fault *why;
    int rc, bad_line; /* the first refusal */
};

static int line_refuse(struct config_source *s, int rc)
{
    if (!s->rc) {
        s->rc = rc;
        s->bad_line = s->line;
    }
    return 0;
}

static int section_refuse(struct config_source *s, const char *section)
{
    char shown[TEXT_SHOWN];

    if (!*section)
        return fault_set(s->why, ML_ERR_ARGUMENT,
                         "comes before any section; options go below [defaults]");
    return fault_set(s->why, ML_ERR_ARGUMENT,
                     "unknown section [%s]; there are [defaults], [profile NAME], [ssh] and [rdma]",
                     text_show(shown, section));
}

/* The option of a key, the list for its setting (NULL: the profile is not wanted) and its layer. */
struct target {
    const struct option *option;
    struct setting_list *list;
    int layer;
};

static int key_find(struct config_source *s, const char *key, struct target *t)
{
    t->option = option_table_find(key);
    if (!t->option)
        return option_table_unknown(key, s->why);
    if (t->option->scope == OPTION_COMMAND)
        return fault_set(s->why, ML_ERR_ARGUMENT,
                         "%s goes on the command line, not into a configuration file", key);
    return 0;
}

static int profile_find(struct config_source *s, const char *name, const char *key,
                        struct target *t)
{
    struct config *c = s->config;
    int rc = key_find(s, key, t);

    t->list = NULL;
    t->layer = s->profile_layer;
    if (!rc && c->wanted && strcmp(name, c->wanted) == 0) {
        c->has_wanted = true;
        t->list = &c->profile;
    }
    if (!rc && !strings_has(c->profiles.items, name))
        rc = string_list_add(&c->profiles, name, s->why);
    return rc;
}

static int target_find(struct config_source *s, const char *section, const char *key,
                       struct target *t)
{
    *t = (struct target){.list = &s->config->defaults, .layer = s->layer};
    if (strlen(section) >= SECTION_LIMIT)
        return fault_set(s->why, ML_ERR_ARGUMENT, "the section's name is longer than %d bytes",
                         SECTION_LIMIT - 1);
    if (strcmp(section, "defaults") == 0)
        return key_find(s, key, t);
    if (strncmp(section, "profile ", 8) == 0)
        return profile_find(s, section + 8 + strspn(section + 8, " \t"), key, t);
    if (strcmp(section, "ssh") == 0 || strcmp(section, "rdma") == 0)
        return option_table_find_in(&t->option, section, key, s->why);
    return section_refuse(s, section);
}

/* The callback of inih: 1 is success. */
static int pair_read(void *arg, const char *section, const char *key, const char *value)
{
    struct config_source *s = arg;
    struct target t;
    struct setting setting;
    char *where = NULL;
    int rc;

    if (s->rc)
        return 0;
    rc = target_find(s, section, key, &t);
    if (rc)
        return line_refuse(s, rc);
    if (!t.list)
        return 1;
    rc = string_format(&where, s->why, "%s line %d: %s", s->path, s->line, key);
    setting = (struct setting){t.option, (char *)value, where, -1, t.layer};
    if (!rc)
        rc = setting_add(t.list, &setting, s->why);
    free(where);
    /* `where` has named the line already. */
    return rc ? line_refuse(s, rc) : 1;
}

/* The fgets() of inih. Leading blanks are dropped, as inih would take an indented line for a
 * continuation of the value above. */
static char *line_next(char *out, int size, void *arg)
{
    struct config_source *s = arg;
    char *line = text_line(&s->rest);

    if (!line || s->rc)
        return NULL;
    s->line++;
    line += strspn(line, " \t");
    if (strlen(line) > LINE_LIMIT || (int)strlen(line) >= size) {
        line_refuse(
            s,
            fault_set(s->why, ML_ERR_ARGUMENT,
                      "the line is longer than %d bytes; a long list of hosts goes into a hostfile",
                      LINE_LIMIT));
        return NULL;
    }
    return memcpy(out, line, strlen(line) + 1);
}

int config_file_parse(struct config *c, const char *path, char *text, int layer, int profile_layer,
                      struct fault *why)
{
    struct config_source s = {c, path, text, 0, layer, profile_layer, why, 0, 0};
    int bad_line = ini_parse_stream(line_next, &s, pair_read, &s);

    if (bad_line > 0 && (!s.rc || bad_line < s.bad_line))
        return fault_set(why, ML_ERR_ARGUMENT, "%s line %d: is neither [section] nor key = value",
                         path, bad_line);
    return s.rc ? fault_wrap(why, "%s line %d", path, s.bad_line) : 0;
}

int config_file_read(struct config *c, const char *path, int layer, int profile_layer,
                     struct fault *why)
{
    char *text = NULL;
    size_t size;
    int rc = text_file_read(path, &text, &size, why);

    if (rc)
        return fault_wrap(why, "configuration file");
    rc = config_file_parse(c, path, text, layer, profile_layer, why);
    free(text);
    return rc;
}

int config_file_read_optional(struct config *c, const char *path, int layer, int profile_layer,
                              struct fault *why)
{
    if (access(path, R_OK) == 0)
        return config_file_read(c, path, layer, profile_layer, why);
    if (errno != ENOENT && errno != ENOTDIR)
        log_warn("cannot read %s: %s; ignoring it", path, strerror(errno));
    return 0;
}

int config_file_check_profile(const struct config *c, struct fault *why)
{
    const char *near;

    if (!c->wanted || c->has_wanted)
        return 0;
    if (!c->profiles.count)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--profile %s: no configuration file has a [profile %s]", c->wanted,
                         c->wanted);
    near = nearest_word(c->wanted, (const char *const *)c->profiles.items);
    return fault_set(why, ML_ERR_ARGUMENT, "--profile %s: no configuration file has it%s%s%s",
                     c->wanted, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

void config_file_clear(struct config *c)
{
    setting_clear(&c->defaults);
    setting_clear(&c->profile);
    string_list_clear(&c->profiles);
}

static bool path_is_absolute(const char *path)
{
    return path && *path == '/';
}

int config_file_user_path(char **out, struct fault *why)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const struct passwd *me;

    *out = NULL;
    if (path_is_absolute(xdg))
        return string_format(out, why, "%s/mlaunch/mlaunch.ini", xdg);
    if (!path_is_absolute(home)) {
        me = getpwuid(geteuid());
        home = me ? me->pw_dir : NULL;
    }
    if (!path_is_absolute(home))
        return 0;
    return string_format(out, why, "%s/.config/mlaunch/mlaunch.ini", home);
}
