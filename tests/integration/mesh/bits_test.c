/*
 * tests/integration/mesh/bits_test.c - all ranks end with the same bits
 *
 * The operands are floats whose sum depends on the order of additions, of every
 * float type, from a few elements to several frames for each pair of ranks.
 * Whatever the path (path.h) does to them on their way, the results of an
 * allreduce, an allgather and a broadcast must have the same digest on every
 * rank, and so must the next call with the same operands.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "check.h"
#include "integration/mesh/sharding_model.h"
#include "integration/reference.h"
#include "mesh/redistribute/redistribute_runner.h"
#include "mesh/redistribute/redistribution.h"
#include "ranks.h"

/* The counts are around the size at which floats may begin to lose bits, and
 * beyond one frame. */
#if defined(__SANITIZE_THREAD__)
static const size_t counts[] = {1, 7, 1000, 4099, 100003};
#else
static const size_t counts[] = {1, 7, 1000, 4099, 65537, 400003};
#endif

static const enum hoop_dtype dtypes[] = {HOOP_FLOAT32, HOOP_FLOAT64,
                                         HOOP_FLOAT16, HOOP_BFLOAT16};

/* All ranks must call it with the same number. */
static int
require_alike(struct rank *rank, uint64_t mine)
{
    uint64_t all[RANKS_MAX];

    RANK_CHECK(hoop_allgather(&mine, all, 1, HOOP_UINT64, rank->comm) ==
               HOOP_OK);
    for (uint32_t s = 0; s < rank->size; s++)
        RANK_CHECK(all[s] == mine);
    return 0;
}

struct operands {
    enum hoop_dtype dtype;
    size_t count;
    const uint8_t *send;
    uint8_t *recv; /* room for the values of all ranks */
};

static enum hoop_status
call(const struct operands *operands, unsigned which, hoop_comm_t *comm)
{
    const enum hoop_dtype dtype = operands->dtype;
    const size_t count = operands->count;

    if (which == 0)
        return hoop_allreduce(operands->send, operands->recv, count, dtype,
                              HOOP_SUM, comm);
    if (which == 1)
        return hoop_allgather(operands->send, operands->recv, count, dtype,
                              comm);
    return hoop_broadcast(hoop_comm_rank(comm) == 0 ? operands->send : NULL,
                          operands->recv, count, dtype, 0, comm);
}

/* Each call is made twice, since one call may find a table, or memory, that the
 * other has made. */
static int
calls_agree(struct rank *rank, const struct operands *operands)
{
    const size_t n_bytes = operands->count * hoop_dtype_size(operands->dtype);

    for (unsigned which = 0; which < 3; which++) {
        const size_t n = which == 1 ? n_bytes * rank->size : n_bytes;
        uint64_t seen = 0;

        for (unsigned i = 0; i < 2; i++) {
            memset(operands->recv, 0, n);
            RANK_CHECK(call(operands, which, rank->comm) == HOOP_OK);
            const uint64_t now = digest_bytes(operands->recv, n);
            RANK_CHECK(i == 0 || now == seen);
            seen = now;
        }
        if (require_alike(rank, seen) != 0) {
            fprintf(stderr, "call %u of %zu %s\n", which, operands->count,
                    hoop_dtype_name(operands->dtype));
            return 1;
        }
    }
    return 0;
}

static int
body(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            const size_t n_bytes = counts[c] * hoop_dtype_size(dtypes[i]);
            CLEANUP(free) uint8_t *send = malloc(n_bytes);
            CLEANUP(free) uint8_t *recv = malloc(n_bytes * rank->size);

            RANK_CHECK(send && recv);
            reference_fill(send, dtypes[i], counts[c], 1000 * i + rank->rank);
            RANK_CHECK(calls_agree(rank, &(struct operands){
                                             .dtype = dtypes[i],
                                             .count = counts[c],
                                             .send = send,
                                             .recv = recv,
                                         }) == 0);
        }
    }
    return 0;
}

static void
all_ranks_end_with_the_same_bits(void **state)
{
    static const uint32_t sizes[] = {2, 3, 4, 8};

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(ranks_run_all(sizes[i], body), 0);
}

/*
 * The rest of the file tests that ranks with the same part have the same bits.
 *
 * Sums of floats depend on the order of their addends. Whichever algorithm
 * makes a reduction, and along whichever axes, ranks that have the same part in
 * the end must not differ.
 */

enum {
    N_RANKS = 8,
    ROOM_DONE = RANKS_ROOM - 1, /* of 128 hashes */
};

static const struct hoop_mesh_shape mesh = {2, {2, 4}};

static const struct bits_case {
    struct hoop_sharding from;
    struct hoop_sharding to;
} cases[] = {
    {{.partial = {2, {0, 1}}}, {.is_uneven = false}},
    {{.partial = {1, {0}}}, {.is_uneven = false}},
    {{.partial = {1, {1}}}, {.is_uneven = false}},
    {{.partial = {2, {0, 1}}}, {.dims = {{1, {0}}}}},
    {{.partial = {2, {1, 0}}}, {.dims = {{0}, {1, {1}}}}},
    {{.dims = {{1, {0}}}, .partial = {1, {1}}}, {.is_uneven = false}},
    {{.dims = {{1, {0}}}, .partial = {1, {1}}}, {.dims = {{0}, {1, {0}}}}},
    {{.partial = {2, {0, 1}}, .partial_op = HOOP_AVG}, {.is_uneven = false}},
};

/* Small tensors use other algorithms than large ones. */
static const struct hoop_shape shapes[] = {{2, {8, 8}}, {2, {400, 400}}};

/* All ranks that have the same addend draw the same values. */
static void
draw(const struct sharding_model_part *seat, float *values)
{
    uint32_t n_addends;
    uint64_t state = 77 + sharding_model_addend(seat, &n_addends);

    for (size_t i = 0; i < sharding_model_whole(seat->shape); i++) {
        size_t at;

        state = state * 6364136223846793005u + 1442695040888963407u;
        if (sharding_model_has(seat, i, &at))
            values[at] = (float)(int32_t)(state >> 32) / 1000;
    }
}

static uint32_t
hash_of(const float *values, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)values;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < count * sizeof(float); i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

static int
relay_case(struct rank *rank,
           const struct bits_case *this,
           const struct hoop_shape *shape,
           uint32_t *out_hash)
{
    const struct redistribution_request request = {
        .from = {.mesh = mesh, .sharding = this->from},
        .to = {.mesh = mesh, .sharding = this->to},
        .n_ranks = rank->size,
        .shape = *shape,
        .dtype = HOOP_FLOAT32,
    };
    const struct sharding_model_part before = {&this->from, &mesh, shape,
                                               rank->rank};
    const struct sharding_model_part after = {&this->to, &mesh, shape,
                                              rank->rank};
    struct hoop_tensor from = {.dtype = HOOP_FLOAT32};
    struct hoop_tensor to = {.dtype = HOOP_FLOAT32};
    CLEANUP(redistribution_unref) struct redistribution *plan = NULL;

    RANK_CHECK(redistribution_create(&request, &plan) == HOOP_OK);
    from.data = malloc(sharding_model_count(&before) * sizeof(float));
    to.data = malloc(sharding_model_count(&after) * sizeof(float));
    draw(&before, from.data);
    const struct redistribute_runner_request wanted = {
        .redistribution = plan,
        .comm = rank->comm,
        .rank = rank->rank,
        .dtype = HOOP_FLOAT32,
        .from = &from,
        .to = &to,
    };
    RANK_CHECK(redistribute_runner_run(&wanted, NULL) == HOOP_OK);
    *out_hash = hash_of(to.data, sharding_model_count(&after));
    free(from.data);
    free(to.data);
    return 0;
}

static bool
is_same_part(const struct bits_case *this, uint32_t one, uint32_t other)
{
    const struct hoop_shape shape = {2, {8, 8}};
    const struct sharding_model_part seats[] = {
        {&this->to, &mesh, &shape, one}, {&this->to, &mesh, &shape, other}};

    for (size_t i = 0; i < sharding_model_whole(&shape); i++) {
        size_t at;

        if (sharding_model_has(&seats[0], i, &at) !=
            sharding_model_has(&seats[1], i, &at))
            return false;
    }
    return true;
}

static int
sums_are_the_same_bits_on_all_ranks(struct rank *rank)
{
    for (uint32_t i = 0; i < COUNT_OF(cases) * COUNT_OF(shapes); i++) {
        uint32_t hash = 0;

        if (relay_case(rank, &cases[i / 2], &shapes[i % 2], &hash))
            return 1;
        rank->room[i * N_RANKS + rank->rank] = hash;
    }
    room_add(rank, ROOM_DONE);
    room_await(rank, ROOM_DONE, rank->size);
    for (uint32_t i = 0; i < COUNT_OF(cases) * COUNT_OF(shapes); i++) {
        for (uint32_t other = 0; other < rank->size; other++) {
            if (is_same_part(&cases[i / 2], rank->rank, other))
                RANK_CHECK(rank->room[i * N_RANKS + other] ==
                           rank->room[i * N_RANKS + rank->rank]);
        }
    }
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_end_with_the_same_bits),
        RANKS_TEST(sums_are_the_same_bits_on_all_ranks, N_RANKS, N_RANKS),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
