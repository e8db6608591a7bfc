#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs on host 0 of three VMs (tests/vm): mlaunch verify, and then mlaunch sync (sync.sh). Its TAP
# is that of verify.t.
TEST_LIMIT=880
. "${0%/*}/../lib/test.sh"
. "${0%/*}/jobs.sh"

fit() { timeout -k 5 300 "$MLAUNCH" verify --hostfile "${HOSTFILE:-$RDMA_HOSTFILE}" "$@"; }
# only REGEX NAME: the only finding of the last command matches, but for clocks, because on a busy
# machine those of emulated ones drift, and for agents that were late there.
only() {
    grep -E '^(error|warning|note) ' "$OUT" | grep -vE ': its (clock is|agent was ready) ' > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = 1 ] && grep -qE "$1" "$T/findings"; then
        pass "$2"
    else
        fail "$2" "expected only: $1"
        diag_file "$T/findings"
    fi
}

rail_add
ssh host2 rdma link add rxe_m type rxe netdev mgmt # as many devices as the others
HOSTFILE=$T/rails.json run fit --json
ssh host2 rdma link delete rxe_m
rail_remove
cp "$OUT" "$T/fit.json"
# One look, as Python needs seconds to start in there.
check_output "4 rdma True host0-host1 0 rxe_p1 rxe_p0, host0-host1 1 rxe_m rxe_m" \
    "three hosts with links over RDMA, two rails among them: no finding" json_show '(
    *[f["text"] for f in j["findings"] if f["kind"] not in ("clock", "slow")], len(j["links"]),
    *{l["backend"] for l in j["links"]},
    all(l["us"] > 0 and l["back_GBps"] > 0 for l in j["links"]),
    ", ".join(sorted("%s-%s %d %s %s" % (l["host"], l["peer"], l["rail"], *l["ports"])
                     for l in j["links"] if "rail" in l)))' "$T/fit.json"
cut
check_status 1 "a cable that is cut fails verify" fit -H host0,host1
only '^error    link    hosts host0 and host1: mlaunch bench link fails over rdma: .*nothing comes through between rxe_p1 .*rxe_p0 .* of host host1' \
    "a cable that is cut is the only finding"
mend
ip link set p1 down
check_status 1 "a port that is down fails verify" fit --quick
only '^warning  device  host host0: rxe_p1 port 1 is DOWN \(Disabled\), and active elsewhere; see its cable' \
    "a port that is down is the only finding"
port_up
chmod 000 /dev/infiniband/uverbs0
# shellcheck disable=SC2016
check_status 1 "a user who may open no device fails verify" setpriv --reuid 1000 \
    --clear-groups env HOME=/tmp XDG_CONFIG_HOME=/tmp "$MLAUNCH" verify
check_match '^error    device  host localhost: rxe_p[12]: cannot open /dev/infiniband/uverbs0: Permission denied; allow it' \
    "$OUT" "the device that the user may not open is named"
chmod 666 /dev/infiniband/uverbs0
# shellcheck source=tests/rdma/sync.sh
. "${0%/*}/sync.sh"
done_testing
