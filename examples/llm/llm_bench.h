/* SPDX-License-Identifier: MIT */
/* llm_bench.h: `llm bench` measures how fast a model answers. */
#ifndef LLM_LLM_BENCH_H
#define LLM_LLM_BENCH_H

/* argv[0] is the word; every rank calls it. Returns the exit status. */
int llm_bench(int argc, char **argv);

#endif
