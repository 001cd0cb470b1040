/*
 * tests/integration/hoopd_join_test.c - joining a job at a real hoopd
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/random.h"
#include "check.h"
#include "integration/crowd.h"
#include "integration/daemon.h"

static int
setup(void **state)
{
    static struct daemon daemon;
    const char *arguments[] = {"--lease=30", NULL};

    daemon_start(&daemon, arguments);
    *state = &daemon;
    return 0;
}

static int
teardown(void **state)
{
    daemon_stop(*state);
    return 0;
}

static void
job_open(struct crowd *crowd, void **state, const char *job, size_t n_clients)
{
    const struct daemon *daemon = *state;

    crowd_open(crowd, &(struct crowd_options){.address = daemon->address,
                                              .job = job,
                                              .token = "secret",
                                              .n_clients = n_clients});
}

static void
joiners_init(struct joiner *joiners, const struct crowd *crowd, uint32_t size)
{
    for (size_t i = 0; i < crowd->n_clients; i++)
        joiner_init(&joiners[i], crowd->clients[i], size);
}

static void
joiners_deinit(struct joiner *joiners, size_t n_joiners)
{
    for (size_t i = 0; i < n_joiners; i++)
        joiner_deinit(&joiners[i]);
}

/* Every rank once, and the same roster with everybody in it. */
static void
world_check(const struct joiner *joiners, uint32_t size)
{
    CLEANUP(free) bool *has_rank = calloc(size, sizeof(*has_rank));

    for (uint32_t i = 0; i < size; i++) {
        const struct join_reply *reply = &joiners[i].reply;

        assert_int_equal(reply->size, size);
        assert_int_equal(reply->n_members, size);
        assert_true(reply->rank < size);
        assert_false(has_rank[reply->rank]);
        has_rank[reply->rank] = true;
        assert_true(reply->epoch == joiners[0].reply.epoch);
        assert_true(reply->seed == joiners[0].reply.seed);
        assert_true(reply->roster[reply->rank].incarnation ==
                    identity_of_incarnation(joiners[i].request.incarnation));
        assert_string_equal(reply->roster[reply->rank].host_id, "testhost");
        assert_string_equal(reply->roster[reply->rank].address,
                            joiners[i].request.address);
    }
}

static void
four_join_and_each_has_a_rank(void **state)
{
    struct joiner joiners[4];
    struct crowd crowd;

    job_open(&crowd, state, "four", 4);
    joiners_init(joiners, &crowd, 4);
    joiners_run(joiners, 4);
    world_check(joiners, 4);
    daemon_expect_log(*state, "four");
    joiners_deinit(joiners, 4);
    crowd_close(&crowd);
}

static void
requested_ranks_are_given(void **state)
{
    struct joiner joiners[3];
    struct crowd crowd;

    job_open(&crowd, state, "ranks", 3);
    joiners_init(joiners, &crowd, 3);
    joiners[0].request.rank = 2;
    joiners[1].request.rank = 0;
    joiners_run(joiners, 3);
    world_check(joiners, 3);
    assert_int_equal(joiners[0].reply.rank, 2);
    assert_int_equal(joiners[1].reply.rank, 0);
    assert_int_equal(joiners[2].reply.rank, 1);
    joiners_deinit(joiners, 3);
    crowd_close(&crowd);
}

static void
wrong_token_is_refused_on_both_sides(void **state)
{
    const struct daemon *daemon = *state;
    struct joiner right;
    struct joiner wrong;
    struct crowd crowd;
    struct crowd strangers;

    job_open(&crowd, state, "guarded", 1);
    crowd_open(&strangers, &(struct crowd_options){.address = daemon->address,
                                                   .job = "guarded",
                                                   .token = "guessed",
                                                   .n_clients = 1});
    joiner_init(&right, crowd.clients[0], 1);
    joiners_run(&right, 1);
    joiner_init(&wrong, strangers.clients[0], 1);
    joiner_start(&wrong);
    assert_int_equal(joiner_wait(&wrong), HOOP_E_UNAUTHENTICATED);
    assert_non_null(strstr(wrong.text, "token"));
    assert_null(strstr(wrong.text, "secret"));
    daemon_expect_log(daemon, "token");
    joiner_deinit(&right);
    crowd_close(&strangers);
    crowd_close(&crowd);
}

static void
late_fifth_is_refused_with_the_reason(void **state)
{
    struct joiner joiners[5];
    struct crowd crowd;

    job_open(&crowd, state, "full", 5);
    joiners_init(joiners, &crowd, 4);
    joiners_run(joiners, 4);
    joiner_start(&joiners[4]);
    /* They do not watch: it may be that they are gone. */
    assert_int_equal(joiner_wait(&joiners[4]), HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(joiners[4].text, "full"));
    daemon_expect_log(*state, joiners[4].text);
    joiners_deinit(joiners, 5);
    crowd_close(&crowd);
}

static void
duplicate_rank_is_refused_with_the_reason(void **state)
{
    struct joiner joiners[3];
    struct crowd crowd;

    job_open(&crowd, state, "twice", 3);
    joiners_init(joiners, &crowd, 2);
    joiners[0].request.rank = 1;
    joiners[1].request.rank = 1;
    joiner_start(&joiners[0]);
    daemon_expect_log(*state, "twice");
    joiner_start(&joiners[1]);
    assert_int_equal(joiner_wait(&joiners[1]), HOOP_E_EXISTS);
    assert_non_null(strstr(joiners[1].text, "rank 1"));
    daemon_expect_log(*state, joiners[1].text);

    /* Who came first is not disturbed. */
    joiner_start(&joiners[2]);
    assert_int_equal(joiner_wait(&joiners[2]), HOOP_OK);
    assert_int_equal(joiner_wait(&joiners[0]), HOOP_OK);
    assert_int_equal(joiners[0].reply.rank, 1);
    joiners_deinit(joiners, 3);
    crowd_close(&crowd);
}

static void
join_deadline_names_what_is_missing_on_both_sides(void **state)
{
    struct joiner joiners[3];
    struct crowd crowd;

    job_open(&crowd, state, "short", 3);
    joiners_init(joiners, &crowd, 4);
    for (uint32_t i = 0; i < 3; i++) {
        joiners[i].request.rank = i == 2 ? 3 : i;
        joiners[i].request.deadline_ms = 2000;
        joiner_start(&joiners[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(joiner_wait(&joiners[i]), HOOP_E_TIMEOUT);
        assert_string_equal(joiners[i].text, joiners[0].text);
    }
    assert_non_null(strstr(joiners[0].text, "3 of 4"));
    assert_non_null(strstr(joiners[0].text, "rank 2"));
    daemon_expect_log(*state, joiners[0].text);
    joiners_deinit(joiners, 3);
    crowd_close(&crowd);
}

static void
two_jobs_at_once_then_a_third_of_the_same_name(void **state)
{
    struct joiner joiners[4];
    struct crowd left;
    struct crowd right;

    job_open(&left, state, "left", 2);
    job_open(&right, state, "right", 2);
    joiners_init(joiners, &left, 2);
    joiners_init(joiners + 2, &right, 2);
    joiners_run(joiners, 4);
    world_check(joiners, 2);
    world_check(joiners + 2, 2);
    assert_true(joiners[0].reply.epoch != joiners[2].reply.epoch);
    const uint64_t before = joiners[0].reply.epoch;

    assert_int_equal(member_leave(&joiners[0]), HOOP_OK);
    assert_int_equal(member_leave(&joiners[1]), HOOP_OK);
    joiners_deinit(joiners, 4);
    joiners_init(joiners, &left, 2);
    joiners_run(joiners, 2);
    world_check(joiners, 2);
    assert_true(joiners[0].reply.epoch > before);
    joiners_deinit(joiners, 2);
    crowd_close(&left);
    crowd_close(&right);
}

static void
other_protocol_version_is_refused(void **state)
{
    struct joiner joiner;
    struct crowd crowd;

    job_open(&crowd, state, "newer", 1);
    joiner_init(&joiner, crowd.clients[0], 1);
    joiner.request.protocol = RENDEZVOUS_PROTOCOL + 1;
    joiner_start(&joiner);
    assert_int_not_equal(joiner_wait(&joiner), HOOP_OK);
    assert_non_null(strstr(joiner.text, "version"));
    crowd_close(&crowd);
}

static void
sixty_four_join_at_once(void **state)
{
    enum {
        MANY = 64
    };
    CLEANUP(free) struct joiner *joiners = calloc(MANY, sizeof(*joiners));
    struct crowd crowd;

    job_open(&crowd, state, "many", MANY);
    joiners_init(joiners, &crowd, MANY);
    joiners_run(joiners, MANY);
    world_check(joiners, MANY);
    joiners_deinit(joiners, MANY);
    crowd_close(&crowd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_join_and_each_has_a_rank),
        cmocka_unit_test(requested_ranks_are_given),
        cmocka_unit_test(wrong_token_is_refused_on_both_sides),
        cmocka_unit_test(late_fifth_is_refused_with_the_reason),
        cmocka_unit_test(duplicate_rank_is_refused_with_the_reason),
        cmocka_unit_test(join_deadline_names_what_is_missing_on_both_sides),
        cmocka_unit_test(two_jobs_at_once_then_a_third_of_the_same_name),
        cmocka_unit_test(other_protocol_version_is_refused),
        cmocka_unit_test(sixty_four_join_at_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
