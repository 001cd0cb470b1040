/*
 * tests/unit/server/diagnosis/recorded.h - snapshots of real jobs
 *
 * As tests/fault/why_check.py --record has written them beside this file.
 */

#ifndef RECORDED_H
#define RECORDED_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "diagnosis/diagnosis.h"

enum {
    RANKS_MAX = 8,
};

static const char *folder;

/* A snapshot, and the file whose texts it borrows. */
struct recorded {
    json_t *file;
    struct snapshot snapshot;
    struct snapshot_rank ranks[RANKS_MAX];
};

static inline const char *
text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) ? json_string_value(value) : "";
}

static inline uint64_t
number_of(const json_t *object, const char *key, uint64_t null)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : null;
}

/* The place of text in names, which "" ends. */
static inline unsigned
choice_of(const json_t *object, const char *key, const char *const *names)
{
    unsigned choice = 0;

    while (names[choice][0] && strcmp(text_of(object, key), names[choice]) != 0)
        choice++;
    return choice;
}

static inline enum snapshot_sign
sign_of(const json_t *call, const char *key)
{
    static const char *const names[] = {"heard", "not heard", ""};
    static const enum snapshot_sign signs[] = {
        SNAPSHOT_LIVES, SNAPSHOT_IS_SILENT, SNAPSHOT_SIGN_UNKNOWN};

    return signs[choice_of(call, key, names)];
}

static inline struct snapshot_call
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

static inline struct snapshot_rank
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

static inline int
rank_compare(const void *left, const void *right)
{
    const struct snapshot_rank *rank = left;
    const struct snapshot_rank *other = right;

    return rank->rank < other->rank ? -1 : rank->rank > other->rank;
}

static inline void
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

static inline void
recorded_free_at(struct recorded *recorded)
{
    json_decref(recorded->file);
}

/* Times in texts are masked in the files: "3.2 s" is "T s". */
static inline void
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

/* Check kind, sentence and that rank is the first culprit. */
static inline void
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

#endif
