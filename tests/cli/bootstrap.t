#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./bootstrap configures its build folder once: again only when another --prefix is asked for, and
# not because a later command names none. `demo` makes what it needs. `check` runs the quick tests;
# `check --all` adds up the checks of all its parts, compiles for the sanitizers behind the tests,
# and fails if anything did. Sources that cannot be written are built elsewhere; a path that
# configure refuses is named. The tools are stand-ins.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

mkdir "$T/tree" "$T/bin"
cp "$SOURCE/bootstrap" "$T/tree/"
cd "$T/tree" || exit 1
printf '#!/bin/sh\necho "$@" >> ../configured\necho "CMOCKA_LIBS = -l" > Makefile\n' > configure
printf '#!/bin/sh\necho "$@" >> "%s"\n' "$T/made" > "$T/bin/make"
for tool in cc autoconf automake pkg-config; do
    printf '#!/bin/sh\n' > "$T/bin/$tool"
done
chmod +x configure "$T"/bin/*
PATH=$T/bin:$PATH

check "a first build works" ./bootstrap build
check_output "-q" "the first build is configured without a prefix" cat configured
check "a build with a prefix works" ./bootstrap --prefix "$T/one"
check_output "-q --prefix=$T/one" "a new prefix configures again" tail -n +2 configured
check_match ' install$' "$T/made" "a build with a prefix is installed"
: > "$T/made"
check "a later build without a prefix works" ./bootstrap
check_output "-q --prefix=$T/one" "a later build keeps the prefix" tail -n +2 configured
check_no_match ' clean$| install$' "$T/made" \
    "a later build compiles nothing anew and installs nothing"
check "a build with another prefix works" ./bootstrap --prefix="$T/two" build
check_output "-q --prefix=$T/two" "another prefix configures again" tail -n +3 configured
: > "$T/made"
check_status 1 "a demo without its programs fails" ./bootstrap demo
check_match ' demo$' "$T/made" "a demo makes what it needs"
check_no_match ' all$' "$T/made" "a demo does not make all"
check "a build after a demo works" ./bootstrap
check_match ' all$' "$T/made" "a build after a demo makes all the rest"

# Each package manager, the only one on PATH, as a stand-in that keeps its arguments; with the
# stand-in for pkg-config, which knows libssh once that is installed.
mkdir "$T/only"
for tool in sh sed sort tr dirname mktemp rm nproc mkdir cat grep env touch df du awk cut; do
    ln -s "$(command -v $tool)" "$T/only/$tool"
done
cp "$T/bin/cc" "$T/bin/make" "$T/bin/autoconf" "$T/bin/automake" "$T/only"
printf '#!/bin/sh\n[ "$2" != libssh ] || [ -e "%s" ]\n' "$T/known" > "$T/only/pkg-config"
printf '#!/bin/sh\necho "${ID:-0}"\n' > "$T/only/id"
# managed_by NAME [PROGRAM]: a build where there is only this manager, which may be this program.
managed_by() {
    rm -f "$T/only/apt-get" "$T/only/dnf" "$T/only/zypper" "$T/only/pacman" "$T/known" "$T/asked"
    [ "$1" = none ] || printf '#!/bin/sh\necho "$@" >> "%s"\ntouch "%s"\n' "$T/asked" "$T/known" \
        > "$T/only/$1"
    [ $# = 1 ] || cp "$2" "$T/only/$1"
    chmod +x "$T"/only/*
    PATH=$T/only ./bootstrap
}
check "a build asks dnf for packages" managed_by dnf
check_output "-q -y --setopt=install_weak_deps=False install pkgconfig(libssh)" \
    "dnf is asked for what is missing, by what pkg-config calls it" cat "$T/asked"
check "a build asks zypper for packages" managed_by zypper
check_output "-q -n install --no-recommends pkgconfig(libssh)" \
    "zypper is asked for what is missing, by what pkg-config calls it" cat "$T/asked"
check "a build asks pacman for packages" managed_by pacman
check_output "-S --noconfirm --needed libssh" \
    "pacman is asked for what is missing, by Arch's name" cat "$T/asked"
check "a build asks apt-get for packages" managed_by apt-get
check_match ' install --no-install-recommends libssh-dev$' "$T/asked" \
    "apt-get is asked for what is missing, by Debian's name"
printf '#!/bin/sh\ncase "$*" in *update) exit 100 ;; *) exit 1 ;; esac\n' > "$T/failing"
check_status 1 "a mirror that does not answer ends the build" managed_by apt-get "$T/failing"
check_match "apt-get reaches no mirror of its packages: look at the network .* missing: libssh-dev" \
    "$ERR" "a sentence says what to look at when no mirror answers"
printf '#!/bin/sh\nprintf "x\\nx 1 1 3000 1\\n"\n' > "$T/bin/df"
chmod +x "$T/bin/df"
check_status 1 "a full disk ends the build before it begins" ./bootstrap
check_match "nothing was begun: only 2 MB are free in build, and 4[45][0-9] are needed; free some" \
    "$ERR" "a sentence says how much room a build takes"
rm "$T/bin/df"
check_status 1 "a build without a known package manager fails" managed_by none
check_match "please install these Debian packages, or your system's counterparts: libssh-dev" \
    "$ERR" "Debian's packages are named where no package manager is known"
for line in "dnf install 'pkgconfig(libssh)'" "zypper install 'pkgconfig(libssh)'" \
    "pacman -S libssh" "apt-get install libssh-dev"; do
    ID=1000 check_status 1 "a build with ${line%% *} and without root fails" \
        managed_by "${line%% *}"
    check_match "please run this as root: $(printf '%s' "$line" | sed 's/[()]/\\&/g')" "$ERR" \
        "the line to type without root is that of ${line%% *}"
done

# What is run, and how nice, is in $T/made; a command with $BROKEN in it fails.
cat > "$T/bin/make" << 'SH'
#!/bin/sh
echo "nice $(nice) $*" >> "$MADE"
case "$*" in
*print-names*) echo a.t b ;;
*"${BROKEN:-broken}"*) echo "# FAIL: 1"; exit 2 ;;
*TESTS=) ;;
*check*) printf '# PASS: 3\n# SKIP: 1\n' ;;
esac
SH
mkdir -p tests/vm tests/lib tests/fresh
printf '#!/bin/sh\n' > tests/vm/prepare
printf '#!/bin/sh\n[ -z "$MIRROR" ] || { echo "no Debian came from $MIRROR" >&2; exit 1; }\n' \
    > tests/fresh/make_system
printf '#!/bin/sh\necho 2 passed, 0 failed, 1 skipped\n' > tests/fresh/check
printf '#!/bin/sh\n%s\n' '[ "$3" != "$LATE" ] || echo "$3 16 15"' > tests/lib/tier
chmod +x tests/vm/prepare tests/lib/tier tests/fresh/*
# The pulse's sleep outlives it.
sed -i 's/^\(needs_check[_a-z]*\)="/\1=$needs_build others="/; s/\(needs_compile=\).*/\1$needs_build/
    s/sleep 20/sleep 1/' bootstrap
export MADE=$T/made
: > "$MADE"
check "./bootstrap check passes" ./bootstrap check
check_match '^4 passed, 0 failed, 1 skipped$' "$OUT" "./bootstrap check has the sum of its parts"
check_match "^nice $(nice) .*-C build check-quick " "$MADE" \
    "./bootstrap check runs the quick tests alone"
check_no_match 'build-check' "$MADE" "./bootstrap check runs in the folder of the build"
check_status 1 "a quick test that fails is a failure" \
    env BROKEN="-k -C build check-quick" ./bootstrap check
check_match '^1 passed, 1 failed, 0 skipped$' "$OUT" "a quick test that fails has no second try"
: > "$MADE"
check "./bootstrap check --all passes" ./bootstrap check --all
check_match '^27 passed, 0 failed, 7 skipped$' "$OUT" \
    "./bootstrap check --all has the sum of its parts"
cp "$MADE" "$T/first"
check_match "^nice $(nice) .*build-check/gcc check-full " "$T/first" "tests have the usual priority"
check_match '^nice 19 -C build-check/asan -s -j' "$T/first" \
    "a build behind the tests has the least priority"
check_output "build tests" "the sanitized tests come after their build" awk '
    /asan .* TESTS=$/ { printf "build " }
    /asan check-asan/ { print "tests" }' "$T/first"
check "a whole check passes without a mirror" \
    env -u CI MIRROR=nowhere ./bootstrap check --all
check_match 'no Debian came from nowhere; so the quick tests run here$' "$OUT" \
    "a sentence says where the quick tests run"
check_status 1 "continuous integration does without no fresh Debian" \
    env CI=true MIRROR=nowhere ./bootstrap check --all
check_match "FAILED: no Debian came from nowhere" "$OUT" "the reason is shown in continuous integration"
check_status 1 "a build that fails is a failure" \
    env BROKEN="build-check/tsan -s -j" ./bootstrap check --all
check_match '^bootstrap: failed: build with the thread sanitizer; ' "$OUT" \
    "a build that fails is named at the end"
check_match 'tests with the thread sanitizer: not run, because the build failed' "$OUT" \
    "the tests of a failed build are not run"
check_match '^23 passed, 1 failed, ' "$OUT" "the tests of other builds are run beside a failed one"
check_status 1 "the first build's failure is one of the check" \
    env BROKEN="build-check/gcc -s -j" ./bootstrap check --all
check_match 'failed: build with gcc -Werror; 12 of 13 parts were not run; ' "$OUT" \
    "nothing is run behind a failed first build"
check_status 1 "checks that fail behind the tests are a failure" \
    env BROKEN=check-static ./bootstrap check --all
check_match '^bootstrap: failed: static checks: 1 .logs in build-check/gcc/tests.; ' "$OUT" \
    "checks that fail behind the tests are named"
check_status 1 "a quick test that is not quick is a failure" env LATE=a.t ./bootstrap check --all
check_match '^bootstrap: .* a.t used 16 s of a processor: ' "$OUT" \
    "a quick test that is not quick is named"
check_match '^26 passed, 1 failed, ' "$OUT" "a quick test that is not quick is one more failure"
check_status 1 "--all is refused without check" ./bootstrap demo --all
check_match '--all goes with check only' "$ERR" "the refusal of --all says with what it goes"

# Elsewhere.
cp -r "$T/tree" "$T/a tree"
check_status 1 "a path with a blank is refused" "$T/a tree/bootstrap"
check_match "configure refuses .*: $T/a tree$" "$ERR" "the refused path is shown"
mkdir "$T/place"
cd "$T/place" || exit 1
rm -rf "$T/tree/build" "$T/tree/configured" "$T/configured"
if unshare --mount -- true 2> /dev/null; then
    # read_only COMMAND…: where the sources cannot be written.
    read_only() {
        unshare --mount -- sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && "$@"' \
            "$T/tree" "$@"
    }
    check_status 1 "sources that cannot be written are not built in" \
        read_only env -C "$T/tree" ./bootstrap
    check_match "please call $T/tree/bootstrap from a folder that can" "$ERR" \
        "the sentence says how sources that cannot be written are built"
    check "sources that cannot be written are built in another folder" \
        read_only "$T/tree/bootstrap" --prefix "$T/one"
    check_output "-q --prefix=$T/one" "the other folder is configured" cat configured
    # autoreconf's files go beside its input, so that it gets a copy.
    mv "$T/tree/configure" "$T/made.configure"
    printf '#!/bin/sh\ncp "%s" configure\n' "$T/made.configure" > "$T/bin/autoreconf"
    chmod +x "$T/bin/autoreconf"
    rm -r configured build
    check "sources without a configure are built in another folder" read_only "$T/tree/bootstrap"
    check "sources without a configure are copied first" test -x build/source/configure
    check_output "-q" "the copy of the sources is configured" cat configured
fi
done_testing
