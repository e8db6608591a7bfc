/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/serve.h"

#include "common/text/text_json.h"
#include "launcher/pmix/forwarder.h"
#include "launcher/pmix/info_list.h"
#include "launcher/pmix/job_info.h"
#include "launcher/pmix/main_queue.h"
#include "launcher/pmix/published.h"
#include "launcher/wire/protocol/pmix_protocol.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FENCES_MOST = 8, /* under way at once: as many as the coordinator takes */
    NUMBER = 4,      /* bytes of a number in front of a frame's bytes */
};

enum serve_state { SERVE_SILENT, SERVE_IN_USE, SERVE_FINALIZED };

struct serve_rank {
    enum serve_state state;
    bool has_ended;
};

struct serve_fence {
    uint32_t number; /* 0: none */
    pmix_modex_cbfunc_t answer;
    void *cbdata;
};

/* One for the process: libpmix's callbacks carry no argument of ours. The threads of libpmix read
 * only `job`, which does not change. */
static struct {
    const struct served_job *job;
    int fd;
    struct serve_rank *ranks; /* job->rank_count */
    struct serve_fence fences[FENCES_MOST];
    uint32_t fence_count; /* so far */
    bool has_failed;      /* because of a rank, which has been reported */
} serve;

/* --- on libpmix's threads --------------------------------------------------------------------- */

static pmix_status_t item_status(const struct main_queue_item *item, const void *bytes, size_t size)
{
    return main_queue_send(item, bytes, size) ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

/* Which of the two answers is expected when there is no function to be called depends on libpmix's
 * version: 4 accepts either. */
static pmix_status_t rank_note(enum main_queue_kind kind, const pmix_proc_t *proc,
                               pmix_op_cbfunc_t done, void *cbdata)
{
    const struct main_queue_item item = {
        .kind = kind, .rank = proc->rank, .done = done, .cbdata = cbdata};
    pmix_status_t status = item_status(&item, NULL, 0);

    return status == PMIX_SUCCESS && !done ? PMIX_OPERATION_SUCCEEDED : status;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *cbdata)
{
    (void)object;
    return rank_note(MAIN_QUEUE_CONNECTED, proc, done, cbdata);
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *cbdata)
{
    (void)object;
    return rank_note(MAIN_QUEUE_FINALIZED, proc, done, cbdata);
}

/* Never answered: the rank waits until the job's end ends it. If it went on, its own end might be
 * known before what it has asked for. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done,
                              void *cbdata)
{
    const struct main_queue_item item = {
        .kind = MAIN_QUEUE_ABORT, .rank = proc->rank, .status = status};

    (void)object, (void)text, (void)procs, (void)count, (void)done, (void)cbdata;
    return item_status(&item, NULL, 0);
}

/* Whether this is a rank of the job, or all. */
static bool is_of_job(const pmix_proc_t *proc)
{
    return strncmp(proc->nspace, serve.job->space, PMIX_MAX_NSLEN) == 0;
}

/* Whether these are all ranks of the job. */
static bool is_whole_job(const pmix_proc_t procs[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_of_job(&procs[i]))
            return false;
        if (procs[i].rank == PMIX_RANK_WILDCARD)
            return true;
    }
    return count == (size_t)serve.job->size;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                              size_t info_count, char *bytes, size_t size,
                              pmix_modex_cbfunc_t answer, void *cbdata)
{
    const struct main_queue_item item = {
        .kind = MAIN_QUEUE_FENCE, .answer = answer, .cbdata = cbdata};

    (void)info, (void)info_count;
    return is_whole_job(procs, count) ? item_status(&item, bytes, size) : PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t on_wanted(const pmix_proc_t *proc, const pmix_info_t info[], size_t info_count,
                               pmix_modex_cbfunc_t answer, void *cbdata)
{
    struct main_queue_item item = {.kind = MAIN_QUEUE_ASK,
                                   .question = FORWARDER_MODEX,
                                   .rank = proc->rank,
                                   .answer = answer,
                                   .cbdata = cbdata};

    (void)info, (void)info_count;
    if (!is_of_job(proc) || proc->rank >= (pmix_rank_t)serve.job->size ||
        serve.job->host_of[proc->rank] == serve.job->host)
        return PMIX_ERR_NOT_FOUND;
    item.host = (uint32_t)serve.job->host_of[proc->rank];
    return item_status(&item, NULL, 0);
}

/* A question to where names are kept: mlaunch-pmix of rank 0's host. */
static struct main_queue_item name_item(enum forwarder_kind question, const pmix_proc_t *proc,
                                        void *cbdata)
{
    return (struct main_queue_item){.kind = MAIN_QUEUE_ASK,
                                    .question = question,
                                    .host = (uint32_t)serve.job->host_of[0],
                                    .rank = proc->rank,
                                    .cbdata = cbdata};
}

/* Writes a name and a value as FORWARDER_PUBLISH has them. False: it cannot be published. */
static bool publish_pack(char **bytes, size_t *size, const pmix_info_t *info)
{
    const pmix_value_t *v = &info->value;
    bool is_text = v->type == PMIX_STRING && v->data.string;
    const char *from = is_text ? v->data.string : v->data.bo.bytes;
    size_t skip = strlen(info->key) + 2, count;

    if (!info->key[0] || (!is_text && v->type != PMIX_BYTE_OBJECT))
        return false;
    count = is_text ? strlen(from) : v->data.bo.size;
    if (count > FRAME_LIMIT / 2 || !(*bytes = malloc(skip + count)))
        return false;
    memcpy(*bytes, info->key, skip - 1);
    (*bytes)[skip - 1] = is_text ? FORWARDER_TEXT : FORWARDER_BYTES;
    if (count)
        memcpy(*bytes + skip, from, count);
    *size = skip + count;
    return true;
}

static bool is_for_one_look(const pmix_value_t *v)
{
    return (v->type == PMIX_PERSIST && v->data.persist == PMIX_PERSIST_FIRST_READ) ||
           (v->type == PMIX_INT && v->data.integer == PMIX_PERSIST_FIRST_READ);
}

/* One name at a time, as MPI libraries publish them. */
static pmix_status_t on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t count,
                                pmix_op_cbfunc_t done, void *cbdata)
{
    struct main_queue_item item = name_item(FORWARDER_PUBLISH, proc, cbdata);
    const pmix_info_t *named = NULL;
    pmix_status_t status;
    char *bytes = NULL;
    size_t size;

    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_PERSISTENCE) && is_for_one_look(&info[i].value))
            item.question = FORWARDER_PUBLISH_ONCE;
        if (strncmp(info[i].key, "pmix.", 5) == 0)
            continue;
        if (named)
            return PMIX_ERR_NOT_SUPPORTED;
        named = &info[i];
    }
    if (!named || !publish_pack(&bytes, &size, named))
        return PMIX_ERR_NOT_SUPPORTED;
    item.over = done;
    status = item_status(&item, bytes, size);
    free(bytes);
    return status;
}

/* Here also, one name at a time. */
static pmix_status_t name_send(const struct main_queue_item *item, char **keys)
{
    if (!keys || !keys[0] || !keys[0][0] || keys[1])
        return PMIX_ERR_NOT_SUPPORTED;
    return item_status(item, keys[0], strlen(keys[0]));
}

static pmix_status_t on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                               size_t count, pmix_lookup_cbfunc_t found, void *cbdata)
{
    struct main_queue_item item = name_item(FORWARDER_LOOKUP, proc, cbdata);

    item.rank = 0; /* in FORWARDER_AWAIT, for how many seconds */
    for (size_t i = 0; i < count; i++) {
        const pmix_value_t *v = &info[i].value;

        if (PMIX_CHECK_KEY(&info[i], PMIX_WAIT))
            item.question = FORWARDER_AWAIT;
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT) && v->type == PMIX_INT && v->data.integer > 0)
            item.rank = (pmix_rank_t)v->data.integer;
    }
    item.found = found;
    return name_send(&item, keys);
}

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                  size_t count, pmix_op_cbfunc_t done, void *cbdata)
{
    struct main_queue_item item = name_item(FORWARDER_UNPUBLISH, proc, cbdata);

    (void)info, (void)count;
    item.over = done;
    return name_send(&item, keys);
}

/* Ranks of one job know each other already. */
static pmix_status_t on_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                                size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    const struct main_queue_item item = {.kind = MAIN_QUEUE_JOINED, .done = done, .cbdata = cbdata};

    (void)info, (void)info_count;
    for (size_t i = 0; i < count; i++) {
        if (!is_of_job(&procs[i]))
            return PMIX_ERR_NOT_SUPPORTED;
    }
    return item_status(&item, NULL, 0);
}

/* `arg` is the item to send. */
static void on_found(pmix_status_t status, char *bytes, size_t size, void *arg)
{
    struct main_queue_item *item = arg;

    item->status = status;
    item_status(item, bytes, size);
    free(item);
}

static pmix_status_t on_spawn(const pmix_proc_t *proc, const pmix_info_t info[], size_t info_count,
                              const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                              void *cbdata)
{
    const struct main_queue_item item = {.kind = MAIN_QUEUE_SPAWN, .rank = proc->rank};

    (void)info, (void)info_count, (void)apps, (void)app_count, (void)done, (void)cbdata;
    item_status(&item, NULL, 0);
    return PMIX_ERR_NOT_SUPPORTED;
}

/* Without a handler libpmix would print what it reports. Its `done` must not be called: it may be
 * gone by then. */
static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t info_count, pmix_info_t results[],
                     size_t result_count, pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void)handler, (void)status, (void)source, (void)info, (void)info_count, (void)results;
    (void)result_count, (void)done, (void)cbdata;
}

/* --- on the main thread ----------------------------------------------------------------------- */

static int frame_tell(enum helper_frame type, const void *bytes, size_t size, struct fault *why)
{
    return frame_send(serve.fd, (uint8_t)type, bytes, (uint32_t)size, -1, why);
}

/* Takes over the object. */
static int json_tell(enum helper_frame type, json_t *object, struct fault *why)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    int rc = text ? frame_tell(type, text, strlen(text), why)
                  : fault_set(why, ML_ERR_MEMORY, "out of memory");

    free(text);
    json_decref(object);
    return rc;
}

static int rank_fault(int index, const char *text, struct fault *why)
{
    if (serve.has_failed)
        return 0;
    serve.has_failed = true;
    return json_tell(
        HELPER_FAULT,
        json_pack("{s:i, s:o}", "rank", serve.job->ranks[index].rank, "text", text_json(text)),
        why);
}

/* A rank that has ended without PMIx_Finalize() is missing in all that the others do by PMIx. (If a
 * rank failed, that is reported elsewhere.) */
static int absence_check(struct fault *why)
{
    bool is_in_use = false;

    for (int i = 0; i < serve.job->rank_count; i++)
        is_in_use |= serve.ranks[i].state == SERVE_IN_USE && !serve.ranks[i].has_ended;
    for (int i = 0; i < serve.job->rank_count && is_in_use; i++) {
        if (serve.ranks[i].has_ended && serve.ranks[i].state == SERVE_SILENT)
            return rank_fault(i,
                              "has ended, and other ranks wait for it in MPI_Init, which it has "
                              "not called",
                              why);
    }
    return 0;
}

static int fence_begin(const struct main_queue_item *item, struct fault *why)
{
    uint32_t number = htonl(++serve.fence_count);
    struct serve_fence *f = serve.fences;
    char *bytes;
    int rc;

    while (f < serve.fences + FENCES_MOST && f->number)
        f++;
    bytes = malloc(NUMBER + item->size);
    if (f == serve.fences + FENCES_MOST || !bytes || item->size > FRAME_LIMIT - NUMBER) {
        free(bytes);
        item->answer(PMIX_ERR_OUT_OF_RESOURCE, NULL, 0, item->cbdata, NULL, NULL);
        return 0;
    }
    *f = (struct serve_fence){serve.fence_count, item->answer, item->cbdata};
    memcpy(bytes, &number, NUMBER);
    if (item->size)
        memcpy(bytes + NUMBER, item->bytes, item->size);
    rc = frame_tell(HELPER_FENCE, bytes, NUMBER + item->size, why);
    free(bytes);
    return rc;
}

static int item_handle(const struct main_queue_item *item, struct fault *why)
{
    int index = served_job_index(serve.job, item->rank);
    struct serve_rank *r = index < 0 ? NULL : &serve.ranks[index];

    if (item->kind == MAIN_QUEUE_FENCE)
        return fence_begin(item, why);
    if (item->kind == MAIN_QUEUE_ASK)
        return forwarder_ask(item, why);
    if (item->kind == MAIN_QUEUE_FOUND)
        return forwarder_answer(item->host, item->ask, item->status == PMIX_SUCCESS, item->bytes,
                                item->size, why);
    if (!r)
        return 0;
    switch (item->kind) {
    case MAIN_QUEUE_CONNECTED:
        r->state = SERVE_IN_USE;
        return absence_check(why);
    case MAIN_QUEUE_FINALIZED:
        r->state = SERVE_FINALIZED;
        return 0;
    case MAIN_QUEUE_ABORT:
        return json_tell(HELPER_ABORT,
                         json_pack("{s:i, s:i}", "rank", (int)item->rank, "status", item->status),
                         why);
    case MAIN_QUEUE_SPAWN:
        return json_tell(
            HELPER_NOTE,
            json_pack("{s:i, s:s}", "rank", (int)item->rank, "text",
                      "called MPI_Comm_spawn, which fails: mlaunch starts all processes of a job "
                      "at once, different programs separated by ':'"),
            why);
    default:
        return 0;
    }
}

int serve_queue(struct fault *why)
{
    struct main_queue_item *item;
    int rc = 0;

    while (!rc && (item = main_queue_take())) {
        rc = item_handle(item, why);
        if (item->done)
            item->done(PMIX_SUCCESS, item->cbdata);
        main_queue_destroy(item);
    }
    return rc;
}

static uint32_t word_at(const struct frame *f, size_t index)
{
    uint32_t word;

    memcpy(&word, f->payload + index * sizeof(word), sizeof(word));
    return ntohl(word);
}

/* libpmix copies the bytes on another thread, and then calls this. */
static void on_released(void *bytes)
{
    free(bytes);
}

static int fenced_take(const struct frame *f, struct fault *why)
{
    uint32_t number = f->size >= NUMBER ? word_at(f, 0) : 0;
    size_t size = f->size - NUMBER;
    struct serve_fence *fence = serve.fences;
    char *bytes;

    while (fence < serve.fences + FENCES_MOST && fence->number != number)
        fence++;
    if (number == 0 || fence == serve.fences + FENCES_MOST)
        return fault_set(why, ML_ERR_REFUSED, "the agent answers a fence that is not under way");
    fence->number = 0;
    bytes = malloc(size + 1);
    if (bytes)
        memcpy(bytes, f->payload + NUMBER, size);
    fence->answer(bytes ? PMIX_SUCCESS : PMIX_ERR_NOMEM, bytes, bytes ? size : 0, fence->cbdata,
                  on_released, bytes);
    return 0;
}

/* libpmix answers once the rank has put what it puts. */
static int modex_begin(const struct forwarder_question *q, struct fault *why)
{
    struct main_queue_item *item = malloc(sizeof(*item));
    pmix_proc_t proc;

    if (served_job_index(serve.job, q->rank) < 0 || !item) {
        free(item);
        return forwarder_answer(q->host, q->number, false, NULL, 0, why);
    }
    *item = (struct main_queue_item){
        .kind = MAIN_QUEUE_FOUND, .rank = q->rank, .host = q->host, .ask = q->number};
    PMIX_LOAD_PROCID(&proc, serve.job->space, q->rank);
    if (PMIx_server_dmodex_request(&proc, on_found, item) == PMIX_SUCCESS)
        return 0;
    free(item);
    return forwarder_answer(q->host, q->number, false, NULL, 0, why);
}

/* A question of this host or another. */
static int question_take(const struct forwarder_question *q, struct fault *why)
{
    return q->kind == FORWARDER_MODEX ? modex_begin(q, why) : published_take(q, why);
}

/* What the rank has done last came before its end, and has been taken in. */
static int ended_take(const struct frame *f, struct fault *why)
{
    int index = f->size == 2 * NUMBER ? served_job_index(serve.job, word_at(f, 0)) : -1;
    struct serve_rank *r;

    if (index < 0)
        return fault_set(why, ML_ERR_REFUSED, "the agent's ENDED is malformed");
    r = &serve.ranks[index];
    r->has_ended = true;
    if (r->state == SERVE_IN_USE && word_at(f, 1))
        return rank_fault(index, "exited with status 0 without calling MPI_Finalize", why);
    return absence_check(why);
}

int serve_frame(const struct frame *f, struct fault *why)
{
    int rc = serve_queue(why);

    if (rc)
        return rc;
    switch (f->type) {
    case HELP_FENCED:
        return fenced_take(f, why);
    case HELP_PASSED:
        return forwarder_take(f, why);
    case HELP_ENDED:
        return ended_take(f, why);
    case HELP_PING:
        return frame_tell(HELPER_PONG, NULL, 0, why);
    default:
        return fault_set(why, ML_ERR_REFUSED, "the agent sent an unexpected frame");
    }
}

int serve_announce(struct fault *why)
{
    json_t *all = json_array();

    for (int i = 0; i < serve.job->rank_count; i++) {
        json_t *one = job_info_environment(serve.job, i, why);

        if (!one) {
            json_decref(all);
            return ML_ERR_SYSTEM;
        }
        json_array_append_new(all, one);
    }
    return json_tell(HELPER_READY, json_pack("{s:o}", "env", all), why);
}

int serve_open(const struct served_job *job, int fd, struct fault *why)
{
    static pmix_server_module_t module = {.client_connected = on_connected,
                                          .client_finalized = on_finalized,
                                          .abort = on_abort,
                                          .fence_nb = on_fence,
                                          .direct_modex = on_wanted,
                                          .publish = on_publish,
                                          .lookup = on_lookup,
                                          .unpublish = on_unpublish,
                                          .connect = on_connect,
                                          .disconnect = on_connect,
                                          .spawn = on_spawn};
    struct info_list l = {0};
    pmix_status_t status;
    int rc = main_queue_open(why);

    serve.job = job;
    serve.fd = fd;
    forwarder_open(job, fd, question_take);
    serve.ranks = calloc((size_t)job->rank_count, sizeof(*serve.ranks));
    if (!rc && !serve.ranks)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        return rc;
    /* A server that runs on the same machine for another host of the job must not meet this one. */
    info_list_text(&l, PMIX_SERVER_TMPDIR, job->dir);
    info_list_text(&l, PMIX_SYSTEM_TMPDIR, job->dir);
    info_list_rank(&l, PMIX_SERVER_RANK, (pmix_rank_t)job->host);
    info_list_text(&l, PMIX_HOSTNAME, job->names[job->host]);
    /* Otherwise each rank finds out by itself what the machine looks like. */
    info_list_flag(&l, PMIX_SERVER_SHARE_TOPOLOGY, true);
    status = l.failed ? PMIX_ERR_NOMEM : PMIx_server_init(&module, l.list, l.count);
    info_list_free(&l);
    if (status != PMIX_SUCCESS)
        return fault_set(why, ML_ERR_SYSTEM, "libpmix cannot start its server: %s",
                         PMIx_Error_string(status));
    PMIx_Register_event_handler(NULL, 0, NULL, 0, on_event, NULL, NULL);
    return job_info_register(job, why);
}
