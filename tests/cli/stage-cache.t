#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --stage-cache: hosts keep their copies of the directory of --stage-env. The next job sends
# nothing; a changed file makes a new version, and the old one goes once nobody uses it. Whatever
# ends in the middle of a copy, nothing half-made is left.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"

E=$T/env
C=$T/cache
mkdir -p "$E/bin" "$E/closed" "$C"
printf '#!/bin/sh\necho "tool of $(dirname "$0")"\n' > "$E/bin/tool"
chmod +x "$E/bin/tool"
head -c 2000000 /dev/urandom > "$E/data"
chmod 555 "$E/closed"
chmod 755 "$T" "$C"
NETNS_PRIVATE="$E $C" hosts_up 4
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
staged() { job --stage-env "$E" --stage-cache "$C" -v "$@"; }
kept() { netns exec "$1" ls -A "$C"; }
versions() { kept "$1" | grep -cE '^[0-9a-f]{16}\.[0-9a-f]{32}$'; }
# The host has N versions, and nothing else.
has_versions() { test "$(versions "$1")" = "$2" && test "$(kept "$1" | wc -l)" = "$2"; }

check_output $'tool of '"$E/bin"$'\ntool of '"$E/bin" "the first job sees the copies" \
    staged -H "$H1,$H2" --output raw -- tool
check_match "host $H2: has a copy of $E, for which [0-9]+ files of [0-9]+ bytes" "$ERR" \
    "the first job copies"
check "the first host keeps one version" has_versions "$H1" 1
check "the second host keeps one version" has_versions "$H2" 1
first=$(kept "$H1")
check_output $'tool of '"$E/bin"$'\ntool of '"$E/bin" "the second job sees the copies" \
    staged -H "$H1,$H2" --output raw -- tool
for h in "$H1" "$H2"; do
    check_match "host $h: has kept its copy of $E from before, so that 0 bytes were sent" "$ERR" \
        "the second job sends nothing to $h"
done
check "the second job sends no file" sh -c "! grep -q 'files of' '$ERR'"
netns exec "$H2" sh -c "rm -r '$C'/*"
check "a job runs on a host that has lost its copy" staged -H "$H1,$H2" -- test -e "$E/data"
check_match "host $H1: has kept" "$ERR" "the other host has kept its own copy"
check_match "host $H2: has a copy" "$ERR" "the host that has lost its copy gets one"
check_output "$first" "the new copy has the same name" kept "$H2"

# With --restarts, the second try copies nothing.
touch "$E/restart"
check "a job with a kept copy is restarted" staged --restarts 1 -H "$H1" -- \
    sh -c 'test "$MLAUNCH_RESTART" = 1 || exit 3'
cp "$ERR" "$T/err"
check_output 1 "a restarted job gets its copy once" grep -c "host $H1: has a copy" "$T/err"
check_output 1 "a restarted job finds its copy" grep -c "host $H1: has kept" "$T/err"
check "a changed directory is another version, and the old one goes" has_versions "$H1" 1
check "another version has another name" test "$(kept "$H1")" != "$first"

# Who holds a version keeps it; both share the next one.
"${JOB[@]}" --stage-env "$E" --stage-cache "$C" -H "$H1" -- \
    sh -c "echo held; cat '$T/wait' > /dev/null; cat '$E/data' | cksum" > "$T/holder" 2>&1 &
holder=$!
mkfifo "$T/wait"
wait_for 'grep -q held "$T/holder"'
held=$(cksum < "$E/data")
check "a job beside another shares its copy" staged -H "$H1" -- true
check_match "host $H1: has kept" "$ERR" "a shared copy is not sent again"
echo more >> "$E/data"
check "a job beside another has the changed file" \
    staged -H "$H1" -- sh -c "tail -n 1 '$E/data' | grep -aq more"
check "a version in use is left beside the new one" has_versions "$H1" 2
echo > "$T/wait"
wait "$holder"
check_output 1 "the job of the older version can still read it" grep -cF "$held" "$T/holder"
check "a job after both runs" staged -H "$H1" -- true
check "the unused version alone is removed" has_versions "$H1" 1

# Where the agent's worker is killed, the guard has the version until the ranks' processes have
# ended. It is stopped here, so that they live on.
mkfifo "$T/ready" "$T/go"
# shellcheck disable=SC2016
agent='for p in /proc/[0-9]*; do
    case $(readlink "$p/exe") in */mlaunch-agent) ;; *) continue ;; esac
    parent=$(cut -d " " -f 4 "$p/stat")
    case $(readlink "/proc/$parent/exe") in */mlaunch-agent) echo "$parent ${p##*/}" ;; esac
done'
"${JOB[@]}" --stage-env "$E" --stage-cache "$C" -H "$H1" -- sh -c "exec > /dev/null 2>&1
    (echo > '$T/ready'; cat '$T/go'; cksum < '$E/data' > '$T/read') & wait" 2> "$T/killed" &
holder=$!
cat "$T/ready" > /dev/null
read -r guard worker < <(netns exec "$H1" sh -c "$agent" 2> /dev/null)
held=$(cksum < "$E/data")
netns exec "$H1" kill -STOP "$guard"
netns exec "$H1" kill -KILL "$worker"
wait_for '! netns exec "$H1" test -e "/proc/$worker/exe"'
echo changed >> "$E/data"
check "a job runs beside one whose agent was killed" staged -H "$H1" -- true
check "the version of a job whose agent was killed is left" has_versions "$H1" 2
echo > "$T/go"
check "processes of a killed agent can still read their version" \
    wait_for 'test "$(cat "$T/read")" = "$held"'
netns exec "$H1" kill -CONT "$guard"
wait "$holder"
check "a job runs after the processes of a killed agent" staged -H "$H1" -- true
check "the version of the killed agent alone is removed" has_versions "$H1" 1

# Two that copy at once: the one that is second takes the other's.
touch "$E/at-once"
check "two hosts with one cache get their copies" \
    job --stage-env "$E" --stage-cache "$T/shared" -n 2 -H "localhost,$H1" --mount "$T:$T" -- true
check_output 1 "two hosts with one cache have one copy" sh -c "ls -A '$T/shared' | wc -l"

# The mounts that a rank has show which directory is behind the path of the original.
check "the ranks read the copy alone" staged -n 1 -- sh -c "test \$(stat -c %i '$E/data') = \
    \$(stat -c %i '$C'/*/env/data)"
check "the ranks don't read the original" \
    staged -n 1 -- test "!" "$E/data" -ef "/proc/$$/root$E/data"

# Whatever ends in the middle of a copy leaves nothing half-made. A slow line keeps it there.
slow() { tc qdisc replace dev "v-$1" root tbf rate 1mbit burst 16kb latency 50ms; }
if ! slow "$H1" 2> /dev/null; then
    skip "nothing half-made is left of what ends in the middle" \
        "this kernel cannot slow a line down"
    done_testing
fi
half() { netns exec "$1" sh -c "ls -d '$C'/.mlaunch-copy.*/env/bin" > /dev/null 2>&1; }
# process NAME: the pid of the last of mlaunch's processes of that name on the host.
process() {
    # shellcheck disable=SC2016
    netns exec "$H1" sh -c 'for p in /proc/[0-9]*; do
        case $(readlink "$p/exe") in */"$0") echo "${p##*/}" ;; esac
    done' "$1" 2> /dev/null | sort -n | tail -n 1
}
# begin: a job whose copy is in its middle; its pid is $job.
begin() {
    netns exec "$H1" sh -c "rm -rf '$C'/* '$C'/.mlaunch*"
    # A shell lets those in its background ignore interrupts.
    env --default-signal=INT "${JOB[@]}" --stage-env "$E" --stage-cache "$C" -H "$H1" -- true \
        > "$T/half" 2>&1 &
    job=$!
    wait_for 'half "$H1"' || diag_file "$T/half"
}
# ended STATUS SENTENCE NAME: a line of the job matches SENTENCE, if that is not empty.
ended() {
    local status=0
    wait "$job" 2> /dev/null || status=$?
    if [ "$status" != "$1" ] || { [ -n "$2" ] && ! grep -Eq "$2" "$T/half"; }; then
        fail "$3" "status $status"
        diag_file "$T/half"
    else
        pass "$3"
    fi
    check "$3: nothing half-made is left" wait_for 'test -z "$(kept "$H1")"'
    check "$3: no process or job is left" left_nothing
}
begin
netns exec "$H1" kill -KILL "$(process mlaunch-copier)"
ended 125 "host $H1: .*mlaunch-copier" "a job fails if its copier is killed"
begin
kill -INT "$job"
ended 130 "interrupt|SIGINT|Ctrl-C" "a job is interrupted in the middle of a copy"
begin
netns exec "$H1" kill -KILL "$(process mlaunch-agent)"
ended 125 "host $H1: " "a job fails if its agent is killed in the middle of a copy"
begin
kill -KILL "$job"
ended 137 "" "mlaunch is killed in the middle of a copy"
# What is left when a whole host dies, the next job removes.
tc qdisc del dev "v-$H1" root
netns exec "$H1" mkdir -p "$C/.mlaunch-copy.abcdef/env/bin" "$C/.mlaunch-old.x/env"
check "a job runs where a host has died in the middle of a copy" staged -H "$H1" -- true
check "what a died host left of a copy is gone" has_versions "$H1" 1

# A whole host dies in the middle of its copy, with all its processes.
dies() {
    slow "$1"
    : > "$EVENTS"
    "${JOB[@]}" --stage-env "$E" --stage-cache "$C" "${@:2}" > "$T/half" 2>&1 &
    job=$!
    wait_for "half $1" || diag_file "$T/half"
    netns kill "$1"
    # Hosts share /tmp here: what it had there has gone with it.
    find /tmp -maxdepth 2 -path "/tmp/mlaunch-*/$(job_id).0.*" -exec rm -rf {} +
}
netns exec "$H1" sh -c "rm -rf '$C'/*"
dies "$H3" -H "$H3,$H1" -- true
ended 125 "host $H3: " "a job fails if a host dies in the middle of a copy"
# The other has its whole copy by now, or not: its lines are fast.
dies "$H4" -H "$H4,$H1" --restarts 1 --spare-hosts "$H2" -- sh -c \
    "test -e '$E/data' && echo ran on \$(hostname)"
wait "$job"
check_output "ran on $H1
ran on $H2" "a job goes on with a spare host if one dies in the middle of a copy" \
    sh -c "grep -o 'ran on .*' '$T/half' | sort"
check_match "host $H4.* lost|host $H4: " "$T/half" \
    "the host that died in the middle of a copy is named"
for h in "$H1" "$H2"; do
    check "nothing half-made is left on $h" has_versions "$h" 1
done
check "no process or job is left of a died host" left_nothing

mkdir "$T/behind"
ln -s behind "$T/link"
linked() { job --stage-env "$E" --stage-cache "$T/link" -n 1 -H localhost --mount "$T:$T" -- true; }
check "a cache behind a link gets a copy" linked
echo more > "$E/more"
check "a cache behind a link gets another version" linked
check_output 1 "a cache behind a link keeps no older version" sh -c "ls -A '$T/behind' | wc -l"
check_error 125 "stage-cache keeps the copies of --stage-env" \
    "--stage-cache is refused without --stage-env" job --stage-cache "$C" -- true
check_error 125 "stage-cache must be an absolute path" "a relative path of the cache is refused" \
    job --stage-env "$E" --stage-cache cache -- true
mkdir -m 777 "$T/open"
chmod 777 "$T/open"
job_says 125 "stage-cache: $T/open belongs to another user, or others may write there" \
    "a cache in which others may write is refused" \
    --stage-env "$E" --stage-cache "$T/open" -n 1 -- true
job_says 125 "stage-cache: cannot make $T/none/cache: No such file" \
    "a cache that cannot be made is refused" \
    --stage-env "$E" --stage-cache "$T/none/cache" -n 1 -- true
touch "$T/file"
job_says 125 "stage-cache: $T/file is not a directory" "a file in place of the cache is refused" \
    --stage-env "$E" --stage-cache "$T/file" -n 1 -- true
check "a plan with --stage-cache is made" job --stage-env "$E" --stage-cache "$C" --dry-run -- true
check_match "^which is kept there in: $C\$" "$OUT" "the plan tells where copies are kept"
check "nothing is left of jobs with --stage-cache" left_nothing
done_testing
