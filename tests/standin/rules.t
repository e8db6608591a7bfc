#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each rule of verbs that the stand-in checks is broken by a small program (rules.c), which gets
# what a device gives, and one sentence says what is wrong.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/standin.sh"
RULES=$BUILD/tests/standin/rules
STANDIN_KIND="max_mr_size = 1G"
standin_up 2
on 0 "$RULES" > "$T/out" 2> "$T/err"
check_output 0 "each broken rule gives what a device gives" echo $?

# named RULE WORDS: the sentences between the lines that begin and end its part.
named() {
    sed -n "/^rule $1\$/,/^$1: got/p" "$T/err" > "$T/part"
    check_match "^libibverbs \(stand-in\): ${STANDIN_PREFIX}1 rxe_p1: .*$2.* \(.+\)\$" "$T/part" \
        "the broken rule $1 is named"
}
named lives 'ibv_post_recv: an object is not used after its destruction'
named limit 'ibv_create_cq of [0-9]+ entries'
named in-use 'ibv_dealloc_pd while [0-9]+ objects are in it'
named events-acked 'each event is acknowledged once'
named one-context 'objects that work together are of one context'
named one-domain 'the key 0x[0-9a-f]+ of another protection domain'
named mr-access 'need IBV_ACCESS_LOCAL_WRITE, too'
named mr-length '1073741825 bytes, of at most 1073741824'
named mr-mapped 'not all of which are mapped to be written'
named mr-unmapped 'are not mapped any more'
named mr-key 'element 0 has the key 0xabcd'
named mr-range 'an element lies within its region'
named mr-local-write 'has IBV_ACCESS_LOCAL_WRITE'
named mr-requests 'while 1 work requests name it'
named send-unchanged 'were written to between post and completion'
named remote-key 'a write by queue pair 0x[0-9a-f]+ with the key 0xabcd'
named remote-range 'the remote range lies within the region'
named remote-access 'the remote region allows that by its access flags'
named remote-domain 'the remote region is of the queue pair.s protection domain'
named remote-qp-access 'the remote queue pair allows that by qp_access_flags'
named atomic-aligned 'an atomic.s address is a multiple of 8'
named atomic-length 'an atomic of 4 bytes'
named read-depth '2 reads and atomics by queue pair 0x[0-9a-f]+ at once, of at most 1'
named receive-length 'a message of 64 bytes for a receive of 8'
named receive-posted 'had no receive after 1 retries'
named qp-capability 'a queue pair.s sizes are within the device.s limits'
named qp-type 'a device has some types of queue pairs only'
named qp-transition 'ibv_modify_qp from RESET to RTS'
named qp-mask-missing 'from INIT to RTR without IBV_QP_RQ_PSN'
named qp-mask-extra 'from INIT to RTR with IBV_QP_TIMEOUT'
named qp-port 'port_num = 9, of 1 to 1'
named qp-pkey 'pkey_index = 5'
named qp-mtu 'path_mtu = 4096 bytes, where the port has 1024'
named qp-gid 'sgid_index 15 on port 1, where there is no GID'
named qp-global 'is_global = 0 on port 1'
named qp-depth 'max_dest_rd_atomic = 255, of at most 128'
named qp-range 'min_rnr_timer = 32, of 0 to 31'
named send-state 'ibv_post_send in RESET or INIT'
named receive-state 'ibv_post_recv in RESET'
named receive-full 'a receive beyond the 4 of the queue'
named send-signaled 'requests without IBV_SEND_SIGNALED'
named sge-count 'a send of 3 elements, of at most 2'
named opcode 'opcode 4 on a queue pair of type 3'
named inline '4096 bytes inline, of at most 64'
named inline-read 'only sends and writes can be inline'
named message-length 'a message of 8388609 bytes, of at most 8388608'
named ud-length 'a datagram of 8192 bytes, of at most 1024'
named ud-address 'an address handle of another protection domain'
named ud-qkey 'with the key 0x2222, not 0x1111'
named srq-receive 'receives of a queue pair with a shared queue are posted there'
named srq-limit 'a limit of 100, of 4 receives'
named cq-full 'finds all 1 entries taken'

# --- the names of the library: those of Debian's, with their versions
system=$(ldconfig -p | sed -nE 's/.*libibverbs\.so\.1 .*=> (.*)/\1/p' | head -n 1)
names() {
    readelf -W --dyn-syms "$1" | awk '$7 ~ /^[0-9]+$/ && $8 != "" {
        print $4, $5, $6, $8, $4 == "OBJECT" ? $3 : "" }' | LC_ALL=C sort
}
if readelf -W -V "$system" | grep -q 'IBVERBS_1\.14$' &&
    readelf -W -V "$system" | grep -q 'IBVERBS_PRIVATE_34$'; then
    names "$system" > "$T/theirs"
    names "$STANDIN/libibverbs.so.1" | grep -vE ' _?_?(asan|ubsan|tsan)_' > "$T/ours"
    check "the library has the names and versions of the system's" diff "$T/theirs" "$T/ours"
else
    skip "the library has the names and versions of the system's" "it is not of rdma-core 44"
fi
done_testing
