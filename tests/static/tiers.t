#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every test says its tier (lib/tier), and the quick ones, which newcomers run, try every option of
# `mlaunch --help`.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# A make above this one may have other TESTS.
tests=$(env -u MAKEFLAGS make -C "$BUILD" -s print-tests | tail -n 1)
# shellcheck disable=SC2086
{
    check_output "" "every test says whether it is quick" tests/lib/tier none $tests
    tests/lib/tier quick $tests > "$T/quick"
    tests/lib/tier full $tests > "$T/full"
}
check "most tests are quick" test "$(wc -l < "$T/quick")" -gt "$(wc -l < "$T/full")"

# What quick tests consist of: unit tests are left out, which read options and do nothing with them.
grep '\.t$' "$T/quick" | grep -vx tests/static/tiers.t | xargs -d '\n' cat > "$T/text"
"$MLAUNCH" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+(, --[a-z-]+)?' | grep -oE '[-][-][a-z-]+' > "$T/options"
check "the options are found" test "$(wc -l < "$T/options")" -gt 50
while read -r option; do
    grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" "$T/text" || echo "$option"
done < "$T/options" > "$T/untried"
check_output "" "every option stands in a quick test" cat "$T/untried"
done_testing
