/* tests/unit/server/core/suspicion_test.c - core/suspicion.c */

#include "base/clock.h"
#include "base/evidence.h"
#include "base/identity.h"
#include "fixture.h"

#define ADVICE "run hoopctl doctor --listen there, --peer HOST:PORT elsewhere"

enum {
    RANKS = 4,
    LEASE_MS = 2000,
};

/* Ranks have the incarnations 1 to RANKS. */
struct world {
    struct fixture f;
    uint64_t epoch;
    uint64_t revision; /* of the last change that the watchers saw */
    uint64_t question; /* that they were asked last */
    uint64_t watches[RANKS];
};

static void
world_watch(struct world *world, uint32_t rank)
{
    world->watches[rank] =
        fixture_step(&world->f, (struct cluster_event){
                                    .kind = CLUSTER_WATCH,
                                    .client = rank + 1,
                                    .watch = {.epoch = world->epoch,
                                              .since = world->revision,
                                              .question = world->question},
                                });
}

static void
world_deinit_at(struct world *world)
{
    fixture_deinit(&world->f);
}

/* hosts: of each rank, a letter. */
static void
world_open_on(struct world *world, const char *hosts)
{
    uint64_t ticket = 0;

    *world = (struct world){.revision = 1};
    fixture_init(&world->f, &(struct cluster_options){.lease_ms = LEASE_MS});
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct cluster_event event = fixture_join_event(rank + 1, rank, RANKS);
        const char host[] = {hosts[rank], 0};

        event.join.host = host;
        ticket = fixture_step(&world->f, event);
    }
    world->epoch = fixture_reply(&world->f, ticket)->world.epoch;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        world_watch(world, rank);
}

static void
world_open(struct world *world)
{
    world_open_on(world, "hhhh");
}

static void
world_pass(struct world *world, uint64_t n_ms)
{
    world->f.now_ns += n_ms * CLOCK_NS_PER_MS;
    fixture_tick(&world->f);
}

static void
complain_that(struct world *world,
              uint32_t from,
              uint32_t of,
              enum evidence evidence,
              const char *reason)
{
    fixture_step(&world->f,
                 (struct cluster_event){
                     .kind = CLUSTER_REPORT,
                     .report = {.reporter = {world->epoch, from + 1},
                                .rank = of,
                                .identity = identity_of_incarnation(of + 1),
                                .reason = reason,
                                .evidence = evidence},
                 });
}

static void
complain(struct world *world,
         uint32_t from,
         uint32_t of,
         enum evidence evidence)
{
    complain_that(world, from, of, evidence, "connection reset");
}

/* Whoever has a watch parked is asked by the last step. */
static void
question_take(struct world *world)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct cluster_reply *reply =
            fixture_reply(&world->f, world->watches[rank]);

        assert_int_equal(reply->kind, CLUSTER_REPLY_CHANGES);
        assert_int_equal(reply->changes.n_items, 0);
        assert_true(reply->changes.question > 0);
        world->question = reply->changes.question;
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        world_watch(world, rank);
}

/* Its views of all: h heard, u unanswered, s silent, b broken, - none. */
static void
answer(struct world *world, uint32_t rank, const char *letters)
{
    static const char kinds[] = "-husb";
    uint8_t views[RANKS];

    for (uint32_t i = 0; i < RANKS; i++)
        views[i] = (uint8_t)(strchr(kinds, letters[i]) - kinds);
    fixture_step(&world->f, (struct cluster_event){
                                .kind = CLUSTER_RENEW,
                                .renewal = {.member = {world->epoch, rank + 1},
                                            .question = world->question,
                                            .views = views,
                                            .n_views = RANKS},
                            });
}

static void
expect_lost(const struct world *world, const char *text)
{
    const struct cluster_log_notice *lost =
        fixture_notice(&world->f, CLUSTER_NOTICE_LOST);

    assert_non_null(lost);
    if (!strstr(lost->text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, lost->text);
}

static void
expect_nobody_lost(const struct world *world)
{
    assert_null(fixture_notice(&world->f, CLUSTER_NOTICE_LOST));
}

/* Nobody can change it any more: at once. */
static void
complaint_of_all_is_a_verdict_at_once(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 0, 3, EVIDENCE_BROKEN);
    expect_nobody_lost(&world);
    question_take(&world);
    answer(&world, 0, "-hhb");
    expect_nobody_lost(&world);
    answer(&world, 1, "h-hb");
    expect_nobody_lost(&world);
    answer(&world, 2, "hh-b");
    expect_lost(&world, "rank 3 (h:4) of job \"a\" is lost: connection reset "
                        "(inferred: dead, stopped or cut off), reported by "
                        "ranks 0, 1 and 2");
}

static void
verdict_comes_in_100_ms_whoever_is_silent(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 2, 1, EVIDENCE_BROKEN);
    world_pass(&world, EVIDENCE_DECIDE_MS - 1);
    expect_nobody_lost(&world);
    world_pass(&world, 1);
    expect_lost(&world, "rank 1 (h:2) of job \"a\" is lost: connection reset "
                        "(inferred: dead, stopped or cut off), reported by "
                        "rank 2 (h:3)");
}

/* The first complaint is that of the one that is cut off. */
static void
rank_that_is_cut_off_expels_nobody(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 0, 3, EVIDENCE_SILENT);
    question_take(&world);
    answer(&world, 0, "-uus");
    answer(&world, 1, "u-hh");
    answer(&world, 2, "uh-h");
    expect_nobody_lost(&world);
    answer(&world, 3, "uhh-");
    expect_lost(&world, "rank 0 (h:1) of job \"a\" is lost: it alone does not "
                        "hear ranks 1, 2 and 3: connection reset (inferred: "
                        "it is cut off: " ADVICE "), as the others told the "
                        "coordinator");
    assert_int_equal(cluster_counters(world.f.cluster)->verdicts, 1);
}

/* Another does not hear them either, but has waited for a shorter time. */
static void
rank_that_is_not_alone_is_not_said_to_be(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 0, 3, EVIDENCE_SILENT);
    question_take(&world);
    answer(&world, 0, "-hss");
    answer(&world, 1, "h-uu");
    answer(&world, 2, "uu-h");
    answer(&world, 3, "uuh-");
    expect_lost(&world,
                "rank 0 (h:1) of job \"a\" is lost: it does not hear "
                "ranks 2 and 3: frozen or unreachable (inferred: it is cut "
                "off: " ADVICE "), as it told the coordinator");
}

static void
host_that_is_cut_off_is_named(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open_on(&world, "aabb");
    complain(&world, 0, 2, EVIDENCE_SILENT);
    question_take(&world);
    answer(&world, 0, "-hss");
    answer(&world, 1, "h-su");
    answer(&world, 2, "ss-h");
    expect_nobody_lost(&world);
    answer(&world, 3, "ssh-");
    expect_lost(
        &world,
        "rank 3 (b:4) of job \"a\" is lost: no rank of another host "
        "hears host b (ranks 2 and 3): is there a firewall, or a cut link? If "
        "so, " ADVICE ", reported by rank 0 (a:1)");
    /* The other one, for the same cause. */
    assert_int_equal(cluster_counters(world.f.cluster)->verdicts, 2);
}

/* What one host sends does not arrive; what comes back does. Of both that go
 * the same is told. */
static void
host_that_does_not_hear_another_is_named(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open_on(&world, "aabb");
    complain_that(&world, 3, 0, EVIDENCE_SILENT, "frozen or unreachable");
    question_take(&world);
    answer(&world, 0, "-hhh");
    answer(&world, 1, "h-hh");
    answer(&world, 2, "ss-h");
    expect_nobody_lost(&world);
    answer(&world, 3, "ssh-");
    expect_lost(&world,
                "rank 3 (b:4) of job \"a\" is lost: ranks 2 and 3 "
                "(host b) do not hear host a: is there a firewall, or "
                "a cut link? If so, " ADVICE ", as it told the coordinator");
    size_t n_lost = 0;
    for (size_t i = 0; i < world.f.actions.n_items; i++) {
        const struct cluster_action *action = &world.f.actions.items[i];

        n_lost +=
            action->kind == CLUSTER_LOG_NOTICE &&
            strstr(action->notice.text, "is lost: ranks 2 and 3 (host b)");
    }
    assert_int_equal(n_lost, 2);
}

/* Who knows which setting is wrong is believed. */
static void
host_that_is_cut_off_by_a_setting_has_it_named(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open_on(&world, "aabb");
    complain_that(&world, 0, 3, EVIDENCE_BROKEN, "set HOOP_ADVERTISE there");
    question_take(&world);
    answer(&world, 0, "-hbb");
    answer(&world, 1, "h-bb");
    answer(&world, 2, "bb-h");
    answer(&world, 3, "bbh-");
    expect_lost(&world,
                "rank 3 (b:4) of job \"a\" is lost: set HOOP_ADVERTISE "
                "there (inferred: it lives, and cannot be reached: " ADVICE
                "), reported by ranks 0 and 1");
}

/* Neither peers nor the coordinator hear it. */
static void
host_that_nobody_hears_may_be_down(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open_on(&world, "aabb");
    complain(&world, 0, 2, EVIDENCE_SILENT);
    question_take(&world);
    answer(&world, 0, "-hss");
    answer(&world, 1, "h-ss");
    world_pass(&world, EVIDENCE_DECIDE_MS);
    expect_lost(
        &world,
        "rank 3 (b:4) of job \"a\" is lost: no rank of another host "
        "hears host b (ranks 2 and 3): is it down, is there a firewall, "
        "or a cut link? If so, " ADVICE ", reported by ranks 0 and 1");
}

/* Whoever has ended says nothing of a host, nor does a single pair. */
static void
host_is_not_named_for_a_process_or_a_pair(void **state)
{
    for (int is_pair = 0; is_pair < 2; is_pair++) {
        CLEANUP(world_deinit) struct world world;

        world_open_on(&world, "aaab");
        complain(&world, 0, 3, EVIDENCE_BROKEN);
        question_take(&world);
        answer(&world, 0, "-hhb");
        answer(&world, 1, is_pair ? "h-hh" : "h-hb");
        answer(&world, 2, is_pair ? "hh-h" : "hh-b");
        if (is_pair)
            answer(&world, 3, "hhh-");
        expect_lost(&world, is_pair
                                ? "connection reset (inferred: it lives, and "
                                  "cannot be reached: " ADVICE "), reported "
                                  "by rank 0 (a:1)"
                                : "connection reset (inferred: dead, stopped "
                                  "or cut off), reported by ranks 0, 1 and 2");
    }
}

/* Both live; by the rule the higher one goes, whoever complained first. */
static void
broken_link_costs_the_higher_rank(void **state)
{
    for (uint32_t first = 1; first < 3; first++) {
        CLEANUP(world_deinit) struct world world;

        world_open(&world);
        complain(&world, first, 3 - first, EVIDENCE_BROKEN);
        question_take(&world);
        answer(&world, 0, "-hhh");
        answer(&world, 1, "h-bh");
        answer(&world, 2, "hb-h");
        answer(&world, 3, "hhh-");
        expect_lost(&world, "rank 2 (h:3) of job \"a\" is lost: ");
        expect_lost(&world,
                    "(inferred: it lives, and cannot be reached: " ADVICE
                    "), reported by rank 1 (h:2)");
        world_pass(&world, EVIDENCE_DECIDE_MS);
        assert_int_equal(cluster_counters(world.f.cluster)->verdicts, 1);
    }
}

/* A busy rank that has complained has spoken, though it answers late: it
 * does not go for that. */
static void
broken_link_costs_the_higher_rank_though_the_lower_is_late(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 1, 2, EVIDENCE_BROKEN);
    question_take(&world);
    complain(&world, 2, 1, EVIDENCE_BROKEN);
    answer(&world, 0, "-hhh");
    answer(&world, 2, "hb-h");
    answer(&world, 3, "hhh-");
    expect_nobody_lost(&world);
    world_pass(&world, EVIDENCE_DECIDE_MS);
    expect_lost(&world, "rank 2 (h:3) of job \"a\" is lost: ");
    assert_int_equal(cluster_counters(world.f.cluster)->verdicts, 1);
}

static void
complaint_is_taken_back_by_who_hears_again(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 0, 3, EVIDENCE_SILENT);
    question_take(&world);
    answer(&world, 0, "-hhh");
    world_pass(&world, EVIDENCE_DECIDE_MS);
    expect_nobody_lost(&world);
    /* The next one is a question of its own. */
    const uint64_t former = world.question;
    complain(&world, 1, 3, EVIDENCE_SILENT);
    question_take(&world);
    assert_true(world.question > former);
    world_pass(&world, EVIDENCE_DECIDE_MS);
    expect_lost(&world, "rank 3");
}

static void
slow_networks_have_more_time(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    fixture_step(&world.f,
                 (struct cluster_event){
                     .kind = CLUSTER_REPORT,
                     .report = {.reporter = {world.epoch, 1},
                                .rank = 1,
                                .identity = identity_of_incarnation(2),
                                .reason = "silent",
                                .evidence = EVIDENCE_SILENT,
                                .slack_ms = 200},
                 });
    world_pass(&world, EVIDENCE_DECIDE_MS + 199);
    expect_nobody_lost(&world);
    world_pass(&world, 1);
    expect_lost(&world, "rank 1");
}

static void
answer_that_makes_no_sense_says_nothing(void **state)
{
    static const uint8_t views[RANKS + 1] = {9, 9, 9, 9, 9};
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    complain(&world, 0, 3, EVIDENCE_BROKEN);
    question_take(&world);
    for (int i = 0; i < 3; i++) {
        struct cluster_member_renewal renewal = {
            .member = {world.epoch, 2},
            .question = world.question + (i == 0),
            .views = views,
            .n_views = i == 1 ? RANKS + 1 : RANKS,
        };

        fixture_step(&world.f, (struct cluster_event){.kind = CLUSTER_RENEW,
                                                      .renewal = renewal});
        expect_nobody_lost(&world);
    }
    world_pass(&world, EVIDENCE_DECIDE_MS);
    expect_lost(&world, "rank 3");
}

/* All but rank 3 renew their leases. */
static void
lease_of_3_expire(struct world *world)
{
    world_pass(world, LEASE_MS / 2);
    for (uint32_t rank = 0; rank < 3; rank++)
        answer(world, rank, "----");
    world_pass(world, LEASE_MS / 2);
    expect_nobody_lost(world);
    question_take(world);
}

static void
member_that_a_peer_hears_outlives_its_lease(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    for (int turn = 0; turn < 3; turn++) {
        lease_of_3_expire(&world);
        answer(&world, 0, "-hhu");
        answer(&world, 1, "h-hh");
        assert_non_null(strstr(
            fixture_notice(&world.f, CLUSTER_NOTICE_PEER_HEARS)->text,
            "rank 3 (h:4) of job \"a\" has not reached the coordinator for "));
        answer(&world, 2, "hh-h");
        expect_nobody_lost(&world);
    }
    answer(&world, 3, "hhh-");
    assert_int_equal(cluster_counters(world.f.cluster)->verdicts, 0);
}

/* What is asked about others was answered before, and nobody is asked again. */
static void
lease_that_ends_amid_a_question_counts_its_answers(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    world_pass(&world, 1000);
    for (uint32_t rank = 0; rank < 3; rank++)
        answer(&world, rank, "hhhh");
    world_pass(&world, LEASE_MS - 1000 - EVIDENCE_DECIDE_MS / 2);
    for (uint32_t rank = 0; rank < 2; rank++)
        answer(&world, rank, "hhhh");
    complain(&world, 0, 2, EVIDENCE_BROKEN);
    question_take(&world);
    answer(&world, 1, "h-uh");
    expect_nobody_lost(&world);
    /* The lease of rank 3 ends before that of 2, who has not answered. */
    world_pass(&world, EVIDENCE_DECIDE_MS / 2 - 1);
    world_pass(&world, 1);
    assert_non_null(
        strstr(fixture_notice(&world.f, CLUSTER_NOTICE_PEER_HEARS)->text,
               "rank 3 (h:4) of job \"a\" has not reached the coordinator"));
    for (uint32_t rank = 0; rank < 2; rank++)
        answer(&world, rank, "hh-h");
    world_pass(&world, EVIDENCE_LEASE_MS);
    assert_true(
        fixture_notice(&world.f, CLUSTER_NOTICE_LOST) == NULL ||
        !strstr(fixture_notice(&world.f, CLUSTER_NOTICE_LOST)->text, "rank 3"));
}

/* All of a rack are cut off from the coordinator, and their leases end one
 * by one: what is answered meanwhile counts for each. */
static void
leases_that_end_in_turn_are_asked_about_once(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    world_pass(&world, 1);
    answer(&world, 2, "----");
    world_pass(&world, LEASE_MS / 2);
    for (uint32_t rank = 0; rank < 2; rank++)
        answer(&world, rank, "----");
    world_pass(&world, LEASE_MS / 2 - 1);
    question_take(&world);
    world_pass(&world, 1);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_null(fixture_find(&world.f, world.watches[rank]));
    world_pass(&world, EVIDENCE_LEASE_MS / 2 - 2);
    answer(&world, 0, "-hhh");
    for (uint32_t rank = 0; rank < 2; rank++)
        answer(&world, rank, "----");
    world_pass(&world, EVIDENCE_LEASE_MS);
    expect_nobody_lost(&world);
}

/* ... but whose lease ends much later is asked about anew. */
static void
old_answers_keep_nobody(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    world_pass(&world, EVIDENCE_LEASE_MS / 2);
    answer(&world, 2, "----");
    world_pass(&world, LEASE_MS / 2);
    for (uint32_t rank = 0; rank < 2; rank++)
        answer(&world, rank, "----");
    world_pass(&world, LEASE_MS / 2 - EVIDENCE_LEASE_MS / 2);
    question_take(&world);
    answer(&world, 0, "-hhu");
    world_pass(&world, EVIDENCE_LEASE_MS / 2);
    expect_nobody_lost(&world);
    question_take(&world);
}

static void
member_that_nobody_hears_is_lost_with_its_lease(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    lease_of_3_expire(&world);
    answer(&world, 0, "-hhu");
    answer(&world, 1, "h-hu");
    answer(&world, 2, "hh--");
    world_pass(&world, EVIDENCE_LEASE_MS);
    expect_lost(&world, "rank 3 (h:4) of job \"a\" is lost: its lease expired "
                        "3.0 s after its last sign of life, and no rank hears "
                        "it");
}

/* What does not ask what is asked, an operator's tool say, is not woken. */
static void
watch_without_questions_sleeps_on(void **state)
{
    CLEANUP(world_deinit) struct world world;

    world_open(&world);
    const uint64_t ticket =
        fixture_step(&world.f, (struct cluster_event){
                                   .kind = CLUSTER_WATCH,
                                   .client = 9,
                                   .watch = {.epoch = world.epoch,
                                             .since = 1,
                                             .question = CLUSTER_NO_QUESTION},
                               });

    complain(&world, 0, 3, EVIDENCE_BROKEN);
    assert_null(fixture_find(&world.f, ticket));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complaint_of_all_is_a_verdict_at_once),
        cmocka_unit_test(verdict_comes_in_100_ms_whoever_is_silent),
        cmocka_unit_test(rank_that_is_cut_off_expels_nobody),
        cmocka_unit_test(rank_that_is_not_alone_is_not_said_to_be),
        cmocka_unit_test(host_that_is_cut_off_is_named),
        cmocka_unit_test(host_that_does_not_hear_another_is_named),
        cmocka_unit_test(host_that_is_cut_off_by_a_setting_has_it_named),
        cmocka_unit_test(host_that_nobody_hears_may_be_down),
        cmocka_unit_test(host_is_not_named_for_a_process_or_a_pair),
        cmocka_unit_test(broken_link_costs_the_higher_rank),
        cmocka_unit_test(
            broken_link_costs_the_higher_rank_though_the_lower_is_late),
        cmocka_unit_test(complaint_is_taken_back_by_who_hears_again),
        cmocka_unit_test(slow_networks_have_more_time),
        cmocka_unit_test(answer_that_makes_no_sense_says_nothing),
        cmocka_unit_test(member_that_a_peer_hears_outlives_its_lease),
        cmocka_unit_test(lease_that_ends_amid_a_question_counts_its_answers),
        cmocka_unit_test(leases_that_end_in_turn_are_asked_about_once),
        cmocka_unit_test(old_answers_keep_nobody),
        cmocka_unit_test(member_that_nobody_hears_is_lost_with_its_lease),
        cmocka_unit_test(watch_without_questions_sleeps_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
