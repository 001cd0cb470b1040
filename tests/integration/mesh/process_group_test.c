/* tests/integration/mesh/process_group_test.c - groups of tensor x data ranks
 *
 * The test checks the worked groups of eight processes, then all degrees in
 * worlds of 1, 2, 3, 4 and 8 ranks against a formula, with the communicators
 * that belong to them.
 */

#include <pthread.h>
#include <string.h>

#include "hoop/process_group.h"

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    RANKS_TRIED = 8,
};

static int
run_on_sizes(worker_fn *body)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 8};
    int n_bad = 0;

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        n_bad += (int)workers_run(hoopd.address, sizes[i], body, NULL);
    return n_bad;
}

/* Checks that the members of comm are n world ranks in this order, that it
 * adds, and that the caller has the right rank. */
static int
comm_is(hoop_comm_t *comm, const uint32_t *ranks, uint32_t n, uint32_t rank)
{
    int64_t one = 1;
    int64_t sum = 0;

    WORKER_CHECK(hoop_comm_size(comm) == n);
    WORKER_CHECK(hoop_comm_rank(comm) == rank);
    for (uint32_t i = 0; i < n; i++)
        WORKER_CHECK(hoop_comm_world_rank(comm, i) == ranks[i]);
    WORKER_CHECK(hoop_allreduce(&one, &sum, 1, HOOP_INT64, HOOP_SUM, comm) ==
                 HOOP_OK);
    WORKER_CHECK(sum == (int64_t)n);
    return 0;
}

/* Checks the first pair of communicators. */
static int
comms_are_the_lists(hoop_pg_t *group)
{
    hoop_comm_t *tp = NULL;
    hoop_comm_t *dp = NULL;
    hoop_comm_t *again = NULL;

    WORKER_CHECK(hoop_pg_tp_comm(group, &tp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_dp_comm(group, &dp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tp_comm(group, &again) == HOOP_OK && again == tp);
    WORKER_CHECK(hoop_pg_dp_comm(group, &again) == HOOP_OK && again == dp);
    WORKER_CHECK(comm_is(tp, hoop_pg_tp_ranks(group), hoop_pg_tp_size(group),
                         hoop_pg_tp_rank(group)) == 0);
    return comm_is(dp, hoop_pg_dp_ranks(group), hoop_pg_dp_size(group),
                   hoop_pg_dp_rank(group));
}

struct seen {
    uint32_t tp_ranks[RANKS_TRIED];
    uint32_t dp_ranks[RANKS_TRIED];
    uint32_t tp_rank;
    uint32_t dp_rank;
};

struct vector {
    uint32_t ranks[RANKS_TRIED];
    uint32_t n_ranks;
    uint32_t tp;
    struct seen seen[RANKS_TRIED]; /* by each rank, in ascending order */
};

static const struct vector vectors[] = {
    {{0, 1, 2, 3, 4, 5, 6, 7},
     8,
     4,
     {{{0, 1, 2, 3}, {0, 4}, 0, 0},
      {{0, 1, 2, 3}, {1, 5}, 1, 0},
      {{0, 1, 2, 3}, {2, 6}, 2, 0},
      {{0, 1, 2, 3}, {3, 7}, 3, 0},
      {{4, 5, 6, 7}, {0, 4}, 0, 1},
      {{4, 5, 6, 7}, {1, 5}, 1, 1},
      {{4, 5, 6, 7}, {2, 6}, 2, 1},
      {{4, 5, 6, 7}, {3, 7}, 3, 1}}},
    {{0, 1, 2, 3, 4, 5, 6, 7},
     8,
     2,
     {{{0, 1}, {0, 2, 4, 6}, 0, 0},
      {{0, 1}, {1, 3, 5, 7}, 1, 0},
      {{2, 3}, {0, 2, 4, 6}, 0, 1},
      {{2, 3}, {1, 3, 5, 7}, 1, 1},
      {{4, 5}, {0, 2, 4, 6}, 0, 2},
      {{4, 5}, {1, 3, 5, 7}, 1, 2},
      {{6, 7}, {0, 2, 4, 6}, 0, 3},
      {{6, 7}, {1, 3, 5, 7}, 1, 3}}},
    {{2, 3, 6, 7},
     4,
     2,
     {{{2, 3}, {2, 6}, 0, 0},
      {{2, 3}, {3, 7}, 1, 0},
      {{6, 7}, {2, 6}, 0, 1},
      {{6, 7}, {3, 7}, 1, 1}}},
    {{7, 6, 3, 2},
     4,
     2,
     {{{2, 3}, {2, 6}, 0, 0},
      {{2, 3}, {3, 7}, 1, 0},
      {{6, 7}, {2, 6}, 0, 1},
      {{6, 7}, {3, 7}, 1, 1}}},
    {{1, 2, 3, 4},
     4,
     4,
     {{{1, 2, 3, 4}, {1}, 0, 0},
      {{1, 2, 3, 4}, {2}, 1, 0},
      {{1, 2, 3, 4}, {3}, 2, 0},
      {{1, 2, 3, 4}, {4}, 3, 0}}},
};

static int
is_seen(hoop_pg_t *group, const struct vector *vector, const struct seen *seen)
{
    const uint32_t dp = vector->n_ranks / vector->tp;

    WORKER_CHECK(hoop_pg_tp_size(group) == vector->tp);
    WORKER_CHECK(hoop_pg_dp_size(group) == dp);
    WORKER_CHECK(hoop_pg_tp_rank(group) == seen->tp_rank);
    WORKER_CHECK(hoop_pg_dp_rank(group) == seen->dp_rank);
    WORKER_CHECK(memcmp(hoop_pg_tp_ranks(group), seen->tp_ranks,
                        vector->tp * sizeof(uint32_t)) == 0);
    WORKER_CHECK(memcmp(hoop_pg_dp_ranks(group), seen->dp_ranks,
                        dp * sizeof(uint32_t)) == 0);
    return comms_are_the_lists(group);
}

/* A process outside of the group has no rows, and is a member of no
 * communicator. */
static int
is_outside(hoop_pg_t *group)
{
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(!hoop_pg_tp_ranks(group) && !hoop_pg_dp_ranks(group));
    WORKER_CHECK(hoop_pg_tp_size(group) == 0 && hoop_pg_dp_size(group) == 0);
    WORKER_CHECK(hoop_pg_tp_rank(group) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_pg_dp_rank(group) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_pg_tp_comm(group, &comm) == HOOP_OK);
    WORKER_CHECK(!hoop_comm_is_member(comm));
    WORKER_CHECK(hoop_pg_dp_comm(group, &comm) == HOOP_OK);
    WORKER_CHECK(!hoop_comm_is_member(comm));
    WORKER_CHECK(hoop_pg_set_cpu_groups(group) == HOOP_OK);
    WORKER_CHECK(hoop_pg_cpu_tp_comm(group, &comm) == HOOP_OK);
    WORKER_CHECK(!hoop_comm_is_member(comm));
    return 0;
}

static int
vector_holds(hoop_session_t *session, const struct vector *vector)
{
    const uint32_t rank = hoop_comm_rank(hoop_world(session));
    const uint32_t *ranks = NULL;
    const struct seen *seen = NULL;
    hoop_pg_t *group = NULL;
    int result = 0;
    struct vector given = *vector;

    WORKER_CHECK(hoop_pg_create(session,
                                &(struct hoop_pg_options){
                                    given.ranks, given.n_ranks, given.tp, 0},
                                &group) == HOOP_OK);
    WORKER_CHECK(memcmp(&given, vector, sizeof(given)) == 0);
    WORKER_CHECK(hoop_pg_rank(group) == rank);
    WORKER_CHECK(hoop_pg_world_size(group) == vector->n_ranks);
    ranks = hoop_pg_ranks(group);
    for (uint32_t i = 0; i < vector->n_ranks; i++) {
        WORKER_CHECK(i == 0 || ranks[i - 1] < ranks[i]);
        if (ranks[i] == rank)
            seen = &vector->seen[i];
    }
    result = seen ? is_seen(group, vector, seen) : is_outside(group);
    if (result == 0 && seen)
        WORKER_CHECK(hoop_pg_set_cpu_groups(group) == HOOP_OK);
    hoop_pg_free(group);
    return result;
}

static int
groups_have_the_worked_rows_and_columns(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        WORKER_CHECK(vector_holds(session, &vectors[i]) == 0);
    hoop_leave(session);
    return 0;
}

static int
by_formula(hoop_pg_t *group, uint32_t rank, uint32_t n, uint32_t tp)
{
    const uint32_t dp = n / tp;

    WORKER_CHECK(hoop_pg_world_size(group) == n);
    WORKER_CHECK(hoop_pg_tp_size(group) == tp);
    WORKER_CHECK(hoop_pg_dp_size(group) == dp);
    WORKER_CHECK(hoop_pg_tp_rank(group) == rank % tp);
    WORKER_CHECK(hoop_pg_dp_rank(group) == rank / tp);
    for (uint32_t i = 0; i < n; i++)
        WORKER_CHECK(hoop_pg_ranks(group)[i] == i);
    for (uint32_t i = 0; i < tp; i++)
        WORKER_CHECK(hoop_pg_tp_ranks(group)[i] == rank - rank % tp + i);
    for (uint32_t i = 0; i < dp; i++)
        WORKER_CHECK(hoop_pg_dp_ranks(group)[i] == rank % tp + i * tp);
    return comms_are_the_lists(group);
}

/* Starts sums on both communicators at the same time, and in another order on
 * every other rank. Messages of one must not match those of the other. */
static int
are_independent(hoop_comm_t *one, hoop_comm_t *other)
{
    int64_t mine[2] = {1, 1000};
    int64_t sums[2] = {0, 0};
    hoop_comm_t *const comms[2] = {one, other};
    hoop_op_t *ops[2];
    const uint32_t first = hoop_comm_rank(one) % 2;

    WORKER_CHECK(one != other);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = (first + i) % 2;

        WORKER_CHECK(hoop_allreduce_start(&mine[at], &sums[at], 1, HOOP_INT64,
                                          HOOP_SUM, comms[at],
                                          &ops[at]) == HOOP_OK);
    }
    for (uint32_t i = 0; i < 2; i++)
        WORKER_CHECK(hoop_wait(ops[i], HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(sums[0] == (int64_t)hoop_comm_size(one));
    WORKER_CHECK(sums[1] == 1000 * (int64_t)hoop_comm_size(other));
    return 0;
}

static int
second_pair_is_its_own(hoop_pg_t *group)
{
    hoop_comm_t *tp = NULL;
    hoop_comm_t *dp = NULL;
    hoop_comm_t *cpu_tp = NULL;
    hoop_comm_t *cpu_dp = NULL;

    WORKER_CHECK(!hoop_pg_has_cpu_groups(group));
    WORKER_CHECK(hoop_pg_cpu_tp_comm(group, &cpu_tp) == HOOP_E_PRECONDITION);
    WORKER_CHECK(strstr(hoop_error_text(), "hoop_pg_set_cpu_groups()"));
    WORKER_CHECK(hoop_pg_cpu_dp_comm(group, &cpu_dp) == HOOP_E_PRECONDITION);
    WORKER_CHECK(!cpu_tp && !cpu_dp);
    /* Some ranks already have the first pair, and the others form it now. */
    if (hoop_pg_dp_rank(group) % 2 == 1)
        WORKER_CHECK(hoop_pg_tp_comm(group, &tp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_set_cpu_groups(group) == HOOP_OK);
    WORKER_CHECK(hoop_pg_has_cpu_groups(group));
    WORKER_CHECK(hoop_pg_set_cpu_groups(group) == HOOP_OK);
    WORKER_CHECK(hoop_pg_cpu_dp_comm(group, &cpu_dp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_cpu_tp_comm(group, &cpu_tp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_dp_comm(group, &dp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tp_comm(group, &tp) == HOOP_OK);
    WORKER_CHECK(are_independent(tp, cpu_tp) == 0);
    WORKER_CHECK(are_independent(dp, cpu_dp) == 0);
    WORKER_CHECK(comm_is(cpu_tp, hoop_pg_tp_ranks(group),
                         hoop_pg_tp_size(group), hoop_pg_tp_rank(group)) == 0);
    return comm_is(cpu_dp, hoop_pg_dp_ranks(group), hoop_pg_dp_size(group),
                   hoop_pg_dp_rank(group));
}

static int
degrees_hold(hoop_session_t *session, uint32_t n, uint32_t tp)
{
    const uint32_t rank = hoop_comm_rank(hoop_world(session));
    hoop_pg_t *by_tp = NULL;
    hoop_pg_t *by_dp = NULL;

    WORKER_CHECK(hoop_pg_create(session,
                                &(struct hoop_pg_options){.tp_degree = tp},
                                &by_tp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(session,
                                &(struct hoop_pg_options){.dp_degree = n / tp},
                                &by_dp) == HOOP_OK);
    /* All ranks use the second pair before the first. */
    WORKER_CHECK(second_pair_is_its_own(by_dp) == 0);
    WORKER_CHECK(by_formula(by_tp, rank, n, tp) == 0);
    WORKER_CHECK(by_formula(by_dp, rank, n, tp) == 0);
    WORKER_CHECK(hoop_pg_equal(by_tp, by_dp));
    hoop_pg_free(by_tp);
    hoop_pg_free(by_dp);
    return 0;
}

static int
degrees_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const uint32_t n = worker->n_workers;
    hoop_session_t *session = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (uint32_t tp = 1; tp <= n; tp++) {
        if (n % tp == 0)
            WORKER_CHECK(degrees_hold(session, n, tp) == 0);
    }
    hoop_leave(session);
    return 0;
}

static void
groups_of_all_degrees_have_their_communicators(void **state)
{
    assert_int_equal(run_on_sizes(degrees_body), 0);
}

static int
defaults_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const uint32_t n = worker->n_workers;
    hoop_session_t *session = NULL;
    hoop_pg_t *none = NULL;
    hoop_pg_t *zeros = NULL;
    hoop_pg_t *row = NULL;
    hoop_pg_t *alone = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    const uint32_t rank = hoop_comm_rank(hoop_world(session));
    WORKER_CHECK(hoop_pg_create(session, NULL, &none) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(session, &(struct hoop_pg_options){0},
                                &zeros) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(
                     session,
                     &(struct hoop_pg_options){.tp_degree = n, .dp_degree = 1},
                     &row) == HOOP_OK);
    WORKER_CHECK(
        hoop_pg_create(session,
                       &(struct hoop_pg_options){.ranks = &rank, .n_ranks = 1},
                       &alone) == HOOP_OK);
    WORKER_CHECK(by_formula(none, rank, n, 1) == 0);
    WORKER_CHECK(by_formula(row, rank, n, n) == 0);
    WORKER_CHECK(comms_are_the_lists(alone) == 0);
    WORKER_CHECK(hoop_pg_equal(none, none) && hoop_pg_equal(none, zeros));
    WORKER_CHECK(hoop_pg_equal(none, row) == (n == 1));
    WORKER_CHECK(hoop_pg_equal(none, alone) == (n == 1));
    WORKER_CHECK(!hoop_pg_equal(none, NULL) && !hoop_pg_equal(NULL, none));
    hoop_pg_free(alone);
    hoop_pg_free(row);
    hoop_pg_free(zeros);
    hoop_pg_free(none);
    hoop_pg_free(NULL);
    hoop_leave(session);
    return 0;
}

static void
groups_without_options_have_all_ranks(void **state)
{
    assert_int_equal(run_on_sizes(defaults_body), 0);
}

struct asking {
    hoop_pg_t *group;
    enum hoop_status status;
};

static void *
ask(void *argument)
{
    struct asking *asking = argument;

    asking->status = hoop_pg_set_cpu_groups(asking->group);
    return NULL;
}

/* Three threads use one group. The pairs must be right whichever thread is
 * first. */
static int
groups_form_both_pairs_for_several_threads(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    struct asking askings[3];
    pthread_t threads[COUNT_OF(askings)];
    hoop_session_t *session = NULL;
    hoop_pg_t *group = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(session,
                                &(struct hoop_pg_options){.tp_degree = 2},
                                &group) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(askings); i++) {
        askings[i] = (struct asking){group, HOOP_OK};
        WORKER_CHECK(pthread_create(&threads[i], NULL, ask, &askings[i]) == 0);
    }
    WORKER_CHECK(comms_are_the_lists(group) == 0);
    for (size_t i = 0; i < COUNT_OF(askings); i++) {
        WORKER_CHECK(pthread_join(threads[i], NULL) == 0);
        WORKER_CHECK(askings[i].status == HOOP_OK);
    }
    hoop_comm_t *tp = NULL;
    hoop_comm_t *cpu_tp = NULL;
    WORKER_CHECK(hoop_pg_tp_comm(group, &tp) == HOOP_OK);
    WORKER_CHECK(hoop_pg_cpu_tp_comm(group, &cpu_tp) == HOOP_OK);
    WORKER_CHECK(are_independent(tp, cpu_tp) == 0);
    hoop_pg_free(group);
    hoop_leave(session);
    return 0;
}

/*
 * The rest of the file tests invalid groups.
 *
 * The error is the same on every rank of worlds of 1, 2, 3, 4 and 8 ranks.
 */

static int
refused(hoop_session_t *session,
        const struct hoop_pg_options *options,
        const char *why)
{
    hoop_pg_t *group = NULL;

    WORKER_CHECK(hoop_pg_create(session, options, &group) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), why));
    WORKER_CHECK(!group);
    return 0;
}

static int
wrong_groups(hoop_session_t *session, uint32_t n)
{
    const uint32_t outside[] = {0, n};
    const uint32_t twice[] = {0, 0};
    const struct {
        struct hoop_pg_options options;
        const char *why;
    } rows[] = {
        {{.tp_degree = n + 1}, "does not divide"},
        {{.dp_degree = n + 1}, "does not divide"},
        {{.tp_degree = n, .dp_degree = 2}, "times"},
        {{.ranks = outside, .n_ranks = 2}, "ranks[1] is"},
        {{.ranks = twice, .n_ranks = 2}, "twice"},
        {{.ranks = outside}, "at least one rank"},
        {{.n_ranks = 1}, "ranks is NULL"},
        {{.ranks = outside, .n_ranks = 1, .tp_degree = 2}, "does not divide"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        WORKER_CHECK(refused(session, &rows[i].options, rows[i].why) == 0);
    return refused(NULL, NULL, "session is NULL");
}

static int
wrong_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    hoop_pg_t *group = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(wrong_groups(session, worker->n_workers) == 0);
    WORKER_CHECK(hoop_pg_create(session, NULL, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_pg_create(session, NULL, &group) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tp_comm(group, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_pg_tp_comm(NULL, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_pg_dp_comm(NULL, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_pg_cpu_tp_comm(NULL, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_pg_cpu_dp_comm(NULL, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_pg_set_cpu_groups(NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!comm && !hoop_pg_has_cpu_groups(NULL));
    WORKER_CHECK(hoop_pg_rank(NULL) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_pg_world_size(NULL) == 0 && !hoop_pg_ranks(NULL));
    WORKER_CHECK(hoop_pg_tp_size(NULL) == 0 && !hoop_pg_tp_ranks(NULL));
    WORKER_CHECK(hoop_pg_dp_size(NULL) == 0 && !hoop_pg_dp_ranks(NULL));
    WORKER_CHECK(hoop_pg_tp_rank(NULL) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_pg_dp_rank(NULL) == HOOP_NO_RANK);
    hoop_pg_free(group);
    hoop_leave(session);
    return 0;
}

static void
groups_that_are_wrong_are_refused_on_all_ranks(void **state)
{
    assert_int_equal(run_on_sizes(wrong_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(groups_have_the_worked_rows_and_columns, 8),
        cmocka_unit_test(groups_of_all_degrees_have_their_communicators),
        cmocka_unit_test(groups_without_options_have_all_ranks),
        WORKERS_TEST(groups_form_both_pairs_for_several_threads, 4),
        cmocka_unit_test(groups_that_are_wrong_are_refused_on_all_ranks),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
