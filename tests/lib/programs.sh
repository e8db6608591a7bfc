# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# programs.sh: asks for programs before they are called. test.sh reads it, and so do scripts that
# are no tests.
PROGRAMS=${BASH_SOURCE[0]%.sh}.list

# is_here PROGRAM…: all of them are; else $LACKS is a sentence about the first that is not.
#     if is_here gdb; then …; else skip "gdb shows the ranks" "$LACKS"; fi
is_here() {
    local program word package
    LACKS=
    for program; do
        command -v "$program" > /dev/null && continue
        LACKS="there is no $program here"
        while read -r word package _; do
            [ "$word" != "$program" ] || LACKS+=": apt-get install $package"
        done < "$PROGRAMS"
        return 1
    done
}
