/* tests/unit/worker/api/gather_object_test.c - api/objects.c */

#include <stdlib.h>

#include "base/clock.h"
#include "couple_case.h"
#include "engine/op.h"

static void
wrong_arguments_are_invalid(void **state)
{
    struct hoop_objects objects;
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_allgather_object("", 0, &objects, NULL),
                   "comm is NULL");
    assert_invalid(hoop_allgather_object(NULL, 1, &objects, both()),
                   "send is NULL on rank 0");
    assert_invalid(
        hoop_allgather_object("", ((size_t)1 << 40) + 1, &objects, both()),
        "too large");
    assert_invalid(hoop_allgather_object("", 0, NULL, both()),
                   "out_objects is NULL on rank 0");
    assert_invalid(hoop_gather_object("", 0, NULL, 0, both()),
                   "out_objects is NULL on rank 0");
    assert_invalid(hoop_gather_object("", 0, &objects, 2, both()), "root 2");
    assert_invalid(hoop_gather_object_start("", 0, &objects, 2, both(), &op),
                   "root 2");
    assert_invalid(hoop_allgather_object_start("", 0, &objects, both(), NULL),
                   "out_op is NULL");
    assert_null(op);
}

static void
no_member_gets_nothing(void **state)
{
    struct hoop_objects objects = {.n_objects = 7};
    hoop_op_t *op = NULL;

    (void)state;
    assert_int_equal(hoop_allgather_object("", 0, &objects, foreign()),
                     HOOP_OK);
    assert_int_equal(hoop_gather_object_start("", 0, NULL, 3, foreign(), &op),
                     HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_OK);
    assert_int_equal(objects.n_objects, 7);
}

/* Rank 0 has none, rank 1 has five letters. */
static bool
are_both(const struct hoop_objects *objects)
{
    return objects->n_objects == 2 && objects->objects[0].n_bytes == 0 &&
           objects->objects[1].n_bytes == 5 &&
           !memcmp(objects->objects[1].bytes, "seven", 5);
}

static int
side_all(struct side *side)
{
    const char *send = side->rank == 0 ? NULL : "seven";
    const size_t n_send = side->rank == 0 ? 0 : 5;
    struct hoop_objects objects = {.n_objects = 9};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgather_object(send, n_send, &objects, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(are_both(&objects));
    hoop_objects_free(&objects);
    SIDE_CHECK(objects.n_objects == 0 && objects.objects == NULL);
    SIDE_CHECK(finish(hoop_allgather_object_start(send, n_send, &objects,
                                                  side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(are_both(&objects));
    hoop_objects_free(&objects);
    hoop_objects_free(NULL);
    return 0;
}

static void
everybody_has_all_objects(void **state)
{
    (void)state;
    couple_run(&couple, side_all);
}

static int
side_root(struct side *side)
{
    const char *send = side->rank == 0 ? "" : "seven";
    const size_t n_send = side->rank == 0 ? 0 : 5;
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const bool is_root = side->rank == root;
        struct hoop_objects objects = {.n_objects = 9};

        SIDE_CHECK(hoop_gather_object(send, n_send, &objects, root,
                                      side->comms) == HOOP_OK);
        SIDE_CHECK(is_root ? are_both(&objects) : objects.n_objects == 9);
        hoop_objects_free(&objects);
        SIDE_CHECK(finish(hoop_gather_object_start(send, n_send,
                                                   is_root ? &objects : NULL,
                                                   root, side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(!is_root || are_both(&objects));
        hoop_objects_free(&objects);
    }
    return 0;
}

static void
root_alone_has_all_objects(void **state)
{
    (void)state;
    couple_run(&couple, side_root);
}

/* None has anything. */
static int
side_nothing(struct side *side)
{
    struct hoop_objects objects;

    SIDE_CHECK(hoop_allgather_object(NULL, 0, &objects, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(objects.n_objects == 2 && objects.objects[1].n_bytes == 0);
    hoop_objects_free(&objects);
    return 0;
}

static void
objects_may_all_be_empty(void **state)
{
    (void)state;
    couple_run(&couple, side_nothing);
}

/* It has ended, but was not waited for, when its communicator is freed. */
static int
side_late(struct side *side)
{
    const char *send = side->rank == 0 ? NULL : "seven";
    const uint64_t deadline_ns = patience();
    struct hoop_comm comm = side->comms[0];
    struct hoop_objects objects;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgather_object_start(send, side->rank == 0 ? 0 : 5,
                                           &objects, &comm, &op) == HOOP_OK);
    while (!atomic_load(&((struct op *)op)->is_done)) {
        SIDE_CHECK(!clock_is_past(deadline_ns));
        engine_progress_background(side->engine);
    }
    memset(&comm, 0, sizeof(comm));
    SIDE_CHECK(hoop_wait(op, 0) == HOOP_OK);
    SIDE_CHECK(are_both(&objects));
    hoop_objects_free(&objects);
    return 0;
}

static void
objects_outlive_their_communicator(void **state)
{
    (void)state;
    couple_run(&couple, side_late);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(no_member_gets_nothing),
        COUPLE_TEST(everybody_has_all_objects),
        COUPLE_TEST(root_alone_has_all_objects),
        COUPLE_TEST(objects_may_all_be_empty),
        COUPLE_TEST(objects_outlive_their_communicator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
