# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# flooders.sh: for a *.t that floods a job of fault.sh. The pids of its flooders are in the array
# `flooders`; what is left of them ends with the test.
#
#     flood_end       ends the flooders
#     job_end NAME    a check that the job ends with status 0, and another that nothing is left
# shellcheck disable=SC2154 # mlaunch: of fault.sh
flooders=()

flood_end() {
    [ ${#flooders[@]} -gt 0 ] || return 0 # bash would wait for all its children
    kill "${flooders[@]}" 2> /dev/null
    wait "${flooders[@]}" 2> /dev/null
    flooders=()
}
at_exit flood_end

job_end() {
    wait "$mlaunch"
    status=$?
    flood_end
    if [ "$status" -eq 0 ]; then pass "$1"; else fail "$1" "status $status: $(cat "$T/err")"; fi
    nothing_left "$1: nothing is left"
}
