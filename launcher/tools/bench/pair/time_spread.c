/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/time_spread.h"

#include <math.h>

enum { STEPS = TIME_SPREAD_POWERS * TIME_SPREAD_STEPS };

/* Steps are equally wide between two powers of two ns. Below 1 ns there is one step only. */
static int step_of(double us)
{
    int power;
    double fraction = frexp(us * 1000, &power); /* 0.5 to 1, times 2^power */
    int step = (power - 1) * TIME_SPREAD_STEPS + (int)((fraction - 0.5) * 2 * TIME_SPREAD_STEPS);

    return us < 0.001 ? 0 : step < STEPS ? step : STEPS - 1;
}

/* The middle of a step, in us. */
static double middle_of(int step)
{
    double within = (step % TIME_SPREAD_STEPS + 0.5) / TIME_SPREAD_STEPS;

    return ldexp(1 + within, step / TIME_SPREAD_STEPS) / 1000;
}

void time_spread_add(struct time_spread *s, double us)
{
    s->least_us = s->count ? fmin(s->least_us, us) : us;
    s->most_us = fmax(s->most_us, us);
    s->sum += us;
    s->squares += us * us;
    s->count++;
    s->steps[step_of(us)]++;
}

/* The least time that at least `share` of all are not above. */
static double share_below(const struct time_spread *s, double share)
{
    double wanted = ceil(share * (double)s->count), seen = 0;

    for (int i = 0; i < STEPS; i++) {
        seen += s->steps[i];
        if (seen >= wanted)
            return fmin(fmax(middle_of(i), s->least_us), s->most_us);
    }
    return s->most_us;
}

struct time_summary time_spread_summarize(const struct time_spread *s)
{
    struct time_summary t = {0};
    double n = (double)s->count;

    if (!s->count)
        return t;
    t.count = n;
    t.min = s->least_us;
    t.max = s->most_us;
    t.mean = s->sum / n;
    t.stdev = sqrt(fmax(0, s->squares / n - t.mean * t.mean));
    t.p25 = share_below(s, 0.25);
    t.typical = share_below(s, 0.5);
    t.p75 = share_below(s, 0.75);
    t.p99 = share_below(s, 0.99);
    t.p999 = share_below(s, 0.999);
    return t;
}
