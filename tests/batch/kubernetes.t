#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch batch kubernetes: what it writes, what it refuses, how it submits, and that pods which run
# what is written become one job. No cluster takes part: the pods are processes (pods.py).
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
PODS=$SOURCE/tests/batch/pods.py
kube() { "$MLAUNCH" batch kubernetes "$@"; }
python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'import yaml' 2> /dev/null; then python=$p; fi
done
[ -n "$python" ] || skip_all "no python3 here has PyYAML (python3-yaml)"

# refused REGEX ARGUMENT…
refused() {
    local regex=$1
    shift
    check_error 125 "^mlaunch: error: .*$regex" "kubernetes $* is refused" kube "$@"
}
refused "--image says which image" -- true
refused "Kubernetes has no --partition" --image i --partition p -- true
refused "Kubernetes has no .*--ntasks" --image i --ntasks 4 -- true
refused "by SIGTERM alone" --image i --stop-signal USR1 -- true
refused "the hosts are those that join" --image i -H a -- true
refused "is not NAME=N" --image i --resource rdma/hca -- true
refused "is no number of GPUs" --image i --gpus-per-node a100:1 -- true
refused "is no name of a job in Kubernetes" --image i --job-name 1a -- true
refused "is not UTF-8" --image i -- true $'\xff'
check_error 125 "for Kubernetes alone" \
    "--image is refused for Slurm" "$MLAUNCH" batch slurm --image i -- true

check "a file can be written" kube --image reg/m:1 --nodes 3 --ntasks-per-node 2 --time 2h \
    --gpus-per-node 4 --resource rdma/hca=1 --grace 20 --restarts 1 --job-name My_job \
    -o "$T/job.yaml" -- ./prog
check_output 600 "the file with the key is readable by the user alone" stat -c %a "$T/job.yaml"
# has VALUE KIND PATH [WHEN]: what the file says.
has() {
    check_output "$1" "$2 $3 is $1${4:+ $4}" "$python" "$PODS" get "$T/job.yaml" "$2" "$3"
}
has '"my-job"' Job metadata.name
has 3 Job spec.completions
has 3 Job spec.parallelism
has '"Indexed"' Job spec.completionMode
has 1 Job spec.backoffLimit
has 7200 Job spec.activeDeadlineSeconds
has '[0, 137, 143]' Job spec.podFailurePolicy.rules.1.onExitCodes.values
pod=spec.template.spec
has '"Never"' Job $pod.restartPolicy
has '"my-job"' Job $pod.subdomain
has false Job $pod.automountServiceAccountToken
has 30 Job $pod.terminationGracePeriodSeconds
has true Job $pod.securityContext.runAsNonRoot
has '"reg/m:1"' Job $pod.containers.0.image
has '{"nvidia.com/gpu": 4, "rdma/hca": 1}' Job $pod.containers.0.resources.limits
has '["ALL"]' Job $pod.containers.0.securityContext.capabilities.drop
has '["IPC_LOCK"]' Job $pod.containers.0.securityContext.capabilities.add
has '{"medium": "Memory"}' Job $pod.volumes.1.emptyDir
has '"my-job"' Job $pod.volumes.0.secret.secretName
has '"None"' Service spec.clusterIP
has true Service spec.publishNotReadyAddresses
has '{"mlaunch-job": "my-job"}' Service spec.selector
check "the key can be read" "$python" "$PODS" get "$T/job.yaml" Secret stringData.key
check_match '^"[0-9a-f]{64}"$' "$OUT" "the key has 64 digits"
cp "$OUT" "$T/key1"
kube --image i -- true > "$T/job.yaml"
check "the key of another file can be read" "$python" "$PODS" get "$T/job.yaml" Secret \
    stringData.key
if cmp -s "$OUT" "$T/key1"; then
    fail "another file has another key"
else
    pass "another file has another key"
fi
has '[0]' Job spec.podFailurePolicy.rules.1.onExitCodes.values
kube --image i --nodes 3 run --elastic 2 -- true > "$T/job.yaml"
has '[0, 125, 137, 143]' Job spec.podFailurePolicy.rules.1.onExitCodes.values
has 0 Job spec.backoffLimitPerIndex
kube --image i --nodes 3 run --elastic 2 --restarts 4 -- true > "$T/job.yaml"
has '[0, 125, 137, 143]' Job spec.podFailurePolicy.rules.1.onExitCodes.values "with --restarts"
has 4 Job spec.backoffLimitPerIndex
check "a limit by pod leaves none for the whole job" sh -c '! grep -q "backoffLimit:" "$1"' sh \
    "$T/job.yaml"

# Every word reaches the program as it was given.
words=("it's" '$(HOME)' '$$(x)' '$' '$$' '"' 'a b' '' '\' $'two\nlines' 'ü' '#x' '- y' ': z' \
    $'\t\x7f\xc2\x85\xe2\x80\xa8' '😀' true null 1e3 '{a}')
kube --image i -- ./show "${words[@]}" > "$T/job.yaml"
"$python" "$PODS" quote ./show "${words[@]}" > "$T/words"
check_output "$(cat "$T/words")" \
    "odd words come through from Kubernetes' file" "$python" "$PODS" words "$T/job.yaml"

# What is written, played.
kube --image i --nodes 2 --ntasks-per-node 2 run --oversubscribe --output raw -- sh -c \
    'echo "$MLAUNCH_RANK of $MLAUNCH_SIZE, $1"; exit "$2"' sh 'it $(works)' 0 > "$T/job.yaml"
port=$(python3 "$TEST_LIB/free_port.py")
check "two pods can be played" "$python" "$PODS" play "$T/job.yaml" "$T" "$port" "$MLAUNCH"
sort "$OUT" > "$T/sorted"
check_output '0 0
0 of 4, it $(works)
1 of 4, it $(works)
2 of 4, it $(works)
3 of 4, it $(works)' "two pods are one job, whose output is pod 0's" cat "$T/sorted"
kube --image i --nodes 2 run --output raw -- sh -c 'exit 7' > "$T/job.yaml"
check "two pods whose job fails can be played" "$python" "$PODS" play "$T/job.yaml" "$T" "$port" \
    "$MLAUNCH"
cp "$OUT" "$T/statuses"
check_output '7 7' "two pods end with their job's status" cat "$T/statuses"

# The same for Compose.
compose() { kube --kind compose --image reg/m:1 "$@"; }
refused "--kind compose has no --time" --kind compose --image i --time 5 -- true
refused "--kind compose has no .*--submit" --kind compose --image i --submit -- true
refused "Compose knows none of that name" --kind compose --image i --resource amd.com/gpu=1 -- true
compose --nodes 2 --gpus-per-node 4 --resource rdma/hca=1 --grace 20 --restarts 1 \
    --job-name My_job -- ./prog > "$T/job.yaml"
has '"my-job"' Compose name
first=services.my-job-0
has '"reg/m:1"' Compose $first.image
has '"my-job-0"' Compose $first.hostname
has '"30s"' Compose $first.stop_grace_period
has '"on-failure:1"' Compose $first.restart
has '["ALL"]' Compose $first.cap_drop
has '["key"]' Compose services.my-job-1.secrets
has '["/dev/infiniband:/dev/infiniband"]' Compose $first.devices
has 4 Compose $first.deploy.resources.reservations.devices.0.count
has '"./my-job.key"' Compose secrets.key.file
check_no_match '[0-9a-f]{64}' "$T/job.yaml" "the key is not in Compose's file"
user=$(id -u)
has "\"$([ "$user" = 0 ] && echo 1000:1000 || echo "$user:$(id -g)")\"" Compose $first.user
compose -- ./show "${words[@]}" > "$T/job.yaml"
check_output "$(cat "$T/words")" \
    "odd words come through from Compose's file" "$python" "$PODS" words "$T/job.yaml"
compose --nodes 2 --ntasks-per-node 2 run --oversubscribe --output raw -- sh -c \
    'echo "$MLAUNCH_RANK of $MLAUNCH_SIZE, $1"' sh 'it $(works)' > "$T/job.yaml"
rm -f "$T/key"
must "$MLAUNCH" join --key-new "$T/key"
check "two services can be played" "$python" "$PODS" services "$T/job.yaml" "$T" "$port" "$MLAUNCH"
sort "$OUT" > "$T/sorted"
check_output '0 0
0 of 4, it $(works)
1 of 4, it $(works)
2 of 4, it $(works)
3 of 4, it $(works)' "two services are one job" cat "$T/sorted"

mkdir "$T/bin"
cat > "$T/bin/kubectl" << 'EOF'
#!/bin/sh
echo "$@" > "$KUBE_SEEN.arguments"
cat > "$KUBE_SEEN"
echo secret/prog created
echo job.batch/prog created
EOF
chmod +x "$T/bin/kubectl"
export KUBE_SEEN=$T/seen
check_output prog "--submit prints the job's name" env PATH="$T/bin:$PATH" "$MLAUNCH" batch \
    kubernetes --image i --submit -- ./prog
check_output "create -f -" "kubectl is asked to create the job" cat "$T/seen.arguments"
check_output '"prog"' \
    "kubectl gets the whole file" "$python" "$PODS" get "$T/seen" Job metadata.name
check_error 125 "kubectl" "without kubectl --submit says so" env PATH="$T/none" "$MLAUNCH" batch \
    kubernetes --image i --submit -- ./prog
done_testing
