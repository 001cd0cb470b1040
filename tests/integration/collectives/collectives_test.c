/*
 * tests/integration/collectives/collectives_test.c - collectives of real
 * processes
 *
 * The data are small integers that depend on rank and index, so that every
 * result is exact in float32 and can be computed here independently.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "ranks.h"

/* The sizes are around all boundaries: granules, eager limits, frames,
 * windows. */
static const size_t counts[] = {0,     1,     2,     3,      5,      15,
                                16,    17,    31,    64,     1000,   16383,
                                16384, 16385, 65537, 262147, 1500001};

/* Sanitizers check every byte, so with them the largest and by far the slowest
 * size is only used with two ranks, and the next one only with up to three.
 * Under TSan only background_body() has the largest size, which would be a
 * third of all bytes here. */
static size_t
counts_of(const struct rank *rank)
{
#if defined(__SANITIZE_THREAD__)
    const size_t n_left_out = rank->size <= 3 ? 1 : 2;
#elif defined(__SANITIZE_ADDRESS__)
    const size_t n_left_out = rank->size == 2 ? 0 : rank->size == 3 ? 1 : 2;
#else
    const size_t n_left_out = 0;

#endif
    return COUNT_OF(counts) - n_left_out;
}

static const float GUARD = -77;

static float
value_of(uint32_t rank, size_t i)
{
    return (float)(rank + 1) + (float)(i % 7);
}

static float
sum_of(uint32_t size, size_t i)
{
    return (float)(size * (size + 1) / 2) + (float)size * (float)(i % 7);
}

/* n floats followed by a guard, misaligned by one float. */
struct buffer {
    float *memory;
    float *at;
    size_t n;
};

static struct buffer
buffer_of(size_t n)
{
    struct buffer buffer = {.memory = malloc((n + 2) * sizeof(float)), .n = n};

    buffer.at = buffer.memory + 1;
    for (size_t i = 0; i <= n; i++)
        buffer.at[i] = GUARD;
    return buffer;
}

static void
buffer_fill(const struct buffer *buffer, uint32_t rank)
{
    for (size_t i = 0; i < buffer->n; i++)
        buffer->at[i] = value_of(rank, i);
}

static bool
buffer_is_guarded(const struct buffer *buffer)
{
    return buffer->at[buffer->n] == GUARD;
}

static int
allreduce_once(struct rank *rank, size_t count)
{
    struct buffer send = buffer_of(count);
    struct buffer recv = buffer_of(count);

    buffer_fill(&send, rank->rank);
    RANK_CHECK(hoop_allreduce(send.at, recv.at, count, HOOP_FLOAT32, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++) {
        RANK_CHECK(recv.at[i] == sum_of(rank->size, i));
        RANK_CHECK(send.at[i] == value_of(rank->rank, i));
    }
    RANK_CHECK(buffer_is_guarded(&recv));
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, send.at, count, HOOP_FLOAT32,
                              HOOP_AVG, rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(send.at[i] == sum_of(rank->size, i) / (float)rank->size);
    RANK_CHECK(buffer_is_guarded(&send));
    free(send.memory);
    free(recv.memory);
    return 0;
}

static int
reduce_once(struct rank *rank, size_t count)
{
    const uint32_t root = (uint32_t)count % rank->size;
    const bool is_root = rank->rank == root;
    struct buffer send = buffer_of(count);
    struct buffer recv = buffer_of(count);

    buffer_fill(&send, rank->rank);
    RANK_CHECK(hoop_reduce(send.at, is_root ? recv.at : NULL, count,
                           HOOP_FLOAT32, HOOP_SUM, root,
                           rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(recv.at[i] == (is_root ? sum_of(rank->size, i) : GUARD));
    RANK_CHECK(hoop_reduce(HOOP_IN_PLACE, send.at, count, HOOP_FLOAT32,
                           HOOP_SUM, root, rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(send.at[i] ==
                   (is_root ? sum_of(rank->size, i) : value_of(rank->rank, i)));
    RANK_CHECK(buffer_is_guarded(&recv) && buffer_is_guarded(&send));
    free(send.memory);
    free(recv.memory);
    return 0;
}

static int
broadcast_once(struct rank *rank, size_t count)
{
    const uint32_t root = (uint32_t)(count + 1) % rank->size;
    const bool is_root = rank->rank == root;
    struct buffer send = buffer_of(count);
    struct buffer recv = buffer_of(count);

    buffer_fill(&send, rank->rank);
    RANK_CHECK(hoop_broadcast(is_root ? send.at : NULL, recv.at, count,
                              HOOP_FLOAT32, root, rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(recv.at[i] == value_of(root, i));
    RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, send.at, count, HOOP_FLOAT32, root,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(send.at[i] == value_of(root, i));
    RANK_CHECK(buffer_is_guarded(&recv) && buffer_is_guarded(&send));
    free(send.memory);
    free(recv.memory);
    return 0;
}

static int
allgather_once(struct rank *rank, size_t count)
{
    struct buffer send = buffer_of(count);
    struct buffer recv = buffer_of(count * rank->size);

    buffer_fill(&send, rank->rank);
    RANK_CHECK(hoop_allgather(send.at, recv.at, count, HOOP_FLOAT32,
                              rank->comm) == HOOP_OK);
    for (uint32_t s = 0; s < rank->size; s++) {
        for (size_t i = 0; i < count; i++)
            RANK_CHECK(recv.at[s * count + i] == value_of(s, i));
    }
    RANK_CHECK(buffer_is_guarded(&recv));
    for (size_t i = 0; i < recv.n; i++) {
        if (i / (count ? count : 1) != rank->rank)
            recv.at[i] = GUARD;
    }
    RANK_CHECK(hoop_allgather(HOOP_IN_PLACE, recv.at, count, HOOP_FLOAT32,
                              rank->comm) == HOOP_OK);
    for (uint32_t s = 0; s < rank->size; s++) {
        for (size_t i = 0; i < count; i++)
            RANK_CHECK(recv.at[s * count + i] == value_of(s, i));
    }
    free(send.memory);
    free(recv.memory);
    return 0;
}

/* Rank s contributes value_of(s, b + i) as element i of the block that begins
 * at b. */
static int
reduce_scatter_once(struct rank *rank, size_t count)
{
    const size_t n = count * rank->size;
    const size_t own = rank->rank * count;
    struct buffer send = buffer_of(n);
    struct buffer recv = buffer_of(count);

    buffer_fill(&send, rank->rank);
    RANK_CHECK(hoop_reduce_scatter(send.at, recv.at, count, HOOP_FLOAT32,
                                   HOOP_SUM, rank->comm) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(recv.at[i] == sum_of(rank->size, own + i));
    RANK_CHECK(hoop_reduce_scatter(HOOP_IN_PLACE, send.at, count, HOOP_FLOAT32,
                                   HOOP_SUM, rank->comm) == HOOP_OK);
    for (size_t i = 0; i < n; i++)
        RANK_CHECK(send.at[i] == (i < count ? sum_of(rank->size, own + i)
                                            : value_of(rank->rank, i)));
    RANK_CHECK(buffer_is_guarded(&recv) && buffer_is_guarded(&send));
    free(send.memory);
    free(recv.memory);
    return 0;
}

/* Rank s has (s * base + 1) % 5 * base elements, which is zero for some. */
static int
uneven_once(struct rank *rank, size_t base)
{
    size_t sizes[RANKS_MAX];
    size_t total = 0;
    size_t own = 0;

    for (uint32_t s = 0; s < rank->size; s++) {
        sizes[s] = (s * base + 1) % 5 * base;
        if (s == rank->rank)
            own = total;
        total += sizes[s];
    }
    struct buffer all = buffer_of(total);
    struct buffer part = buffer_of(sizes[rank->rank]);
    struct buffer back = buffer_of(total);

    buffer_fill(&all, rank->rank);
    RANK_CHECK(hoop_reduce_scatterv(all.at, part.at, sizes, HOOP_FLOAT32,
                                    HOOP_SUM, rank->comm) == HOOP_OK);
    for (size_t i = 0; i < part.n; i++)
        RANK_CHECK(part.at[i] == sum_of(rank->size, own + i));
    RANK_CHECK(hoop_allgatherv(part.at, back.at, sizes, HOOP_FLOAT32,
                               rank->comm) == HOOP_OK);
    for (size_t i = 0; i < total; i++)
        RANK_CHECK(back.at[i] == sum_of(rank->size, i));
    RANK_CHECK(buffer_is_guarded(&part) && buffer_is_guarded(&back));
    free(all.memory);
    free(part.memory);
    free(back.memory);
    return 0;
}

static int
all_body(struct rank *rank)
{
    for (size_t c = 0; c < counts_of(rank); c++) {
        const size_t per_rank = counts[c] / (rank->size > 4 ? 8 : 1);
        const int n_wrong =
            allreduce_once(rank, counts[c]) || reduce_once(rank, counts[c]) ||
            broadcast_once(rank, counts[c]) || allgather_once(rank, per_rank) ||
            reduce_scatter_once(rank, per_rank) ||
            uneven_once(rank, per_rank / 2) ||
            hoop_barrier(rank->comm) != HOOP_OK;
        RANK_CHECK(n_wrong == 0);
    }
    return 0;
}

static void
collectives_are_right_for_one_to_five_ranks(void **state)
{
    for (uint32_t size = 1; size <= 5; size++)
        assert_int_equal(ranks_run_all(size, all_body), 0);
}

static void
collectives_are_right_when_coded(void **state)
{
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 3, .body = all_body, .codec = "zstd"}),
                     0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 3, .body = all_body, .codec = "planes"}),
                     0);
}

static int
collectives_are_right_for_sixteen_ranks(struct rank *rank)
{
    for (size_t count = 0; count < 40; count++)
        RANK_CHECK(allreduce_once(rank, count) == 0);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

/* No rank may leave a barrier before all ranks have entered it. Each rank
 * increments a counter before, and reads it afterwards. */
static int
barrier_body(struct rank *rank)
{
    for (uint32_t i = 1; i <= 200; i++) {
        __atomic_add_fetch(&rank->room[0], 1, __ATOMIC_SEQ_CST);
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
        RANK_CHECK(__atomic_load_n(&rank->room[0], __ATOMIC_SEQ_CST) >=
                   i * rank->size);
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    }
    return 0;
}

static void
barrier_holds_everybody(void **state)
{
    assert_int_equal(ranks_run_all(2, barrier_body), 0);
    assert_int_equal(ranks_run_all(5, barrier_body), 0);
}

enum {
    N_STARTED = 40
};

/* Many operations are in progress, and are waited for in another order. */
static int
started_body(struct rank *rank)
{
    hoop_op_t *ops[N_STARTED];
    struct buffer buffers[N_STARTED];

    for (size_t k = 0; k < N_STARTED; k++) {
        buffers[k] = buffer_of(1 + k * k * 37);
        buffer_fill(&buffers[k], rank->rank);
        RANK_CHECK(hoop_allreduce_start(HOOP_IN_PLACE, buffers[k].at,
                                        buffers[k].n, HOOP_FLOAT32, HOOP_SUM,
                                        rank->comm, &ops[k]) == HOOP_OK);
    }
    enum hoop_status status = hoop_test(ops[N_STARTED - 1]);
    RANK_CHECK(status == HOOP_OK || status == HOOP_E_PENDING);
    if (status == HOOP_OK)
        ops[N_STARTED - 1] = NULL;
    for (size_t k = N_STARTED / 2; k > 0; k--) {
        RANK_CHECK(hoop_wait(ops[k], HOOP_FOREVER) == HOOP_OK);
        ops[k] = NULL;
    }
    RANK_CHECK(hoop_wait_all(ops, N_STARTED, 20000) == HOOP_OK);
    for (size_t k = 0; k < N_STARTED; k++) {
        RANK_CHECK(ops[k] == NULL);
        for (size_t i = 0; i < buffers[k].n; i++)
            RANK_CHECK(buffers[k].at[i] == sum_of(rank->size, i));
        free(buffers[k].memory);
    }
    return 0;
}

static void
started_operations_end_in_any_order(void **state)
{
    assert_int_equal(ranks_run_all(2, started_body), 0);
    assert_int_equal(ranks_run_all(4, started_body), 0);
}

/* Rank 1 only reads memory, so its background thread must make progress. */
static int
background_body(struct rank *rank)
{
    enum {
        COUNT = 1 << 20
    };
    struct buffer buffer = buffer_of(COUNT);
    hoop_op_t *op;

    buffer_fill(&buffer, rank->rank);
    RANK_CHECK(hoop_allreduce_start(HOOP_IN_PLACE, buffer.at, COUNT,
                                    HOOP_FLOAT32, HOOP_SUM, rank->comm,
                                    &op) == HOOP_OK);
    if (rank->rank == 1) {
        /* Rank 0 sets it when its operation has ended, which needs this
         * rank. */
        while (__atomic_load_n(&rank->room[0], __ATOMIC_ACQUIRE) == 0)
            ;
    }
    RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    __atomic_store_n(&rank->room[0], 1, __ATOMIC_RELEASE);
    free(buffer.memory);
    return 0;
}

static void
background_drives_what_nobody_waits_for(void **state)
{
    assert_int_equal(ranks_run_all(2, background_body), 0);
}

static int
invalid_calls_are_refused_before_anything_is_sent(struct rank *rank)
{
    float x = 1;

    RANK_CHECK(hoop_allreduce(&x, NULL, 1, HOOP_FLOAT32, HOOP_SUM,
                              rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "recv is NULL"));
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, HOOP_IN_PLACE, 1, HOOP_FLOAT32,
                              HOOP_SUM, rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_allreduce(&x, &x, 1, HOOP_FLOAT32, HOOP_BXOR, rank->comm) ==
               HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "bxor of float32"));
    RANK_CHECK(hoop_allreduce(&x, &x, 1, (enum hoop_dtype)99, HOOP_SUM,
                              rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_allreduce(&x, &x, 1, HOOP_FLOAT32, (enum hoop_reduce_op)5,
                              rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_broadcast(&x, &x, 1, HOOP_FLOAT32, rank->size,
                              rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_allreduce(&x, &x, SIZE_MAX / 2, HOOP_FLOAT32, HOOP_SUM,
                              rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_allreduce(&x, &x, 1, HOOP_FLOAT32, HOOP_SUM, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_send(&x, 1, HOOP_FLOAT32, rank->size, 0, rank->comm) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_send(&x, 1, HOOP_FLOAT32, 1 - rank->rank, -1, rank->comm) ==
               HOOP_E_INVALID);
    /* The refused calls have not disturbed the order of operations. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_are_right_for_one_to_five_ranks),
        cmocka_unit_test(collectives_are_right_when_coded),
        RANKS_TEST(collectives_are_right_for_sixteen_ranks, 16, 16),
        cmocka_unit_test(barrier_holds_everybody),
        cmocka_unit_test(started_operations_end_in_any_order),
        cmocka_unit_test(background_drives_what_nobody_waits_for),
        RANKS_TEST(invalid_calls_are_refused_before_anything_is_sent, 2, 2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
