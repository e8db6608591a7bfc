/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/wires.h"

#include "common/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    HEADERS = 58, /* bytes of a packet: Ethernet, IPv4, UDP, BTH, ICRC; CRC of the frame */
    FLIGHTS_MOST = 1 << 19, /* some 100 MB; a program that sends without end fills no more */
};

static const int64_t second_ns = 1000000000;

struct flight {
    int64_t due_ns;
    uint64_t order; /* among those that are due at one time */
    struct ports_port *from, *to;
    bool is_lost;
    bool is_error; /* it is lost on the wire that ends at `to` */
    struct fabric_segment segment;
};

struct wires {
    struct ports *ports;
    wires_arrive_fn *on_arrive;
    void *arg;
    uint64_t random;      /* the generator's state */
    uint64_t order;       /* the last one's that was sent */
    struct flight **heap; /* owned; the first is due first */
    int64_t *last_ns;     /* when the last one arrives, from port * port count + to port */
    int count, room;
    int timer;
    int64_t timer_ns; /* when it fires; 0: never */
    struct event *on_time;
};

/* --- the heap --------------------------------------------------------------------------------- */

static bool flight_is_before(const struct flight *a, const struct flight *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void heap_swap(struct flight **a, struct flight **b)
{
    struct flight *kept = *a;

    *a = *b;
    *b = kept;
}

static bool heap_add(struct wires *w, struct flight *f)
{
    int at = w->count;

    if (w->count == w->room) {
        int room = w->room ? 2 * w->room : 64;
        struct flight **more = realloc(w->heap, (size_t)room * sizeof(struct flight *));

        if (!more)
            return false;
        w->heap = more;
        w->room = room;
    }
    w->heap[w->count++] = f;
    for (; at > 0 && flight_is_before(f, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_swap(&w->heap[at], &w->heap[(at - 1) / 2]);
    return true;
}

static struct flight *heap_take(struct wires *w)
{
    struct flight *first = w->heap[0];
    int at = 0;

    w->heap[0] = w->heap[--w->count];
    for (int child = 1; child < w->count; child = 2 * at + 1) {
        if (child + 1 < w->count && flight_is_before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!flight_is_before(w->heap[child], w->heap[at]))
            break;
        heap_swap(&w->heap[at], &w->heap[child]);
        at = child;
    }
    return first;
}

/* --- losses ----------------------------------------------------------------------------------- */

/* The next number from 0 to below 1: splitmix64. */
static double random_next(struct wires *w)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) / (double)(1ULL << 53);
}

/* Whether all packets of a segment come through. No number is used up where nothing can be lost, so
 * that a run with losses on one wire does not depend on what the others carry. */
static bool lane_passes(struct wires *w, const struct ports_lane *lane,
                        const struct fabric_segment *s)
{
    if (lane->longest && s->length > (uint64_t)lane->longest * s->packets)
        return false;
    return lane->loss <= 0 || random_next(w) < pow(1 - lane->loss, s->packets);
}

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t segment_size(const struct fabric_segment *s)
{
    return s->length + (uint64_t)HEADERS * s->packets;
}

/* When the first and the last bit of a segment arrive. */
struct flight_span {
    int64_t begin_ns, end_ns;
};

/* Takes the lane. Its own rate may be slower than that at which the bits come. */
static struct flight_span lane_take(struct ports_lane *lane, struct flight_span comes,
                                    uint64_t size)
{
    int64_t begin = lane->busy_ns > comes.begin_ns ? lane->busy_ns : comes.begin_ns, end;

    /* Nothing waits here for a segment that comes later, from a port with a longer delay. */
    if (!lane->rate)
        return (struct flight_span){comes.begin_ns + lane->delay_ns, comes.end_ns + lane->delay_ns};
    end = begin + (int64_t)(size * 8 * (uint64_t)second_ns / lane->rate);
    if (end < comes.end_ns)
        end = comes.end_ns;
    lane->busy_ns = end;
    return (struct flight_span){begin + lane->delay_ns, end + lane->delay_ns};
}

static void timer_set(struct wires *w)
{
    /* 0 would stop the timer, as it should where nothing is on its way. */
    int64_t due = w->count == 0 ? 0 : w->heap[0]->due_ns > 0 ? w->heap[0]->due_ns : 1;
    struct itimerspec at = {.it_value = {(time_t)(due / second_ns), (long)(due % second_ns)}};

    if (due != w->timer_ns)
        timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &at, NULL);
    w->timer_ns = due;
}

/* --- arrivals --------------------------------------------------------------------------------- */

static void flight_count(const struct flight *f)
{
    struct ports_counters *c = &f->to->counters;

    if (f->is_error) {
        c->errors += f->segment.packets;
    } else if (!f->is_lost) {
        c->received_packets += f->segment.packets;
        c->received_bytes += segment_size(&f->segment);
    }
    f->to->is_counted = true;
}

static void flight_end(struct wires *w, struct flight *f)
{
    bool passes = f->to && ports_can_pass(f->from, f->to);

    if (passes)
        flight_count(f);
    w->on_arrive(w->arg, &f->segment, passes && !f->is_lost ? f->to : NULL);
    free(f);
}

/* Ends what is due. What is due later waits for the timer. */
static void flights_end(struct wires *w)
{
    while (w->count > 0 && w->heap[0]->due_ns <= clock_ns())
        flight_end(w, heap_take(w));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct wires *w = arg;
    uint64_t times;

    (void)what;
    /* Without anything to read, it was set again after it had fired. */
    if (read(fd, &times, sizeof(times)) == sizeof(times))
        w->timer_ns = 0;
    flights_end(w);
    timer_set(w);
}

/* --- departures ------------------------------------------------------------------------------- */

/* When the segment arrives, or its sender's time-outs may begin; also decides what is lost. */
static int64_t flight_plan(struct wires *w, struct flight *f, int64_t now)
{
    const struct fabric_segment *s = &f->segment;
    struct flight_span span = {now, now};

    if (f->from == f->to)
        return now;
    if (!ports_can_send(f->from))
        return now + f->from->out.delay_ns;
    span = lane_take(&f->from->out, span, segment_size(s));
    f->is_lost = !lane_passes(w, &f->from->out, s);
    f->is_error = f->is_lost && f->from->other;
    if (f->to && !f->is_lost) {
        span = lane_take(&f->to->in, span, segment_size(s));
        f->is_lost = f->is_error = !lane_passes(w, &f->to->in, s);
    }
    return span.end_ns;
}

static void departure_count(const struct flight *f)
{
    struct ports_counters *c = &f->from->counters;

    if (!ports_can_send(f->from)) {
        c->discards += f->segment.packets;
    } else {
        c->sent_packets += f->segment.packets;
        c->sent_bytes += segment_size(&f->segment);
    }
    f->from->is_counted = true;
}

/* Keeps the order also where a delay has become shorter. */
static void order_keep(struct wires *w, struct flight *f)
{
    int64_t *last;

    if (!f->to)
        return;
    last = &w->last_ns[f->from->index * w->ports->port_count + f->to->index];
    if (f->due_ns < *last)
        f->due_ns = *last;
    *last = f->due_ns;
}

void wires_send(struct wires *w, struct ports_port *from, const struct fabric_segment *s)
{
    struct flight *f = w->count < FLIGHTS_MOST ? calloc(1, sizeof(*f)) : NULL;

    if (!f) {
        w->on_arrive(w->arg, s, NULL);
        return;
    }
    f->segment = *s;
    f->from = from;
    f->to = ports_route(w->ports, from, &s->to, s->to_lid);
    f->order = ++w->order;
    f->due_ns = flight_plan(w, f, clock_ns());
    departure_count(f);
    order_keep(w, f);
    if (!heap_add(w, f)) {
        free(f);
        w->on_arrive(w->arg, s, NULL);
        return;
    }
    flights_end(w);
    timer_set(w);
}

/* --- open and close --------------------------------------------------------------------------- */

int wires_open(struct wires **out, struct event_base *base, struct ports *ports, int64_t seed,
               wires_arrive_fn *on_arrive, void *arg, struct fault *why)
{
    struct wires *w = calloc(1, sizeof(*w));
    size_t pairs = (size_t)ports->port_count * (size_t)ports->port_count;
    int rc = 0;

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    w->ports = ports;
    w->on_arrive = on_arrive;
    w->arg = arg;
    w->random = (uint64_t)seed;
    w->last_ns = calloc(pairs, sizeof(*w->last_ns));
    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (w->timer < 0)
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a timer");
    else
        w->on_time = event_new(base, w->timer, EV_READ | EV_PERSIST, on_timer, w);
    if (!rc && (!w->last_ns || !w->on_time || event_add(w->on_time, NULL)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        wires_close(w);
    else
        *out = w;
    return rc;
}

void wires_close(struct wires *w)
{
    if (!w)
        return;
    if (w->on_time)
        event_free(w->on_time);
    if (w->timer >= 0)
        close(w->timer);
    for (int i = 0; i < w->count; i++)
        free(w->heap[i]);
    free(w->heap);
    free(w->last_ns);
    free(w);
}
