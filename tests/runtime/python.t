#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Python module: it can be imported in ranks, every call (python_calls.py), slips
# (python_slips.py), what is started (python_started.py), errors, abort; with numpy where there is
# one.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

needs python3
PYTHON=$(command -v python3)
export PYTHONDONTWRITEBYTECODE=1
CALLS=$SOURCE/tests/runtime/python_calls.py
SLIPS=$SOURCE/tests/runtime/python_slips.py
STARTED=$SOURCE/tests/runtime/python_started.py

for n in 1 3 4; do
    check "a job of all calls ends well, $n ranks" "$MLAUNCH" -n $n --oversubscribe --output raw \
        "${STRANGER[@]}" -- "$PYTHON" "$CALLS"
    check_match '^all calls are right' "$OUT" "all calls are right, $n ranks"
done
check "a job of slips ends well" "$MLAUNCH" -n 2 --output raw "${STRANGER[@]}" -- "$PYTHON" "$SLIPS"
check_match '^all slips are refused' "$OUT" "all slips are refused by sentences"
check "a job in which places of the module raise ends well" "$MLAUNCH" -n 1 --output raw \
    "${STRANGER[@]}" -- "$PYTHON" "$STARTED" raised
check_match '^whatever raises leaves what is started held' "$OUT" \
    "an exception at any place of a start or a wait leaves its buffers held"
check "a job whose threads drop requests ends well" "$MLAUNCH" -n 1 --output raw \
    "${STRANGER[@]}" -- "$PYTHON" "$STARTED" dropped
check_match '^requests that threads drop end once' "$OUT" \
    "requests that several threads drop are each ended once"
for way in "-n 2" "-n 3 --oversubscribe" "-n 3 --oversubscribe --backend tcp --local net"; do
    # shellcheck disable=SC2086
    check "types that differ between ranks end no job, $way" "$MLAUNCH" $way --output raw \
        "${STRANGER[@]}" -- "$PYTHON" "$SLIPS" types
    check_match '^types that differ are noticed' "$OUT" \
        "types that differ between ranks are noticed, $way"
done
for way in "-n 1" "-n 3 --oversubscribe" "-n 3 --oversubscribe --backend tcp --local net"; do
    # shellcheck disable=SC2086
    check "calls on windows are right, $way" "$MLAUNCH" $way --output raw "${STRANGER[@]}" -- \
        "$PYTHON" "$SOURCE/tests/runtime/python_window.py"
done
for way in "" "--backend tcp --local net"; do
    # shellcheck disable=SC2086
    check "a rank dies, and the job ends well${way:+, $way}" "$MLAUNCH" -n 4 --oversubscribe \
        --elastic 3 $way --output raw "${STRANGER[@]}" -- "$PYTHON" \
        "$SOURCE/tests/runtime/python_repair.py"
    check_match '^those that live have gone on' "$OUT" \
        "a rank dies, and the others go on${way:+, $way}"
done
numpy=
for p in "$PYTHON" /usr/bin/python3; do
    if "$p" -c 'import numpy' 2> /dev/null; then numpy=$p; fi
done
if [ -n "$numpy" ]; then
    check "a job with arrays of numpy ends well" "$MLAUNCH" -n 2 --output raw "${STRANGER[@]}" -- \
        "$numpy" "$CALLS"
    check_match 'with numpy$' "$OUT" "all calls are right with arrays of numpy"
    check "a job of slips with arrays of numpy ends well" "$MLAUNCH" -n 2 --output raw \
        "${STRANGER[@]}" -- "$numpy" "$SLIPS"
    check_match '^all slips are refused, with numpy$' "$OUT" \
        "all slips with arrays of numpy are refused"
else
    skip "all calls are right with arrays of numpy" "no numpy here"
fi

check_error 9 'no more to do' "abort names its reason, and its status is the job's" \
    "$MLAUNCH" -n 3 --oversubscribe "${STRANGER[@]}" -- "$PYTHON" "$CALLS" abort
check_error 1 'an operator raised ValueError: no such number' \
    "an exception in an operator ends the job" "$MLAUNCH" -n 2 "${STRANGER[@]}" -- "$PYTHON" \
    "$CALLS" fail
check_match 'in wrong' "$ERR" "the traceback of an exception in an operator is printed"
check_status 3 "a dead rank is ERR_PEER for the others; the status is the dead one's" \
    "$MLAUNCH" -n 3 --oversubscribe "${STRANGER[@]}" -- "$PYTHON" "$CALLS" die

check "Ctrl-C while a call waits ends it" "$MLAUNCH" -n 2 "${STRANGER[@]}" -- "$PYTHON" "$CALLS" \
    interrupted
# shellcheck disable=SC2016
check_output "left" "a barrier at the end of the interpreter is made as any other" \
    sh -c 'exec "$@" 2>&1' sh "$MLAUNCH" -n 1 --output raw "${STRANGER[@]}" -- "$PYTHON" "$SLIPS" \
    at-exit
check "finalize() that notices a mismatch has left the job" \
    "$MLAUNCH" -n 2 "${STRANGER[@]}" -- "$PYTHON" "$CALLS" late-mismatch

check "the names of all calls are known" "$MLAUNCH" -n 1 "${STRANGER[@]}" -- "$PYTHON" -c \
    'import mlaunch
print(*mlaunch.__all__, *(n for n in vars(mlaunch.Group) if n[0] != "_" and "start_" not in n))'
tr ' ' '\n' < "$OUT" | while IFS= read -r name; do
    grep -q "\b$name\b" "$SOURCE/doc/mlaunch-python.3" || echo "$name"
done > "$T/unnamed"
check_output "" "mlaunch-python(3) names all calls" cat "$T/unnamed"

# The caller's PYTHONPATH stays in front.
mkdir "$T/mine"
echo 'print("mine")' > "$T/mine/mlaunch.py"
check_output "mine" "the user's own modules come first" \
    env PYTHONPATH="$T/mine" "$MLAUNCH" -n 1 "${STRANGER[@]}" -- "$PYTHON" -c 'import mlaunch'
# shellcheck disable=SC2016
check_output "PYTHONPATH is unset" "nothing is put into PYTHONPATH when nothing is injected" \
    env -u PYTHONPATH "$MLAUNCH" -n 1 --backend none -- sh -c \
    'echo PYTHONPATH is ${PYTHONPATH-unset}'
if [ "$SANITIZE" = no ]; then
    check_output "1" "a script that was started otherwise is a group of one" \
        env PYTHONPATH="$SOURCE/runtime/python" LD_LIBRARY_PATH="$BUILD/runtime" \
        "$PYTHON" -c 'import mlaunch; print(mlaunch.init().size)'
fi
done_testing
