/* SPDX-License-Identifier: MIT */
/* pmix_names.c: asks a PMIx server for names as a rank, without MPI: one that nobody publishes, for
 * a second; one that is published, by text and once; twice the same; one that is gone. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void publish(const char *what, const char *key, bool is_once)
{
    pmix_persistence_t once = PMIX_PERSIST_FIRST_READ;
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], key, "value", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &once, PMIX_PERSIST);
    printf("%s: %s\n", what, PMIx_Error_string(PMIx_Publish(info, is_once ? 2 : 1)));
}

/* With a limit it waits for the name. */
static void lookup(const char *what, const char *key, int limit_s)
{
    int all = 0;
    pmix_pdata_t data;
    pmix_info_t info[2];
    pmix_status_t rc;

    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &limit_s, PMIX_INT);
    rc = PMIx_Lookup(&data, 1, info, limit_s ? 2 : 0);
    printf("%s: %s\n", what,
           rc == PMIX_SUCCESS && data.value.type == PMIX_STRING ? data.value.data.string
                                                                : PMIx_Error_string(rc));
}

int main(void)
{
    char *gone[] = {"b", NULL};
    pmix_proc_t me;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    lookup("awaited in vain", "a", 1);
    publish("published once", "a", true);
    lookup("first look", "a", 1);
    lookup("second look", "a", 0);
    publish("published", "b", false);
    publish("again", "b", false);
    lookup("found", "b", 0);
    printf("withdrawn: %s\n", PMIx_Error_string(PMIx_Unpublish(gone, NULL, 0)));
    printf("twice: %s\n", PMIx_Error_string(PMIx_Unpublish(gone, NULL, 0)));
    PMIx_Finalize(NULL, 0);
    return 0;
}
