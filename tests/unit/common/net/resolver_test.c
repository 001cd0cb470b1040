/* tests/unit/common/net/resolver_test.c - net/resolver.c */

#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
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
    assert_ok(loop_create(&question->loop));
    assert_ok(resolver_start(question->loop, text, question_on_resolved,
                             question, &question->resolver));
    assert_int_equal(question->n_calls, 0);
}

static void
resolver_finds_localhost_on_the_loop(void **state)
{
    struct question question;

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

    question_ask(&question, "localhost:7000");
    resolver_destroy(question.resolver);
    loop_stop(question.loop);
    loop_run(question.loop);
    assert_int_equal(question.n_calls, 0);
    loop_destroy(question.loop);
    resolver_destroy(NULL);
}

static sem_t answered;

typedef int
look_up_fn(const char *node,
           const char *service,
           const struct addrinfo *hints,
           struct addrinfo **found);

/* In the place of the system's: there is no answer to one name for now. */
int
getaddrinfo(const char *node,
            const char *service,
            const struct addrinfo *hints,
            struct addrinfo **found)
{
    look_up_fn *look_up = NULL;

    if (node && strcmp(node, "stuck.test") == 0 &&
        !(hints->ai_flags & AI_NUMERICHOST)) {
        while (sem_wait(&answered) != 0)
            continue;
        return EAI_AGAIN;
    }
    *(void **)&look_up = dlsym(RTLD_NEXT, "getaddrinfo");
    return look_up(node, service, hints, found);
}

static bool
is_second(void *context)
{
    int *n_asked = context;

    return ++*n_asked == 2;
}

static void
resolver_wait_is_interrupted_or_answered(void **state)
{
    struct address found[4];
    struct loop *loop = NULL;
    size_t n = 0;
    int n_asked = 0;

    assert_int_equal(sem_init(&answered, 0, 0), 0);
    assert_ok(loop_create(&loop));
    interrupt_set(is_second, &n_asked);
    assert_int_equal(resolver_wait(loop, "stuck.test:7000", found, 4, &n),
                     HOOP_E_CANCELLED);
    assert_int_equal(n_asked, 2);
    /* The first look-up ends, too, and is nobody's. */
    sem_post(&answered);
    sem_post(&answered);
    assert_int_equal(resolver_wait(loop, "stuck.test:7000", found, 4, &n),
                     HOOP_E_TIMEOUT);
    assert_ok(resolver_wait(loop, "localhost:7000", found, 4, &n));
    assert_true(n >= 1 && address_is_loopback(&found[0]));
    assert_ok(resolver_wait(loop, "10.0.0.1:7000", found, 4, &n));
    interrupt_set(NULL, NULL);
    assert_ok(resolver_wait(loop, "localhost:7000", found, 1, &n));
    assert_int_equal(n, 1);
    loop_destroy(loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolver_finds_localhost_on_the_loop),
        cmocka_unit_test(resolver_unknown_name_gives_no_address),
        cmocka_unit_test(resolver_destroyed_early_calls_nobody),
        cmocka_unit_test(resolver_wait_is_interrupted_or_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
