/* SPDX-License-Identifier: MIT */
/*
 * mpi_program.c: an MPI program that knows nothing of mlaunch, compiled by the tests with MPICH's
 * or Open MPI's own compiler. Every rank says what it has seen in one line; then, as the first
 * argument says:
 *   abort N   the last rank calls MPI_Abort with N
 *   kill      the last rank is killed by SIGKILL while the others are in a barrier
 *   leave     the last rank exits with 0 without MPI_Finalize
 *   absent    the last rank exits with 0 without MPI_Init
 *   late      the last rank waits for ever while the others are in a barrier
 *   together N  (also behind the words of another one) rank 0 calls MPI_Abort with N once all have
 *             spoken: MPICH 4.0 over UCX's TCP may wait for ever in MPI_Finalize, whatever the
 *             launcher
 *   names     rank 0 publishes a name, and the last rank finds it
 *   connect   rank 0 opens a port, and the last rank finds it by its name and connects to it
 *   first N   the last rank fails, unless MLAUNCH_RESTART is N
 *   spawn     rank 0 tries MPI_Comm_spawn
 *   stay      all ranks wait for ever
 *   version   prints the library's version, without MPI_Init
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void say(void)
{
    int sum, from = -1, has_number, *number, last = (rank + size - 1) % size;

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT, last, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &has_number);
    printf("rank %d of %d program %d sum %s ring %s\n", rank, size, has_number ? *number : -1,
           sum == size * (size - 1) / 2 ? "right" : "wrong", from == last ? "right" : "wrong");
    fflush(stdout);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Publish_name("here", MPI_INFO_NULL, "port-of-rank-0");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < size - 1)
        return;
    rc = MPI_Lookup_name("nowhere", MPI_INFO_NULL, port);
    printf("unknown name: %s\n", rc == MPI_SUCCESS ? "found" : "not found");
    rc = MPI_Lookup_name("here", MPI_INFO_NULL, port);
    printf("name: %s\n", rc == MPI_SUCCESS ? port : "not found");
}

static void connection(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int number = 5, got = -1;
    MPI_Comm other;

    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("door", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        MPI_Send(&number, 1, MPI_INT, 0, 0, other);
    } else if (rank == size - 1) {
        MPI_Lookup_name("door", MPI_INFO_NULL, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        MPI_Recv(&got, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
        printf("connected: %s\n", got == number ? "right" : "wrong");
    } else {
        return;
    }
    MPI_Comm_disconnect(&other);
    if (rank == 0) {
        MPI_Unpublish_name("door", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

static void spawn(char *program)
{
    MPI_Comm children;
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rc = MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                        MPI_ERRCODES_IGNORE);
    printf("spawn: %s\n", rc == MPI_SUCCESS ? "done" : "refused");
}

static int version(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(text, &length);
    return puts(text) < 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *text = argc > 2 ? argv[2] : "0";
    const char *end = argc > 3 ? argv[3] : what;
    const char *mine = getenv("MLAUNCH_RANK"), *all = getenv("MLAUNCH_SIZE");
    const char *run = getenv("MLAUNCH_RESTART");

    if (strcmp(what, "absent") == 0 && mine && all && atoi(mine) == atoi(all) - 1)
        return 0;
    if (strcmp(what, "version") == 0)
        return version();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say();
    if (rank == size - 1) {
        if (strcmp(what, "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, atoi(text));
        if (strcmp(what, "kill") == 0)
            raise(SIGKILL);
        if (strcmp(what, "leave") == 0)
            _exit(0);
        if (strcmp(what, "late") == 0)
            pause();
        if (strcmp(what, "first") == 0 && run && strcmp(run, text) != 0)
            _exit(3);
    }
    if (strcmp(what, "names") == 0)
        names();
    if (strcmp(what, "connect") == 0)
        connection();
    if (strcmp(what, "stay") == 0)
        pause();
    if (strcmp(what, "spawn") == 0 && rank == 0)
        spawn(argv[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(end, "together") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[argc - 1]));
    if (strcmp(end, "together") == 0)
        pause();
    MPI_Finalize();
    return 0;
}
