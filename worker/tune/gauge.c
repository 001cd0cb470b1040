/* tune/gauge.c - what messages cost here: a few are sent, at join */

#include "tune/gauge.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

enum {
    SMALL_BYTES = 8,
    SMALL_TIMES = 10,
    LARGE_TIMES = 6,
};

struct range {
    double min;
    double max;
};

/* One way, and for a byte; beyond them, something else was measured. */
static const struct range way_inside_ns = {3e2, 6e4};
static const struct range way_between_ns = {5e3, 5e7};
static const struct range byte_inside_ns = {0.05, 1};
static const struct range byte_between_ns = {0.05, 1000};

/* Of a message's way, what passes on each of the two processors, and what a rank
 * that waits takes from others. Where ranks share processors, most of the way is
 * waking up. */
struct parts {
    double overhead;
    double wait;
};

static const struct parts parts_alone = {.overhead = 0.25, .wait = 0.4};
static const struct parts parts_crowded = {.overhead = 0.2, .wait = 0.2};
/* Through memory, where no system call is made for a message. */
static const struct parts parts_memory = {.overhead = 0.05, .wait = 0.05};

/* A way that is shorter than this nobody had to be woken for: both ends were
 * awake, and memory carried the message. Where ranks share processors most will
 * sleep: on the way comes a wake-up, and whom it reaches is switched to, as
 * somebody else had been before. */
static const double AWAKE_NS = 4000;
static const double WAKE_NS = 6500;
static const double SWITCH_NS = 1000;

/* To powers of 4/3, within the range. */
static double
round_to(double value, struct range range)
{
    double rounded = range.min;

    while (rounded * 7 / 6 < value && rounded < range.max)
        rounded *= 4.0 / 3;
    return rounded;
}

static double
way_of(const struct gauge_times *times, struct range range)
{
    return round_to(times->small_ns / 2, range);
}

static double
byte_of(const struct gauge_times *times, struct range range)
{
    const double more_bytes = GAUGE_LARGE_BYTES - GAUGE_MEDIUM_BYTES;

    return round_to((times->large_ns - times->medium_ns) / 2 / more_bytes,
                    range);
}

static void
messages_apply(const struct gauge_times *times,
               bool is_crowded,
               struct simulation_machine *machine)
{
    const double way_ns = way_of(times, way_inside_ns);
    const bool is_asleep = is_crowded && way_ns < AWAKE_NS;
    const struct parts crowded =
        times->is_memory ? parts_memory : parts_crowded;
    const struct parts parts = is_crowded && !is_asleep ? crowded : parts_alone;

    machine->send_ns = parts.overhead * way_ns;
    machine->receive_ns = machine->send_ns + (is_asleep ? SWITCH_NS : 0);
    machine->wait_ns = is_asleep ? SWITCH_NS : parts.wait * way_ns;
    machine->latency_inside_ns =
        is_asleep ? WAKE_NS : way_ns * (1 - 2 * parts.overhead);
}

void
gauge_apply(const struct gauge_times *inside,
            const struct gauge_times *between,
            uint32_t n_inside,
            struct simulation_machine *machine)
{
    if (inside) {
        messages_apply(inside, n_inside > machine->n_processors, machine);
        machine->send_byte_ns = byte_of(inside, byte_inside_ns);
        machine->receive_byte_ns = machine->send_byte_ns;
    }
    if (between) {
        const double way_ns = way_of(between, way_between_ns);
        const double rest_ns = way_ns - 2 * machine->send_ns;

        /* What it costs the processors is known by now, or usual. */
        machine->latency_between_ns =
            rest_ns > way_ns / 4 ? rest_ns : way_ns / 4;
        machine->link_between_ns = byte_of(between, byte_between_ns);
    }
}

static struct engine_message
message_of(enum call_name name, uint32_t peer, void *bytes, size_t n_bytes)
{
    return (struct engine_message){
        .call = {.name = name,
                 .dtype = HOOP_UINT8,
                 .root = peer,
                 .count = n_bytes},
        .tag = CALL_TAG_OWN,
        .peer = peer,
        .bytes = bytes,
        .mode = ENGINE_START_AND_WAIT,
    };
}

static enum hoop_status
message_run(struct channel *channel, const struct engine_message *message)
{
    struct op *op = NULL;

    enum hoop_status status = engine_start_messages(channel, message, 1, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* There and back; less in *best_ns, if it took less. */
static enum hoop_status
exchange(struct channel *channel,
         uint32_t peer,
         uint8_t *bytes,
         size_t n_bytes,
         double *best_ns)
{
    const struct engine_message there =
        message_of(CALL_SEND, peer, bytes, n_bytes);
    const struct engine_message back =
        message_of(CALL_RECV, peer, bytes, n_bytes);
    const uint64_t begin_ns = clock_now_ns();

    enum hoop_status status = message_run(channel, &there);
    if (status == HOOP_OK)
        status = message_run(channel, &back);
    if (status != HOOP_OK)
        return error_pass(status);
    const double ns = (double)(clock_now_ns() - begin_ns);
    if (*best_ns <= 0 || ns < *best_ns)
        *best_ns = ns;
    return HOOP_OK;
}

static enum hoop_status
peer_measure(struct channel *channel,
             uint32_t peer,
             uint8_t *bytes,
             struct gauge_times *out_times)
{
    struct gauge_times times = {0, 0, 0, false};
    enum hoop_status status = HOOP_OK;

    for (unsigned i = 0; i < SMALL_TIMES && status == HOOP_OK; i++)
        status = exchange(channel, peer, bytes, SMALL_BYTES, &times.small_ns);
    for (unsigned i = 0; i < LARGE_TIMES && status == HOOP_OK; i++)
        status = exchange(channel, peer, bytes, GAUGE_MEDIUM_BYTES,
                          &times.medium_ns);
    for (unsigned i = 0; i < LARGE_TIMES && status == HOOP_OK; i++)
        status =
            exchange(channel, peer, bytes, GAUGE_LARGE_BYTES, &times.large_ns);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_times = times;
    return HOOP_OK;
}

/* Send everything back, until nothing comes. */
static enum hoop_status
echo(struct channel *channel, uint8_t *bytes)
{
    struct hoop_received received = {0, 1};

    while (received.count > 0) {
        struct engine_message request =
            message_of(CALL_RECV, 0, bytes, GAUGE_LARGE_BYTES);

        request.received = &received;
        enum hoop_status status = message_run(channel, &request);
        const struct engine_message answer =
            message_of(CALL_SEND, 0, bytes, received.count);
        if (status == HOOP_OK && received.count > 0)
            status = message_run(channel, &answer);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* One of rank 0's node, one of the next node; 0: there is none. */
struct partners {
    uint32_t inside;
    uint32_t between;
    uint32_t n_inside; /* ranks of rank 0's node */
};

static struct partners
partners_of(const struct plan_nodes *nodes)
{
    struct partners partners = {.n_inside = plan_nodes_size(nodes, 0)};

    if (partners.n_inside > 1)
        partners.inside = plan_nodes_rank(nodes, 0, 1);
    if (nodes->n_nodes > 1)
        partners.between = plan_nodes_rank(nodes, 1, 0);
    return partners;
}

static enum hoop_status
partner_measure(struct channel *channel,
                uint32_t peer,
                enum gauge_part part,
                uint8_t *bytes,
                struct gauge_times *out_times)
{
    const struct engine_message end = message_of(CALL_SEND, peer, bytes, 0);
    enum hoop_status status = HOOP_OK;

    if (peer == 0)
        return HOOP_OK;
    if (part != GAUGE_DECLINES)
        status = peer_measure(channel, peer, bytes, out_times);
    if (status == HOOP_OK)
        status = message_run(channel, &end);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Rank 0's part. */
static enum hoop_status
partners_measure(struct channel *channel,
                 const struct partners *partners,
                 enum gauge_part part,
                 uint8_t *bytes,
                 struct simulation_machine *machine)
{
    struct gauge_times inside;
    struct gauge_times between;

    enum hoop_status status =
        partner_measure(channel, partners->inside, part, bytes, &inside);
    if (status == HOOP_OK)
        status =
            partner_measure(channel, partners->between, part, bytes, &between);
    if (status != HOOP_OK)
        return error_pass(status);
    if (part == GAUGE_DECLINES)
        return HOOP_OK;
    inside.is_memory = part == GAUGE_MEASURES_MEMORY;
    gauge_apply(partners->inside > 0 ? &inside : NULL,
                partners->between > 0 ? &between : NULL, partners->n_inside,
                machine);
    log_debug("tune",
              "measured: a message inside a node %.1f us, between %.1f us; a "
              "byte for a processor %.3f ns, between nodes %.3f ns",
              machine->latency_inside_ns / 1e3,
              machine->latency_between_ns / 1e3, machine->send_byte_ns,
              machine->link_between_ns);
    return HOOP_OK;
}

enum hoop_status
gauge_run(struct channel *channel,
          const struct plan_nodes *nodes,
          enum gauge_part part,
          struct simulation_machine *machine)
{
    const struct partners partners = partners_of(nodes);
    const uint32_t rank = channel_rank(channel);
    CLEANUP(free) uint8_t *bytes = NULL;

    if (nodes->n_ranks == 1 ||
        (rank > 0 && rank != partners.inside && rank != partners.between))
        return HOOP_OK;
    bytes = calloc(1, GAUGE_LARGE_BYTES);
    if (!bytes)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to measure with");
    const enum hoop_status status =
        rank == 0 ? partners_measure(channel, &partners, part, bytes, machine)
                  : echo(channel, bytes);
    if (status != HOOP_OK)
        return error_raise(status, "measuring what messages cost: %s",
                           error_text());
    return HOOP_OK;
}
