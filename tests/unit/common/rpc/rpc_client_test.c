/* tests/unit/common/rpc/rpc_client_test.c - rpc/rpc_client.c and
 * rpc_call_queue.c against the real server */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "check.h"
#include "rpc_bench.h"

static void
client_call_is_answered(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    char out[64];

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    assert_ok(bench_call(&client, "hoop.v1.Store/Get", "hello", out));
    assert_string_equal(out, "hello");
    assert_ok(bench_call(&client, "hoop.v1.Store/Get", "", out));
    assert_string_equal(out, "");

    assert_int_equal(bench_call(&client, "hoop.v1.Store/Nonsense", "", NULL),
                     HOOP_E_UNIMPLEMENTED);
    assert_non_null(strstr(error_text(), "hoop.v1.Store/Nonsense"));
    bench_client_stop(&client);
    bench_server_stop(&server);
}

struct tally {
    struct loop *loop;
    struct rpc_client *client;
    unsigned n_answers;
    unsigned n_ok;
    unsigned n_wanted;
    enum hoop_status status;
    char message[LIMIT_ERROR_TEXT];
};

static void
tally_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct tally *tally = owner;

    tally->n_answers++;
    tally->n_ok += answer->status == HOOP_OK;
    tally->status = answer->status;
    snprintf(tally->message, sizeof(tally->message), "%s", answer->message);
    if (tally->n_answers == tally->n_wanted)
        loop_stop(tally->loop);
}

static void
tally_init(struct tally *tally, const char *address, unsigned n_wanted)
{
    *tally = (struct tally){.n_wanted = n_wanted};
    assert_ok(loop_create(&tally->loop));
    const struct rpc_client_options options = {
        .loop = tally->loop,
        .address = address,
        .token = "secret",
        .tls = bench_tls,
    };
    assert_ok(rpc_client_create(&options, &tally->client));
}

static void
tally_deinit(struct tally *tally)
{
    rpc_client_destroy(tally->client);
    loop_destroy(tally->loop);
}

static enum hoop_status
tally_call(struct tally *tally,
           const char *method,
           uint64_t timeout_ms,
           uint64_t *out_id)
{
    const struct rpc_call call = {
        .method = method,
        .timeout_ms = timeout_ms,
        .on_answer = tally_on_answer,
        .owner = tally,
    };

    return rpc_client_call(tally->client, &call, out_id);
}

static void
client_many_calls_are_outstanding_at_once(void **state)
{
    struct bench_server server = {0};
    struct tally tally;

    bench_server_start(&server, 0);
    tally_init(&tally, server.address, LIMIT_RPC_CALLS);
    for (int i = 0; i < LIMIT_RPC_CALLS; i++)
        assert_ok(
            tally_call(&tally, "hoop.v1.Store/Add", BENCH_TIMEOUT_MS, NULL));
    assert_int_equal(
        tally_call(&tally, "hoop.v1.Store/Add", BENCH_TIMEOUT_MS, NULL),
        HOOP_E_EXHAUSTED);
    assert_int_equal(tally.n_answers, 0);
    loop_run(tally.loop);
    assert_int_equal(tally.n_ok, LIMIT_RPC_CALLS);
    assert_int_equal(server.n_added, LIMIT_RPC_CALLS);
    tally_deinit(&tally);
    bench_server_stop(&server);
}

static void
client_deadline_passes_while_the_server_parks(void **state)
{
    struct bench_server server = {0};
    struct tally tally;

    bench_server_start(&server, 0);
    tally_init(&tally, server.address, 2);
    assert_ok(tally_call(&tally, "hoop.v1.Store/Wait", 80, NULL));
    assert_ok(tally_call(&tally, "hoop.v1.Store/Wait", 60, NULL));
    const uint64_t start_ns = clock_now_ns();
    loop_run(tally.loop);
    assert_true(clock_now_ns() - start_ns < 2 * CLOCK_NS_PER_S);
    assert_int_equal(tally.status, HOOP_E_TIMEOUT);
    assert_non_null(strstr(tally.message, server.address));
    assert_non_null(strstr(tally.message, "did not answer for 0.1 s; look"));
    assert_null(strstr(tally.message, "hoop.v1."));

    /* The late reply is nobody's. */
    tally.n_wanted = 3;
    assert_ok(tally_call(&tally, "hoop.v1.Store/Set", BENCH_TIMEOUT_MS, NULL));
    loop_run(tally.loop);
    assert_int_equal(tally.n_answers, 3);
    assert_ok(tally.status);
    tally_deinit(&tally);
    bench_server_stop(&server);
}

static void
client_without_a_server_says_why(void **state)
{
    struct bench_server server = {0};
    struct tally tally = {.status = HOOP_OK};

    /* A port that was free a moment ago; others may take it, or a busy machine
     * the time: once more. */
    for (uint64_t timeout_ms = 150;
         timeout_ms < 10000 && !strstr(tally.message, "Connection refused");
         timeout_ms *= 4) {
        bench_server_start(&server, 0);
        bench_server_stop(&server);
        tally_init(&tally, server.address, 1);
        assert_ok(tally_call(&tally, "hoop.v1.Store/Get", timeout_ms, NULL));
        loop_run(tally.loop);
        tally_deinit(&tally);
    }
    assert_int_equal(tally.status, HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(tally.message, "Connection refused"));
}

static void
files_restore(void *owner)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, owner), 0);
}

/* Others go on trying until their deadlines. */
/* Else it would end after minutes. */
static void
client_call_that_was_not_sent_has_no_grace(void **state)
{
    struct tally tally;
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Get",
        .timeout_ms = 50,
        .grace_ms = 600000,
        .on_answer = tally_on_answer,
        .owner = &tally,
    };

    tally_init(&tally, "127.0.0.1:1", 1);
    assert_ok(rpc_client_call(tally.client, &call, NULL));
    loop_run(tally.loop);
    assert_int_equal(tally.status, HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(tally.message,
                           "hoopd at 127.0.0.1:1 did not answer for 0.1 s: "));
    assert_null(strstr(tally.message, "hoop.v1."));
    tally_deinit(&tally);
}

/* The server answers when the deadline has passed, or never: there is one
 * grace. */
static void
client_call_that_was_sent_has_its_grace(void **state)
{
    static const char *const methods[] = {"hoop.v1.Store/Wait",
                                          "hoop.v1.Store/Delete"};
    struct bench_server server = {0};
    struct tally tally;

    bench_server_start(&server, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct rpc_call call = {
            .method = methods[i],
            .timeout_ms = 50,
            .grace_ms = 100,
            .on_answer = tally_on_answer,
            .owner = &tally,
        };

        tally_init(&tally, server.address, 1);
        const uint64_t begin_ns = clock_now_ns();
        assert_ok(rpc_client_call(tally.client, &call, NULL));
        loop_run(tally.loop);
        if (tally.status == HOOP_E_TIMEOUT)
            assert_true(clock_now_ns() - begin_ns >= 150 * CLOCK_NS_PER_MS);
        assert_true(i == 0 || tally.status != HOOP_OK);
        tally_deinit(&tally);
    }
    bench_server_stop(&server);
}

static void
client_call_that_tries_once_fails_when_refused(void **state)
{
    struct tally tally;
    const struct rpc_call once = {
        .method = "hoop.v1.Store/Get",
        .timeout_ms = 86400000,
        .tries_once = true,
        .on_answer = tally_on_answer,
        .owner = &tally,
    };

    tally_init(&tally, "127.0.0.1:1", 1);
    assert_ok(tally_call(&tally, "hoop.v1.Store/Add", 86400000, NULL));
    assert_ok(rpc_client_call(tally.client, &once, NULL));
    loop_run(tally.loop);
    assert_int_equal(tally.n_answers, 1);
    assert_int_equal(tally.status, HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(tally.message, "127.0.0.1:1"));
    tally_deinit(&tally);
    assert_int_equal(tally.n_answers, 2);
    assert_int_equal(tally.status, HOOP_E_CANCELLED);
}

static void
client_without_descriptors_names_the_limit_and_tries_on(void **state)
{
    struct bench_server server = {0};
    struct loop_timer *timer = NULL;
    struct tally tally;
    struct rlimit before;
    char limit[64];

    bench_server_start(&server, 0);
    tally_init(&tally, server.address, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_ok(loop_timer_create(tally.loop, files_restore, &before, &timer));
    const int lowest = dup(STDERR_FILENO);
    close(lowest);
    assert_int_equal(
        setrlimit(RLIMIT_NOFILE,
                  &(struct rlimit){(rlim_t)lowest, before.rlim_max}),
        0);
    assert_ok(tally_call(&tally, "hoop.v1.Store/Get", 150, NULL));
    loop_run(tally.loop);
    const struct tally first = tally;

    tally.n_wanted = 2;
    loop_timer_start(timer, 50);
    assert_ok(tally_call(&tally, "hoop.v1.Store/Get", BENCH_TIMEOUT_MS, NULL));
    loop_run(tally.loop);
    assert_ok(tally.status);
    assert_int_equal(first.status, HOOP_E_EXHAUSTED);
    snprintf(limit, sizeof(limit), "may open %d files (RLIMIT_NOFILE", lowest);
    assert_non_null(strstr(first.message, limit));
    assert_non_null(strstr(first.message, server.address));
    assert_null(strstr(first.message, "no answer"));

    /* Now it is the server that does not answer. */
    tally.n_wanted = 3;
    assert_ok(tally_call(&tally, "hoop.v1.Store/Wait", 50, NULL));
    loop_run(tally.loop);
    assert_int_equal(tally.status, HOOP_E_TIMEOUT);
    assert_null(strstr(tally.message, "RLIMIT_NOFILE"));
    loop_timer_destroy(timer);
    tally_deinit(&tally);
    bench_server_stop(&server);
}

static void
client_cancelled_call_is_not_answered(void **state)
{
    struct bench_server server = {0};
    struct tally tally;
    uint64_t id = 0;

    bench_server_start(&server, 0);
    tally_init(&tally, server.address, 1);
    assert_ok(tally_call(&tally, "hoop.v1.Store/Get", BENCH_TIMEOUT_MS, &id));
    rpc_client_cancel(tally.client, id);
    rpc_client_cancel(tally.client, id);
    rpc_client_cancel(tally.client, 0);
    assert_ok(tally_call(&tally, "hoop.v1.Store/Get", BENCH_TIMEOUT_MS, &id));
    loop_run(tally.loop);
    assert_int_equal(tally.n_answers, 1);
    tally_deinit(&tally);
    bench_server_stop(&server);
}

static void
tally_destroy_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct tally *tally = owner;

    tally_on_answer(owner, answer);
    rpc_client_destroy(tally->client);
    tally->client = NULL;
}

static void
client_destroyed_within_an_answer_answers_the_rest(void **state)
{
    struct bench_server server = {0};
    struct tally tally;

    bench_server_start(&server, 0);
    tally_init(&tally, server.address, 3);
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Get",
        .timeout_ms = BENCH_TIMEOUT_MS,
        .on_answer = tally_destroy_on_answer,
        .owner = &tally,
    };
    assert_ok(rpc_client_call(tally.client, &call, NULL));
    for (int i = 0; i < 2; i++)
        assert_ok(
            tally_call(&tally, "hoop.v1.Store/Delete", BENCH_TIMEOUT_MS, NULL));
    loop_run(tally.loop);
    assert_int_equal(tally.n_answers, 3);
    assert_int_equal(tally.n_ok, 1);
    assert_int_equal(tally.status, HOOP_E_CANCELLED);
    tally_deinit(&tally);
    bench_server_stop(&server);
}

static void
client_body_too_large_is_refused(void **state)
{
    struct tally tally;
    uint8_t byte = 0;

    tally_init(&tally, "127.0.0.1:1", 1);
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Set",
        .body = {&byte, LIMIT_RPC_BODY + 1},
        .timeout_ms = 1,
        .on_answer = tally_on_answer,
    };
    assert_int_equal(rpc_client_call(tally.client, &call, NULL),
                     HOOP_E_EXHAUSTED);
    tally_deinit(&tally);
}

static void
client_largest_body_goes_and_comes(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    uint8_t *sent = malloc(LIMIT_RPC_BODY);
    uint8_t *received = NULL;
    size_t n_received = 0;

    assert_non_null(sent);
    for (size_t i = 0; i < LIMIT_RPC_BODY; i++)
        sent[i] = (uint8_t)(i * 31 >> 3);
    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Get",
        .body = {sent, LIMIT_RPC_BODY},
        .timeout_ms = BENCH_TIMEOUT_MS,
    };
    assert_ok(
        rpc_client_call_wait(client.client, &call, &received, &n_received));
    assert_int_equal(n_received, LIMIT_RPC_BODY);
    assert_memory_equal(sent, received, LIMIT_RPC_BODY);
    free(sent);
    free(received);
    bench_client_stop(&client);
    bench_server_stop(&server);
}

static void
client_bad_options_are_refused(void **state)
{
    struct loop *loop;
    struct rpc_client *client = NULL;
    char text[LIMIT_TOKEN + 1];

    memset(text, 'x', sizeof(text));
    text[LIMIT_TOKEN] = '\0';
    assert_ok(loop_create(&loop));
    struct rpc_client_options options = {
        .loop = loop,
        .address = "nowhere",
    };
    assert_int_equal(rpc_client_create(&options, &client), HOOP_E_INVALID);
    options.address = "127.0.0.1:1";
    options.token = text;
    assert_int_equal(rpc_client_create(&options, &client), HOOP_E_INVALID);
    assert_null(client);
    loop_destroy(loop);
}

struct add_thread {
    struct bench_client *client;
    pthread_t thread;
    unsigned n_ok;
};

enum {
    N_ADD_THREADS = 4,
    N_ADDS = 50,
};

static void *
add_run(void *owner)
{
    struct add_thread *adder = owner;

    for (int i = 0; i < N_ADDS; i++)
        adder->n_ok +=
            bench_call(adder->client, "hoop.v1.Store/Add", "", NULL) == HOOP_OK;
    return NULL;
}

static void
client_calls_of_four_threads_are_all_answered(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    struct add_thread adders[N_ADD_THREADS];

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    for (int i = 0; i < N_ADD_THREADS; i++) {
        adders[i] = (struct add_thread){.client = &client};
        assert_int_equal(
            pthread_create(&adders[i].thread, NULL, add_run, &adders[i]), 0);
    }
    for (int i = 0; i < N_ADD_THREADS; i++) {
        pthread_join(adders[i].thread, NULL);
        assert_int_equal(adders[i].n_ok, N_ADDS);
    }
    assert_int_equal(server.n_added, N_ADD_THREADS * N_ADDS);
    bench_client_stop(&client);
    bench_server_stop(&server);
}

static void *
wait_run(void *owner)
{
    struct add_thread *waiter = owner;

    waiter->n_ok = bench_call(waiter->client, "hoop.v1.Store/Wait", "", NULL);
    return NULL;
}

static void
client_destroyed_wakes_who_waits(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    struct add_thread waiter = {.client = &client};

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_run, &waiter),
                     0);
    bench_wait_for(&server.n_parked, 1);
    bench_client_stop(&client);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.n_ok, HOOP_E_CANCELLED);
    bench_server_stop(&server);
}

/* The call that waits when the server dies is asked again of the next one,
 * which knows nothing of it, and of nobody twice. */
static void
client_survives_a_server_that_dies_and_returns(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    struct add_thread waiter = {.client = &client};
    char out[64];

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    assert_ok(bench_call(&client, "hoop.v1.Store/Add", "", out));
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_run, &waiter),
                     0);
    bench_wait_for(&server.n_parked, 1);
    const uint16_t port = bench_server_port(&server);
    bench_server_stop(&server);

    bench_server_start(&server, port);
    bench_wait_for(&server.n_parked, 1);
    assert_ok(bench_call(&client, "hoop.v1.Store/Add", "", out));
    assert_string_equal(out, "2");
    assert_ok(bench_call(&client, "hoop.v1.Store/Set", "", out));
    pthread_join(waiter.thread, NULL);
    assert_ok(waiter.n_ok);
    bench_client_stop(&client);
    bench_server_stop(&server);
}

/* No address of the name answers at first: it is looked up again. */
static void
client_by_name_finds_a_server_that_comes_late(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    struct add_thread waiter = {.client = &client};
    char name[64];

    bench_server_start(&server, 0);
    const uint16_t port = bench_server_port(&server);
    bench_server_stop(&server);

    snprintf(name, sizeof(name), "localhost:%u", (unsigned)port);
    bench_client_start(&client, name);
    const struct rpc_call early = {
        .method = "hoop.v1.Store/Get",
        .timeout_ms = 200,
    };
    assert_int_equal(rpc_client_call_wait(client.client, &early, NULL, NULL),
                     HOOP_E_UNAVAILABLE);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_run, &waiter),
                     0);
    bench_server_start(&server, port);
    bench_wait_for(&server.n_parked, 1);
    assert_ok(bench_call(&client, "hoop.v1.Store/Set", "", NULL));
    pthread_join(waiter.thread, NULL);
    assert_ok(waiter.n_ok);
    bench_client_stop(&client);
    bench_server_stop(&server);
}

static bool
is_over(void *context)
{
    return true;
}

/* More than may wait at a time: each is given up, not only left. */
static void
client_interrupted_waits_leave_no_calls(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    interrupt_set(is_over, NULL);
    for (int i = 0; i < LIMIT_RPC_CALLS + 10; i++)
        assert_int_equal(bench_call(&client, "hoop.v1.Store/Wait", "", NULL),
                         HOOP_E_CANCELLED);
    interrupt_set(NULL, NULL);
    assert_ok(bench_call(&client, "hoop.v1.Store/Get", "", NULL));
    bench_client_stop(&client);
    bench_server_stop(&server);
}

static void
release(void *owner)
{
    interrupt_set(NULL, NULL);
    assert_ok(bench_call(owner, "hoop.v1.Store/Set", "", NULL));
}

/* What is taken back is answered first, if that is soon: once in several
 * tries on a busy machine. */
static void
client_interrupted_wait_takes_the_answer_that_comes(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Wait",
        .timeout_ms = BENCH_TIMEOUT_MS,
        .on_interrupt = release,
        .owner = &client,
    };
    enum hoop_status status = HOOP_E_CANCELLED;

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    for (int i = 0; i < 50 && status == HOOP_E_CANCELLED; i++) {
        interrupt_set(is_over, NULL);
        status = rpc_client_call_wait(client.client, &call, NULL, NULL);
    }
    assert_ok(status);
    bench_client_stop(&client);
    bench_server_stop(&server);
}

static enum hoop_status
end_on_third(void *owner)
{
    int *n_due = owner;

    return ++*n_due == 3 ? HOOP_E_CANCELLED : HOOP_E_TIMEOUT;
}

static int
due_at_once(const void *owner)
{
    return 0;
}

static void
client_wait_is_ended_by_what_is_due(void **state)
{
    struct bench_server server = {0};
    struct bench_client client;
    int n_due = 0;
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Wait",
        .timeout_ms = BENCH_TIMEOUT_MS,
        .due_ms = due_at_once,
        .on_due = end_on_third,
        .owner = &n_due,
    };

    bench_server_start(&server, 0);
    bench_client_start(&client, server.address);
    assert_int_equal(rpc_client_call_wait(client.client, &call, NULL, NULL),
                     HOOP_E_CANCELLED);
    assert_int_equal(n_due, 3);
    bench_client_stop(&client);
    bench_server_stop(&server);
}

/* "tls": all of it under TLS. */
int
main(int argc, char **argv)
{
    static const struct tls_files by_token;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_call_is_answered),
        cmocka_unit_test(client_many_calls_are_outstanding_at_once),
        cmocka_unit_test(client_deadline_passes_while_the_server_parks),
        cmocka_unit_test(client_without_a_server_says_why),
        cmocka_unit_test(client_call_that_was_not_sent_has_no_grace),
        cmocka_unit_test(client_call_that_was_sent_has_its_grace),
        cmocka_unit_test(client_call_that_tries_once_fails_when_refused),
        cmocka_unit_test(
            client_without_descriptors_names_the_limit_and_tries_on),
        cmocka_unit_test(client_cancelled_call_is_not_answered),
        cmocka_unit_test(client_destroyed_within_an_answer_answers_the_rest),
        cmocka_unit_test(client_body_too_large_is_refused),
        cmocka_unit_test(client_largest_body_goes_and_comes),
        cmocka_unit_test(client_bad_options_are_refused),
        cmocka_unit_test(client_calls_of_four_threads_are_all_answered),
        cmocka_unit_test(client_destroyed_wakes_who_waits),
        cmocka_unit_test(client_interrupted_waits_leave_no_calls),
        cmocka_unit_test(client_interrupted_wait_takes_the_answer_that_comes),
        cmocka_unit_test(client_wait_is_ended_by_what_is_due),
        cmocka_unit_test(client_survives_a_server_that_dies_and_returns),
        cmocka_unit_test(client_by_name_finds_a_server_that_comes_late),
    };

    if (argc > 1 && strcmp(argv[1], "tls") == 0)
        bench_tls = &by_token;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
