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
    check_match "^\[0\] python \['.*train\.py', 'a b'\]$" "$OUT" "… on rank 0"
    check_match "^\[1\] python \['.*train\.py', 'a b'\]$" "$OUT" "… on rank 1"
}

echo 'import sys; print("python", sys.argv)' > train.py
check_ranks "a script in the working directory" train.py "a b"
check_ranks "with a path" ./train.py "a b"
check_ranks "with the whole path" "$T/train.py" "a b"
chmod +x train.py
check_ranks "executable, but without #!" ./train.py "a b"
mkdir bin other
printf '#!/bin/sh\necho own interpreter\n' > bin/train.py
chmod +x bin/train.py
check_output "own interpreter" "a program of such a name is one" \
    env PATH="$T/bin:$PATH" "$MLAUNCH" -n 1 train.py
check_output "own interpreter" "with its path, too" "$MLAUNCH" -n 1 bin/train.py
printf '#!/bin/sh\necho "first python3: $*"\n' > other/python3
chmod +x other/python3
check_output "first python3: train.py 1" "python3 is the first one in the ranks' PATH" \
    "$MLAUNCH" -x "PATH=$T/other:$PATH" -n 1 train.py 1
check_error 127 "train\.py: there is no python3 in PATH \($T/bin2\)" "there is none" \
    "$MLAUNCH" -x "PATH=$T/bin2" -n 1 train.py
check_error 127 "absent\.py: not found in PATH" "no such script" job absent.py
check_error 127 "\./absent\.py: No such file" "nor with a path" job ./absent.py

: > prog
check_error 127 'prog: not found in PATH, but there is a \./prog: write \./prog' \
    "a program here, which PATH does not name" job prog
check_error 126 '\./prog: Permission denied; make it executable: chmod \+x \./prog' "not executable" job ./prog
check_error 126 '\./other: it is a directory' "a directory" job ./other
check_error 127 'other: not found in PATH \([^;]*$' "which is no program" job other
printf '\x7fELF' > foreign
chmod +x foreign
check_error 126 "\./foreign: it is not a program for this host's processor, $(uname -m); build it there" \
    "a program for another processor" job ./foreign
mkdir dir.py
check_error 126 '\./dir\.py: it is a directory' "nor a script" job ./dir.py
done_testing
