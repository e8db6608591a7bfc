#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch.elastic.steps(): ranks are killed in the midst of steps, and the others' state and curve
# are those of a run that has had the same members in the same steps; slips.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"

needs python3
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
PYTHON=$(command -v python3)
TORCH=$PYTHON
if /usr/bin/python3 -c 'import torch' 2> /dev/null; then TORCH=/usr/bin/python3; fi

# deaths PYTHON ID:STEP…: odd steps: before the ranks meet; even ones: the dead rank is ahead.
deaths() {
    local lives=$((5 - $#)) python=$1
    shift
    check "ranks may die at the steps $*" "$MLAUNCH" -n 4 --elastic 1 \
        --oversubscribe "${STRANGER[@]}" -- "$python" "$SOURCE/tests/runtime/elastic_steps.py" "$@"
    cp "$OUT" "$T/said"
    check_output "$lives" \
        "all that live after $* have the whole curve" grep -c "done $lives" "$T/said"
}
# replaced PYTHON ID:STEP…: the same, but others take the places of the dead.
replaced() {
    local python=$1
    shift
    check "ranks that die at the steps $* are replaced" "$MLAUNCH" -n 4 --elastic 1 --restarts 1 \
        --oversubscribe "${STRANGER[@]}" -- "$python" "$SOURCE/tests/runtime/elastic_steps.py" "$@"
    cp "$OUT" "$T/said"
    check_output 4 "all four have the whole curve after $* were replaced" grep -c "done 4" "$T/said"
}
replaced "$PYTHON" 3:7 0:12
replaced "$TORCH" 1:5 2:6 0:21
deaths "$PYTHON" 3:7 0:12
deaths "$TORCH" 1:5 2:6 0:21

check "a job that grows ends well" "$MLAUNCH" -n 2 --elastic 2 \
    --oversubscribe "${STRANGER[@]}" -- "$PYTHON" "$SOURCE/tests/runtime/elastic_grow.py" "$MLAUNCH"
cp "$OUT" "$T/said"
check_output 4 "all four have the whole curve in a job that grows" grep -c "done [0-3]" "$T/said"

check "a rank dies in the last step after another has done it" "$MLAUNCH" -n 3 --elastic 2 \
    --oversubscribe "${STRANGER[@]}" -- "$PYTHON" "$SOURCE/tests/runtime/elastic_end.py" "$T"
cp "$OUT" "$T/said"
check_output 2 "who has done the last step waits for those that fail in it" grep -c "done" "$T/said"

cat > "$T/slip.py" << 'EOF'
import mlaunch.elastic
for step in mlaunch.elastic.steps(2):
    pass
EOF
check_error 1 'each step of mlaunch.elastic.steps\(\) is done in a `with`' \
    "a step without with is refused" \
    "$MLAUNCH" -n 1 "${STRANGER[@]}" -- "$PYTHON" "$T/slip.py"

done_testing
