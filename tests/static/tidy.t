#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clang-tidy (.clang-tidy) has nothing to say about any file, compiled as the build compiles it. Its
# analyzer, which takes nine tenths of the time, belongs to the long form.
TEST_TIER=full
TEST_PARTS=4
TEST_LIMIT=1500
. "${0%/*}/../lib/test.sh"
needs clang-tidy

# As the compilations' paths are shown, whatever way configure was called.
SOURCE=$(cd "$SOURCE" && pwd)

# A make -n in a fresh directory of the same configuration prints every compilation.
mkdir "$T/fresh"
cd "$T/fresh" || exit 1
check "the build's commands are known" sh -c \
    'eval "\"\$SOURCE/configure\" $("$BUILD/config.status" --config)" > log 2>&1 &&
    make -n V=1 all check TESTS= > commands'
check "the commands make a compilation database" python3 \
    "$SOURCE/tests/static/compile_commands.py" "$SOURCE" "$BUILD" \
    commands compile_commands.json
python3 -c 'import json; print(*[e["file"] for e in json.load(open("compile_commands.json"))], sep="\n")' > files
# In tests there is no analyzer: it doesn't know that cmocka's assertions end a test, and goes on
# behind them.
less=',-clang-analyzer-*'
[ -z "${MLAUNCH_TEST_LONG:-}" ] || less=
export less
mapfile -t all < files
for i in "${!all[@]}"; do ! in_part "$i" || echo "${all[i]}"; done > part && mv part files
xargs -a files -d '\n' -P "$(nproc)" -n 1 sh -c \
    'case $1 in "$SOURCE"/tests/*) less=,-clang-analyzer-\* ;; esac
    clang-tidy --quiet -p . --checks="$less" "$1" > "$(echo "$1" | tr / _).tidy" 2>&1' sh
while IFS= read -r file; do
    report=$(echo "$file" | tr / _).tidy
    if grep -qE '(warning|error):' "$report"; then
        fail "clang-tidy finds nothing in ${file#"$SOURCE"/}"
        grep -E '(warning|error):' "$report" | sort -u | head -n 20 | sed 's/^/#   /'
    else
        pass "clang-tidy finds nothing in ${file#"$SOURCE"/}"
    fi
done < files
done_testing
