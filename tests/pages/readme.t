#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README.md's commands work as they are typed, in a shell that has evaluated what `mlaunch env`
# prints, with nothing installed; its hostfiles and programs are those of the commands. So do the
# commands of examples/README.md. Those that this test does not run are in the file `commands`
# beside it.
TEST_TIER=full
TEST_ALONE=1
. "${0%/*}/../lib/test.sh"
. "${0%/*}/reader.sh"
reader_up

page_text README.md '#include <mlaunch.h>' > sum.c
page_text README.md 'import array' > sum.py
page_text README.md 'import torch' > train.py
page_text README.md '[{"ssh": "a"}, {' > hosts.json
page_text README.md 'a' > hosts.txt
page_text README.md '[{"ssh": "a", "ips"' > wired.json
cp "$SOURCE/examples/kmeans.c" "$SOURCE/examples/iris.csv" .
ln -s "$BUILD/examples/llm/llm" "$T/bin/mlaunch-llm"
plan() { "$MLAUNCH" --hostfile "$1" --dry-run -- true | grep '^rank '; }
check_output "rank 0: host a, local rank 0, program 0
rank 1: host b, local rank 0, program 0
rank 2: host b, local rank 1, program 0" "README's hostfile has one slot on a and two on b" \
    plan hosts.json
cp "$OUT" "$T/plan"
check_output "$(cat "$T/plan")" "README's hostfile as text says the same" plan hosts.txt
check "README's hostfile with a wiring is one" plan wired.json

check "README's programs are found without an installation" typed 'mlaunch --version'
mkdir "$T/it's here"
cp "$MLAUNCH" "$T/it's here/"
check_output "$T/it's here/mlaunch" "a directory's name may hold anything" bash -c \
    'eval "$("$1" env)"; command -v mlaunch' bash "$T/it's here/mlaunch"
check_error 125 'mlaunch run env' "the program called env is started by mlaunch run" \
    "$MLAUNCH" env A=1 sh

reader_begins() {
    case $2 in
    *" JOB"*) kill -0 "${READER_JOB:-none}" 2> "$T/kill.err" || reader_job ;;
    *" --check /data"*)
        DIFFERS=1
        echo other > "$T/places/data/models/llama/weights" ;;
    esac
}
# sees REGEX NAME: in what the last command printed.
sees() { check_match "$1" "$T/seen" "$2"; }
reader_sees() {
    case $2 in
    *"echo \$?") sees '^139$' "the first job's status is that of the table" ;;
    *LEVEL=3*) sees '^\[1\] rank 1: 3$' "the ranks have the variable that was named" ;;
    cc\ sum*) check_output "rank 0 of 1: 1" "the program in C runs alone" ./sum ;;
    *./sum) sees '^\[3\] rank 3 of 4: 4$' "the program in C has the sum" ;;
    *sum.py) sees "^\[3\] 3 array\('d', \[6.0, 4.0\]\)$" "the program in Python has the sums" ;;
    *--stacks*) sees '^rank 1 on host' "the stacks of ranks are shown" ;;
    "mlaunch top"*3) check_output 3 "three views are written" grep -c '2 of 2 hosts' "$T/seen" ;;
    esac
}
reader_types

check_output "1" "python3 imports the module without mlaunch" typed \
    'python3 -c "import mlaunch; print(mlaunch.init().size)"'
for page in mlaunch ml_send; do
    check "man finds the page $page" typed "man $page"
done
check_match 'ml_recv' "$OUT" "man ml_send shows the page of all calls"
check "man finds the system's own pages" typed 'man -w man'
done_testing
