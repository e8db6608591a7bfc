#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# MPIR: a debugger that starts mlaunch, stripped or not, gets the table of ranks while each of them
# is stopped before its first instruction; and one that attaches later also finds it.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
needs gdb
[ "$SANITIZE" = no ] || skip_all "gdb and the sanitizers do not go together"

GDB=(gdb -nx -batch -iex "set debuginfod enabled off")
cat > "$T/states.py" << 'EOF'
import time
table = "(char *)*(void **)&MPIR_proctable + %d"
for i in range(int(gdb.parse_and_eval("*(int *)&MPIR_proctable_size"))):
    host = gdb.parse_and_eval("*(char **)(" + table % (24 * i) + ")").string()
    pid = int(gdb.parse_and_eval("*(int *)(" + table % (24 * i + 16) + ")"))
    # It is stopped as soon as it gets a processor.
    for look in range(200):
        state = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]
        if state != "R":
            break
        time.sleep(0.02)
    print("rank", i, host, state)
EOF
cat > "$T/start.gdb" << EOF
set breakpoint pending on
handle SIGPIPE nostop noprint pass
starti
set var *(int *)&MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
print *(int *)&MPIR_debug_state
source $T/states.py
delete
continue
EOF
mkdir -p "$T/stripped/launcher" # a build folder but for the command
ln -s "$BUILD"/* "$T/stripped" 2> /dev/null
ln -s "$BUILD/launcher/agent" "$T/stripped/launcher"
strip -o "$T/stripped/launcher/mlaunch" "$MLAUNCH"
for kind in whole stripped; do
    binary=$MLAUNCH
    [ $kind = whole ] || binary=$T/stripped/launcher/mlaunch
    "${GDB[@]}" -x "$T/start.gdb" --args "$binary" --output "$T/ranks-$kind" -n 3 -- echo ran \
        > "$T/gdb" 2>&1
    check_match '^\$1 = 1$' "$T/gdb" "$kind: the ranks have been started"
    check_output "rank 0 localhost T
rank 1 localhost T
rank 2 localhost T" "$kind: all are in the table, and stopped" grep '^rank ' "$T/gdb"
    check_match 'exited normally' "$T/gdb" "$kind: the job ends well"
    check_output "ran ran ran" "$kind: the ranks have run to their end" \
        sh -c 'cat "$0"/*.out | xargs' "$T/ranks-$kind"
    [ "$TEST_FAILED" -eq 0 ] || diag_file "$T/gdb"
done

"$MLAUNCH" -n 2 -- sh -c 'touch "$0/$MLAUNCH_RANK"; exec sleep 60' "$T" 2> /dev/null &
launcher=$!
wait_for '[ -e "$T/0" ] && [ -e "$T/1" ]'
"${GDB[@]}" -p "$launcher" -ex "source $T/states.py" > "$T/gdb" 2>&1
check_output "rank 0 localhost S
rank 1 localhost S" "a debugger that attaches finds the table" grep '^rank ' "$T/gdb"
must kill "$launcher"
wait "$launcher"
done_testing
