/* SPDX-License-Identifier: MIT */
/* llm_serve.h: `llm serve` answers over HTTP. */
#ifndef LLM_LLM_SERVE_H
#define LLM_LLM_SERVE_H

/* argv[0] is the word; every rank calls it. Returns the exit status. */
int llm_serve(int argc, char **argv);

#endif
