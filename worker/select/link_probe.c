/*
 * select/link_probe.c - measures the cost of messages at join, by sending a few
 */

#include "select/link_probe.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

enum {
    SMALL_PROBE_BYTES = 8,
    SMALL_PROBE_REPETITIONS = 10,
    LARGE_PROBE_REPETITIONS = 6,
};

/* The total time of consecutive messages: about three large ones at 1
 * Gbit/s. */
static const double BURST_TOTAL_MAX_NS = 12e6;
/* A message that takes less than this fraction of the time of the one before
 * shows that messages still get faster. */
static const double BURST_SPEEDUP_RATIO = 0.75;

struct plausible_range {
    double min;
    double max;
};

/* Plausible ranges of the time in one direction and of the time per byte. A
 * value outside them was caused by something else. */
static const struct plausible_range latency_range_inside_node = {3e2, 6e4};
static const struct plausible_range latency_range_between_nodes = {5e3, 5e7};
static const struct plausible_range byte_ns_range_inside_node = {0.05, 1};
static const struct plausible_range byte_ns_range_between_nodes = {0.05, 1000};

/* The fractions of a message's time in one direction that pass on each of the
 * two processors, and that a waiting rank takes from the others. If ranks share
 * processors, most of the time is for waking up. */
struct time_fractions {
    double overhead;
    double wait;
};

static const struct time_fractions time_fractions_one_per_core = {.overhead =
                                                                      0.25,
                                                                  .wait = 0.4};
static const struct time_fractions time_fractions_oversubscribed = {
    .overhead = 0.2,
    .wait = 0.2};
/* Through shared memory, where a message needs no system call. */
static const struct time_fractions time_fractions_shm = {.overhead = 0.05,
                                                         .wait = 0.05};

/* If a message took less than AWAKE_MESSAGE_MAX_NS, nobody had to be woken:
 * both ends were awake, and shared memory carried the message. If ranks
 * share processors, most of them will sleep: a message then also takes the
 * time to wake its receiver and to switch to it. */
static const double AWAKE_MESSAGE_MAX_NS = 4000;
static const double THREAD_WAKEUP_NS = 6500;
static const double CONTEXT_SWITCH_NS = 1000;

/* Rounds to powers of 4/3 times the minimum, within the plausible range. */
static double
round_and_clamp_to_range(double value, struct plausible_range plausible_range)
{
    double rounded = plausible_range.min;

    while (rounded * 7 / 6 < value && rounded < plausible_range.max)
        rounded *= 4.0 / 3;
    return rounded;
}

static double
one_way_ns(const struct link_probe_times *times,
           struct plausible_range plausible_range)
{
    return round_and_clamp_to_range(times->small_ns / 2, plausible_range);
}

/* n_ways is how many large messages are sent until the answer has arrived. */
static double
byte_cost_ns(const struct link_probe_times *times,
             unsigned n_ways,
             struct plausible_range plausible_range)
{
    const double more_bytes = LINK_PROBE_LARGE_BYTES - LINK_PROBE_MEDIUM_BYTES;

    return round_and_clamp_to_range((times->large_ns - times->medium_ns) /
                                        n_ways / more_bytes,
                                    plausible_range);
}

double
link_probe_best_ns(const double *times_ns, unsigned n_times)
{
    double best_ns = times_ns[n_times - 1];

    for (unsigned i = n_times / 2; i < n_times; i++)
        best_ns = times_ns[i] < best_ns ? times_ns[i] : best_ns;
    return best_ns;
}

bool
link_probe_needs_more(const double *times_ns, unsigned n_times)
{
    double sum_ns = 0;

    if (n_times < 2)
        return true;
    if (n_times == LINK_PROBE_LARGE_MESSAGES_MAX)
        return false;
    for (unsigned i = 0; i < n_times; i++)
        sum_ns += times_ns[i];
    return sum_ns < BURST_TOTAL_MAX_NS ||
           times_ns[n_times - 1] < BURST_SPEEDUP_RATIO * times_ns[n_times - 2];
}

static void
machine_set_message_costs(const struct link_probe_times *times,
                          bool is_oversubscribed,
                          struct simulation_machine *machine)
{
    const double way_ns = one_way_ns(times, latency_range_inside_node);
    const bool is_asleep = is_oversubscribed && way_ns < AWAKE_MESSAGE_MAX_NS;
    const struct time_fractions crowded =
        times->is_memory ? time_fractions_shm : time_fractions_oversubscribed;
    const struct time_fractions time_fractions =
        is_oversubscribed && !is_asleep ? crowded : time_fractions_one_per_core;

    machine->send_ns = time_fractions.overhead * way_ns;
    machine->receive_ns =
        machine->send_ns + (is_asleep ? CONTEXT_SWITCH_NS : 0);
    machine->wait_ns =
        is_asleep ? CONTEXT_SWITCH_NS : time_fractions.wait * way_ns;
    machine->latency_inside_ns =
        is_asleep ? THREAD_WAKEUP_NS
                  : way_ns * (1 - 2 * time_fractions.overhead);
}

void
link_probe_apply_times(const struct link_probe_times *inside,
                       const struct link_probe_times *between,
                       uint32_t n_inside,
                       struct simulation_machine *machine)
{
    if (inside) {
        machine_set_message_costs(inside, n_inside > machine->n_processors,
                                  machine);
        machine->send_byte_ns =
            byte_cost_ns(inside, 2, byte_ns_range_inside_node);
        machine->receive_byte_ns = machine->send_byte_ns;
    }
    if (between) {
        const double way_ns = one_way_ns(between, latency_range_between_nodes);
        const double rest_ns = way_ns - 2 * machine->send_ns;

        /* The processor time is known from the first probe_partner, or is the
         * typical one. */
        machine->latency_between_ns =
            rest_ns > way_ns / 4 ? rest_ns : way_ns / 4;
        machine->link_between_ns =
            byte_cost_ns(between, 1, byte_ns_range_between_nodes);
    }
}

static struct engine_message
probe_message_request(enum call_name name,
                      uint32_t peer,
                      void *bytes,
                      size_t n_bytes)
{
    return (struct engine_message){
        .call = {.name = name,
                 .dtype = HOOP_UINT8,
                 .root = peer,
                 .count = n_bytes},
        .tag = CALL_TAG_LIBRARY_INTERNAL,
        .peer = peer,
        .bytes = bytes,
        .mode = ENGINE_START_AND_WAIT,
    };
}

static enum hoop_status
probe_message_start_and_wait(struct comm_context *context,
                             const struct engine_message *message)
{
    struct op *op = NULL;

    enum hoop_status status = engine_start_messages(context, message, 1, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Where messages go, and the buffer for them. */
struct probe_partner {
    struct comm_context *context;
    uint32_t peer;
    uint8_t *bytes; /* of LINK_PROBE_LARGE_BYTES */
};

/* Fills bytes with data that no codec compresses; n_bytes is a multiple of
 * 8. */
static void
fill_with_noise(uint8_t *bytes, size_t n_bytes)
{
    uint64_t noise = 1;

    for (size_t i = 0; i < n_bytes; i += sizeof(noise)) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        memcpy(bytes + i, &noise, sizeof(noise));
    }
}

/* Measures the time of a message and its answer. */
static enum hoop_status
probe_exchange_measure(const struct probe_partner *probe_partner,
                       size_t n_there,
                       size_t n_back,
                       double *out_ns)
{
    const struct engine_message there = probe_message_request(
        CALL_SEND, probe_partner->peer, probe_partner->bytes, n_there);
    const struct engine_message back = probe_message_request(
        CALL_RECV, probe_partner->peer, probe_partner->bytes, n_back);
    const uint64_t begin_ns = clock_now_ns();

    enum hoop_status status =
        probe_message_start_and_wait(probe_partner->context, &there);
    if (status == HOOP_OK)
        status = probe_message_start_and_wait(probe_partner->context, &back);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_ns = (double)(clock_now_ns() - begin_ns);
    return HOOP_OK;
}

/* Measures the best of n_times exchanges. */
static enum hoop_status
exchange_measure_best(const struct probe_partner *probe_partner,
                      unsigned n_times,
                      size_t n_there,
                      size_t n_back,
                      double *out_best_ns)
{
    double best_ns = 0;

    for (unsigned i = 0; i < n_times; i++) {
        double ns = 0;
        const enum hoop_status status =
            probe_exchange_measure(probe_partner, n_there, n_back, &ns);

        if (status != HOOP_OK)
            return error_pass(status);
        best_ns = i == 0 || ns < best_ns ? ns : best_ns;
    }
    *out_best_ns = best_ns;
    return HOOP_OK;
}

static enum hoop_status
inside_link_measure(const struct probe_partner *probe_partner,
                    struct link_probe_times *out_times)
{
    enum hoop_status status = exchange_measure_best(
        probe_partner, SMALL_PROBE_REPETITIONS, SMALL_PROBE_BYTES,
        SMALL_PROBE_BYTES, &out_times->small_ns);
    if (status == HOOP_OK)
        status = exchange_measure_best(
            probe_partner, LARGE_PROBE_REPETITIONS, LINK_PROBE_MEDIUM_BYTES,
            LINK_PROBE_MEDIUM_BYTES, &out_times->medium_ns);
    if (status == HOOP_OK)
        status = exchange_measure_best(
            probe_partner, LARGE_PROBE_REPETITIONS, LINK_PROBE_LARGE_BYTES,
            LINK_PROBE_LARGE_BYTES, &out_times->large_ns);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Those of medium size come last, when the link has used up its burst
 * allowance. */
static enum hoop_status
between_link_measure(const struct probe_partner *probe_partner,
                     struct link_probe_times *out_times)
{
    double burst_ns[LINK_PROBE_LARGE_MESSAGES_MAX];
    unsigned n_times = 0;

    enum hoop_status status = exchange_measure_best(
        probe_partner, SMALL_PROBE_REPETITIONS, SMALL_PROBE_BYTES,
        SMALL_PROBE_BYTES, &out_times->small_ns);
    while (status == HOOP_OK && link_probe_needs_more(burst_ns, n_times))
        status =
            probe_exchange_measure(probe_partner, LINK_PROBE_LARGE_BYTES,
                                   SMALL_PROBE_BYTES, &burst_ns[n_times++]);
    if (status == HOOP_OK)
        status = exchange_measure_best(
            probe_partner, LARGE_PROBE_REPETITIONS, LINK_PROBE_MEDIUM_BYTES,
            SMALL_PROBE_BYTES, &out_times->medium_ns);
    if (status != HOOP_OK)
        return error_pass(status);
    out_times->large_ns = link_probe_best_ns(burst_ns, n_times);
    return HOOP_OK;
}

/* Answers each message with one of the same size, at most n_max bytes, until an
 * empty one arrives. */
static enum hoop_status
answer_probes(struct comm_context *context, uint8_t *bytes, size_t n_max)
{
    struct hoop_received received = {0, 1};

    while (received.count > 0) {
        struct engine_message request =
            probe_message_request(CALL_RECV, 0, bytes, LINK_PROBE_LARGE_BYTES);

        request.received = &received;
        enum hoop_status status =
            probe_message_start_and_wait(context, &request);
        const struct engine_message answer = probe_message_request(
            CALL_SEND, 0, bytes,
            received.count < n_max ? received.count : n_max);
        if (status == HOOP_OK && received.count > 0)
            status = probe_message_start_and_wait(context, &answer);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* One rank of rank 0's node, and one of the next node; 0: there is none. */
struct probe_partners {
    uint32_t inside;
    uint32_t between;
    uint32_t n_inside; /* ranks on rank 0's node */
};

static struct probe_partners
probe_partners_of_nodes(const struct plan_nodes *nodes)
{
    struct probe_partners probe_partners = {.n_inside =
                                                plan_nodes_node_size(nodes, 0)};

    if (probe_partners.n_inside > 1)
        probe_partners.inside = plan_nodes_member_rank(nodes, 0, 1);
    if (nodes->n_nodes > 1)
        probe_partners.between = plan_nodes_member_rank(nodes, 1, 0);
    return probe_partners;
}

static enum hoop_status
probe_partner_measure(
    const struct probe_partner *probe_partner,
    enum hoop_status (*measure)(const struct probe_partner *probe_partner,
                                struct link_probe_times *out_times),
    enum link_probe_role part,
    struct link_probe_times *out_times)
{
    const struct engine_message end = probe_message_request(
        CALL_SEND, probe_partner->peer, probe_partner->bytes, 0);
    enum hoop_status status = HOOP_OK;

    if (probe_partner->peer == 0)
        return HOOP_OK;
    if (part != LINK_PROBE_SKIPS)
        status = measure(probe_partner, out_times);
    if (status == HOOP_OK)
        status = probe_message_start_and_wait(probe_partner->context, &end);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Runs on rank 0. */
static enum hoop_status
probe_partners_measure(struct comm_context *context,
                       const struct probe_partners *probe_partners,
                       enum link_probe_role part,
                       uint8_t *bytes,
                       struct simulation_machine *machine)
{
    const struct probe_partner near = {context, probe_partners->inside, bytes};
    const struct probe_partner far = {context, probe_partners->between, bytes};
    struct link_probe_times inside = {0};
    struct link_probe_times between = {0};

    enum hoop_status status =
        probe_partner_measure(&near, inside_link_measure, part, &inside);
    if (status == HOOP_OK)
        status =
            probe_partner_measure(&far, between_link_measure, part, &between);
    if (status != HOOP_OK)
        return error_pass(status);
    if (part == LINK_PROBE_SKIPS)
        return HOOP_OK;
    inside.is_memory = part == LINK_PROBE_MEASURES_SHM;
    link_probe_apply_times(probe_partners->inside > 0 ? &inside : NULL,
                           probe_partners->between > 0 ? &between : NULL,
                           probe_partners->n_inside, machine);
    log_debug("tune",
              "measured: a message inside a node %.1f us, between %.1f us; a "
              "byte for a processor %.3f ns, between nodes %.3f ns",
              machine->latency_inside_ns / 1e3,
              machine->latency_between_ns / 1e3, machine->send_byte_ns,
              machine->link_between_ns);
    return HOOP_OK;
}

enum hoop_status
link_probe_run(struct comm_context *context,
               const struct plan_nodes *nodes,
               enum link_probe_role part,
               struct simulation_machine *machine)
{
    const struct probe_partners probe_partners = probe_partners_of_nodes(nodes);
    const uint32_t rank = context_rank(context);
    CLEANUP(free) uint8_t *bytes = NULL;

    if (nodes->n_ranks == 1 || (rank > 0 && rank != probe_partners.inside &&
                                rank != probe_partners.between))
        return HOOP_OK;
    bytes = calloc(1, LINK_PROBE_LARGE_BYTES);
    if (!bytes)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to measure with");
    if (rank == 0)
        fill_with_noise(bytes, LINK_PROBE_LARGE_BYTES);
    const enum hoop_status status =
        rank == 0 ? probe_partners_measure(context, &probe_partners, part,
                                           bytes, machine)
                  : answer_probes(context, bytes,
                                  rank == probe_partners.between
                                      ? SMALL_PROBE_BYTES
                                      : LINK_PROBE_LARGE_BYTES);
    if (status != HOOP_OK)
        return error_raise(status, "measuring what messages cost: %s",
                           error_text());
    return HOOP_OK;
}
