/*
 * core/action.h - everything the coordinator wants to be done
 *
 * Pointers are borrowed until the next cluster_step(). Text is never NULL.
 */

#ifndef CORE_ACTION_H
#define CORE_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/role.h"

enum cluster_action_kind {
    CLUSTER_REPLY,
    CLUSTER_NOTICE, /* for the log */
    CLUSTER_RECORD, /* to be kept; core/journal.h says what they are */
};

enum cluster_reply_kind {
    CLUSTER_REPLY_NONE, /* and every reply whose status is not HOOP_OK, except
                           a lost compare-and-set, which has a store reply */
    CLUSTER_REPLY_WORLD,
    CLUSTER_REPLY_LEASE,
    CLUSTER_REPLY_CHANGES,
    CLUSTER_REPLY_GROUPS,
    CLUSTER_REPLY_GROUP_SLOT,
    CLUSTER_REPLY_OUTCOME,
    CLUSTER_REPLY_PENDING,
    CLUSTER_REPLY_STORE,
    CLUSTER_REPLY_KEY_CHANGES,
    CLUSTER_REPLY_JOBS,
    CLUSTER_REPLY_JOB,
};

enum cluster_member_state {
    CLUSTER_MEMBER_JOINING, /* waits for the world; rank as requested */
    CLUSTER_MEMBER_ACTIVE,
    CLUSTER_MEMBER_LEFT, /* in good order */
    CLUSTER_MEMBER_LOST,
};

enum cluster_job_state {
    CLUSTER_JOB_FORMING,
    CLUSTER_JOB_RUNNING,
    CLUSTER_JOB_ENDED,
};

/* "joining", ... "forming", ...; never NULL. */
const char *
cluster_member_state_name(enum cluster_member_state state);
const char *
cluster_job_state_name(enum cluster_job_state state);

struct cluster_member {
    uint32_t rank; /* CLUSTER_RANK_ANY while joining without a request */
    uint32_t pid;
    uint64_t incarnation;
    uint64_t process_space;
    const char *host;
    const char *host_id; /* equal on one host */
    const char *address;
    enum cluster_member_state state;
    uint64_t lease_left_ns; /* active: until it is lost without a renewal;
                               joining: until its join deadline */
    const char *reason;     /* lost: why; else "" */
    uint64_t
        given_up_revision; /* of the change: lost by its own word; else 0 */
};

/*
 * A join that succeeded. All replies of one world share one roster, whose
 * pointer may serve as the key of an encoding done once.
 */
struct cluster_world {
    uint32_t rank;
    uint32_t size;
    uint64_t epoch;    /* never repeats in the life of a coordinator */
    uint64_t revision; /* of the job's last change: watch from here */
    uint64_t seed;
    uint32_t lease_ms;                   /* renew about three times in this */
    const struct cluster_member *roster; /* [size], by rank */
    const char *job;                     /* what requests of its members name */
};

struct cluster_lease {
    uint32_t lease_ms;
    uint64_t revision; /* of the job's last change: more than seen? watch */
    uint64_t membership_epoch;
};

enum cluster_change_kind {
    CLUSTER_CHANGE_FORMED, /* the world; rank is its size */
    CLUSTER_CHANGE_LEFT,
    CLUSTER_CHANGE_LOST, /* a verdict */
};

/* A verdict says who, what and when, the same to everybody. */
struct cluster_change {
    uint64_t revision; /* 1, 2, 3, ... within a world */
    enum cluster_change_kind kind;
    uint64_t membership_epoch; /* bumped by every change */
    uint32_t rank;
    uint64_t incarnation;
    uint64_t when_ns;
    const char *host;
    uint32_t pid;
    const char *reason; /* "lease expired 10.0 s after its last renewal",
                           "connection reset, reported by rank 2 (a:71)" */
    bool has_given_up;  /* lost: as it has said itself */
};

/* Empty at the deadline of the watch: OK, ask again. */
struct cluster_changes {
    uint64_t world_epoch;
    uint64_t revision; /* pass as since the next time */
    uint64_t question; /* that is open: whom does this member hear? 0: none */
    uint64_t activity_query; /* what is it in? likewise */
    const struct cluster_change *items;
    size_t n_items;
};

struct cluster_group {
    const char *key;
    uint64_t communicator; /* unique within the world; the world's own is 0 */
    const uint32_t *ranks;
    uint32_t n_ranks;
    uint32_t n_joined; /* of them; less: the others are pending, or have left */
};

/* A join of a group that has formed. */
struct cluster_group_slot {
    uint64_t communicator;
};

/* Of a vote: the same to all who survive. */
struct cluster_outcome {
    enum hoop_status status; /* of the communicator that was to be formed */
    uint64_t flags;
    uint64_t least;
    uint64_t communicator; /* the new one, which all have joined; 0: none */
    uint64_t membership_epoch;
    const uint32_t *ranks; /* that survive, in the order of the communicator */
    uint32_t n_ranks;
};

struct cluster_groups {
    const struct cluster_group *items; /* in the order of their creation */
    size_t n_items;
    uint32_t n_more; /* behind this page */
};

struct cluster_entry {
    const char *key;
    const void *value; /* NULL: there is no such key; LIST: always NULL */
    size_t n_bytes;
    uint64_t revision; /* of its last change; 0: there is no such key */
};

/*
 * SET: revision. ADD: revision, counter. SWAP: revision if it took place;
 * else HOOP_E_ABORTED and entries[0] is what is there. GET, WAIT: entries in
 * the order asked for. DELETE: revision, counter = keys that existed.
 * LIST: entries without values, n_more.
 */
struct cluster_store_reply {
    uint64_t revision; /* of the store: watch from here */
    int64_t counter;
    const struct cluster_entry *entries;
    size_t n_entries;
    uint32_t n_more;
};

enum cluster_key_change_kind {
    CLUSTER_KEY_SET,
    CLUSTER_KEY_DELETED,
    CLUSTER_KEY_EXPIRED,
};

struct cluster_key_change {
    uint64_t revision;
    enum cluster_key_change_kind kind;
    const char *key; /* the value: get it, it may be newer already */
};

/*
 * Empty at the deadline of the watch. A watch from a revision that has been
 * forgotten fails with HOOP_E_RANGE: list again, watch from there.
 */
struct cluster_key_changes {
    uint64_t revision; /* pass as since the next time */
    const struct cluster_key_change *items;
    size_t n_items;
};

struct cluster_job_line {
    const char *name;
    enum cluster_job_state state;
    uint64_t epoch;     /* of the world; ENDED, FORMING: 0 if none formed */
    uint32_t size;      /* wanted while forming (0: nobody said), else had */
    uint32_t n_members; /* joining or active */
    uint32_t n_lost;
    uint32_t n_left;
    uint64_t age_ns; /* since its first join; ENDED: since its end */
};

/* Those that live, in the order of creation, then the last that ended. */
struct cluster_jobs {
    const struct cluster_job_line *items;
    size_t n_items;
};

struct cluster_job_detail {
    struct cluster_job_line line;
    uint64_t membership_epoch;
    uint64_t revision;
    const struct cluster_member *members; /* by rank; forming: by arrival */
    size_t n_members;
    size_t n_groups; /* list them with CLUSTER_GROUP_LIST */
    size_t n_keys;
    size_t n_store_bytes;
    size_t n_waiters;
    /* While forming, else 0 and "". */
    uint32_t size_min;
    const char *missing; /* core/roster_text.h */
    const char *hosts;
    const struct cluster_activity *activities; /* [n_members], or NULL */
};

/* Who is missing where a member waits. */
struct cluster_pending {
    const char *call;  /* that waits, as programs know it; static */
    uint64_t since_ns; /* when it came */
    uint32_t n_ranks;  /* that are to come */
    uint32_t n_here;
    const char *missing; /* "rank 2 (a:7), rank 3 (b:9)" */
};

struct cluster_reply {
    uint64_t ticket;
    enum hoop_status status; /* one of gRPC's */
    const char *text;        /* "" if HOOP_OK */
    enum cluster_reply_kind kind;
    union {
        struct cluster_world world;
        struct cluster_lease lease;
        struct cluster_changes changes;
        struct cluster_groups groups;
        struct cluster_group_slot group_slot;
        struct cluster_outcome outcome;
        struct cluster_pending pending;
        struct cluster_store_reply store;
        struct cluster_key_changes key_changes;
        struct cluster_jobs jobs;
        struct cluster_job_detail job;
    };
};

enum cluster_notice_kind {
    CLUSTER_NOTICE_JOINED,      /* one more waits for the world */
    CLUSTER_NOTICE_WITHDRAWN,   /* one less: disconnected or cancelled */
    CLUSTER_NOTICE_FORMED,      /* the world */
    CLUSTER_NOTICE_FORM_FAILED, /* the text names who is missing: warn */
    CLUSTER_NOTICE_REFUSED,     /* a join or a token: warn */
    CLUSTER_NOTICE_LEFT,
    CLUSTER_NOTICE_LOST,  /* a verdict: warn */
    CLUSTER_NOTICE_ENDED, /* the name is free again */
    CLUSTER_NOTICE_LATE,  /* nobody called us in time, leases extended: warn */
    CLUSTER_NOTICE_HEARD, /* by a peer, but not by us: it stays: warn */
};

struct cluster_notice {
    enum cluster_notice_kind kind;
    const char *job;  /* "" if of none */
    const char *text; /* a sentence that names the job itself */
    uint64_t epoch;   /* of the world, 0 if none */
    uint32_t rank;    /* or CLUSTER_RANK_ANY */
};

enum cluster_record_kind {
    CLUSTER_RECORD_PUT,   /* in place of what the key had */
    CLUSTER_RECORD_ERASE, /* the key, and every key that begins with it */
};

/* All of a step are kept, or none; before any reply of the step leaves. */
struct cluster_record {
    enum cluster_record_kind kind;
    const uint8_t *key;
    size_t n_key;
    const uint8_t *value; /* PUT */
    size_t n_value;
};

struct cluster_action {
    enum cluster_action_kind kind;
    union {
        struct cluster_reply reply;
        struct cluster_notice notice;
        struct cluster_record record;
    };
};

struct cluster_actions {
    const struct cluster_action *items; /* to be done in this order */
    size_t n_items;
    enum role role; /* of who asked; ROLE_ANYBODY: knows no token of the job's,
                       or nobody asked */
};

#endif
