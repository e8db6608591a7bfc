# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# For *.t that run in virtual machines: run_in_vms N SCRIPT [OPTION…] runs tests/vm/SCRIPT, whose
# TAP becomes this file's, on host 0 of N of them; options are tests/vm/run's. vms_run only runs it;
# vms_prepare comes before that, and skips the file where there can be none.
vms_prepare() {
    [ -e "$BUILD/rdma/mlaunch-rdma.so" ] || skip_all "built without RDMA"
    if ! "$SOURCE/tests/vm/prepare" > "$T/prepare" 2>&1; then
        # Where tests are compulsory, a missing qemu is a failure.
        if [ -n "${CI:-}" ]; then
            fail "virtual machines can be prepared" "$(cat "$T/prepare")"
            done_testing
        fi
        skip_all "no virtual machines here: $(tail -n 1 "$T/prepare")"
    fi
}
vms_run() {
    local n=$1 script=$2 shares=() dir
    shift 2
    for dir in "$SOURCE" "$BUILD"; do
        case $dir/ in /tmp/* | /run/* | /dev/*) shares+=(--share "$dir") ;; esac
    done
    cd "$SOURCE" || return 1
    "$SOURCE/tests/vm/run" -n "$n" "$@" -t $((TEST_LIMIT - 10)) -e "BUILD=$BUILD" -e \
        "SOURCE=$SOURCE" -e "SANITIZE=$SANITIZE" \
        -e MLAUNCH_TEST_LONG -e MLAUNCH_TEST_PART -e MLAUNCH_TEST_SECONDS "${shares[@]}" -- bash "tests/vm/$script"
}
run_in_vms() {
    vms_prepare
    vms_run "$@"
    local code=$?
    TEST_DONE=1
    exit "$code"
}
