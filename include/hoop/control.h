/* hoop/control.h - what operators ask a coordinator, and its store
 *
 * For tools and for programs that are no member of a job: nothing here joins.
 * No thread is started; every call blocks until the coordinator has answered
 * or the timeout has passed.
 *
 * Whatever a call hands out is borrowed from the control and lives until its
 * next call.
 *
 * Handle (all calls): HOOP_E_UNAVAILABLE (nobody answers), HOOP_E_TIMEOUT,
 * HOOP_E_EXHAUSTED (this process has no descriptor or port left to connect
 * with, for all of the timeout), HOOP_E_UNAUTHENTICATED, HOOP_E_DENIED (the
 * token allows less, see hoop_control_token()); hoop_error_text() says more.
 * Out parameters are written only on HOOP_OK. Thread: one at a time for a
 * control.
 */

#ifndef HOOP_CONTROL_H
#define HOOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/session.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_control hoop_control_t;
typedef struct hoop_recording hoop_recording_t; /* hoop/recorder.h */

/* Borrowed for the call. Zero or NULL means: from the environment, as for
 * hoop_join(), then the default. */
struct hoop_control_options {
    const char *coordinator;     /* HOOP_COORDINATOR, host:port */
    const char *job;             /* HOOP_JOB, "default" */
    const char *token;           /* HOOP_TOKEN */
    const char *token_file;      /* HOOP_TOKEN_FILE, if there is no token */
    uint32_t timeout_ms;         /* of each call, 5 s */
    const char *const *settings; /* as of hoop_join_options: "tls=on", ... */
};

/*
 * *out_control is the caller's, who gives it to hoop_control_destroy(). Does
 * not connect yet. options may be NULL.
 *
 * Handle: HOOP_E_INVALID (no coordinator, not an address).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_create(const struct hoop_control_options *options,
                    hoop_control_t **out_control);

/*
 * The same of a session: its coordinator, its job, or the one that has grown by
 * it, and what proves membership of that. The control needs the session no more,
 * and outlives it. Thread: any that may use the session.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_session_control(hoop_session_t *session, hoop_control_t **out_control);

/* How long each call from now on may take; 0: as at first. NULL is fine. */
HOOP_API void
hoop_control_set_timeout(hoop_control_t *control, uint32_t timeout_ms);

struct hoop_control_token_text {
    char text[256];
};

/*
 * A token that allows less, made of the job's own, which options name or the
 * environment: role is "operator" (looks at jobs, their members, groups and recordings),
 * "metrics" (sees which jobs there are, and reads /metrics) or "worker" (the
 * job's own). Asks nobody. options may be NULL; its coordinator plays no part.
 *
 * Handle: HOOP_E_INVALID (no such role), HOOP_E_NOT_FOUND (no token, or its
 * file cannot be read), HOOP_E_DENIED (of a token that itself allows less).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_token(const struct hoop_control_options *options,
                   const char *role,
                   struct hoop_control_token_text *out_token);

/* NULL is fine. */
HOOP_API void
hoop_control_destroy(hoop_control_t *control);

/* "host:port" that is asked, and the job it is asked about. NULL: NULL. */
HOOP_API const char *
hoop_control_coordinator(const hoop_control_t *control);
HOOP_API const char *
hoop_control_job_name(const hoop_control_t *control);

/* HOOP_OK: it serves. Handle: HOOP_E_UNAVAILABLE (also while it drains). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_health(hoop_control_t *control);

struct hoop_control_job {
    const char *name;
    const char *state;  /* "forming", "running", "ended" */
    uint64_t epoch;     /* of the world; 0: none has formed */
    uint32_t size;      /* wanted while forming (0: nobody said), else had */
    uint32_t n_members; /* joining or active */
    uint32_t n_lost;
    uint32_t n_left;
    uint64_t age_ms; /* since its first join; ended: since its end */
};

struct hoop_control_overview {
    const char *version; /* of the coordinator */
    const char *serving; /* "serving", "draining" */
    uint64_t uptime_ms;
    size_t n_jobs;
    const struct hoop_control_job *jobs; /* living ones, then ended ones */
    uint64_t clock_ms; /* of the coordinator, since 1970; 0: it does not say */
};

/* The coordinator and all its jobs; the job that was chosen plays no part. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_status(hoop_control_t *control,
                    const struct hoop_control_overview **out_overview);

/* As a rank: not given yet. */
#define HOOP_CONTROL_RANK_ANY UINT32_MAX

struct hoop_control_rank {
    uint32_t rank;
    uint32_t pid;
    uint64_t incarnation; /* tells its lives apart; it is no credential */
    const char *host;
    const char *address;    /* where its peers connect */
    const char *state;      /* "joining", "active", "left", "lost" */
    uint64_t lease_left_ms; /* joining: until its join deadline */
    /* What it is in, of hoop_control_activities() alone; else NULL. */
    const struct hoop_control_activity *activity;
    /* Of one that is lost: why; else "", as of an earlier coordinator. */
    const char *reason;
    /* Of the job, when it was lost by its own word, hoop_abort(): who was first has
     * the least. Else 0, as of an earlier coordinator. */
    uint64_t given_up_revision;
    /* What it has done, of hoop_control_totals() alone; else NULL, as of an earlier
     * coordinator. */
    const struct hoop_control_rank_totals *totals;
};

/* What a rank has done since it joined, as it told with the last renewal of its
 * lease; zeros: it has told nothing. */
struct hoop_control_rank_totals {
    uint64_t calls; /* that ended well */
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t wait_us;  /* how long its calls waited for other ranks */
    uint64_t failures; /* calls that failed */
};

/* What a rank is in: the call that has waited for longest. Texts are never NULL. */
struct hoop_control_activity {
    const char *silence; /* why nothing is known of it; "": the rest is */
    const char *call; /* "allreduce #7 (float32, 4 elements, sum)"; "": none */
    const char *communicator; /* of the call, as its program names it, or "" */
    const char *waits_for;    /* "rank 2 (host:pid) to send (0 of 16 bytes)" */
    uint64_t number;  /* of the call in its communicator, from 1; 0: none */
    uint64_t age_ms;  /* since the call began */
    uint32_t n_calls; /* that wait, with that one */
};

struct hoop_control_roster {
    struct hoop_control_job job;
    uint64_t membership_epoch;
    uint64_t revision;
    uint64_t n_groups;
    uint64_t n_keys;
    uint64_t n_store_bytes;
    uint64_t n_waiters; /* parked requests */
    size_t n_ranks;
    const struct hoop_control_rank *ranks; /* by rank; forming: by arrival */
    /* While forming, never NULL; "" of a coordinator that does not say it. */
    const char *missing; /* "ranks 0, 3"; "": the size of the world is */
    const char *hosts;   /* of those that have come: "a, b" */
};

/* One job and its members. Handle: HOOP_E_NOT_FOUND (no such job). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_ranks(hoop_control_t *control,
                   const struct hoop_control_roster **out_roster);

/* The same, and what each rank is in, which the coordinator asks them: it answers
 * within a second. Where the job forms, or has more than 4,096 ranks, or the
 * coordinator is of an earlier version, nobody is asked. Handle: as above. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_activities(hoop_control_t *control,
                        const struct hoop_control_roster **out_roster);

/* The same, and what each rank has done, which asks no rank. Handle: as above. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_totals(hoop_control_t *control,
                    const struct hoop_control_roster **out_roster);

/* What is known of a rank beyond its call, put together from what all say. Texts
 * are never NULL. */
struct hoop_control_why_rank {
    const struct hoop_control_rank
        *rank;             /* with its activity, if it was asked */
    uint64_t last_sign_ms; /* since it was last heard; UINT64_MAX: not known */
    bool is_setup; /* it creates a communicator, or agrees on something */
    uint64_t
        communicator_id;   /* as of hoop_control_group; 0: the world or none */
    uint32_t awaited_rank; /* for which it waits; HOOP_CONTROL_RANK_ANY: none */
    const char
        *awaited_doing; /* "in this call", "in another call", "in no call",
                                  "": not known */
    const char *awaited_call; /* that other call, or "" */
    const char *awaited_sign; /* "heard", "not heard", "": not known */
    /* Of one that is not heard, whether it hears this rank: as awaited_sign. */
    const char *awaited_hears;
    uint64_t
        awaited_silence_ms; /* since its last byte; UINT64_MAX: not known */
    uint64_t n_done_bytes;  /* moved between the two */
    uint64_t n_bytes;
    const char *finished; /* collectives that it finished last, or "" */
    const char *failure;  /* what its last call that failed said, or "" */
    enum hoop_status failure_status;
    char
        process; /* its state in /proc: R S D T Z, X: it is gone, 0: not known */
    const char *where; /* the system call it sleeps in, or "" */
    uint64_t swapped_kib;
    uint64_t held_up_ms;    /* that another waited for it lately */
    uint32_t held_up_rank;  /* who; HOOP_CONTROL_RANK_ANY: nobody */
    uint64_t lost_revision; /* of the job, when it was lost; 0: it is not */
    const char
        *stack; /* where its program is (hoop_set_stack_reader()), or "" */
    uint64_t held_up_span_ms; /* of this time: a minute, or some seconds */
};

struct hoop_control_verdict {
    const char
        *kind; /* "stopped", "deadlock", "moving", ...: docs/failure.md */
    const char *sentence; /* what holds the job up */
    const char *advice;   /* where to look next, or "" */
    bool is_held_up;      /* something does */
    size_t n_culprits;
    const uint32_t *culprits; /* ranks */
    const struct hoop_control_roster *roster;
    size_t n_ranks;
    const struct hoop_control_why_rank *ranks; /* those furthest behind first */
};

/* What holds the job up: the coordinator asks all ranks, as of
 * hoop_control_activities(), and answers within a second.
 * Handle: HOOP_E_NOT_FOUND (no such job), HOOP_E_UNIMPLEMENTED (the coordinator is
 * of an earlier version). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_why(hoop_control_t *control,
                 const struct hoop_control_verdict **out_verdict);

/* Whose recording is wanted, and which member is asked for it: the rank itself, or
 * another one that records into the same folder, for one that is stopped or dead. */
struct hoop_control_recording_source {
    uint32_t rank;
    uint32_t via;
};

/*
 * What a rank called last (hoop/recorder.h), which the coordinator asks a member
 * for: 1.4 MiB, within 2 s. *out_recording is the caller's, who gives it to
 * hoop_recording_destroy(); it needs the control no more.
 *
 * Handle: HOOP_E_NOT_FOUND (no such job, or via has no record of rank),
 * HOOP_E_ABORTED (via has not answered or has ended: ask another one), HOOP_E_RANGE
 * (no such rank), HOOP_E_PRECONDITION (the job has not formed),
 * HOOP_E_UNIMPLEMENTED (the coordinator is of an earlier version), HOOP_E_INVALID
 * and HOOP_E_DATA_LOSS as of hoop_recording_read().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_recording(hoop_control_t *control,
                       const struct hoop_control_recording_source *source,
                       hoop_recording_t **out_recording);

struct hoop_control_group {
    const char *key;
    uint64_t communicator;
    size_t n_ranks;
    const uint32_t *ranks; /* group rank -> world rank */
    uint32_t n_joined; /* of them; less: the others are awaited, or have left */
};

struct hoop_control_group_list {
    uint32_t n_more; /* behind these: ask again after the last key */
    size_t n_groups;
    const struct hoop_control_group *groups; /* in order of creation */
};

/* after: begin behind this key; NULL: at the first.
 * Handle: HOOP_E_NOT_FOUND (no such job). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_groups(hoop_control_t *control,
                    const char *after,
                    const struct hoop_control_group_list **out_groups);

/*
 * The store: of each job one, for its members and whoever has its token. Keys are
 * UTF-8 of 1 to 1,024 bytes, values 1 MiB at most, each change has a revision of its
 * own, and what is done to one key is done at one moment. It is gone with its job.
 * What is set after a coordinator without --data-dir has ended is another store.
 */
struct hoop_control_value {
    const void *bytes; /* NULL, where a call says so: there is no such key */
    size_t n_bytes;
    uint64_t revision; /* of its last change; to write it: not looked at */
    uint64_t ttl_ms;   /* to write it: it goes away after this, 0: it stays;
                          read: 0 */
};

/* Handle: HOOP_E_NOT_FOUND (no such job, no such key). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_get(hoop_control_t *control,
                 const char *key,
                 struct hoop_control_value *out_value);

/* Several at one moment: 1 to 1,024 keys, in whose order the values are; of one
 * that is not there bytes is NULL. torch: multi_get().
 * Handle: HOOP_E_NOT_FOUND (no such job), HOOP_E_EXHAUSTED (the values are too
 * large for one answer, 4 MiB). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_multi_get(hoop_control_t *control,
                       const char *const *keys,
                       size_t n_keys,
                       const struct hoop_control_value **out_values);

/* The same as soon as all are there. torch: wait().
 * Handle: HOOP_E_TIMEOUT (the text names one that is missing), and as above. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_wait(hoop_control_t *control,
                  const char *const *keys,
                  size_t n_keys,
                  const struct hoop_control_value **out_values);

/* Handle: HOOP_E_NOT_FOUND (no such job). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_set(hoop_control_t *control,
                 const char *key,
                 const struct hoop_control_value *value);

/* Handle: HOOP_E_NOT_FOUND (no such job, no such key). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_delete(hoop_control_t *control, const char *key);

/* Add to a counter, which is a decimal text; no such key: 0. ttl_ms: as a value's,
 * 0: as it is. torch: add().
 * Handle: HOOP_E_NOT_FOUND (no such job), HOOP_E_PRECONDITION (the value is
 * no number), HOOP_E_RANGE (the sum is none of 64 bits). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_add(hoop_control_t *control,
                 const char *key,
                 int64_t delta,
                 uint64_t ttl_ms,
                 int64_t *out_sum);

struct hoop_control_exchange {
    bool is_applied;
    struct hoop_control_value present; /* not applied: what is there instead */
};

/* Write value if the key has the bytes that are expected, or, where expected is NULL,
 * if it is not there. torch: compare_set().
 * Handle: HOOP_E_NOT_FOUND (no such job). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_compare_set(hoop_control_t *control,
                         const char *key,
                         const struct hoop_control_value *expected,
                         const struct hoop_control_value *value,
                         struct hoop_control_exchange *out_exchange);

struct hoop_control_key {
    const char *key;
    uint64_t revision; /* of its last change */
};

struct hoop_control_keys {
    uint32_t n_more; /* behind these: ask again after the last key */
    size_t n_keys;
    const struct hoop_control_key *keys; /* in the order of bytes */
    uint64_t revision;                   /* of the store: watch from here */
};

struct hoop_control_scan {
    const char *prefix; /* NULL: every key */
    const char *after;  /* begin behind this key; NULL: at the first */
};

/* Handle: HOOP_E_NOT_FOUND (no such job). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_list(hoop_control_t *control,
                  const struct hoop_control_scan *scan,
                  const struct hoop_control_keys **out_keys);

struct hoop_control_event {
    const char *kind; /* "set", "deleted", "expired" */
    const char *key;  /* its value: get it, it may be newer already */
    uint64_t revision;
};

struct hoop_control_events {
    uint64_t revision; /* since, of the next call */
    size_t n_events;
    const struct hoop_control_event *events; /* oldest first */
};

/*
 * Wait for changes of keys with a prefix, NULL: of all, after a revision: that of
 * hoop_control_list(), then that of the last call. Nothing is lost between two
 * calls. Without events none has changed within the control's timeout: ask again.
 *
 * Handle: HOOP_E_TIMEOUT (the coordinator does not answer), HOOP_E_RANGE (it is too
 * long ago: list again), HOOP_E_NOT_FOUND (no such job).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_watch(hoop_control_t *control,
                   const char *prefix,
                   uint64_t since,
                   const struct hoop_control_events **out_events);

/*
 * A text of others, such as a name or a key, made safe to print: control
 * characters, bidirectional and other format characters, line separators and
 * bytes that are no UTF-8 are spelt out, as "\u202e" or "\xff"; all else stays. Into
 * n_bytes >= 1 of out, as a string; what does not fit is left out. NULL is "". Error texts
 * are safe already. Thread: any.
 */
HOOP_API void
hoop_escape(const char *text, char *out, size_t n_bytes);

HOOP_END

#endif
