#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The order of the house: the list of rooms below, from below to above. A room includes its own
# headers, those of common/, the generated ones, and of the rooms before it those that its line
# names. The map in CONTRIBUTING.md has the same list. The examples have nothing of common/: they
# include <mlaunch.h>, as it is installed, and are compiled where nothing else can be found.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/includes.sh"
cd "$SOURCE" || exit 1

declare -A listed group_of granted
last=""
: > "$T/arrows"
: > "$T/map"

# header FOLDER HEADER WHY: the files of FOLDER include HEADER, but nothing else of its room.
header() {
    granted[$1]+=" $2"
    [ -n "${3:-}" ] || fail "$0 says why $1 includes $2"
}

# room FOLDER OTHER…: the files of FOLDER include only files of FOLDER, common/ and the others.
room() {
    local folder=$1 group=$1 line path other used=" " bad="" below="common common/text common/net"
    shift
    case $folder in common/text) below="" ;; common) below="common/text" ;; examples*) below="" ;; esac
    listed[$folder]=1
    # The folders of launcher/ are groups of rooms, and so are the stand-in for libibverbs and the
    # coordinator.
    [[ ! $folder =~ ^(launcher/[^/]*|rdma/standin|coordinator) ]] || group=${BASH_REMATCH[0]}
    if [ "$group" != "$last" ] && [[ " ${group_of[*]} " = *" $group "* ]]; then
        bad="the rooms of $group follow each other"$'\n'
    fi
    group_of[$folder]=$group last=$group
    for other in "$@" ${granted[$folder]:-}; do
        [ -n "${listed[${other%/*.h}]:-}" ] || bad+="$other is not below $folder"$'\n'
    done
    while IFS= read -r line; do
        path=${line##*:}
        case $path in config.h | build-id.h) continue ;; esac
        [ "${path%/*}" != "$folder" ] || continue
        echo "$folder ${path%/*}" >> "$T/arrows"
        for other in $below "$@" ${granted[$folder]:-}; do
            [ "${path%/*}" = "$other" ] || [ "$path" = "$other" ] || continue
            used+="$other "
            continue 2
        done
        bad+="${line%:*}: includes $path"$'\n'
    done < <(includes "$folder"/*.[ch])
    [ -d "$folder" ] || used=" $* ${granted[$folder]:-} " # as rdma/ of a source without it
    for other in "$@" ${granted[$folder]:-}; do
        case $used in *" $other "*) ;; *) bad+="no file of $folder includes $other"$'\n' ;; esac
    done
    other="$* ${granted[$folder]:-}"
    if [ -z "$bad" ]; then pass "$folder includes only: $other"; else fail "$folder includes only: $other" "$bad"; fi
    # As the map has it: without the part's name, which is also the room's.
    echo "$folder/|$(echo " $other" | sed -E "s, ${folder%%/*}/, ,g; s/ +/ /g; s/^ //; s/ $//")" >> "$T/map"
}

l=launcher
b=$l/base i=$l/input w=$l/wire r=$l/run c=$l/commands t=$l/tools a=$l/agent
room common/text
room common
room common/net

room rdma/verbs
room rdma/rma rdma/verbs
room rdma rdma/verbs rdma/rma
room rdma/probe rdma/verbs
s=rdma/standin
room $s
room $s/names
room $s/objects $s $s/names
room $s/library $s/objects
room $s/profile $s
room $s/fabric $s $s/profile
room $s/host

room coordinator
room coordinator/service coordinator
room coordinator/host coordinator coordinator/service

room $b/text
room $b/process
room $b/container $b/text
room $b/tree
room $b/loader
room $b/machine $b/process

room $i/options $b/text
room $i/hosts $b/text
room $i/values $b/text $b/process $b/loader $b/tree
room $i/plan $b/text $b/process $b/container $i/options $i/hosts $i/values

room $w/protocol $b/process
room $w/uplink/stream
room $w/uplink $w/uplink/stream
room $w/join $b/process $w/protocol $w/uplink/stream $w/uplink
room $w/channel $b/text $b/process $i/hosts $w/protocol $w/uplink
room $w/ssh/reach $b/text $b/process $i/hosts
room $w/ssh $b/process $b/loader $w/protocol $w/channel $w/ssh/reach

room $r/spread $b/text $b/tree $i/values $w/protocol $w/channel
room $r/stacks
room $r/rdma_topology
room $r/record $i/plan
room $r/stdio $b/text $b/process $b/machine $i/plan $w/protocol
room $r/identity $b/text $b/machine $i/plan $w/protocol
room $r/elastic $w/protocol
room $r/state $b/text $i/plan $w/protocol $w/channel $r/spread $r/stacks $r/record $r/stdio \
    $r/identity $r/elastic
room $r/round $i/values $i/plan $w/protocol $w/channel $r/spread $r/rdma_topology $r/record \
    $r/stdio $r/identity $r/elastic $r/state
room $r/change $b/machine $i/hosts $i/values $i/plan $r/round
room $r/log
room $r/job $b/text $b/process $b/machine $i/hosts $i/values $i/plan $w/protocol $w/uplink \
    $w/channel $r/record $r/stdio $r/identity $r/elastic $r/state $r/change $r/log $r/round

room $l/ask $b/text $b/process $b/machine $i/options $i/hosts $i/plan $w/protocol $w/channel

room $c/draw $b/text $r/rdma_topology
room $c/batch $b/text $i/options
room $c/join $b/text $i/options $w/uplink
room $c $b/text $b/process $b/machine $i/options $i/hosts $i/values $i/plan $r/stacks \
    $r/rdma_topology $r/stdio $r/log $l/ask $c/draw

header $t/copier rdma/endpoint_module.h "opens mlaunch-rdma.so, and knows only its table"
room $t/copier $b/process $b/tree
room $t/sync $b/text $b/process $b/tree $i/options $i/plan $w/protocol $w/channel $r/spread \
    $r/rdma_topology $l/ask
room $t/metrics $b/text $b/process $i/options $l/ask
room $t/top $b/text $b/process $r/stacks $l/ask
room $t/verify $b/text $b/process $i/plan $l/ask
room $t/bench/command $b/text $b/process $i/options
room $t/bench/compare $b/text $b/process $i/options $t/bench/command
room $t/bench/measure $t/bench/command
room $t/bench/pair $b/text $t/bench/command $t/bench/measure
room $t/bench/program $b/text $t/bench/measure $t/bench/pair

room $a/host $b/container $b/machine
room $a/stack $b/machine
room $a/facts $b/text $b/process $a/host
room $a/binding $a/host
room $a/rank $b/text $b/loader $w/protocol $a/host $a/binding
room $a/container $b/text $b/process $b/container $w/protocol $a/rank
room $a/mpi $b/text $b/process $b/loader $b/machine $w/protocol
room $a/evidence $b/text $b/machine
room $a/queries $b/text $b/process $b/machine $a/host $a/stack $a/facts $a/evidence
room $a/children $b/process $w/protocol $a/queries
room $a/keeper $w/protocol $a/children
room $a/state $w/protocol $a/host $a/binding $a/rank
room $a/run coordinator coordinator/service coordinator/host $b/text $b/process $b/machine \
    $w/protocol $a/host $a/binding $a/rank $a/container $a/mpi $a/queries $a/keeper $a/state
room $a $b/process $b/loader/libc_need.h $b/machine $w/protocol $w/join $a/host $a/binding \
    $a/rank $a/container $a/queries $a/children $a/run

header $l/pmix $w/protocol/pmix_protocol.h "the frames between it and the agent"
room $l/pmix

header $l $t/verify/fitness.h "--check: a job has its hosts looked at as verify does"
room $l $b/text $b/process $i/options $i/hosts $i/plan $r/identity $r/state $r/job $w/join $l/ask \
    $c/batch $c/join $c

room runtime/process
room runtime/gpu runtime/process
room runtime/kernel
header runtime/group coordinator/client.h "the ranks' client, not the service"
header runtime/group coordinator/protocol.h "the ranks' client, not the service"
room runtime/group runtime/process runtime/gpu runtime/kernel
header runtime/transport coordinator/protocol.h "the frames, not the service"
header runtime/transport rdma/endpoint_module.h "opens mlaunch-rdma.so, and knows only its table"
header runtime/transport rdma/rdma_table.h "opens mlaunch-rdma.so, and knows only its table"
room runtime/transport runtime/process runtime/gpu runtime/group
room runtime/tcp runtime/process runtime/gpu runtime/kernel runtime/group
room runtime/steps runtime/kernel runtime/group
room runtime/collective runtime/process runtime/kernel runtime/group runtime/transport runtime/steps
room runtime/call runtime/process runtime/gpu runtime/kernel runtime/group runtime/collective
room runtime/keep runtime/process runtime/gpu runtime/kernel runtime/group runtime/call
room runtime/window runtime/process runtime/gpu runtime/group runtime/transport runtime/call
header runtime/world coordinator/protocol.h "the ranks' client, not the service"
room runtime/world runtime/process runtime/gpu runtime/group runtime/transport runtime/tcp \
    runtime/steps runtime/collective runtime/call runtime/keep runtime/window
room runtime runtime/process runtime/gpu runtime/group runtime/call runtime/keep runtime/window \
    runtime/world

room examples
room examples/llm/model
room examples/llm/compute examples/llm/model
room examples/llm/steps examples/llm/model examples/llm/compute
header examples/llm/text examples/llm/model/gguf.h "the file's keys, not the model"
room examples/llm/text
header examples/llm/http examples/llm/steps/monotonic.h "the clock, not the steps"
room examples/llm/http
room examples/llm/serve examples/llm/model examples/llm/steps examples/llm/text examples/llm/http
room examples/llm examples/llm/steps examples/llm/text examples/llm/serve

# No folder is without a line, and none is too full to be surveyed.
while IFS= read -r folder; do
    n=$(find "$folder" -maxdepth 1 -name '*.[ch]' | wc -l)
    [ "$n" -gt 0 ] || continue
    [ -n "${listed[$folder]:-}" ] || fail "$folder has a line in $0"
    [ "$n" -le 26 ] || fail "$folder has at most 26 files" "$n"
done < <(find common coordinator examples launcher runtime rdma -type d)
pass "every folder was looked at"

for folder in "${!group_of[@]}"; do echo "$folder ${group_of[$folder]}"; done > "$T/groups"
awk 'NR == FNR { group[$1] = $2; next } { print group[$1], group[$2] }' "$T/groups" "$T/arrows" |
    awk '$1 != $2' | sort -u > "$T/group-arrows"
sort -u "$T/arrows" -o "$T/arrows"

# no_circle NAME FILE: the arrows of FILE close none.
no_circle() {
    local circle
    if circle=$(tsort "$2" 2>&1 > /dev/null); then pass "$1 include each other in no circle"; else
        fail "$1 include each other in no circle" "$circle"
    fi
}
no_circle "rooms" "$T/arrows"
no_circle "groups" "$T/group-arrows"

# floors FILE: the longest way down to common/.
floors() {
    grep -v ' common' "$1" | awk '
        { a[NR] = $1; b[NR] = $2 }
        END {
            for (again = 1; again && round < NR; round++)
                for (i = again = 0; ++i <= NR;)
                    if (floor[a[i]] < floor[b[i]] + 1) { floor[a[i]] = floor[b[i]] + 1; again = 1 }
            for (room in floor) if (floor[room] > most) most = floor[room]
            print most + 1
        }'
}

# at_most NUMBER WHAT FIGURE: the house is no higher and no more tangled than it has been.
at_most() {
    if [ "$3" -gt 1 ] && [ "$3" -le "$1" ]; then pass "at most $1 $2: $3"; else fail "at most $1 $2" "$3"; fi
}
at_most 9 "floors of rooms above common/" "$(floors "$T/arrows")"
at_most 9 "floors of groups and other rooms above common/" "$(floors "$T/group-arrows")"
at_most 169 "arrows between groups and other rooms" "$(wc -l < "$T/group-arrows")"

# The map: the same rooms in the same order, with the same includes.
sed -n '/^## The map of the code/,/^## How to add/p' CONTRIBUTING.md |
    sed -nE 's/^\| ([a-z_/]+\/) \|.*\| ?([^|]*) \|$/\1|\2/p' | sed 's/ *$//' > "$T/map-there"
check "the map in CONTRIBUTING.md has the rooms, their order and their includes" \
    diff "$T/map-there" "$T/map"
done_testing
