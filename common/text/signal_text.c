/* SPDX-License-Identifier: MIT */
#include "common/text/signal_text.h"

#include <stdio.h>
#include <string.h>

const char *signal_text_killed(char text[SIGNAL_TEXT], int signal)
{
    const char *name = sigdescr_np(signal); /* unlike strsignal(), the same in all threads */

    snprintf(text, SIGNAL_TEXT, "was killed by signal %d (%s)", signal,
             name ? name : "real-time signal");
    return text;
}
