#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch top: views as text, of jobs on hosts over SSH; the live view in tmux: keys, sizes, a host
# that is lost and comes back, a job that is ended; on a terminal that counts what is written.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2
inside() { netns exec "$@"; }
top=("$MLAUNCH" top --ssh-config "$NETNS_SSH_CONFIG")
view() { "${top[@]}" "$@" < /dev/null; }

# --- options
check_error 125 'needs a terminal for its input and output; mlaunch top --batch writes text' \
    "top without a terminal is refused" view
check_error 125 '^mlaunch: error: --every needs a number of seconds from 1 to 86400$' \
    "a wrong time of --every is refused" view --every 0 --batch
check_error 125 "^mlaunch: error: --batch: '0' is not a number of views, from 1 to 1000000$" \
    "--batch 0 is refused" view --batch 0
check_error 125 "^mlaunch: error: --sort: 'size' is not rank, cpu, mem, calls, bytes or wait$" \
    "a column that is not there is refused" view --batch --sort size
check_error 125 'mlaunch top has no -n: --batch N prints N views' \
    "an option of top(1) is refused with ours" view -n 1
if "$MLAUNCH" --version | grep -q ' +ncurses'; then CURSES=yes; else CURSES=no; fi

# --- as text
cat > "$SHORT/job.py" << 'END'
import array, mlaunch, os, sys
w = mlaunch.init()
x = array.array("f", [1.0] * 4000)
stop = array.array("f", [0.0])
while not stop[0]:
    for i in range(10):
        w.all_reduce(x)
    stop[0] = w.rank == 0 and os.path.exists(sys.argv[2])
    w.broadcast(stop)
if w.rank == 3:
    open(sys.argv[3]).read()
w.barrier()
END
mkfifo "$T/hold"
"${JOB[@]}" "${STRANGER[@]}" --ssh-config "$NETNS_SSH_CONFIG" --name "top.$$" -H "$H1,$H2" -n 4 \
    --local net -- python3 "$SHORT/job.py" $'\033[31mred\nline' "$T/stop" "$T/hold" \
    > "$T/job.out" 2> "$T/job.err" < /dev/null &
JOB_PID=$!
wait_for '[ "$(grep -c "\"started\"" "$EVENTS" 2> /dev/null)" = 4 ]'
ID=$(job_id)
hosts=(-H "$H1,$H2")
# The rates of the job's row and of all its ranks are there.
busy() {
    view "${hosts[@]}" --batch > "$T/view" 2> "$T/view.err" &&
        [ "$(grep -cE "^ +[0-3] ${H}[12] +[0-9]+ [A-Z] +[0-9]+ +[0-9.]+[KMG] +[0-9.]+k? +[0-9.]+[kMG] +[0-9.]+[kMG] +[0-9]+ python3" "$T/view")" = 4 ]
}
H=${H1%1}
check "a view of two hosts with a job is printed" wait_for busy
check_match '^[0-9-]+ [0-9:]+, every 1 s: 2 of 2 hosts, 1 job, 4 ranks' "$T/view" \
    "the view has a head"
check_match "^$H1 +[0-9]+ +[0-9.]+ +[0-9]+ +[0-9.]+[MG] +[0-9.]+[MG] +- +- +- +- +2$" "$T/view" \
    "the view has a line for each host"
check_match ' RANK HOST +PID S +%CPU +MEM CALLS/s +tcp> +tcp< WAIT% WHAT$' "$T/view" \
    "the view has only the links that are used"
check_match "^- $ID 4/4 +[0-9]+ .* \\(top.$$\\) live [0-9:]+s? $(id -un): python3 .*red.line" "$T/view" \
    "the view has a line for the job, with sums"
check_output "" "the view has no control character of the command" tr -d '[:print:]\n' < "$T/view"
check_output "3 2 1 0" "a view sorted by bytes has all ranks" sh -c \
    '"$@" | grep -oE "^ +[0-3] " | sort -rn | tr -d "\n" | tr -s " " | sed "s/^ //; s/ \$//"' - \
    "${top[@]}" "${hosts[@]}" --batch --sort bytes
: > "$T/stop"
stalled() {
    view "${hosts[@]}" --batch "top.$$" > "$T/view" 2> "$T/view.err" &&
        grep -qE '^  ! 0-2 wait in barrier .*for 3$' "$T/view"
}
check "a view of a job by its name says who waits for whom" wait_for stalled
check_match "^ +1 ${H}[12] .* 100 waits [0-9:]+s? in barrier" "$T/view" \
    "the view says beside each rank that it waits"
check_match ', 4 ranks \(3 wait\)$' "$T/view" "the view's head says how many ranks wait"
view "${hosts[@]}" --batch --sort wait > "$T/view"
check_output 3 "the rank that is waited for is last when sorted by waiting" sh -c \
    'grep -oE "^ +[0-3] " "$0" | tail -n 1 | tr -d " "' "$T/view"
check_output 2 "--batch 2 prints two views" \
    sh -c '"$@" | grep -c ", every 1 s: "' - "${top[@]}" "${hosts[@]}" --batch 2
check_error 1 'there is no job nobody here' "a job that is not there is refused" \
    view "${hosts[@]}" -b nobody
check_status 125 "a host that is not there is status 125" view -H "$H1,nowhere.invalid" --batch
check_match '^nowhere.invalid +.*nowhere.invalid' "$OUT" "a host that is not there has a reason"
check_match "^- $ID 4/4 |^- $ID 2/4 " "$OUT" "the job on the other host is shown"

# --- ranks that are bound
if [ "$(nproc)" -gt 1 ]; then
    mkfifo "$T/input"
    "$MLAUNCH" -n 2 --bind-to core --stdin all --name "bound.$$" -- cat < "$T/input" &
    BOUND=$!
    exec 9> "$T/input"
    bound() {
        "$MLAUNCH" top --batch "bound.$$" < /dev/null > "$T/view" 2> "$T/view.err" &&
            [ "$(grep -cE '^ +[01] .* [0-9,-]+ +cat$' "$T/view")" = 2 ]
    }
    check "a view of bound ranks is printed" wait_for bound
    check_match ' WAIT% CORES WHAT$' "$T/view" "bound ranks have a column for their cores"
    first=$("$MLAUNCH" -n 1 --bind-to core -- sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' \
        /proc/self/status)
    check_match "^ +0 .* $first +cat\$" "$T/view" "the cores of bound ranks are the kernel's"
    exec 9>&-
    wait "$BOUND"
else
    skip "a view of bound ranks is printed" "this machine has one processor"
fi

if [ $CURSES = no ]; then
    check_error 125 'built without ncurses' "a live view is refused without ncurses" \
        "$SOURCE/tests/cli/on_terminal.py" '' "$MLAUNCH" top
    echo > "$T/hold"
    wait "$JOB_PID"
    done_testing
fi

# --- live
if is_here tmux; then
    export TMUX_TMPDIR=$SHORT LC_ALL=C.UTF-8
    unset TMUX
    tmux_end() { tmux kill-server 2> /dev/null; }
    at_exit tmux_end
    cat > "$T/live" << 'END'
stty -g > "$1/before"
shift
"$@"
echo "status $?"
stty -g > "$T/after"
: > "$T/over"
read -r _
END
    # live COLUMNS ROWS ARGUMENT…: mlaunch top in a window of tmux. seen REGEX: a line of it
    # matches.
    live() {
        local columns=$1 rows=$2
        shift 2
        rm -f "$T/over"
        T=$T tmux -f /dev/null new-session -d -x "$columns" -y "$rows" \
            "$(printf '%q ' env "T=$T" sh "$T/live" "$T" "${top[@]}" "$@")"
    }
    screen() { tmux capture-pane -p > "$T/screen"; }
    seen() { screen && grep -qE -- "$1" "$T/screen"; }
    sees() { # NAME REGEX SECONDS
        if wait_for "seen $(printf '%q' "$2")" "${3:-20}"; then pass "$1"; else
            fail "$1" "no line on the screen matches: $2"
            diag_file "$T/screen"
        fi
    }
    press() { tmux send-keys "$@"; }

    live 120 24 "${hosts[@]}"
    sees "the live view says who waits for whom" '^  ! 0-2 wait in barrier .*for 3 *$'
    check_match '^q quit  s sort by: rank ' "$T/screen" "the live view has keys below"
    press h
    sees "h lists all keys" '^q +quit'
    press h
    sees "any key goes back from the list of keys" "^- $ID 4/4 "
    press Space
    sees "space folds the job" "^\\+ $ID 4/4 "
    check_no_match "^ +[0-3] ${H}[12]" "$T/screen" "a folded job has no ranks"
    press Space
    sees "space unfolds the job" "^ +3 ${H}[12]"
    press f
    sees "f folds the hosts' ranks" "^ +\\+ $H1 .* 2 ranks, 2 wait"
    press f
    sees "f unfolds the hosts' ranks" "^ +3 ${H}[12]"
    press H
    sees "H hides the hosts" '^\+ HOSTS '
    press H
    press s
    sees "s sorts by the next column" 's sort by: cpu  '
    press '<'
    sees "< sorts by the column before" 's sort by: rank  '
    press r
    sees "r turns the order round" 's sort by: rank, reversed '
    press r
    tmux resize-window -x 70 -y 10
    sees "a smaller window has the keys in its last line" '^q quit  s sort by: rank '
    check_output "q quit" "the last line of a smaller window is the tenth" \
        sh -c 'sed -n 10p "$0" | cut -c 1-6' "$T/screen"
    tmux resize-window -x 120 -y 24
    sees "a larger window shows more again" "^ +3 ${H}[12]"
    press k
    sees "k asks before it ends a job" "^end job $ID on all its hosts\\? y or n"
    press n
    sees "n does nothing to the job" '^q quit '
    check "the job lives after n" kill -0 "$JOB_PID"

    # The view's own agent on a host: the one that has no job.
    # shellcheck disable=SC2016
    watcher='for p in $(pgrep -x mlaunch-agent); do
        pgrep -P "$p" > /dev/null || kill -KILL "$p"
    done'
    inside "$H2" sh -c "$watcher"
    sees "a host that is lost has a reason" "^$H2 +[a-z].*(killed|SIGKILL|ended|closed|signal)"
    check_match ': 1 of 2 hosts' "$T/screen" "the view goes on without the lost host"
    sees "the view shows the lost host when it is there again" "^$H2 +[0-9]+ .* 2 *$"
    press k
    sees "k asks a second time" "^end job $ID "
    press y
    # The line that says so makes way for the next picture.
    check "y ends the job" wait_for "seen 'job .* has been ended' || ! seen '^[-+] $ID '" 30
    wait "$JOB_PID"
    check_output 143 "y ends the job as mlaunch kill does" echo "$?"
    check "the ended job is gone from the view" wait_for '! seen "^[-+] $ID "'
    press q
    check "q quits the live view" wait_for '[ -e "$T/over" ]'
    sees "q quits with status 0" '^status 0'
    check "the terminal's modes are as before" cmp "$T/before" "$T/after"
    check_output "1 0" "the cursor is seen, and the other screen has gone" \
        tmux display-message -p '#{cursor_flag} #{alternate_on}'
    press Enter
else
    skip "the live view says who waits for whom" "no tmux here"
    echo > "$T/hold"
    wait "$JOB_PID"
fi

# --- how it ends, and how much it writes
export TERM=xterm
on() { "$SOURCE/tests/cli/on_terminal.py" "$@"; }
check_status 0 "q on a terminal is status 0" on $'wait q quit\ntype q\nmodes' "$MLAUNCH" top
check_status 130 "Ctrl-C on a terminal is status 130" \
    on $'wait q quit\ntype \\x03\nmodes' "$MLAUNCH" top
cp "$OUT" "$T/ctrl-c"
check_match $'\033\\[\\?1049l' "$T/ctrl-c" "the first screen is back after Ctrl-C"
check_match $'\033\\[34h\033\\[\\?25h|\033\\[\\?12l\033\\[\\?25h|\033\\[\\?25h' "$T/ctrl-c" \
    "the cursor is back after Ctrl-C"
check_status 143 "SIGTERM on a terminal is status 143" \
    on $'wait q quit\nsignal SIGTERM\nmodes' "$MLAUNCH" top
check_status 125 "a terminal of an unknown kind is refused" on '' env TERM=unheard-of "$MLAUNCH" top
check_match 'TERM=unheard-of is not known here.*; mlaunch top --batch writes text' "$OUT" \
    "the refusal of a terminal names its kind"

"${JOB[@]}" -n 200 --oversubscribe -- sleep 300 > "$T/job.out" 2>&1 < /dev/null &
JOB_PID=$!
wait_for '[ "$(grep -c "\"started\"" "$EVENTS")" -ge 200 ]'
many=$(tail -n 1 "$EVENTS" | sed 's/.*"job":"\([^"]*\)".*/\1/')
# The first picture has 50 lines. After it, between two silences is at least one refresh.
cat > "$T/count.py" << 'END'
import fcntl, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 150, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
seen, bursts, size = b"", [], 0
while len(bursts) < 6:
    if select.select([fd], [], [], 0.3)[0]:
        data = os.read(fd, 65536)
        if b" 200 ranks" in seen:
            size += len(data)
        seen += data
    elif size:
        bursts.append(size)
        size = 0
os.write(fd, b"q")
try:
    while os.read(fd, 65536):
        pass
except OSError:
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
first = len(seen) - sum(bursts[1:])
print("first", first, "then", *bursts[1:])
# The first picture may have come in two parts.
sys.exit(status or len(seen) < 2500 or sorted(bursts)[3] > 1000)
END
check "hardly anything is written again of 200 ranks that sleep" python3 "$T/count.py" \
    "$MLAUNCH" top "$many"
"$MLAUNCH" kill "$many" > "$OUT" 2>&1
wait "$JOB_PID"
left_nothing || fail "nothing is left of the jobs"
done_testing
