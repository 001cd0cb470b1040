/* tests/unit/common/net/loop_test.c - net/loop.c, with threads and sockets */

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "check.h"
#include "net/loop.h"

enum {
    N_THREADS = 4,
    N_POSTS = 1000,
    WATCHDOG_MS = 5000,
};

/* One for all tests: what the callbacks touch. */
struct bench {
    struct loop *loop;
    struct loop_timer *watchdog;
    struct loop_timer *timer;
    struct loop_timer *other;
    struct loop_watch *watch;
    int near;
    int far;
    int n_calls;
    int n_bytes;
    enum loop_interest ready;
    uint64_t at_ns;
};

struct poster {
    struct bench *bench;
    int row;
    int next; /* touched by the loop's thread alone */
    pthread_t thread;
};

struct post_number {
    struct poster *poster;
    int number;
};

static void
watchdog_bite(void *owner)
{
    fail_msg("nothing happened for %d ms", WATCHDOG_MS);
}

static int
bench_open(void **state)
{
    static struct bench bench;
    int fds[2];

    bench = (struct bench){0};
    assert_ok(loop_create(&bench.loop));
    assert_ok(
        loop_timer_create(bench.loop, watchdog_bite, NULL, &bench.watchdog));
    loop_timer_start(bench.watchdog, WATCHDOG_MS);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    bench.near = fds[0];
    bench.far = fds[1];
    *state = &bench;
    return 0;
}

static int
bench_close(void **state)
{
    struct bench *bench = *state;

    loop_watch_destroy(bench->watch);
    loop_timer_destroy(bench->timer);
    loop_timer_destroy(bench->other);
    loop_timer_destroy(bench->watchdog);
    close(bench->near);
    if (bench->far >= 0)
        close(bench->far);
    loop_destroy(bench->loop);
    return 0;
}

static void
bench_stop(void *owner)
{
    struct bench *bench = owner;

    bench->n_calls++;
    bench->at_ns = clock_now_ns();
    loop_stop(bench->loop);
}

static void
bench_count(void *owner)
{
    struct bench *bench = owner;

    bench->n_calls++;
}

static void
loop_stop_before_run_is_remembered_once(void **state)
{
    struct bench *bench = *state;

    loop_stop(bench->loop);
    loop_stop(bench->loop);
    loop_run(bench->loop);

    assert_ok(loop_post(bench->loop, bench_stop, bench));
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 1);
}

static void
loop_post_is_not_run_within_the_call(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_post(bench->loop, bench_stop, bench));
    assert_int_equal(bench->n_calls, 0);
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 1);
}

static void
loop_post_left_behind_is_dropped(void **state)
{
    struct bench *bench = *state;

    loop_stop(bench->loop);
    loop_run(bench->loop);
    assert_ok(loop_post(bench->loop, bench_count, bench));
    assert_int_equal(bench->n_calls, 0);
}

static void
bench_forget(void *owner)
{
    struct bench *bench = owner;

    bench->n_calls += 100;
    loop_cancel_posts(bench->loop, bench);
}

/* Both what the loop has taken up and what it has not yet. */
static void
loop_forgets_the_posts_of_one_owner(void **state)
{
    struct bench *bench = *state;
    struct bench other = {.loop = bench->loop};

    assert_ok(loop_post(bench->loop, bench_stop, bench));
    assert_ok(loop_post(bench->loop, bench_count, &other));
    loop_cancel_posts(bench->loop, bench);
    assert_ok(loop_post(bench->loop, bench_forget, bench));
    assert_ok(loop_post(bench->loop, bench_count, bench));
    assert_ok(loop_post(bench->loop, bench_stop, &other));
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 100);
    assert_int_equal(other.n_calls, 2);
}

static struct post_number numbers[N_THREADS][N_POSTS];

static void
number_arrive(void *owner)
{
    const struct post_number *number = owner;
    struct bench *bench = number->poster->bench;

    assert_int_equal(number->number, number->poster->next);
    number->poster->next++;
    if (++bench->n_calls == N_THREADS * N_POSTS)
        loop_stop(bench->loop);
}

static void *
poster_run(void *owner)
{
    struct poster *poster = owner;
    struct post_number *mine = numbers[poster->row];

    for (int i = 0; i < N_POSTS; i++) {
        mine[i] = (struct post_number){poster, i};
        if (loop_post(poster->bench->loop, number_arrive, &mine[i]) != HOOP_OK)
            break;
    }
    return NULL;
}

static void
loop_posts_of_four_threads_arrive_once_and_in_order(void **state)
{
    struct bench *bench = *state;
    struct poster posters[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        posters[i] = (struct poster){.bench = bench, .row = i};
        assert_int_equal(
            pthread_create(&posters[i].thread, NULL, poster_run, &posters[i]),
            0);
    }
    loop_run(bench->loop);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(posters[i].thread, NULL);
        assert_int_equal(posters[i].next, N_POSTS);
    }
}

static void *
stop_from_afar(void *owner)
{
    loop_stop(owner);
    return NULL;
}

static void
loop_stop_from_another_thread_ends_run(void **state)
{
    struct bench *bench = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, stop_from_afar, bench->loop),
                     0);
    loop_run(bench->loop);
    pthread_join(thread, NULL);
}

static void
timer_fires_once_and_not_early(void **state)
{
    struct bench *bench = *state;
    const uint64_t due_ns = clock_deadline_ns(30);

    assert_ok(loop_timer_create(bench->loop, bench_stop, bench, &bench->timer));
    loop_timer_start(bench->timer, 30);
    assert_int_equal(bench->n_calls, 0);
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 1);
    assert_true(bench->at_ns >= due_ns);
}

static void
timer_start_replaces_and_stop_cancels(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_timer_create(bench->loop, bench_stop, bench, &bench->timer));
    assert_ok(
        loop_timer_create(bench->loop, bench_count, bench, &bench->other));
    loop_timer_start(bench->other, 0);
    loop_timer_stop(bench->other);
    loop_timer_start(bench->timer, UINT64_MAX);
    loop_timer_start(bench->timer, 5);
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 1);
}

static void
timer_destroy_itself(void *owner)
{
    struct bench *bench = owner;

    loop_timer_destroy(bench->timer);
    bench->timer = NULL;
    loop_stop(bench->loop);
}

static void
timer_may_be_destroyed_by_its_own_callback(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_timer_create(bench->loop, timer_destroy_itself, bench,
                                &bench->timer));
    loop_timer_start(bench->timer, 0);
    loop_run(bench->loop);
    assert_null(bench->timer);
}

static void
watch_read_one_byte(void *owner, enum loop_interest ready)
{
    struct bench *bench = owner;
    char byte;

    bench->ready = ready;
    bench->n_calls++;
    if (read(bench->near, &byte, 1) == 1 && ++bench->n_bytes == 3)
        loop_stop(bench->loop);
}

static void
watch_is_level_triggered(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_watch_create(bench->loop, bench->near, watch_read_one_byte,
                                bench, &bench->watch));
    assert_int_equal(write(bench->far, "abc", 3), 3);
    loop_watch_set(bench->watch, LOOP_READ);
    assert_int_equal(bench->n_calls, 0);
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 3);
    assert_int_equal(bench->ready, LOOP_READ);
}

static void
watch_write_once(void *owner, enum loop_interest ready)
{
    struct bench *bench = owner;

    bench->ready = ready;
    bench->n_calls++;
    loop_watch_set(bench->watch, LOOP_NOTHING);
    loop_timer_start(bench->timer, 10);
}

static void
watch_reports_nothing_it_was_not_asked_for(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_watch_create(bench->loop, bench->near, watch_write_once,
                                bench, &bench->watch));
    assert_ok(loop_timer_create(bench->loop, bench_stop, bench, &bench->timer));
    assert_int_equal(write(bench->far, "a", 1), 1);
    loop_watch_set(bench->watch, LOOP_WRITE);
    loop_run(bench->loop);

    /* The write event, then the timer; the waiting byte was not asked for. */
    assert_int_equal(bench->n_calls, 2);
    assert_int_equal(bench->ready, LOOP_WRITE);
}

static void
watch_destroy_itself(void *owner, enum loop_interest ready)
{
    struct bench *bench = owner;

    bench->n_calls++;
    loop_watch_destroy(bench->watch);
    bench->watch = NULL;
    loop_stop(bench->loop);
}

static void
watch_may_be_destroyed_by_its_own_callback(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_watch_create(bench->loop, bench->near, watch_destroy_itself,
                                bench, &bench->watch));
    assert_int_equal(write(bench->far, "a", 1), 1);
    loop_watch_set(bench->watch, LOOP_READ | LOOP_WRITE);
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 1);
}

static void
watch_sees_a_hang_up(void **state)
{
    struct bench *bench = *state;

    assert_ok(loop_watch_create(bench->loop, bench->near, watch_destroy_itself,
                                bench, &bench->watch));
    close(bench->far);
    bench->far = -1;
    loop_watch_set(bench->watch, LOOP_READ);
    loop_run(bench->loop);
    assert_int_equal(bench->n_calls, 1);
}

static void
destroy_of_none_is_fine(void **state)
{
    loop_timer_destroy(NULL);
    loop_watch_destroy(NULL);
    loop_destroy(NULL);
}

static bool
is_second(void *context)
{
    struct bench *bench = context;

    return ++bench->n_calls == 2;
}

static void
run_that_asks_is_interrupted_or_stopped(void **state)
{
    struct bench *bench = *state;

    interrupt_set(is_second, bench);
    assert_int_equal(loop_run_interruptible(bench->loop), HOOP_E_CANCELLED);
    assert_int_equal(bench->n_calls, 2);
    interrupt_set(NULL, NULL);
    loop_stop(bench->loop);
    assert_ok(loop_run_interruptible(bench->loop));
    assert_int_equal(bench->n_calls, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loop_stop_before_run_is_remembered_once,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(loop_post_is_not_run_within_the_call,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(loop_forgets_the_posts_of_one_owner,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(loop_post_left_behind_is_dropped,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(
            loop_posts_of_four_threads_arrive_once_and_in_order, bench_open,
            bench_close),
        cmocka_unit_test_setup_teardown(loop_stop_from_another_thread_ends_run,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(timer_fires_once_and_not_early,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(timer_start_replaces_and_stop_cancels,
                                        bench_open, bench_close),
        cmocka_unit_test_setup_teardown(
            timer_may_be_destroyed_by_its_own_callback, bench_open,
            bench_close),
        cmocka_unit_test_setup_teardown(watch_is_level_triggered, bench_open,
                                        bench_close),
        cmocka_unit_test_setup_teardown(
            watch_reports_nothing_it_was_not_asked_for, bench_open,
            bench_close),
        cmocka_unit_test_setup_teardown(
            watch_may_be_destroyed_by_its_own_callback, bench_open,
            bench_close),
        cmocka_unit_test_setup_teardown(watch_sees_a_hang_up, bench_open,
                                        bench_close),
        cmocka_unit_test_setup_teardown(run_that_asks_is_interrupted_or_stopped,
                                        bench_open, bench_close),
        cmocka_unit_test(destroy_of_none_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
