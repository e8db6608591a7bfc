#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The EXAMPLES of the man pages work as they are typed, where mlaunch is installed; their hostfiles,
# programs and expressions are right. Those that this test does not run are in the file `commands`
# beside it.
TEST_TIER=full
TEST_ALONE=1
PAGE_SHELL='eval "$("$INSTALLED/bin/mlaunch" env)"'
. "${0%/*}/../lib/test.sh"
. "${0%/*}/reader.sh"
reader_up
INSTALLED=$T/installed$(sed -n 's/^prefix = //p' "$BUILD/Makefile")
export INSTALLED
must make -C "$BUILD" -s install DESTDIR="$T/installed" > "$T/install.log" 2>&1
# As if this had been configure's prefix, where a compiler finds the library.
sed -i "s|^prefix=.*|prefix=$INSTALLED|" "$INSTALLED/lib/pkgconfig/mlaunch.pc"
mkdir -p "$T/places/opt" "$T/places/usr/libexec"
ln -s "$INSTALLED" "$T/places/opt/mlaunch"
ln -s "$INSTALLED/libexec/mlaunch" "$T/places/usr/libexec/mlaunch"
ln -s "$INSTALLED/bin"/mlaunch-llm* "$T/bin"

page_text doc/hostfile.5 'node1' > hosts.txt
page_text doc/hostfile.5 '[{"ssh": "node1", "slots"' > hosts.json
page_text doc/hostfile.5 '[{"ssh": "node1", "ips"' > wired.json
page_text doc/hostfile.5 '{"envs"' > more.json
page_text doc/mlaunch.h.3 '#include' > sum.c
page_text doc/mlaunch-python.3 'import' > mean.py
cp mean.py train.py
plan() { "$MLAUNCH" --hostfile "$1" --dry-run -- true | grep '^rank '; }
plan hosts.txt > "$T/plan"
check_output 8 "the hostfile of hostfile(5) has eight slots" grep -c . "$T/plan"
check_output "$(cat "$T/plan")" "hostfile(5) has the same in JSON" plan hosts.json
check_output "rank 0: host node1, local rank 0, program 0
rank 1: host node2, local rank 0, program 0" "hostfile(5) has two hosts with a wiring" \
    plan wired.json
check_output "rank 0: host node1, local rank 0, program 0
rank 1: host node2, local rank 0, program 0" "hostfile(5) has a host with a user and a port" \
    plan more.json
check "the program of mlaunch-python(3) runs" typed 'mlaunch -n 4 -- python3 mean.py' < /dev/null
page_text doc/mlaunch-metrics.1 'irate' > expressions
if command -v promtool > /dev/null; then
    { echo 'groups: [{name: a, rules: [' && sed 's/.*/{record: a, expr: "&"},/' expressions &&
        echo ']}]'; } > rules.yml
    check "the expressions of mlaunch-metrics(1) are Prometheus's" promtool check rules rules.yml
else
    skip "the expressions of mlaunch-metrics(1) are Prometheus's" "there is no promtool here"
fi
# The parts of programs in mlaunch.h(3), in a function.
{
    printf '#include <mlaunch.h>\n#include <stdlib.h>\nvoid work_on_something_else(void);\n'
    printf 'void example(ml_group *world, double sum);\n'
    printf 'void example(ml_group *world, double sum)\n{\n{\n'
    page_text doc/mlaunch.h.3 'ml_request *request;'
    printf '}\n{\n'
    page_text doc/mlaunch.h.3 'ml_group *host;'
    printf '}\n}\n'
} > parts.c
check "the parts of programs in mlaunch.h(3) compile" typed \
    'cc -Wall -Werror -c -o parts.o parts.c $(pkg-config --cflags mlaunch)'

reader_begins() {
    case $2 in
    *1ng2191* | "ls -d"* | "mlaunch ps --json"* | *" train > report")
        kill -0 "${READER_JOB:-none}" 2> "$T/kill.err" || reader_job -H node1,node2 ;;
    "mlaunch bench --compare"*) cp today.json before.json ;;
    *--delete*--dry-run*)
        echo new >> "$T/home/project/main.c"
        rm "$T/home/project/old.c" ;;
    *--git*)
        DIFFERS=1
        project commit -q -a -m second ;;
    "mlaunch sync -H a,b,c --delete"*) echo old > "$T/home/project/old.c" ;;
    esac
}
sees() { check_match "$1" "$T/seen" "$2"; }
reader_sees() {
    case $2 in
    "mlaunch bench --compare"*) sees . "a comparison is printed" ;;
    *--delete*--dry-run*)
        sees '^host b: .*/project/main.c: other size, other time$' "a file that differs is named"
        sees '^host b: .*/project/old.c: not here$' "a file that would be removed is named" ;;
    *--git*) sees '^host c: .*/project: is at commit [0-9a-f]{12}, not [0-9a-f]{12}$' \
        "a host with another commit is named" ;;
    *" -- ./sum") sees '^\[0\] 6$' "the sum of four ranks' numbers is printed" ;;
    *libmlaunch.a*) check_output "[0] 6" "a program with the static library has the sum" \
        typed 'mlaunch -n 4 -- ./sum' ;;
    *report) check_output 10 "the report has ten views" grep -c 'every 5 s: ' report ;;
    *qsub* | *" pbs "*) check_match '^#PBS ' seen.qsub "qsub gets the script" ;;
    *" kubernetes "*) check_match 'kind: "Job"' seen.kubectl "kubectl gets the job" ;;
    *"-r '.hosts"*) sees "^$JOB$" "jq finds the ids of jobs" ;;
    "mlaunch-llm-server start"*)
        check "the server of two hosts answers" curl -fsS "http://$A1:8080/health"
        typed 'mlaunch-llm-server stop' > "$T/stop" 2>&1 < /dev/null ;;
    esac
}
reader_types
done_testing
