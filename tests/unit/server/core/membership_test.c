/* tests/unit/server/core/membership_test.c - leases, leaves, reports,
 * verdicts */

#include "base/evidence.h"
#include "base/identity.h"
#include "core/journal.h"
#include "core/membership.h"
#include "fixture.h"
#include "record_store.h"

static uint64_t
report(struct fixture *f, struct cluster_failure_report report)
{
    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_REPORT, .report = report});
}

/* Whoever asks why others are silent learns whether a loss can be why. */
static void
age_of_a_loss_is_told(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 2);

    f.now_ns += FIXTURE_S / 2;
    fixture_member(&f, CLUSTER_RENEW, epoch, 1);
    f.now_ns += FIXTURE_S / 2;
    fixture_tick(&f);
    fixture_member(&f, CLUSTER_RENEW, epoch, 1);
    f.now_ns += 3 * FIXTURE_S / 4;
    const struct cluster_member *members =
        fixture_reply(
            &f, fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB}))
            ->job.members;

    assert_int_equal(members[0].lost_ns, 0);
    assert_int_equal(members[1].state, CLUSTER_MEMBER_LOST);
    assert_int_equal(members[1].lost_ns, 3 * FIXTURE_S / 4);
}

static void
lease_expired_is_a_verdict(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 2);

    f.now_ns += FIXTURE_S / 2;
    fixture_member(&f, CLUSTER_RENEW, epoch, 1);
    f.now_ns += FIXTURE_S / 2 - 1;
    fixture_tick(&f);
    assert_null(fixture_notice(&f, CLUSTER_NOTICE_LOST));
    fixture_next(&f);

    const struct cluster_log_notice *lost =
        fixture_notice(&f, CLUSTER_NOTICE_LOST);

    assert_non_null(lost);
    assert_int_equal(lost->rank, 1);
    assert_non_null(strstr(lost->text, "rank 1 (h:2)"));
    assert_non_null(strstr(lost->text, "lease expired 1.0 s"));
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 2),
                    HOOP_E_ABORTED, "declared lost: its lease");
    fixture_refused(&f, fixture_member(&f, CLUSTER_LEAVE, epoch, 2),
                    HOOP_E_ABORTED, "declared lost");
    assert_int_equal(cluster_counters(f.cluster)->leases_expired, 1);
}

static void
lease_renewed_lives_on(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 1);

    for (int i = 0; i < 30; i++) {
        f.now_ns += FIXTURE_S - 1;
        const uint64_t ticket = fixture_member(&f, CLUSTER_RENEW, epoch, 1);

        assert_int_equal(fixture_reply(&f, ticket)->lease.lease_ms, 1000);
        assert_int_equal(fixture_reply(&f, ticket)->lease.revision, 1);
    }
}

/* Stopped for some time, it finds the lease over and the renewal behind it. */
static void
lease_that_ends_while_nobody_looks_waits_a_little(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 2);

    f.now_ns += FIXTURE_S + FIXTURE_S / 20;
    fixture_tick(&f);
    assert_null(fixture_notice(&f, CLUSTER_NOTICE_LOST));
    fixture_member(&f, CLUSTER_RENEW, epoch, 1);
    f.now_ns += FIXTURE_S / 8;
    fixture_tick(&f);
    assert_int_equal(fixture_notice(&f, CLUSTER_NOTICE_LOST)->rank, 1);

    /* Not for ever, where it is always late. */
    for (int i = 0; i < 20; i++) {
        f.now_ns += FIXTURE_S / 10;
        fixture_tick(&f);
        if (fixture_notice(&f, CLUSTER_NOTICE_LOST))
            break;
    }
    assert_int_equal(cluster_counters(f.cluster)->leases_expired, 2);
}

static void
renew_by_strangers_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch + 1, 1),
                    HOOP_E_PRECONDITION, "epoch");
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 77),
                    HOOP_E_PRECONDITION, "no member");
}

static void
report_first_verdict_stays(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t ticket =
        report(&f, (struct cluster_failure_report){{epoch, 1},
                                                   2,
                                                   identity_of_incarnation(3),
                                                   "connection\nreset",
                                                   EVIDENCE_TOLD,
                                                   0});

    assert_ok(fixture_reply(&f, ticket)->status);
    assert_true(fixture_reply(&f, ticket)->lease.membership_epoch > epoch);
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_LOST)->text,
                           "connection?reset, reported by rank 0 (h:1)"));

    report(&f, (struct cluster_failure_report){{epoch, 2},
                                               2,
                                               identity_of_incarnation(3),
                                               "timeout",
                                               EVIDENCE_TOLD,
                                               0});
    assert_null(fixture_notice(&f, CLUSTER_NOTICE_LOST));
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 3),
                    HOOP_E_ABORTED, "connection?reset");
    fixture_refused(
        &f,
        report(&f, (struct cluster_failure_report){{epoch, 3},
                                                   0,
                                                   identity_of_incarnation(1),
                                                   "x",
                                                   EVIDENCE_TOLD,
                                                   0}),
        HOOP_E_ABORTED, "lost");
    assert_int_equal(cluster_counters(f.cluster)->verdicts, 1);
}

/* It cannot be a member, and the others are told why. */
static void
report_of_oneself_tells_the_others(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t ticket =
        report(&f, (struct cluster_failure_report){{epoch, 2},
                                                   1,
                                                   identity_of_incarnation(2),
                                                   "it may open 17 files",
                                                   EVIDENCE_TOLD,
                                                   0});

    assert_ok(fixture_reply(&f, ticket)->status);
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_LOST)->text,
                           "it may open 17 files, reported by rank 1 (h:2)"));
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 2),
                    HOOP_E_ABORTED, "17 files");
}

/* Whoever tells of it first. */
static void
report_that_one_gives_up_is_told_in_its_words(void **state)
{
    for (uint64_t is_told = 0; is_told < 2; is_told++) {
        struct fixture f;

        fixture_init(&f, &(struct cluster_options){0});
        const uint64_t epoch = fixture_world(&f, 3);
        report(&f, (struct cluster_failure_report){{epoch, is_told ? 1 : 2},
                                                   1,
                                                   identity_of_incarnation(2),
                                                   "raised ValueError: x",
                                                   EVIDENCE_GIVEN_UP,
                                                   0});
        const char *text = fixture_notice(&f, CLUSTER_NOTICE_LOST)->text;
        assert_non_null(strstr(text, "rank 1 (h:2) of job "));
        assert_non_null(strstr(text, " has given up: "));
        assert_non_null(strstr(text, "raised ValueError: x; epoch"));

        const uint64_t ticket = fixture_step(
            &f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                       .watch = {.epoch = epoch, .since = 1}});
        const struct cluster_membership_change *change =
            &fixture_reply(&f, ticket)->changes.items[0];
        assert_int_equal(change->kind, CLUSTER_CHANGE_LOST);
        assert_true(change->has_reported_own_failure);
        const uint64_t revision = change->revision;
        const struct cluster_member *members =
            fixture_reply(
                &f,
                fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB}))
                ->job.members;
        assert_int_equal(members[1].given_up_revision, revision);
        assert_int_equal(members[2].given_up_revision, 0);
        fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 2),
                        HOOP_E_ABORTED, "\" raised ValueError: x");
        fixture_deinit(&f);
    }
}

/* Once, and not "has given up: gave up: ...". */
static void
rank_that_falls_short_is_logged_in_its_words(void **state)
{
    struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    report(&f, (struct cluster_failure_report){
                   {epoch, 2},
                   1,
                   identity_of_incarnation(2),
                   "gave up: it had no memory for a frame",
                   EVIDENCE_GIVEN_UP,
                   0});
    const char *text = fixture_notice(&f, CLUSTER_NOTICE_LOST)->text;
    assert_non_null(strstr(text, "\" gave up: it had no memory for a frame;"));
    fixture_deinit(&f);
}

/* Whatever its text says; and what all are shown of a member proves nothing. */
static void
reporter_is_who_it_proved_to_be(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);

    for (uint64_t rank = 0; rank < 3; rank++)
        fixture_refused(&f,
                        report(&f,
                               (struct cluster_failure_report){
                                   {epoch, identity_of_incarnation(rank + 1)},
                                   2,
                                   identity_of_incarnation(3),
                                   "silent",
                                   EVIDENCE_TOLD,
                                   0}),
                        HOOP_E_PRECONDITION, "no member");
    report(&f,
           (struct cluster_failure_report){{epoch, 2},
                                           2,
                                           identity_of_incarnation(3),
                                           "silent, reported by rank 0 (h:1)",
                                           EVIDENCE_TOLD,
                                           0});
    const char *text = fixture_notice(&f, CLUSTER_NOTICE_LOST)->text;
    assert_non_null(strstr(text, "silent, reported by rank 1 (h:2)"));
    assert_null(strstr(text, "rank 0"));
    fixture_refused(
        &f,
        fixture_member(&f, CLUSTER_LEAVE, epoch, identity_of_incarnation(1)),
        HOOP_E_PRECONDITION, "no member");
}

static void
report_of_nobody_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const struct {
        struct cluster_failure_report report;
        enum hoop_status status;
    } cases[] = {
        {{{epoch, 1}, 2, identity_of_incarnation(2), "x", EVIDENCE_TOLD, 0},
         HOOP_E_INVALID},
        {{{epoch, 1}, 1, identity_of_incarnation(9), "x", EVIDENCE_TOLD, 0},
         HOOP_E_INVALID},
        {{{epoch + 1, 1}, 1, identity_of_incarnation(2), "x", EVIDENCE_TOLD, 0},
         HOOP_E_PRECONDITION},
        {{{epoch, 9}, 1, identity_of_incarnation(2), "x", EVIDENCE_TOLD, 0},
         HOOP_E_PRECONDITION},
        /* The coordinator's own, and none at all. */
        {{{epoch, 1}, 1, identity_of_incarnation(2), "x", EVIDENCE_LEASE, 0},
         HOOP_E_INVALID},
        {{{epoch, 1}, 1, identity_of_incarnation(2), "x", EVIDENCE_KINDS, 0},
         HOOP_E_INVALID},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        fixture_refused(&f, report(&f, cases[i].report), cases[i].status, "");
    assert_int_equal(cluster_counters(f.cluster)->members, 2);
}

static void
leave_twice_is_fine(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    for (int i = 0; i < 2; i++) {
        const uint64_t ticket = fixture_member(&f, CLUSTER_LEAVE, epoch, 2);

        assert_ok(fixture_reply(&f, ticket)->status);
    }
    assert_int_equal(cluster_counters(f.cluster)->leaves, 1);
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 2),
                    HOOP_E_PRECONDITION, "has left");
}

/* Part of a key, behind kind and number. */
enum {
    KEY_PART = 9,
};

static const uint64_t MS = 1000000;

struct life {
    struct fixture fixture;
    struct record_store record_store;
    uint64_t epoch;
    bool is_lost; /* somebody, ever */
    bool has_ended;
};

static void
life_begin(struct life *life, uint32_t size)
{
    *life = (struct life){0};
    record_store_begin(&life->fixture);
    if (size > 0)
        life->epoch = fixture_world(&life->fixture, size);
    record_store_apply(&life->record_store, &life->fixture);
}

static void
life_end(struct life *life)
{
    record_store_deinit(&life->record_store);
    fixture_deinit(&life->fixture);
}

static void
step_follow(struct life *life)
{
    record_store_apply(&life->record_store, &life->fixture);
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

static const struct record_store_row *
record_find(const struct life *life)
{
    for (size_t i = 0; i < life->record_store.n_rows; i++) {
        const struct record_store_row *row = &life->record_store.rows[i];

        if (row->n_key_bytes > KEY_PART && row->key[0] == JOURNAL_JOB &&
            row->key[KEY_PART] == JOURNAL_LEASE_CHECK)
            return row;
    }
    return NULL;
}

static void
dead_member_is_lost_however_often_the_coordinator_dies(void **state)
{
    static const uint64_t lives_ms[] = {400, 1000, 5000, 11000};

    for (size_t i = 0; i < sizeof(lives_ms) / sizeof(*lives_ms); i++) {
        struct life life;
        uint64_t up_ms = 0;

        life_begin(&life, 2);
        while (!life.is_lost && up_ms < 30000) {
            /* It may be away for long. */
            life.fixture.now_ns += 3600 * FIXTURE_S;
            record_store_restart(&life.record_store, &life.fixture);
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

    for (size_t i = 0; i < sizeof(signs_ms) / sizeof(*signs_ms); i++) {
        struct life life;

        life_begin(&life, 1);
        for (unsigned n = 0; n < 200; n++) {
            record_store_restart(&life.record_store, &life.fixture);
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

    life_begin(&life, 2);
    record_store_restart(&life.record_store, &life.fixture);
    life_live(&life, 1000, 1, 100);
    const struct record_store_row *record = record_find(&life);
    assert_non_null(record);
    record_store_restart(&life.record_store, &life.fixture);
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

    life_begin(&life, 0);
    fixture_join(&life.fixture, 1, 0, 2);
    record_store_apply(&life.record_store, &life.fixture);
    fixture_set(&life.fixture, "k", "v");
    record_store_apply(&life.record_store, &life.fixture);
    while (status == HOOP_OK && up_ms < 30000) {
        record_store_restart(&life.record_store, &life.fixture);
        life_live(&life, 2000, 0, 0);
        up_ms += 2000;
        const uint64_t ticket =
            fixture_key(&life.fixture, CLUSTER_STORE_GET, "k");
        status = fixture_reply(&life.fixture, ticket)->status;
        record_store_apply(&life.record_store, &life.fixture);
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

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct life life;
        struct cluster *cluster = NULL;
        uint8_t key[JOURNAL_KEY_MAX];

        life_begin(&life, 2);
        record_store_restart(&life.record_store, &life.fixture);
        life_live(&life, 1000, 0, 0);
        const struct record_store_row *found = record_find(&life);
        assert_non_null(found);
        memcpy(key, found->key, found->n_key_bytes);
        record_store_put(&life.record_store,
                         &(struct cluster_journal_record){
                             .key = key,
                             .n_key_bytes = found->n_key_bytes,
                             .value = shapes[i],
                             .n_value_bytes = sizes[i],
                         });
        const struct cluster_options options =
            record_store_options(life.fixture.now_ns);
        assert_ok(cluster_create(&options, &cluster));
        assert_int_equal(record_store_recover(&life.record_store, cluster),
                         HOOP_E_DATA_LOSS);
        cluster_destroy(cluster);
        life_end(&life);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(age_of_a_loss_is_told),
        cmocka_unit_test(lease_expired_is_a_verdict),
        cmocka_unit_test(lease_renewed_lives_on),
        cmocka_unit_test(lease_that_ends_while_nobody_looks_waits_a_little),
        cmocka_unit_test(renew_by_strangers_is_refused),
        cmocka_unit_test(report_first_verdict_stays),
        cmocka_unit_test(report_of_oneself_tells_the_others),
        cmocka_unit_test(report_that_one_gives_up_is_told_in_its_words),
        cmocka_unit_test(rank_that_falls_short_is_logged_in_its_words),
        cmocka_unit_test(reporter_is_who_it_proved_to_be),
        cmocka_unit_test(report_of_nobody_is_refused),
        cmocka_unit_test(leave_twice_is_fine),
        cmocka_unit_test(
            dead_member_is_lost_however_often_the_coordinator_dies),
        cmocka_unit_test(member_that_gives_a_sign_in_each_life_stays),
        cmocka_unit_test(record_goes_when_all_have_come_back),
        cmocka_unit_test(forming_job_ends_however_often_the_coordinator_dies),
        cmocka_unit_test(record_that_does_not_fit_is_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
