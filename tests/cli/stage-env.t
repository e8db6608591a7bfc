#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --stage-env: each host has a copy of a directory before its ranks start, which they see in the
# place of the original; where they cannot, PATH names the copy. It is removed with the job.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
. "${0%/*}/../lib/other-user.sh"

# The hosts have an empty directory in the place of the environment. Its tool can only be started by
# the first line, which names a path in it.
E=$T/env
mkdir -p "$E/bin"
ln -s /bin/sh "$E/bin/interpreter"
printf '#!%s/bin/interpreter\necho "tool $1 of $(dirname "$0")"\n' "$E" > "$E/bin/tool"
chmod +x "$E/bin/tool"
touch "$E/pyvenv.cfg"
head -c 3000000 /dev/urandom > "$E/data"
cp "$E/data" "$T/data"
sum=$(sha256sum < "$T/data")
chmod 755 "$T"
# They have nothing at all in the place of another one.
A=$T/away/env
mkdir "$T/away"
cp -a "$E" "$A"
NETNS_PRIVATE="$E $T/away" hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
staged() { job --stage-env "$E" "$@"; }

job_prints $'[0] tool x of '"$E/bin"$'\n[1] tool x of '"$E/bin" \
    "ranks run on hosts that lack the files" --stage-env "$E" -H "$H1,$H2" -- tool x
check_output "" "the hosts lack the files afterwards" netns exec "$H2" ls -A "$E"
check_output "$sum" "the copy is the same as the original" \
    staged -H "$H2" --output raw -- sh -c "sha256sum < '$E/data'"
check_output "$E" "an environment of venv is active" \
    staged -H "$H1" --output raw -- sh -c 'echo "$VIRTUAL_ENV"'
check_output "" "no environment of another kind is active" \
    staged -H "$H1" --output raw -- sh -c 'echo "$CONDA_PREFIX"'
cd "$T" || exit 1
check_output "tool y of env/bin" "a relative path of --stage-env works" \
    job --stage-env ./env/ -H "$H1" --cwd "$T" --output raw -- env/bin/tool y
check_error 1 "Read-only file system" "nobody writes into the copy" staged -H "$H1" -- touch "$E/new"
check "a job with --stage-env runs with -v" staged -v -H "$H2" -- true
check_match "host $H2: has a copy of $E, for which [0-9]+ files of [0-9]+ bytes were sent" "$ERR" \
    "-v says what a host has got, with its bytes"
check "this machine's ranks see the environment, too" staged -n 1 -- test -e "$E/data"
check "nothing stays mounted" sh -c "! grep -F ' $E ' /proc/self/mounts"
check "a plan with --stage-env is made" staged --dry-run -- true
check_match "^each host gets a copy of: $E\$" "$OUT" "the plan tells what is copied"
check "a copy goes with another directory in place of one" staged --mount "$E/bin:/mnt" -n 1 -- \
    sh -c "test -e /mnt/tool && ! touch '$E/new'"
check "nothing is left of jobs with --stage-env" left_nothing

# The original is on a file server, here one that this host is itself. Once the copy is complete,
# nobody opens a file there: neither the program, its interpreter and what it reads, nor mlaunch.
S=$T/server
cp -a "$E" "$S"
printf '#!%s/bin/interpreter\ncksum < %s/data\n' "$S" "$S" > "$S/bin/tool"
touch "$S/end"
mkfifo "$T/go"
# opens LIST OPTION…: a job; what it opens on the server from the start of its ranks on.
opens() {
    rm -f "$T/ready"
    "${JOB[@]}" -n 1 "${@:2}" --wrap "0: sh -c 'touch $T/ready; cat $T/go; exec \"\$@\"' -" -- \
        "$S/bin/tool" > "$T/read" 2>&1 &
    local mlaunch=$!
    wait_for "[ -e '$T/ready' ]" || return 1
    python3 "$SOURCE/tests/cli/opened_files.py" "$S" > "$1" 2>&1 &
    local watcher=$!
    wait_for "grep -q watching '$1'"
    echo > "$T/go"
    wait "$mlaunch"
    cat "$S/end"
    wait "$watcher"
    sort -uo "$1" "$1"
    grep -q "^$(cksum < "$T/data")$" "$T/read"
}
check "a program reads from a file server without --stage-env" opens "$T/without"
check_match "^$S/data\$" "$T/without" \
    "a program's files are opened on the server without --stage-env"
check_match "^$S/bin/tool\$" "$T/without" \
    "a program's interpreter is opened on the server without --stage-env"
check "a program reads from a file server with --stage-env" opens "$T/with" --stage-env "$S"
check_output watching "no file on the server is opened after the copy" cat "$T/with"

# Where the directory is not there, or cannot be covered, the copy has its own path.
job_says 0 "host $H1: its ranks do not see their copy in the place of $A: --stage-env: cannot use $A: No such file" \
    "a host without the directory gets a copy elsewhere" --stage-env "$A" -H "$H1" -- \
    sh -c "test \"\${PATH%%:*}\" = \"\$VIRTUAL_ENV/bin\" && cmp \"\$VIRTUAL_ENV/data\" '$T/data'"
job_prints "a copy" "a program in the directory is its copy there" \
    --stage-env "$A" -H "$H1" --output raw -- \
    "$A/bin/interpreter" -c 'test "$VIRTUAL_ENV/bin/interpreter" = "$0" && echo a copy'
job_prints "a copy" "a program by a relative path is its copy there" \
    --stage-env "$A" -H "$H1" --cwd "$T" --output raw -- \
    ./away/env/bin/interpreter -c 'test "$VIRTUAL_ENV/bin/interpreter" = "$0" && echo a copy'
if ! other_user || ! "${OTHER[@]}" unshare -U true 2> /dev/null; then
    skip "another user's rank sees the copy" "users may not make namespaces here"
else
    mkdir -p "$E/closed/inner"
    touch "$E/closed/inner/file"
    chmod 555 "$E/closed/inner" "$E/closed"
    user() {
        "${OTHER[@]}" "$OTHERS/launcher/mlaunch" "${JOB[@]:1}" --events /dev/null --stage-env "$E" \
            -n 1 --output raw "$@"
    }
    check_output "tool u of $E/bin" "another user's rank sees the copy" user -- tool u
    check_error 1 "Read-only file system" "another user's rank cannot write into the copy" \
        user -- touch "$E/new"
    check_output "" "another user's copy is removed, whatever its modes are" sh -c \
        "find /tmp/mlaunch-65534 -name closed 2> /dev/null || :" # other jobs' directories may vanish
    cat > "$T/forbid" <<'END'
echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"
END
    check_error 0 "does not let its users make namespaces .*: No space left on device.* PATH names the copy" \
        "a copy is made where namespaces are forbidden" \
        unshare -Ur sh "$T/forbid" "$MLAUNCH" --stage-env "$E" -n 1 -- \
        sh -c 'case $VIRTUAL_ENV in */env/env) exit 0 ;; esac; exit 1'
    check_error 125 "mount: this host does not let" \
        "no rank starts with --mount where namespaces are forbidden" unshare -Ur \
        sh "$T/forbid" "$MLAUNCH" --stage-env "$E" --mount "$E:/mnt" -n 1 -- true
fi

check_error 125 "stage-env: cannot use $T/none: No such file" \
    "a directory that is not there is refused" job --stage-env "$T/none" -- true
check_error 125 "stage-env: $E/data is not a directory" \
    "a file in place of a directory is refused" job --stage-env "$E/data" -- true
check_error 125 "stage-env: / cannot be copied as a whole" "the root directory is refused" \
    job --stage-env /usr/.. -- true
mkdir "$T/a:b"
check_error 125 "UTF-8 text without a colon" "a directory that PATH cannot name is refused" \
    job --stage-env "$T/a:b" -- true
netns exec "$H1" sh -c 'mkdir /dev/shm/small /dev/shm/noexec && mount -t tmpfs -o size=1m none /dev/shm/small &&
    mount -t tmpfs -o noexec none /dev/shm/noexec'
job_says 125 "host $H1: --stage-env copies [0-9.]+ MB of $E to /dev/shm/small/.*, where only .* are free: make room" \
    "a host without room is told of" --stage-env "$E" -H "$H1" --tmpdir /dev/shm/small -- true
job_says 125 "host $H1: --stage-env copies $E to /dev/shm/noexec/.*, which is mounted noexec" \
    "a host where nothing can be executed is told of" \
    --stage-env "$E" -H "$H1" --tmpdir /dev/shm/noexec -- true
# Between the list and the copy, a file changes.
cat > "$T/change" <<END
echo more >> "$E/data"
exec "$BUILD/launcher/agent/mlaunch-agent"
END
job_says 125 "files in $E have changed while they were copied, or cannot be read: start the job again" \
    "a file that changes meanwhile is told of" \
    --stage-env "$E" --agent-command "sh $T/change {host}" -H "$H1" -- true
check "nothing is left of refused copies" left_nothing
done_testing
