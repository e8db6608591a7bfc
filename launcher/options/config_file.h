/* SPDX-License-Identifier: MIT */
/* config_file.h: INI files with options: [defaults], [profile NAME], [ssh], [rdma]. */
#ifndef LAUNCHER_OPTIONS_CONFIG_FILE_H
#define LAUNCHER_OPTIONS_CONFIG_FILE_H

#include "common/fault.h"
#include "launcher/options/setting.h"
#include "launcher/text/string_list.h"

#include <stdbool.h>

/* What all files together say. */
struct config {
    struct setting_list defaults; /* [defaults], [ssh] and [rdma], in the order of the files */
    struct setting_list profile;  /* [profile NAME] of the wanted name */
    struct string_list profiles;  /* names of all profiles */
    const char *wanted;           /* the profile's name, or NULL */
    bool has_wanted;
};

/* Adds one file. Settings get the layers `layer` (defaults) and `profile_layer`. Unknown sections
 * and keys are errors that name file, line and the nearest known one, in profiles that aren't
 * wanted too. */
int config_file_read(struct config *c, const char *path, int layer, int profile_layer,
                     struct fault *why);

/* The same for text that has been read already; it is changed. `path` is its name for messages. */
int config_file_parse(struct config *c, const char *path, char *text, int layer, int profile_layer,
                      struct fault *why);

/* As config_file_read, but a file that isn't there is none, and one that can't be read is a
 * warning. */
int config_file_read_optional(struct config *c, const char *path, int layer, int profile_layer,
                              struct fault *why);

/* The wanted profile is in none of the files: ML_ERR_ARGUMENT with the nearest name. */
int config_check_profile(const struct config *c, struct fault *why);
void config_clear(struct config *c);

/* The user's own file below $XDG_CONFIG_HOME or home; NULL if neither is an absolute path. Never
 * anything below the current directory: who runs mlaunch in a stranger's directory runs no
 * stranger's commands. */
int config_file_user_path(char **out, struct fault *why);

#endif
