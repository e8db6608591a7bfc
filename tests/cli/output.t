#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The ranks' output: labels, raw bytes, --output DIR, --timestamp; nothing lost, nothing torn,
# memory bounded; readers that go away, full disks, slow readers.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"
unset PYTHONUNBUFFERED # as a new user's

# Labels.
job_prints "[0] a b" "parts of a line come together behind one label" -n 1 --output label -- sh -c \
    'printf "a "; sleep 0.02; echo b'
job_prints "[0] no end
[1] no end" "a last line without an end gets one behind its label" -n 2 -- printf 'no end'
job_prints $'[0] \n[1] ' "empty lines have labels" -n 2 -- echo
job_prints "plain" "the lines of one rank have no label" -n 1 -- echo plain
job_prints "[0] plain" "--output label gives one rank a label" -n 1 --output label -- echo plain
job_prints "plain
plain" "--output raw gives two ranks no label" -n 2 --output raw -- echo plain
keep job -n 2 -- sh -c 'echo out; echo err >&2'
check_match '^\[1\] err$' "$T/err" "stderr has labels and goes to stderr"
check_no_match 'err' "$T/out" "stderr does not go to stdout"
check_no_match 'out' "$T/err" "stdout does not go to stderr"

# On a terminal a partial line is shown after a moment, so that prompts appear; what follows
# continues it, unless something else has come in between.
terminal() { "$SOURCE/tests/cli/on_terminal.py" "$@"; }
# shown: without the progress line, which a slow start shows until it is done.
shown() { sed $'s/connecting [0-9]*\\/[0-9]* \xe2\x80\xa6//g; s/\r\033\\[K//g' "$T/out"; }
until_file='until [ -e "$0" ]; do sleep 0.02; done'
keep terminal "wait [0] name?
touch $T/go" "${JOB[@]}" -n 2 -- sh -c \
    '[ $MLAUNCH_RANK = 1 ] || { printf "name? "; '"$until_file"'; echo "hello bob"; }' "$T/go"
job_judge 0 "a prompt appears on a terminal" "mlaunch on a terminal"
check_output $'[0] name? hello bob\r' "a prompt is continued by its rank" shown
keep terminal "wait [0] name?
touch $T/go-1
wait [1] other
touch $T/go-0" "${JOB[@]}" -n 2 -- sh -c '[ $MLAUNCH_RANK = 0 ] && printf "name? "
    until [ -e "$0-$MLAUNCH_RANK" ]; do sleep 0.02; done
    [ $MLAUNCH_RANK = 0 ] && echo "hello bob" || echo other' "$T/go"
check_output $'[0] name? \r\n[1] other\r\n[0] hello bob\r' \
    "a line that comes in between has a line of its own" shown

# In a file or a pipe a line comes whole, however long its writer pauses: nobody waits for a part.
keep job -n 2 -- python3 "$SOURCE/tests/cli/line_in_parts.py" "$T/begun" "$T/over"
check_match '^\[0\] loss=0.5 done$' "$T/out" "a line is whole in a file"

# A progress bar keeps its label behind each \r.
job_prints $'[0] \r[0]  10%\r[0]  20%\n[0] end\r' "a progress bar keeps its label" -n 1 \
    --output label -- printf '\r 10%%\r 20%%\nend\r\n'

# A program's output comes line by line, though its standard output is no terminal.
cat > "$T/stages.c" <<'C'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    puts("first");
    while (access(argv[1], F_OK))
        usleep(20000);
    puts("second");
    return 0;
}
C
"$CC" -o "$T/stages" "$T/stages.c" || fail "the program in two stages compiles"
cat > "$T/stages.py" <<'PY'
import os, sys, time
print("first")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
print("second")
PY
# comes_at_once NAME ARGUMENT…: the first line is there before the program gets the file that it
# waits for.
comes_at_once() {
    local name=$1
    shift
    rm -f "$T/on"
    : > "$T/out" # the job in the background may open it only after the first look
    "${JOB[@]}" "$@" "$T/on" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    if wait_for 'grep -q first "$T/out"'; then pass "$name"; else
        fail "$name" "$(cat "$T/out" "$T/err")"
    fi
    : > "$T/on"
    wait "$mlaunch"
}
comes_at_once "a C program's line comes at once" -n 1 -- "$T/stages"
comes_at_once "a line of a rank's child comes at once" -n 2 -- sh -c '"$0" "$1"; :' "$T/stages"
comes_at_once "a Python program's line comes at once" -n 2 -- python3 "$T/stages.py"
comes_at_once "a Python program's line comes at once without injection" \
    -n 2 --backend none -- python3 "$T/stages.py"
# writes ARGUMENT…: how many times the rank calls write(), as the kernel counts.
cat > "$T/writes.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char text[512];
    int fd = open("/proc/self/io", O_RDONLY);

    for (int i = 0; i < 100; i++)
        printf("%d %d\n", i, i);
    fflush(stdout);
    text[read(fd, text, sizeof(text) - 1)] = 0;
    fputs(text, stderr);
    return 0;
}
C
"$CC" -o "$T/writer" "$T/writes.c" || fail "the writer of lines compiles"
writes() { job "$@" 2>&1 > "$T/out" | sed -n 's/^syscw: //p'; }
check_output 100 "each line is one write by default" writes -n 1 -- "$T/writer"
check_output 100 "--buffer line makes each line one write" writes -n 1 --buffer line -- "$T/writer"
check_output 1 "--buffer full writes as to a pipe" writes -n 1 --buffer full -- "$T/writer"
check_output 1 "a pipe within a rank keeps its buffer" \
    writes -n 1 -- sh -c '"$0" | cat' "$T/writer"
check_output 1 "stdbuf has the last word" writes -n 1 -- stdbuf -oK "$T/writer"
check_output "" "--buffer full sets nothing for Python" job -n 1 --buffer full -- \
    sh -c 'echo $PYTHONUNBUFFERED'
check_output "" "PYTHONUNBUFFERED= is the user's choice" job -n 1 -x PYTHONUNBUFFERED= -- \
    sh -c 'echo $PYTHONUNBUFFERED'
keep job -n 1 --buffer none -- python3 -c 'import os; print(os.environ["PYTHONUNBUFFERED"])'
check_output 1 "--buffer none is for Python, too" cat "$T/out"
check_error 125 "'lines' is not line, full or none" "--buffer with another word is refused" \
    "$MLAUNCH" --buffer lines true

# Lines beyond 1 MiB are split, visibly.
keep job -n 1 --output label -- python3 -c 'print("x" * 3000000)'
check "a line of 3 MB comes in three pieces, and nothing is lost" \
    python3 "$SOURCE/tests/cli/long_line.py" "$T/out"

# Timestamps.
keep job -n 2 --timestamp -- echo hi
check "--timestamp puts the time before the label" \
    python3 "$SOURCE/tests/cli/timestamps.py" "$T/out"
keep job -n 2 --timestamp -- sh -c 'exit 3'
check_match '^[-0-9]+T[0-9:]+\.[0-9]{3}[-+][0-9]{2}:[0-9]{2} mlaunch: rank [01] on host' "$T/err" \
    "--timestamp is before mlaunch's own lines"
keep job -n 1 --output raw --timestamp -- printf 'a\nb\n'
check_match '^[-0-9]+T[0-9:]+\.[0-9]{3}[-+][0-9]{2}:[0-9]{2} b$' "$T/out" \
    "--timestamp needs no labels"
keep env TZ=IST-5:30 "$MLAUNCH" -n 1 --timestamp -- echo east
check_match '[+]05:30 east$' "$T/out" "--timestamp has the user's zone"

# Raw: byte for byte.
cat > "$T/bytes.py" <<'PY'
import hashlib, os, random
data = random.Random(7).randbytes(20_000_000)
at = 0
while at < len(data):
    at += os.write(1, data[at:at + random.randint(1, 200_000)])
open(os.environ["SUM"], "w").write(hashlib.sha256(data).hexdigest())
PY
keep job -n 1 -x "SUM=$T/sum" -- python3 "$T/bytes.py"
check_output "$(cat "$T/sum")" "20 MB of random bytes arrive as they are" sh -c \
    "sha256sum < '$T/out' | cut -d' ' -f1"

# 100 MB over 8 ranks, through buffers that end in the middle of lines.
cat > "$T/lines.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    const char *rank = getenv("MLAUNCH_RANK");
    (void)argc;
    for (long i = 0; i < atol(argv[1]); i++)
        printf("%s %09ld %-*s\n", rank, i, (int)(i % 150), "x");
    return 0;
}
C
"$CC" -O2 -o "$T/lines" "$T/lines.c" || fail "the line writer compiles"
cat > "$T/untorn.py" <<'PY'
import re, sys
count, ranks = int(sys.argv[2]), 8
seen = [0] * ranks
line_form = re.compile(rb"\[(\d)\] (\d) (\d{9}) (x *)\n")
for line in open(sys.argv[1], "rb"):
    m = line_form.fullmatch(line)
    assert m and m[1] == m[2], f"torn: {line!r}"
    rank, i = int(m[1]), int(m[3])
    assert i == seen[rank] and len(m[4]) == max(1, i % 150), f"lost or changed: {line!r}, expected {seen[rank]}"
    seen[rank] += 1
assert seen == [count] * ranks, seen
PY
LINES=50000
is_long && LINES=2000000
keep job -n 8 -- "$T/lines" "$LINES"
check_status 0 "8 ranks write $(($(stat -c %s \
    "$T/out") / 1000000)) MB: each line whole, in order, with the right label" \
    python3 "$T/untorn.py" "$T/out" "$LINES"

# Back-pressure: nobody reads for a while; nothing grows, nothing is lost, heartbeats go on.
peak_of() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
mkfifo "$T/slow"
"${JOB[@]}" -n 8 -- "$T/lines" "$LINES" > "$T/slow" &
mlaunch=$!
exec 5< "$T/slow"
head -c 1000 <&5 > "$T/out"
# Only when it has stopped growing: the writer's thread is blocked in write() on the pipe.
wait_for 'grep -qs pipe_w /proc/'"$mlaunch"'/task/*/wchan || grep -qs "^1 " /proc/'"$mlaunch"'/task/*/syscall'
cat <&5 >> "$T/out"
exec 5<&-
wait "$mlaunch"
check_status 0 "a reader that pauses gets everything" python3 "$T/untorn.py" "$T/out" "$LINES"

# … and so does one that pauses while the job is stopped, for longer than the grace: nothing is
# dropped for its sake. Rank 0 notes how much it has written.
cat > "$T/noted.py" <<'PY'
import os, sys
written = 0
os.set_blocking(1, True)
note = open(sys.argv[1], "w")
while True:
    written += os.write(1, b"x" * 4096)
    print(written, file=note, flush=True)
PY
"${JOB[@]}" --grace 1 --output raw -n 2 -- sh -c \
    '[ $MLAUNCH_RANK = 1 ] || exec python3 '"$T/noted.py $T/noted"'
    while [ ! -e '"$T"'/stop ]; do sleep 0.02; done; exit 4' > "$T/slow" 2> "$T/err" &
mlaunch=$!
exec 5< "$T/slow"
head -c 4096 <&5 > "$T/out"
wait_for 'grep -qs pipe_w /proc/'"$mlaunch"'/task/*/wchan || grep -qs "^1 " /proc/'"$mlaunch"'/task/*/syscall'
: > "$T/stop"
wait_for 'grep -q "\"exited\".*\"status\":4" "$EVENTS"'
nap 4000 # how long nobody reads is the subject
cat <&5 >> "$T/out"
exec 5<&-
run wait "$mlaunch"
job_judge 4 "a job is stopped while its reader pauses" "mlaunch"
got=$(stat -c %s "$T/out")
noted=$(tail -n 1 "$T/noted")
if [ "$got" -ge "$noted" ] && [ "$got" -le $((noted + 4096)) ]; then
    pass "a reader that pauses gets all that had been written"
else
    fail "a reader that pauses gets all that had been written" "$got bytes of $noted"
fi

# --output DIR.
mkdir -p "$T/logs"
echo old > "$T/logs/rank.0.out"
job_says 4 'rank 1 on host .* exited with status 4' \
    "a failed job with --output DIR has the rank's status" -n 2 --output "$T/logs" -- \
    sh -c 'echo out $MLAUNCH_RANK; echo err $MLAUNCH_RANK >&2; [ $MLAUNCH_RANK = 0 ] && exec sleep 60
        until grep -q "out 0" "$0"; do sleep 0.02; done; exit 4' "$T/logs/rank.0.out"
check_match '^mlaunch: the end of .*/logs/rank.1.err:$' "$ERR" \
    "--output DIR names the failed rank's file"
check_match '^err 1$' "$ERR" "--output DIR shows the end of the failed rank's file"
check_no_match . "$OUT" "--output DIR leaves stdout empty"
check_output "out 0" "--output DIR empties rank.0.out before" cat "$T/logs/rank.0.out"
check_output "err 1" "--output DIR writes rank.1.err" cat "$T/logs/rank.1.err"
job_status 0 "--output DIR makes its parents" -n 1 --output "$T/a/b" -- echo x
check_output x "--output DIR writes into what was made" cat "$T/a/b/rank.0.out"
: > "$T/file"
job_says 125 "$T/file is a file, not a directory; for a file a rank write --output '$T/file-%r'" \
    "--output DIR that can't be made is refused" -n 1 --output "$T/file/b" -- true
job_says 125 "cannot make directory /proc/x: No such file" \
    "--output DIR below a file system that takes none is refused" -n 1 --output /proc/x -- true
job_status 0 "a rank writes raw bytes to a file" \
    -n 1 -x "SUM=$T/sum" --output "$T/logs" -- python3 "$T/bytes.py"
check_output "$(cat "$T/sum")" "--output DIR keeps 20 MB of bytes as they are" sh -c \
    "sha256sum < '$T/logs/rank.0.out' | cut -d' ' -f1"

# --output PATTERN: a file a rank, for both streams.
job_status 0 "a job with --output PATTERN ends well" -n 2 --output "$T/p/100%%-%t.log" -- \
    sh -c 'echo out $MLAUNCH_RANK; echo err $MLAUNCH_RANK >&2'
check_no_match . "$OUT" "--output PATTERN leaves stdout empty"
check_output $'err 1\nout 1' "--output PATTERN writes both streams to one file" \
    sort "$T/p/100%-1.log"
check_output $'100%-0.log\n100%-1.log' "--output PATTERN makes a file for each rank" ls "$T/p"
job_status 0 "a pattern may have the host and the job" -n 1 --output "$T/p2/%h/%j/%r" -- sh -c \
    'echo $MLAUNCH_JOB'
check_output "1" "the host and the job are in the file's name" \
    sh -c 'cd "$1" && job=$(cat localhost/*/0) &&
    ls "localhost/$job" | grep -c "^0$"' sh "$T/p2"
job_status 0 "a directory may be for each job" -n 1 --output "$T/p3/%j/" -- echo x
check_output x "the directory of the job has rank.0.out" sh -c 'cat "$1"/*/rank.0.out' sh "$T/p3"
job_status 0 "one file may be for all ranks" -n 2 --output "$T/p4/all-%j" -- sh -c \
    'echo $MLAUNCH_RANK'
check_output $'[0] 0\n[1] 1' "the lines in one file for all ranks have labels" \
    sh -c 'sort "$1"/all-*' sh "$T/p4"
job_says 125 "'x-%q': %q is not %r or %t .rank., %h .host., %j .job. or %%" \
    "--output with an unknown letter is refused" --output x-%q -- true
job_says 125 "'x-%é': % is not %r" "--output with a letter that is no ASCII is refused" \
    --output x-%é -- true

# Readers that go away, full disks.
run bash -c '"$@" 2> '"$T"'/err | head -n 1; exit "${PIPESTATUS[0]}"' - "${JOB[@]}" -n 4 -- yes
job_judge 141 "a reader that goes away ends the job as SIGPIPE would" "mlaunch … | head"
check_no_match . "$T/err" "a reader that goes away is not complained of"
run bash -c '"$@" > /dev/full' - "${JOB[@]}" -n 2 -- yes
job_judge 125 "a full disk ends the job" "mlaunch … > /dev/full"
check_match 'cannot write standard output: No space left on device' "$ERR" \
    "a full disk is told by a sentence"
job_status 0 "a rank may close its output" -n 2 -- sh -c 'exec >&- 2>&-; sleep 0.1'
run bash -c '"$@" >&-' - "${JOB[@]}" -n 1 -- echo nowhere
job_judge 125 "a closed stdout ends the job" "mlaunch … >&-"
check_match 'cannot write standard output: Bad file descriptor' "$ERR" \
    "a closed stdout is told by a sentence"
run bash -c '"$@" >&-' - "${JOB[@]}" -n 1 -- true
job_judge 0 "a closed stdout that nothing is written to is no failure" "mlaunch … >&-"

# No thread to write with: as if a limit on processes had been reached. (A sanitizer wants to be
# loaded first.)
if [ "$SANITIZE" = no ]; then
    printf '#include <errno.h>\nint pthread_create(void) { return EAGAIN; }\n' > "$T/none.c"
    check "the library without threads builds" "$CC" -w -shared -fPIC -o "$T/none.so" "$T/none.c"
    run env LD_PRELOAD="$T/none.so" "${JOB[@]}" --stdin none -n 1 -- true
    job_judge 0 "a rank that says nothing needs no thread" "mlaunch without threads"
    run env LD_PRELOAD="$T/none.so" "${JOB[@]}" --stdin none -n 1 -- sh -c \
        'echo out; exec sleep 100'
    job_judge 125 "a rank that says something needs a thread" "mlaunch without threads"
    check_match '^mlaunch: error: cannot start a thread for the output: Resource temporarily unavailable$' "$ERR" \
        "a thread that cannot start is told by a sentence"
fi

done_testing
