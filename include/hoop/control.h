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

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_control hoop_control_t;

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

struct hoop_control_token_text {
    char text[256];
};

/*
 * A token that allows less, made of the job's own, which options name or the
 * environment: role is "operator" (looks at jobs, their members and groups),
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

struct hoop_control_value {
    const void *bytes;
    size_t n_bytes;
    uint64_t revision;
};

/* Handle: HOOP_E_NOT_FOUND (no such job, no such key). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_get(hoop_control_t *control,
                 const char *key,
                 struct hoop_control_value *out_value);

/* value->revision is not looked at. Handle: HOOP_E_NOT_FOUND (no such job). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_set(hoop_control_t *control,
                 const char *key,
                 const struct hoop_control_value *value);

/* Handle: HOOP_E_NOT_FOUND (no such job, no such key). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_control_delete(hoop_control_t *control, const char *key);

struct hoop_control_key {
    const char *key;
    uint64_t revision; /* of its last change */
};

struct hoop_control_keys {
    uint32_t n_more; /* behind these: ask again after the last key */
    size_t n_keys;
    const struct hoop_control_key *keys; /* in the order of bytes */
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
