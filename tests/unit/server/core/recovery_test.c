/* tests/unit/server/core/recovery_test.c - what begins anew, and damage */

#include "core/journal.h"
#include "shelf.h"

static const uint32_t pair[] = {0, 1};

static void
lease_after_revival_begins_anew(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_begin(&fixture);
    fixture_world(&fixture, 2);
    shelf_follow(&shelf, &fixture);
    fixture.now_ns += 3600 * FIXTURE_S;
    shelf_restart(&shelf, &fixture);
    fixture_tick(&fixture);
    assert_null(fixture_notice(&fixture, CLUSTER_NOTICE_LOST));
    for (int i = 0; i < 11; i++) {
        fixture.now_ns += FIXTURE_S;
        fixture_tick(&fixture);
        assert_null(fixture_notice(&fixture, CLUSTER_NOTICE_LOST));
    }
    fixture.now_ns += FIXTURE_S;
    fixture_tick(&fixture);
    assert_non_null(fixture_notice(&fixture, CLUSTER_NOTICE_LOST));
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

/* Its keys were acknowledged, its joins were not. */
static void
forming_job_waits_for_its_workers(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_begin(&fixture);
    fixture_join(&fixture, 1, 0, 2);
    shelf_follow(&shelf, &fixture);
    fixture_set(&fixture, "k", "v");
    shelf_follow(&shelf, &fixture);

    shelf_restart(&shelf, &fixture);
    fixture_world(&fixture, 2);
    const uint64_t ticket = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    assert_int_equal(fixture_reply(&fixture, ticket)->store.entries[0].n_bytes,
                     1);

    /* Nobody comes: it ends. */
    shelf_restart(&shelf, &fixture);
    fixture.now_ns += 13 * FIXTURE_S;
    fixture_tick(&fixture);
    const uint64_t late = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    fixture_refused(&fixture, late, HOOP_E_NOT_FOUND, "no job");
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

static void
key_has_its_whole_life_anew(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_begin(&fixture);
    fixture_world(&fixture, 1);
    shelf_follow(&shelf, &fixture);
    fixture_step(&fixture, (struct cluster_event){
                               .kind = CLUSTER_STORE_SET,
                               .write = {.key = "k", .ttl_ms = 5000},
                           });
    shelf_follow(&shelf, &fixture);
    /* The clock that people set is 80 s further after each restart. */
    for (uint64_t i = 1; i <= 3; i++) {
        shelf.wall_ahead_ns = i * 80 * FIXTURE_S;
        shelf_restart(&shelf, &fixture);
        fixture.now_ns += 5 * FIXTURE_S - 1;
        fixture_tick(&fixture);
        const uint64_t held = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
        assert_true(fixture_reply(&fixture, held)->store.entries[0].revision);
    }
    fixture.now_ns += 1;
    fixture_tick(&fixture);
    const uint64_t ticket = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    assert_false(fixture_reply(&fixture, ticket)->store.entries[0].revision);
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

static void
watch_of_keys_behind_a_revival_is_told_to_list_again(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};
    struct cluster_event watch = {
        .kind = CLUSTER_STORE_WATCH,
        .scan = {.prefix = ""},
    };

    (void)state;
    shelf_begin(&fixture);
    fixture_world(&fixture, 1);
    shelf_follow(&shelf, &fixture);
    fixture_set(&fixture, "k", "v");
    shelf_follow(&shelf, &fixture);
    shelf_restart(&shelf, &fixture);
    uint64_t ticket = fixture_step(&fixture, watch);
    fixture_refused(&fixture, ticket, HOOP_E_RANGE, "");
    watch.scan.since = 1;
    ticket = fixture_step(&fixture, watch);
    assert_null(fixture_find(&fixture, ticket));
    fixture_set(&fixture, "k", "w");
    assert_int_equal(fixture_reply(&fixture, ticket)->key_changes.n_items, 1);
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

/* A cluster with something of every kind. */
static void
shelf_fill(struct fixture *fixture, struct shelf *shelf)
{
    shelf_begin(fixture);
    const uint64_t epoch = fixture_world(fixture, 3);
    shelf_follow(shelf, fixture);
    fixture_set(fixture, "k", "v");
    shelf_follow(shelf, fixture);
    for (uint64_t i = 1; i <= 2; i++) {
        fixture_step(fixture, (struct cluster_event){
                                  .kind = CLUSTER_GROUP_JOIN,
                                  .group_slot = {.member = {epoch, i},
                                                 .number = 7,
                                                 .ranks = pair,
                                                 .n_ranks = 2},
                              });
        shelf_follow(shelf, fixture);
    }
    fixture_member(fixture, CLUSTER_LEAVE, epoch, 1);
    shelf_follow(shelf, fixture);
}

static enum hoop_status
shelf_try(const struct shelf *shelf, uint64_t now_ns)
{
    const struct cluster_options options = shelf_options(now_ns);
    struct cluster *cluster = NULL;

    assert_int_equal(cluster_create(&options, &cluster), HOOP_OK);
    const enum hoop_status status = shelf_read(shelf, cluster);
    cluster_destroy(cluster);
    return status;
}

static void
record_missing_or_damaged_is_found_or_harmless(void **state)
{
    struct fixture fixture;
    struct shelf shelf = {0};

    (void)state;
    shelf_fill(&fixture, &shelf);
    assert_int_equal(shelf_try(&shelf, fixture.now_ns), HOOP_OK);
    for (size_t i = 0; i < shelf.n_rows; i++) {
        const struct shelf_row *row = &shelf.rows[i];

        for (size_t at = 0; at < row->n_value; at++) {
            const uint8_t former = row->value[at];

            for (unsigned int byte = 0; byte < 256; byte += 5) {
                row->value[at] = (uint8_t)(former ^ byte);
                (void)!shelf_try(&shelf, fixture.now_ns);
            }
            row->value[at] = former;
        }
    }
    /* The members, the last change or the head of a job cannot be missing. */
    for (size_t i = 0; i < shelf.n_rows; i++) {
        struct shelf less = {0};

        for (size_t j = 0; j < shelf.n_rows; j++) {
            const struct cluster_journal_record record = {
                .key = shelf.rows[j].key,
                .n_key = shelf.rows[j].n_key,
                .value = shelf.rows[j].value,
                .n_value = shelf.rows[j].n_value,
            };

            if (i != j)
                shelf_put(&less, &record);
        }
        const uint8_t *key = shelf.rows[i].key;
        const bool is_vital =
            key[0] == JOURNAL_CLUSTER ||
            (key[0] == JOURNAL_JOB &&
             (key[9] == JOURNAL_HEAD || key[9] == JOURNAL_REVISION ||
              key[9] == JOURNAL_MEMBER || key[9] == JOURNAL_CHANGE));
        if (is_vital)
            assert_int_equal(shelf_try(&less, fixture.now_ns),
                             HOOP_E_DATA_LOSS);
        shelf_deinit(&less);
    }
    shelf_deinit(&shelf);
    fixture_deinit(&fixture);
}

static void
record_of_another_version_says_so(void **state)
{
    static const uint8_t key[] = {JOURNAL_CLUSTER};
    static const uint8_t value[] = {0x94, JOURNAL_VERSION + 1, 0, 0, 0};
    struct shelf shelf = {0};

    (void)state;
    shelf_put(&shelf,
              &(struct cluster_journal_record){.key = key,
                                               .n_key = sizeof(key),
                                               .value = value,
                                               .n_value = sizeof(value)});
    assert_int_equal(shelf_try(&shelf, FIXTURE_S), HOOP_E_PRECONDITION);
    shelf_deinit(&shelf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_after_revival_begins_anew),
        cmocka_unit_test(forming_job_waits_for_its_workers),
        cmocka_unit_test(key_has_its_whole_life_anew),
        cmocka_unit_test(watch_of_keys_behind_a_revival_is_told_to_list_again),
        cmocka_unit_test(record_missing_or_damaged_is_found_or_harmless),
        cmocka_unit_test(record_of_another_version_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
