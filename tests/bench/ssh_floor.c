/* SPDX-License-Identifier: MIT */
/*
 * ssh_floor CONFIG COMMAND HOST…: the least time of a launch over SSH with libssh. To all hosts at
 * once, a thread each, connect, log in by key, execute COMMAND and read to its end. There is no
 * agent, plan or job. Prints milliseconds. Host keys are not checked, because the hosts are those
 * that tests/bench/scale makes.
 */
#include <libssh/libssh.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static const char *config, *command;

static int run(ssh_session s)
{
    ssh_channel c = ssh_channel_new(s);
    char bytes[4096];
    int status = -1;

    if (!c || ssh_channel_open_session(c) != SSH_OK ||
        ssh_channel_request_exec(c, command) != SSH_OK)
        return -1;
    while (ssh_channel_read(c, bytes, sizeof(bytes), 0) > 0)
        ;
    status = ssh_channel_get_exit_status(c);
    ssh_channel_free(c);
    return status;
}

static void *host(void *name)
{
    ssh_session s = ssh_new();
    int one = 1, status = -1;

    ssh_options_set(s, SSH_OPTIONS_HOST, name);
    ssh_options_set(s, SSH_OPTIONS_NODELAY, &one);
    ssh_options_set(s, SSH_OPTIONS_KEY_EXCHANGE, "curve25519-sha256");
    if (ssh_options_parse_config(s, config) == 0 && ssh_connect(s) == SSH_OK) {
        setsockopt(ssh_get_fd(s), IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
        if (ssh_userauth_publickey_auto(s, NULL, NULL) == SSH_AUTH_SUCCESS)
            status = run(s);
    }
    if (status)
        fprintf(stderr, "ssh_floor: %s: %s\n", (char *)name, ssh_get_error(s));
    ssh_disconnect(s);
    ssh_free(s);
    return status ? name : NULL;
}

int main(int argc, char **argv)
{
    pthread_t *threads = calloc((size_t)argc, sizeof(*threads));
    struct timespec begin, end;
    int failed = 0;

    if (argc < 4 || !threads)
        return 2;
    config = argv[1];
    command = argv[2];
    ssh_init();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 3; i < argc; i++)
        pthread_create(&threads[i], NULL, host, argv[i]);
    for (int i = 3; i < argc; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        failed += bad != NULL;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.0f\n",
           (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
    free(threads);
    return failed ? 1 : 0;
}
