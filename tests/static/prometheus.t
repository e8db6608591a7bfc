#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doc/prometheus and doc/grafana: Prometheus' own tool checks the configuration and the rules, and
# tries the rules on made-up series; the dashboard's expressions are PromQL and name metrics that
# there are. Long form: its JSON fits Grafana's schema (npm's @grafana/schema).
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
cd "$SOURCE/doc" || exit 1
needs promtool

check "the configuration and the rules are right" promtool check config prometheus/prometheus.yml
cat > "$T/rules-test.yml" << END
rule_files: [$SOURCE/doc/prometheus/mlaunch-alerts.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {series: 'mlaunch_rdma_port_state{device="mlx5_0",port="1",instance="a"}', values: '4x8 1x20'}
      - {series: 'mlaunch_rdma_port_state{device="mlx5_1",port="1",instance="a"}', values: '1x40'}
      - {series: 'mlaunch_rdma_hw_events_total{device="mlx5_0",counter="symbol_error",instance="a"}', values: '0+1x60'}
      - {series: 'mlaunch_rdma_hw_events_total{device="mlx5_0",counter="port_rcv_data",instance="a"}', values: '0+1x60'}
      - {series: 'mlaunch_rank_waiting_seconds{job_id="j",rank="3",instance="a"}', values: '0+15x40'}
      - {series: 'mlaunch_rank_waiting_seconds{job_id="j",rank="2",instance="a"}', values: '0x40'}
      - {series: 'up{job="mlaunch",instance="b"}', values: '1x4 0x40'}
    alert_rule_test:
      - {eval_time: 1m, alertname: MlaunchRankStalled}
      - {eval_time: 2m, alertname: MlaunchRdmaPortDown}
      - {eval_time: 1m, alertname: MlaunchHostDown}
      - eval_time: 5m
        alertname: MlaunchRankStalled
        exp_alerts:
          - exp_labels: {job_id: j, rank: "3", instance: a, severity: warning}
            exp_annotations:
              summary: rank 3 of job j waits for 300 s
              description: mlaunch ps j --stacks says in which call, and for whom.
      - eval_time: 5m
        alertname: MlaunchRdmaPortDown
        exp_alerts:
          - exp_labels: {device: mlx5_0, port: "1", instance: a, severity: critical}
            exp_annotations:
              summary: mlx5_0 port 1 of a is down
              description: It was active within the last day. Look at its cable and its switch.
      - eval_time: 10m
        alertname: MlaunchRdmaErrors
        exp_alerts:
          - exp_labels: {device: mlx5_0, counter: symbol_error, instance: a, severity: warning}
            exp_annotations:
              summary: "mlx5_0 of a has errors: symbol_error"
              description: mlaunch verify tries the port; bad cables show here first.
      - eval_time: 5m
        alertname: MlaunchHostDown
        exp_alerts:
          - exp_labels: {job: mlaunch, instance: b, severity: critical}
            exp_annotations:
              summary: b  does not answer
              description: Neither does mlaunch metrics there. mlaunch status says why.
END
check "the rules fire when they should" promtool test rules "$T/rules-test.yml"

# The dashboard's expressions as rules, with Grafana's own variables filled in.
python3 - grafana/mlaunch.json > "$T/expressions.yml" << 'END'
import json, sys
rules, ids = [], []
dashboard = json.load(open(sys.argv[1]))
for panel in dashboard["panels"]:
    ids.append(panel["id"])
    for target in panel.get("targets", []):
        expr = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
        rules.append({"record": "x:%d%s" % (panel["id"], target["refId"]), "expr": expr})
assert len(rules) > 20 and len(ids) == len(set(ids))
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
END
check "the dashboard's expressions are PromQL" promtool check rules "$T/expressions.yml"
cat grafana/mlaunch.json prometheus/*.yml | grep -oE '\bmlaunch_[a-z0-9_]+' |
    sed -E 's/_(bucket|sum|count)$//' | sort -u > "$T/used"
{
    grep -ohE '"mlaunch_[a-z0-9_]+"' "$SOURCE"/launcher/tools/metrics/*.c | tr -d '"'
    grep -oE 'TYPE mlaunch_gpu_[a-z_]+' prometheus/nvidia-gpus | cut -d ' ' -f 2
} | sort -u > "$T/known"
check_output "" \
    "the dashboard and the rules name metrics that there are" comm -23 "$T/used" "$T/known"

# CSV as nvidia-smi(1) describes it, of a GPU and of one that lacks a sensor.
mkdir "$T/bin"
cat > "$T/bin/nvidia-smi" << 'END'
#!/bin/sh
echo '0, 41, 97, 30000, 40960, 251.36, NVIDIA A100-PCIE-40GB'
echo '1, 38, [N/A], 3, 40960, [N/A], NVIDIA A100-PCIE-40GB'
END
chmod +x "$T/bin/nvidia-smi"
check "the script for GPUs succeeds" env PATH="$T/bin:$PATH" sh prometheus/nvidia-gpus
check_match '^mlaunch_gpu_utilization_ratio\{gpu="0",name="NVIDIA A100-PCIE-40GB"\} 0\.97$' "$OUT" \
    "the script for GPUs gives shares"
check_match '^mlaunch_gpu_memory_used_bytes\{gpu="0",.* 31457280000$' "$OUT" \
    "the script for GPUs gives bytes"
check_output "3" "the script for GPUs gives nothing that a GPU lacks" sh -c \
    'PATH="$0:$PATH" sh prometheus/nvidia-gpus | grep -c "{gpu=\"1\""' "$T/bin"
check_error 1 "^nvidia-gpus: there is no nvidia-smi here, which the driver" \
    "a host without NVIDIA's driver is named as one" env PATH="$T" "$(command -v sh)" \
    prometheus/nvidia-gpus
if is_here systemd-analyze; then
    sed "s|/usr/local/bin/mlaunch|$MLAUNCH|" prometheus/mlaunch-metrics.service \
        > "$T/mlaunch-metrics.service"
    check_output "" "systemd finds nothing wrong with the unit" sh -c \
        'systemd-analyze verify --man=no "$0" 2>&1 |
        grep -F mlaunch-metrics.service || true' "$T/mlaunch-metrics.service"
else
    skip "systemd finds nothing wrong with the unit" "$LACKS"
fi

if is_long && is_here npm npx &&
    (cd "$T" && npm install --no-audit --no-fund --ignore-scripts @grafana/schema typescript@5 \
        > npm.out 2>&1); then
    {
        echo 'import { Dashboard, ThresholdsMode } from "@grafana/schema";'
        # An enumeration of TypeScript is not its text.
        echo "export const dashboard: Dashboard = $(sed \
            's/"mode": "absolute"/"mode": ThresholdsMode.Absolute/' grafana/mlaunch.json);"
    } > "$T/dashboard.ts"
    check_output "" "the dashboard fits Grafana's schema" sh -c 'cd "$0" && npx tsc --noEmit \
        --skipLibCheck --strict --module nodenext --moduleResolution nodenext dashboard.ts' "$T"
else
    skip "the dashboard fits Grafana's schema" "the long form, with npm"
fi
done_testing
