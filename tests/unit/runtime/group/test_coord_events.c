/* SPDX-License-Identifier: MIT */
/*
 * test_coord_events.c: what becomes of the coordinator's frames: frames that are not valid, deaths,
 * groups that are broken, answers, mail, and the end of the connection, which is a stand-in.
 */
#include "common/failure_times.h"
#include "runtime/group/coord_events.h"

#include "common/clock.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_news.h"
#include "runtime/group/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, FRAMES = 8, FRAME_SIZE = 128 };

/* The stand-in for the connection: says the frames that the test has given it. */
struct client {
    int fd[2]; /* a pipe in which nothing is written */
    int count, said, polls, sent;
    bool is_lost, has_note, awaits_note;
    const char *note; /* where has_note is looked for; or NULL */
    uint8_t type[FRAMES], bytes[FRAMES][FRAME_SIZE];
    uint32_t size[FRAMES];
};

int client_fd(const struct client *c)
{
    return c->fd[0];
}

void client_close(struct client *c)
{
    close(c->fd[0]);
    close(c->fd[1]);
}

int client_send(struct client *c, uint8_t type, const void *payload, uint32_t size,
                struct fault *why)
{
    (void)type, (void)payload, (void)size, (void)why;
    c->sent++;
    return 0;
}

int client_poll(struct client *c, struct frame *out, struct fault *why)
{
    int i = c->said;

    c->polls++;
    if (c->note)
        c->has_note |= access(c->note, F_OK) == 0;
    if (i == c->count || (c->awaits_note && !c->has_note))
        return c->is_lost ? fault_set(why, ML_ERR_PEER, "the connection ended") : 0;
    c->said++;
    *out = (struct frame){.type = c->type[i], .payload = c->bytes[i], .size = c->size[i]};
    return 1;
}

struct scene {
    struct client client;
    struct coord_events *events;
    struct group *group; /* number 7, of ranks 0 and 1 */
    struct world world;
    int members[2];
    char dir[64]; /* the job's: only its name counts */
};

static void hear_bytes(struct scene *s, uint8_t type, const void *bytes, size_t size)
{
    struct client *c = &s->client;

    assert_true(c->count < FRAMES && size <= FRAME_SIZE);
    c->type[c->count] = type;
    memcpy(c->bytes[c->count], bytes, size);
    c->size[c->count++] = (uint32_t)size;
}

static void hear(struct scene *s, uint8_t type, const char *text)
{
    hear_bytes(s, type, text, strlen(text));
}

static int scene_open(void **state)
{
    static struct scene scene;
    struct scene *s = *state = &scene;
    struct fault why;

    memset(s, 0, sizeof(*s));
    assert_int_equal(pipe(s->client.fd), 0);
    snprintf(s->dir, sizeof(s->dir), "/nowhere/events%d", (int)getpid());
    assert_int_equal(coord_events_open(&s->events, &s->client, RANKS, s->dir, &why), 0);
    s->group = calloc(1, sizeof(*s->group));
    assert_non_null(s->group);
    s->members[1] = 1;
    s->group->world = &s->world;
    s->group->id = 7;
    s->group->size = 2;
    s->group->members = s->members;
    s->group->waiting.bell = -1;
    coord_events_add(s->events, s->group);
    return 0;
}

static int scene_close(void **state)
{
    struct scene *s = *state;

    coord_events_remove(s->events, s->group);
    coord_events_close(s->events);
    free(s->group);
    return 0;
}

static void test_invalid(void **state)
{
    struct scene *s = *state;
    struct fault why = {0};

    hear(s, COORD_DEAD, "not JSON");
    hear(s, COORD_DEAD, "{\"rank\":-1}");
    hear(s, COORD_DEAD, "{\"rank\":4}");
    hear(s, COORD_DEAD, "{\"rank\":\"1\"}");
    hear(s, COORD_BROKEN, "{\"group\":7}");
    hear(s, COORD_BROKEN, "{\"group\":8,\"code\":-1,\"text\":\"another group\"}");
    hear(s, COORD_EXCHANGED, "short");
    hear(s, COORD_RELAYED, "{\"group\":8,\"from\":1,\"word\":{}}");
    coord_events_read(s->events, NULL);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(coord_events_peer(s->events, rank, &why), PEER_PRESENT);
    assert_int_equal(coord_events_broken(s->events, s->group, &why), 0);
    assert_int_equal(coord_events_await(s->events, s->group, clock_ms(), &(struct reply){0}, &why),
                     ML_ERR_TIMEOUT);
}

/* The first word about a rank is kept. */
static void test_peers(void **state)
{
    struct scene *s = *state;
    struct fault why = {0};

    hear(s, COORD_DEAD, "{\"rank\":1,\"text\":\"was killed\"}");
    hear(s, COORD_LEFT, "{\"count\":2,\"ranks\":[1,2]}");
    hear(s, COORD_DEAD, "{\"rank\":3,\"text\":\"\"}");
    coord_events_read(s->events, NULL);
    assert_int_equal(coord_events_peer(s->events, 1, &why), PEER_DEAD);
    assert_string_equal(why.text, "rank 1 was killed");
    assert_int_equal(coord_events_peer(s->events, 2, &why), PEER_LEFT);
    assert_string_equal(why.text, "rank 2 has left the job (ml_finalize)");
    assert_int_equal(coord_events_peer(s->events, 3, &why), PEER_DEAD);
    assert_string_equal(why.text, "rank 3 is gone");
    assert_int_equal(coord_events_await(s->events, s->group, -1, &(struct reply){0}, &why),
                     ML_ERR_PEER);
    assert_string_equal(why.text, "rank 1 was killed");
    assert_int_equal(coord_events_await_left(s->events, 2, -1, &why), 0);
}

/* Every error has a code and a sentence, and the first one stays. */
static void test_broken(void **state)
{
    struct scene *s = *state;
    struct fault why = {0};

    hear(s, COORD_BROKEN, "{\"group\":7,\"code\":3,\"text\":\"\"}");
    hear(s, COORD_BROKEN, "{\"group\":7,\"code\":-1,\"text\":\"second\"}");
    hear(s, COORD_FAILED, "{}");
    coord_events_read(s->events, NULL);
    assert_int_equal(coord_events_broken(s->events, s->group, &why), ML_ERR_PEER);
    assert_string_equal(why.text, "the coordinator ended the group and said no reason");
    assert_int_equal(coord_events_await_welcome(s->events, -1, NULL, &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "the coordinator refuses this rank");
}

/* After the end of the connection nothing is read or sent, and every wait ends. */
static void test_lost(void **state)
{
    struct scene *s = *state;
    uint32_t serial = coord_events_serial(s->events);
    struct fault why = {0};
    int polls;

    s->client.is_lost = true;
    coord_events_read(s->events, NULL);
    polls = s->client.polls;
    assert_true(coord_events_serial(s->events) != serial);
    assert_int_equal(coord_events_fd(s->events), -1);
    assert_int_equal(coord_events_broken(s->events, s->group, &why), ML_ERR_PEER);
    assert_string_equal(why.text, "the connection ended");
    assert_int_equal(coord_events_send_bytes(s->events, COORD_LEAVE, "", 0, &why), ML_ERR_PEER);
    assert_int_equal(coord_events_await_left(s->events, 0, -1, &why), ML_ERR_PEER);
    assert_int_equal(s->client.sent, 0);
    assert_int_equal(s->client.polls, polls);
}

/* An answer to an earlier exchange is not taken for this one's. */
static void test_answer(void **state)
{
    struct scene *s = *state;
    static const uint8_t early[] = {0, 0, 0, 7, 0, 0, 0, 1, 'a'};
    static const uint8_t due[] = {0, 0, 0, 7, 0, 0, 0, 2, 'b'};
    struct fault why = {0};
    struct reply reply = {0};

    s->group->exchanges = 2;
    hear_bytes(s, COORD_EXCHANGED, early, sizeof(early));
    assert_int_equal(coord_events_await(s->events, s->group, clock_ms(), &reply, &why),
                     ML_ERR_TIMEOUT);
    hear_bytes(s, COORD_EXCHANGED, due, sizeof(due));
    assert_int_equal(coord_events_await(s->events, s->group, -1, &reply, &why), 0);
    assert_int_equal(reply.size, sizeof(due));
    assert_memory_equal(reply.payload, due, sizeof(due));
    reply_clear(&reply);
}

/* The answer is in a copy that other ranks of this host have, too. */
static void test_copy(void **state)
{
    struct scene *s = *state;
    static const uint8_t due[] = {0, 0, 0, 7, 0, 0, 0, 2, 'b'}, other[] = {0, 0, 0, 9, 0, 0, 0, 2};
    static const uint8_t numbers[][4] = {{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 2}};
    struct fault why = {0};
    struct reply reply = {0};

    s->group->exchanges = 2;
    assert_int_equal(shared_copy_write(s->dir, 0, 1, other, sizeof(other), &why), 0);
    assert_int_equal(shared_copy_write(s->dir, 1, 1, due, sizeof(due), &why), 0);
    hear_bytes(s, COORD_EXCHANGED_COPY, numbers[0], 4); /* for a group that has been freed */
    hear_bytes(s, COORD_EXCHANGED_COPY, numbers[1], 4);
    assert_int_equal(coord_events_await(s->events, s->group, -1, &reply, &why), 0);
    assert_int_equal(reply.size, sizeof(due));
    assert_memory_equal(reply.payload, due, sizeof(due));
    assert_non_null(reply.copy.map);
    reply_clear(&reply);
    hear_bytes(s, COORD_EXCHANGED_COPY, numbers[2], 4); /* there is none */
    s->group->exchanges = 3;
    assert_int_equal(coord_events_await(s->events, s->group, -1, &reply, &why), ML_ERR_PEER);
    assert_non_null(strstr(why.text, ".copy.2: No such file"));
}

static void test_mail(void **state)
{
    struct scene *s = *state;
    int from = -1;
    json_t *word;

    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":1,\"word\":{\"a\":1}}");
    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":0,\"word\":{\"b\":1}}");
    coord_events_read(s->events, NULL);
    word = coord_events_mail(s->events, s->group, &from);
    assert_int_equal(from, 1);
    assert_non_null(json_object_get(word, "a"));
    json_decref(word); /* the second is left to the scene's end */
}

/* What is for the process's door waits there, beside the mail, and is counted. */
static void test_knocks(void **state)
{
    struct scene *s = *state;
    int from = -1, fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct knock k;
    uint64_t count = 0;
    json_t *word;

    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":1,\"word\":{\"meet\":\"0\"}}");
    coord_events_read(s->events, NULL);
    assert_false(coord_events_knock(s->events, &k)); /* there is no door yet */
    word = coord_events_mail(s->events, s->group, &from);
    assert_non_null(word);
    json_decref(word);
    coord_events_knocks(s->events, fd);
    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":1,\"word\":{\"meet\":\"1\"}}");
    hear(s, COORD_RELAYED, "{\"group\":8,\"from\":1,\"word\":{\"meet\":\"2\"}}");
    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":0,\"word\":{\"a\":1}}");
    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":0,\"word\":{\"meet\":\"3\"}}");
    hear(s, COORD_RELAYED, "{\"group\":7,\"from\":0,\"word\":{\"meet\":\"4\"}}");
    coord_events_read(s->events, NULL);
    assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
    assert_int_equal(count, 3);
    assert_true(coord_events_knock(s->events, &k));
    assert_int_equal(k.group, 7);
    assert_int_equal(k.from, 1);
    assert_string_equal(json_string_value(json_object_get(k.word, "meet")), "1");
    json_decref(k.word);
    assert_true(coord_events_knock(s->events, &k));
    assert_int_equal(k.from, 0);
    assert_string_equal(json_string_value(json_object_get(k.word, "meet")), "3");
    json_decref(k.word);
    word = coord_events_mail(s->events, s->group, &from);
    assert_non_null(json_object_get(word, "a"));
    json_decref(word);
    assert_null(coord_events_mail(s->events, s->group, &from)); /* the last is left to the end */
    coord_events_knocks(s->events, -1);
    close(fd);
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

/* Who waits for long, and for what, is in a note as long as that lasts. */
static void test_note(void **state)
{
    char dir[] = "/tmp/coord_events.XXXXXX", path[64];
    struct scene *s = *state;
    struct reply reply = {0};
    struct fault why = {0};

    assert_non_null(mkdtemp(dir));
    s->world.is_launched = true;
    s->world.rank = 1;
    snprintf(s->world.dir, sizeof(s->world.dir), "%s", dir);
    snprintf(path, sizeof(path), "%s/rank.1.waiting.7", dir);
    s->client.note = path;
    s->group->call = (struct call){.seq = 1, .kind = CALL_SPLIT};
    s->group->words.name = "split";
    assert_int_equal(
        coord_events_await(s->events, s->group, clock_ms() + 2 * WAITING_AFTER_MS, &reply, &why),
        ML_ERR_TIMEOUT);
    assert_true(s->client.has_note);
    assert_int_equal(rmdir(dir), 0);
}

/* The same in ml_agree and ml_group_create. */
static void test_note_of_answer(void **state)
{
    char dir[] = "/tmp/coord_events.XXXXXX", path[64];
    struct scene *s = *state;
    struct fault why = {0};
    uint64_t value = 0;

    assert_non_null(mkdtemp(dir));
    s->world.is_launched = true;
    s->world.rank = 1;
    snprintf(s->world.dir, sizeof(s->world.dir), "%s", dir);
    snprintf(path, sizeof(path), "%s/rank.1.waiting.7", dir);
    s->client.note = path;
    s->client.awaits_note = true;
    hear(s, COORD_AGREED, "{\"group\":7,\"value\":5}");
    assert_int_equal(coord_events_await_answer(s->events, s->group, "agree", &value, &why), 0);
    assert_int_equal(value, 5);
    assert_true(s->client.has_note);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_invalid),        SCENE_TEST(test_peers),  SCENE_TEST(test_broken),
        SCENE_TEST(test_lost),           SCENE_TEST(test_answer), SCENE_TEST(test_copy),
        SCENE_TEST(test_mail),           SCENE_TEST(test_knocks), SCENE_TEST(test_note),
        SCENE_TEST(test_note_of_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
