#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks in containers of podman, which other processes start: as in bwrap.t, and no container is
# left, however a rank or the job ends.
# shellcheck disable=SC2154 # variables of fault.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"
. "${0%/*}/../mpi/judge.sh"
. "${0%/*}/image.sh"
. "${0%/*}/cases.sh"
. "${0%/*}/podman.sh"
KILLED="exited with status 137"
MOUNTS=()
for mounted in "${MOUNTED[@]}"; do MOUNTS+=(-v "$mounted:$mounted"); done
"${PODMAN[@]}" run --rm --network host --pid host --ipc host "${LIMITS[@]}" "${MOUNTS[@]}" \
    --rootfs "$IMAGE" /bin/true 2> "$T/why" || skip_all "podman cannot run here: $(tail -n 1 "$T/why")"
CONTAINER="${PODMAN[*]} run ${MOUNTS[*]} --rootfs $IMAGE"
cd "$T" || exit 1

nothing_contained() {
    [ -z "$("${PODMAN[@]}" ps -a -q)" ] && return 0
    diag "podman has: $("${PODMAN[@]}" ps -a)"
    return 1
}

check_start
begin
check_output "2" "containers have the job's label" sh -c '"$@" | grep -c .' sh "${PODMAN[@]}" ps -q \
    --filter "label=mlaunch.job=$(job_id)"
must kill -TERM "$mlaunch"
ended 143 "containers with the job's label are gone with it"
check_programs
check_deaths
check_faults
check "no container is left of all these" nothing_contained
job_says 125 "podman has started no container of the image /no/such .status 125.; what it wrote says why" \
    "an image that is not there is named" --container "${PODMAN[*]} run --rootfs /no/such" -n 1 -- \
    true
done_testing
