/* SPDX-License-Identifier: MIT */
/* llm_generate.h: `llm generate` continues a text. */
#ifndef LLM_LLM_GENERATE_H
#define LLM_LLM_GENERATE_H

/* argv[0] is the word; every rank calls it. Returns the exit status. */
int llm_generate(int argc, char **argv);

#endif
