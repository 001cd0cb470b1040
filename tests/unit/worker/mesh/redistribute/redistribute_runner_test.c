/* tests/unit/worker/mesh/redistribute/redistribute_runner_test.c - mesh/redistribute/redistribute_runner.c */

#include "base/error.h"
#include "dtype/dtype.h"
#include "engine_pair_api.h"
#include "mesh/redistribute/redistribute_runner.h"

/* A vector of four over two ranks: rank r's part, or all of it. */
enum layout {
    PARTS,
    WHOLE,
    ADDENDS,
    N_LAYOUTS
};

static const struct hoop_sharding layouts[N_LAYOUTS] = {
    [PARTS] = {.dims = {{1, {0}}}},
    [WHOLE] = {.is_uneven = false},
    [ADDENDS] = {.partial = {1, {0}}},
};

/* What one rank hands in, and what became of it. */
struct errand {
    struct redistribution *redistribution;
    int32_t in[4];
    int32_t out[4];
    struct hoop_tensor from;
    struct hoop_tensor to;
    struct redistribute_runner_request request;
    enum hoop_status finished_with;
    unsigned n_finished;
    unsigned n_destroyed;
};

static enum hoop_status
errand_finish(void *owner)
{
    struct errand *errand = owner;

    errand->n_finished++;
    return errand->finished_with == HOOP_OK
               ? HOOP_OK
               : error_raise(errand->finished_with, "finish says no");
}

static void
errand_destroy(void *owner)
{
    struct errand *errand = owner;

    errand->n_destroyed++;
    redistribution_unref(errand->redistribution);
}

static size_t
count_of(enum layout layout)
{
    return layout == PARTS ? 2 : 4;
}

/* In on rank r: 10 r + 0, 1, ... */
static int
errand_init(struct errand *errand,
            const struct side *side,
            enum layout from,
            enum layout to)
{
    const struct redistribution_request plan = {
        .from = {.mesh = {1, {2}}, .sharding = layouts[from]},
        .to = {.mesh = {1, {2}}, .sharding = layouts[to]},
        .n_ranks = 2,
        .shape = {1, {4}},
        .dtype = HOOP_INT32,
    };

    *errand = (struct errand){.out = {-1, -1, -1, -1}};
    SIDE_CHECK(redistribution_create(&plan, &errand->redistribution) ==
               HOOP_OK);
    for (int32_t i = 0; i < 4; i++)
        errand->in[i] = 10 * (int32_t)side->rank + i;
    errand->from = (struct hoop_tensor){.data = errand->in,
                                        .dtype = HOOP_INT32,
                                        .shape = {1, {count_of(from)}}};
    errand->to = (struct hoop_tensor){
        .data = errand->out, .dtype = HOOP_INT32, .shape = {1, {count_of(to)}}};
    errand->request = (struct redistribute_runner_request){
        .redistribution = errand->redistribution,
        .comm = (hoop_comm_t *)(uintptr_t)&side->comms[0],
        .rank = side->rank,
        .dtype = HOOP_INT32,
        .count = 4,
        .from = &errand->from,
        .to = &errand->to,
        .hooks = {.finish = errand_finish,
                  .destroy = errand_destroy,
                  .owner = errand},
    };
    return 0;
}

static int
redistribute_runner_in_both_forms_brings_what_is_wanted(struct side *side)
{
    static const int32_t gathered[] = {0, 1, 10, 11};
    const int32_t summed = side->rank == 0 ? 10 : 14;
    struct errand errand;
    hoop_op_t *op = NULL;

    SIDE_CHECK(errand_init(&errand, side, PARTS, WHOLE) == 0);
    SIDE_CHECK(redistribute_runner_run(&errand.request, NULL) == HOOP_OK);
    SIDE_CHECK(values_are(errand.out, gathered, 4));
    SIDE_CHECK(errand.n_finished == 1 && errand.n_destroyed == 1);

    SIDE_CHECK(errand_init(&errand, side, ADDENDS, PARTS) == 0);
    SIDE_CHECK(redistribute_runner_run(&errand.request, &op) == HOOP_OK);
    SIDE_CHECK(errand.n_finished == 0 && errand.n_destroyed == 0);
    SIDE_CHECK(hoop_wait(op, 20000) == HOOP_OK);
    SIDE_CHECK(errand.out[0] == summed && errand.out[1] == summed + 2);
    SIDE_CHECK(errand.out[2] == -1);
    SIDE_CHECK(errand.n_finished == 1 && errand.n_destroyed == 1);
    return 0;
}

/* Each means something else: both are told, and go on. */
static int
redistribute_runner_that_others_mean_otherwise_is_a_mismatch(struct side *side)
{
    const enum layout to = side->rank == 0 ? WHOLE : PARTS;
    struct errand errand;
    int32_t value = 1;

    SIDE_CHECK(errand_init(&errand, side, ADDENDS, to) == 0);
    SIDE_CHECK(redistribute_runner_run(&errand.request, NULL) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(error_text(), "redistribute #1 (int32, 4 elements)"));
    SIDE_CHECK(strstr(error_text(), "rank 0 (host:40)"));
    SIDE_CHECK(strstr(error_text(), "rank 1 (host:41)"));
    SIDE_CHECK(errand.n_finished == 0 && errand.n_destroyed == 1);
    SIDE_CHECK(sum_run(side->comms[0].context, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static int
redistribute_runner_whose_finish_fails_fails(struct side *side)
{
    struct errand errand;

    SIDE_CHECK(errand_init(&errand, side, PARTS, WHOLE) == 0);
    errand.finished_with = HOOP_E_EXHAUSTED;
    SIDE_CHECK(redistribute_runner_run(&errand.request, NULL) ==
               HOOP_E_EXHAUSTED);
    SIDE_CHECK(strstr(error_text(), "finish says no"));
    SIDE_CHECK(errand.n_finished == 1 && errand.n_destroyed == 1);
    return 0;
}

/* Nobody else is there to wait for. */
static void
redistribute_runner_that_sends_nothing_is_done_at_once(void **state)
{
    struct errand errand;
    hoop_op_t *op = NULL;

    assert_int_equal(errand_init(&errand, &engine_pair.sides[1], WHOLE, PARTS),
                     0);
    errand.request.comm = NULL;
    assert_ok(redistribute_runner_run(&errand.request, &op));
    assert_int_equal(errand.n_finished, 1);
    assert_int_equal(errand.n_destroyed, 1);
    assert_int_equal(errand.out[0], 12);
    assert_int_equal(errand.out[1], 13);
    assert_int_equal(errand.out[2], -1);
    assert_ok(hoop_wait(op, 0));

    assert_int_equal(
        errand_init(&errand, &engine_pair.sides[1], WHOLE, ADDENDS), 0);
    assert_ok(redistribute_runner_run(&errand.request, NULL));
    assert_int_equal(errand.out[0], 0);
    assert_int_equal(errand.out[3], 0);
    assert_int_equal(
        errand_init(&errand, &engine_pair.sides[0], WHOLE, ADDENDS), 0);
    assert_ok(redistribute_runner_run(&errand.request, NULL));
    assert_int_equal(errand.out[3], 3);
}

static void
redistribute_runner_of_nothing_new_copies_unless_it_is_there(void **state)
{
    struct errand errand;

    assert_int_equal(errand_init(&errand, &engine_pair.sides[0], PARTS, PARTS),
                     0);
    assert_ok(redistribute_runner_run(&errand.request, NULL));
    assert_int_equal(errand.out[1], 1);
    assert_int_equal(errand_init(&errand, &engine_pair.sides[0], PARTS, PARTS),
                     0);
    errand.to.data = errand.in;
    assert_ok(redistribute_runner_run(&errand.request, NULL));
    assert_int_equal(errand.in[1], 1);
}

static void
redistribute_runner_that_cannot_start_destroys_its_hooks(void **state)
{
    struct errand errand;

    assert_int_equal(errand_init(&errand, &engine_pair.sides[0], PARTS, WHOLE),
                     0);
    engine_mark_forked_child(engine_pair.sides[0].engine);
    assert_int_equal(redistribute_runner_run(&errand.request, NULL),
                     HOOP_E_CLOSED);
    assert_int_equal(errand.n_finished, 0);
    assert_int_equal(errand.n_destroyed, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(redistribute_runner_in_both_forms_brings_what_is_wanted),
        SIDES_TEST(
            redistribute_runner_that_others_mean_otherwise_is_a_mismatch),
        SIDES_TEST(redistribute_runner_whose_finish_fails_fails),
        ENGINE_PAIR_TEST(
            redistribute_runner_that_sends_nothing_is_done_at_once),
        ENGINE_PAIR_TEST(
            redistribute_runner_of_nothing_new_copies_unless_it_is_there),
        ENGINE_PAIR_TEST(
            redistribute_runner_that_cannot_start_destroys_its_hooks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
