#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What mlaunch sends to its agents: with twice the hosts it is 2.0 ± 0.2 times as many bytes. The
# agents run here, whatever their hosts are called.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"

# bytes HOSTS NAMES: what mlaunch sends for 4 ranks on each of HOSTS hosts, whose names seq(1)
# makes from NAMES. Prints nothing if the job fails.
bytes() {
    rm -rf "$T/sent"
    mkdir "$T/sent"
    "$MLAUNCH" --agent-command "python3 '$SOURCE/tests/cli/counted.py' '$T/sent/{host}'" \
        -H "$(seq -s, -f "$2" "$1")" --ppn 4 --backend tcp -- true > "$OUT" 2> "$ERR" || return
    cat "$T"/sent/* | awk '{sum += $1} END {print sum}'
}

for names in node%g.cluster node%04g-ib; do
    least=$(bytes 8 "$names")
    for hosts in 16 32; do
        most=$(bytes "$hosts" "$names")
        check_status 0 "$names: $hosts hosts get $most bytes, half as many got $least" \
            test -n "$least" -a -n "$most" -a "$((most * 10))" -ge "$((least * 18))" -a \
            "$((most * 10))" -le "$((least * 22))"
        least=$most
    done
done

done_testing
