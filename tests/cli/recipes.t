#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The lines of doc/recipes.md, with programs that stand in for the real ones (stand_in.py): each is
# run as it is there, on two hosts; the death of one ends the other, or restarts both.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
needs python3
hosts_up 2

mkdir -p "$T/bin" "$T/python/sglang"
for program in vllm llama-server rpc-server ray; do
    cp "$SOURCE/tests/cli/stand_in.py" "$T/bin/$program"
    chmod +x "$T/bin/$program"
done
: > "$T/python/sglang/__init__.py"
cp "$SOURCE/tests/cli/stand_in.py" "$T/python/sglang/launch_server.py"

# The lines below a heading that are indented, without what hosts of the test are called otherwise.
recipe() {
    awk -v name="## $1" '/^## / { is_it = $0 == name } is_it && /^    / { print }' \
        "$SOURCE/doc/recipes.md" |
        sed "s/-H a,b/-H $H1,$H2/; s|/dev/tcp/b/|/dev/tcp/$A2/|; s/--rpc b:/--rpc $A2:/"
}
# Called by the recipes' text.
# shellcheck disable=SC2317
mlaunch() {
    job --ssh-config "$NETNS_SSH_CONFIG" --hostfile "$T/hosts.json" "${MORE[@]}" "$@"
}
# hosts_say [NAME=VALUE]: variables that the ranks of all programs get.
hosts_say() {
    local h line='"env": {"PATH": "%s", "PYTHONPATH": "%s", "%s": "%s", "%s": "%s"}'
    for h in "$H1" "$H2"; do
        # shellcheck disable=SC2059 # a format
        printf "{\"ssh\": \"$h\", $line}\n" "$T/bin:$PATH" "$T/python" "${MARK%%=*}" \
            "${MARK#*=}" "${1%%=*}" "${1#*=}"
    done | paste -sd, | sed 's/.*/[&]/' > "$T/hosts.json"
}
MORE=()
follow() {
    recipe "$1" > "$T/recipe"
    # shellcheck disable=SC1091
    . "$T/recipe"
}

# tried NAME LINES: all nodes have met, and end.
tried() {
    hosts_say NONE=
    run follow "$1"
    if [ "$(sort "$OUT")" = "$2" ]; then
        job_judge 0 "the recipe for $1 works" "$(cat "$T/recipe")"
    else
        fail "the recipe for $1 works" "expected: $2"
        diag_run "$(cat "$T/recipe")"
    fi
    hosts_say MEETS=1
    run follow "$1"
    if grep -Eq '^mlaunch: rank 1 on host .* exited with status 3' "$ERR"; then
        job_judge 3 "$1: the death of node 1 ends node 0" "MEETS=1 $(cat "$T/recipe")"
    else
        fail "$1: the death of node 1 ends node 0"
        diag_run "MEETS=1 $(cat "$T/recipe")"
    fi
}

tried vLLM "[0] vllm 0 has met 1
[1] vllm 1 has met 1"
tried SGLang "[0] sglang 0 has met 1
[1] sglang 1 has met 1"
tried llama.cpp "[0] llama-server 0 has met 1
[1] rpc-server 1 has met 2"
tried Ray "[0] ray 0 has met 1
[1] ray 1 has met 1"

MORE=(--restarts 1)
run follow SGLang
sort "$OUT" > "$T/lines"
check_output "[0] sglang 0 has met 1
[0] sglang 0 has met 1
[1] sglang 1 has met 1
[1] sglang 1 has met 1" "--restarts starts both nodes again" cat "$T/lines"
job_judge 0 "both nodes end well after a restart" "MEETS=1, --restarts 1: $(cat "$T/recipe")"
done_testing
