/* SPDX-License-Identifier: MIT */
/* config_file.h: INI files with options: [defaults], [profile NAME], [ssh], [rdma]. */
#ifndef LAUNCHER_INPUT_OPTIONS_CONFIG_FILE_H
#define LAUNCHER_INPUT_OPTIONS_CONFIG_FILE_H

#include "common/fault.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/options/setting.h"

#include <stdbool.h>

/* The settings of all files together. */
struct config {
    struct setting_list defaults; /* [defaults], [ssh] and [rdma], in the order of the files */
    struct setting_list profile;  /* [profile NAME] of the wanted name */
    struct string_list profiles;  /* names of all profiles */
    const char *wanted;           /* the profile's name, or NULL */
    bool has_wanted;
};

/* Adds the settings of one file, with the layers `layer` (defaults) and `profile_layer`.
 * ML_ERR_ARGUMENT names file and line. An unknown section or key is an error, in profiles that are
 * not wanted too; the message names the one that is probably meant. */
int config_file_read(struct config *c, const char *path, int layer, int profile_layer,
                     struct fault *why);

/* The same for text that has been read already, which is changed. `path` is its name for
 * messages. */
int config_file_parse(struct config *c, const char *path, char *text, int layer, int profile_layer,
                      struct fault *why);

/* As config_file_read(), but a missing file is skipped, and an unreadable one is skipped with a
 * warning. */
int config_file_read_optional(struct config *c, const char *path, int layer, int profile_layer,
                              struct fault *why);

/* ML_ERR_ARGUMENT with the nearest name if a profile is wanted that none of the files has. */
int config_file_check_profile(const struct config *c, struct fault *why);
void config_file_clear(struct config *c);

/* The path of the user's own file, below $XDG_CONFIG_HOME or home; NULL if neither is an absolute
 * path. Never below the current directory, so that running mlaunch in another user's directory does
 * not run that user's commands. The caller frees *out. */
int config_file_user_path(char **out, struct fault *why);

#endif
