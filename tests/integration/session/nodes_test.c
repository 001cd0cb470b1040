/*
 * tests/integration/session/nodes_test.c - groups on a machine that plays two
 * nodes
 *
 * There are four processes. Two each share a HOOP_NODE: the node is rank / 2,
 * and the local rank is rank % 2.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

struct expected {
    uint32_t n_ranks;
    uint32_t ranks[4];
};

typedef enum hoop_status
part_fn(hoop_group_t *group, hoop_comm_t **out_comm);

/* Checks that the communicator has these world ranks in this order, and works.
 * A rank that is not among them must have one of which it is no member. */
static int
part_is(hoop_group_t *group,
        part_fn *part,
        const struct expected *expected,
        uint32_t here)
{
    hoop_comm_t *comm = NULL;
    hoop_comm_t *again = NULL;
    uint32_t place = HOOP_NO_RANK;
    int64_t sum = 0;
    int64_t value = here;

    for (uint32_t i = 0; i < expected->n_ranks; i++) {
        sum += expected->ranks[i];
        if (expected->ranks[i] == here)
            place = i;
    }
    const bool is_member = place != HOOP_NO_RANK;
    WORKER_CHECK(part(group, &comm) == HOOP_OK);
    WORKER_CHECK(part(group, &again) == HOOP_OK && comm == again);
    WORKER_CHECK(hoop_comm_is_member(comm) == is_member);
    WORKER_CHECK(hoop_comm_rank(comm) == place);
    WORKER_CHECK(hoop_comm_size(comm) == (is_member ? expected->n_ranks : 0));
    for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
        WORKER_CHECK(hoop_comm_world_rank(comm, i) == expected->ranks[i]);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64, HOOP_SUM,
                                comm) == HOOP_OK);
    WORKER_CHECK(value == (is_member ? sum : here));
    return 0;
}

struct group_case {
    struct expected group;
    struct expected inter;
    struct expected intra[4]; /* by rank */
};

static const struct group_case cases[] = {
    {{4, {0, 1, 2, 3}},
     {2, {0, 2}},
     {{2, {0, 1}}, {2, {0, 1}}, {2, {2, 3}}, {2, {2, 3}}}},
    {{3, {1, 2, 3}},
     {2, {1, 3}},
     {{1, {1}}, {1, {1}}, {2, {2, 3}}, {2, {2, 3}}}},
    {{2, {0, 3}}, {1, {0}}, {{1, {0}}, {1, {0}}, {1, {3}}, {1, {3}}}},
    {{2, {1, 3}}, {2, {1, 3}}, {{1, {1}}, {1, {1}}, {1, {3}}, {1, {3}}}},
    /* Node 1 has no member, so its processes are in no communicator. */
    {{2, {0, 1}}, {1, {0}}, {{2, {0, 1}}, {2, {0, 1}}, {0}, {0}}},
};

static int
case_check(hoop_session_t *session,
           const struct group_case *test,
           uint32_t here)
{
    hoop_group_t *group = NULL;

    WORKER_CHECK(hoop_group_create(session, test->group.ranks,
                                   test->group.n_ranks, &group) == HOOP_OK);
    WORKER_CHECK(hoop_group_size(group) == test->group.n_ranks);
    WORKER_CHECK(
        part_is(group, hoop_group_intra_comm, &test->intra[here], here) == 0);
    WORKER_CHECK(part_is(group, hoop_group_inter_comm, &test->inter, here) ==
                 0);
    WORKER_CHECK(part_is(group, hoop_group_global_comm, &test->group, here) ==
                 0);
    hoop_group_free(group);
    return 0;
}

static int
node_join(const struct worker *worker, hoop_session_t **out_session)
{
    const struct hoop_join_options options = worker_options(worker);
    char node[16];

    snprintf(node, sizeof(node), "node%u", worker->index / 2);
    setenv("HOOP_NODE", node, 1);
    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    return 0;
}

static int
group_has_its_node_communicators(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    WORKER_CHECK(node_join(worker, &session) == 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        WORKER_CHECK(case_check(session, &cases[i], worker->index) == 0);
    hoop_leave(session);
    return 0;
}

/* Checks that rank 0 of the group's communicator, from which its members
 * receive, is this world rank. Others must receive nothing. */
static int
first_is(hoop_group_t *group, uint32_t expected, uint32_t here)
{
    hoop_comm_t *comm = NULL;
    uint32_t heard = UINT32_MAX;

    WORKER_CHECK(hoop_group_global_comm(group, &comm) == HOOP_OK);
    WORKER_CHECK(hoop_broadcast(&here, &heard, 1, HOOP_UINT32, 0, comm) ==
                 HOOP_OK);
    WORKER_CHECK(heard == (hoop_comm_is_member(comm) ? expected : UINT32_MAX));
    return 0;
}

static int
group_create_sorts_and_from_ranks_does_not(const struct worker *worker)
{
    static const uint32_t given[] = {3, 1};
    static const uint32_t outside[] = {0, 4};
    static const uint32_t twice[] = {2, 2};
    const struct expected sorted = {2, {1, 3}};
    const struct expected kept = {2, {3, 1}};
    const struct expected all = {4, {0, 1, 2, 3}};
    hoop_session_t *session = NULL;
    hoop_group_t *group = NULL;

    WORKER_CHECK(node_join(worker, &session) == 0);
    WORKER_CHECK(hoop_group_create(session, given, 2, &group) == HOOP_OK);
    WORKER_CHECK(hoop_group_ranks(group)[0] == 1);
    WORKER_CHECK(
        part_is(group, hoop_group_global_comm, &sorted, worker->index) == 0);
    WORKER_CHECK(first_is(group, 1, worker->index) == 0);
    hoop_group_free(group);
    WORKER_CHECK(hoop_group_from_ranks(session, given, 2, &group) == HOOP_OK);
    WORKER_CHECK(part_is(group, hoop_group_global_comm, &kept, worker->index) ==
                 0);
    WORKER_CHECK(first_is(group, 3, worker->index) == 0);
    hoop_group_free(group);
    WORKER_CHECK(hoop_group_create(session, NULL, 0, &group) == HOOP_OK);
    WORKER_CHECK(part_is(group, hoop_group_global_comm, &all, worker->index) ==
                 0);
    hoop_group_free(group);

    group = NULL;
    WORKER_CHECK(hoop_group_create(session, outside, 2, &group) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_group_create(session, twice, 2, &group) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_group_create(session, given, 0, &group) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_group_create(NULL, given, 2, &group) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_group_create(session, given, 2, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!group && hoop_group_size(NULL) == 0);
    WORKER_CHECK(!hoop_group_ranks(NULL));
    hoop_comm_t *comm = NULL;
    WORKER_CHECK(hoop_group_inter_comm(NULL, &comm) == HOOP_E_INVALID);
    hoop_group_free(NULL);
    hoop_leave(session);
    return 0;
}

struct asking {
    hoop_group_t *group;
    part_fn *part;
    hoop_comm_t *comm;
    enum hoop_status status;
};

static void *
asking_run(void *owner)
{
    struct asking *asking = owner;

    asking->status = asking->part(asking->group, &asking->comm);
    return NULL;
}

/* Two threads ask for two parts, in another order on every other process. */
static int
ask_by_threads(hoop_session_t *session, bool is_odd, int64_t n_on_node)
{
    hoop_group_t *group = NULL;
    int64_t all = 1;
    int64_t here = 1;
    pthread_t thread;

    WORKER_CHECK(hoop_group_create(session, NULL, 0, &group) == HOOP_OK);
    struct asking global = {.group = group, .part = hoop_group_global_comm};
    struct asking intra = {.group = group, .part = hoop_group_intra_comm};

    WORKER_CHECK(pthread_create(&thread, NULL, asking_run,
                                is_odd ? &intra : &global) == 0);
    asking_run(is_odd ? &global : &intra);
    pthread_join(thread, NULL);
    WORKER_CHECK(global.status == HOOP_OK && intra.status == HOOP_OK);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &all, 1, HOOP_INT64, HOOP_SUM,
                                global.comm) == HOOP_OK);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &here, 1, HOOP_INT64, HOOP_SUM,
                                intra.comm) == HOOP_OK);
    WORKER_CHECK(all == 4 && here == n_on_node);
    hoop_group_free(group);
    return 0;
}

static int
parts_form_in_any_order_of_threads(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    WORKER_CHECK(node_join(worker, &session) == 0);
    for (uint32_t round = 0; round < 10; round++)
        WORKER_CHECK(ask_by_threads(session, worker->index % 2, 2) == 0);
    hoop_leave(session);
    return 0;
}

static int
one_after_another(hoop_group_t *group, part_fn *first, part_fn *second)
{
    hoop_comm_t *comms[2] = {NULL, NULL};
    int64_t value = 1;

    WORKER_CHECK(first(group, &comms[0]) == HOOP_OK);
    WORKER_CHECK(second(group, &comms[1]) == HOOP_OK);
    WORKER_CHECK(comms[0] != comms[1]);
    for (size_t i = 0; i < COUNT_OF(comms); i++)
        WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64,
                                    HOOP_SUM, comms[i]) == HOOP_OK);
    WORKER_CHECK(value == 16);
    return 0;
}

/* The communicator of the node then has the same list as the global one. */
static int
parts_of_one_node_form_in_any_order_of_threads(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_group_t *group = NULL;

    setenv("HOOP_NODE", "one", 1);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (uint32_t round = 0; round < 20; round++)
        WORKER_CHECK(ask_by_threads(session, worker->index % 2, 4) == 0);
    WORKER_CHECK(hoop_group_create(session, NULL, 0, &group) == HOOP_OK);
    WORKER_CHECK(one_after_another(group, hoop_group_intra_comm,
                                   hoop_group_global_comm) == 0);
    hoop_group_free(group);
    hoop_leave(session);
    return 0;
}

/* The second rank asks after the first has given up. Then both ask. */
static int
part_that_did_not_form_may_be_asked_for_again(const struct worker *worker)
{
    static const struct expected both = {2, {0, 1}};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_group_t *group = NULL;
    hoop_comm_t *comm = NULL;

    options.op_timeout_ms = 3000;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_group_create(session, NULL, 0, &group) == HOOP_OK);
    if (worker->index == 0) {
        WORKER_CHECK(hoop_group_global_comm(group, &comm) == HOOP_E_TIMEOUT);
        WORKER_CHECK(!comm);
        room_set(worker, 0, 1);
    } else {
        WORKER_CHECK(room_await(worker, 0));
    }
    WORKER_CHECK(part_is(group, hoop_group_global_comm, &both, worker->index) ==
                 0);
    hoop_group_free(group);
    hoop_leave(session);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(group_has_its_node_communicators, 4),
        WORKERS_TEST(group_create_sorts_and_from_ranks_does_not, 4),
        WORKERS_TEST(parts_form_in_any_order_of_threads, 4),
        WORKERS_TEST(parts_of_one_node_form_in_any_order_of_threads, 4),
        WORKERS_TEST(part_that_did_not_form_may_be_asked_for_again, 2),
    };
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
