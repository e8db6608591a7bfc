# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# join.sh: jobs of namespace hosts that call the head, behind hosts.sh and fault.sh. No host is
# reached over SSH.
PORT=7000
KEY=$T/key
joins=()

# join_on HOST INDEX HOSTS [ARGUMENT…]: mlaunch join there, in the background; its output is in
# $T/INDEX.out and .err.
join_on() {
    local host=$1 index=$2 hosts=$3
    shift 3
    set -m
    netns exec "$host" env "$MARK" "$MLAUNCH" join --head "$H1:$PORT" --index "$index" \
        --hosts "$hosts" --key-file "$KEY" "$@" > "$T/$index.out" 2> "$T/$index.err" &
    joins[index]=$!
    set +m
}

# join_pid INDEX: the process of mlaunch join itself, as this namespace counts.
join_pid() { survivors "$MARK" | sed -n "s,^\([0-9]*\) $MLAUNCH join .*--index $1 .*,\1,p"; }

# joins_end STATUS NAME: all end with this status.
joins_end() {
    local index bad=""
    for index in "${!joins[@]}"; do
        wait "${joins[index]}" 2> /dev/null
        status=$?
        [ "$status" -eq "$1" ] || bad+="index $index: status $status"$'\n'$(cat "$T/$index.err")$'\n'
    done
    joins=()
    if [ -z "$bad" ]; then pass "$2"; else fail "$2" "$bad"; fi
}
