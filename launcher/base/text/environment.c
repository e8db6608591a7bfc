/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/environment.h"

#include "common/log.h"
#include "common/text/utf8.h"
#include "launcher/base/text/text_file.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The variables that the agent sets for each rank. */
static const char *const identity[] = {
    "MLAUNCH_RANK",      "MLAUNCH_SIZE",    "MLAUNCH_LOCAL_RANK", "MLAUNCH_LOCAL_SIZE",
    "MLAUNCH_HOST_RANK", "MLAUNCH_HOSTS",   "MLAUNCH_JOB",        "MLAUNCH_COORDINATOR",
    "MLAUNCH_BACKEND",   "MLAUNCH_JOB_DIR",
};

static bool name_is_identity(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(identity) / sizeof(*identity); i++)
        if (strlen(identity[i]) == length && memcmp(identity[i], name, length) == 0)
            return true;
    return false;
}

/* Values are bytes to the kernel, but go to the agents as JSON, which is UTF-8. */
static int value_check(const char *assignment, struct fault *why)
{
    if (utf8_is_valid(assignment))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "%.*s must be UTF-8", (int)strcspn(assignment, "="),
                     assignment);
}

/* Checks a name, which execve(2) and shells must both be able to pass on: no control characters and
 * no blanks. */
static int name_check(const char *name, size_t length, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (length == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "a variable's name is empty");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "the variable's name in '%s' contains a blank or control character",
                             text_show(shown, name));
    if (name_is_identity(name, length))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%.*s is set by mlaunch, to a different value for each rank", (int)length,
                         name);
    return 0;
}

int environment_check(const char *assignment, struct fault *why)
{
    const char *equals = strchr(assignment, '=');
    char shown[TEXT_SHOWN];

    if (!equals)
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not NAME=VALUE",
                         text_show(shown, assignment));
    if (name_check(assignment, (size_t)(equals - assignment), why))
        return ML_ERR_ARGUMENT;
    return value_check(assignment, why);
}

int environment_check_argument(const char *argument, struct fault *why)
{
    size_t name = strcspn(argument, "=");
    char shown[TEXT_SHOWN];

    if (memchr(argument, ',', name)) /* no variable has such a name, but others have lists here */
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is a list, but this option takes one variable: write -x FOO -x "
                         "BAR=3",
                         text_show(shown, argument));
    return argument[name] ? environment_check(argument, why) : name_check(argument, name, why);
}

/* "A=1,B=2", of which A would get "1,B=2": srun and Hydra have such lists. Only names as variables
 * usually have them count, because values such as "a=1,b=2" are usual. */
static const char *second_find(const char *assignment)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *comma = strchr(assignment, '=');

    while (comma && (comma = strchr(comma, ','))) {
        size_t name = strspn(++comma, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

        if (name && comma[name] == '=' && strchr(letters, *comma))
            return comma;
    }
    return NULL;
}

static int given_add(struct string_list *l, const char *assignment, struct fault *why)
{
    const char *second = second_find(assignment);
    char shown[TEXT_SHOWN];

    if (second)
        log_warn("-x %s is one variable; if %.*s is another, give it a -x of its own",
                 text_show(shown, assignment), (int)strcspn(second, "="), second);
    return string_list_add(l, assignment, why);
}

static int matching_add(struct string_list *l, const char *glob, char *const *caller,
                        struct fault *why)
{
    bool found = false;
    int rc = 0;

    for (; *caller && !rc; caller++) {
        size_t length = strcspn(*caller, "=");
        char *name = strndup(*caller, length);

        if (!name)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        if (fnmatch(glob, name, 0) == 0 && name_check(name, length, NULL) == 0) {
            found = true;
            if (utf8_is_valid(*caller))
                rc = string_list_add(l, *caller, why);
            else
                log_warn("-x %s: %s is not UTF-8; the ranks will not get it", glob, name);
        }
        free(name);
    }
    if (!rc && !found)
        log_info("-x %s matches no variable in this environment", glob);
    return rc;
}

static int caller_add(struct string_list *l, const char *name, char *const *caller,
                      struct fault *why)
{
    size_t length = strlen(name);

    for (; *caller; caller++)
        if (strncmp(*caller, name, length) == 0 && (*caller)[length] == '=')
            return value_check(*caller, why) ? ML_ERR_ARGUMENT : string_list_add(l, *caller, why);
    log_warn("%s is not set here, so -x %s passes nothing", name, name);
    return 0;
}

int environment_add(struct string_list *l, const char *argument, char *const *caller,
                    struct fault *why)
{
    int rc = environment_check_argument(argument, why);

    if (rc)
        return rc;
    if (strchr(argument, '='))
        return given_add(l, argument, why);
    if (strpbrk(argument, "*?["))
        return matching_add(l, argument, caller, why);
    return caller_add(l, argument, caller, why);
}

int environment_read(struct string_list *l, const char *path, struct fault *why)
{
    char *text = NULL, *rest, *line;
    size_t size = 0;
    int rc = text_file_read(path, &text, &size, why);

    if (rc)
        return rc;
    rest = text;
    for (int number = 1; !rc && (line = text_line(&rest)); number++) {
        line = text_trim(line);
        if (!*line || *line == '#')
            continue;
        if (strncmp(line, "export", 6) == 0 && text_is_blank(line[6]))
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "a line is NAME=VALUE, as no shell reads it: leave out 'export'");
        else
            rc = environment_check(line, why);
        if (rc)
            fault_wrap(why, "%s line %d", path, number);
        else
            rc = string_list_add(l, line, why);
    }
    free(text);
    return rc;
}

const char *environment_find(char *const *list, const char *name)
{
    const char *found = NULL;
    size_t length = strlen(name);

    for (; list && *list; list++)
        if (strncmp(*list, name, length) == 0 && (*list)[length] == '=')
            found = *list + length + 1;
    return found;
}
