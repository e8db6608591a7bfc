#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch.Pool and mlaunch.Transfer (transfer_calls.py): what is put arrives, bit by bit, over
# shared memory and TCP; full pools, double releases, threads, dead ranks. The long form moves 500
# MB as well.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"

needs python3
PYTHON=$(command -v python3)
for p in "$PYTHON" /usr/bin/python3; do
    if "$p" -c 'import numpy' 2> /dev/null; then PYTHON=$p; fi
done
export PYTHONDONTWRITEBYTECODE=1
CALLS=$SOURCE/tests/runtime/transfer_calls.py
LONG=()
if is_long; then LONG=(long); fi

for way in "-n 1" "-n 2" "-n 2 --backend tcp --local net" "-n 3 --oversubscribe"; do
    # shellcheck disable=SC2086
    check "a job of all transfers ends well, $way" "$MLAUNCH" $way --output raw "${STRANGER[@]}" \
        -- "$PYTHON" "$CALLS" "${LONG[@]}"
    check_match '^all transfers are right' "$OUT" "all transfers are right, $way"
done
for way in "-n 2" "-n 2 --backend tcp --local net"; do
    # shellcheck disable=SC2086
    check "a rank that leaves ends no job, $way" "$MLAUNCH" $way \
        --output raw "${STRANGER[@]}" -- "$PYTHON" "$CALLS" dead
    check_match '^the dead producer was noticed' "$OUT" \
        "a rank that leaves is an error for those that wait for its keys, $way"
done
torch=
if [ "$SANITIZE" = no ]; then
    for p in $(command -v python3) /usr/bin/python3; do
        if "$p" -c 'import torch' 2> /dev/null; then torch=$p; fi
    done
fi
if [ -n "$torch" ]; then
    check "a job with tensors of torch ends well" "$MLAUNCH" -n 2 --output raw \
        -x OMP_NUM_THREADS=1 -- "$torch" "$CALLS" torch
    check_match 'with torch$' "$OUT" "transfers of torch's tensors are right"
else
    skip "a job with tensors of torch ends well" "no torch here"
fi
done_testing
