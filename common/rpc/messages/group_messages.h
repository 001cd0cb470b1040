/*
 * rpc/messages/group_messages.h - bodies of hoop.v1.Groups
 *
 * A group is a named, ordered set of ranks of a world, with the id of its
 * communicator.
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

/* Create: the same key with the same ranks again gives the same group. */
struct group_create_request {
    struct member_request creator;
    char key[LIMIT_NAME];
    size_t n_ranks;
    uint32_t *ranks; /* group rank -> world rank */
};

/* Join: answered when all of ranks have joined. */
struct group_join_request {
    struct member_request member;
    uint64_t number; /* the member's own; the same when it is repeated */
    size_t n_ranks;
    uint32_t *ranks; /* group rank -> world rank */
};

struct group_join_reply {
    uint64_t communicator;
};

/* Leave: what was joined with these numbers. */
struct group_leave_request {
    struct member_request member;
    size_t n_numbers;
    uint64_t *numbers;
    uint32_t is_withdrawal; /* not 0: only what waits, none that has formed */
};

/* Awaited: by which join, or agreement, of the member. */
struct group_awaited_request {
    struct member_request member;
    uint64_t number;
};

struct group_awaited_reply {
    uint32_t n_ranks; /* that are to come */
    uint32_t n_here;
    char missing[LIMIT_REASON]; /* "rank 2 (a:7), rank 3 (b:9)" */
};

enum group_agree_kind {
    GROUP_AGREE = 1,
    GROUP_SHRINK,  /* the survivors get a communicator of their own */
    GROUP_CONFIRM, /* its members: could all open it? */
    GROUP_GROW,    /* all are there to meet newcomers */
};

/* Agree: answered when all members that survive have asked. */
struct group_agree_request {
    struct member_request member;
    uint64_t communicator;
    uint32_t kind;   /* enum group_agree_kind */
    uint64_t turn;   /* of this kind there, 1, 2, ...: again is the same */
    uint64_t flags;  /* the reply has the bits that all have */
    uint64_t least;  /* the reply has the least of all */
    uint64_t number; /* SHRINK: the member's own, as of a join */
};

struct group_agree_reply {
    uint64_t flags;
    uint64_t least;
    uint64_t communicator; /* SHRINK: the new one */
    uint64_t membership_epoch;
    size_t n_ranks;
    uint32_t *ranks; /* that survive, of the world, in the old order */
};

/* Get: of this key. List: those behind this key; "": from the first. */
struct group_key_request {
    char key[LIMIT_NAME];
};

struct group_entry {
    char key[LIMIT_NAME];
    uint64_t communicator;
    size_t n_ranks;
    uint32_t *ranks;
    uint32_t n_joined; /* of them; less: awaited, or some have left */
};

/* Answers Create, Get and List: one group for Create and Get, a page for List. */
struct groups_reply {
    uint32_t n_more; /* behind this page */
    size_t n_groups;
    struct group_entry *groups; /* in the order of their creation */
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
