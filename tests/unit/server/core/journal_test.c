/* tests/unit/server/core/journal_test.c - who writes what, and when */

#include "base/cleanup.h"
#include "core/journal.h"
#include "shelf.h"

static size_t
records(const struct fixture *fixture)
{
    size_t n_records = 0;

    for (size_t i = 0; i < fixture->actions.n_items; i++)
        n_records += fixture->actions.items[i].kind == CLUSTER_RECORD;
    return n_records;
}

/* Rows of a part of job 1. */
static size_t
rows(const struct shelf *shelf, enum journal_part part)
{
    const uint8_t key[] = {JOURNAL_JOB, 0, 0, 0, 0, 0, 0, 0, 1, (uint8_t)part};
    size_t n_rows = 0;

    for (size_t i = 0; i < shelf->n_rows; i++)
        n_rows += shelf_begins(&shelf->rows[i], key, sizeof(key));
    return n_rows;
}

static void
cluster_without_keeping_writes_no_record(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, &(struct cluster_options){0});
    fixture_world(&fixture, 2);
    assert_int_equal(records(&fixture), 0);
    fixture_set(&fixture, "k", "v");
    assert_int_equal(records(&fixture), 0);
    fixture_deinit(&fixture);
}

static void
world_formed_is_head_members_and_change(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_begin(&fixture);
    fixture_join(&fixture, 1, 0, 2);
    shelf_follow(&shelf, &fixture);
    assert_int_equal(rows(&shelf, JOURNAL_HEAD), 1);
    assert_int_equal(rows(&shelf, JOURNAL_MEMBER), 0);
    fixture_join(&fixture, 2, 1, 2);
    shelf_follow(&shelf, &fixture);
    assert_int_equal(rows(&shelf, JOURNAL_MEMBER), 2);
    assert_int_equal(rows(&shelf, JOURNAL_CHANGE), 1);
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

static void
reading_and_renewing_write_nothing(void **state)
{
    struct fixture fixture;

    (void)state;
    shelf_begin(&fixture);
    const uint64_t epoch = fixture_world(&fixture, 1);
    fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    assert_int_equal(records(&fixture), 0);
    fixture_member(&fixture, CLUSTER_RENEW, epoch, 1);
    assert_int_equal(records(&fixture), 0);
    fixture_deinit(&fixture);
}

static void
key_written_and_deleted_leaves_the_revision(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_begin(&fixture);
    fixture_world(&fixture, 1);
    shelf_follow(&shelf, &fixture);
    fixture_set(&fixture, "k", "v");
    shelf_follow(&shelf, &fixture);
    fixture_set(&fixture, "k", "w");
    shelf_follow(&shelf, &fixture);
    assert_int_equal(rows(&shelf, JOURNAL_ENTRY), 1);
    fixture_key(&fixture, CLUSTER_STORE_DELETE, "k");
    shelf_follow(&shelf, &fixture);
    assert_int_equal(rows(&shelf, JOURNAL_ENTRY), 0);
    assert_int_equal(rows(&shelf, JOURNAL_REVISION), 1);
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

static void
group_join(struct fixture *fixture, uint64_t epoch, uint64_t incarnation)
{
    static const uint32_t ranks[] = {0, 1};

    fixture_step(fixture, (struct cluster_event){
                              .kind = CLUSTER_GROUP_JOIN,
                              .group_slot = {.member = {epoch, incarnation},
                                             .number = 7,
                                             .ranks = ranks,
                                             .n_ranks = 2},
                          });
}

static void
communicator_is_written_when_it_has_formed(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};
    const uint64_t number = 7;

    (void)state;
    shelf_begin(&fixture);
    const uint64_t epoch = fixture_world(&fixture, 2);
    shelf_follow(&shelf, &fixture);
    group_join(&fixture, epoch, 1);
    assert_int_equal(records(&fixture), 0);
    group_join(&fixture, epoch, 2);
    shelf_follow(&shelf, &fixture);
    assert_int_equal(rows(&shelf, JOURNAL_GROUP), 1);
    for (uint64_t incarnation = 1; incarnation <= 2; incarnation++) {
        fixture_step(&fixture,
                     (struct cluster_event){
                         .kind = CLUSTER_GROUP_LEAVE,
                         .group_slot = {.member = {epoch, incarnation},
                                        .numbers = &number,
                                        .n_numbers = 1},
                     });
        shelf_follow(&shelf, &fixture);
        /* A slot that was left beside the group; then nothing. */
        assert_int_equal(rows(&shelf, JOURNAL_GROUP), incarnation == 1 ? 2 : 0);
    }
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

static void
job_ended_leaves_its_ending_alone(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_begin(&fixture);
    const uint64_t epoch = fixture_world(&fixture, 1);
    shelf_follow(&shelf, &fixture);
    fixture_set(&fixture, "k", "v");
    shelf_follow(&shelf, &fixture);
    assert_true(shelf.n_rows > 4);
    fixture_member(&fixture, CLUSTER_LEAVE, epoch, 1);
    shelf_follow(&shelf, &fixture);
    assert_int_equal(shelf.n_rows, 2);
    assert_int_equal(shelf.rows[0].key[0], JOURNAL_CLUSTER);
    assert_int_equal(shelf.rows[1].key[0], JOURNAL_ENDED_JOB);
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_without_keeping_writes_no_record),
        cmocka_unit_test(world_formed_is_head_members_and_change),
        cmocka_unit_test(reading_and_renewing_write_nothing),
        cmocka_unit_test(key_written_and_deleted_leaves_the_revision),
        cmocka_unit_test(communicator_is_written_when_it_has_formed),
        cmocka_unit_test(job_ended_leaves_its_ending_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
