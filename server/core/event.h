/*
 * core/event.h - everything that can happen to the coordinator
 *
 * Requests come from clients and are answered exactly once by a reply that
 * carries their ticket; the first four kinds come from the service itself.
 * Every pointer is borrowed for the call of cluster_step(). Text is UTF-8
 * with a final 0; NULL means empty.
 */

#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/role.h"

/* Spoken by workers; a join with another version is refused. */
enum {
    CLUSTER_PROTOCOL_VERSION = 1,
};

/* "The coordinator chooses", as a requested rank. */
static const uint32_t CLUSTER_RANK_ANY = UINT32_MAX;

enum cluster_event_kind {
    /* Of the service: no token, and no reply to the event itself. */
    CLUSTER_TICK,       /* time has passed, see cluster_next_deadline_ns() */
    CLUSTER_CANCEL,     /* nobody waits for ticket any more: no reply to it */
    CLUSTER_DISCONNECT, /* ... nor for any ticket of client */
    CLUSTER_DRAIN,      /* refuse joins, answer whatever is parked */

    /* Membership. JOIN and WATCH may be parked until deadline_ns. */
    CLUSTER_JOIN,   /* join -> CLUSTER_REPLY_WORLD */
    CLUSTER_RENEW,  /* renewal -> CLUSTER_REPLY_LEASE */
    CLUSTER_LEAVE,  /* member -> CLUSTER_REPLY_NONE */
    CLUSTER_REPORT, /* report -> CLUSTER_REPLY_LEASE */
    CLUSTER_WATCH,  /* watch -> CLUSTER_REPLY_CHANGES */

    CLUSTER_GROUP_CREATE, /* group -> CLUSTER_REPLY_GROUPS, one */
    CLUSTER_GROUP_GET,    /* group.key -> CLUSTER_REPLY_GROUPS, one */
    CLUSTER_GROUP_LIST,   /* group.key: after it -> CLUSTER_REPLY_GROUPS */
    CLUSTER_GROUP_JOIN, /* group_slot -> CLUSTER_REPLY_GROUP_SLOT; may be parked until
                             all have joined or deadline_ns */
    CLUSTER_GROUP_LEAVE, /* group_slot.numbers -> CLUSTER_REPLY_NONE */
    CLUSTER_VOTE,        /* vote -> CLUSTER_REPLY_OUTCOME; may be parked
                             until all that survive have come or deadline_ns */
    CLUSTER_PENDING,     /* pending -> CLUSTER_REPLY_PENDING */

    /* The store of a job. WAIT and WATCH may be parked until deadline_ns. */
    CLUSTER_STORE_SET,    /* write -> CLUSTER_REPLY_STORE */
    CLUSTER_STORE_ADD,    /* write.key, .delta, .ttl_ms */
    CLUSTER_STORE_SWAP,   /* compare-and-set: write, all members */
    CLUSTER_STORE_GET,    /* keys: one or many; a missing one is no error */
    CLUSTER_STORE_WAIT,   /* keys: until all exist, then as GET */
    CLUSTER_STORE_DELETE, /* keys: one or many */
    CLUSTER_STORE_LIST,   /* scan: a page of keys in the order of bytes */
    CLUSTER_STORE_WATCH,  /* scan.prefix, .match, .since
                             -> CLUSTER_REPLY_KEY_CHANGES */

    /* Questions of operators. */
    CLUSTER_JOBS, /* -> CLUSTER_REPLY_JOBS; job and token not looked at,
                     except that a configured token must match */
    CLUSTER_JOB,  /* view -> CLUSTER_REPLY_JOB */
};

/*
 * A join is identified by its incarnation. The same incarnation again is a
 * retry: while the world forms it replaces the parked one (which is answered
 * CANCELLED), afterwards it is given the same world once more. A disconnect
 * while the join is parked withdraws it.
 */
struct cluster_join {
    uint64_t incarnation; /* random, fresh for every hoop_join(); not 0 */
    uint32_t protocol_version;
    uint32_t rank;       /* requested, or CLUSTER_RANK_ANY */
    uint32_t rank_min;   /* where the world is too small for rank, one from here
                            on will do; 0: none will */
    uint32_t world_size; /* the largest world, or 0: not said */
    uint32_t size_min;   /* form with this many after the settle time; 0: not
                            said, i.e. the coordinator's or world_size */
    uint32_t settle_ms;  /* without a new worker; 0: the coordinator's */
    uint32_t pid;
    uint64_t process_space; /* where pid is its number; 0: not known */
    const char *host;       /* name, for people */
    const char *host_id;    /* equal on one host; NULL: the name */
    const char *address;    /* host:port where peers connect */
    /* Of the world that holds the job's places, whose processes the worker sees
     * to have ended: */
    uint64_t ended_epoch; /* its epoch; 0: none has been looked at */
    const uint8_t *ended; /* [rank]: not 0, this one has */
    size_t n_ended;       /* fewer than ranks: the others have not */
    uint64_t seed;        /* random, from the service; world.seed is made of
                            those of all joins */
    const char *root;     /* the job that grows by this world, or NULL */
    uint64_t membership;  /* with root: an incarnation that the worker has in
                               one of its worlds */
    bool prefers_rank;    /* where the job has formed, another rank will do */
};

/* A member speaks for itself. */
struct cluster_member_id {
    uint64_t epoch;       /* the world's, as told by the join's reply */
    uint64_t incarnation; /* its own */
};

/* What a member is in (core/activity.h). */
struct cluster_activity {
    const char *silence; /* why it has told nothing; "": it has */
    const char *call;    /* in words, with its number; "": it is in none */
    const char *communicator;
    const char *waits_for;
    uint64_t number;
    uint64_t age_ms;
    uint32_t n_calls;
};

/* With whom it hears, when all were asked (core/suspicion.h), or what it is in. */
struct cluster_renewal {
    struct cluster_member_id member;
    uint64_t question;       /* which is answered; 0: none is */
    const uint8_t *views;    /* [rank]: enum evidence_view */
    size_t n_views;          /* 0: it lives, and will say whom it hears */
    uint64_t activity_query; /* which is answered; 0: none is */
    struct cluster_activity activity;
};

/* One member says that another is lost, or only that it does not hear it. The
 * first verdict stays. */
struct cluster_report {
    struct cluster_member_id reporter;
    uint32_t rank;      /* the accused ... */
    uint64_t identity;  /* ... and which one that was, as in the roster */
    const char *reason; /* what was seen, e.g. "connection reset" */
    uint32_t evidence;  /* enum evidence, not checked */
    uint32_t slack_ms;  /* what its network adds to the time for answers */
};

/* Long poll: answered at once if there are changes after since. */
struct cluster_watch {
    uint64_t epoch; /* the world's, or 0: of whatever world there is */
    uint64_t since; /* revision of the last change seen; 0: none */
    /* The last question seen, 0: none; or CLUSTER_NO_QUESTION: it does not answer
     * any. */
    uint64_t question;
    uint64_t activity_query; /* likewise */
};

static const uint64_t CLUSTER_NO_QUESTION = UINT64_MAX;

struct cluster_group_call {
    struct cluster_member_id creator; /* CREATE */
    const char *key;                  /* chosen by the workers */
    const uint32_t *ranks;            /* CREATE: in the order of the group */
    uint32_t n_ranks;
};

/*
 * A member numbers its joins: the same number again is a retry. Leaving what
 * it has left, or never joined, does no harm.
 */
struct cluster_group_slot_call {
    struct cluster_member_id member;
    uint64_t number;       /* JOIN */
    const uint32_t *ranks; /* JOIN: in the order of the group */
    uint32_t n_ranks;
    const uint64_t *numbers; /* LEAVE: of its joins */
    size_t n_numbers;
    bool is_withdrawal; /* LEAVE: what has formed stays joined */
};

/* Whom does the join, or the vote call, of this number wait for? */
struct cluster_pending_call {
    struct cluster_member_id member;
    uint64_t number;
};

/* As such a number: whatever waits. */
static const uint64_t CLUSTER_NUMBER_ANY = UINT64_MAX;

/* As on the wire. */
enum cluster_vote_kind {
    CLUSTER_VOTE_AGREE = 1,
    CLUSTER_VOTE_SHRINK,  /* the survivors get a communicator of their own */
    CLUSTER_VOTE_CONFIRM, /* its members: could all open it? */
    CLUSTER_VOTE_GROW,    /* all are there to meet newcomers */
};

/* A member counts its turns: the same turn again is a retry. */
struct cluster_vote_call {
    struct cluster_member_id member;
    uint64_t communicator; /* the world's own is 0 */
    uint32_t kind;         /* enum cluster_vote_kind, or nonsense */
    uint64_t turn;         /* of this kind on this communicator: 1, 2, ... */
    uint64_t flags;        /* the outcome has what all have */
    uint64_t least;        /* ... and the least of these */
    uint64_t number;       /* SHRINK: as of a join */
};

enum cluster_expect {
    CLUSTER_EXPECT_ABSENT, /* the key must not exist */
    CLUSTER_EXPECT_VALUE,  /* it must hold exactly expected */
};

struct cluster_write {
    const char *key;
    const void *value; /* SET, SWAP: copied */
    size_t n_bytes;
    uint64_t ttl_ms; /* the key goes away after this; 0: never (ADD: as is) */
    int64_t delta;   /* ADD: values are int64 in decimal, a missing key 0 */
    enum cluster_expect expect; /* SWAP */
    const void *expected;       /* SWAP with CLUSTER_EXPECT_VALUE */
    size_t n_expected;
};

struct cluster_keys {
    const char *const *keys;
    size_t n_keys; /* at least 1, at most LIMIT_STORE_KEYS_CALL */
};

enum cluster_match {
    CLUSTER_MATCH_PREFIX,
    CLUSTER_MATCH_KEY, /* WATCH only: prefix is the whole key */
};

struct cluster_scan {
    const char *prefix; /* NULL or "": every key */
    enum cluster_match match;
    const char *after; /* LIST: begin behind this key; NULL: at the first */
    uint32_t n_max;    /* LIST: of one page; 0 or too many: LIMIT_PAGE */
    uint64_t since;    /* WATCH: revision of the last change seen */
};

enum cluster_view {
    CLUSTER_VIEW_WITH_MEMBERS,
    CLUSTER_VIEW_BRIEF,    /* without them */
    CLUSTER_VIEW_ACTIVITY, /* with what each of them is in: may be parked */
};

struct cluster_event {
    enum cluster_event_kind kind;
    uint64_t now_ns;      /* never less than in the event before */
    uint64_t ticket;      /* requests: unique among those not answered yet */
    uint64_t client;      /* whose; what CLUSTER_DISCONNECT names */
    uint64_t deadline_ns; /* a parked reply comes no later; UINT64_MAX: never.
                             For a join the worker's join deadline */
    const char *job;
    const char *token;
    enum role role; /* the least whose token will do */
    union {
        struct cluster_join join;
        struct cluster_member_id member;
        struct cluster_renewal renewal;
        struct cluster_report report;
        struct cluster_watch watch;
        struct cluster_group_call group;
        struct cluster_group_slot_call group_slot;
        struct cluster_vote_call vote;
        struct cluster_pending_call pending;
        struct cluster_write write;
        struct cluster_keys keys;
        struct cluster_scan scan;
        enum cluster_view view;
    };
};

#endif
