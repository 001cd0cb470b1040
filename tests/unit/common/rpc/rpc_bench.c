/* tests/unit/common/rpc/rpc_bench.c - a server and a client on one loop each */

#include "rpc_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "check.h"

const struct tls_files *bench_tls;

static void
request_echo(struct rpc_request *request)
{
    rpc_reply(request, HOOP_OK, NULL, rpc_request_envelope(request)->body);
}

static void
request_add(struct bench_server *bench, struct rpc_request *request)
{
    char text[16];
    const unsigned n = atomic_fetch_add(&bench->n_added, 1) + 1;
    const int n_text = snprintf(text, sizeof(text), "%u", n);

    rpc_reply(request, HOOP_OK, NULL,
              (struct message_span){(const uint8_t *)text, (size_t)n_text});
}

static void
request_park(struct bench_server *bench, struct rpc_request *request)
{
    const unsigned n = atomic_load(&bench->n_parked);

    const struct message_span body = rpc_request_envelope(request)->body;
    struct bench_parked *parked = &bench->parked[n];

    assert_true(n < BENCH_PARKED_MAX);
    parked->request = request;
    parked->n_bytes = body.n_bytes < sizeof(parked->bytes)
                          ? body.n_bytes
                          : sizeof(parked->bytes);
    if (parked->n_bytes > 0)
        memcpy(parked->bytes, body.bytes, parked->n_bytes);
    atomic_store(&bench->n_parked, n + 1);
}

static void
requests_release(struct bench_server *bench)
{
    const unsigned n = atomic_load(&bench->n_parked);

    for (unsigned i = 0; i < n; i++)
        rpc_reply(bench->parked[i].request, HOOP_OK, NULL,
                  (struct message_span){bench->parked[i].bytes,
                                        bench->parked[i].n_bytes});
    atomic_store(&bench->n_parked, 0);
}

static void
bench_on_request(void *owner, struct rpc_request *request)
{
    struct bench_server *bench = owner;
    const enum method_id id = rpc_request_method(request)->id;

    /* Before the reply: whoever has that may look at the count. */
    atomic_store(&bench->role, rpc_request_role(request));
    atomic_fetch_add(&bench->n_handled, 1);
    if (id == METHOD_STORE_ADD) {
        rpc_request_set_role(request, ROLE_WORKER);
        request_add(bench, request);
    } else if (id == METHOD_STORE_WAIT || id == METHOD_STORE_DELETE)
        request_park(bench, request);
    else if (id == METHOD_STORE_SET) {
        requests_release(bench);
        request_echo(request);
    } else {
        request_echo(request);
    }
}

static void
bench_on_abandon(void *owner, struct rpc_request *request)
{
    struct bench_server *bench = owner;
    unsigned n = atomic_load(&bench->n_parked);

    atomic_fetch_add(&bench->n_abandoned, 1);
    /* What changes something is finished all the same. */
    if (rpc_request_method(request)->effect == METHOD_CHANGES)
        return;
    for (unsigned i = 0; i < n; i++) {
        if (bench->parked[i].request == request)
            bench->parked[i] = bench->parked[--n];
    }
    atomic_store(&bench->n_parked, n);
    rpc_request_drop(request);
}

static void
bench_on_disconnect(void *owner, uint32_t connection)
{
    struct bench_server *bench = owner;

    assert_int_not_equal(connection, 0);
    atomic_fetch_add(&bench->n_gone, 1);
}

static uint64_t
bench_barrier(void *owner)
{
    struct bench_server *bench = owner;

    return atomic_load(&bench->barrier);
}

static bool
bench_is_allowed(void *owner, const struct rpc_request *request)
{
    struct bench_server *bench = owner;

    return !atomic_load(&bench->is_doubtful);
}

static void *
bench_run(void *loop)
{
    loop_run(loop);
    return NULL;
}

void
bench_server_start(struct bench_server *bench, uint16_t port)
{
    char address[64];

    snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned)port);
    if (bench_tls)
        assert_ok(rpc_tls_create_server(bench_tls, "secret", &bench->rpc_tls));
    const struct rpc_server_options options = {
        .loop = (assert_ok(loop_create(&bench->loop)), bench->loop),
        .address = address,
        .rpc_tls = bench->rpc_tls,
        .on_request = bench_on_request,
        .on_request_abandoned = bench_on_abandon,
        .on_disconnect = bench_on_disconnect,
        .barrier = bench_barrier,
        .is_allowed = bench_is_allowed,
        .owner = bench,
        .n_requests_max = bench->n_requests_max,
        .limits = {.auth_timeout_ms = bench->auth_timeout_ms},
        .secret = bench->secret ? bench->secret : "secret",
    };
    assert_ok(rpc_server_create(&options, &bench->server));
    assert_int_not_equal(rpc_server_port(bench->server), 0);
    snprintf(bench->address, sizeof(bench->address), "127.0.0.1:%u",
             (unsigned)rpc_server_port(bench->server));
    assert_int_equal(
        pthread_create(&bench->thread, NULL, bench_run, bench->loop), 0);
}

void
bench_server_stop(struct bench_server *bench)
{
    loop_stop(bench->loop);
    pthread_join(bench->thread, NULL);
    rpc_server_destroy(bench->server);
    rpc_tls_destroy(bench->rpc_tls);
    bench->rpc_tls = NULL;
    loop_destroy(bench->loop);
    atomic_store(&bench->n_parked, 0);
}

uint16_t
bench_server_port(const struct bench_server *bench)
{
    return rpc_server_port(bench->server);
}

struct question {
    struct bench_server *bench;
    uint64_t timeout_ms;
    uint64_t number;
    struct rpc_server_counters counters;
    atomic_uint is_answered;
};

static void
question_count(void *owner)
{
    struct question *question = owner;

    question->counters = rpc_server_counters(question->bench->server);
    atomic_store(&question->is_answered, 1);
}

struct rpc_server_counters
bench_server_counters(struct bench_server *bench)
{
    struct question question = {.bench = bench};

    assert_ok(loop_post(bench->loop, question_count, &question));
    bench_wait_for(&question.is_answered, 1);
    return question.counters;
}

static void
question_release(void *owner)
{
    struct question *question = owner;

    rpc_server_release_replies(question->bench->server, question->number);
    atomic_store(&question->is_answered, 1);
}

void
bench_server_release(struct bench_server *bench, uint64_t number)
{
    struct question question = {.bench = bench, .number = number};

    assert_ok(loop_post(bench->loop, question_release, &question));
    bench_wait_for(&question.is_answered, 1);
}

static void
question_drained(void *owner)
{
    struct question *question = owner;

    atomic_store(&question->is_answered, 1);
}

static void
question_drain(void *owner)
{
    struct question *question = owner;

    rpc_server_drain(question->bench->server, question->timeout_ms,
                     question_drained, question);
}

void
bench_server_drain(struct bench_server *bench, uint64_t timeout_ms)
{
    struct question question = {.bench = bench, .timeout_ms = timeout_ms};

    assert_ok(loop_post(bench->loop, question_drain, &question));
    bench_wait_for(&question.is_answered, 1);
}

void
bench_wait_for(atomic_uint *counter, unsigned n)
{
    const uint64_t deadline_ns = clock_deadline_ns(BENCH_TIMEOUT_MS);
    const struct timespec turn = {.tv_nsec = 1000000};

    while (atomic_load(counter) < n) {
        if (clock_is_past(deadline_ns))
            fail_msg("%u of %u after %d ms", atomic_load(counter), n,
                     BENCH_TIMEOUT_MS);
        nanosleep(&turn, NULL);
    }
}

void
bench_wait_until_repeated(struct bench_server *server, uint64_t n)
{
    const uint64_t deadline_ns = clock_deadline_ns(BENCH_TIMEOUT_MS);

    while (bench_server_counters(server).requests_repeated < n)
        assert_false(clock_is_past(deadline_ns));
}

void
bench_client_start(struct bench_client *bench, const char *address)
{
    bench_client_start_as(bench, address, "secret", bench_tls);
}

void
bench_client_start_as(struct bench_client *bench,
                      const char *address,
                      const char *token,
                      const struct tls_files *tls)
{
    assert_ok(loop_create(&bench->loop));
    const struct rpc_client_options options = {
        .loop = bench->loop,
        .address = address,
        .job = "test",
        .token = token,
        .tls = tls,
    };
    assert_ok(rpc_client_create(&options, &bench->client));
    assert_int_equal(
        pthread_create(&bench->thread, NULL, bench_run, bench->loop), 0);
}

void
bench_client_stop(struct bench_client *bench)
{
    loop_stop(bench->loop);
    pthread_join(bench->thread, NULL);
    rpc_client_destroy(bench->client);
    loop_destroy(bench->loop);
}

enum hoop_status
bench_call(struct bench_client *bench,
           const char *method,
           const char *text,
           char out[64])
{
    uint8_t *body = NULL;
    size_t n_bytes = 0;
    const struct rpc_call call = {
        .method = method,
        .body = {(const uint8_t *)text, strlen(text)},
        .timeout_ms = BENCH_TIMEOUT_MS,
    };

    const enum hoop_status status =
        rpc_client_call_wait(bench->client, &call, &body, &n_bytes);
    if (status == HOOP_OK && out)
        snprintf(out, 64, "%.*s", (int)n_bytes, body ? (char *)body : "");
    free(body);
    return status;
}
