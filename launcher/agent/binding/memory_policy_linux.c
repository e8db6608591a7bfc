/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/memory_policy_linux.h"

#include "common/text/cpu_list.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PREFERRED_MANY = 5,         /* MPOL_PREFERRED_MANY, of Linux 5.15 */
    MODE_BITS = 0xfff,          /* without MPOL_F_… */
    MASK_BITS = CPU_SETSIZE + 1 /* the kernel takes one bit less than it is told */
};

static int first_of(const cpu_set_t *nodes)
{
    int node = 0;

    while (node < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)node, nodes))
        node++;
    return node;
}

static long policy_set(int mode, const cpu_set_t *nodes)
{
    return syscall(SYS_set_mempolicy, mode, mode == MPOL_DEFAULT ? NULL : nodes,
                   mode == MPOL_DEFAULT ? 0 : MASK_BITS);
}

int memory_policy_set(const struct memory_policy *p)
{
    cpu_set_t one;

    if (p->mode == MEMORY_ANY)
        return (int)policy_set(MPOL_DEFAULT, NULL);
    if (p->mode == MEMORY_NODES)
        return (int)policy_set(MPOL_BIND, &p->nodes);
    if (p->mode == MEMORY_INTERLEAVED)
        return (int)policy_set(MPOL_INTERLEAVE, &p->nodes);
    if (CPU_COUNT(&p->nodes) > 1 && policy_set(PREFERRED_MANY, &p->nodes) == 0)
        return 0;
    CPU_ZERO(&one);
    CPU_SET((size_t)first_of(&p->nodes), &one);
    return (int)policy_set(MPOL_PREFERRED, &one);
}

static enum memory_mode mode_of(int mode)
{
    switch (mode & MODE_BITS) {
    case MPOL_BIND:
        return MEMORY_NODES;
    case MPOL_PREFERRED:
    case PREFERRED_MANY:
        return MEMORY_PREFERRED;
    case MPOL_INTERLEAVE:
        return MEMORY_INTERLEAVED;
    default:
        return MEMORY_ANY;
    }
}

int memory_policy_get(struct memory_policy *p)
{
    int mode = MPOL_DEFAULT;

    CPU_ZERO(&p->nodes);
    if (syscall(SYS_get_mempolicy, &mode, &p->nodes, MASK_BITS, NULL, 0))
        return -1;
    p->mode = mode_of(mode);
    if (p->mode == MEMORY_ANY)
        CPU_ZERO(&p->nodes);
    return 0;
}

/* "7f00 prefer (many):0-1 file=…", "7f00 bind=static:0", "7f00 default" */
int memory_policy_parse(struct memory_policy *p, const char *line)
{
    static const struct {
        const char *word;
        enum memory_mode mode;
    } words[] = {{"default", MEMORY_ANY},
                 {"local", MEMORY_ANY},
                 {"bind", MEMORY_NODES},
                 {"prefer", MEMORY_PREFERRED},
                 {"interleave", MEMORY_INTERLEAVED}};
    const char *at = strchr(line, ' ');
    char list[CPU_LIST_TEXT];
    size_t length;

    CPU_ZERO(&p->nodes);
    for (size_t i = 0; at && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strncmp(at + 1, words[i].word, strlen(words[i].word)) != 0)
            continue;
        p->mode = words[i].mode;
        at = strchr(at, ':');
        if (p->mode == MEMORY_ANY)
            return 0;
        length = at ? strcspn(++at, " \n") : sizeof(list);
        if (length >= sizeof(list))
            return -1;
        for (size_t j = 0; j <= length; j++)
            list[j] = (char)(j == length ? '\0' : at[j] == ',' ? '+' : at[j]);
        if (cpu_list_count(list) != 1)
            return -1;
        cpu_list_share(&p->nodes, list, 0);
        return 0;
    }
    return -1;
}

int memory_policy_read(struct memory_policy *p, pid_t pid)
{
    char path[64], line[CPU_LIST_TEXT] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/numa_maps", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return -1;
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    fclose(f);
    return memory_policy_parse(p, line);
}
