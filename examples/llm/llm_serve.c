/* SPDX-License-Identifier: MIT */
#include "llm_serve.h"

#include "llm_options.h"
#include "llm_run.h"
#include "serve/service.h"
#include "steps/link_speed.h"
#include "steps/step_worker.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXIT_LOST = 1,
    EXIT_USAGE = 2,
    QUEUE_DEFAULT = 64,
    SLOTS_DEFAULT = 4,
    QUEUE_LIMIT = 4096,
    CONTEXT_LIMIT = 1 << 20,
    PORT_DEFAULT = 8080,
};

struct serve_options {
    const char *model, *host, *api_key_file;
    int64_t port, queue, slots, context;
};

static const char serve_help[] =
    "usage: mlaunch -n RANKS -- %s serve --model FILE [OPTION]...\n"
    "\n"
    "Answers over HTTP, as OpenAI's servers do: /v1/chat/completions, /v1/completions,\n"
    "/v1/models; and /health, /queue, /metrics, /dashboard.\n"
    "\n"
    "  --model FILE    the model, a GGUF file, at the same path on every host\n"
    "  --host ADDRESS  where rank 0 listens (default 127.0.0.1: its host alone; there\n"
    "                  is no encryption, so put a proxy in front of any other)\n"
    "  --port N        the port of it (default 8080; 0: any free one)\n"
    "  --api-key-file FILE   a file with keys, one a line; a client must send one of\n"
    "                  them as Authorization: Bearer KEY (default: everybody may ask)\n"
    "  --queue N       how many requests may wait for a slot (default 64)\n"
    "  --slots N       how many requests are answered at a time (default 4, at most 64)\n"
    "  --context N     tokens of prompt and answer together (default: what the model\n"
    "                  was trained for, at most 4096); memory grows with it and --slots\n";

static int number_option(const char *name, const char *text, int64_t min, int64_t max, int64_t *out)
{
    if (llm_options_number(text, min, max, out))
        return 0;
    fprintf(stderr, "llm serve: --%s must be a number from %lld to %lld, not '%s'\n", name,
            (long long)min, (long long)max, text);
    return -1;
}

/* Returns 0, 1 after --help, or -1. */
static int options_read(struct serve_options *o, int argc, char **argv)
{
    static const struct option known[] = {
        {"model", required_argument, NULL, 'm'},
        {"host", required_argument, NULL, 'h'},
        {"port", required_argument, NULL, 'p'},
        {"queue", required_argument, NULL, 'q'},
        {"slots", required_argument, NULL, 's'},
        {"context", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, '?' + 1},
        {"api-key-file", required_argument, NULL, 'k'},
        {0},
    };
    int c, i = 0, rc = 0;

    optind = 1;
    opterr = 0;
    while (!rc && (c = getopt_long(argc, argv, ":", known, &i)) != -1) {
        if (c == 'm')
            o->model = optarg;
        else if (c == 'h')
            o->host = optarg;
        else if (c == 'k')
            o->api_key_file = optarg;
        else if (c == 'p')
            rc = number_option("port", optarg, 0, 65535, &o->port);
        else if (c == 'q')
            rc = number_option("queue", optarg, 1, QUEUE_LIMIT, &o->queue);
        else if (c == 's')
            rc = number_option("slots", optarg, 1, LLM_MOST_ROWS, &o->slots);
        else if (c == 'c')
            rc = number_option("context", optarg, 2, CONTEXT_LIMIT, &o->context);
        else if (c == '?' + 1)
            rc = 1;
        else
            rc = -1;
    }
    if (rc < 0 && (c == ':' || c == '?'))
        llm_options_say(c, argv);
    if (rc)
        return rc;
    if (optind < argc) {
        fprintf(stderr, "llm serve: '%s' is no option\n", argv[optind]);
        return -1;
    }
    if (o->model)
        return 0;
    fprintf(stderr, "llm serve: --model is missing: name a GGUF file\n");
    return -1;
}

/* Every rank; rank 0 says what is the matter, as it is the same for all. */
static int serve_say(ml_group *world, const char *sentence, int status)
{
    if (ml_rank(world) == 0)
        fprintf(stderr, "llm serve: %s\n", sentence);
    return status;
}

/* After ML_ERR_PEER. 0, or EXIT_LOST: this rank cannot go on. */
static int repair(struct lead *lead, bool *has_come)
{
    char error[512];
    int rc = lead_repair(lead, has_come, error, sizeof(error));

    if (rc && rc != ML_ERR_STATE)
        fprintf(stderr, "llm serve: %s\n", error);
    return rc ? EXIT_LOST : 0;
}

/* A signal to end is rank 0's: it lets the others go when its clients have been told.
 * SERVICE_MOVED: rank 0 is another one, or others have come in the places of dead ranks. */
static int work(struct lead *lead)
{
    int server = ml_id(lead_group(lead), 0), rc;
    bool has_come;

    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    do {
        rc = step_worker_run(lead);
        if (rc != ML_ERR_PEER)
            return rc ? EXIT_LOST : 0;
        rc = repair(lead, &has_come);
    } while (!rc && !has_come && ml_id(lead_group(lead), 0) == server);
    return rc ? rc : SERVICE_MOVED;
}

/* What a rank does until the end, or until rank 0 is another one. */
static int serve_once(struct lead *lead, const struct service_config *config,
                      struct link_speed *links)
{
    ml_group *group = lead_group(lead);
    bool has_come;
    char error[512];
    int status, rc = link_speed_measure(group, links);

    if (rc == ML_ERR_PEER)
        return repair(lead, &has_come) ? EXIT_LOST : SERVICE_MOVED;
    if (rc)
        return serve_say(group, ml_error(), EXIT_LOST);
    if (ml_rank(group) > 0)
        return work(lead);
    status = service_run(config, error, sizeof(error));
    return status == EXIT_USAGE ? serve_say(group, error, status) : status;
}

static int serve(ml_group *world, struct lead *lead, const struct serve_options *o)
{
    /* By id: those of all ranks that the job has at its start, though some may be missing now. */
    const char *size = getenv("MLAUNCH_SIZE");
    int64_t ranks = ml_size(world);
    struct service_config config = {
        lead, o->model, NULL, o->host, (uint16_t)o->port, (uint32_t)o->queue, o->api_key_file};
    struct link_speed *links;
    int status;

    if (size)
        llm_options_number(size, ranks, INT32_MAX, &ranks);
    links = calloc((size_t)ranks, sizeof(*links));
    if (!links)
        return serve_say(world, "out of memory", EXIT_USAGE);
    config.links = links;
    do
        status = serve_once(lead, &config, links);
    while (status == SERVICE_MOVED);
    free(links);
    return status;
}

int llm_serve(int argc, char **argv)
{
    struct serve_options o = {NULL,          "127.0.0.1",   NULL, PORT_DEFAULT,
                              QUEUE_DEFAULT, SLOTS_DEFAULT, 0};
    struct lead_options options;
    struct lead *lead;
    ml_group *world;
    int status = options_read(&o, argc, argv);

    if (status > 0)
        printf(serve_help, program_invocation_short_name);
    if (status)
        return status > 0 ? 0 : EXIT_USAGE;
    if (ml_init(&world)) {
        fprintf(stderr, "llm serve: %s\n", ml_error());
        return EXIT_LOST;
    }
    options = (struct lead_options){(uint32_t)o.slots, (uint32_t)o.context};
    status = llm_run_open(&lead, world, o.model, &options, "llm serve");
    if (!status) {
        status = serve(world, lead, &o);
        lead_close(lead);
    }
    ml_finalize();
    return status;
}
