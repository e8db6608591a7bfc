/* SPDX-License-Identifier: MIT */
#include "runtime/api_last.h"

_Thread_local struct fault api_last;

const char *api_last_text(void)
{
    return api_last.text;
}
