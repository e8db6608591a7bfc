# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# judge.sh: whether the ranks of mpi_program.c were one job, and what it has left.

# all_right N NAME: $OUT has N lines of `say`, and nothing in them is wrong.
all_right() {
    if [ "$(grep -c "rank [0-9]* of $1 .*sum right ring right" "$OUT")" = "$1" ]; then
        pass "$2"
    else
        fail "$2"
        diag_file "$OUT"
    fi
}

# nothing_left NAME MARK: no process of a job, and nothing in /dev/shm that was not there.
segments() { find /dev/shm -mindepth 1 -maxdepth 1 | sort; }
nothing_left() {
    no_survivors "$1: no process is left" "$2" 10
    check_output "$SEGMENTS" "$1: no segment is left" segments
}
SEGMENTS=$(segments)
