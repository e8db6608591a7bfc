/* SPDX-License-Identifier: MIT */
#include "common/job_options.h"

#include <signal.h>
#include <stddef.h>

const struct named_value job_words_bind[] = {
    {"none", BIND_NONE},       {"hwthread", BIND_HWTHREAD}, {"core", BIND_CORE},
    {"l3cache", BIND_L3CACHE}, {"socket", BIND_SOCKET},     {"numa", BIND_NUMA},
    {"cpus", BIND_CPUS},       {"gpu", BIND_GPU},           {NULL, 0}};
const struct named_value job_words_buffer[] = {
    {"line", BUFFER_LINE}, {"full", BUFFER_FULL}, {"none", BUFFER_NONE}, {NULL, 0}};
const struct named_value job_words_memory[] = {
    {"none", MEMORY_ANY},         {"local", MEMORY_LOCAL},
    {"prefer", MEMORY_PREFERRED}, {"interleave", MEMORY_INTERLEAVED},
    {"nodes", MEMORY_NODES},      {NULL, 0}};
const struct named_value job_words_mpi[] = {
    {"auto", MPI_AUTO}, {"pmi1", MPI_PMI1}, {"pmix", MPI_PMIX}, {"none", MPI_NONE}, {NULL, 0}};
const struct named_value job_words_stdin[] = {
    {"none", STDIN_NONE}, {"all", STDIN_ALL}, {"rank", STDIN_RANK}, {NULL, 0}};
const struct named_value job_words_stop[] = {
    {"none", 0},     {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM},
    {"INT", SIGINT}, {"HUP", SIGHUP},   {NULL, 0}};
