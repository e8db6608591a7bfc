/* SPDX-License-Identifier: MIT */
/* api_last.h: why a call of this thread has failed last: what ml_error returns. */
#ifndef RUNTIME_API_LAST_H
#define RUNTIME_API_LAST_H

#include "common/fault.h"

/* Each call of mlaunch.h passes it on as the fault to fill. */
extern _Thread_local struct fault api_last;

const char *api_last_text(void);

#endif
