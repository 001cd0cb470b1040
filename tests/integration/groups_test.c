/* tests/integration/groups_test.c - communicators formed, used, freed */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "daemon.h"
#include "workers.h"

static struct daemon hoopd;

static int
setup(void **state)
{
    (void)state;
    daemon_start(&hoopd, (const char *[]){NULL});
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    daemon_stop(&hoopd);
    return 0;
}

/* Sum of what each member has: 1 + its world rank. */
static int
sum_is_right(hoop_comm_t *comm)
{
    int64_t expected = 0;
    int64_t value = 1 + hoop_comm_world_rank(comm, hoop_comm_rank(comm));

    for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
        expected += 1 + hoop_comm_world_rank(comm, i);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64, HOOP_SUM,
                                comm) == HOOP_OK);
    WORKER_CHECK(value == expected);
    return 0;
}

/* In the order given, with messages by its own ranks. */
static int
order_body(const struct worker *worker)
{
    static const uint32_t ranks[] = {3, 0, 2};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index != 1) {
        WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) == HOOP_OK);
        const uint32_t rank = hoop_comm_rank(comm);
        const uint32_t previous = (rank + 2) % 3;
        int32_t value = (int32_t)worker->index;
        struct hoop_received received = {0};
        hoop_op_t *op = NULL;

        WORKER_CHECK(ranks[rank] == worker->index);
        WORKER_CHECK(hoop_comm_is_member(comm));
        WORKER_CHECK(hoop_comm_size(comm) == 3);
        WORKER_CHECK(hoop_comm_world_rank(comm, 0) == 3);
        WORKER_CHECK(hoop_comm_world_rank(comm, 3) == HOOP_NO_RANK);
        WORKER_CHECK(hoop_send_start(&value, 1, HOOP_INT32, (rank + 1) % 3, 7,
                                     comm, &op) == HOOP_OK);
        int32_t other = -1;
        WORKER_CHECK(hoop_recv(&other, 1, HOOP_INT32, HOOP_ANY_SOURCE, 7, comm,
                               &received) == HOOP_OK);
        WORKER_CHECK(hoop_wait(op, 10000) == HOOP_OK);
        WORKER_CHECK(received.source == previous);
        WORKER_CHECK(other == (int32_t)ranks[previous]);
        WORKER_CHECK(sum_is_right(comm) == 0);
        hoop_comm_free(comm);
    }
    WORKER_CHECK(sum_is_right(hoop_world(session)) == 0);
    hoop_leave(session);
    return 0;
}

static void
comm_create_keeps_the_order_given(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 4, order_body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comm_create_keeps_the_order_given),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
