#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whatever README.md, "Build" of CONTRIBUTING.md and EXAMPLES of the man pages tell a reader to type
# is run by a test, or has one of three reasons in the file `commands`, which says so for each; and
# the hostfiles and programs there are used. No row of that file is too much.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/page.sh"

# A make above this one may have other TESTS. tests/fresh/check is what `check --all` runs first.
{
    env -u MAKEFLAGS make -C "$BUILD" -s print-tests
    echo tests/fresh/check
} > "$T/tests"
complaints() { python3 "$1" check < "$T/tests"; }
check_output "" "every command of a page has its test" complaints "$PAGE_COMMANDS"
check "the pages have many commands" test "$(python3 "$PAGE_COMMANDS" all | wc -l)" -gt 100

# Each kind of complaint, in a copy of the pages.
mkdir -p "$T/copy/doc" "$T/copy/examples" "$T/copy/tests/pages"
cp "$PAGE_COMMANDS" "$T/copy/tests/pages"
cd "$T/copy" || exit 1
printf '%s\n' '    $ mlaunch -n 1 x   # a rank' '    [0] x' '    $ kubectl logs \' '        -f' '' \
    '    a slots=2' \
    '```c' 'int main;' '```' > README.md
printf '%s\n' '## Build' '    make it' '## Test' '    make that' > CONTRIBUTING.md
: > examples/README.md
printf '%s\n' '.Sh EXAMPLES' '.Dl $ cat x' '.Bd -literal -offset indent' 'mlaunch a \e' \
    '    \(dqb\(dq' '.Ed' '.Sh SEE ALSO' '.Dl ls' > doc/x.1
printf '%s\n' 'README.md  x.t  mlaunch*' 'README.md  no reason  kubectl logs -f' \
    'README.md  x.t  a slots*' 'doc/x.1  a device  c*' 'doc/x.1  x.t  nothing' > tests/pages/commands
echo '# mlaunch -n 1 x' > x.t
echo x.t > "$T/tests"
check_output 'no reason is no test, and none of the reasons
x.t does not take this from README.md: a slots=2
README.md: no row has: int main;
CONTRIBUTING.md: no row has: make it
doc/x.1: no row has: mlaunch a "b"
nothing is of the row: doc/x.1 x.t nothing' "what has no test or no row is named" \
    complaints tests/pages/page_commands.py
done_testing
