/* tests/unit/server/core/membership_test.c - leases, leaves, reports, verdicts */

#include "base/evidence.h"
#include "base/identity.h"
#include "fixture.h"

static uint64_t
report(struct fixture *f, struct cluster_failure_report report)
{
    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_REPORT, .report = report});
}

static void
lease_expired_is_a_verdict(void **state)
{
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
}

static void
lease_renewed_lives_on(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 1);

    for (int i = 0; i < 30; i++) {
        f.now_ns += FIXTURE_S - 1;
        const uint64_t ticket = fixture_member(&f, CLUSTER_RENEW, epoch, 1);

        assert_int_equal(fixture_reply(&f, ticket)->lease.lease_ms, 1000);
        assert_int_equal(fixture_reply(&f, ticket)->lease.revision, 1);
    }
    fixture_deinit(&f);
}

/* Stopped for some time, it finds the lease over and the renewal behind it. */
static void
lease_that_ends_while_nobody_looks_waits_a_little(void **state)
{
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
}

static void
renew_by_strangers_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch + 1, 1),
                    HOOP_E_PRECONDITION, "epoch");
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 77),
                    HOOP_E_PRECONDITION, "no member");
    fixture_deinit(&f);
}

static void
report_first_verdict_stays(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t ticket =
        report(&f, (struct cluster_failure_report){{epoch, 1},
                                                   2,
                                                   identity_of_incarnation(3),
                                                   "connection\nreset",
                                                   EVIDENCE_TOLD,
                                                   0});

    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
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
    fixture_deinit(&f);
}

/* It cannot be a member, and the others are told why. */
static void
report_of_oneself_tells_the_others(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t ticket =
        report(&f, (struct cluster_failure_report){{epoch, 2},
                                                   1,
                                                   identity_of_incarnation(2),
                                                   "it may open 17 files",
                                                   EVIDENCE_TOLD,
                                                   0});

    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_LOST)->text,
                           "it may open 17 files, reported by rank 1 (h:2)"));
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 2),
                    HOOP_E_ABORTED, "17 files");
    fixture_deinit(&f);
}

/* Whoever tells of it first. */
static void
report_that_one_gives_up_is_told_in_its_words(void **state)
{
    (void)state;
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
        assert_true(change->has_given_up);
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

/* Whatever its text says; and what all are shown of a member proves nothing. */
static void
reporter_is_who_it_proved_to_be(void **state)
{
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
}

static void
report_of_nobody_is_refused(void **state)
{
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
}

static void
leave_twice_is_fine(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    for (int i = 0; i < 2; i++) {
        const uint64_t ticket = fixture_member(&f, CLUSTER_LEAVE, epoch, 2);

        assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    }
    assert_int_equal(cluster_counters(f.cluster)->leaves, 1);
    fixture_refused(&f, fixture_member(&f, CLUSTER_RENEW, epoch, 2),
                    HOOP_E_PRECONDITION, "has left");
    fixture_deinit(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_expired_is_a_verdict),
        cmocka_unit_test(lease_renewed_lives_on),
        cmocka_unit_test(lease_that_ends_while_nobody_looks_waits_a_little),
        cmocka_unit_test(renew_by_strangers_is_refused),
        cmocka_unit_test(report_first_verdict_stays),
        cmocka_unit_test(report_of_oneself_tells_the_others),
        cmocka_unit_test(report_that_one_gives_up_is_told_in_its_words),
        cmocka_unit_test(reporter_is_who_it_proved_to_be),
        cmocka_unit_test(report_of_nobody_is_refused),
        cmocka_unit_test(leave_twice_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
