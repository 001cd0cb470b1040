/* tests/unit/common/base/stack_test.c - base/error.c */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"

enum {
    SMALL = 64 << 10,
    DEEP = 16 << 10,
};

static size_t left_here;
static size_t left_deeper;

static __attribute__((noinline)) void
go_deeper(void)
{
    volatile char bytes[DEEP];

    bytes[0] = 1;
    bytes[DEEP - 1] = bytes[0];
    left_deeper = stack_bytes_left();
}

static void *
measure(void *unused)
{
    left_here = stack_bytes_left();
    go_deeper();
    return NULL;
}

static void
thread_run(void *(*run)(void *), size_t n_stack)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, n_stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void
stack_left_is_less_than_the_thread_has_and_less_when_deeper(void **state)
{
    thread_run(measure, SMALL);
    assert_in_range(left_here, SMALL / 2, SMALL);
    assert_in_range(left_deeper, 1, left_here - DEEP);
}

static void
stack_left_of_the_main_thread_is_large(void **state)
{
    assert_true(stack_bytes_left() > LIMIT_STACK);
}

static ucontext_t outside;

static void
measure_inside(void)
{
    left_here = stack_bytes_left();
}

static void
stack_left_of_a_stack_of_the_programs_own_is_unknown(void **state)
{
    void *bytes = malloc(SMALL);
    ucontext_t inside;

    assert_non_null(bytes);
    assert_int_equal(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = bytes;
    inside.uc_stack.ss_size = SMALL;
    inside.uc_link = &outside;
    makecontext(&inside, measure_inside, 0);
    assert_int_equal(swapcontext(&outside, &inside), 0);
    assert_int_equal(left_here, SIZE_MAX);
    free(bytes);
}

static bool is_large;
static char text[LIMIT_ERROR_TEXT];

static void *
begin_call(void *unused)
{
    is_large = error_begin_call();
    strcpy(text, error_text());
    return NULL;
}

static void
call_on_a_small_stack_does_not_begin(void **state)
{
    thread_run(begin_call, SMALL);
    assert_false(is_large);
    assert_non_null(strstr(text, "bytes of stack left"));
    thread_run(begin_call, 2 * LIMIT_STACK);
    assert_true(is_large);
    assert_string_equal(text, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            stack_left_is_less_than_the_thread_has_and_less_when_deeper),
        cmocka_unit_test(stack_left_of_the_main_thread_is_large),
        cmocka_unit_test(stack_left_of_a_stack_of_the_programs_own_is_unknown),
        cmocka_unit_test(call_on_a_small_stack_does_not_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
