/*
 * core/action.h - what one step of the coordinator asks the service to do
 *
 * cluster_step() returns a list of actions. The pointers in them are borrowed
 * until the next cluster_step(). A text is never NULL.
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
    CLUSTER_LOG_NOTICE,          /* a line for the log */
    CLUSTER_ACTION_STORE_RECORD, /* a record to store; see core/journal.h */
};

enum cluster_reply_kind {
    CLUSTER_REPLY_NONE, /* no body; every failed reply has this kind, except
                           a lost compare-and-set, which has a store reply */
    CLUSTER_REPLY_WORLD,
    CLUSTER_REPLY_LEASE,
    CLUSTER_REPLY_CHANGES,
    CLUSTER_REPLY_GROUPS,
    CLUSTER_REPLY_GROUP_SLOT,
    CLUSTER_REPLY_VOTE_OUTCOME,
    CLUSTER_REPLY_MISSING,
    CLUSTER_REPLY_STORE,
    CLUSTER_REPLY_KEY_CHANGES,
    CLUSTER_REPLY_JOBS,
    CLUSTER_REPLY_JOB,
    CLUSTER_REPLY_WHY, /* job is set; the service explains it */
    CLUSTER_REPLY_RECORDING,
};

enum cluster_member_state {
    CLUSTER_MEMBER_JOINING, /* waits for the world to form; rank holds the
                               requested rank */
    CLUSTER_MEMBER_ACTIVE,
    CLUSTER_MEMBER_LEFT, /* called hoop_leave() */
    CLUSTER_MEMBER_LOST,
};

enum cluster_job_state {
    CLUSTER_JOB_FORMING,
    CLUSTER_JOB_RUNNING,
    CLUSTER_JOB_ENDED,
};

/* Return the state's name, such as "joining" or "forming"; never NULL. */
const char *
cluster_member_state_name(enum cluster_member_state state);
const char *
cluster_job_state_name(enum cluster_job_state state);

struct cluster_member {
    uint32_t rank; /* CLUSTER_RANK_ANY while joining if no rank was requested */
    uint32_t pid;
    uint64_t incarnation;
    uint64_t pid_namespace_id;
    const char *host;
    const char *host_id; /* the same for all workers of one host */
    const char *address;
    enum cluster_member_state state;
    uint64_t lease_left_ns;     /* active: time until the lease ends; joining:
                               time until the join deadline */
    const char *reason;         /* why the member is lost; "" otherwise */
    uint64_t given_up_revision; /* revision of the change in which the member
                              declared its own failure; 0: it did not */
    uint64_t lost_revision;     /* revision of the change in which the member
                              was lost; 0: it is not */
    uint64_t lost_ns;           /* time since then; 0: it is not lost */
    const struct rank_totals *totals; /* what it has told to have done */
};

/*
 * The reply to a join that succeeded. All replies of one world share one
 * roster, so its pointer can be the key of an encoding that is made once.
 */
struct cluster_join_result {
    uint32_t rank;
    uint32_t size;
    uint64_t epoch;    /* never repeats in the life of a coordinator */
    uint64_t revision; /* revision of the job's last change; pass it as since
                          to watch from here */
    uint64_t seed;
    uint32_t lease_ms;                   /* a member renews about three times
                                            in this period */
    const struct cluster_member *roster; /* [size], by rank */
    const char *job;                     /* the job name that the member's
                                            later requests must use */
};

struct cluster_lease_result {
    uint32_t lease_ms;
    uint64_t revision; /* revision of the job's last change; if higher than
                          the last one seen, a watch has news */
    uint64_t membership_epoch;
};

enum cluster_membership_change_kind {
    CLUSTER_CHANGE_FORMED, /* the world has formed; rank holds its size */
    CLUSTER_CHANGE_LEFT,
    CLUSTER_CHANGE_LOST, /* a failure notice */
};

/* One change of the membership. Every member is told the same changes in the
 * same order. A failure notice is a change that says which member is lost, when
 * and why. */
struct cluster_membership_change {
    uint64_t revision; /* 1, 2, 3, ... within a world */
    enum cluster_membership_change_kind kind;
    uint64_t membership_epoch; /* raised by every change */
    uint32_t rank;
    uint64_t incarnation;
    uint64_t when_ns;
    const char *host;
    uint32_t pid;
    const char *reason; /* "lease expired 10.0 s after its last renewal",
                           "connection reset, reported by rank 2 (a:71)" */
    bool
        has_reported_own_failure; /* lost: the member reported its own failure */
};

/* The reply to a watch. It is empty and HOOP_OK at the deadline of the watch:
 * ask again. */
struct cluster_membership_changes {
    uint64_t world_epoch;
    uint64_t revision; /* pass as since the next time */
    uint64_t question; /* open question: which ranks does this member hear?
                          0: none */
    uint64_t activity_query;  /* open question: which call is this member in?
                                0: none */
    uint64_t recording_query; /* open question to the watcher alone: what has
                                 recording_rank recorded? 0: none */
    uint32_t recording_rank;
    const struct cluster_membership_change *items;
    size_t n_items;
};

struct cluster_group {
    const char *key;
    uint64_t communicator; /* unique within the world; the world's own is 0 */
    const uint32_t *ranks;
    uint32_t n_ranks;
    uint32_t n_joined; /* members that are in the group; the others are still
                          expected, or have left */
};

/* The reply to a join of a group once the group has formed. */
struct cluster_group_join_result {
    uint64_t communicator;
};

/* The outcome of a vote. All survivors get the same. */
struct cluster_vote_outcome {
    enum hoop_status status; /* status of forming the new communicator */
    uint64_t flags;
    uint64_t least;
    uint64_t communicator; /* the new communicator, which all survivors have
                              joined; 0: none */
    uint64_t membership_epoch;
    const uint32_t *ranks; /* the survivors, in the order of the communicator */
    uint32_t n_ranks;
};

struct cluster_groups {
    const struct cluster_group *items; /* in the order of creation */
    size_t n_items;
    uint32_t n_more; /* groups after this page */
};

struct cluster_store_entry {
    const char *key;
    const void *value; /* NULL: there is no such key; always NULL in the
                          reply to LIST */
    size_t n_bytes;
    uint64_t revision; /* revision of its last change; 0: there is no such
                          key */
};

/*
 * The reply to a call of the store. Which fields are set:
 * - SET: revision.
 * - ADD: revision and counter.
 * - SWAP: revision if the swap took place. Otherwise the status is
 *   HOOP_E_ABORTED and entries[0] holds what is there.
 * - GET and WAIT: entries, in the order in which the keys were named.
 * - DELETE: revision, and the number of deleted keys in counter.
 * - LIST: entries without values, and n_more.
 */
struct cluster_store_reply {
    uint64_t revision; /* revision of the store; pass it as since to watch
                          from here */
    int64_t counter;
    const struct cluster_store_entry *entries;
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
    const char *key; /* no value is sent: get it, it may be newer already */
};

/*
 * The reply to a watch of keys. It is empty at the deadline of the watch. A
 * watch from a revision that is no longer in the history fails with
 * HOOP_E_RANGE: list the keys again and watch from the revision of that list.
 */
struct cluster_key_changes {
    uint64_t revision; /* pass as since the next time */
    const struct cluster_key_change *items;
    size_t n_items;
};

struct cluster_job_summary {
    const char *name;
    enum cluster_job_state state;
    uint64_t epoch;     /* epoch of the world; 0: no world has formed */
    uint32_t size;      /* size of the world; while forming, the requested
                           size or 0 */
    uint32_t n_members; /* joining or active */
    uint32_t n_lost;
    uint32_t n_left;
    uint64_t age_ns; /* time since the job's first join; ENDED: time since
                        its end */
};

/* The living jobs in the order of their creation, then the last jobs that
 * ended. */
struct cluster_jobs {
    const struct cluster_job_summary *items;
    size_t n_items;
};

struct cluster_job_detail {
    struct cluster_job_summary line;
    uint64_t membership_epoch;
    uint64_t revision;
    const struct cluster_member *members; /* in the order of ranks; while
                                             forming, in the order of arrival */
    size_t n_members;
    size_t n_groups; /* list them with CLUSTER_GROUP_LIST */
    size_t n_keys;
    size_t n_store_bytes;
    size_t n_waiters;
    /* The next three fields are set only while the job forms; otherwise they
     * are 0 and "". */
    uint32_t size_min;
    const char *missing; /* see core/status_query.h */
    const char *hosts;
    const struct cluster_member_activity *activities; /* [n_members], or NULL */
    bool has_totals; /* those of the members were requested */
};

/* Which members a waiting call is waiting for. */
struct cluster_missing_members {
    const char *call;  /* name of the public function that waits; static */
    uint64_t since_ns; /* when the call arrived */
    uint32_t n_ranks;  /* ranks that take part */
    uint32_t n_present_ranks;
    uint32_t missing_rank; /* the first rank of missing; CLUSTER_RANK_ANY:
                              none */
    const char *missing;   /* "rank 2 (a:7), rank 3 (b:9)" */
};

/* A recording as the asked member has passed it on. */
struct cluster_recording {
    const uint8_t *bytes;
    size_t n_bytes;
};

struct cluster_reply {
    uint64_t ticket;
    enum hoop_status status; /* one of the status codes that gRPC has */
    const char *text;        /* the message for the user; "" if status is
                                HOOP_OK */
    enum cluster_reply_kind kind;
    union {
        struct cluster_join_result world;
        struct cluster_lease_result lease;
        struct cluster_membership_changes changes;
        struct cluster_groups groups;
        struct cluster_group_join_result group_slot;
        struct cluster_vote_outcome outcome;
        struct cluster_missing_members pending;
        struct cluster_store_reply store;
        struct cluster_key_changes key_changes;
        struct cluster_jobs jobs;
        struct cluster_job_detail job;
        struct cluster_recording recording;
    };
};

enum cluster_log_notice_kind {
    CLUSTER_NOTICE_JOINED,      /* one more worker waits for the world */
    CLUSTER_NOTICE_WITHDRAWN,   /* one worker fewer waits: it disconnected or
                                   cancelled */
    CLUSTER_NOTICE_FORMED,      /* the world has formed */
    CLUSTER_NOTICE_GROWN,       /* a world of more ranks has formed */
    CLUSTER_NOTICE_SHRUNK,      /* survivors have a communicator of their own */
    CLUSTER_NOTICE_FORM_FAILED, /* no world has formed, the text names who is
                                   missing: log as a warning */
    CLUSTER_NOTICE_REFUSED,     /* a join or a token was refused: log as a
                                   warning */
    CLUSTER_NOTICE_LEFT,
    CLUSTER_NOTICE_LOST,  /* a failure notice: log as a warning */
    CLUSTER_NOTICE_ENDED, /* the job has ended and its name is free again */
    CLUSTER_NOTICE_STEPPED_LATE, /* the coordinator was stepped too late and
                             extended the leases: log as a warning */
    CLUSTER_NOTICE_PEER_HEARS, /* a peer hears a member that the coordinator does
                             not; it stays a member: log as a warning */
};

struct cluster_log_notice {
    enum cluster_log_notice_kind kind;
    const char *job;  /* "" if the notice concerns no job */
    const char *text; /* a sentence that names the job itself */
    uint64_t epoch;   /* epoch of the world; 0: none */
    uint32_t rank;    /* CLUSTER_RANK_ANY if the notice concerns no single
                         rank */
};

enum cluster_journal_record_kind {
    CLUSTER_RECORD_PUT,   /* replaces the value of the key */
    CLUSTER_RECORD_ERASE, /* erases the key and every key that begins with it */
};

/* A change of the stored state. The service stores all records of a step or
 * none of them, and does so before it sends any reply of the step. */
struct cluster_journal_record {
    enum cluster_journal_record_kind kind;
    const uint8_t *key;
    size_t n_key_bytes;
    const uint8_t *value; /* PUT only */
    size_t n_value_bytes;
};

struct cluster_action {
    enum cluster_action_kind kind;
    union {
        struct cluster_reply reply;
        struct cluster_log_notice notice;
        struct cluster_journal_record record;
    };
};

struct cluster_actions {
    const struct cluster_action *items; /* the service performs them in this
                                           order */
    size_t n_items;
    /* Role of the token that came with the event; ROLE_ANYBODY: the event is
     * no request, or its token is not the job's. */
    enum role role;
};

/*
 * What an action points to either lives longer than the step or is copied
 * into the action list.
 */

struct action_list_chunk;

/* A zeroed list is empty. */
struct action_list {
    struct cluster_action *actions;
    size_t n_actions;
    size_t n_room;
    struct action_list_chunk *chunks;
};

void
action_list_deinit(struct action_list *action_list);

/* Remove all actions and free their memory. */
void
action_list_clear(struct action_list *action_list);

/* Append an HOOP_OK reply without a body. The caller fills it in before it
 * appends the next action. */
struct cluster_reply *
action_list_add_reply(struct action_list *action_list, uint64_t ticket);

/* Make reply a failure with this status and message. */
void
action_list_fail_reply(struct action_list *action_list,
                       struct cluster_reply *reply,
                       enum hoop_status status,
                       const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* Append a notice. All fields are copied from notice except the text, which is
 * formatted. */
void
action_list_add_notice(struct action_list *action_list,
                       const struct cluster_log_notice *notice,
                       const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* Append a zeroed record. The caller fills it in before it appends the next
 * action. */
struct cluster_journal_record *
action_list_add_record(struct action_list *action_list);

/* Allocate zeroed memory, aligned for any type, that lives until the action
 * list is cleared. */
void *
action_list_alloc(struct action_list *action_list,
                  size_t n_items,
                  size_t n_bytes);

/* Copy n_bytes; the copy lives until the action list is cleared. Returns NULL
 * if there are none. */
const uint8_t *
action_list_copy_bytes(struct action_list *action_list,
                       const uint8_t *bytes,
                       size_t n_bytes);

/* Copy text; the copy lives until the action list is cleared. NULL becomes
 * "". */
const char *
action_list_copy_text(struct action_list *action_list, const char *text);

#endif
