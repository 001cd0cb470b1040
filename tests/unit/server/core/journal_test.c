/* tests/unit/server/core/journal_test.c - who writes what, and when */

#include "base/cleanup.h"
#include "core/journal.h"
#include "record_store.h"

static size_t
records(const struct fixture *fixture)
{
    size_t n_records = 0;

    for (size_t i = 0; i < fixture->actions.n_items; i++)
        n_records +=
            fixture->actions.items[i].kind == CLUSTER_ACTION_STORE_RECORD;
    return n_records;
}

/* Rows of a part of job 1. */
static size_t
rows(const struct record_store *record_store, enum journal_job_part part)
{
    const uint8_t key[] = {JOURNAL_JOB, 0, 0, 0, 0, 0, 0, 0, 1, (uint8_t)part};
    size_t n_rows = 0;

    for (size_t i = 0; i < record_store->n_rows; i++)
        n_rows +=
            record_store_has_prefix(&record_store->rows[i], key, sizeof(key));
    return n_rows;
}

static void
cluster_without_keeping_writes_no_record(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture, &(struct cluster_options){0});
    fixture_world(&fixture, 2);
    assert_int_equal(records(&fixture), 0);
    fixture_set(&fixture, "k", "v");
    assert_int_equal(records(&fixture), 0);
}

static void
world_formed_is_head_members_and_change(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_begin(&fixture);
    fixture_join(&fixture, 1, 0, 2);
    record_store_apply(&record_store, &fixture);
    assert_int_equal(rows(&record_store, JOURNAL_JOB_HEADER), 1);
    assert_int_equal(rows(&record_store, JOURNAL_MEMBER), 0);
    fixture_join(&fixture, 2, 1, 2);
    record_store_apply(&record_store, &fixture);
    assert_int_equal(rows(&record_store, JOURNAL_MEMBER), 2);
    assert_int_equal(rows(&record_store, JOURNAL_MEMBERSHIP_CHANGE), 1);
    record_store_deinit(&record_store);
}

static void
reading_and_renewing_write_nothing(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    record_store_begin(&fixture);
    const uint64_t epoch = fixture_world(&fixture, 1);
    fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    assert_int_equal(records(&fixture), 0);
    fixture_member(&fixture, CLUSTER_RENEW, epoch, 1);
    assert_int_equal(records(&fixture), 0);
}

static void
key_written_and_deleted_leaves_the_revision(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_begin(&fixture);
    fixture_world(&fixture, 1);
    record_store_apply(&record_store, &fixture);
    fixture_set(&fixture, "k", "v");
    record_store_apply(&record_store, &fixture);
    fixture_set(&fixture, "k", "w");
    record_store_apply(&record_store, &fixture);
    assert_int_equal(rows(&record_store, JOURNAL_STORE_ENTRY), 1);
    fixture_key(&fixture, CLUSTER_STORE_DELETE, "k");
    record_store_apply(&record_store, &fixture);
    assert_int_equal(rows(&record_store, JOURNAL_STORE_ENTRY), 0);
    assert_int_equal(rows(&record_store, JOURNAL_STORE_REVISION), 1);
    record_store_deinit(&record_store);
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
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};
    const uint64_t number = 7;

    record_store_begin(&fixture);
    const uint64_t epoch = fixture_world(&fixture, 2);
    record_store_apply(&record_store, &fixture);
    group_join(&fixture, epoch, 1);
    assert_int_equal(records(&fixture), 0);
    group_join(&fixture, epoch, 2);
    record_store_apply(&record_store, &fixture);
    assert_int_equal(rows(&record_store, JOURNAL_GROUP), 1);
    for (uint64_t incarnation = 1; incarnation <= 2; incarnation++) {
        fixture_step(&fixture,
                     (struct cluster_event){
                         .kind = CLUSTER_GROUP_LEAVE,
                         .group_slot = {.member = {epoch, incarnation},
                                        .numbers = &number,
                                        .n_numbers = 1},
                     });
        record_store_apply(&record_store, &fixture);
        /* A slot that was left beside the group; then nothing. */
        assert_int_equal(rows(&record_store, JOURNAL_GROUP),
                         incarnation == 1 ? 2 : 0);
    }
    record_store_deinit(&record_store);
}

static void
job_ended_leaves_its_ending_alone(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_begin(&fixture);
    const uint64_t epoch = fixture_world(&fixture, 1);
    record_store_apply(&record_store, &fixture);
    fixture_set(&fixture, "k", "v");
    record_store_apply(&record_store, &fixture);
    assert_true(record_store.n_rows > 4);
    fixture_member(&fixture, CLUSTER_LEAVE, epoch, 1);
    record_store_apply(&record_store, &fixture);
    assert_int_equal(record_store.n_rows, 2);
    assert_int_equal(record_store.rows[0].key[0], JOURNAL_CLUSTER);
    assert_int_equal(record_store.rows[1].key[0], JOURNAL_ENDED_JOB);
    record_store_deinit(&record_store);
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
