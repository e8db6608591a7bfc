#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What README.md and CONTRIBUTING.md tell a reader to type for a build, in check-long: in a fresh
# Debian, by root, in the order of the pages and in one folder, from what `make dist` archives.
TEST_TIER=full
TEST_LIMIT=1200
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/debian.sh"
. "${0%/*}/page.sh"
is_long || skip_all "only in check-long: it fetches a Debian and builds in it"
[ "$SANITIZE" = no ] || skip_all "builds of its own, without sanitizers"
debian_up "what is built in a fresh Debian"
check "the archive's files are there" make -C "$BUILD" -s distdir distdir="$DEBIAN/srv/mlaunch"
# The reader's shell, which stays in the folder that the last command has entered.
echo /srv/mlaunch > "$DEBIAN/srv/folder"
typed_in() {
    inside bash -c 'cd "$(cat /srv/folder)" && eval "$1" && pwd > /srv/folder' bash "$1" < /dev/null
}

while IFS=$'\t' read -r page command; do
    case $command in
    autoreconf*) check "the other compiler is installed" debian_install clang ;;
    esac
    check "$(page_name "$page" "$command")" typed_in "$command"
    cp "$OUT" "$T/seen"
    case $command in
    *demo) check_match 'result equals that of one rank' "$T/seen" \
        "shows a job of four ranks: $command" ;;
    launcher/mlaunch*) check_output 4 "four ranks have run" grep -c '^\[[0-3]\] ' "$T/seen" ;;
    esac
done < <(page_commands)
done_testing
