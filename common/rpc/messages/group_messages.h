/*
 * rpc/messages/group_messages.h - bodies of hoop.v1.Groups
 *
 * A group is an ordered set of ranks of a world with the id of its
 * communicator. It has a name, or its members join it.
 */

#ifndef RPC_MESSAGES_GROUP_MESSAGES_H
#define RPC_MESSAGES_GROUP_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"
#include "rpc/messages/rendezvous_messages.h"

struct pack;

/* Create: repeating a key with the same ranks returns the same group. */
struct group_create_request {
    struct member_request creator;
    char key[LIMIT_NAME];
    size_t n_ranks;
    uint32_t *ranks; /* group rank -> world rank */
};

/* Join: answered when all ranks have joined. */
struct group_join_request {
    struct member_request member;
    uint64_t number; /* chosen by the member; the same in a retry */
    size_t n_ranks;
    uint32_t *ranks; /* group rank -> world rank */
};

struct group_join_reply {
    uint64_t communicator;
};

/* Leave: the groups that were joined with these numbers. */
struct group_leave_request {
    struct member_request member;
    size_t n_numbers;
    uint64_t *numbers;
    uint32_t is_withdrawal; /* nonzero: only joins that wait, not groups that
                               have formed */
};

/* Awaited: which members the join or vote call with this number waits for. */
struct group_awaited_request {
    struct member_request member;
    uint64_t number;
};

struct group_awaited_reply {
    uint32_t n_ranks; /* ranks that take part */
    uint32_t n_present_ranks;
    char missing[LIMIT_REPORT_REASON]; /* "rank 2 (a:7), rank 3 (b:9)" */
};

enum group_agree_kind {
    GROUP_AGREE = 1,
    GROUP_SHRINK,  /* the survivors get a new communicator */
    GROUP_CONFIRM, /* whether all members could open the new communicator */
    GROUP_GROW,    /* all members are ready to take in newcomers */
};

/* Agree: answered when all surviving members have called. */
struct group_agree_request {
    struct member_request member;
    uint64_t communicator;
    uint32_t kind;   /* enum group_agree_kind */
    uint64_t turn;   /* number of this kind of call there: 1, 2, ...; the
                        same in a retry */
    uint64_t flags;  /* the reply has the bitwise AND of all */
    uint64_t least;  /* the reply has the least of all */
    uint64_t number; /* SHRINK: chosen by the member, as for a join */
};

struct group_agree_reply {
    uint64_t flags;
    uint64_t least;
    uint64_t communicator; /* SHRINK: the new one */
    uint64_t membership_epoch;
    size_t n_ranks;
    uint32_t *ranks; /* world ranks of the survivors, in the order of the old
                        communicator */
};

/* Get: the key. List: the page after this key; "": the first page. */
struct group_key_request {
    char key[LIMIT_NAME];
};

struct group_entry {
    char key[LIMIT_NAME];
    uint64_t communicator;
    size_t n_ranks;
    uint32_t *ranks;
    uint32_t n_joined; /* members that are in the group; the others are still
                          expected, or have left */
};

/* The reply to Create, Get and List: one group for Create and Get, a page for
 * List. */
struct groups_reply {
    uint32_t n_more; /* groups after this page */
    size_t n_groups;
    struct group_entry *groups; /* in the order of creation */
};

void
group_create_request_encode(const struct group_create_request *request,
                            struct pack *pack);
enum hoop_status
group_create_request_decode(struct message_span in,
                            struct group_create_request *out_request);
void
group_create_request_deinit(struct group_create_request *request);

static inline void
group_create_request_deinit_at(struct group_create_request *at)
{
    group_create_request_deinit(at);
}

void
group_join_request_encode(const struct group_join_request *request,
                          struct pack *pack);
enum hoop_status
group_join_request_decode(struct message_span in,
                          struct group_join_request *out_request);
void
group_join_request_deinit(struct group_join_request *request);

static inline void
group_join_request_deinit_at(struct group_join_request *at)
{
    group_join_request_deinit(at);
}

void
group_join_reply_encode(const struct group_join_reply *reply,
                        struct pack *pack);
enum hoop_status
group_join_reply_decode(struct message_span in,
                        struct group_join_reply *out_reply);

void
group_leave_request_encode(const struct group_leave_request *request,
                           struct pack *pack);
enum hoop_status
group_leave_request_decode(struct message_span in,
                           struct group_leave_request *out_request);
void
group_leave_request_deinit(struct group_leave_request *request);

static inline void
group_leave_request_deinit_at(struct group_leave_request *at)
{
    group_leave_request_deinit(at);
}

void
group_agree_request_encode(const struct group_agree_request *request,
                           struct pack *pack);
enum hoop_status
group_agree_request_decode(struct message_span in,
                           struct group_agree_request *out_request);

void
group_agree_reply_encode(const struct group_agree_reply *reply,
                         struct pack *pack);
enum hoop_status
group_agree_reply_decode(struct message_span in,
                         struct group_agree_reply *out_reply);
void
group_agree_reply_deinit(struct group_agree_reply *reply);

static inline void
group_agree_reply_deinit_at(struct group_agree_reply *at)
{
    group_agree_reply_deinit(at);
}

void
group_awaited_request_encode(const struct group_awaited_request *request,
                             struct pack *pack);
enum hoop_status
group_awaited_request_decode(struct message_span in,
                             struct group_awaited_request *out_request);

void
group_awaited_reply_encode(const struct group_awaited_reply *reply,
                           struct pack *pack);
enum hoop_status
group_awaited_reply_decode(struct message_span in,
                           struct group_awaited_reply *out_reply);

void
group_key_request_encode(const struct group_key_request *request,
                         struct pack *pack);
enum hoop_status
group_key_request_decode(struct message_span in,
                         struct group_key_request *out_request);

void
groups_reply_encode(const struct groups_reply *reply, struct pack *pack);
enum hoop_status
groups_reply_decode(struct message_span in, struct groups_reply *out_reply);
void
groups_reply_deinit(struct groups_reply *reply);

static inline void
groups_reply_deinit_at(struct groups_reply *at)
{
    groups_reply_deinit(at);
}

#endif
