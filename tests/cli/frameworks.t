#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs for torchrun, Lightning, Accelerate, JAX and MLX find each other by their own rules
# (frameworks.py), on this host and on two others.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
needs python3
hosts_up 2
PROGRAM=(python3 "$SOURCE/tests/cli/frameworks.py")
HERE=(-n 4 --oversubscribe)
THERE=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2")

# finds FRAMEWORK LINE…: on this host and on two; a LINE for each of the four ranks, where L is
# the local rank, N the host's number and K the host's ranks.
finds() {
    local where expected line rank
    for where in HERE THERE; do
        local -n options=$where
        expected=
        for rank in 0 1 2 3; do
            line="[$rank] $2"
            if [ "$where" = HERE ]; then
                line=${line//L/$rank} line=${line//N/0} line=${line//K/4}
            else
                line=${line//L/$((rank % 2))} line=${line//N/$((rank / 2))} line=${line//K/2}
            fi
            expected+=${line//R/$rank}$'\n'
        done
        run "$MLAUNCH" "${options[@]}" "${@:3}" -- "${PROGRAM[@]}" "$1"
        sort "$OUT" > "$T/lines"
        check_output "${expected%$'\n'}" "ranks of $1 ${where,,} find each other" cat "$T/lines"
        [ ! -s "$ERR" ] || diag "$(cat "$ERR")"
    done
}

finds torch "rank R of 4"
finds lightning "rank R of 4, local L, node N, restart 0 of 2" --restarts 2
finds accelerate "rank R of 4, local L of K"
finds jax "rank R of 4, device L"
finds mlx "ring, rank R of 4"

# MLX's data goes the way of the job's: where there is a wiring, over RDMA.
cat > "$T/mesh.json" << EOF
[{"ssh": "$H1", "rdma": [null, "m0"]}, {"ssh": "$H2", "rdma": ["m1", null]}]
EOF
run "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --hostfile "$T/mesh.json" --backend none -- \
    "${PROGRAM[@]}" mlx
sort "$OUT" > "$T/lines"
check_output "[0] jaccl's mesh, rank 0 of 2, [None, 'm0']
[1] jaccl's mesh, rank 1 of 2, ['m1', None]" \
    "ranks of mlx find each other by the hostfile's wiring" cat "$T/lines"
run "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --hostfile "$T/mesh.json" --backend tcp -- \
    "${PROGRAM[@]}" mlx
sort "$OUT" > "$T/lines"
check_output "[0] ring, rank 0 of 2
[1] ring, rank 1 of 2" "ranks of mlx find each other by a ring with --backend tcp" cat "$T/lines"

check_error 1 'rank 1 on host localhost \(pid [0-9]+\) exited with status 1: ValueError: shard 7 is empty$' \
    "an exception that torch's record has written is part of the verdict" \
    "$MLAUNCH" "${HERE[@]}" --on-failure continue -- "${PROGRAM[@]}" record
check_output "" "--no-compat sets no framework's variables" \
    "$MLAUNCH" -n 1 --no-compat -- sh -c 'env | grep -E "^(RANK|TORCH|JAX|MLX|OMPI|NCCL)" || :'
done_testing
