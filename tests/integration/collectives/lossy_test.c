/*
 * tests/integration/collectives/lossy_test.c - collectives of floats that lose
 * bits
 *
 * All ranks end with the same bits, by every algorithm, on nodes of two ranks,
 * and the result is near the one without loss. Data that are not float32, or
 * are small, or are neither reduced nor gathered lose nothing.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/collectives/lossy_job.h"
#include "path.h"
#include "ranks.h"
#include "session/comm.h"

/* The counts are above the size that is sent exactly. They give blocks that do
 * not divide evenly, several frames and several windows. */
#if defined(__SANITIZE_THREAD__)
static const size_t counts[] = {16411};
#elif defined(__SANITIZE_ADDRESS__)
static const size_t counts[] = {40001};
#else
static const size_t counts[] = {4099, 40001};
#endif

struct job {
    enum codec_loss loss;
};

static float
value_of(uint32_t rank, size_t i)
{
    const uint32_t hash = (uint32_t)(i * 2654435761u) ^ rank * 40503u;
    const float most = 1 + (float)(hash % 8191) / 8192.0F;
    const float value = most / (float)(1u << (hash >> 13 & 7));

    /* The values are between 2^-8 and 2, with some zeros among them. */
    if (i % 11 == 3)
        return 0;
    return hash >> 20 & 1 ? value : -value;
}

/* The expected sums, for as many elements as any call has. They are computed
 * once. */
static double *sums;

static void
sums_make(uint32_t size)
{
    const size_t n = counts[COUNT_OF(counts) - 1] * size;

    sums = calloc(n, sizeof(*sums));
    for (size_t i = 0; i < n; i++) {
        for (uint32_t rank = 0; rank < size; rank++)
            sums[i] += (double)value_of(rank, i);
    }
}

/* Returns a bound of the error of a value below 4 * size, after all
 * roundings. */
static double
tolerance(const struct rank *rank)
{
    const struct job *job = rank->input;
    const double half_step[] = {
        [LOSS_BF16] = 0x1p-8, [LOSS_FP16] = 0x1p-11, [LOSS_INT8] = 0x1p-6};

    return half_step[job->loss] * 2.0 * rank->size * (rank->size + 1);
}

static int
allreduce_once(struct rank *rank, size_t n, enum hoop_reduce_op op)
{
    const struct job *job = rank->input;
    float *send = calloc(n, sizeof(*send));
    float *recv = malloc(n * sizeof(*recv));
    const double parts = op == HOOP_AVG ? rank->size : 1;
    bool is_exact = true;

    for (size_t i = 0; i < n; i++)
        send[i] = value_of(rank->rank, i);
    RANK_CHECK(hoop_allreduce(send, recv, n, HOOP_FLOAT32, op, rank->comm) ==
               HOOP_OK);
    for (size_t i = 0; i < n; i++) {
        const double expected = sums[i] / parts;

        RANK_CHECK(fabs((double)recv[i] - expected) < tolerance(rank));
        RANK_CHECK(send[i] == value_of(rank->rank, i));
        is_exact = is_exact && (float)expected == recv[i];
    }
    RANK_CHECK(!is_exact);
    if (lossy_job_require_alike(rank, recv, n * sizeof(*recv)) != 0)
        return 1;
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, send, n, HOOP_FLOAT32, op,
                              rank->comm) == HOOP_OK);
    /* int8 makes up for what the first call lost, so the bits differ from
     * it. */
    if (job->loss == LOSS_INT8 &&
        lossy_job_require_alike(rank, send, n * sizeof(*send)) != 0)
        return 1;
    RANK_CHECK(job->loss == LOSS_INT8 ||
               memcmp(send, recv, n * sizeof(*send)) == 0);
    free(send);
    free(recv);
    return 0;
}

static int
allgather_once(struct rank *rank, size_t n)
{
    const struct job *job = rank->input;
    float *own = calloc(n, sizeof(*own));
    float *all = malloc(n * rank->size * sizeof(*all));
    float *rounded = malloc(n * sizeof(*rounded));

    for (size_t i = 0; i < n; i++)
        own[i] = value_of(rank->rank, i);
    RANK_CHECK(hoop_allgather(own, all, n, HOOP_FLOAT32, rank->comm) ==
               HOOP_OK);
    for (uint32_t s = 0; s < rank->size; s++) {
        for (size_t i = 0; i < n; i++)
            rounded[i] = value_of(s, i);
        if (job->loss != LOSS_INT8)
            loss_round(job->loss, (const uint8_t *)rounded, n,
                       (uint8_t *)rounded);
        RANK_CHECK(memcmp(all + s * n, rounded, n * sizeof(*all)) == 0);
    }
    RANK_CHECK(own[5] == value_of(rank->rank, 5));
    memcpy(all + rank->rank * n, own, n * sizeof(*own));
    RANK_CHECK(hoop_allgather(HOOP_IN_PLACE, all, n, HOOP_FLOAT32,
                              rank->comm) == HOOP_OK);
    if (lossy_job_require_alike(rank, all, n * rank->size * sizeof(*all)) != 0)
        return 1;
    free(own);
    free(all);
    free(rounded);
    return 0;
}

static int
others_once(struct rank *rank, size_t n)
{
    const uint32_t root = rank->size - 1;
    float *send = calloc(n * rank->size, sizeof(*send));
    float *recv = malloc(n * sizeof(*recv));

    for (size_t i = 0; i < n * rank->size; i++)
        send[i] = value_of(rank->rank, i);
    RANK_CHECK(hoop_reduce_scatter(send, recv, n, HOOP_FLOAT32, HOOP_SUM,
                                   rank->comm) == HOOP_OK);
    for (size_t i = 0; i < n; i++)
        RANK_CHECK(fabs((double)recv[i] - sums[rank->rank * n + i]) <
                   tolerance(rank));
    RANK_CHECK(hoop_reduce(send, recv, n, HOOP_FLOAT32, HOOP_SUM, root,
                           rank->comm) == HOOP_OK);
    for (size_t i = 0; i < n && rank->rank == root; i++)
        RANK_CHECK(fabs((double)recv[i] - sums[i]) < tolerance(rank));
    free(send);
    free(recv);
    return 0;
}

/* Tries every algorithm of a collective with all counts. */
static int
by_all(struct rank *rank, const char *collective)
{
    for (uint32_t a = 0; hoop_algorithm_name(collective, a); a++) {
        char forced[128];

        /* Blocks always travel by the same algorithm, whichever is chosen. */
        if (a > 1 && ((const struct job *)rank->input)->loss == LOSS_INT8)
            break;
        /* "flat" sends nothing, and there is no shared region here. */
        if (strncmp(hoop_algorithm_name(collective, a), "flat", 4) == 0 ||
            strcmp(hoop_algorithm_name(collective, a), "direct") == 0)
            continue;

        snprintf(forced, sizeof(forced), "%s:%s", collective,
                 hoop_algorithm_name(collective, a));
        RANK_CHECK(hoop_comm_set_algorithms(rank->comm, forced) == HOOP_OK);
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            const int n_wrong =
                strcmp(collective, "allreduce") == 0
                    ? allreduce_once(rank, counts[c], HOOP_SUM) ||
                          allreduce_once(rank, counts[c], HOOP_AVG)
                : strcmp(collective, "allgather") == 0
                    ? allgather_once(rank, counts[c])
                    : others_once(rank, counts[c]);
            if (n_wrong)
                fprintf(stderr, "%zu floats by %s\n", counts[c], forced);
            RANK_CHECK(n_wrong == 0);
        }
    }
    return 0;
}

/* The result must be exactly that of the definition. */
static int
exact_once(struct rank *rank)
{
    enum {
        SMALL = 1000,
        LARGE = 20011
    };
    static float sent[LARGE];
    static float came[LARGE];
    static double wide[LARGE];
    static double summed[LARGE];

    for (size_t i = 0; i < LARGE; i++) {
        sent[i] = value_of(rank->rank, i);
        wide[i] = (double)value_of(rank->rank, i);
    }
    RANK_CHECK(hoop_allreduce(sent, came, SMALL, HOOP_FLOAT32, HOOP_MAX,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < SMALL; i++) {
        float most = value_of(0, i);

        for (uint32_t s = 1; s < rank->size; s++)
            most = fmaxf(most, value_of(s, i));
        RANK_CHECK(came[i] == most);
    }
    RANK_CHECK(hoop_allreduce(wide, summed, LARGE, HOOP_FLOAT64, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < LARGE; i++)
        RANK_CHECK(summed[i] == sums[i]);
    RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, sent, LARGE, HOOP_FLOAT32, 0,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < LARGE; i++)
        RANK_CHECK(sent[i] == value_of(0, i));
    return 0;
}

static int
by_all_collectives(struct rank *rank)
{
    sums_make(rank->size);
    const int result = exact_once(rank) || by_all(rank, "allreduce") ||
                       by_all(rank, "allgather") ||
                       by_all(rank, "reduce_scatter") || by_all(rank, "reduce");

    free(sums);
    return result;
}

static int
body(struct rank *rank)
{
    const struct job *job = rank->input;

    /* The tested path has already set one. */
    if (rank->comm->tuning)
        return by_all_collectives(rank);
    const int result =
        lossy_job_begin(rank, job->loss) || by_all_collectives(rank);

    lossy_job_end(rank);
    return result;
}

static void
run(enum codec_loss loss, const char *codec, uint32_t largest)
{
    lossy_job_run(body, &(struct job){loss}, codec, largest);
}

static void
bf16_leaves_all_ranks_the_same_bits(void **state)
{
    run(LOSS_BF16, "none", 8);
}

static void
fp16_and_planes_leave_all_ranks_the_same_bits(void **state)
{
    run(LOSS_FP16, "planes", 3);
}

static void
int8_leaves_all_ranks_the_same_bits(void **state)
{
    run(LOSS_INT8, "none", 8);
    run(LOSS_INT8, "planes", 3);
}

/* Tests the setting HOOP_WIRE_DTYPE with the algorithms of the path. */
static void
path_leaves_all_ranks_the_same_bits(void **state)
{
    struct path path;

    path_read(&path);
    run(path.loss, NULL, 8);
}

int
main(void)
{
    const struct CMUnitTest of_path[] = {
        cmocka_unit_test(path_leaves_all_ranks_the_same_bits),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_leaves_all_ranks_the_same_bits),
        cmocka_unit_test(fp16_and_planes_leave_all_ranks_the_same_bits),
        cmocka_unit_test(int8_leaves_all_ranks_the_same_bits),
    };

    struct path path;

    path_read(&path);
    if (path.is_tuned && path.loss != LOSS_NONE)
        return cmocka_run_group_tests(of_path, NULL, NULL);
    /* These tests have their own tables. */
    setenv("HOOP_TEST_TUNED", "0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
