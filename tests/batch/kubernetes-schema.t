#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What mlaunch batch kubernetes writes fits the types of the Kubernetes client for Python; and
# faults that are put into it are found.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
SCHEMA=$SOURCE/tests/batch/kube_schema.py
python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'import yaml, kubernetes.client' 2> /dev/null; then python=$p; fi
done
[ -n "$python" ] || skip_all "no python3 here has Kubernetes' client (python3-kubernetes)"

must "$MLAUNCH" batch kubernetes --image i -o "$T/small.yaml" -- true
check_output "" "the shortest file fits the schema" "$python" "$SCHEMA" "$T/small.yaml"
must "$MLAUNCH" batch kubernetes --image i --nodes 3 --ntasks-per-node 2 --time 2h --gpus-per-node 4 \
    --resource rdma/hca=1 --restarts 1 --grace 20 -o "$T/job.yaml" -- ./prog 'a $(b)'
check_output "" "a file with all options fits the schema" "$python" "$SCHEMA" "$T/job.yaml"
must "$MLAUNCH" batch kubernetes --image i --nodes 3 -o "$T/elastic.yaml" run --elastic 2 \
    --restarts 1 -- ./prog
check_output "" "a job of --elastic fits the schema" "$python" "$SCHEMA" "$T/elastic.yaml"

# found ERROR PART PATH VALUE
found() { check_output "$1" \
    "the fault in ${*:2} is found" "$python" "$SCHEMA" "$T/job.yaml" "${@:2}"; }
found "Job.spec: there is no completion" Job spec.completion 3
found "Job.spec.parallelism: '3' is no int" Job spec.parallelism '"3"'
found "Job.spec.template.spec.containers.0: Invalid value for \`name\`, must not be \`None\`" \
    Job spec.template.spec.containers.0.name null
found "Service.spec.selector: is no object" Service spec.selector '["a"]'
found "Job.spec.podFailurePolicy.rules.1.action: Fail" \
    Job spec.podFailurePolicy.rules.1.action '"Fail"'
done_testing
