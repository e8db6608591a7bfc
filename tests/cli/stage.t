#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --stage: hosts without the directory that holds the program get a copy of it, which is whole, runs
# there, and is gone afterwards however the job ends.
# shellcheck disable=SC2154 # here, JOB: of stage.sh
TEST_TIER=quick
. "${0%/*}/stage.sh"

# counted N NAME REGEX: N lines of $OUT match.
counted() {
    local n
    n=$(grep -cE -- "$3" "$OUT")
    if [ "$n" = "$1" ]; then pass "$2"; else fail "$2" "$n lines match"; diag_file "$OUT"; fi
}

cat > program.c << 'C'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char exe[4096], cwd[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    exe[n > 0 ? n : 0] = 0;
    printf("%s|%s|%s|%s\n", argv[0], argc > 1 ? argv[1] : "", exe, getcwd(cwd, sizeof(cwd)));
    return 0;
}
C
"$CC" -o a.out program.c
check_error 127 "host $H1.*a.out: No such file" "a host has no such program without --stage" \
    job -H "$H1" -n 1 -- ./a.out
check "a program runs on a host with --stage" \
    job --stage -v -H "$H1" -n 1 --output raw -- ./a.out 'one two'
check_match "^\./a.out\|one two\|/tmp/mlaunch-$(id -u)/[^/]*/files/0/a.out\|$here\$" "$OUT" \
    "the copy has its words and directory, in the job's own directory"
check_match "host $H1: has got its copy of $(stat -c %s a.out) bytes in [0-9]+ ms" "$ERR" \
    "-v tells how long the copy took"
check "nothing is left of the copy" left_nothing
check "several ranks on two hosts run with --stage" \
    job --stage -H "$H1,$H2" -n 4 --ppn 2 --output raw -- ./a.out x
counted 4 "all ranks on two hosts run a copy" '^./a.out\|x\|/tmp/'
check "this machine's ranks run beside those of another host" \
    job --stage -H "localhost,$H1" -n 2 --output raw -- ./a.out x
check_match "\|x\|$here/a.out\|" "$OUT" "this machine's ranks run the program where it is"
check_match "\|x\|/tmp/.*/a.out\|" "$OUT" "the other host's ranks run a copy"
check_output "./a.out|x|$here/a.out|$here" "this machine alone copies nothing" \
    "$MLAUNCH" --stage -n 1 --output raw -- ./a.out x

# Programs that are named otherwise, and several of them.
mkdir bin
cp a.out bin/mine
PATH=$here/bin:$PATH check "a program in PATH runs with --stage" \
    job --stage -H "$H1" -n 1 --output raw -- mine x
check_match '^mine\|x\|/tmp/.*/files/0/mine\|' "$OUT" "a program in PATH is found here"
cd /
check "a program in the directory of --cwd runs with --stage" \
    job --stage -H "$H1" -n 1 --cwd "$here" --output raw -- ./a.out x
check_match "^\./a.out\|x\|/tmp/.*\|$here\$" "$OUT" "--cwd says where a program is here"
cd "$here" || exit 1
# shellcheck disable=SC2016 # the script expands them
printf '#!/bin/sh\necho "script $0 $1"\n' > script
chmod +x script
check "two programs run with --stage" \
    job --stage -H "$H1,$H2" --map-by host -n 2 --output raw -- ./script s : -n 2 ./bin/mine m
counted 2 "the first of two programs is copied" '^script /tmp/.*/files/0/script s$'
counted 2 "the second of two programs is copied" '^./bin/mine\|m\|/tmp/.*/files/1/mine\|'
check "two programs with the same contents run with --stage" \
    job --stage -v -H "$H1" -n 1 --output raw -- ./a.out : -n 1 ./bin/mine
check_match "its copy of $(stat -c %s a.out) bytes" "$ERR" "the same contents are copied once"
counted 2 "the same contents run under both names" '/files/(0/a.out|1/mine)\|'
printf 'import sys\nprint("python", sys.argv[1])\n' > script.py
check_output "python x" "a Python script that is not executable is copied" \
    job --stage -H "$H1" -n 1 --output raw -- ./script.py x
check_output "python y" "a Python script is found without a directory" \
    job --stage -H "$H1" -n 1 --output raw -- script.py y

# A large one arrives whole, and keeps neither side's memory.
cat > sum.sh << 'S'
#!/bin/sh
exec sha256sum "$0"
S
head -c 200000000 /dev/urandom > noise
{ cat sum.sh; echo 'exit'; cat noise; } > large
chmod +x large
sum=$(sha256sum < large)
room=1500000 # kB of addresses, of which a sanitizer reserves terabytes
[ "$SANITIZE" = no ] || room=unlimited
# shellcheck disable=SC2016 # for the inner shell
check "200 MB are copied to two hosts" bash -c 'ulimit -v "$0"; exec "$@"' "$room" \
    "${JOB[@]}" --stage -H "$H1,$H2" -n 2 --output raw -- ./large
counted 2 "200 MB arrive whole on two hosts" "^${sum%% *}"
check "nothing is left of 200 MB" left_nothing

# What is wrong is said before anything starts.
check_error 125 "^mlaunch: error: --stage: cannot read ./none: No such file or directory" \
    "a program that is not there is refused" job --stage -H "$H1" -n 1 -- ./none
check_error 125 "^mlaunch: error: --stage: there is no program no-such in PATH here" \
    "a program that PATH lacks is refused" job --stage -H "$H1" -n 1 -- no-such
check_error 125 "^mlaunch: error: --stage: ./bin is a directory" \
    "a directory in place of a program is refused" job --stage -H "$H1" -n 1 -- ./bin
check_error 125 "^mlaunch: error: --stage: ./sum.sh is not executable: chmod" \
    "a file that is not executable is refused" job --stage -H "$H1" -n 1 -- ./sum.sh
check "a plan with --stage is made" job --stage --dry-run -H "$H1" -n 1 -- ./a.out
check_match "^    copied from \./a.out \($(stat -c %s a.out) bytes\) to each host that is not this machine" \
    "$OUT" "the plan tells what would be copied"

# However it ends, nothing is left.
printf '#!/bin/sh\necho up\nexec sleep 100\n' > waits
chmod +x waits
"${JOB[@]}" --stage -H "$H1" -n 1 --output raw -- ./waits > "$T/up" 2> "$ERR" &
job=$!
wait_for 'grep -q up "$T/up"' && pass "a job runs before mlaunch is killed" \
    || fail "a job runs before mlaunch is killed"
must kill -KILL $job
wait $job 2> /dev/null
check "nothing is left if mlaunch is killed" left_nothing

# The copy is cut in its middle: mlaunch is stopped once the file is there and not whole.
copying() {
    # shellcheck disable=SC2046 # directories; without one find would look into this one
    [ -n "$(find $(job_directories) /dev/null -path '*/files/0/large' -size +4k 2> /dev/null)" ]
}
"${JOB[@]}" --stage -H "$H1" -n 1 --output raw -- ./large > "$OUT" 2> "$ERR" &
job=$!
wait_for copying && pass "a copy is under way before mlaunch is killed" || fail \
    "a copy is under way before mlaunch is killed"
must kill -KILL $job
wait $job 2> /dev/null
check "nothing is left of a part of a copy" left_nothing

# A host whose /tmp cannot take the program.
must netns exec "$H2" "$TEST_LIB/cover" /tmp size=1m
check_error 125 "^mlaunch: host $H2: --stage copies 200.0 MB to /tmp, where only [0-9.]+ [KM]B are free: make room there" \
    "a host without room is told of" job --stage -H "$H1,$H2" -n 2 -- ./large
check_match "^mlaunch: 1 of 2 hosts failed; nothing was started" "$ERR" \
    "a host without room ends the job"
must netns exec "$H2" mount -o remount,noexec /tmp
check_error 125 "^mlaunch: host $H2: --stage copies the program to /tmp, which is mounted noexec there: remount" \
    "a host that executes nothing in /tmp is told of" job --stage -H "$H2" -n 1 -- ./a.out
check "nothing is left on a host that executes nothing in /tmp" wait_for \
    '[ -z "$(netns exec "$H2" find /tmp -path "*/files/*")" ]'
done_testing
