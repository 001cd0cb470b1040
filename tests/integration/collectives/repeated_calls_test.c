/*
 * tests/integration/collectives/repeated_calls_test.c - the same small call
 * again and again
 *
 * A call like the last one completes inline if the others are in time
 * (engine/inline.c); an operation continues it if they are late, from whatever
 * step it has come to. So in each call some ranks are late, the same ones for
 * all ranks' draws, and each call has other values. A rank computes from the
 * definition what it must get.
 */

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "check.h"
#include "pseudo_random.h"
#include "ranks.h"

enum {
    N_CALLS = 60,
    N_ROUNDS = 8, /* of all kinds of calls */
    SEED = 20261127,
    ELEMENTS_MAX = 3,
};

/* Longer than a rank waits for another without sleeping. */
static const long LATE_NS = 400000;

/* What rank gives as element i in call n. */
static int64_t
value_of(uint32_t rank, uint32_t n, size_t i)
{
    return (int64_t)(1000003u * (n + 1) + 101u * rank + i);
}

struct repeated {
    struct rank *rank;
    uint32_t n;   /* of the call */
    size_t count; /* of a block */
    int64_t send[RANKS_MAX * ELEMENTS_MAX];
    int64_t recv[RANKS_MAX * ELEMENTS_MAX];
};

static int64_t
sum_of(const struct repeated *call, uint32_t first, uint32_t n_ranks, size_t i)
{
    int64_t sum = 0;

    for (uint32_t rank = first; rank < first + n_ranks; rank++)
        sum += value_of(rank, call->n, i);
    return sum;
}

/* Each makes one call, and returns whether the result is right. */
typedef bool
repeated_fn(struct repeated *call);

static bool
allreduce_is_right(struct repeated *call)
{
    const struct rank *rank = call->rank;

    if (hoop_allreduce(call->send, call->recv, call->count, HOOP_INT64,
                       HOOP_SUM, rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        if (call->recv[i] != sum_of(call, 0, rank->size, i))
            return false;
    }
    return true;
}

static bool
allreduce_in_place_is_right(struct repeated *call)
{
    memcpy(call->recv, call->send, sizeof(call->recv));
    if (hoop_allreduce(HOOP_IN_PLACE, call->recv, call->count, HOOP_INT64,
                       HOOP_SUM, call->rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        if (call->recv[i] != sum_of(call, 0, call->rank->size, i))
            return false;
    }
    return true;
}

static bool
broadcast_is_right(struct repeated *call)
{
    const uint32_t root = call->rank->size - 1;

    if (hoop_broadcast(call->send, call->recv, call->count, HOOP_INT64, root,
                       call->rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        if (call->recv[i] != value_of(root, call->n, i))
            return false;
    }
    return true;
}

static bool
reduce_is_right(struct repeated *call)
{
    if (hoop_reduce(call->send, call->recv, call->count, HOOP_INT64, HOOP_SUM,
                    0, call->rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; call->rank->rank == 0 && i < call->count; i++) {
        if (call->recv[i] != sum_of(call, 0, call->rank->size, i))
            return false;
    }
    return true;
}

static bool
allgather_is_right(struct repeated *call)
{
    if (hoop_allgather(call->send, call->recv, call->count, HOOP_INT64,
                       call->rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; i < call->count * call->rank->size; i++) {
        if (call->recv[i] !=
            value_of((uint32_t)(i / call->count), call->n, i % call->count))
            return false;
    }
    return true;
}

static bool
alltoall_is_right(struct repeated *call)
{
    const struct rank *rank = call->rank;

    if (hoop_alltoall(call->send, call->recv, call->count, HOOP_INT64,
                      rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; i < call->count * rank->size; i++) {
        if (call->recv[i] !=
            value_of((uint32_t)(i / call->count), call->n,
                     rank->rank * call->count + i % call->count))
            return false;
    }
    return true;
}

static bool
scan_is_right(struct repeated *call)
{
    if (hoop_scan(call->send, call->recv, call->count, HOOP_INT64, HOOP_SUM,
                  call->rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        if (call->recv[i] != sum_of(call, 0, call->rank->rank + 1, i))
            return false;
    }
    return true;
}

static bool
gather_is_right(struct repeated *call)
{
    const uint32_t root = call->rank->size / 2;

    if (hoop_gather(call->send, call->recv, call->count, HOOP_INT64, root,
                    call->rank->comm) != HOOP_OK)
        return false;
    for (size_t i = 0;
         call->rank->rank == root && i < call->count * call->rank->size; i++) {
        if (call->recv[i] !=
            value_of((uint32_t)(i / call->count), call->n, i % call->count))
            return false;
    }
    return true;
}

static bool
barrier_is_right(struct repeated *call)
{
    return hoop_barrier(call->rank->comm) == HOOP_OK;
}

static repeated_fn *const kinds[] = {
    allreduce_is_right, allreduce_in_place_is_right,
    broadcast_is_right, reduce_is_right,
    allgather_is_right, alltoall_is_right,
    scan_is_right,      gather_is_right,
    barrier_is_right,
};

/* Every rank draws for all. Who is late differs, and how many are. */
static void
be_late_by_turns(const struct rank *rank, uint64_t *seed)
{
    const struct timespec late = {.tv_nsec = LATE_NS};
    const uint32_t drawn = random_word(seed);

    if (drawn % 3 == 0 && (drawn >> 8 & 1u << rank->rank % 16))
        nanosleep(&late, NULL);
}

static int
every_repeated_call_is_right(struct rank *rank)
{
    struct repeated call = {.rank = rank};
    uint64_t seed = SEED;

    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            call.count = 1 + (round + k) % ELEMENTS_MAX;
            for (uint32_t i = 0; i < N_CALLS; i++, call.n++) {
                memset(call.send, 0x5a, sizeof(call.send));
                memset(call.recv, 0x5a, sizeof(call.recv));
                for (size_t e = 0; e < call.count * rank->size; e++)
                    call.send[e] = value_of(rank->rank, call.n, e);
                be_late_by_turns(rank, &seed);
                RANK_CHECK(kinds[k](&call));
                RANK_CHECK(call.recv[RANKS_MAX * ELEMENTS_MAX - 1] ==
                           0x5a5a5a5a5a5a5a5a);
            }
        }
    }
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(every_repeated_call_is_right, 2, 4),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
