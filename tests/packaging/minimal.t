#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A build without all that a build may lack: where pkg-config knows none of those libraries,
# configure asks for what is a must and for what was asked for, in words, and makes do without the
# rest; the command, the agent and the library then compile without a warning, run a job and refuse
# in words what they lack.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
[ "$SANITIZE" = no ] || skip_all "a build of its own, without sanitizers"
[ -x "$SOURCE/configure" ] || skip_all "there is no configure here"

cat > "$T/pkg-config" << 'SH'
#!/bin/sh
for word in "$@"; do
    case $word in
    libibverbs* | libssh* | pmix* | hwloc* | ncursesw* | libevent_extra* | libpcre2*)
        case "$HIDDEN" in *"${word%% *}"* | all) exit 1 ;; esac ;;
    esac
done
exec pkg-config "$@"
SH
chmod +x "$T/pkg-config"
mkdir "$T/build"
cd "$T/build" || exit 1
export HIDDEN=all
# configure OPTION…: what stays the same is found once. -O0 takes half the time; the compiler then
# takes more texts to be cut off.
configure() {
    "$SOURCE/configure" -q -C PKG_CONFIG="$T/pkg-config" CC="$CC" \
        CFLAGS="-O0 -Wno-format-truncation" "$@"
}

check_status 1 "configure fails without libibverbs" configure
check_match 'error: no libibverbs \(libibverbs-dev\): install it, or configure with --disable-rdma' \
    "$ERR" "configure says what to do without libibverbs"
check_status 1 "configure fails without libssh" configure --disable-rdma
check_match 'error: no libssh \(libssh-dev\): install it, or configure with --disable-ssh' \
    "$ERR" "configure says what to do without libssh"
check "configure succeeds without the other libraries" configure --disable-rdma --disable-ssh
check_match '^  rdma: no \(disabled\): ' "$OUT" "the summary names what was disabled"
check_match '^  hwloc: no \(there is no hwloc \(libhwloc-dev\)\): ' "$OUT" \
    "the summary names what is not there"
features=(pmix llm)
! is_long || features+=(hwloc ncurses)
for feature in "${features[@]}"; do
    check_status 1 "configure --enable-$feature fails without its library" configure \
        --disable-rdma --disable-ssh --enable-$feature
    check_match "error: no .*: install it, or configure with --disable-$feature" "$ERR" \
        "configure --enable-$feature says what to do"
done

check "configure succeeds with all disabled" configure --enable-werror --disable-rdma \
    --disable-ssh --disable-pmix --disable-hwloc --disable-ncurses --disable-llm --disable-usdt
cp "$OUT" "$T/summary"
check_output "7" \
    "the summary has seven lines of what was disabled" grep -c ': no (disabled): ' "$T/summary"
check "the command, the agent and the library compile" make -s -j 2 build-id.h \
    launcher/mlaunch launcher/agent/mlaunch-agent launcher/tools/mlaunch-top runtime/libmlaunch.so \
    runtime/mlaunch-runtime.so examples/kmeans
minimal=$T/build/launcher/mlaunch
check "mlaunch --version succeeds in the minimal build" "$minimal" --version
check_match '^features: -rdma -ssh -pmix -hwloc -ncurses -llm -usdt$' "$OUT" \
    "mlaunch --version names none of the parts"
check "four ranks work together" "$minimal" -n 4 --output raw -- examples/kmeans \
    "$SOURCE/examples/iris.csv"
check_error 125 "host nowhere: SSH cannot be used: .* was built without it; ./bootstrap in its source installs libssh" \
    "a host over SSH is refused" "$minimal" -H nowhere -n 1 -- true
check_status 125 "--backend rdma is refused" "$minimal" --backend rdma -n 2 -- true
check_match 'built without RDMA' "$ERR" "the refusal of RDMA says that it is not built in"
check_status 125 "--bind-to core is refused" "$minimal" --bind-to core -n 1 -- true
check_match 'hwloc' "$ERR" "the refusal of --bind-to names hwloc"
check "mlaunch top --batch succeeds in the minimal build" "$minimal" top --batch

# Archives are not there: the compiler says so to configure.
cat > "$T/cc" << SH
#!/bin/sh
case \$1 in -print-file-name=libjansson.a) echo libjansson.a; exit ;; esac
exec $CC "\$@"
SH
chmod +x "$T/cc"
check "configure succeeds without an archive" "$SOURCE/configure" -q PKG_CONFIG="$T/pkg-config" \
    CC="$T/cc" --disable-rdma --disable-ssh --disable-llm
check_match 'WARNING: there are no archives of: -ljansson' "$ERR" \
    "configure warns of a missing archive, even with -q"
done_testing
