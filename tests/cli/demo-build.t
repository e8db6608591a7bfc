#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `./bootstrap demo` builds is enough for local jobs, and what is not built yet names
# ./bootstrap: here are the demo's files alone, in a build folder.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

build=$T/build
mkdir "$build"
cd "$BUILD" || exit 1
# Not as a part of the make that runs this test: that would say more.
read -ra files < <(env -u MAKEFLAGS make -s --no-print-directory print-demo | tail -n 1)
check_match '^launcher/mlaunch$' <(printf '%s\n' "${files[@]}") "what the demo builds is listed"
cp -rL --parents "${files[@]}" runtime/libmlaunch.so.0 runtime/python doc/man config.status "$build"
cd "$T" || exit 1
demo() { env -u BUILD "$build/launcher/mlaunch" "$@"; }

check_output "$("$BUILD/examples/kmeans" "$SOURCE/examples/iris.csv")" \
    "the demo's job finds the clusters" \
    demo -n 4 --output raw -- "$build/examples/kmeans" "$SOURCE/examples/iris.csv"
check_match "runtime/python" <(demo env) "programs in Python find their module"
check_match "$build/doc/man" <(demo env) "man finds the pages"

again='is not built yet: ./bootstrap in mlaunch.s source builds all of it'
check_error 125 "mlaunch-bench-command $again" "bench names ./bootstrap where it is not built" \
    demo bench -n 2 --sizes 8
check_error 125 "mlaunch-top $again" "top names ./bootstrap where it is not built" demo top
check_error 125 "mlaunch-ssh.so $again" "hosts over SSH need ./bootstrap" \
    demo -H nowhere -n 1 -- true
if grep -q '^#define HAVE_PMIX 1' "$BUILD/config.h"; then
    check_error 125 "mlaunch-pmix $again" "PMIx needs ./bootstrap" demo -n 1 --mpi pmix -- true
fi
if grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h"; then
    check_error 125 "mlaunch-probe $again" "RDMA devices need ./bootstrap" demo hosts --probe
fi
check_error 1 "there is no .*/llm: LLM names the program, which ./bootstrap builds" \
    "the server of models needs ./bootstrap" env -u LLM MLAUNCH="$build/launcher/mlaunch" \
    "$SOURCE/examples/llm/server" start -- --model none
done_testing
