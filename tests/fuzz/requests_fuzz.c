/*
 * tests/fuzz/requests_fuzz.c - any requests, and what a coordinator says to
 * them
 *
 * A request is a byte for its method, one for who asks (a client, a job, a
 * token that may be wrong), one for how much later it comes, two for the length
 * of its body, and the body. All methods, through decoded_request, core and
 * answer. Each is answered once, by the drain at the latest; what is answered
 * with a body is one that the requester can read.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core/cluster.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "service/decoded_request.h"
#include "service/reply_encode.h"
#include "wire/pack.h"

enum {
    REQUESTS_MAX = 64,
    WAIT_MS = 1000,
    LATER_MS = 20,
    DISCONNECT = 0xf0, /* instead of a method */
};

struct desk {
    struct cluster *cluster;
    uint64_t now_ns;
    uint64_t n_requests;
    uint64_t askers[REQUESTS_MAX + 1]; /* by ticket, from 1 on; 0: answered */
    enum method_id methods[REQUESTS_MAX + 1]; /* by ticket */
};

/* The body of a reply is one of the method that was called. */
static void
reply_body_check(enum method_id method, struct pack *pack)
{
    const struct message_descriptor *reply = method_by_id(method)->reply();
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(free) void *message = NULL;
    size_t n_bytes;

    fuzz_require(pack_take(pack, &bytes, &n_bytes) == HOOP_OK);
    fuzz_require(reply != NULL);
    message = calloc(1, reply->n_bytes);
    fuzz_require(message_decode(reply, (struct message_span){bytes, n_bytes},
                                message) == HOOP_OK);
    message_deinit(reply, message);
}

static void
reply_take(struct desk *desk, const struct cluster_reply *reply)
{
    CLEANUP(encoded_roster_deinit) struct encoded_roster roster = {0};
    const struct reply_encode_context context = {.roster = &roster,
                                                 .now_ns = desk->now_ns,
                                                 .serving = 1,
                                                 .version = "0"};
    CLEANUP(pack_deinit) struct pack pack;

    fuzz_require(reply->ticket >= 1 && reply->ticket <= desk->n_requests);
    fuzz_require(desk->askers[reply->ticket]);
    desk->askers[reply->ticket] = 0;
    fuzz_require(reply->status == HOOP_OK || reply->text[0]);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    fuzz_require(reply_encode_body(reply, &context, &pack) == HOOP_OK);
    fuzz_require(pack_status(&pack) == HOOP_OK);
    if (reply->kind != CLUSTER_REPLY_NONE)
        reply_body_check(desk->methods[reply->ticket], &pack);
}

static void
step(struct desk *desk, struct cluster_event *event)
{
    event->now_ns = desk->now_ns;

    const struct cluster_actions actions = cluster_step(desk->cluster, event);

    for (size_t i = 0; i < actions.n_items; i++) {
        if (actions.items[i].kind == CLUSTER_REPLY)
            reply_take(desk, &actions.items[i].reply);
        else if (actions.items[i].kind == CLUSTER_LOG_NOTICE)
            fuzz_require(actions.items[i].notice.text[0]);
    }
    fuzz_require(cluster_next_deadline_ns(desk->cluster) > desk->now_ns);
}

static void
time_pass(struct desk *desk, uint64_t ns)
{
    const uint64_t until_ns = desk->now_ns + ns;
    struct cluster_event tick = {.kind = CLUSTER_TICK};

    while (cluster_next_deadline_ns(desk->cluster) <= until_ns) {
        desk->now_ns = cluster_next_deadline_ns(desk->cluster);
        step(desk, &tick);
    }
    desk->now_ns = until_ns;
}

static void
client_vanish(struct desk *desk, uint64_t client)
{
    struct cluster_event event = {.kind = CLUSTER_DISCONNECT, .client = client};

    for (uint64_t ticket = 1; ticket <= desk->n_requests; ticket++)
        if (desk->askers[ticket] == client)
            desk->askers[ticket] = 0;
    step(desk, &event);
}

static void
request_play(struct desk *desk, struct input *input)
{
    const uint8_t method = input_byte(input);
    const uint8_t who = input_byte(input);
    const uint8_t later = input_byte(input);
    const size_t n_high = input_byte(input);
    const struct input body =
        input_part(input, n_high << 8 | input_byte(input));
    CLEANUP(decoded_request_deinit)
    struct decoded_request decoded_request = {0};
    struct envelope_request envelope = {
        .job = {(char)('a' + (who >> 4 & 3))},
        .body = {body.bytes, body.n_bytes},
    };
    struct cluster_event event = {.token = who & 128 ? "x" : "t"};

    time_pass(desk, later * LATER_MS * CLOCK_NS_PER_MS);
    event.now_ns = desk->now_ns;
    event.deadline_ns = desk->now_ns + WAIT_MS * CLOCK_NS_PER_MS;
    event.client = 1 + who % 8;
    if (method >= DISCONNECT) {
        client_vanish(desk, event.client);
        return;
    }
    if (decoded_request_to_event(&decoded_request,
                                 (enum method_id)(method % METHOD_COUNT),
                                 &envelope, &event) != HOOP_OK)
        return;
    event.ticket = ++desk->n_requests;
    desk->askers[event.ticket] = event.client;
    desk->methods[event.ticket] = (enum method_id)(method % METHOD_COUNT);
    event.join.seed += event.kind == CLUSTER_JOIN ? event.ticket : 0;
    step(desk, &event);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const struct cluster_options options = {.lease_ms = 1000, .settle_ms = 50};
    struct cluster_event drain = {.kind = CLUSTER_DRAIN};
    struct desk desk = {.now_ns = CLOCK_NS_PER_S};
    struct input input = {bytes, n_bytes};

    fuzz_require(cluster_create(&options, &desk.cluster) == HOOP_OK);
    while (input.n_bytes > 0 && desk.n_requests < REQUESTS_MAX)
        request_play(&desk, &input);
    step(&desk, &drain);
    for (uint64_t ticket = 1; ticket <= desk.n_requests; ticket++)
        fuzz_require(!desk.askers[ticket]);
    cluster_destroy(desk.cluster);
    return 0;
}
