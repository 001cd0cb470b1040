/* tests/unit/worker/engine/failure/heartbeat_test.c - engine/failure/heartbeat.c */

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "check.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/heartbeat.h"
#include "net/wakeup.h"
#include "transport/transport.h"
#include "unit/worker/engine/engine_pair.h"

/* What every process has had of processors; NULL: what it really has. */
static const struct process_cpu_time *shown;

struct process_cpu_time
__real_process_get_cpu_time(uint32_t pid);
struct process_cpu_time
__wrap_process_get_cpu_time(uint32_t pid);

struct process_cpu_time
__wrap_process_get_cpu_time(uint32_t pid)
{
    return shown ? *shown : __real_process_get_cpu_time(pid);
}

enum {
    FAILURE_MS = 100,
    OP_MS = 300,
    /* Of who must answer in time, also on a busy machine. */
    LIVING_FAILURE_MS = 900,
    LIVING_OP_MS = 1800,
    SLOW_MS = 2000,
    LONG_MS = 30000,
    LOOKS = 32, /* in a failure timeout */
};

/* How far peers are, and what is added with each time that is asked: a kernel
 * acknowledges later while its process is stopped. */
static uint32_t round_trip_ms;
static uint32_t round_trip_grows_ms;

uint32_t
__wrap_transport_round_trip_ms(const struct transport *transport,
                               uint32_t peer);

uint32_t
__wrap_transport_round_trip_ms(const struct transport *transport, uint32_t peer)
{
    if (peer == 1)
        round_trip_ms += round_trip_grows_ms;
    return round_trip_ms;
}

static struct engine_pair engine_pair;

static struct config
config_with(uint32_t failure_timeout_ms)
{
    struct config config = engine_pair_config();

    config.failure_timeout_ms = failure_timeout_ms;
    return config;
}

static void
open_with(uint32_t failure_timeout_ms, uint32_t op_ms)
{
    const struct config config = config_with(failure_timeout_ms);

    engine_pair_open_with(&engine_pair,
                          &(struct engine_options){.config = &config});
    context_set_timeout(engine_pair.sides[0].comms[0].context, op_ms);
}

/* The other end is open, and nobody is there. */
static enum hoop_status
wait_for_nobody(void)
{
    struct side *side = &engine_pair.sides[0];
    int32_t value = 1;

    engine_add_connection(side->engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    return sum_run(side->comms[0].context, &value, 1);
}

static void
silent_rank_is_lost_after_the_failure_timeout(void **state)
{
    const uint64_t begin_ns = clock_now_ns();

    open_with(FAILURE_MS, LONG_MS);
    assert_int_equal(wait_for_nobody(), HOOP_E_PEER_LOST);
    assert_true(clock_now_ns() - begin_ns >= FAILURE_MS * CLOCK_NS_PER_MS);
    assert_non_null(strstr(error_text(),
                           "rank 1 (host:41) is lost: frozen or unreachable "
                           "(nothing has come from it for 0.1 s), reported by "
                           "rank 0 (host:40)"));
    engine_pair_close(&engine_pair);
}

/* The second is not silent from when the first was lost, but from when both fell
 * silent. */
static void
two_that_fall_silent_together_are_lost_together(void **state)
{
    static const uint32_t ranks[] = {0, 1, 2};
    struct side *side = &engine_pair.sides[0];
    struct comm_context *context;
    struct op *ops[2];
    char bytes[2][4];
    int far[2];

    open_with(LIVING_FAILURE_MS, LONG_MS);
    const struct context_options options = {
        .id = 5, .size = 3, .ranks = ranks, .timeout_ms = LONG_MS};
    assert_ok(context_open(side->engine, &options, &context));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, far),
                     0);
    engine_add_connection(side->engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    engine_add_connection(side->engine, 2, far[0]);
    for (uint32_t i = 0; i < 2; i++) {
        const struct engine_message message = {
            .call = {.name = CALL_RECV,
                     .dtype = HOOP_UINT8,
                     .root = i + 1,
                     .count = sizeof(bytes[i])},
            .peer = i + 1,
            .bytes = bytes[i],
        };

        assert_ok(engine_start_messages(context, &message, 1, &ops[i]));
    }
    assert_int_equal(engine_wait(ops[0], patience()), HOOP_E_PEER_LOST);
    const uint64_t first_ns = clock_now_ns();
    assert_int_equal(engine_wait(ops[1], patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "rank 2 (far:42) is lost"));
    assert_true(clock_now_ns() - first_ns <
                LIVING_FAILURE_MS / 2 * CLOCK_NS_PER_MS);
    engine_pair_close(&engine_pair);
    close(far[1]);
}

/* Which asks nothing before it is late. */
static void
silent_sender_of_a_message_is_lost_as_soon(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    struct side *side = &engine_pair.sides[0];
    char bytes[4];
    struct op *op = NULL;

    open_with(FAILURE_MS, LONG_MS);
    engine_add_connection(side->engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    assert_ok(
        receive_start(side->comms[0].context, bytes, sizeof(bytes), 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "frozen or unreachable"));
    assert_true(clock_now_ns() - begin_ns < LONG_MS / 2 * CLOCK_NS_PER_MS);
    engine_pair_close(&engine_pair);
}

static atomic_uint slack_ms;

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    atomic_store(&slack_ms, suspicion->slack_ms);
    /* As the coordinator would decide. */
    engine_declare_dead(((struct side *)owner)->engine, 1, "frozen");
}

static void
way_to_a_silent_rank_is_as_long_as_while_it_spoke(void **state)
{
    const struct config config = config_with(FAILURE_MS);
    round_trip_ms = 0;
    round_trip_grows_ms = 7;
    engine_pair_open_with(
        &engine_pair, &(struct engine_options){.config = &config,
                                               .on_suspected = on_suspected});
    assert_int_equal(wait_for_nobody(), HOOP_E_PEER_LOST);
    assert_int_equal(atomic_load(&slack_ms), 7);
    engine_pair_close(&engine_pair);
    round_trip_grows_ms = 0;
    round_trip_ms = 0;
}

static pid_t
spinner_start(int processor)
{
    const pid_t child = fork();
    cpu_set_t set;

    if (child > 0)
        return child;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    sched_setaffinity(0, sizeof(set), &set);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        ;
}

/* Its process shares a processor with three others. */
static void
starved_rank_has_more_time(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    const int processor = sched_getcpu();
    pid_t spinners[4];

    if (process_get_cpu_time((uint32_t)getpid()).ran_ns == 0)
        skip();
    for (int i = 0; i < 4; i++)
        spinners[i] = spinner_start(processor);
    open_with(FAILURE_MS, LONG_MS);
    engine_pair.sides[0].roster->members[1].pid = (uint32_t)spinners[0];
    assert_int_equal(wait_for_nobody(), HOOP_E_PEER_LOST);
    assert_true(clock_now_ns() - begin_ns >=
                (FAILURE_MS + FAILURE_MS / 2) * CLOCK_NS_PER_MS);
    engine_pair_close(&engine_pair);
    for (int i = 0; i < 4; i++) {
        kill(spinners[i], SIGKILL);
        waitpid(spinners[i], NULL, 0);
    }
}

/* For how long rank 0 waits for a rank of which nothing comes, on a clock that
 * the test sets. */
static uint64_t
patience_measure_ms(uint32_t failure_timeout_ms)
{
    const uint64_t look_ns = failure_timeout_ms * CLOCK_NS_PER_MS / LOOKS;
    struct side *side = &engine_pair.sides[0];
    uint64_t passed_ns = 0;
    struct op *op = NULL;
    int32_t value = 1;

    open_with(failure_timeout_ms, LONG_MS);
    engine_add_connection(side->engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    assert_ok(sum_start(side->comms[0].context, &value, 1, &op));
    engine_progress_background(side->engine);
    const uint64_t begin_ns = clock_now_ns();
    while (side->n_lost == 0 && passed_ns < LONG_MS * CLOCK_NS_PER_MS) {
        passed_ns += look_ns;
        engine_check_heartbeats(side->engine, begin_ns + passed_ns);
    }
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    engine_pair_close(&engine_pair);
    return passed_ns / CLOCK_NS_PER_MS;
}

/* Halves of a failure timeout: eight, or two of a short one; none for one that
 * runs and says nothing. */
static void
starved_rank_has_so_much_more_time_and_no_more(void **state)
{
    static const struct process_cpu_time starved = {.is_waiting = true};
    static const struct process_cpu_time idle = {0};
    static const struct {
        const struct process_cpu_time *share;
        uint32_t failure_timeout_ms;
        uint32_t lost_ms;
        const char *text;
    } cases[] = {
        {&starved, 1000, 5000, "(nothing has come from it for 5.0 s)"},
        {&starved, 2000, 10000, "(nothing has come from it for 10.0 s)"},
        {&starved, 500, 1000, "(nothing has come from it for 1.0 s)"},
        {&idle, 1000, 1000, "(nothing has come from it for 1.0 s)"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        /* A look to begin with, and the one at which the time is over. */
        const uint32_t looks_ms = 2 * cases[i].failure_timeout_ms / LOOKS + 1;

        shown = cases[i].share;
        const uint64_t lost_ms =
            patience_measure_ms(cases[i].failure_timeout_ms);
        shown = NULL;
        assert_non_null(strstr(error_text(), cases[i].text));
        assert_in_range(lost_ms, cases[i].lost_ms - looks_ms,
                        cases[i].lost_ms + looks_ms);
    }
}

static enum engine_process_status
fate_dead(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    out_how[0] = '\0';
    return ENGINE_PROCESS_DEAD;
}

/* Long before silence would tell; if it is sure who that process is. */
static void
dead_rank_whose_connection_lives_is_lost(void **state)
{
    static const char *const texts[] = {
        " is lost: its process has ended, reported by",
        " is lost: its process has ended (a child holds its connections)",
    };
    struct wakeup_handle place;

    for (unsigned i = 0; i < 2; i++) {
        const struct config config =
            config_with(i == 0 ? LIVING_FAILURE_MS : SLOW_MS);

        engine_pair_open_with(&engine_pair, &(struct engine_options){
                                                .config = &config,
                                                .process_status_of = fate_dead,
                                            });
        context_set_timeout(engine_pair.sides[0].comms[0].context, LONG_MS);
        assert_ok(engine_wakeup_handle(engine_pair.sides[1].engine, &place));
        if (i == 1)
            engine_pair.sides[0].roster->members[1].pid = place.pid;
        assert_ok(engine_import_wakeup(engine_pair.sides[0].engine, 1, &place));
        assert_int_equal(wait_for_nobody(), HOOP_E_PEER_LOST);
        assert_non_null(strstr(error_text(), texts[i]));
        engine_pair_close(&engine_pair);
    }
}

/* The bytes that wait at the other end of the connection to rank 1. */
static int
arrived_bytes(int fd)
{
    int n_bytes = 0;

    engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(ioctl(fd, FIONREAD, &n_bytes), 0);
    return n_bytes;
}

/* Who asks hoopctl why does not wait for a part of the failure timeout; and the
 * silent rank is asked again, so that it can tell that it hears this one. */
static void
silence_is_seen_soon_however_long_the_failure_timeout_is(void **state)
{
    static const uint64_t look_ns = 100 * CLOCK_NS_PER_MS;
    struct engine *engine = NULL;
    struct op *op = NULL;
    int32_t value = 1;

    open_with(600000, LONG_MS);
    engine = engine_pair.sides[0].engine;
    engine_add_connection(engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    assert_ok(sum_start(engine_pair.sides[0].comms[0].context, &value, 1, &op));
    engine_progress_background(engine);
    uint64_t now_ns = clock_now_ns();
    for (unsigned i = 0; i < 2; i++)
        engine_check_heartbeats(engine, now_ns += look_ns);
    assert_int_equal(heartbeat_state_of(engine, 1), HEARTBEAT_SEEN);
    const int n_first_bytes = arrived_bytes(engine_pair.fds[1]);
    for (unsigned i = 0; i < 4; i++)
        engine_check_heartbeats(engine, now_ns += look_ns);
    assert_int_equal(heartbeat_state_of(engine, 1), HEARTBEAT_MISSED);
    for (unsigned i = 0; i < 10; i++)
        engine_check_heartbeats(engine, now_ns += look_ns);
    assert_true(arrived_bytes(engine_pair.fds[1]) > n_first_bytes);
    engine_cancel_op(op);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CANCELLED);
    engine_pair_close(&engine_pair);
}

static void
without_a_failure_timeout_silence_is_no_loss(void **state)
{
    open_with(0, OP_MS);
    assert_int_equal(wait_for_nobody(), HOOP_E_TIMEOUT);
    engine_pair_close(&engine_pair);
}

/* The progress owner there answers, though its program calls nothing. */
static void
rank_that_is_late_answers_and_lives(void **state)
{
    int32_t value = 1;

    open_with(LIVING_FAILURE_MS, LIVING_OP_MS);
    engine_pair_connect(&engine_pair);
    engine_pair_start_backgrounds(&engine_pair);
    assert_int_equal(sum_run(engine_pair.sides[0].comms[0].context, &value, 1),
                     HOOP_E_TIMEOUT);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
    engine_pair_close(&engine_pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_rank_is_lost_after_the_failure_timeout),
        cmocka_unit_test(two_that_fall_silent_together_are_lost_together),
        cmocka_unit_test(silent_sender_of_a_message_is_lost_as_soon),
        cmocka_unit_test(way_to_a_silent_rank_is_as_long_as_while_it_spoke),
        cmocka_unit_test(starved_rank_has_more_time),
        cmocka_unit_test(starved_rank_has_so_much_more_time_and_no_more),
        cmocka_unit_test(dead_rank_whose_connection_lives_is_lost),
        cmocka_unit_test(
            silence_is_seen_soon_however_long_the_failure_timeout_is),
        cmocka_unit_test(without_a_failure_timeout_silence_is_no_loss),
        cmocka_unit_test(rank_that_is_late_answers_and_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
