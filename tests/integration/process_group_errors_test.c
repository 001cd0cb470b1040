/* tests/integration/process_group_errors_test.c - groups that cannot be
 *
 * The same error on every rank of worlds of 1, 2, 3, 4 and 8.
 */

#include <string.h>

#include "hoop/process_group.h"

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "workers.h"

static int
run_on_sizes(worker_fn *body)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 8};
    int n_bad = 0;

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        n_bad += (int)workers_run(hoopd.address, sizes[i], body, NULL);
    return n_bad;
}

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
    (void)state;
    assert_int_equal(run_on_sizes(wrong_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_that_are_wrong_are_refused_on_all_ranks),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
