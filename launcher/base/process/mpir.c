/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/mpir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_NONE, STATE_SPAWNED, STATE_ABORTING };

/* Names and types are the interface's. Debuggers find the type by its name. */
typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

#pragma GCC visibility push(default)
extern MPIR_PROCDESC *MPIR_proctable;
extern int MPIR_proctable_size;
extern volatile int MPIR_being_debugged, MPIR_debug_state, MPIR_i_am_starter;
extern volatile int MPIR_partial_attach_ok;
extern char *MPIR_debug_abort_string;
void MPIR_Breakpoint(void);
#pragma GCC visibility pop

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged; /* written by the debugger */
volatile int MPIR_debug_state;
volatile int MPIR_i_am_starter;      /* that they are there says: mlaunch itself is no rank, */
volatile int MPIR_partial_attach_ok; /* and it lets all ranks go on that have been held */
char *MPIR_debug_abort_string;

/* The debugger's place to stop. */
__attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

/* One a process, as what it fills. */
static struct {
    MPIR_PROCDESC *ranks;
    int size;
    char abort_text[512];
} table;

bool mpir_is_debugged(void)
{
    return MPIR_being_debugged != 0;
}

static void table_clear(void)
{
    MPIR_proctable_size = 0;
    MPIR_proctable = NULL;
    for (int i = 0; i < table.size; i++) {
        free(table.ranks[i].host_name);
        free(table.ranks[i].executable_name);
    }
    free(table.ranks);
    table.ranks = NULL;
    table.size = 0;
}

int mpir_begin(int size, struct fault *why)
{
    table_clear();
    MPIR_debug_state = STATE_NONE;
    table.ranks = calloc((size_t)size, sizeof(*table.ranks));
    if (!table.ranks)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for the debuggers' table of ranks");
    table.size = size;
    return 0;
}

void mpir_set(int rank, const char *host, const char *program, int pid)
{
    MPIR_PROCDESC *r = &table.ranks[rank];

    r->host_name = strdup(host);
    r->executable_name = strdup(program);
    r->pid = pid;
}

void mpir_show(void)
{
    MPIR_proctable = table.ranks;
    MPIR_proctable_size = table.size;
    MPIR_debug_state = STATE_SPAWNED;
    MPIR_Breakpoint();
}

void mpir_abort(const char *why)
{
    snprintf(table.abort_text, sizeof(table.abort_text), "%s", why);
    MPIR_debug_abort_string = table.abort_text;
    MPIR_debug_state = STATE_ABORTING;
    MPIR_Breakpoint();
}
