#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch metrics: a page that promtool accepts, of this machine, of a job and of recorded machines;
# what --command may add; the file for node_exporter; the HTTP endpoint and its bad clients; and
# Debian's Prometheus, which scrapes a run.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/recorded.sh"
. "${0%/*}/job.sh"

# value SERIES: its value on the page in $T/page.
value() { awk -v s="$1" '$1 == s { print $2 }' "$T/page"; }
# page OPTION…: makes $T/page.
# shellcheck disable=SC2120 # check calls it with options
page() { "$MLAUNCH" metrics "$@" > "$T/page"; }
end() { kill "$1" 2> /dev/null; }
lint() {
    if is_here promtool; then
        check_output "" "promtool accepts $1" sh -c 'promtool check metrics < "$0" 2>&1' "$2"
    else
        skip "promtool accepts $1" "$LACKS"
    fi
}

check "a page of this machine is made" page
lint "the page of this machine" "$T/page"
check_match "^mlaunch_host_cpus $(grep -c '^processor' /proc/cpuinfo)$" "$T/page" \
    "the page has this machine's processors"
check_match '^mlaunch_host_cpu_seconds_total\{mode="user"\} [0-9.]+$' "$T/page" \
    "the page has the processors' time"
check_match '^mlaunch_build_info\{version="[0-9.]+"\} 1$' "$T/page" "the page has mlaunch's version"
check_no_match '^(node|process|go)_' "$T/page" "no name on the page is another exporter's"

# --- recorded machines: three makers, a device without ports, files that cannot be read
record a b
record_mellanox a mlx5_0 1
record_broadcom a bnxt_re0 2
record_thunderbolt a tb0 3
put a /proc/stat 'cpu  100 0 200 3000 0 0 0 0 0 0'
d=/sys/class/infiniband
put a $d/mlx5_0/ports/1/counters/port_xmit_data 1000
put a $d/mlx5_0/ports/1/counters/port_xmit_packets 18446744073709551615
put a $d/mlx5_0/ports/1/counters/port_rcv_packets 77
put a $d/mlx5_0/ports/1/hw_counters/lifespan 10
put a $d/bnxt_re0/ports/1/hw_counters/rx_bytes 4096
put a $d/bnxt_re0/ports/1/hw_counters/active_qps 3
put a $d/mlx4_0/node_guid 0002:c903:0000:0001
put a $d/mlx4_0/hw_counters/rq_num_wrfe 5
put a $d/mlx4_0/ports/1/state '1: DOWN'
put a $d/mlx4_0/ports/1/rate -1
put a $d/mlx4_0/ports/1/counters/port_rcv_data 'N/A (no PMA)'
mkdir "$T/recorded/a$d/mlx4_0/ports/1/counters/port_xmit_data" # reading it fails
mkdir -p "$T/recorded/a$d/"'odd"name\'
check "a page of recorded machines is made" \
    sh -c '"$@" > "$0"' "$T/page" "$MLAUNCH" metrics --agent "$AGENT" \
    --agent-command 'sh -c '\''exec "$@"'\'' {host}' -H a,b --sysfs "$T/recorded"
lint "the page of recorded machines" "$T/page"
mlx='host="a",device="mlx5_0",port="1"'
check_output "493827156 4000 77" \
    "a port's bytes, counted in words of four, and packets are on the page" echo \
    "$(value "mlaunch_rdma_port_receive_bytes_total{$mlx}")" \
    "$(value "mlaunch_rdma_port_transmit_bytes_total{$mlx}")" \
    "$(value "mlaunch_rdma_port_receive_packets_total{$mlx}")"
check_output "4 5 25000000000" "a port's state and rate are on the page" echo \
    "$(value "mlaunch_rdma_port_state{$mlx}")" "$(value "mlaunch_rdma_port_physical_state{$mlx}")" \
    "$(value "mlaunch_rdma_port_rate_bytes_per_second{$mlx}")"
check_output "0" "a counter of events is on the page by its name" value \
    "mlaunch_rdma_hw_events_total{$mlx,counter=\"out_of_sequence\"}"
check_no_match 'counter="lifespan"' "$T/page" "a setting is no counter on the page"
check_output "4096" "another maker's bytes are on the page" value \
    'mlaunch_rdma_port_receive_bytes_total{host="a",device="bnxt_re0",port="1"}'
check_output "3" "another maker's level is on the page" value \
    'mlaunch_rdma_hw_level{host="a",device="bnxt_re0",port="1",counter="active_qps"}'
check_output "4 5000000000" "a device without counters is on the page" echo \
    "$(value 'mlaunch_rdma_port_state{host="a",device="tb0",port="1"}')" \
    "$(value 'mlaunch_rdma_port_rate_bytes_per_second{host="a",device="tb0",port="1"}')"
check_no_match '_total\{host="a",device="tb0"' "$T/page" "a device without counters has no totals"
check_output "1 5" "a device that is down has counters of its own" echo \
    "$(value 'mlaunch_rdma_port_state{host="a",device="mlx4_0",port="1"}')" \
    "$(value 'mlaunch_rdma_hw_events_total{host="a",device="mlx4_0",counter="rq_num_wrfe"}')"
check_no_match 'bytes.*mlx4_0' "$T/page" "files that can't be read are not on the page"
check_match '^mlaunch_rdma_info\{host="a",device="odd\\"name\\\\"\} 1$' "$T/page" \
    "a device with a strange name is on the page"
check_output "1 2 30" "a host's processor time is on the page" echo \
    "$(value 'mlaunch_host_cpu_seconds_total{host="a",mode="user"}')" \
    "$(value 'mlaunch_host_cpu_seconds_total{host="a",mode="system"}')" \
    "$(value 'mlaunch_host_cpu_seconds_total{host="a",mode="idle"}')"
check_output "405408989184" "another host's memory is on the page" \
    value 'mlaunch_host_memory_bytes{host="b"}'
check_error 125 'host nowhere\.invalid: ' "a page of a host that can't be reached is an error" \
    page -H localhost,nowhere.invalid
check_output "1 0" "the host that can't be reached is 0, and the other 1" \
    echo "$(value 'mlaunch_host_up{host="localhost"}')" \
    "$(value 'mlaunch_host_up{host="nowhere.invalid"}')"

# --- --command
cat > "$T/gpus" << 'END'
echo '# TYPE mlaunch_gpu_temperature_celsius gauge'
echo 'mlaunch_gpu_temperature_celsius{gpu="0"} 41'
echo 'node_load1 7'
echo 'mlaunch_gpu_temperature_celsius{gpu="1"} [N/A]'
END
check "a page with a command for GPUs is made" page --command "sh $T/gpus"
check_match 'line 3 is left out, and 2 in all: the name node_load1 does not begin with' "$ERR" \
    "the bad lines of the command are told"
check_output "41 1 2" "the good lines of the command are on the page" echo \
    "$(value 'mlaunch_gpu_temperature_celsius{gpu="0"}')" \
    "$(value mlaunch_metrics_command_success)" "$(value mlaunch_metrics_command_refused_lines)"
check_no_match 'node_load1|N/A' "$T/page" "the bad lines of the command are not on the page"
lint "the page with a command" "$T/page"
check "a page with a command that fails is made" page --command 'exit 3'
check_match 'mlaunch: warning: --command exit 3 has printed nothing' "$ERR" \
    "the command that fails is reported"
check_output "0 1" "the command that fails costs nothing else" \
    echo "$(value mlaunch_metrics_command_success)" "$(value mlaunch_host_up)"
check "a page with a command that prints without end is made" page --command 'yes mlaunch_gpu_a 1'
check_match 'has printed more than 1024 KiB' "$ERR" "the command that prints without end is ended"

# --- options
for bad in here localhost: :70000 '[::1' '::1:9764' '[127.0.0.1:1'; do
    check_error 125 '^mlaunch: error: --listen needs PORT, ADDRESS:PORT, .*:PORT, and not ' \
        "the bad address $bad is refused" page --listen "$bad"
done
check_error 125 '^mlaunch: error: --listen nowhere\.invalid:0: "nowhere\.invalid" is not an address' \
    "a name that nobody has is refused as address" page --listen nowhere.invalid:0
check_error 125 '--every is for --output FILE' "--every without a file is refused" page --every 5
check_error 125 '--every needs a number of seconds' "--every without time is refused" \
    page -o "$T/x" --every 0
check_error 125 '--listen and --output do not go together' \
    "--listen and --output are not for each other" page -o "$T/x" --listen=1
check_error 125 '--output: cannot make a file in .*/none' \
    "a file in a directory that is not there is refused" page -o "$T/none/x.prom"

# --- a job
cat > "$T/job.py" << 'END'
import array, mlaunch, sys
w = mlaunch.init()
for i in range(50):
    w.all_reduce(array.array("f", [1.0] * 1000))
x, y = array.array("f", [1, 2]), array.array("f", [1, 2])
w.split(0)
w.reduce(x)
w.reduce_scatter(x, y[:1])
w.scan(x)
w.exclusive_scan(x)
w.all_gather(x[:1], y)
w.all_gather_v(x[:1], y, [1, 1])
w.all_to_all(x, y)
w.all_to_all_v(x, [1, 1], y, [1, 1])
w.broadcast(x)
w.gather(x[:1], y)
w.scatter(x, y[:1])
w.sendrecv(x, 1 - w.rank, y, 1 - w.rank)
w.window(8).free()
if w.rank == 0:
    open(sys.argv[1], "r").read()
w.barrier()
END
# The job is in control groups of its own, of the version that this machine has.
groups=()
for root in /sys/fs/cgroup/memory /sys/fs/cgroup/cpuacct /sys/fs/cgroup; do
    [ "${#groups[@]}" = 0 ] || [ "$root" != /sys/fs/cgroup ] || continue
    mkdir "$root/mlaunch-test-$$" 2> /dev/null || continue
    if [ -w "$root/mlaunch-test-$$/cgroup.procs" ]; then
        groups+=("$root/mlaunch-test-$$")
        at_exit rmdir "$root/mlaunch-test-$$"
    else
        rmdir "$root/mlaunch-test-$$"
    fi
done
for file in memory.limit_in_bytes memory.max; do
    [ "${#groups[@]}" = 0 ] || { echo 1G > "${groups[0]}/$file"; } 2> /dev/null
done
mkfifo "$T/hold"
# shellcheck disable=SC2016 # the shell's own
sh -c 'until [ "$1" = -- ]; do echo $$ > "$1/cgroup.procs" || exit; shift; done; shift; exec "$@"' - \
    ${groups[@]+"${groups[@]}"} -- \
    "${JOB[@]}" "${STRANGER[@]}" --backend tcp --local net -n 2 -- python3 "$T/job.py" "$T/hold" \
    > "$T/job.out" 2> "$T/job.err" < /dev/null &
JOB_PID=$!
at_exit end "$JOB_PID"
wait_for '[ "$(grep -c "\"started\"" "$EVENTS" 2> /dev/null)" = 2 ]'
id=$(job_id)
stalled() { page && grep -q "^mlaunch_rank_stalled{job_id=\"$id\",rank=\"1\"} 1" "$T/page"; }
check "a rank of a job waits" wait_for stalled
lint "the page of a job" "$T/page"
check_output "2 1 0" "the page has the job and its ranks" \
    echo "$(value "mlaunch_job_ranks_alive{job_id=\"$id\",node=\"localhost\"}")" \
    "$(value "mlaunch_rank_up{job_id=\"$id\",rank=\"0\"}")" \
    "$(value "mlaunch_rank_stalled{job_id=\"$id\",rank=\"0\"}")"
check_output "50 50 200000 1" "the page has the job's calls and bytes" echo \
    "$(value "mlaunch_rank_calls_total{job_id=\"$id\",rank=\"0\",call=\"all_reduce\",algorithm=\"doubling\"}")" \
    "$(value "mlaunch_rank_calls_total{job_id=\"$id\",rank=\"1\",call=\"all_reduce\",algorithm=\"doubling\"}")" \
    "$(value "mlaunch_rank_call_bytes_total{job_id=\"$id\",rank=\"1\",call=\"all_reduce\"}")" \
    "$(value "mlaunch_rank_calls_total{job_id=\"$id\",rank=\"1\",call=\"barrier\",algorithm=\"dissemination\"}")"
check_output "1" "a kind of call without a choice has no algorithm" value \
    "mlaunch_rank_calls_total{job_id=\"$id\",rank=\"1\",call=\"scan\"}"
of_job="{job_id=\"$id\",node=\"localhost\"}"
if [ -e "${groups[0]-}/memory.limit_in_bytes" ] || [ -e "${groups[0]-}/memory.max" ]; then
    check_output "1073741824 0" "the page has the limit of the control group's memory" echo \
        "$(value "mlaunch_job_memory_limit_bytes$of_job")" \
        "$(value "mlaunch_job_oom_kills_total$of_job")"
    check "the page has the memory in use of the control group" \
        test "$(value "mlaunch_job_cgroup_memory_bytes$of_job")" -gt 1000000
else
    skip "the page has the limit of the control group's memory" \
        "needs a memory control group to write to"
fi
if [ "${#groups[@]}" = 2 ] || [ -e "${groups[0]-}/cpu.stat" ]; then
    check_match "^mlaunch_job_cpu_seconds_total\\$of_job [0-9.]*[1-9]" "$T/page" \
        "the page has the control group's processor time"
else
    skip "the page has the control group's processor time" "needs a control group that counts it"
fi
check_output "all_gather all_gather_v all_reduce all_to_all all_to_all_v barrier broadcast \
exclusive_scan gather message reduce reduce_scatter scan scatter split window_create" \
    "every kind of call has its name" sh -c 'sed -nE "$1" "$2" | sort -u | tr "\n" " " |
    sed "s/ \$//"' - "s/^mlaunch_rank_calls_total.*,call=\"([a-z_]+)\".*/\\1/p" "$T/page"
check_match "^mlaunch_rank_sent_bytes_total\{job_id=\"$id\",rank=\"0\",peer_host=\"localhost\",link=\"tcp\"\} 200[0-9]{3}$" \
    "$T/page" "the page has what went over a rank's links"
check_match "^mlaunch_rank_wait_seconds_count\{job_id=\"$id\",rank=\"1\",call=\"all_reduce\"\} [0-9]+$" \
    "$T/page" "the page has how often a rank waited"
check_match "^mlaunch_job_info\{job_id=\"$id\",node=\"localhost\",user=\"$(id -un)\",state=\"live\"\} 1$" \
    "$T/page" "the page has the job's user"

# --- the file
mkdir "$T/collector"
"$MLAUNCH" metrics -o "$T/collector/mlaunch.prom" --every 1 2> "$T/every.err" &
WRITER=$!
at_exit end "$WRITER"
check "a file of metrics is written" wait_for '[ -s "$T/collector/mlaunch.prom" ]'
first=$(stat -c %i "$T/collector/mlaunch.prom")
check "the file is replaced" wait_for '[ "$(stat -c %i "$T/collector/mlaunch.prom")" != "$first" ]'
check_output "644" "the file may be read by others" stat -c %a "$T/collector/mlaunch.prom"
must kill "$WRITER"
wait "$WRITER" 2> /dev/null
lint "the file" "$T/collector/mlaunch.prom"

# --- the endpoint
"$MLAUNCH" metrics --listen 0 --command "sh $T/gpus" > "$T/url" 2> "$T/listen.err" &
SERVER=$!
at_exit end "$SERVER"
check "an endpoint is there" wait_for 'grep -q /metrics "$T/url"'
URL=$(cat "$T/url")
PORT=${URL%/metrics}
PORT=${PORT##*:}
check_match '^http://127\.0\.0\.1:[0-9]+/metrics$' "$T/url" "the endpoint is on loopback"
cat > "$T/clients.py" << 'END'
import concurrent.futures, socket, sys, urllib.request
url, port = sys.argv[1], int(sys.argv[2])

def raw(text, half=False):
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        s.sendall(text)
        if half:
            s.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while more := s.recv(65536):
                got += more
        except ConnectionResetError:
            pass
        return got

with urllib.request.urlopen(url, timeout=60) as r:
    print(r.status, r.headers["Content-Type"], b"mlaunch_host_up 1\n" in r.read())
print(raw(b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").count(b"mlaunch_"))
def status_of(path, host):
    answer = raw(b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    return int(answer.split(b" ")[1]), b"only the Hosts localhost, 127.0.0.1, [::1]" in answer

print({status_of(b"/", host) for host in (b"localhost", b"LOCALHOST:80", b"127.0.0.1:1",
                                          b"127.1.2.3", b"[::1]", b"[::1]:9")})
print({status_of(b"/metrics", host) for host in (
    b"evil.example", b"evil.example:9764", b"127.evil.example", b"localhost.evil.example", b"",
    b"[::1", b"[::1]x", b"10.0.0.1", b"x" * 1000, b"localhost\r\nhost\t: evil.example")})
for request in (b"GET / HTTP/1.1\r\n\r\n", b"POST /metrics HTTP/1.1\r\n\r\n", b"hello\r\n\r\n",
                b"GET /metrics FTP\r\n\r\n", b"\r\n\r\n", b"GET /" + b"x" * 100000):
    print(raw(request).split(b"\r\n")[0].decode())
print(raw(b"GET /met", True))
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    print(set(pool.map(lambda _: urllib.request.urlopen(url, timeout=60).status, range(20))))
END
cat > "$T/held.py" << 'END'
"""Connections that say nothing, or never end, more than the server keeps: others are answered."""
import socket, sys, urllib.request
url, port = sys.argv[1], int(sys.argv[2])

def held(words):
    s = socket.create_connection(("127.0.0.1", port), 30)
    s.sendall(words)
    return s

slow = held(b"GET /metrics HTTP/1.1\r\n")
print("half a request", repr(slow.recv(1)))
for words in (b"", b"GET /metr", b"GET / HTTP/1.1\r\n\r\n"):
    kept = [held(words) for _ in range(150)]
    print(repr(words), urllib.request.urlopen(url, timeout=30).status)
END
check_output "200 text/plain; version=0.0.4; charset=utf-8 True
0
{(404, False)}
{(421, True)}
HTTP/1.1 404 Not Found
HTTP/1.1 405 Method Not Allowed
HTTP/1.1 400 Bad Request
HTTP/1.1 400 Bad Request
HTTP/1.1 400 Bad Request
HTTP/1.1 431 Request Header Fields Too Large
b''
{200}" "good clients, bad ones, and many get their answers" python3 "$T/clients.py" "$URL" "$PORT"
check_output "half a request b''
b'' 200
b'GET /metr' 200
b'GET / HTTP/1.1\r\n\r\n' 200" "clients that hold connections do not shut others out" \
    python3 "$T/held.py" "$URL" "$PORT"
check_error 125 "^mlaunch: error: --listen $PORT: .*in use" "a port that is taken is refused" \
    "$MLAUNCH" metrics --listen "$PORT"

# listens WHERE URL WARNINGS: an endpoint there prints that URL, and warns so often.
listens() {
    : > "$T/where" # not what the one before has said
    "$MLAUNCH" metrics --listen "$1" > "$T/where" 2> "$T/where.err" &
    local pid=$!
    at_exit end "$pid"
    check "an endpoint on $1 is there" wait_for 'grep -q /metrics "$T/where"'
    check_match "^http://$2:[1-9][0-9]*/metrics$" "$T/where" "the endpoint on $1 prints its address"
    check_output "$3" "the endpoint on $1 warns if it has every address" sh -c \
        'grep -c "warning: --listen: whoever reaches any address" "$0" || true' "$T/where.err"
    kill "$pid" && wait "$pid" 2> /dev/null
}
listens 0.0.0.0:0 '0\.0\.0\.0' 1
if getent ahosts localhost > /dev/null; then listens localhost:0 '(127\.0\.0\.1|\[::1\])' 0; else
    skip "an endpoint on localhost:0" "this machine does not know localhost: see /etc/hosts"
fi
if python3 -c 'import socket; socket.create_server(("::1", 0), family=socket.AF_INET6)' \
    2> /dev/null; then
    listens :0 '\[::\]' 1
    listens '[::1]:0' '\[::1\]' 0
else
    listens :0 '0\.0\.0\.0' 1
    skip "an endpoint listens on IPv6" "this machine has none"
fi

# --- Prometheus
if is_here prometheus; then
    cat > "$T/prometheus.yml" << END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: mlaunch
    scrape_timeout: 1s
    static_configs: [{targets: ["127.0.0.1:$PORT"]}]
END
    cat > "$T/ask.py" << 'END'
import json, sys, urllib.parse, urllib.request
url = "http://127.0.0.1:%s/api/v1/query?query=%s" % (sys.argv[1], urllib.parse.quote(sys.argv[2]))
with urllib.request.urlopen(url, timeout=10) as r:
    print(*[s["value"][1] for s in json.load(r)["data"]["result"]])
END
    port=$(python3 "$SOURCE/tests/lib/free_port.py")
    prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/data" \
        --web.listen-address="127.0.0.1:$port" > "$T/prometheus.out" 2>&1 &
    PROMETHEUS=$!
    at_exit end "$PROMETHEUS"
    ask() { python3 "$T/ask.py" "$port" "$1" 2> /dev/null; }
    check "Prometheus scrapes the endpoint" wait_for '[ "$(ask "up{job=\"mlaunch\"}")" = 1 ]'
    check "Prometheus adds up the ranks' calls" wait_for \
        '[ "$(ask "sum(mlaunch_rank_calls_total{job_id=\"$id\",call=\"all_reduce\"})")" = 100 ]'
    check_output "41" "Prometheus has the command's metrics" ask mlaunch_gpu_temperature_celsius
    check "Prometheus understands the histogram of waits" wait_for \
        '[ -n "$(ask "histogram_quantile(0.5, mlaunch_rank_wait_seconds_bucket{job_id=\"$id\"})")" ]'
    must kill "$PROMETHEUS"
    wait "$PROMETHEUS" 2> /dev/null
else
    skip "Prometheus scrapes the endpoint" "$LACKS"
fi

must kill "$SERVER"
wait "$SERVER"
check_output "0" "the endpoint ends well" echo $?
echo > "$T/hold"
wait "$JOB_PID"
check_output "0" "the job ends well beside the endpoint" echo $?
check "the job leaves nothing" left_nothing
check_output "" "the job leaves no counters" sh -c 'ls /dev/shm | grep -F -- "-$0." || true' "$id"
done_testing
