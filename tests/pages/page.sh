# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# page.sh: for a *.t that runs what pages tell a reader to type, behind test.sh. The file `commands`
# beside this one gives it the commands.
#
#     page_commands                      its commands, each a line: PAGE, tab, COMMAND
#     page_text PAGE 'BEGIN'             the page's text (a hostfile, a program) that begins so
#     check_typed PAGE COMMAND [WORD…]   a check that the command succeeds, typed in this directory;
#                                        behind WORD…, as for another user or on another host
PAGE_COMMANDS=$SOURCE/tests/pages/page_commands.py
PAGE_TEST=$(realpath "$0")
PAGE_TEST=${PAGE_TEST#"$(realpath "$SOURCE")"/}
# What README's reader has typed before all else.
PAGE_SHELL=${PAGE_SHELL:-'eval "$(build/launcher/mlaunch env)"'}

page_commands() { python3 "$PAGE_COMMANDS" of "$PAGE_TEST" || echo "Bail out! no commands"; }
page_text() { python3 "$PAGE_COMMANDS" text "$@" || echo "Bail out! no text"; }

# typed COMMAND [WORD…]
typed() { "${@:2}" bash -c "$PAGE_SHELL; eval \"\$1\"" bash "$1"; }
# page_name PAGE COMMAND: the check's name.
page_name() { echo "typed from $1: $2"; }
check_typed() {
    local page=$1 command=$2
    shift 2
    check "$(page_name "$page" "$command")" typed "$command" "$@" < /dev/null
}
