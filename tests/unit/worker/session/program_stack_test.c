/* tests/unit/worker/session/program_stack_test.c - who reads the stack, and who
 * waits for it */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "session/program_stack.h"

static const char STACK[] = "a.py:1 in f\na.py:1 in f\na.py:9";

/* A reader waits for a byte from gate, as for a lock. */
static int gate[2];
static atomic_int n_begun;
static int n_reads;

static void
read_now(char *text, size_t n_bytes)
{
    n_reads++;
    snprintf(text, n_bytes, "%s", STACK);
}

static void
read_late(char *text, size_t n_bytes)
{
    char byte;

    atomic_fetch_add(&n_begun, 1);
    while (read(gate[0], &byte, 1) < 0 && errno == EINTR) {
    }
    read_now(text, n_bytes);
}

/* It fills its room and forgets the final 0. */
static void
read_endless(char *text, size_t n_bytes)
{
    memset(text, 'x', n_bytes);
}

/* A loop that ends when the stack has been waited for. */
struct asker {
    struct loop *loop;
    struct stack_wait *wait;
    unsigned n_ends;
    char text[LIMIT_PROGRAM_STACK];
};

static void
asker_on_end(void *owner)
{
    struct asker *asker = owner;

    asker->n_ends++;
    program_stack_copy(asker->text);
    loop_stop(asker->loop);
}

static void
asker_init(struct asker *asker)
{
    *asker = (struct asker){0};
    assert_ok(loop_create(&asker->loop));
    assert_ok(
        stack_wait_create(asker->loop, asker_on_end, asker, &asker->wait));
}

static const char *
asker_ask(struct asker *asker)
{
    asker->n_ends = 0;
    stack_wait_start(asker->wait);
    loop_run(asker->loop);
    assert_int_equal(asker->n_ends, 1);
    return asker->text;
}

static void
asker_deinit_at(struct asker *asker)
{
    stack_wait_destroy(asker->wait);
    loop_destroy(asker->loop);
    hoop_set_stack_reader(NULL);
}

static void
program_without_a_reader_tells_nothing(void **state)
{
    CLEANUP(asker_deinit) struct asker asker;

    asker_init(&asker);
    assert_false(program_stack_ask());
    assert_string_equal(asker_ask(&asker), "");
}

static void
stack_is_read_anew_for_each_question(void **state)
{
    CLEANUP(asker_deinit) struct asker asker;

    asker_init(&asker);
    n_reads = 0;
    hoop_set_stack_reader(read_now);
    assert_string_equal(asker_ask(&asker), STACK);
    assert_string_equal(asker_ask(&asker), STACK);
    assert_int_equal(n_reads, 2);
    hoop_set_stack_reader(read_endless);
    assert_int_equal(strlen(asker_ask(&asker)), LIMIT_PROGRAM_STACK - 1);
    hoop_set_stack_reader(NULL);
    assert_string_equal(asker_ask(&asker), "");
}

/* As while C code holds the interpreter's lock. */
static void
reader_that_has_to_wait_holds_up_no_answer(void **state)
{
    CLEANUP(asker_deinit) struct asker asker;

    asker_init(&asker);
    n_reads = 0;
    atomic_store(&n_begun, 0);
    assert_int_equal(pipe(gate), 0);
    hoop_set_stack_reader(read_late);
    const uint64_t began_ns = clock_now_ns();

    assert_non_null(strstr(asker_ask(&asker), "has not told its stack"));
    assert_true(clock_now_ns() - began_ns >=
                LIMIT_PROGRAM_STACK_MS * CLOCK_NS_PER_MS);
    /* The second question waits for the same reader. */
    assert_non_null(strstr(asker_ask(&asker), "has not told its stack"));
    assert_int_equal(write(gate[1], "x", 1), 1);
    hoop_set_stack_reader(NULL);
    assert_int_equal(n_reads, 1);
    assert_int_equal(atomic_load(&n_begun), 1);
    assert_false(program_stack_is_pending());
    close(gate[0]);
    close(gate[1]);
}

/* The thread that reads is not in the child, which can ask again. */
static void
child_of_a_process_that_reads_can_ask(void **state)
{
    CLEANUP(asker_deinit) struct asker asker;
    int how = 0;

    asker_init(&asker);
    assert_int_equal(pipe(gate), 0);
    hoop_set_stack_reader(read_late);
    assert_true(program_stack_ask());
    const pid_t child = fork();

    if (child == 0) {
        if (program_stack_is_pending())
            _exit(1);
        hoop_set_stack_reader(NULL);
        _exit(program_stack_ask() ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_true(program_stack_is_pending());
    assert_int_equal(write(gate[1], "x", 1), 1);
    hoop_set_stack_reader(NULL);
    close(gate[0]);
    close(gate[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_without_a_reader_tells_nothing),
        cmocka_unit_test(stack_is_read_anew_for_each_question),
        cmocka_unit_test(reader_that_has_to_wait_holds_up_no_answer),
        cmocka_unit_test(child_of_a_process_that_reads_can_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
