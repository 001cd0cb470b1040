/* tests/unit/server/core/lease_check_test.c - core/membership.c */

#include "core/journal.h"
#include "core/membership.h"
#include "shelf.h"

/* Part of a key, behind kind and number. */
enum {
    KEY_PART = 9,
};

static const uint64_t MS = 1000000;

struct life {
    struct fixture fixture;
    struct shelf shelf;
    uint64_t epoch;
    bool is_lost; /* somebody, ever */
    bool has_ended;
};

static void
life_begin(struct life *life, uint32_t size)
{
    *life = (struct life){0};
    shelf_begin(&life->fixture);
    if (size > 0)
        life->epoch = fixture_world(&life->fixture, size);
    shelf_follow(&life->shelf, &life->fixture);
}

static void
life_end(struct life *life)
{
    shelf_deinit(&life->shelf);
    fixture_deinit(&life->fixture);
}

static void
step_follow(struct life *life)
{
    shelf_follow(&life->shelf, &life->fixture);
    life->is_lost |=
        fixture_notice(&life->fixture, CLUSTER_NOTICE_LOST) != NULL;
    life->has_ended |=
        fixture_notice(&life->fixture, CLUSTER_NOTICE_ENDED) != NULL;
}

/* The coordinator lives for so long, in small steps; incarnation renews at a
 * moment of its own, and on. 0: nobody does. */
static void
life_live(struct life *life, uint64_t ms, uint64_t renewing, uint64_t at_ms)
{
    const uint64_t begin_ns = life->fixture.now_ns;

    for (uint64_t i = 1; i <= ms / 10; i++) {
        life->fixture.now_ns = begin_ns + 10 * i * MS;
        fixture_tick(&life->fixture);
        step_follow(life);
        if (renewing && i % 300 == at_ms / 10) {
            fixture_member(&life->fixture, CLUSTER_RENEW, life->epoch,
                           renewing);
            step_follow(life);
        }
    }
}

static const struct shelf_row *
record_find(const struct life *life)
{
    for (size_t i = 0; i < life->shelf.n_rows; i++) {
        const struct shelf_row *row = &life->shelf.rows[i];

        if (row->n_key > KEY_PART && row->key[0] == JOURNAL_JOB &&
            row->key[KEY_PART] == JOURNAL_LEASE_CHECK)
            return row;
    }
    return NULL;
}

static void
dead_member_is_lost_however_often_the_coordinator_dies(void **state)
{
    static const uint64_t lives_ms[] = {400, 1000, 5000, 11000};

    (void)state;
    for (size_t i = 0; i < sizeof(lives_ms) / sizeof(*lives_ms); i++) {
        struct life life;
        uint64_t up_ms = 0;

        life_begin(&life, 2);
        while (!life.is_lost && up_ms < 30000) {
            /* It may be away for long. */
            life.fixture.now_ns += 3600 * FIXTURE_S;
            shelf_restart(&life.shelf, &life.fixture);
            life_live(&life, lives_ms[i], 1, 250);
            up_ms += lives_ms[i];
        }
        /* Not too soon either. */
        assert_true(life.is_lost && !life.has_ended);
        assert_true(up_ms >= 12000 && up_ms <= 25000);
        life_end(&life);
    }
}

static void
member_that_gives_a_sign_in_each_life_stays(void **state)
{
    static const uint64_t signs_ms[] = {10, 370, 380, 390};

    (void)state;
    for (size_t i = 0; i < sizeof(signs_ms) / sizeof(*signs_ms); i++) {
        struct life life;

        life_begin(&life, 1);
        for (unsigned n = 0; n < 200; n++) {
            shelf_restart(&life.shelf, &life.fixture);
            life_live(&life, 450, 1, signs_ms[i]);
        }
        assert_false(life.is_lost);
        life_end(&life);
    }
}

static void
record_goes_when_all_have_come_back(void **state)
{
    struct life life;

    (void)state;
    life_begin(&life, 2);
    shelf_restart(&life.shelf, &life.fixture);
    life_live(&life, 1000, 1, 100);
    const struct shelf_row *record = record_find(&life);
    assert_non_null(record);
    shelf_restart(&life.shelf, &life.fixture);
    life_live(&life, 100, 1, 10);
    assert_non_null(record_find(&life));
    life_live(&life, 100, 2, 10);
    assert_null(record_find(&life));
    life_live(&life, 2000, 0, 0);
    assert_null(record_find(&life));
    assert_false(life.is_lost);
    life_end(&life);
}

/* Nobody has been told of its world, and nobody comes back. */
static void
forming_job_ends_however_often_the_coordinator_dies(void **state)
{
    struct life life;
    uint64_t up_ms = 0;
    enum hoop_status status = HOOP_OK;

    (void)state;
    life_begin(&life, 0);
    fixture_join(&life.fixture, 1, 0, 2);
    shelf_follow(&life.shelf, &life.fixture);
    fixture_set(&life.fixture, "k", "v");
    shelf_follow(&life.shelf, &life.fixture);
    while (status == HOOP_OK && up_ms < 30000) {
        shelf_restart(&life.shelf, &life.fixture);
        life_live(&life, 2000, 0, 0);
        up_ms += 2000;
        const uint64_t ticket =
            fixture_key(&life.fixture, CLUSTER_STORE_GET, "k");
        status = fixture_reply(&life.fixture, ticket)->status;
        shelf_follow(&life.shelf, &life.fixture);
    }
    assert_int_equal(status, HOOP_E_NOT_FOUND);
    assert_true(up_ms >= 12000 && up_ms <= 16000);
    life_end(&life);
}

static void
record_that_does_not_fit_is_damage(void **state)
{
    static const uint8_t shapes[][6] = {
        {0x91, 0xc4, 1, 3},       /* of one rank, not two */
        {0x91, 0xc4, 2, 3, 33},   /* more than there are */
        {0x91, 0xc4, 3, 3, 3, 3}, /* of three */
        {0x91, 0xc4, 0},          /* of nobody */
    };
    static const size_t sizes[] = {4, 5, 6, 3};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct life life;
        struct cluster *cluster = NULL;
        uint8_t key[JOURNAL_KEY_MAX];

        life_begin(&life, 2);
        shelf_restart(&life.shelf, &life.fixture);
        life_live(&life, 1000, 0, 0);
        const struct shelf_row *found = record_find(&life);
        assert_non_null(found);
        memcpy(key, found->key, found->n_key);
        shelf_put(&life.shelf, &(struct cluster_journal_record){
                                   .key = key,
                                   .n_key = found->n_key,
                                   .value = shapes[i],
                                   .n_value = sizes[i],
                               });
        const struct cluster_options options =
            shelf_options(life.fixture.now_ns);
        assert_int_equal(cluster_create(&options, &cluster), HOOP_OK);
        assert_int_equal(shelf_read(&life.shelf, cluster), HOOP_E_DATA_LOSS);
        cluster_destroy(cluster);
        life_end(&life);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            dead_member_is_lost_however_often_the_coordinator_dies),
        cmocka_unit_test(member_that_gives_a_sign_in_each_life_stays),
        cmocka_unit_test(record_goes_when_all_have_come_back),
        cmocka_unit_test(forming_job_ends_however_often_the_coordinator_dies),
        cmocka_unit_test(record_that_does_not_fit_is_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
