/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_schedule.h"

int pair_schedule_turns(int n)
{
    return n < 2 ? 0 : n % 2 ? n : n - 1;
}

/* The round robin of tournaments: the last of an even number keeps its seat, the others move round
 * by one place each turn. So those are partners whose numbers add up to the turn, modulo an odd
 * m. */
int pair_schedule_partner(int n, int turn, int mine)
{
    int m = n % 2 ? n : n - 1, other;

    if (n < 2)
        return -1;
    if (mine == m) { /* the seat that does not move: its partner is the one who would otherwise meet
                      * itself */
        for (other = 0; (2 * other) % m != turn % m; other++)
            ;
        return other;
    }
    other = ((turn - mine) % m + m) % m;
    if (other != mine)
        return other;
    return n % 2 ? -1 : m;
}
