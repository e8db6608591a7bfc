#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify on three hosts with RDMA: what is wrong is the only finding.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
STANDIN_RAIL=yes
on_standin 3
. "${0%/*}/jobs.sh"
. "${0%/*}/../lib/other-user.sh"
other_user || skip_all "only root can be another user as well"

fit() { timeout -k 5 300 "$MLAUNCH" verify --hostfile "${HOSTFILE:-$RDMA_HOSTFILE}" "$@"; }
# only REGEX NAME: the only finding of the last command matches, but for clocks and for agents that
# were late, since the machine may be busy, and for the rails that are down.
only() {
    grep -E '^(error|warning|note) ' "$OUT" | grep -vE ': its (clock is|agent was ready) |: rxe_m port 1 is DOWN' > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$1" "$T/findings"; then
        pass "$2"
    else
        fail "$2" "expected only: $1"
        diag_file "$T/findings"
    fi
}

rail_add
fabric up 2/rxe_m:1 # as many devices as the others
HOSTFILE=$T/rails.json run fit --json
fabric down 2/rxe_m:1
rail_remove
cp "$OUT" "$T/fit.json"
check_output "4 rdma True host0-host1 0 rxe_p1 rxe_p0, host0-host1 1 rxe_m rxe_m" \
    "three hosts with links over RDMA, two rails among them: no finding" json_show '(
    *[f["text"] for f in j["findings"] if f["kind"] not in ("clock", "slow")], len(j["links"]),
    *{l["backend"] for l in j["links"]},
    all(l["us"] > 0 and l["back_GBps"] > 0 for l in j["links"]),
    ", ".join(sorted("%s-%s %d %s %s" % (l["host"], l["peer"], l["rail"], *l["ports"])
                     for l in j["links"] if "rail" in l)))' "$T/fit.json"
cable_cut
check_status 1 "a cable that is cut fails verify" fit -H host0,host1
only '^error    link    hosts host0 and host1: mlaunch bench link fails over rdma: .*nothing comes through between rxe_p1 .*rxe_p0 .* of host host1' \
    "a cable that is cut is the only finding"
cable_mend
port_down 0 1
check_status 1 "a port that is down fails verify" fit --quick
only '^warning  device  host host0: rxe_p1 port 1 is DOWN \(Disabled\), and active elsewhere; see its cable' \
    "a port that is down is the only finding"
port_up 0 1
chmod 000 /dev/infiniband/uverbs0
check_status 1 "a user who may open no device fails verify" "${OTHER[@]}" XDG_CONFIG_HOME=/ \
    "$OTHERS/launcher/mlaunch" verify
check_match '^error    device  host localhost: rxe_p[12]: cannot open /dev/infiniband/uverbs0: Permission denied; allow it' \
    "$OUT" "the device that the user may not open is named"
chmod 666 /dev/infiniband/uverbs0
done_testing
