/*
 * tests/unit/server/diagnosis/diagnosis_test.c - the right sentence for each
 * kind of fault
 *
 * The *.json beside this file are what `hoopctl why --json` printed of real
 * jobs (tests/fault/why_check.py --record), with its sentence; here the
 * sentence is made again. Faults that a test cannot cause are made of these
 * snapshots.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "diagnosis/diagnosis.h"
#include "recorded.h"

enum {
    PAGE_BYTES_MAX = 1 << 16,
};

static const char *page; /* docs/debugging.md */

static void
verdict_check(const char *name)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load(name, &recorded);
    diagnosis_make(&recorded.snapshot, &verdict);
    times_mask(verdict.sentence);
    assert_string_equal(verdict.sentence, text_of(recorded.file, "verdict"));
    assert_string_equal(verdict.advice, text_of(recorded.file, "advice"));
    assert_string_equal(verdict.kind, text_of(recorded.file, "kind"));
    assert_int_equal(verdict.is_held_up, json_is_true(json_object_get(
                                             recorded.file, "is_held_up")));
    const json_t *culprits = json_object_get(recorded.file, "culprits");
    assert_int_equal(verdict.n_culprits, json_array_size(culprits));
    for (size_t i = 0; i < verdict.n_culprits; i++)
        assert_int_equal(verdict.culprits[i],
                         json_integer_value(json_array_get(culprits, i)));

    uint32_t order[RANKS_MAX];
    const json_t *ranks = json_object_get(recorded.file, "ranks");
    diagnosis_order(&recorded.snapshot, &verdict, order);
    for (size_t i = 0; i < recorded.snapshot.n_ranks; i++)
        assert_int_equal(
            recorded.ranks[order[i]].rank,
            number_of(json_array_get(ranks, i), "rank", SNAPSHOT_NO_RANK));
}

static void
recorded_snapshots_give_their_sentences(void **state)
{
    static const char *const names[] = {
        "computes",     "deadlock",   "half_joined",  "killed",
        "link_frozen",  "link_slow",  "mismatch",     "missing",
        "link_one_way", "moving",     "never_calls",  "stopped",
        "ended",        "ended_lost", "never_formed", "slow_rank",
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        print_message("%s\n", names[i]);
        verdict_check(names[i]);
    }
}

/* Whoever looks each second sees ranks that wait equally long in the same
 * places, though they answer at slightly different moments. */
static void
ranks_that_wait_equally_long_keep_their_places(void **state)
{
    static const uint64_t ages_ms[][2] = {
        {5000, 5003}, {6004, 6001}, {60000, 59990}, {9000, 1000}};

    for (size_t i = 0; i < COUNT_OF(ages_ms); i++) {
        CLEANUP(recorded_free) struct recorded recorded = {0};
        struct verdict verdict = {0};
        uint32_t order[RANKS_MAX];

        recorded_load("stopped", &recorded);
        recorded.ranks[0].call.age_ms = ages_ms[i][0];
        recorded.ranks[1].call.age_ms = ages_ms[i][1];
        diagnosis_make(&recorded.snapshot, &verdict);
        diagnosis_order(&recorded.snapshot, &verdict, order);
        assert_memory_equal(order, ((uint32_t[]){2, 0, 1}), sizeof(*order) * 3);
    }
    CLEANUP(recorded_free) struct recorded recorded = {0};
    const struct verdict verdict = {0};
    uint32_t order[RANKS_MAX];

    /* Who waits much longer is further behind. */
    recorded_load("stopped", &recorded);
    recorded.ranks[0].call.age_ms = 1000;
    recorded.ranks[1].call.age_ms = 9000;
    diagnosis_order(&recorded.snapshot, &verdict, order);
    assert_memory_equal(order, ((uint32_t[]){2, 1, 0}), sizeof(*order) * 3);
}

/* The page shows the sentences of the stopped rank. */
static void
page_shows_what_is_said(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    CLEANUP(free) char *text = calloc(1, PAGE_BYTES_MAX);
    struct verdict verdict = {0};
    FILE *file = fopen(page, "r");

    assert_non_null(file);
    assert_true(fread(text, 1, PAGE_BYTES_MAX - 1, file) > 0);
    fclose(file);
    times_mask(text);
    recorded_load("stopped", &recorded);
    diagnosis_make(&recorded.snapshot, &verdict);
    times_mask(verdict.sentence);
    assert_non_null(strstr(text, verdict.sentence));
    assert_non_null(strstr(text, verdict.advice));
}

#define WAITS                                                                  \
    "; rank 0 (host:1000) and 1 other wait in allreduce #1 (float64, 4 "       \
    "elements, sum) of 'world' for T s."

static void
process_in_disk_sleep_is_named_with_its_swap(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("stopped", &recorded);
    recorded.ranks[2].process =
        (struct snapshot_process){'D', "read", 3 * 1024};
    sentence_check(&recorded, "uninterruptible", 2,
                   "Rank 2 (host:1002) sleeps uninterruptibly in read (3 MiB "
                   "of its memory are swapped out)" WAITS);
}

static void
disk_sleep_that_holds_nobody_up_is_no_cause(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("moving", &recorded);
    recorded.ranks[2].process = (struct snapshot_process){'D', "read", 0};
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    assert_false(verdict.is_held_up);
}

static void
process_that_has_ended_is_named(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("stopped", &recorded);
    recorded.ranks[2].process.state = 'X';
    sentence_check(&recorded, "process-ended", 2,
                   "The process of rank 2 (host:1002) has ended, which its "
                   "peers have not reported yet" WAITS);
}

static void
silent_rank_of_another_host_is_frozen_or_cut_off(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("stopped", &recorded);
    recorded.ranks[2].process.state = '\0';
    sentence_check(&recorded, "silent", 2,
                   "Rank 2 (host:1002) does not answer hoopd, which last "
                   "heard of it T s ago: it is frozen, or host is cut "
                   "off" WAITS);
}

static void
job_in_which_nobody_answers_is_told(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("stopped", &recorded);
    for (size_t i = 0; i < 3; i++) {
        recorded.ranks[i].has_answered = false;
        recorded.ranks[i].process.state = '\0';
    }
    sentence_check(&recorded, "all-silent", 0,
                   "No rank answers hoopd, which last heard of rank 0 "
                   "(host:1000) T s ago: they have ended without a word, "
                   "or hoopd is cut off from them.");
}

/* A process that gets no processor for a moment is not cut off. */
static void
rank_that_was_silent_for_a_moment_is_not_cut_off(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("link_one_way", &recorded);
    for (uint32_t i = 0; i < 2; i++)
        recorded.ranks[i].call.awaited_silence_ms = 500;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_not_equal(verdict.kind, "link-one-way");
    assert_string_not_equal(verdict.kind, "link");
}

/* Neither the one nor the others are known to be wrong. */
static void
rank_that_calls_alone_is_told_with_the_others(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("computes", &recorded);
    recorded.ranks[1].call.text = "";
    recorded.ranks[1].call.awaited_rank = SNAPSHOT_NO_RANK;
    sentence_check(&recorded, "calls-alone", 2,
                   "Only rank 0 (host:1000) has made its call, and the 2 "
                   "others are in no call of hoop, rank 2 (host:1002) among "
                   "them; rank 0 (host:1000) waits in allreduce #1 (float64, 4 "
                   "elements, sum) of 'world' for T s.");
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_int_equal(verdict.n_culprits, 2);
    assert_int_equal(verdict.culprits[1], 0);
}

/* Ranks 0 and 1 were heard a second ago, and rank 2 was lost before. */
static void
silent_after_loss_load(struct recorded *recorded, uint64_t lost_ms)
{
    recorded_load("stopped", recorded);
    for (size_t i = 0; i < 3; i++) {
        recorded->ranks[i].has_answered = false;
        recorded->ranks[i].process.state = '\0';
        recorded->ranks[i].last_sign_ms = 1000 + i;
    }
    recorded->ranks[2].state = SNAPSHOT_LOST;
    recorded->ranks[2].reason = "frozen or unreachable";
    recorded->ranks[2].end_revision = 5;
    recorded->ranks[2].lost_ms = lost_ms;
}

/* They have ended of the loss, which hoopd does not know yet. */
static void
loss_is_told_though_the_others_are_silent(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    silent_after_loss_load(&recorded, 4000);
    sentence_check(&recorded, "lost", 2,
                   "Rank 2 (host:1002) is lost: frozen or unreachable; none of "
                   "the others answers hoopd any more.");
}

/* The others had gone on, and fall silent together for another reason. */
static void
loss_of_long_ago_is_not_why_the_others_are_silent(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    silent_after_loss_load(&recorded, 60000);
    sentence_check(&recorded, "all-silent", 0,
                   "No rank answers hoopd, which last heard of rank 0 "
                   "(host:1000) T s ago: they have ended without a word, "
                   "or hoopd is cut off from them.");
}

/* Of a loss that was dealt with and a new one, the new one is the cause. */
static void
loss_after_one_of_long_ago_is_told_first(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    silent_after_loss_load(&recorded, 60000);
    recorded.ranks[3] = recorded.ranks[1];
    recorded.ranks[3].rank = 3;
    recorded.snapshot.n_ranks = recorded.snapshot.size = 4;
    recorded.ranks[1].state = SNAPSHOT_LOST;
    recorded.ranks[1].reason = "killed by signal 9";
    recorded.ranks[1].end_revision = 9;
    recorded.ranks[1].lost_ms = 2000;
    sentence_check(&recorded, "lost", 1,
                   "Rank 1 (host:1001) is lost: killed by signal 9; none of "
                   "the others answers hoopd any more.");
}

static void
ended_job_names_the_rank_that_was_lost_first(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("moving", &recorded);
    recorded.snapshot.state = SNAPSHOT_ENDED;
    recorded.snapshot.age_ms = 5000;
    for (uint32_t i = 0; i < 3; i++) {
        recorded.ranks[i].state = SNAPSHOT_LOST;
        recorded.ranks[i].end_revision = 10 - i;
        recorded.ranks[i].reason = i == 2 ? "killed by signal 9" : "gave up";
    }
    sentence_check(&recorded, "ended-lost", 2,
                   "The job ended T s ago, and rank 2 (host:1002) was lost "
                   "first: killed by signal 9.");
}

/* Nobody was lost, yet they did not leave in good order. */
static void
ended_job_tells_the_call_that_had_failed(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("moving", &recorded);
    recorded.snapshot.state = SNAPSHOT_ENDED;
    recorded.snapshot.age_ms = 5000;
    for (uint32_t i = 0; i < 3; i++)
        recorded.ranks[i].state = SNAPSHOT_LEFT;
    recorded.ranks[1].failure = "barrier #3: this rank waited for rank 2";
    recorded.ranks[1].failure_status = HOOP_E_TIMEOUT;
    sentence_check(&recorded, "ended-failed", 1,
                   "The job ended T s ago, after a call of rank 1 (host:1001) "
                   "had failed: barrier #3: this rank waited for rank 2.");
    recorded.ranks[2].failure = "barrier #3: rank 2 called allreduce #3";
    recorded.ranks[2].failure_status = HOOP_E_MISMATCH;
    sentence_check(&recorded, "ended-failed", 1,
                   "The job ended T s ago, after a call of rank 2 (host:1002) "
                   "had failed: barrier #3: rank 2 called allreduce #3.");
}

static void
ended_check(const struct snapshot *snapshot, const char *sentence)
{
    struct verdict verdict = {0};

    diagnosis_make(snapshot, &verdict);
    times_mask(verdict.sentence);
    assert_string_equal(verdict.kind, "ended");
    assert_string_equal(verdict.sentence, sentence);
}

/* Who is not known to have left well is not told to have. */
static void
ended_job_of_which_less_is_known_tells_less(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("ended", &recorded);
    recorded.snapshot.n_lost = 1;
    ended_check(&recorded.snapshot,
                "The job ended T s ago: all ranks that it had last have left "
                "in good order, and 1 were lost before.");
    recorded.snapshot.n_ranks = 0;
    ended_check(&recorded.snapshot,
                "The job ended T s ago: 1 of its ranks were lost, and hoopd "
                "does not know why any more.");
    recorded.snapshot.n_lost = 0;
    ended_check(&recorded.snapshot,
                "The job ended T s ago: all of its ranks have left, and hoopd "
                "does not know any more whether their last calls had failed.");
}

/* A program whose language knows its stack tells the line that it is at. */
static void
rank_in_no_call_is_told_with_the_line_of_its_program(void **state)
{
    static const char *const names[] = {"computes", "never_calls"};
    static const char *const kinds[] = {"computes", "never-calls"};
    static const char *const sentences[] = {
        "Rank 2 (host:1002) is in no call of hoop and computes: train.py:41 in "
        "load, called from train.py:88 in main" WAITS,
        "Rank 2 (host:1002) is in no call of hoop and sleeps in read: "
        "train.py:41 in load, called from train.py:88 in main" WAITS,
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(recorded_free) struct recorded recorded = {0};
        struct verdict verdict = {0};

        recorded_load(names[i], &recorded);
        recorded.ranks[2].stack =
            "train.py:41 in load, called from train.py:88 in main\n"
            "train.py:41 in load\ntrain.py:88 in main";
        sentence_check(&recorded, kinds[i], 2, sentences[i]);
        diagnosis_make(&recorded.snapshot, &verdict);
        assert_non_null(strstr(verdict.advice, "hoopctl why shows its stack"));
    }
}

static void
lost_rank_does_not_hide_what_holds_others_up(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("computes", &recorded);
    recorded.ranks[1].state = SNAPSHOT_LOST;
    recorded.ranks[1].has_answered = false;
    sentence_check(&recorded, "computes", 2,
                   "Rank 2 (host:1002) is in no call of hoop and computes; "
                   "rank 0 (host:1000) waits in allreduce #1 (float64, 4 "
                   "elements, sum) of 'world' for T s.");
}

/* Unnamed communicators are told apart by what hoopctl groups calls them. */
static void
ranks_that_wait_in_unnamed_communicators_are_told_apart(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("deadlock", &recorded);
    recorded.ranks[0].call.communicator = "";
    recorded.ranks[1].call.communicator = "";
    sentence_check(
        &recorded, "deadlock", 0,
        "Ranks wait for each other in different calls: rank 0 (host:1000) "
        "waits in allreduce #1 (float64, 4 elements, sum) of communicator @1 "
        "for rank 1 (host:1001), and rank 1 (host:1001) waits in allreduce #1 "
        "(float64, 4 elements, sum) of communicator @2 for rank 0 "
        "(host:1000).");

    recorded.ranks[1].call.communicator_id = 1;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "deadlock");
    assert_null(strstr(verdict.advice, "communicator"));
}

/* The tag that was sent is told, where the program waits, too. */
static void
message_of_another_tag_makes_a_deadlock(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("deadlock", &recorded);
    struct snapshot_call *receive = &recorded.ranks[1].call;
    receive->text = "recv (int32, 1 elements)";
    receive->number = 0;
    receive->communicator_id = recorded.ranks[0].call.communicator_id;
    receive->communicator = recorded.ranks[0].call.communicator;
    receive->receive_tag = 0 + 1;
    receive->sent_tag = 4 + 1;
    recorded.ranks[1].stack = "train.py:8 in step\ntrain.py:8 in step\n";
    sentence_check(
        &recorded, "deadlock", 0,
        "Ranks wait for each other in different calls: rank 0 (host:1000) "
        "waits in allreduce #1 (float64, 4 elements, sum) of 'a' for rank 1 "
        "(host:1001), and rank 1 (host:1001) waits at train.py:8 in step, in "
        "recv (int32, 1 elements) of 'a' for rank 0 (host:1000) to send tag 0, "
        "but it has sent tag 4.");
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_non_null(strstr(verdict.advice, "tags"));
}

/* Four ranks that wait in a circle, with names of any length: what finds no room
 * is left out. */
static void
names_of_a_deadlock_find_their_end(void **state)
{
    for (size_t n_host = 1; n_host < LIMIT_NAME; n_host++) {
        CLEANUP(recorded_free) struct recorded recorded = {0};
        struct verdict verdict = {0};
        char host[LIMIT_NAME] = "";

        memset(host, 'h', n_host);
        recorded_load("deadlock", &recorded);
        for (uint32_t i = 0; i < 4; i++) {
            recorded.ranks[i] = recorded.ranks[i % 2];
            recorded.ranks[i].rank = i;
            recorded.ranks[i].host = host;
            recorded.ranks[i].call.awaited_rank = (i + 1) % 4;
        }
        recorded.snapshot.n_ranks = recorded.snapshot.size = 4;
        diagnosis_make(&recorded.snapshot, &verdict);
        assert_string_equal(verdict.kind, "deadlock");
        assert_int_equal(verdict.n_culprits, 4);
        assert_true(strlen(verdict.sentence) < sizeof(verdict.sentence));
    }
}

/* Its output says nothing. */
static void
rank_that_was_lost_by_a_stop_sends_to_who_stopped_it(void **state)
{
    static const char *const states[] = {"lost", "ended-lost"};
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("computes", &recorded);
    recorded.ranks[2].state = SNAPSHOT_LOST;
    recorded.ranks[2].has_answered = false;
    recorded.ranks[2].reason = "stopped (nothing has come from it for 2.0 s)";
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        diagnosis_make(&recorded.snapshot, &verdict);
        assert_string_equal(verdict.kind, states[i]);
        assert_non_null(strstr(verdict.advice,
                               "Find out who stopped process 1002 on host"));
        recorded.snapshot.state = SNAPSHOT_ENDED;
    }
}

/* Its calls fail in a moment. */
static void
rank_that_was_lost_while_ranks_were_asked_is_told_as_lost(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("computes", &recorded);
    recorded.ranks[2].state = SNAPSHOT_LOST;
    recorded.ranks[2].has_answered = false;
    recorded.ranks[2].reason = "killed by signal 9";
    sentence_check(&recorded, "lost", 2,
                   "Rank 2 (host:1002) is lost: killed by signal 9" WAITS);
}

static void
wait_for_nobody_in_particular_is_told_in_the_words_of_the_rank(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("computes", &recorded);
    for (size_t i = 0; i < 3; i++) {
        recorded.ranks[i].call.awaited_rank = SNAPSHOT_NO_RANK;
        recorded.ranks[i].call.waits_for = "a message from any rank";
    }
    diagnosis_make(&recorded.snapshot, &verdict);
    times_mask(verdict.sentence);
    assert_string_equal(verdict.sentence,
                        "The job waits for a message from any rank" WAITS);
    assert_string_equal(verdict.kind, "waits");
    assert_int_equal(verdict.n_culprits, 0);
}

static void
short_wait_is_no_cause(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("computes", &recorded);
    for (size_t i = 0; i < 3; i++)
        recorded.ranks[i].call.age_ms = 20;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    assert_string_equal(
        verdict.sentence,
        "Nothing is stuck: 2 of 3 ranks are in a call, the longest for 0.0 s.");
}

/* Numbers of ranks may come from a rank that lies. */
static void
awaited_rank_that_does_not_exist_is_ignored(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("computes", &recorded);
    for (size_t i = 0; i < 3; i++)
        recorded.ranks[i].call.awaited_rank = 1000;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "waits");
    assert_int_equal(verdict.n_culprits, 0);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_snapshots_give_their_sentences),
        cmocka_unit_test(ranks_that_wait_equally_long_keep_their_places),
        cmocka_unit_test(page_shows_what_is_said),
        cmocka_unit_test(process_in_disk_sleep_is_named_with_its_swap),
        cmocka_unit_test(disk_sleep_that_holds_nobody_up_is_no_cause),
        cmocka_unit_test(process_that_has_ended_is_named),
        cmocka_unit_test(silent_rank_of_another_host_is_frozen_or_cut_off),
        cmocka_unit_test(job_in_which_nobody_answers_is_told),
        cmocka_unit_test(rank_that_was_silent_for_a_moment_is_not_cut_off),
        cmocka_unit_test(rank_that_calls_alone_is_told_with_the_others),
        cmocka_unit_test(loss_is_told_though_the_others_are_silent),
        cmocka_unit_test(loss_of_long_ago_is_not_why_the_others_are_silent),
        cmocka_unit_test(loss_after_one_of_long_ago_is_told_first),
        cmocka_unit_test(ended_job_names_the_rank_that_was_lost_first),
        cmocka_unit_test(ended_job_tells_the_call_that_had_failed),
        cmocka_unit_test(ended_job_of_which_less_is_known_tells_less),
        cmocka_unit_test(rank_in_no_call_is_told_with_the_line_of_its_program),
        cmocka_unit_test(lost_rank_does_not_hide_what_holds_others_up),
        cmocka_unit_test(
            ranks_that_wait_in_unnamed_communicators_are_told_apart),
        cmocka_unit_test(message_of_another_tag_makes_a_deadlock),
        cmocka_unit_test(names_of_a_deadlock_find_their_end),
        cmocka_unit_test(rank_that_was_lost_by_a_stop_sends_to_who_stopped_it),
        cmocka_unit_test(
            rank_that_was_lost_while_ranks_were_asked_is_told_as_lost),
        cmocka_unit_test(
            wait_for_nobody_in_particular_is_told_in_the_words_of_the_rank),
        cmocka_unit_test(short_wait_is_no_cause),
        cmocka_unit_test(awaited_rank_that_does_not_exist_is_ignored),
    };

    if (argc != 3)
        return fprintf(stderr, "usage: diagnosis_test FOLDER PAGE\n"), 64;
    folder = argv[1];
    page = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
