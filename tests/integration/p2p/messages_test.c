/* tests/integration/p2p/messages_test.c - messages between real processes */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "ranks.h"

enum {
    N_MESSAGES = 300,
    LARGE = 3 << 20
};

static int32_t
value_of(uint32_t rank, int64_t tag, size_t i)
{
    return (int32_t)(rank * 1000000) + (int32_t)tag * 1000 + (int32_t)(i % 997);
}

static int
is_right(const int32_t *at, size_t n, uint32_t rank, int64_t tag)
{
    for (size_t i = 0; i < n; i++) {
        if (at[i] != value_of(rank, tag, i))
            return 0;
    }
    return 1;
}

static int32_t *
filled(size_t n, uint32_t rank, int64_t tag)
{
    int32_t *at = malloc((n + 1) * sizeof(*at));

    for (size_t i = 0; i < n; i++)
        at[i] = value_of(rank, tag, i);
    return at;
}

/* Both ranks send first. Blocking sends that fit the window must not
 * deadlock. */
static int
messages_are_exchanged(struct rank *rank)
{
    const int64_t highest = (int64_t)1 << 62;
    const uint32_t peer = 1 - rank->rank;
    int32_t mine = (int32_t)rank->rank;
    int32_t theirs = -1;
    struct hoop_received received;

    RANK_CHECK(hoop_send(&mine, 1, HOOP_INT32, peer, 5, rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_recv(&theirs, 1, HOOP_INT32, peer, 5, rank->comm,
                         &received) == HOOP_OK);
    RANK_CHECK(theirs == (int32_t)peer);
    RANK_CHECK(received.source == peer && received.count == 1);
    /* A message may be shorter than the buffer, and a message may be empty. */
    RANK_CHECK(hoop_send(NULL, 0, HOOP_INT32, peer, 6, rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_recv(NULL, 0, HOOP_INT32, peer, 6, rank->comm, &received) ==
               HOOP_OK);
    RANK_CHECK(received.source == peer && received.count == 0);
    RANK_CHECK(hoop_send(NULL, 0, HOOP_INT32, peer, highest, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(hoop_recv(&theirs, 1, HOOP_INT32, peer, highest, rank->comm,
                         &received) == HOOP_OK);
    RANK_CHECK(received.count == 0);
    return 0;
}

static int
large_body(struct rank *rank)
{
    const uint32_t peer = 1 - rank->rank;
    int32_t *mine = filled(LARGE, rank->rank, 1);
    int32_t *theirs = calloc(LARGE, sizeof(*theirs));
    hoop_op_t *ops[2];

    RANK_CHECK(hoop_send_start(mine, LARGE, HOOP_INT32, peer, 1, rank->comm,
                               &ops[0]) == HOOP_OK);
    RANK_CHECK(hoop_recv_start(theirs, LARGE, HOOP_INT32, peer, 1, rank->comm,
                               NULL, &ops[1]) == HOOP_OK);
    RANK_CHECK(hoop_wait_all(ops, 2, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_right(theirs, LARGE, peer, 1));
    free(mine);
    free(theirs);
    return 0;
}

static void
large_messages_cross(void **state)
{
    assert_int_equal(ranks_run_all(2, large_body), 0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 2, .body = large_body, .codec = "zstd"}),
                     0);
}

static size_t
count_of(size_t k)
{
    /* Some messages are above the eager limit, and all together are far above
     * the window. */
    return k % 10 == 0 ? 20000 + k : k * 17;
}

/* Receives are in the reverse order of the sends, by tag, and in order for the
 * same tag. */
static int
messages_match_by_tag_and_stay_in_order(struct rank *rank)
{
    hoop_op_t *ops[N_MESSAGES];
    int32_t *buffers[N_MESSAGES];

    if (rank->rank == 0) {
        for (size_t k = 0; k < N_MESSAGES; k++) {
            buffers[k] = filled(count_of(k), 0, (int64_t)k);
            RANK_CHECK(hoop_send_start(buffers[k], count_of(k), HOOP_INT32, 1,
                                       (int64_t)k / 2, rank->comm,
                                       &ops[k]) == HOOP_OK);
        }
        RANK_CHECK(hoop_wait_all(ops, N_MESSAGES, HOOP_FOREVER) == HOOP_OK);
    } else {
        for (size_t k = 0; k < N_MESSAGES; k++)
            buffers[k] = calloc(count_of(k) + 1, sizeof(int32_t));
        for (size_t pair = N_MESSAGES / 2; pair-- > 0;) {
            for (size_t k = 2 * pair; k < 2 * pair + 2; k++) {
                struct hoop_received received;

                RANK_CHECK(hoop_recv(buffers[k], count_of(k), HOOP_INT32, 0,
                                     (int64_t)pair, rank->comm,
                                     &received) == HOOP_OK);
                RANK_CHECK(received.count == count_of(k));
                RANK_CHECK(is_right(buffers[k], count_of(k), 0, (int64_t)k));
            }
        }
    }
    for (size_t k = 0; k < N_MESSAGES; k++)
        free(buffers[k]);
    return 0;
}

/* Rank 0 receives from any source, with messages of any size. */
static int
any_source_body(struct rank *rank)
{
    enum {
        EACH = 50,
        MOST = 40000
    };
    static const size_t sizes[] = {0, 1, 1000, MOST};
    uint32_t n_from[RANKS_MAX] = {0};

    if (rank->rank != 0) {
        for (size_t k = 0; k < EACH; k++) {
            const size_t n = sizes[k % COUNT_OF(sizes)];
            int32_t *mine = filled(n, rank->rank, (int64_t)k);

            RANK_CHECK(hoop_send(mine, n, HOOP_INT32, 0, 9, rank->comm) ==
                       HOOP_OK);
            free(mine);
        }
        return 0;
    }
    int32_t *theirs = calloc(MOST, sizeof(*theirs));
    for (size_t i = 0; i < EACH * (rank->size - 1); i++) {
        struct hoop_received received;

        RANK_CHECK(hoop_recv(theirs, MOST, HOOP_INT32, HOOP_ANY_SOURCE, 9,
                             rank->comm, &received) == HOOP_OK);
        const uint32_t k = n_from[received.source]++;
        RANK_CHECK(received.count == sizes[k % COUNT_OF(sizes)]);
        RANK_CHECK(is_right(theirs, received.count, received.source, k));
    }
    for (uint32_t source = 1; source < rank->size; source++)
        RANK_CHECK(n_from[source] == EACH);
    free(theirs);
    return 0;
}

static void
any_source_takes_what_comes_first(void **state)
{
    assert_int_equal(ranks_run_all(2, any_source_body), 0);
    assert_int_equal(ranks_run_all(5, any_source_body), 0);
}

/* A message that no rank receives does not block a collective, however large it
 * is. */
static int
unreceived_message_does_not_stop_collectives(struct rank *rank)
{
    int32_t *mine = filled(LARGE, rank->rank, 2);
    hoop_op_t *op = NULL;
    int64_t sum = rank->rank;

    if (rank->rank == 0)
        RANK_CHECK(hoop_send_start(mine, LARGE, HOOP_INT32, 1, 2, rank->comm,
                                   &op) == HOOP_OK);
    for (int i = 0; i < 50; i++)
        RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &sum, 1, HOOP_INT64, HOOP_MAX,
                                  rank->comm) == HOOP_OK);
    RANK_CHECK(sum == 1);
    if (rank->rank == 1) {
        memset(mine, 0, LARGE * sizeof(*mine));
        RANK_CHECK(hoop_recv(mine, LARGE, HOOP_INT32, 0, 2, rank->comm, NULL) ==
                   HOOP_OK);
        RANK_CHECK(is_right(mine, LARGE, 0, 2));
    } else {
        RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    }
    free(mine);
    return 0;
}

/* There are far more messages than window and announcements hold, and all are
 * received in the end. */
static int
flood_of_messages_is_bounded_and_stays_in_order(struct rank *rank)
{
    enum {
        N = 10000
    };
    static hoop_op_t *ops[N];
    static int32_t values[N];

    if (rank->rank == 0) {
        for (int32_t k = 0; k < N; k++) {
            values[k] = k;
            RANK_CHECK(hoop_send_start(&values[k], 1, HOOP_INT32, 1, k % 3,
                                       rank->comm, &ops[k]) == HOOP_OK);
        }
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
        RANK_CHECK(hoop_wait_all(ops, N, HOOP_FOREVER) == HOOP_OK);
        return 0;
    }
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (int32_t tag = 2; tag >= 0; tag--) {
        for (int32_t k = tag; k < N; k += 3) {
            int32_t value = -1;

            RANK_CHECK(hoop_recv(&value, 1, HOOP_INT32, 0, tag, rank->comm,
                                 NULL) == HOOP_OK);
            RANK_CHECK(value == k);
        }
    }
    return 0;
}

/* A rank sends to itself: send or receive first, small and large, by tag and
 * from any source. */
static int
self_body(struct rank *rank)
{
    int32_t *mine = filled(LARGE, rank->rank, 4);
    int32_t *theirs = calloc(LARGE, sizeof(*theirs));
    hoop_op_t *ops[2];
    struct hoop_received received;
    int32_t small[2] = {7, 8};
    int32_t came = 0;

    RANK_CHECK(hoop_send(&small[0], 1, HOOP_INT32, rank->rank, 1, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(hoop_send(&small[1], 1, HOOP_INT32, rank->rank, 2, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(hoop_recv(&came, 1, HOOP_INT32, rank->rank, 2, rank->comm,
                         NULL) == HOOP_OK);
    RANK_CHECK(came == 8);
    RANK_CHECK(hoop_recv(&came, 1, HOOP_INT32, HOOP_ANY_SOURCE, 1, rank->comm,
                         &received) == HOOP_OK);
    RANK_CHECK(came == 7 && received.source == rank->rank);
    for (size_t first = 0; first < 2; first++) {
        memset(theirs, 0, LARGE * sizeof(*theirs));
        for (size_t i = 0; i < 2; i++) {
            if (i == first)
                RANK_CHECK(hoop_send_start(mine, LARGE, HOOP_INT32, rank->rank,
                                           4, rank->comm, &ops[0]) == HOOP_OK);
            else
                RANK_CHECK(hoop_recv_start(theirs, LARGE, HOOP_INT32,
                                           rank->rank, 4, rank->comm, NULL,
                                           &ops[1]) == HOOP_OK);
        }
        RANK_CHECK(hoop_wait_all(ops, 2, HOOP_FOREVER) == HOOP_OK);
        RANK_CHECK(is_right(theirs, LARGE, rank->rank, 4));
    }
    RANK_CHECK(hoop_send_start(mine, LARGE, HOOP_INT32, rank->rank, 5,
                               rank->comm, &ops[0]) == HOOP_OK);
    RANK_CHECK(hoop_recv(theirs, 1, HOOP_INT32, rank->rank, 5, rank->comm,
                         NULL) == HOOP_E_MISMATCH);
    RANK_CHECK(hoop_wait(ops[0], HOOP_FOREVER) == HOOP_E_MISMATCH);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    free(mine);
    free(theirs);
    return 0;
}

static void
rank_sends_to_itself(void **state)
{
    assert_int_equal(ranks_run_all(1, self_body), 0);
    assert_int_equal(ranks_run_all(2, self_body), 0);
}

static int
message_longer_than_its_receive_fails_on_both_sides(struct rank *rank)
{
    int32_t *mine = filled(LARGE, rank->rank, 3);

    if (rank->rank == 0) {
        RANK_CHECK(hoop_send(mine, LARGE, HOOP_INT32, 1, 3, rank->comm) ==
                   HOOP_E_MISMATCH);
        RANK_CHECK(strstr(hoop_error_text(), "recv"));
        RANK_CHECK(strstr(hoop_error_text(), "rank 1 (host:"));
    } else {
        mine[0] = -5;
        RANK_CHECK(hoop_recv(mine, 10, HOOP_INT32, 0, 3, rank->comm, NULL) ==
                   HOOP_E_MISMATCH);
        RANK_CHECK(strstr(hoop_error_text(), "send"));
        RANK_CHECK(strstr(hoop_error_text(), "rank 0 (host:"));
        RANK_CHECK(mine[0] == -5);
    }
    /* The communicator remains usable. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    free(mine);
    return 0;
}

/* Rank 1's receive is invalid, so it withdraws what it sends to rank 2. */
static int
half_of_a_failed_sendrecv_is_told_as_such(struct rank *rank)
{
    int32_t *mine = filled(LARGE, rank->rank, 3);
    const struct hoop_message send = {HOOP_SEND, mine, LARGE, HOOP_INT32,
                                      2,         3,    NULL};
    int32_t too_short;
    const struct hoop_message recv = {HOOP_RECV, &too_short, 1,   HOOP_INT32,
                                      0,         3,          NULL};
    hoop_op_t *op = NULL;

    if (rank->rank == 0)
        RANK_CHECK(hoop_send_start(mine, LARGE, HOOP_INT32, 1, 3, rank->comm,
                                   &op) == HOOP_OK);
    if (rank->rank == 2)
        RANK_CHECK(hoop_recv_start(mine, LARGE, HOOP_INT32, 1, 3, rank->comm,
                                   NULL, &op) == HOOP_OK);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 1) {
        RANK_CHECK(hoop_sendrecv(&send, &recv, rank->comm, NULL) ==
                   HOOP_E_MISMATCH);
    } else {
        const enum hoop_status status = hoop_wait(op, HOOP_FOREVER);

        RANK_CHECK(status ==
                   (rank->rank == 0 ? HOOP_E_MISMATCH : HOOP_E_TIMEOUT));
        RANK_CHECK(strstr(hoop_error_text(), "rank 1 (host:"));
        RANK_CHECK(rank->rank == 0 || strstr(hoop_error_text(), "sendrecv"));
    }
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    free(mine);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(messages_are_exchanged, 2, 2),
        cmocka_unit_test(large_messages_cross),
        RANKS_TEST(messages_match_by_tag_and_stay_in_order, 2, 2),
        cmocka_unit_test(any_source_takes_what_comes_first),
        RANKS_TEST(unreceived_message_does_not_stop_collectives, 2, 2),
        cmocka_unit_test(rank_sends_to_itself),
        RANKS_TEST(flood_of_messages_is_bounded_and_stays_in_order, 2, 2),
        RANKS_TEST(message_longer_than_its_receive_fails_on_both_sides, 2, 2),
        RANKS_TEST(half_of_a_failed_sendrecv_is_told_as_such, 3, 3),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
