/* SPDX-License-Identifier: MIT */
/*
 * gpu_mpi_calls.c: the messages and collective calls of tests/bench/gpu by MPI, with buffers on
 * GPUs, which it allocates by NVIDIA's driver alone. Prints the same lines. If the MPI library says
 * that it takes no such buffers, it ends with status 3 and one line that says so; with "trust" it
 * measures all the same.
 *
 *     gpu_mpi MIB TURNS LIMIT [trust]
 *
 * The last column is a part of LIMIT, in GB/s; with 0 there is none.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_MOST = 1000, NO_SUPPORT = 3 };

static int rank, ranks;
static size_t size;

static void end(const char *what)
{
    fprintf(stderr, "gpu_mpi: %s\n", what);
    exit(1);
}

static void must(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "gpu_mpi: %s: error %d of the CUDA driver\n", what, result);
    exit(1);
}

/* --- the driver ------------------------------------------------------------------------------- */

static struct {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*alloc)(uint64_t *out, size_t size);
    int (*fill)(uint64_t at, unsigned char value, size_t size, void *stream);
    int (*synchronize)(void *stream);
} cuda;

static void driver_load(void)
{
    static const struct {
        const char *name;
        void *to;
    } names[] = {{"cuInit", &cuda.init},
                 {"cuDeviceGetCount", &cuda.count},
                 {"cuDevicePrimaryCtxRetain", &cuda.retain},
                 {"cuCtxSetCurrent", &cuda.set_current},
                 {"cuMemAlloc_v2", &cuda.alloc},
                 {"cuMemsetD8Async", &cuda.fill},
                 {"cuStreamSynchronize", &cuda.synchronize}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *symbol = library ? dlsym(library, names[i].name) : NULL;

        if (!symbol)
            end(dlerror());
        *(void **)names[i].to = symbol;
    }
}

/* Before MPI_Init: some libraries look which GPU is the current one there. */
static void gpu_choose(void)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    int count = 0;
    void *context;

    if (!local)
        local = getenv("MPI_LOCALRANKID");
    driver_load();
    must(cuda.init(0), "cuInit");
    must(cuda.count(&count), "cuDeviceGetCount");
    if (count < 1)
        end("the CUDA driver has no GPU");
    must(cuda.retain(&context, local ? abs(atoi(local)) % count : 0), "cuDevicePrimaryCtxRetain");
    must(cuda.set_current(context), "cuCtxSetCurrent");
}

static void *gpu_vector(void)
{
    uint64_t at;

    must(cuda.alloc(&at, size), "cuMemAlloc");
    must(cuda.fill(at, 0, size, NULL), "cuMemsetD8Async");
    must(cuda.synchronize(NULL), "cuStreamSynchronize");
    return (void *)(uintptr_t)at; /* NOLINT: the driver's number */
}

/* --- the library ------------------------------------------------------------------------------ */

static bool library_takes_gpus(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT) || defined(MPICH_VERSION)
    return MPIX_Query_cuda_support();
#else
    return false;
#endif
}

/* "Open MPI v4.1.4" from "Open MPI v4.1.4, package: …", "MPICH 4.0.2" from its first line. */
static void library_name(char name[64])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    char version[32] = "";
    int length;

    MPI_Get_library_version(text, &length);
    if (sscanf(text, "MPICH Version: %31s", version) == 1)
        snprintf(name, 64, "MPICH %s", version);
    else
        snprintf(name, 64, "%.*s", (int)strcspn(text, ",\n"), text);
}

/* --- what is measured ------------------------------------------------------------------------- */

static char *source, *target;

static void message(void)
{
    int bytes = (int)size;

    if (rank == 0)
        MPI_Send(source, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(target, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void broadcast(void)
{
    MPI_Bcast(source, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void all_reduce(void)
{
    MPI_Allreduce(source, target, (int)(size / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int order(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;

    return (l > r) - (l < r);
}

static void measure(const char *what, const char *library, void (*call)(void), int turns,
                    double limit)
{
    double rates[TURNS_MOST], took, most;
    char name[128];

    for (int turn = 0; turn <= turns; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        took = MPI_Wtime();
        call();
        took = MPI_Wtime() - took;
        MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (turn) /* the first one opens and registers */
            rates[turn - 1] = (double)size / most / 1e9;
    }
    if (rank)
        return;
    qsort(rates, (size_t)turns, sizeof(rates[0]), order);
    snprintf(name, sizeof(name), "%s, %s", what, library);
    printf("%-28s %8.2f %8.2f", name, rates[turns - 1], rates[turns / 2]);
    if (limit > 0)
        printf("  %5.2f", rates[turns - 1] / limit);
    printf("\n");
}

int main(int argc, char **argv)
{
    long mib = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
    int turns = argc > 3 ? atoi(argv[2]) : 0;
    char library[64];

    if (mib < 1 || mib > 1024 || turns < 1 || turns > TURNS_MOST)
        end("usage: gpu_mpi MIB (1 to 1024) TURNS (1 to 1000) LIMIT [trust]");
    size = (size_t)mib << 20;
    gpu_choose();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    library_name(library);
    if (!library_takes_gpus() && argc < 5) {
        if (rank == 0)
            printf("MPI with CUDA: not here: %s says that it takes no buffers on GPUs\n", library);
        MPI_Finalize();
        return NO_SUPPORT;
    }
    source = gpu_vector();
    target = gpu_vector();
    if (ranks > 1)
        measure("message", library, message, turns, strtod(argv[3], NULL));
    measure("broadcast", library, broadcast, turns, strtod(argv[3], NULL));
    measure("all_reduce", library, all_reduce, turns, strtod(argv[3], NULL));
    MPI_Finalize();
    return 0;
}
