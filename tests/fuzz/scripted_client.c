/* tests/fuzz/scripted_client.c - rpc/rpc_client.h, answered by a script */

#include "fuzz/scripted_client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "fuzz/virtual_loop.h"
#include "rpc/envelope.h"

enum {
    DELAY_MASK = 63, /* of a reply's first byte */
    CHOICE_SHIFT = 6,
    LENGTH_BYTES = 2,
};

struct waiting {
    TAILQ_ENTRY(waiting) link;
    struct rpc_call call; /* its body is not kept */
    uint64_t id;
    uint64_t deadline_ns;
};

TAILQ_HEAD(waiting_list, waiting);

struct rpc_client {
    struct loop *loop;
    struct loop_timer *timer; /* of the next answer */
    struct waiting_list waiting;
    unsigned n_waiting;
    uint64_t id;
    bool is_away;
};

static struct input script;
static unsigned n_waiting_all;

void
scripted_client_set(struct input given)
{
    script = given;
    n_waiting_all = 0;
}

unsigned
scripted_client_n_waiting(void)
{
    return n_waiting_all;
}

/* The next reply: HOOP_OK, HOOP_E_DATA_LOSS, HOOP_E_UNIMPLEMENTED. */
static enum hoop_status
reply_take(struct envelope_reply *out_reply)
{
    size_t n_bytes = input_byte(&script);

    n_bytes |= (size_t)input_byte(&script) << 8;
    const struct input part = input_part(&script, n_bytes);
    return envelope_reply_decode(
        (struct message_span){part.bytes, part.n_bytes}, out_reply);
}

static void
waiting_remove(struct rpc_client *client, struct waiting *waiting)
{
    TAILQ_REMOVE(&client->waiting, waiting, link);
    client->n_waiting--;
    n_waiting_all--;
    free(waiting);
}

static void
waiting_answer(struct rpc_client *client,
               struct waiting *waiting,
               const struct rpc_answer *answer)
{
    const struct rpc_call call = waiting->call;

    waiting_remove(client, waiting);
    call.on_answer(call.owner, answer);
}

/* Where the script is at its end, when the first call's time is up. */
static void
timer_set(struct rpc_client *client)
{
    const struct waiting *waiting;
    uint64_t first_ns = CLOCK_NEVER;

    TAILQ_FOREACH(waiting, &client->waiting, link)
    {
        if (waiting->deadline_ns < first_ns)
            first_ns = waiting->deadline_ns;
    }
    loop_timer_stop(client->timer);
    if (TAILQ_EMPTY(&client->waiting))
        return;
    const uint64_t left_ms = (uint64_t)clock_left_ms(first_ns);
    const uint64_t delay_ms =
        script.n_bytes > 0 ? script.bytes[0] & DELAY_MASK : left_ms;
    loop_timer_start(client->timer, delay_ms < left_ms ? delay_ms : left_ms);
}

/* False: nobody's time is up. */
static bool
timeout_answer(struct rpc_client *client)
{
    struct waiting *waiting;

    TAILQ_FOREACH(waiting, &client->waiting, link)
    {
        if (!clock_is_past(waiting->deadline_ns))
            continue;
        waiting_answer(client, waiting,
                       &(struct rpc_answer){.status = HOOP_E_TIMEOUT,
                                            .message = "no answer in time"});
        return true;
    }
    return false;
}

static void
on_timer(void *owner)
{
    struct rpc_client *client = owner;
    struct envelope_reply reply;

    if (!timeout_answer(client) && script.n_bytes > 0) {
        unsigned choice = input_byte(&script) >> CHOICE_SHIFT;
        struct waiting *waiting = TAILQ_FIRST(&client->waiting);
        const enum hoop_status status = reply_take(&reply);

        client->is_away = status != HOOP_OK;
        for (; choice > 0 && TAILQ_NEXT(waiting, link); choice--)
            waiting = TAILQ_NEXT(waiting, link);
        if (status == HOOP_OK)
            waiting_answer(client, waiting,
                           &(struct rpc_answer){.status = reply.status,
                                                .message = reply.message,
                                                .body = reply.body});
        if (status == HOOP_E_UNIMPLEMENTED)
            rpc_client_finish_all_calls(
                client,
                &(struct rpc_answer){.status = HOOP_E_UNIMPLEMENTED,
                                     .message = "it speaks another version"});
    }
    timer_set(client);
}

enum hoop_status
rpc_client_create(const struct rpc_client_options *options,
                  struct rpc_client **out_client)
{
    struct rpc_client *client = calloc(1, sizeof(*client));

    fuzz_require(client);
    client->loop = options->loop;
    TAILQ_INIT(&client->waiting);
    (void)loop_timer_create(client->loop, on_timer, client, &client->timer);
    *out_client = client;
    return HOOP_OK;
}

void
rpc_client_set_job(struct rpc_client *client, const char *job)
{
    (void)client;
    fuzz_require(strlen(job) < LIMIT_NAME);
}

void
rpc_client_destroy(struct rpc_client *client)
{
    if (!client)
        return;
    rpc_client_finish_all_calls(
        client,
        &(struct rpc_answer){.status = HOOP_E_CANCELLED, .message = ""});
    loop_timer_destroy(client->timer);
    free(client);
}

enum hoop_status
rpc_client_call(struct rpc_client *client,
                const struct rpc_call *call,
                uint64_t *out_id)
{
    if (client->n_waiting == LIMIT_RPC_CALLS)
        return error_raise(HOOP_E_EXHAUSTED, "too many calls wait");
    struct waiting *waiting = calloc(1, sizeof(*waiting));

    fuzz_require(waiting && call->on_answer && call->timeout_ms > 0);
    waiting->call = *call;
    waiting->id = ++client->id;
    waiting->deadline_ns = clock_deadline_ns(call->timeout_ms);
    TAILQ_INSERT_TAIL(&client->waiting, waiting, link);
    client->n_waiting++;
    n_waiting_all++;
    if (out_id)
        *out_id = waiting->id;
    timer_set(client);
    return HOOP_OK;
}

bool
rpc_client_is_disconnected(const struct rpc_client *client)
{
    return client->is_away;
}

/* Who asks hears it without being told. */
void
rpc_client_watch_connection(struct rpc_client *client,
                            void (*fn)(void *owner),
                            void *owner)
{
    (void)client;
    (void)fn;
    (void)owner;
}

const char *
rpc_client_disconnect_reason(const struct rpc_client *client)
{
    return client->is_away ? "the script took it away" : NULL;
}

bool
rpc_client_local_address(const struct rpc_client *client,
                         struct address *out_address)
{
    (void)client;
    (void)out_address;
    return false;
}

void
rpc_client_finish_all_calls(struct rpc_client *client,
                            const struct rpc_answer *answer)
{
    const uint64_t last = client->id;
    struct waiting *waiting;

    /* Not those that an answer has asked. */
    while ((waiting = TAILQ_FIRST(&client->waiting)) && waiting->id <= last)
        waiting_answer(client, waiting, answer);
    timer_set(client);
}

void
rpc_client_cancel(struct rpc_client *client, uint64_t id)
{
    struct waiting *waiting;

    TAILQ_FOREACH(waiting, &client->waiting, link)
    {
        if (waiting->id != id)
            continue;
        waiting_remove(client, waiting);
        break;
    }
    timer_set(client);
}

/* At once: the thread that would run the loop meanwhile is this one. */
enum hoop_status
rpc_client_call_wait(struct rpc_client *client,
                     const struct rpc_call *call,
                     uint8_t **out_body,
                     size_t *out_n_bytes)
{
    const uint64_t deadline_ns = clock_deadline_ns(call->timeout_ms);
    struct envelope_reply reply;
    enum hoop_status status = HOOP_E_DATA_LOSS;

    fuzz_require(call->timeout_ms > 0);
    while (status == HOOP_E_DATA_LOSS && script.n_bytes > 0 &&
           !clock_is_past(deadline_ns)) {
        virtual_clock_advance(input_byte(&script) & DELAY_MASK);
        status = reply_take(&reply);
        client->is_away = status != HOOP_OK;
    }
    if (status == HOOP_E_DATA_LOSS) {
        virtual_clock_advance((uint64_t)clock_left_ms(deadline_ns));
        return error_raise(HOOP_E_TIMEOUT, "no answer in time");
    }
    if (status != HOOP_OK)
        return error_pass(status);
    if (reply.status != HOOP_OK)
        return error_raise(reply.status, "%s", reply.message);
    if (!out_body || reply.body.n_bytes == 0)
        return HOOP_OK;
    *out_body = malloc(reply.body.n_bytes);
    fuzz_require(*out_body);
    memcpy(*out_body, reply.body.bytes, reply.body.n_bytes);
    *out_n_bytes = reply.body.n_bytes;
    return HOOP_OK;
}
