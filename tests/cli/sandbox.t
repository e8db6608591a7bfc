#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A sandbox that allows local sockets alone, as those of build systems and coding assistants do: the
# sentence names --backend none, with which plain processes run there.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

cat > "$T/sandbox.c" << 'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), steps};

    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
        return 99;
    execv(argv[1], argv + 1);
    return 98;
}
C
must "$CC" -o "$T/sandbox" "$T/sandbox.c"
"$T/sandbox" /bin/true || skip_all "no seccomp here"
check_error 125 'host localhost: programs may make no network sockets here.* run with --backend none' \
    "a job that needs the network says what runs without it" \
    "$T/sandbox" "$MLAUNCH" -n 2 -- echo hello
check_output "hello
hello" "plain processes run without a network" \
    "$T/sandbox" "$MLAUNCH" -n 2 --backend none --output raw -- echo hello
done_testing
