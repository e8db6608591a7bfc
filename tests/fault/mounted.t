#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A rank mounts something below its job directory (as container tools and FUSE file systems do), and
# its job ends well, is restarted, or dies with its agent. Expected: what is mounted keeps all its
# files; clean names the directory that stays, and removes it once nothing is mounted there.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/fault.sh"

mkdir "$T/data" "$T/data/inner"
: > "$T/data/inner/file"
mount --bind "$T/data" "$T/data" 2> /dev/null && umount "$T/data" || skip_all "cannot mount here"
# mounts DATA COMMAND…: what the rank does.
cat > "$T/mounts" << 'SH'
data=$1 && shift
[ "${MLAUNCH_RESTART:-0}" = 0 ] || exec "$@"
mkdir -p "$MLAUNCH_JOB_DIR/a/m" && mount --bind "$data" "$MLAUNCH_JOB_DIR/a/m" &&
    : > "$MLAUNCH_JOB_DIR/a/own" && echo mounted && exec "$@"
SH
mounts=(sh "$T/mounts" "$T/data")
job_dirs() { find "/tmp/mlaunch-$(id -u)" -mindepth 1 -maxdepth 1 -name '*.0.*' 2> /dev/null || :; }
# unmounted NAME: what clean does of a directory in which something is mounted, and then without it.
unmounted() {
    DIR=$(job_dirs)
    check_output "a job.json" "$1: only what is above the mount is left" sh -c 'echo $(ls "$0")' "$DIR"
    check_output m "$1: what is beside the mount is removed" ls "$DIR/a"
    must umount "$DIR/a/m"
    run "$MLAUNCH" clean
    check_output "" "$1: clean removes the directory without the mount" job_dirs
}

check "a job whose rank mounts something ends well" "${JOB[@]}" -H localhost -n 1 -- \
    "${mounts[@]}" true
check "what a rank has mounted keeps its files" test -e "$T/data/inner/file"
unmounted "after the end"

run "${JOB[@]}" -H localhost -n 1 --restarts 1 -- "${mounts[@]}" sh -c 'exit 3'
check "what a rank has mounted keeps its files when the job is restarted" test -e "$T/data/inner/file"
unmounted "after a restart"

job_start -H localhost -n 1 -- "${mounts[@]}" sleep 300
has_said mounted 1 || diag "$(cat "$T/err")"
must both_kill
wait "$mlaunch" 2> /dev/null
check_status 1 "clean has status 1 where something is mounted" "$MLAUNCH" clean
check_match 'directory .*: Device or resource busy' "$ERR" \
    "clean names the directory in which something is mounted"
check "what a rank has mounted keeps its files after clean" test -e "$T/data/inner/file"
must umount "$(job_dirs)/a/m"
check "clean succeeds once nothing is mounted" "$MLAUNCH" clean
check_output "" "clean removes the directory once nothing is mounted" job_dirs
done_testing
