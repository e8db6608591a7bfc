#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The man pages are clean, and help and mlaunch(1) know the same options.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"

NO_MANDOC=
is_here mandoc || NO_MANDOC=$LACKS
# page NAME: its text. Without mandoc there is none, and no check of it.
page() { [ -n "$NO_MANDOC" ] || mandoc -T ascii "$SOURCE/doc/$1" 2> /dev/null | sed 's/.\x08//g'; }
# page_has REGEX FILE NAME: as check_match, for the text of a page.
page_has() { if [ -z "$NO_MANDOC" ]; then check_match "$@"; else skip "$3" "$NO_MANDOC"; fi; }

if [ -z "$NO_MANDOC" ]; then
    for page in "$SOURCE"/doc/*.[1-8]; do
        # But for long input lines, and pages that are not installed here. A report may be cut in
        # two by what mandoc says of its database: then its first part is found.
        mandoc -T lint -W style "$page" 2>&1 | grep -E ': (STYLE|WARNING|ERROR|UNSUPP|FATAL): ' |
            grep -vE 'longer than 80 bytes|referenced manual not found|outdated mandoc.db' \
                > "$T/lint"
        check_output "" "${page##*/} is clean" cat "$T/lint"
    done
else
    skip "the pages are clean" "$NO_MANDOC"
fi

# A word of a heading that is the name of a macro would be one: "In a job" would include <a>.
grep -nE "^\.S[hs] (.* )?($(echo Ac Ad An Ao Ap Aq Ar At Bc Bo Bq Brc Bro Brq Bsx Bx Cd Cm Dc Dl Do \
    Dq Dv Dx Ec Em En Eo Er Es Ev Fa Fc Fl Fn Fo Fr Ft Fx Ic In Lb Li Lk Ms Mt Nm No Ns Nx Oc Oo \
    Op Ot Ox Pa Pc Pf Po Pp Pq Qc Ql Qo Qq Sc Sm So Sq Sx Sy Tn Ud Ux Va Vt Xc Xo Xr |
    tr ' ' '|'))( |\$)" "$SOURCE"/doc/*.[1-8] > "$T/headings"
check_output "" "no heading is a macro by accident" cat "$T/headings"

{
    "$MLAUNCH" --help
    for command in ps kill logs clean hosts info status; do "$MLAUNCH" "$command" --help; done
} > "$T/help" 2>&1
check_match '--hostfile' "$T/help" "mlaunch --help lists its options"
grep -oE -- '(^|[ ,[|])--?[a-zA-Z][a-z-]*' "$T/help" | tr -d ' ,[|' | grep -v '^-vv' |
    sort -u > "$T/options"
check "help names many options" test "$(wc -l < "$T/options")" -gt 20
# In the page an option is written `.It Fl n , Fl Fl np`; as plain text it reads --np.
page mlaunch.1 > "$T/page"
while IFS= read -r option; do
    page_has "(^|[^-[:alnum:]])$option([^-[:alnum:]]|\$)" "$T/page" "mlaunch(1) has $option"
done < "$T/options"
# And the other way: the program accepts what the page documents.
grep -E '^\.It Fl' "$SOURCE/doc/mlaunch.1" | grep -oE 'Fl Fl [a-z-]+' | sed 's/Fl Fl /--/' |
    sort -u |
    while IFS= read -r option; do grep -qE -- "(^|[^-[:alnum:]])$option([^-[:alnum:]]|\$)" \
        "$T/help" || echo "$option"; done > "$T/extra"
page mlaunch-bench.1 > "$T/bench_page"
"$MLAUNCH" bench --help > "$T/bench_help" 2>&1
for option in -b -e -f -d -o --sizes --type --op --check --csv --json --stress --tune \
    --save --vary --runs --compare --svg --rounds --duration --verbose --wide --no-check; do
    check_match "(^|[ ,])$option([ ,]|\$)" "$T/bench_help" "bench --help has $option"
    page_has "(^|[ ,])$option([ ,]|\$)" "$T/bench_page" "mlaunch-bench(1) has $option"
done
page mlaunch-join.1 > "$T/join_page"
"$MLAUNCH" join --help > "$T/join_help" 2>&1
check_match "--key-new FILE" "$T/join_help" "join --help lists its options"
for option in $(grep -oE -- '^ +--[a-z-]+' "$T/join_help"); do
    page_has "(^|[ ,])$option([ ,=]|\$)" "$T/join_page" "mlaunch-join(1) has $option"
done
page mlaunch-sync.1 > "$T/sync_page"
"$MLAUNCH" sync --help | sed '/--hosts/,$d' > "$T/sync_help" 2>&1
check_match "--exclude PATTERN" "$T/sync_help" "sync --help lists its options"
while IFS= read -r option; do
    page_has "(^|[ ,])$option([ ,]|\$)" "$T/sync_page" "mlaunch-sync(1) has $option"
done < <(grep -oE -- '--[a-z-]+' "$T/sync_help" | sort -u)
page mlaunch-metrics.1 > "$T/metrics_page"
"$MLAUNCH" metrics --help | sed '/--hosts/,$d' | grep -oE -- '^ +(-., )?--[a-z-]+' |
    grep -oE -- '--.*' > "$T/metrics_help"
check "metrics --help lists its options" test -s "$T/metrics_help"
while IFS= read -r option; do
    page_has "(^|[ ,])$option([ ,]|\$)" "$T/metrics_page" "mlaunch-metrics(1) has $option"
done < "$T/metrics_help"
# Every metric that the launcher's source names is in the page, and the other way.
grep -ohE '"mlaunch_[a-z0-9_]+"' "$SOURCE"/launcher/tools/metrics/*.c | tr -d '"' |
    grep -vE '^mlaunch_(gpu|local)_$' | sort -u > "$T/metrics"
grep -oE '^\.It Va mlaunch_[a-z0-9_]+' "$SOURCE/doc/mlaunch-metrics.1" | cut -d ' ' -f 3 |
    sort -u > "$T/metrics_listed"
check_output "" "mlaunch-metrics(1) has all metrics" diff "$T/metrics" "$T/metrics_listed"
page mlaunch-verify.1 > "$T/verify_page"
"$MLAUNCH" verify --help | grep -oE -- '^ +(-., )?--[a-z-]+' | grep -oE -- '--.*' > "$T/verify_help"
while IFS= read -r option; do
    grep -qE -- "(^|[^-[:alnum:]])$option([^-[:alnum:]]|\$)" "$T/options" ||
        page_has "(^|[ ,])$option([ ,]|\$)" "$T/verify_page" "mlaunch-verify(1) has $option"
done < "$T/verify_help"
check_output "" "mlaunch(1) has no option that --help lacks" cat "$T/extra"

# The members of what is printed as JSON.
"$MLAUNCH" --events "$T/events" --restarts 1 -n 2 -- sh -c 'kill -9 $$' > "$T/out" 2>&1
# shellcheck disable=SC2016 # the rank's shell
"$MLAUNCH" -n 1 -- "$BASH" -c '
    "$1" ps "$MLAUNCH_JOB" --json --stacks > "$2/ps.json"; "$1" kill --json abc-def > "$2/kill.json"
    "$1" clean --json --dry-run > "$2/clean.json"; "$1" status --json > "$2/status.json"' bash "$MLAUNCH" "$T" > "$T/out" 2>&1
page mlaunch-json.5 > "$T/page"
python3 "$SOURCE/tests/static/json_members.py" "$T/events" "$T/ps.json" "$T/kill.json" \
    "$T/clean.json" "$T/status.json" > "$T/members"
check "events and answers have many members" test "$(wc -l < "$T/members")" -gt 30
if [ -n "$NO_MANDOC" ]; then
    skip "mlaunch-json(5) has each member" "$NO_MANDOC"
else
    # shellcheck disable=SC2016 # the inner shell's
    check_output "" "mlaunch-json(5) has each member" sh -c \
        'while read -r m; do grep -qE "(^|[^[:alnum:]_])$m([^[:alnum:]_]|\$)" "$2" || echo "$m"; done < "$1"' \
        sh "$T/members" "$T/page"
fi
done_testing
