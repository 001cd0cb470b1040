/*
 * tests/unit/server/diagnosis/diagnosis_test.c - the right sentence for each
 * kind of fault
 *
 * The *.json beside this file are what `hoopctl why --json` printed of real
 * jobs (tests/fault/why_check.py --record), with its sentence; here the
 * sentence is made again. Faults that a test cannot cause are made of these
 * snapshots.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "diagnosis/diagnosis.h"

enum {
    RANKS_MAX = 8,
    PAGE_BYTES_MAX = 1 << 16,
};

static const char *folder;
static const char *page; /* docs/debugging.md */

/* A snapshot, and the file whose texts it borrows. */
struct recorded {
    json_t *file;
    struct snapshot snapshot;
    struct snapshot_rank ranks[RANKS_MAX];
};

static const char *
text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) ? json_string_value(value) : "";
}

static uint64_t
number_of(const json_t *object, const char *key, uint64_t null)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : null;
}

/* The place of text in names, which "" ends. */
static unsigned
choice_of(const json_t *object, const char *key, const char *const *names)
{
    unsigned choice = 0;

    while (names[choice][0] && strcmp(text_of(object, key), names[choice]) != 0)
        choice++;
    return choice;
}

static enum snapshot_sign
sign_of(const json_t *call, const char *key)
{
    static const char *const names[] = {"heard", "not heard", ""};
    static const enum snapshot_sign signs[] = {
        SNAPSHOT_LIVES, SNAPSHOT_IS_SILENT, SNAPSHOT_SIGN_UNKNOWN};

    return signs[choice_of(call, key, names)];
}

static struct snapshot_call
call_of(const json_t *call)
{
    static const char *const doings[] = {"in this call", "in another call",
                                         "in no call", ""};
    static const enum snapshot_doing doing[] = {
        SNAPSHOT_HAS_CALLED, SNAPSHOT_IN_OTHER_CALL, SNAPSHOT_IN_NO_CALL,
        SNAPSHOT_DOING_UNKNOWN};

    return (struct snapshot_call){
        .text = text_of(call, "text"),
        .communicator = text_of(call, "communicator"),
        .communicator_id = number_of(call, "communicator_id", 0),
        .number = number_of(call, "number", 0),
        .age_ms = number_of(call, "age_ms", 0),
        .is_setup = json_is_true(json_object_get(call, "is_setup")),
        .awaited_rank =
            (uint32_t)number_of(call, "awaited_rank", SNAPSHOT_NO_RANK),
        .awaited_doing = doing[choice_of(call, "awaited_doing", doings)],
        .awaited_call = text_of(call, "awaited_call"),
        .awaited_sign = sign_of(call, "awaited_sign"),
        .awaited_hears = sign_of(call, "awaited_hears"),
        .awaited_silence_ms =
            number_of(call, "awaited_silence_ms", SNAPSHOT_NO_TIME),
        .n_done_bytes = number_of(call, "done_bytes", 0),
        .n_bytes = number_of(call, "bytes", 0),
        .waits_for = text_of(call, "waits_for"),
    };
}

static struct snapshot_rank
rank_of(const json_t *rank)
{
    static const char *const states[] = {"joining", "active", "left", "lost",
                                         ""};
    static const char *const processes[] = {
        "running", "sleeping", "sleeping uninterruptibly",
        "stopped", "ended",    ""};
    const json_t *silence = json_object_get(rank, "silence");

    return (struct snapshot_rank){
        .rank = (uint32_t)number_of(rank, "rank", SNAPSHOT_NO_RANK),
        .pid = (uint32_t)number_of(rank, "pid", 0),
        .host = text_of(rank, "host"),
        .state = (enum snapshot_rank_state)choice_of(rank, "state", states),
        .reason = text_of(rank, "reason"),
        .end_revision = number_of(rank, "lost_revision", 0),
        .was_asked = json_is_string(silence),
        .has_answered =
            json_is_string(silence) && !json_string_value(silence)[0],
        .last_sign_ms = number_of(rank, "last_sign_ms", SNAPSHOT_NO_TIME),
        .call = call_of(json_object_get(rank, "call")),
        .finished = text_of(rank, "finished"),
        .failure = text_of(rank, "failure"),
        .failure_status =
            (enum hoop_status)number_of(rank, "failure_status", 0),
        .process = {.state = "RSDTX"[choice_of(rank, "process", processes)],
                    .where = text_of(rank, "where"),
                    .swapped_kib = number_of(rank, "swapped_kib", 0)},
        .stack = text_of(rank, "stack"),
        .held_up = {.rank = (uint32_t)number_of(rank, "held_up_rank",
                                                SNAPSHOT_NO_RANK),
                    .wait_ms = number_of(rank, "held_up_ms", 0),
                    .span_ms = number_of(rank, "held_up_span_ms", 60000)},
        .waited = {.rank = SNAPSHOT_NO_RANK},
        .waiting = {.rank = SNAPSHOT_NO_RANK},
        .backlog_rank = SNAPSHOT_NO_RANK,
    };
}

static int
rank_compare(const void *left, const void *right)
{
    const struct snapshot_rank *rank = left;
    const struct snapshot_rank *other = right;

    return rank->rank < other->rank ? -1 : rank->rank > other->rank;
}

static void
recorded_load(const char *name, struct recorded *recorded)
{
    static const char *const states[] = {"forming", "running", "ended", ""};
    char path[4096];
    json_error_t error;
    size_t i = 0;
    const json_t *rank = NULL;

    snprintf(path, sizeof(path), "%s/%s.json", folder, name);
    recorded->file = json_load_file(path, 0, &error);
    assert_non_null(recorded->file);
    const json_t *ranks = json_object_get(recorded->file, "ranks");
    json_array_foreach(ranks, i, rank)
    {
        assert_true(i < RANKS_MAX);
        recorded->ranks[i] = rank_of(rank);
    }
    /* While a job forms, its members are in the order of their arrival. */
    if (strcmp(text_of(recorded->file, "state"), "forming") != 0)
        qsort(recorded->ranks, i, sizeof(recorded->ranks[0]), rank_compare);
    recorded->snapshot = (struct snapshot){
        .state =
            (enum snapshot_job_state)choice_of(recorded->file, "state", states),
        .size = (uint32_t)number_of(recorded->file, "size", 0),
        .has_formed = number_of(recorded->file, "epoch", 0) > 0,
        .n_members = (uint32_t)number_of(recorded->file, "members", 0),
        .n_lost = (uint32_t)number_of(recorded->file, "lost", 0),
        .age_ms = number_of(recorded->file, "age_ms", 0),
        .missing = text_of(recorded->file, "missing"),
        .n_ranks = i,
        .ranks = recorded->ranks,
    };
}

static void
recorded_free_at(struct recorded *recorded)
{
    json_decref(recorded->file);
}

/* Times in texts are masked in the files: "3.2 s" is "T s". */
static void
times_mask(char *text)
{
    char *from = text;
    char *to = text;

    while (*from) {
        const size_t n = strspn(from, "0123456789.");

        if (n > 0 && memchr(from, '.', n) && strncmp(from + n, " s", 2) == 0) {
            *to++ = 'T';
            from += n;
            continue;
        }
        if (n == 0) {
            *to++ = *from++;
            continue;
        }
        memmove(to, from, n);
        to += n;
        from += n;
    }
    *to = '\0';
}

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

/* Check kind, sentence and that rank is the first culprit. */
static void
sentence_check(const struct recorded *recorded,
               const char *kind,
               uint32_t culprit,
               const char *sentence)
{
    struct verdict verdict = {0};

    diagnosis_make(&recorded->snapshot, &verdict);
    times_mask(verdict.sentence);
    assert_string_equal(verdict.sentence, sentence);
    assert_string_equal(verdict.kind, kind);
    assert_true(verdict.n_culprits > 0);
    assert_int_equal(verdict.culprits[0], culprit);
    assert_true(verdict.is_held_up);
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

static void
rank_that_holds_others_up_is_named_while_all_moves(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("moving", &recorded);
    recorded.ranks[1].held_up = (struct snapshot_wait){0, 41000, 60000};
    sentence_check(&recorded, "slow-rank", 1,
                   "Nothing is stuck, but rank 0 (host:1000) waited 41 s of "
                   "the last minute for rank 1 (host:1001) to call.");
    recorded.ranks[1].held_up = (struct snapshot_wait){0, 1500, 2800};
    sentence_check(&recorded, "slow-rank", 1,
                   "Nothing is stuck, but rank 0 (host:1000) waited T s of "
                   "the last T s for rank 1 (host:1001) to call.");
}

/* A checkpoint of a second is no reason to look for a slow rank. */
static void
rank_that_held_others_up_for_a_moment_is_not_named(void **state)
{
    static const struct snapshot_wait waits[] = {{0, 5900, 60000},
                                                 {0, 1300, 2800}};

    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        CLEANUP(recorded_free) struct recorded recorded = {0};
        struct verdict verdict = {0};

        recorded_load("moving", &recorded);
        recorded.ranks[1].held_up = waits[i];
        diagnosis_make(&recorded.snapshot, &verdict);
        assert_string_equal(verdict.kind, "moving");
    }
}

/* Rank 1 holds rank 0 up because rank 2 holds it up. */
static void
rank_that_is_late_because_it_waits_is_not_the_cause(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("moving", &recorded);
    recorded.ranks[1].held_up = (struct snapshot_wait){0, 2500, 2800};
    recorded.ranks[1].waited = (struct snapshot_wait){2, 2000, 2600};
    recorded.ranks[2].held_up = (struct snapshot_wait){1, 2000, 2600};
    sentence_check(&recorded, "slow-rank", 2,
                   "Nothing is stuck, but rank 1 (host:1001) waited T s of "
                   "the last T s for rank 2 (host:1002) to call.");

    /* It waits little: it is the cause itself. */
    recorded.ranks[1].waited.wait_ms = 600;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_int_equal(verdict.culprits[0], 1);

    /* It waits for bytes, too. */
    recorded.ranks[1].waiting = (struct snapshot_wait){1, 2400, 2600};
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    recorded.ranks[1].waiting.wait_ms = 0;

    /* It waits at this moment, perhaps in the coordinator. */
    recorded.ranks[1].call.text = "hoop_comm_create (3 ranks)";
    recorded.ranks[1].call.is_setup = true;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    recorded.ranks[1].call.text = "";

    /* Each waits for the other for half of the time: there is no cause. */
    recorded.ranks[1].waited = (struct snapshot_wait){2, 2000, 2600};
    recorded.ranks[2].waited = (struct snapshot_wait){1, 2000, 2600};
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
}

/* All wait for bytes, but these wait before a link of rank 1. */
static void
slow_link_is_the_one_before_which_bytes_wait(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("moving", &recorded);
    for (uint32_t i = 0; i < 3; i++) {
        recorded.ranks[i].waiting = (struct snapshot_wait){i, 2000 - i, 2800};
        recorded.ranks[i].backlog_rank = (i + 1) % 3;
        recorded.ranks[i].backlog_ms = 20;
    }
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    recorded.ranks[0].backlog_ms = 300;
    sentence_check(&recorded, "slow-link", 0,
                   "Nothing is stuck, but data move slowly between rank 0 "
                   "(host:1000) and rank 1 (host:1001): rank 0 (host:1000) "
                   "waited T s of the last T s for bytes.");

    /* Both of its links are slow. */
    recorded.ranks[1].backlog_ms = 200;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "slow-link");
    assert_int_equal(verdict.n_culprits, 2);
    assert_int_equal(verdict.culprits[0], 1);

    /* All links are alike. */
    recorded.ranks[2].backlog_ms = 250;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
}

/* In the call that is stuck, rank 0 waits for rank 1, whose link is not the slow
 * one. */
static void
slow_link_of_a_stuck_call_is_the_one_before_which_bytes_wait(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("link_slow", &recorded);
    recorded.ranks[2] = recorded.ranks[1];
    recorded.ranks[2].rank = 2;
    recorded.ranks[2].backlog_ms = 900;
    recorded.ranks[2].backlog_rank = 1;
    recorded.snapshot.n_ranks = recorded.snapshot.size = 3;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "slow-link");
    assert_int_equal(verdict.n_culprits, 2);
    assert_int_equal(verdict.culprits[0], 2);
    assert_int_equal(verdict.culprits[1], 1);
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
        assert_non_null(strstr(verdict.advice, "its stack is below"));
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
        cmocka_unit_test(rank_that_holds_others_up_is_named_while_all_moves),
        cmocka_unit_test(rank_that_held_others_up_for_a_moment_is_not_named),
        cmocka_unit_test(rank_that_is_late_because_it_waits_is_not_the_cause),
        cmocka_unit_test(slow_link_is_the_one_before_which_bytes_wait),
        cmocka_unit_test(
            slow_link_of_a_stuck_call_is_the_one_before_which_bytes_wait),
        cmocka_unit_test(rank_that_was_silent_for_a_moment_is_not_cut_off),
        cmocka_unit_test(ended_job_names_the_rank_that_was_lost_first),
        cmocka_unit_test(ended_job_tells_the_call_that_had_failed),
        cmocka_unit_test(rank_in_no_call_is_told_with_the_line_of_its_program),
        cmocka_unit_test(lost_rank_does_not_hide_what_holds_others_up),
        cmocka_unit_test(
            ranks_that_wait_in_unnamed_communicators_are_told_apart),
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
