# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# includes.sh: who includes what, for the checks of the order.

# includes FILE…: prints "FILE:LINE:HEADER" for each header that these files name in quotes, as seen
# from the source's root. The files of examples/llm, which are built elsewhere too, name theirs as
# seen from their own folders.
includes() {
    grep -HnE '^ *# *include *"' "$@" 2> /dev/null | sed -E '
        s/^([^:]*:[0-9]*):.*"(.*)".*/\1:\2/
        /^examples\/llm\// {
            s,^(.*/)([^/:]*:[0-9]*:),\1\2\1,
            :up
            s,[^/:]+/\.\./,,
            t up
        }'
}
