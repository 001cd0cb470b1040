/* tests/unit/server/service/why_test.c - service/why.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "core/event.h"
#include "rpc/messages/status_messages.h"
#include "service/why.h"
#include "wire/pack.h"

enum {
    SIZE = 3,
};

static const char WAITS[] = "rank 2 (h:102) to send (0 of 16 bytes)";

/* A running job: ranks 0 and 1 wait in a call, and rank 2 is in none. What each
 * tells beyond its call is in details until sample_detail() encodes it. */
struct sample {
    struct cluster_member members[SIZE];
    struct cluster_member_activity activities[SIZE];
    struct activity_details details[SIZE];
    uint8_t *bytes[SIZE];
    struct cluster_job_detail job;
};

static void
sample_init(struct sample *sample)
{
    *sample = (struct sample){
        .job = {.line = {.name = "train",
                         .state = CLUSTER_JOB_RUNNING,
                         .epoch = 7,
                         .size = SIZE,
                         .n_members = SIZE,
                         .age_ns = 5 * CLOCK_NS_PER_S},
                .n_members = SIZE,
                .missing = "",
                .hosts = ""},
    };
    for (uint32_t i = 0; i < SIZE; i++) {
        const bool waits = i < 2;

        sample->members[i] =
            (struct cluster_member){.rank = i,
                                    .pid = 100 + i,
                                    .host = "h",
                                    .host_id = "",
                                    .address = "",
                                    .reason = "",
                                    .state = CLUSTER_MEMBER_ACTIVE};
        sample->activities[i] = (struct cluster_member_activity){
            .silence = "",
            .call = waits ? "allreduce #4" : "",
            .communicator = waits ? "world" : "",
            .waits_for = waits ? WAITS : "",
            .number = waits ? 4 : 0,
            .age_ms = waits ? 3000 : 0,
            .last_sign_ms = 100 + i,
            .missing_rank = CLUSTER_RANK_ANY,
        };
        sample->details[i] = (struct activity_details){
            .communicator_id = waits ? 1 : 0,
            .awaited_rank = waits ? 2 : STATUS_RANK_NONE,
            .awaited_silence_ms = STATUS_TIME_UNKNOWN,
        };
    }
}

/* Return the job as the core would describe it. */
static const struct cluster_job_detail *
sample_detail(struct sample *sample)
{
    for (size_t i = 0; i < SIZE; i++) {
        CLEANUP(pack_deinit) struct pack pack = {0};

        if (sample->activities[i].n_details > 0)
            continue;
        pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
        activity_details_encode(&sample->details[i], &pack);
        assert_ok(pack_take(&pack, &sample->bytes[i],
                            &sample->activities[i].n_details));
        sample->activities[i].details = sample->bytes[i];
    }
    sample->job.members = sample->members;
    sample->job.activities = sample->activities;
    return &sample->job;
}

static void
sample_deinit_at(struct sample *sample)
{
    for (size_t i = 0; i < SIZE; i++)
        free(sample->bytes[i]);
}

static void
sentence_check(struct sample *sample, const char *kind, const char *sentence)
{
    struct verdict verdict = {0};

    assert_ok(why_explain(sample_detail(sample), &verdict));
    assert_string_equal(verdict.sentence, sentence);
    assert_string_equal(verdict.kind, kind);
}

/* A reply, and the bytes in which its texts lie. */
struct told {
    uint8_t *bytes;
    struct why_reply reply;
};

static void
told_init(struct told *told, struct sample *sample)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    size_t n_bytes = 0;

    *told = (struct told){0};
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    assert_ok(why_encode(sample_detail(sample), &pack));
    assert_ok(pack_take(&pack, &told->bytes, &n_bytes));
    assert_ok(why_reply_decode((struct message_span){told->bytes, n_bytes},
                               &told->reply));
}

static void
told_deinit_at(struct told *told)
{
    why_reply_deinit(&told->reply);
    free(told->bytes);
}

static void
stack_of_the_rank_that_is_awaited_is_in_sentence_and_reply(void **state)
{
    static const char stack[] = "a.py:2 in f, called from a.py:9\n"
                                "a.py:2 in f\na.py:9";
    CLEANUP(sample_deinit) struct sample sample;
    CLEANUP(told_deinit) struct told told;
    struct rank_process own[] = {{2, 'S', "read", 0}};

    sample_init(&sample);
    sample.details[2].stack =
        (struct message_span){(const uint8_t *)stack, sizeof(stack)};
    sample.details[2].n_processes = 1;
    sample.details[2].processes = own;
    told_init(&told, &sample);
    assert_string_equal(told.reply.sentence,
                        "Rank 2 (h:102) is in no call of hoop and sleeps in "
                        "read: a.py:2 in f, called from a.py:9; rank 0 (h:100) "
                        "and 1 other wait in allreduce #4 of 'world' for "
                        "3.0 s.");
    assert_int_equal(told.reply.n_culprits, 1);
    assert_int_equal(told.reply.culprits[0], 2);
    assert_int_equal(told.reply.order[0], 2);
    assert_string_equal(status_span_text(told.reply.ranks[2].stack), stack);
    assert_string_equal(status_span_text(told.reply.ranks[0].stack), "");
    assert_int_equal(told.reply.ranks[0].awaited_rank, 2);
    assert_int_equal(told.reply.ranks[1].last_sign_ms, 101);
    assert_string_equal(told.reply.job.activities[0].waits_for, WAITS);
    assert_int_equal(told.reply.job.activities[0].details.n_bytes, 0);
}

/* A stopped process tells nothing itself, so its siblings are believed; of one
 * that has answered, they are not. */
static void
siblings_are_believed_of_ranks_that_are_silent(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;
    struct rank_process seen[] = {{0, 'S', "futex", 0}, {2, 'T', "", 0}};

    sample_init(&sample);
    sample.details[0].n_processes = COUNT_OF(seen);
    sample.details[0].processes = seen;
    sentence_check(&sample, "never-calls",
                   "Rank 2 (h:102) is in no call of hoop; rank 0 (h:100) and 1 "
                   "other wait in allreduce #4 of 'world' for 3.0 s.");
    sample.activities[2].silence = "no answer";
    sentence_check(&sample, "stopped",
                   "Rank 2 (h:102) is stopped by a signal or a debugger; rank "
                   "0 (h:100) and 1 other wait in allreduce #4 of 'world' for "
                   "3.0 s.");
}

/* A rank that waits in a call polls or sleeps there. */
static void
own_process_is_told_only_of_a_rank_in_no_call(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;
    CLEANUP(told_deinit) struct told told;
    struct rank_process own[SIZE] = {
        {0, 'R', "", 0}, {1, 'S', "epoll_wait", 0}, {2, 'R', "", 7}};

    sample_init(&sample);
    for (size_t i = 0; i < SIZE; i++) {
        sample.details[i].n_processes = 1;
        sample.details[i].processes = &own[i];
    }
    told_init(&told, &sample);
    assert_int_equal(told.reply.ranks[0].process_state, 0);
    assert_int_equal(told.reply.ranks[1].process_state, 0);
    assert_int_equal(told.reply.ranks[2].process_state, 'R');
    assert_int_equal(told.reply.ranks[2].swapped_kib, 7);
    assert_string_equal(told.reply.kind, "computes");
}

/* What a rank tells comes from outside. */
static void
nonsense_of_a_rank_is_left_out(void **state)
{
    static const uint8_t nonsense[] = {0xc1, 0xff};
    CLEANUP(sample_deinit) struct sample sample;
    CLEANUP(told_deinit) struct told told;
    struct rank_process strange[] = {{77, 'T', "", 0}, {1, 200, "", 0}};
    struct rank_wait waits[] = {{99, 60000}};

    sample_init(&sample);
    sample.activities[2].details = nonsense;
    sample.activities[2].n_details = sizeof(nonsense);
    sample.details[1].awaited_doing = 77;
    sample.details[1].awaited_sign = 78;
    sample.details[1].awaited_rank = 4000;
    sample.details[1].failure_status = 9999;
    sample.details[1].n_processes = COUNT_OF(strange);
    sample.details[1].processes = strange;
    sample.details[1].n_waits = 1;
    sample.details[1].waits = waits;
    told_init(&told, &sample);
    assert_string_equal(told.reply.kind, "never-calls");
    assert_int_equal(told.reply.ranks[1].awaited_doing, AWAITED_UNKNOWN);
    assert_int_equal(told.reply.ranks[1].awaited_sign, AWAITED_SIGN_UNKNOWN);
    assert_int_equal(told.reply.ranks[1].failure_status, HOOP_E_DATA_LOSS);
    assert_int_equal(told.reply.ranks[1].process_state, 0);
}

/* Rank 0 does not hear rank 1. Whether rank 1 hears rank 0 is known from whom
 * rank 1 was asked by. */
static void
link_is_cut_one_way_if_questions_arrive(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;
    struct rank_asker asker = {0, 100};

    sample_init(&sample);
    sample.activities[1] = sample.activities[2];
    sample.details[1] = sample.details[2];
    sample.details[0].awaited_rank = 1;
    sample.details[0].awaited_sign = AWAITED_IS_SILENT;
    sample.details[0].awaited_silence_ms = 5000;
    sample.details[1].n_askers = 1;
    sample.details[1].askers = &asker;
    sentence_check(&sample, "link-one-way",
                   "Rank 0 (h:100) does not hear rank 1 (h:101), which hears "
                   "it: data pass in one direction only; rank 0 (h:100) waits "
                   "in allreduce #4 of 'world' for 3.0 s.");
}

/* Ranks 0 and 1 wait for each other in vain for 5 s, as rank 0 says answer_ms
 * after the question; rank 1 says at once that it heard rank 0 heard_ms ago. */
static void
hearing_check(uint64_t answer_ms, uint64_t heard_ms, const char *kind)
{
    CLEANUP(sample_deinit) struct sample sample;
    struct rank_asker asker = {0, heard_ms};
    struct verdict verdict = {0};

    sample_init(&sample);
    for (uint32_t i = 0; i < 2; i++) {
        sample.details[i].awaited_rank = 1 - i;
        sample.details[i].awaited_sign = AWAITED_IS_SILENT;
        sample.details[i].awaited_silence_ms = 5000;
    }
    sample.activities[0].answer_ms = answer_ms;
    sample.details[1].n_askers = 1;
    sample.details[1].askers = &asker;
    assert_ok(why_explain(sample_detail(&sample), &verdict));
    assert_string_equal(verdict.kind, kind);
    if (strcmp(kind, "link") == 0)
        assert_string_equal(
            verdict.sentence,
            "Rank 0 (h:100) and rank 1 (h:101) do not hear each other, "
            "but both answer hoopd; rank 0 (h:100) waits in allreduce "
            "#4 of 'world' for 3.0 s.");
}

/* What arrived before the silence began tells nothing. */
static void
link_is_cut_both_ways_if_both_wait_in_vain(void **state)
{
    hearing_check(0, 4900, "link");
    hearing_check(0, 4600, "link-one-way");
}

/* The silence may have begun 0.7 s after 5 s before the question, which is after
 * rank 1 heard rank 0. */
static void
answers_of_other_moments_are_compared_on_one_time_line(void **state)
{
    hearing_check(700, 4350, "link");
    hearing_check(700, 3900, "link-one-way");
    hearing_check(5000, 0, "link");
}

/* Of several that have waited for a rank, the longest counts. */
static void
longest_wait_for_a_rank_is_told(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;
    struct rank_wait waits[] = {{1, 7000}, {1, 9000}};

    sample_init(&sample);
    for (size_t i = 0; i < 2; i++)
        sample.activities[i].age_ms = 10;
    for (size_t i = 0; i < 2; i++) {
        sample.details[2 * i].n_waits = 1;
        sample.details[2 * i].waits = &waits[i];
    }
    sentence_check(&sample, "slow-rank",
                   "Nothing is stuck, but rank 2 (h:102) waited 9 s of the "
                   "last minute for rank 1 (h:101) to call.");
}

/* The last seconds count if they hold the larger share; and a rank may tell of
 * longer waits than there was time for. */
static void
wait_of_the_last_seconds_is_told(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;
    struct rank_wait minute = {1, 7000};
    struct rank_wait recent = {1, UINT64_MAX};

    sample_init(&sample);
    for (size_t i = 0; i < 2; i++)
        sample.activities[i].age_ms = 10;
    sample.details[2].n_waits = 1;
    sample.details[2].waits = &minute;
    sample.details[2].recent_ms = 2500;
    sample.details[2].n_recent_waits = 1;
    sample.details[2].recent_waits = &recent;
    sentence_check(&sample, "slow-rank",
                   "Nothing is stuck, but rank 2 (h:102) waited 2.5 s of the "
                   "last 2.5 s for rank 1 (h:101) to call.");
}

/* The coordinator knows itself for whom it makes a rank wait. */
static void
call_of_the_coordinator_waits_for_whom_it_says(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;

    sample_init(&sample);
    for (size_t i = 0; i < 2; i++) {
        sample.activities[i].call = "hoop_comm_create (3 ranks)";
        sample.activities[i].communicator = "";
        sample.activities[i].number = 0;
        sample.activities[i].waits_for = "rank 2 (h:102)";
        sample.activities[i].missing_rank = 2;
        sample.details[i].awaited_rank = 0;
    }
    sentence_check(&sample, "half-joined",
                   "A communicator is half joined: rank 2 (h:102) has not "
                   "called to create it; rank 0 (h:100) and 1 other wait in "
                   "hoop_comm_create (3 ranks) for 3.0 s.");
}

static void
ended_job_tells_the_failed_call_of_its_ranks(void **state)
{
    CLEANUP(sample_deinit) struct sample sample;
    CLEANUP(told_deinit) struct told told;

    sample_init(&sample);
    sample.job.line.state = CLUSTER_JOB_ENDED;
    for (size_t i = 0; i < SIZE; i++) {
        sample.members[i].state = CLUSTER_MEMBER_LEFT;
        sample.activities[i].call = "";
    }
    sample.details[1].failure_status = HOOP_E_TIMEOUT;
    strcpy(sample.details[1].failure, "allreduce #4: rank 2 has not called it");
    told_init(&told, &sample);
    assert_string_equal(told.reply.kind, "ended-failed");
    assert_string_equal(told.reply.sentence,
                        "The job ended 5.0 s ago, after a call of rank 1 "
                        "(h:101) had failed: allreduce #4: rank 2 has not "
                        "called it.");
    assert_int_equal(told.reply.is_held_up, 1);
    assert_int_equal(told.reply.order[0], 1);
    assert_string_equal(told.reply.ranks[1].failure, sample.details[1].failure);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            stack_of_the_rank_that_is_awaited_is_in_sentence_and_reply),
        cmocka_unit_test(siblings_are_believed_of_ranks_that_are_silent),
        cmocka_unit_test(own_process_is_told_only_of_a_rank_in_no_call),
        cmocka_unit_test(nonsense_of_a_rank_is_left_out),
        cmocka_unit_test(link_is_cut_one_way_if_questions_arrive),
        cmocka_unit_test(link_is_cut_both_ways_if_both_wait_in_vain),
        cmocka_unit_test(
            answers_of_other_moments_are_compared_on_one_time_line),
        cmocka_unit_test(longest_wait_for_a_rank_is_told),
        cmocka_unit_test(wait_of_the_last_seconds_is_told),
        cmocka_unit_test(call_of_the_coordinator_waits_for_whom_it_says),
        cmocka_unit_test(ended_job_tells_the_failed_call_of_its_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
