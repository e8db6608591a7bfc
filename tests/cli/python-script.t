#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A Python script may be named like a program, as for torchrun and mlx.launch. Any other program
# that cannot be executed is an error that says what to type.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
needs python3
cd "$T" || exit 1

job() { "$MLAUNCH" -n 2 "$@"; }
# Both ranks have written what the script is started with.
check_ranks() {
    local name=$1
    shift
    check "$name" job "$@"
    check_match "^\[0\] python \['.*train\.py', 'a b'\]$" "$OUT" "$name: rank 0 runs it by Python"
    check_match "^\[1\] python \['.*train\.py', 'a b'\]$" "$OUT" "$name: rank 1 runs it by Python"
}

echo 'import sys; print("python", sys.argv)' > train.py
check_ranks "a script in the working directory starts" train.py "a b"
check_ranks "a script with a path starts" ./train.py "a b"
check_ranks "a script with the whole path starts" "$T/train.py" "a b"
chmod +x train.py
check_ranks "a script that is executable, but without #!, starts" ./train.py "a b"
mkdir bin other
printf '#!/bin/sh\necho own interpreter\n' > bin/train.py
chmod +x bin/train.py
check_output "own interpreter" "a program with a script's name is one" \
    env PATH="$T/bin:$PATH" "$MLAUNCH" -n 1 train.py
check_output "own interpreter" "a program with a script's name and a path is one" \
    "$MLAUNCH" -n 1 bin/train.py
printf '#!/bin/sh\necho "first python3: $*"\n' > other/python3
chmod +x other/python3
check_output "first python3: train.py 1" "python3 is the first one in the ranks' PATH" \
    "$MLAUNCH" -x "PATH=$T/other:$PATH" -n 1 train.py 1
check_error 127 "train\.py: there is no python3 in PATH \($T/bin2\)" \
    "a script without python3 in PATH is refused" "$MLAUNCH" -x "PATH=$T/bin2" -n 1 train.py
check_error 127 "absent\.py: not found in PATH" "a script that is not there is refused" \
    job absent.py
check_error 127 "\./absent\.py: No such file" "a script that is not at its path is refused" \
    job ./absent.py

: > prog
check_error 127 'prog: not found in PATH, but there is a \./prog: write \./prog' \
    "a program here, which PATH does not name, is refused with what to write" job prog
check_error 126 '\./prog: Permission denied; make it executable: chmod \+x \./prog' \
    "a file that is not executable is refused with what to type" job ./prog
check_error 126 '\./other: it is a directory' "a directory is refused as a program" job ./other
check_error 127 'other: not found in PATH \([^;]*$' "a directory is refused as a program of PATH" \
    job other
printf '\x7fELF' > foreign
chmod +x foreign
check_error 126 "\./foreign: it is not a program for this host's processor, $(uname -m); build it there" \
    "a program for another processor is refused" job ./foreign
mkdir dir.py
check_error 126 '\./dir\.py: it is a directory' "a directory is refused as a script" job ./dir.py
done_testing
