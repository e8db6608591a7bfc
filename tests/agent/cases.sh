# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# cases.sh: the cases of one *_cases.py, for a *.t, behind test.sh. An agent is alone, without
# mlaunch: drive.py speaks the launcher's side of the protocol, injects faults, and looks for
# survivors. Each case is a check:
#
#     cases start
export T

cases() {
    local drive=$SOURCE/tests/agent/drive.py name text
    while read -r name text <&3; do
        check "$name: $text" python3 "$drive" "$AGENT" "$name"
    done 3< <(python3 "$drive" --list "$1")
    [ "$TEST_COUNT" -gt 0 ] || fail "there are cases of $1"
    done_testing
}
