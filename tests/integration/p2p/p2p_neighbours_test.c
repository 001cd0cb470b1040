/*
 * tests/integration/p2p/p2p_neighbours_test.c - transfers with given neighbours
 *
 * The neighbours need not be in the caller's group: two groups of two ranks
 * form one pipeline of four stages, whose neighbours are ranks of the world.
 * The orders of calls, and what is skipped, are those of Megatron's
 * _batched_p2p_ops() and _p2p_ops().
 */

#include <string.h>

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "check.h"
#include "integration/pipeline/pipe_case.h"

enum {
    STAGES = 4,
};

/* One element from each side, and one for each side. */
struct values {
    int64_t to_prev;
    int64_t to_next;
    int64_t from_prev;
    int64_t from_next;
};

struct tensors {
    struct hoop_tensor to_prev;
    struct hoop_tensor to_next;
    struct hoop_tensor from_prev;
    struct hoop_tensor from_next;
};

static struct hoop_tensor
one(int64_t *at)
{
    return (struct hoop_tensor){.data = at, .dtype = HOOP_INT64};
}

static void
values_fill(struct values *values, struct tensors *tensors, uint32_t rank)
{
    *values = (struct values){-(int64_t)rank - 1, (int64_t)rank + 1, 0, 0};
    *tensors =
        (struct tensors){one(&values->to_prev), one(&values->to_next),
                         one(&values->from_prev), one(&values->from_next)};
}

typedef enum hoop_status
start_fn(const struct hoop_p2p_neighbours *neighbours,
         const struct hoop_p2p_ops *ops,
         struct hoop_p2p_requests *out_requests);

static start_fn *const starts[] = {hoop_p2p_ops_batched_with,
                                   hoop_p2p_ops_unbatched_with};

/* The orders depend on the kind, and on the parity of the rank in the group. */
static const enum hoop_p2p_direction orders[2][2][4] = {
    {{HOOP_P2P_SEND_PREV, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT,
      HOOP_P2P_RECV_NEXT},
     {HOOP_P2P_SEND_PREV, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT,
      HOOP_P2P_RECV_NEXT}},
    {{HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_PREV,
      HOOP_P2P_RECV_NEXT},
     {HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_NEXT,
      HOOP_P2P_SEND_PREV}},
};

static bool
has_order(const struct hoop_p2p_requests *requests,
          const enum hoop_p2p_direction order[4],
          const bool is_there[4])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < 4; i++) {
        if (!is_there[order[i]])
            continue;
        if (n >= requests->n_requests ||
            requests->requests[n].direction != order[i] ||
            !requests->requests[n].op)
            return false;
        n++;
    }
    return n == requests->n_requests;
}

/* All four stages form an open chain, with neighbours in the other group. */
static int
chain_crosses_groups(struct rank *rank, hoop_comm_t *group, size_t kind)
{
    const uint32_t at = rank->rank;
    const struct hoop_p2p_neighbours neighbours = {
        .group = group, .comm = rank->comm, .prev = at - 1, .next = at + 1};
    const bool is_there[4] = {at > 0, at > 0, at + 1 < STAGES, at + 1 < STAGES};
    struct hoop_p2p_requests requests;
    struct values values;
    struct tensors tensors;

    values_fill(&values, &tensors, at);
    const struct hoop_p2p_ops ops = {
        .send_prev = at > 0 ? &tensors.to_prev : NULL,
        .recv_prev = at > 0 ? &tensors.from_prev : NULL,
        .send_next = at + 1 < STAGES ? &tensors.to_next : NULL,
        .recv_next = at + 1 < STAGES ? &tensors.from_next : NULL,
    };
    RANK_CHECK(starts[kind](&neighbours, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, orders[kind][at % 2], is_there));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(values.from_prev == at);
    RANK_CHECK(values.from_next == (at + 1 < STAGES ? -(int64_t)(at + 2) : 0));
    return 0;
}

/* The next and the previous stage are the same process of the group. Messages
 * for one must not arrive as those for the other. */
static int
two_stages_do_not_cross(struct rank *rank, hoop_comm_t *group, size_t kind)
{
    const uint32_t at = hoop_comm_rank(group);
    const struct hoop_p2p_neighbours neighbours = {
        .group = group, .prev = 1 - at, .next = 1 - at};
    const bool is_there[4] = {true, true, true, true};
    struct hoop_p2p_requests requests;
    struct values values;
    struct tensors tensors;

    values_fill(&values, &tensors, at);
    const struct hoop_p2p_ops ops = {
        .send_prev = &tensors.to_prev,
        .recv_prev = &tensors.from_prev,
        .send_next = &tensors.to_next,
        .recv_next = &tensors.from_next,
    };
    RANK_CHECK(starts[kind](&neighbours, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, orders[kind][at], is_there));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(values.from_prev == 2 - (int64_t)at);
    RANK_CHECK(values.from_next == (int64_t)at - 2);
    return 0;
}

/* The caller is its own neighbour. */
static int
oneself_may_be_both(struct rank *rank, hoop_comm_t *group, size_t kind)
{
    const struct hoop_p2p_neighbours neighbours = {.group = group,
                                                   .comm = rank->comm,
                                                   .prev = rank->rank,
                                                   .next = rank->rank};
    struct hoop_p2p_requests requests;
    struct values values;
    struct tensors tensors;

    values_fill(&values, &tensors, rank->rank);
    const struct hoop_p2p_ops ops = {.recv_prev = &tensors.from_prev,
                                     .send_next = &tensors.to_next};
    RANK_CHECK(starts[kind](&neighbours, &ops, &requests) == HOOP_OK);
    RANK_CHECK(requests.n_requests == 2);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(values.from_prev == values.to_next);
    return 0;
}

/* A receive of any shape learns the shape, and what it expected is not changed.
 * If a different shape was expected, both sides fail. */
static int
shapes_are_compared(struct rank *rank, hoop_comm_t *group, size_t kind)
{
    const uint32_t peer = (rank->rank + 2) % STAGES; /* in the other group */
    const struct hoop_p2p_neighbours neighbours = {
        .group = group, .comm = rank->comm, .prev = peer, .next = peer};
    int64_t row[3] = {1, 2, 3};
    const struct hoop_tensor sent = {row, HOOP_INT64, {1, {3}}, NULL};
    struct hoop_tensor expected = {.dtype = HOOP_INT64,
                                   .shape = {.n_dims = HOOP_ANY_SHAPE}};
    struct hoop_tensor came = {0};
    struct hoop_p2p_requests requests;

    for (uint32_t again = 0; again < 2; again++) {
        const struct hoop_p2p_ops ops = {
            .send_next = rank->rank < 2 ? &sent : NULL,
            .recv_prev = rank->rank < 2 ? NULL : &expected,
            .received_prev = &came,
        };
        const enum hoop_status wanted = again == 0 ? HOOP_OK : HOOP_E_MISMATCH;

        RANK_CHECK(starts[kind](&neighbours, &ops, &requests) == HOOP_OK);
        RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == wanted);
        if (again == 0 && rank->rank >= 2) {
            RANK_CHECK(expected.shape.n_dims == HOOP_ANY_SHAPE);
            RANK_CHECK(came.shape.n_dims == 1 && came.shape.dims[0] == 3);
            RANK_CHECK(memcmp(came.data, row, sizeof(row)) == 0);
            hoop_tensor_free(&came);
        }
        if (again == 1)
            RANK_CHECK(strstr(hoop_error_text(), "int64 [3]") &&
                       strstr(hoop_error_text(), "int64 [1, 3]"));
        expected.shape = (struct hoop_shape){2, {1, 3}};
    }
    return 0;
}

static int
wrong_neighbours_are_refused(struct rank *rank, hoop_comm_t *group, size_t kind)
{
    struct hoop_p2p_neighbours neighbours = {
        .group = group, .comm = rank->comm, .prev = STAGES, .next = STAGES};
    struct hoop_p2p_requests requests;
    struct values values;
    struct tensors tensors;

    values_fill(&values, &tensors, rank->rank);
    const struct hoop_p2p_ops to_next = {.send_next = &tensors.to_next};
    const struct hoop_p2p_ops none = {0};
    RANK_CHECK(starts[kind](&neighbours, &to_next, &requests) ==
               HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "next is rank 4"));
    RANK_CHECK(starts[kind](NULL, &none, &requests) == HOOP_E_INVALID);
    RANK_CHECK(starts[kind](&neighbours, NULL, &requests) == HOOP_E_INVALID);
    RANK_CHECK(starts[kind](&neighbours, &none, NULL) == HOOP_E_INVALID);
    /* The rank of a neighbour is not checked if nothing goes to it. */
    RANK_CHECK(starts[kind](&neighbours, &none, &requests) == HOOP_OK);
    RANK_CHECK(requests.n_requests == 0);
    neighbours.group = NULL;
    RANK_CHECK(starts[kind](&neighbours, &none, &requests) == HOOP_E_INVALID);
    return 0;
}

/* The caller is not in the group. */
static int
no_member_moves_nothing(struct rank *rank, hoop_comm_t *other, size_t kind)
{
    const struct hoop_p2p_neighbours neighbours = {
        .group = other, .comm = rank->comm, .prev = 0, .next = 0};
    struct hoop_p2p_requests requests = {.n_requests = 3};
    struct values values;
    struct tensors tensors;

    values_fill(&values, &tensors, rank->rank);
    const struct hoop_p2p_ops ops = {.send_next = &tensors.to_next};
    RANK_CHECK(starts[kind](&neighbours, &ops, &requests) == HOOP_OK);
    RANK_CHECK(requests.n_requests == 0);
    return 0;
}

static int
neighbours_may_be_outside_the_group(struct rank *rank)
{
    hoop_comm_t groups[2];
    hoop_comm_t *mine = &groups[rank->rank / 2];
    hoop_comm_t *other = &groups[1 - rank->rank / 2];

    for (uint32_t i = 0; i < 2; i++)
        RANK_CHECK(comm_begin(rank, 2 + i, (uint32_t[]){2 * i, 2 * i + 1}, 2,
                              &groups[i]) == HOOP_OK);
    for (size_t kind = 0; kind < COUNT_OF(starts); kind++) {
        if (chain_crosses_groups(rank, mine, kind) != 0 ||
            two_stages_do_not_cross(rank, mine, kind) != 0 ||
            oneself_may_be_both(rank, mine, kind) != 0 ||
            shapes_are_compared(rank, mine, kind) != 0 ||
            wrong_neighbours_are_refused(rank, mine, kind) != 0 ||
            no_member_moves_nothing(rank, other, kind) != 0)
            return 1;
    }
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (uint32_t i = 0; i < 2; i++)
        comm_end(&groups[i]);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(neighbours_may_be_outside_the_group, STAGES, STAGES),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
