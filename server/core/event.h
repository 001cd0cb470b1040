/*
 * core/event.h - everything that can happen to the coordinator
 *
 * Requests come from clients; each is answered exactly once by a reply with its
 * ticket. The first four kinds come from the service itself. Every pointer is
 * borrowed for the call of cluster_step(). Text is UTF-8 with a final 0; NULL
 * means empty.
 */

#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rank_totals.h"
#include "base/role.h"

/* The protocol version of workers. A join with another version is refused. */
enum {
    CLUSTER_PROTOCOL_VERSION = 1,
};

/* A requested rank with this value lets the coordinator choose. */
static const uint32_t CLUSTER_RANK_ANY = UINT32_MAX;

/* Which job a request needs. */
enum request_scope {
    REQUEST_MAY_CREATE_JOB, /* a job, which may be created */
    REQUEST_NEEDS_JOB,
    REQUEST_MAY_NAME_ENDED_JOB, /* a job, or one that has ended lately */
    REQUEST_NEEDS_NO_JOB,       /* none */
};

/*
 * X(kind, handler, scope): the requests, with the function that answers or
 * parks each (core/job.h). A comment shows the arguments in the event and
 * the kind of the reply. What may be parked until deadline_ns:
 * - JOIN and all kinds of WATCH;
 * - GROUP_JOIN, until all have joined;
 * - VOTE, until all survivors have called;
 * - STORE_WAIT, until all keys exist;
 * - JOB and WHY, while members are asked;
 * - ASK_RECORDING, while one member is asked.
 * JOBS names no job; its token is checked only if hoopd has one for all jobs.
 */
#define CLUSTER_REQUEST_LIST(X)                                                \
    /* join -> WORLD */                                                        \
    X(CLUSTER_JOIN, admission_handle_join, REQUEST_MAY_CREATE_JOB)             \
    /* renewal -> LEASE */                                                     \
    X(CLUSTER_RENEW, membership_renew, REQUEST_NEEDS_JOB)                      \
    /* member -> NONE */                                                       \
    X(CLUSTER_LEAVE, membership_leave, REQUEST_NEEDS_JOB)                      \
    /* report -> LEASE */                                                      \
    X(CLUSTER_REPORT, membership_report, REQUEST_NEEDS_JOB)                    \
    /* passed -> NONE */                                                       \
    X(CLUSTER_PASS_RECORDING, recording_query_take_answer, REQUEST_NEEDS_JOB)  \
    /* watch -> CHANGES */                                                     \
    X(CLUSTER_WATCH, change_watch_request, REQUEST_NEEDS_JOB)                  \
    /* group -> GROUPS, one */                                                 \
    X(CLUSTER_GROUP_CREATE, group_create, REQUEST_NEEDS_JOB)                   \
    /* group.key -> GROUPS, one */                                             \
    X(CLUSTER_GROUP_GET, group_get, REQUEST_NEEDS_JOB)                         \
    /* group.key: the page after it -> GROUPS */                               \
    X(CLUSTER_GROUP_LIST, group_list, REQUEST_NEEDS_JOB)                       \
    /* group_slot -> GROUP_SLOT */                                             \
    X(CLUSTER_GROUP_JOIN, group_slot_join, REQUEST_NEEDS_JOB)                  \
    /* group_slot.numbers -> NONE */                                           \
    X(CLUSTER_GROUP_LEAVE, group_slot_leave, REQUEST_NEEDS_JOB)                \
    /* vote -> VOTE_OUTCOME */                                                 \
    X(CLUSTER_VOTE, vote_handle_call, REQUEST_NEEDS_JOB)                       \
    /* pending -> MISSING, also for a member that waits in a vote */           \
    X(CLUSTER_QUERY_MISSING, group_slot_query_missing, REQUEST_NEEDS_JOB)      \
    /* write -> STORE */                                                       \
    X(CLUSTER_STORE_SET, key_set, REQUEST_NEEDS_JOB)                           \
    /* write.key, .delta, .ttl_ms -> STORE */                                  \
    X(CLUSTER_STORE_ADD, key_add_to_counter, REQUEST_NEEDS_JOB)                \
    /* compare-and-set; uses every field of write -> STORE */                  \
    X(CLUSTER_STORE_SWAP, key_compare_and_swap, REQUEST_NEEDS_JOB)             \
    /* keys: one or many; a missing key is not an error -> STORE */            \
    X(CLUSTER_STORE_GET, key_get, REQUEST_NEEDS_JOB)                           \
    /* keys: waits until all exist, then replies as GET */                     \
    X(CLUSTER_STORE_WAIT, key_wait, REQUEST_NEEDS_JOB)                         \
    /* keys: one or many -> STORE */                                           \
    X(CLUSTER_STORE_DELETE, key_delete, REQUEST_NEEDS_JOB)                     \
    /* scan: one page of keys in byte order -> STORE */                        \
    X(CLUSTER_STORE_LIST, key_scan, REQUEST_NEEDS_JOB)                         \
    /* scan.prefix, .match, .since -> KEY_CHANGES */                           \
    X(CLUSTER_STORE_WATCH, key_watch, REQUEST_NEEDS_JOB)                       \
    /* -> JOBS */                                                              \
    X(CLUSTER_JOBS, status_query_jobs, REQUEST_NEEDS_NO_JOB)                   \
    /* view -> JOB */                                                          \
    X(CLUSTER_JOB, status_query_job, REQUEST_NEEDS_JOB)                        \
    /* -> WHY */                                                               \
    X(CLUSTER_WHY, status_query_why, REQUEST_MAY_NAME_ENDED_JOB)               \
    /* wanted -> RECORDING */                                                  \
    X(CLUSTER_ASK_RECORDING, recording_query_ask, REQUEST_NEEDS_JOB)

#define CLUSTER_REQUEST_KIND(kind, handler, scope) kind,
enum cluster_event_kind {
    /* Events of the service: they carry no token and get no reply. */
    CLUSTER_TICK,       /* time has passed; see cluster_next_deadline_ns() */
    CLUSTER_CANCEL,     /* the client no longer waits for ticket: send no
                           reply to it */
    CLUSTER_DISCONNECT, /* the client is gone: send no reply to any of its
                           tickets */
    CLUSTER_DRAIN,      /* refuse joins and answer all parked requests */

    CLUSTER_REQUEST_LIST(CLUSTER_REQUEST_KIND)
};

/*
 * A join is identified by its incarnation. A second join with the same
 * incarnation is a retry. While the world forms, the retry replaces the parked
 * join, which is answered HOOP_E_CANCELLED; afterwards it gets the same world
 * again. If the client disconnects while its join is parked, the join is
 * withdrawn.
 */
struct cluster_join {
    uint64_t incarnation; /* random, fresh for every hoop_join(); not 0 */
    uint32_t protocol_version;
    uint32_t rank; /* the requested rank, or CLUSTER_RANK_ANY */
    /* If the world is too small for rank, the worker accepts a rank from
     * this one on; 0: it accepts none. */
    uint32_t least_accepted_rank;
    uint32_t world_size; /* the largest world; 0: not requested */
    /* Form with this many members after the settle time; 0: use the
     * coordinator's value or world_size. */
    uint32_t size_min;
    uint32_t settle_ms; /* time without a new worker before a smaller world
                            forms; 0: use the coordinator's */
    uint32_t pid;
    uint64_t pid_namespace_id; /* identifies the PID namespace of pid; 0: not
                               known */
    const char *host;          /* a name for people */
    const char *host_id;       /* equal for all workers of one host; NULL: use
                               host */
    const char *address;       /* host:port where peers connect */
    /* Processes of the previous world of this job that the worker has found to
     * be dead: */
    uint64_t ended_epoch; /* epoch of that world; 0: the worker has not
                             looked */
    const uint8_t *ended; /* [rank]: nonzero if that rank's process has ended */
    size_t n_ended;       /* length of ended; ranks beyond it have not ended */
    uint64_t seed;        /* random, from the service; the world's seed
                             combines those of all joins */
    const char *root;     /* the job that grows by this world, or NULL */
    uint64_t membership;  /* with root: the worker's incarnation in one of
                             the job's worlds */
    bool prefers_rank;    /* another rank is acceptable if a growing job
                             cannot give this one */
};

/* The member that makes a request. */
struct cluster_member_id {
    uint64_t epoch;       /* epoch of the world, from the reply to the join */
    uint64_t incarnation; /* the member's own incarnation */
};

/* Which call a member is in (core/status_query.h). */
struct cluster_member_activity {
    const char *silence; /* why the member has not answered; "": it has */
    const char *call;    /* the call and its number in words; "": the member
                            is in no call */
    const char *communicator;
    const char *waits_for;
    uint64_t number;
    uint64_t age_ms;
    uint32_t n_calls;
    uint64_t answer_ms;    /* from the query until the member's answer came; set
                              by the core, as the next two */
    uint64_t last_sign_ms; /* since the member's last renewal */
    uint32_t missing_rank; /* the call waits in the coordinator for this rank;
                              CLUSTER_RANK_ANY: it does not */
    const uint8_t *details; /* what else the member has told, which the core
                               does not read */
    size_t n_details;
};

/* A lease renewal. It may also carry answers: which ranks the member hears
 * (core/suspicion.h), or which call it is in. */
struct cluster_member_renewal {
    struct cluster_member_id member;
    uint64_t question;       /* number of the answered question; 0: none */
    const uint8_t *views;    /* [rank]: enum evidence_view */
    size_t n_views;          /* 0: the member is alive, and its answer will
                                follow */
    uint64_t activity_query; /* number of the answered query; 0: none */
    struct cluster_member_activity activity;
    struct rank_totals totals; /* since its join; all 0: not told */
};

/* A member leaves. */
struct cluster_member_leave {
    struct cluster_member_id member;
    struct rank_totals totals; /* as in a renewal */
    /* If its last call has failed: details as of cluster_member_activity, which
     * say so. */
    const uint8_t *failure;
    size_t n_failure;
};

/* A member reports that another one is lost, or that it does not hear it. The
 * first failure notice about a member is final. */
struct cluster_failure_report {
    struct cluster_member_id reporter;
    uint32_t rank;      /* the accused rank */
    uint64_t identity;  /* which process that was, as in the roster */
    const char *reason; /* what was seen, for example "connection reset" */
    uint32_t evidence;  /* enum evidence; not checked yet */
    uint32_t slack_ms;  /* extra time for answers that the reporter's network
                           needs */
};

/* A long poll: answered at once if there are changes after since. */
struct cluster_change_watch {
    uint64_t epoch; /* epoch of the world; 0: whichever world exists */
    uint64_t since; /* revision of the last change seen; 0: none */
    /* The last question seen, 0 for none. CLUSTER_NO_QUESTION: the member
     * answers no questions. */
    uint64_t question;
    uint64_t activity_query;  /* the last query seen, in the same form */
    uint64_t recording_query; /* the last one seen, in the same form */
};

static const uint64_t CLUSTER_NO_QUESTION = UINT64_MAX;

/* Whose recording an operator wants, and which member is asked for it: the rank
 * itself, or another one of its host. */
struct cluster_recording_request {
    uint32_t rank;
    uint32_t via;
};

/* What a member passes on of a recording (core/recording_query.h). */
struct cluster_recording_answer {
    struct cluster_member_id member;
    uint64_t query; /* number of the answered query */
    const uint8_t *bytes;
    size_t n_bytes;  /* 0: there is no recording */
    const char *why; /* there is none */
};

struct cluster_group_call {
    struct cluster_member_id creator; /* CREATE */
    const char *key;                  /* chosen by the workers */
    const uint32_t *ranks;            /* CREATE: in the order of the group */
    uint32_t n_ranks;
};

/*
 * A join or a leave of a communicator. A member numbers its joins; the same
 * number again is a retry. Leaving a communicator twice, or one that was never
 * joined, has no effect.
 */
struct cluster_group_slot_call {
    struct cluster_member_id member;
    uint64_t number;       /* JOIN */
    const uint32_t *ranks; /* JOIN: in the order of the group */
    uint32_t n_ranks;
    const uint64_t *numbers; /* LEAVE: numbers of the joins to leave */
    size_t n_numbers;
    bool is_withdrawal; /* LEAVE: take back only joins that have not formed
                           yet */
};

/* Ask which members the join or vote call with this number waits for. */
struct cluster_missing_query {
    struct cluster_member_id member;
    uint64_t number;
};

/* As number: any call of the member that waits. */
static const uint64_t CLUSTER_ANY_CALL_NUMBER = UINT64_MAX;

/* The values are those on the wire. */
enum cluster_vote_kind {
    CLUSTER_VOTE_AGREE = 1,
    CLUSTER_VOTE_SHRINK,  /* the survivors get a new communicator */
    CLUSTER_VOTE_CONFIRM, /* whether all members could open the new
                             communicator */
    CLUSTER_VOTE_GROW,    /* all members are ready to take in newcomers */
};

/* A call of a vote. A member counts its turns; the same turn again is a
 * retry. */
struct cluster_vote_call {
    struct cluster_member_id member;
    uint64_t communicator; /* the world's own is 0 */
    uint32_t kind;         /* enum cluster_vote_kind; not checked yet */
    uint64_t turn;         /* number of the vote of this kind on this
                              communicator: 1, 2, ... */
    uint64_t flags;        /* the outcome has the bitwise AND of all */
    uint64_t least;        /* the outcome has the least of all */
    uint64_t number;       /* SHRINK: number of the join of the new
                              communicator */
};

enum cluster_swap_expect {
    CLUSTER_EXPECT_ABSENT, /* the key must not exist */
    CLUSTER_EXPECT_VALUE,  /* the key must hold exactly expected */
};

struct cluster_store_write {
    const char *key;
    const void *value; /* SET, SWAP: copied */
    size_t n_bytes;
    uint64_t ttl_ms; /* lifetime of the key; 0: unlimited (ADD: unchanged) */
    int64_t delta;   /* ADD: values are int64 in decimal; a missing key
                        counts as 0 */
    enum cluster_swap_expect expect; /* SWAP */
    const void *expected;            /* SWAP with CLUSTER_EXPECT_VALUE */
    size_t n_expected;
};

struct cluster_store_keys {
    const char *const *keys;
    size_t n_keys; /* at least 1, at most LIMIT_STORE_KEYS_CALL */
};

enum cluster_key_match {
    CLUSTER_MATCH_PREFIX,
    CLUSTER_MATCH_KEY, /* WATCH only: prefix is the whole key */
};

struct cluster_store_scan {
    const char *prefix; /* NULL or "": every key */
    enum cluster_key_match match;
    const char *after; /* LIST: begin after this key; NULL: begin with the
                          first */
    uint32_t
        n_max; /* LIST: keys per page; 0 or too many: LIMIT_LIST_PAGE_ENTRIES */
    uint64_t since; /* WATCH: revision of the last change seen */
};

enum cluster_job_view {
    CLUSTER_VIEW_WITH_MEMBERS,
    CLUSTER_VIEW_BRIEF,    /* without members */
    CLUSTER_VIEW_ACTIVITY, /* also which call each member is in; may be
                              parked */
    CLUSTER_VIEW_TOTALS,   /* also what each member has done */
};

struct cluster_event {
    enum cluster_event_kind kind;
    uint64_t now_ns; /* not less than in the event before */
    uint64_t ticket; /* requests: unique among the unanswered ones */
    uint64_t client; /* the client that sent the request;
                             CLUSTER_DISCONNECT names it */
    /* A parked request is answered no later; UINT64_MAX: no limit. For a
     * join, the worker's join deadline. */
    uint64_t deadline_ns;
    const char *job;
    const char *token;
    enum role role; /* the least privileged role that may make this request */
    union {
        struct cluster_join join;
        struct cluster_member_id member;
        struct cluster_member_leave leave;
        struct cluster_member_renewal renewal;
        struct cluster_failure_report report;
        struct cluster_recording_answer passed;
        struct cluster_change_watch watch;
        struct cluster_group_call group;
        struct cluster_group_slot_call group_slot;
        struct cluster_vote_call vote;
        struct cluster_missing_query pending;
        struct cluster_store_write write;
        struct cluster_store_keys keys;
        struct cluster_store_scan scan;
        enum cluster_job_view view;
        struct cluster_recording_request wanted;
    };
};

#endif
