/* tests/unit/worker/pipeline/pipeline_test.c - pipeline/pipeline.c */

#include "hoop/pipeline.h"

#include "couple_case.h"

static void
wrong_arguments_are_invalid(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    (void)state;
    assert_invalid(hoop_pipeline_create(NULL, NULL, &pipeline),
                   "stages is NULL");
    assert_invalid(hoop_pipeline_create(both(), NULL, NULL),
                   "out_pipeline is NULL");
    assert_null(pipeline);
    assert_invalid(hoop_pipeline_set_chunk(NULL, 0, 1), "pipeline is NULL");
    hoop_pipeline_free(NULL);
}

static void
neighbours_wrap_around(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        hoop_comm_t *comm = &couple.sides[rank].comms[0];

        assert_int_equal(hoop_pipeline_create(comm, NULL, &pipeline), HOOP_OK);
        assert_ptr_equal(hoop_pipeline_comm(pipeline), comm);
        assert_int_equal(hoop_pipeline_stage(pipeline), rank);
        assert_int_equal(hoop_pipeline_size(pipeline), 2);
        assert_int_equal(hoop_pipeline_next(pipeline), 1 - rank);
        assert_int_equal(hoop_pipeline_prev(pipeline), 1 - rank);
        assert_int_equal(hoop_pipeline_is_first(pipeline), rank == 0);
        assert_int_equal(hoop_pipeline_is_last(pipeline), rank == 1);
        hoop_pipeline_free(pipeline);
    }
}

static void
stage_alone_is_first_and_last(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    (void)state;
    assert_int_equal(hoop_pipeline_create(alone(), NULL, &pipeline), HOOP_OK);
    assert_int_equal(hoop_pipeline_next(pipeline), 0);
    assert_int_equal(hoop_pipeline_prev(pipeline), 0);
    assert_true(hoop_pipeline_is_first(pipeline));
    assert_true(hoop_pipeline_is_last(pipeline));
    hoop_pipeline_free(pipeline);
}

/* First only as chunk 0, last only as the last one. */
static void
chunk_decides_who_is_first_and_last(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    (void)state;
    assert_int_equal(hoop_pipeline_create(alone(), NULL, &pipeline), HOOP_OK);
    for (uint32_t chunk = 0; chunk < 3; chunk++) {
        assert_int_equal(hoop_pipeline_set_chunk(pipeline, chunk, 3), HOOP_OK);
        assert_int_equal(hoop_pipeline_is_first(pipeline), chunk == 0);
        assert_int_equal(hoop_pipeline_is_last(pipeline), chunk == 2);
    }
    assert_invalid(hoop_pipeline_set_chunk(pipeline, 3, 3),
                   "chunk 3 is not below the number of chunks, 3");
    assert_true(hoop_pipeline_is_last(pipeline));
    hoop_pipeline_free(pipeline);
}

static void
no_member_has_no_stage(void **state)
{
    hoop_pipeline_t *pipeline = NULL;

    (void)state;
    assert_int_equal(hoop_pipeline_create(foreign(), NULL, &pipeline), HOOP_OK);
    assert_int_equal(hoop_pipeline_stage(pipeline), HOOP_NO_RANK);
    assert_int_equal(hoop_pipeline_size(pipeline), 0);
    assert_int_equal(hoop_pipeline_next(pipeline), HOOP_NO_RANK);
    assert_int_equal(hoop_pipeline_prev(pipeline), HOOP_NO_RANK);
    assert_false(hoop_pipeline_is_first(pipeline));
    assert_false(hoop_pipeline_is_last(pipeline));
    hoop_pipeline_free(pipeline);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(neighbours_wrap_around),
        COUPLE_TEST(stage_alone_is_first_and_last),
        COUPLE_TEST(chunk_decides_who_is_first_and_last),
        COUPLE_TEST(no_member_has_no_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
