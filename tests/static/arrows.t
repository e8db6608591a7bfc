#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who may include whom (the map in CONTRIBUTING.md): a line for each room. A room may always include
# its own headers, common/ and the generated headers.
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# room FOLDER OTHER…: the files of FOLDER include only files of FOLDER, common/ and the others,
# which are folders or single headers.
room() {
    local folder=$1 line path other bad="" always="common common/text"
    [ "$folder" != common/text ] || always=""
    shift
    rooms[$folder]=1
    while IFS= read -r line; do
        path=${line##*:}
        case $path in config.h | build-id.h) continue ;; esac
        for other in "$folder" $always "$@"; do
            [ "${path%/*}" = "$other" ] || [ "$path" = "$other" ] && continue 2
        done
        bad+="${line%:*}: includes $path"$'\n'
    done < <(grep -n -E '^ *# *include *"' "$folder"/*.[ch] | sed -E 's/^([^:]*:[0-9]*):.*"(.*)".*/\1:\2/')
    if [ -z "$bad" ]; then pass "$folder includes only: $*"; else fail "$folder includes only: $*" "$bad"; fi
}
declare -A rooms

l=launcher
room common
room common/text
room common/record
room coordinator

room $l/text
room $l/process $l/text
room $l/protocol
room $l/loader
room $l/tree
room $l/hosts $l/text
room $l/options $l/text
room $l/debug $l/text
room $l/plan $l/debug $l/hosts $l/options $l/process $l/stage $l/text
room $l/channel $l/hosts $l/process $l/protocol $l/text
room $l/stage $l/channel $l/loader $l/process $l/protocol $l/text
room $l/ssh $l/channel $l/hosts $l/process $l/protocol $l/text
room $l/stdio $l/plan $l/process $l/protocol $l/text
room $l/wiring
room $l/draw $l/text $l/wiring
room $l/record common/record $l/plan $l/text
room $l/hang $l/plan $l/stdio
room $l/job $l/channel $l/debug $l/hang $l/plan $l/process $l/protocol $l/record \
    common/record $l/stage $l/stdio $l/text $l/wiring
room $l/detach $l/job $l/options $l/plan $l/text
room $l/exec $l/job $l/options $l/plan $l/text
room $l/query $l/channel $l/detach $l/draw $l/hang $l/hosts $l/options $l/plan $l/process \
    $l/protocol $l/text $l/wiring
room $l/attach $l/job $l/options $l/plan $l/process $l/query $l/text
room $l/sync $l/channel $l/hosts $l/options $l/plan $l/process $l/protocol $l/query $l/text \
    $l/tree $l/wiring
room $l/metrics $l/hosts $l/options $l/process $l/query $l/text
room $l/top $l/hang $l/process $l/query $l/text
room $l/verify $l/hosts $l/query $l/text
room $l/pmix $l/protocol/pmix_protocol.h
room $l/batch $l/options $l/process $l/text
room $l/bench $l/bench/link/link_bench.h $l/bench/transfer/transfer_bench.h $l/options $l/process \
    $l/text
room $l/bench/compare $l/bench $l/text
room $l/bench/link $l/bench $l/text
room $l/bench/transfer $l/bench
room $l $l/attach $l/batch $l/bench $l/bench/compare $l/channel $l/detach $l/exec $l/hosts $l/job \
    $l/metrics $l/options $l/plan $l/process $l/protocol $l/query $l/stdio $l/sync $l/text \
    $l/top $l/verify $l/wiring

a=launcher/agent
room $a/host common/record
room $a/rank $a/host $l/loader $l/protocol
room $a/facts $a/host $l/process
room $a/stack $a/host
room $a/answer common/record $a/facts $a/host $a/stack $l/process $l/protocol
room $a/mpi $l/loader $l/process $l/protocol
room $a/sync $a/host $l/process $l/protocol $l/tree rdma/rdma_table.h rdma/endpoint_module.h
room $a $a/answer $a/host $a/mpi $a/rank $a/sync $l/process $l/protocol coordinator common/record

room runtime/process common/record
room runtime/kernel
room runtime/group runtime/kernel runtime/process coordinator/client.h coordinator/protocol.h
room runtime/transport runtime/group runtime/kernel runtime/process rdma/rdma_table.h \
    rdma/endpoint_module.h coordinator/protocol.h
room runtime/steps common/record runtime/group runtime/kernel
room runtime/collective runtime/steps runtime/transport runtime/group runtime/kernel runtime/process
room runtime/call runtime/collective runtime/group runtime/kernel runtime/process common/record
room runtime/window runtime/call runtime/transport runtime/group runtime/process
room runtime runtime/call runtime/collective runtime/steps runtime/transport runtime/window \
    runtime/group runtime/process coordinator/client.h coordinator/protocol.h

if [ -d rdma ]; then
    room rdma/verbs
    room rdma/pairing rdma/verbs
    room rdma/onesided rdma/pairing rdma/verbs
    room rdma/probe rdma/verbs
    room rdma rdma/onesided rdma/pairing rdma/verbs
fi

room examples
e=examples/llm
room $e/model
room $e/compute $e/model
room $e/steps $e/compute $e/model
room $e/text $e/model/gguf.h $e/model/gguf_value.h
room $e/serve $e/steps $e/text $e/model
room $e $e/model $e/compute $e/steps $e/text $e/serve

# No folder is without a line, and none is too full to be surveyed.
while IFS= read -r folder; do
    [ -n "${rooms[$folder]:-}" ] || [ -z "$(find "$folder" -maxdepth 1 -name '*.[ch]')" ] ||
        fail "$folder has a line in $0"
done < <(find common coordinator examples launcher runtime rdma -type d)
while IFS= read -r folder; do
    n=$(find "$folder" -maxdepth 1 -name '*.[ch]' | wc -l)
    if [ "$n" -le 26 ]; then pass "$folder has at most 26 files"; else fail "$folder has at most 26 files" "$n"; fi
done < <(find common coordinator examples launcher runtime rdma -type d ! -name python)
done_testing
