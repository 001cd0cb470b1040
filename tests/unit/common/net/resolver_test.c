/* tests/unit/common/net/resolver_test.c - net/resolver.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "net/loop.h"
#include "net/resolver.h"

struct question {
    struct loop *loop;
    struct resolver *resolver;
    size_t n_calls;
    size_t n_addresses;
    struct address first;
    char why[64];
};

static void
question_on_resolved(void *owner,
                     const struct address *addresses,
                     size_t n_addresses,
                     const char *why)
{
    struct question *question = owner;

    question->n_calls++;
    question->n_addresses = n_addresses;
    snprintf(question->why, sizeof(question->why), "%s", why);
    if (n_addresses > 0)
        question->first = addresses[0];
    resolver_destroy(question->resolver);
    loop_stop(question->loop);
}

static void
question_ask(struct question *question, const char *text)
{
    *question = (struct question){0};
    assert_int_equal(loop_create(&question->loop), HOOP_OK);
    assert_int_equal(resolver_start(question->loop, text, question_on_resolved,
                                    question, &question->resolver),
                     HOOP_OK);
    assert_int_equal(question->n_calls, 0);
}

static void
resolver_finds_localhost_on_the_loop(void **state)
{
    struct question question;

    (void)state;
    question_ask(&question, "localhost:7000");
    loop_run(question.loop);
    assert_int_equal(question.n_calls, 1);
    assert_true(question.n_addresses >= 1);
    assert_true(address_is_loopback(&question.first));
    assert_int_equal(address_port(&question.first), 7000);
    loop_destroy(question.loop);
}

static void
resolver_unknown_name_gives_no_address(void **state)
{
    struct question question;

    (void)state;
    question_ask(&question, "no-such-host.invalid:7000");
    loop_run(question.loop);
    assert_int_equal(question.n_calls, 1);
    assert_int_equal(question.n_addresses, 0);
    assert_ptr_equal(strstr(question.why, "cannot resolve 'no-such-host.inva"),
                     question.why);
    loop_destroy(question.loop);
}

static void
resolver_destroyed_early_calls_nobody(void **state)
{
    struct question question;

    (void)state;
    question_ask(&question, "localhost:7000");
    resolver_destroy(question.resolver);
    loop_stop(question.loop);
    loop_run(question.loop);
    assert_int_equal(question.n_calls, 0);
    loop_destroy(question.loop);
    resolver_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolver_finds_localhost_on_the_loop),
        cmocka_unit_test(resolver_unknown_name_gives_no_address),
        cmocka_unit_test(resolver_destroyed_early_calls_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
