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

/* Create: repeating a key with the same ranks returns the same group. */
struct group_create_request {
    struct member_request creator;
    char key[LIMIT_NAME];
    size_t n_ranks;
    uint32_t *ranks; /* group rank -> world rank */
};
MESSAGE(group_create_request,
        FIELD(creator.epoch),
        FIELD(creator.incarnation),
        FIELD(key),
        FIELD_VALUES(ranks, n_ranks, LIMIT_RANKS))

/* Join: answered when all ranks have joined. */
struct group_join_request {
    struct member_request member;
    uint64_t number; /* chosen by the member; the same in a retry */
    size_t n_ranks;
    uint32_t *ranks; /* group rank -> world rank */
};
MESSAGE(group_join_request,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        FIELD(number),
        FIELD_VALUES(ranks, n_ranks, LIMIT_RANKS))

struct group_join_reply {
    uint64_t communicator;
};
MESSAGE(group_join_reply, FIELD(communicator))

/* Leave: the groups that were joined with these numbers. */
struct group_leave_request {
    struct member_request member;
    size_t n_numbers;
    uint64_t *numbers;
    uint32_t is_withdrawal; /* nonzero: only joins that wait, not groups that
                               have formed */
};
MESSAGE(group_leave_request,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        FIELD_VALUES(numbers, n_numbers, LIMIT_GROUP_NUMBERS),
        OPTIONAL(1),
        FIELD(is_withdrawal))

/* Awaited: which members the join or vote call with this number waits for. */
struct group_awaited_request {
    struct member_request member;
    uint64_t number;
};
MESSAGE(group_awaited_request,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        FIELD(number))

struct group_awaited_reply {
    uint32_t n_ranks; /* ranks that take part */
    uint32_t n_present_ranks;
    char missing[LIMIT_REPORT_REASON]; /* "rank 2 (a:7), rank 3 (b:9)" */
};
MESSAGE(group_awaited_reply,
        FIELD(n_ranks),
        FIELD(n_present_ranks),
        FIELD(missing))

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
MESSAGE(group_agree_request,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        FIELD(communicator),
        FIELD(kind),
        FIELD(turn),
        FIELD(flags),
        FIELD(least),
        FIELD(number))

struct group_agree_reply {
    uint64_t flags;
    uint64_t least;
    uint64_t communicator; /* SHRINK: the new one */
    uint64_t membership_epoch;
    size_t n_ranks;
    uint32_t *ranks; /* world ranks of the survivors, in the order of the old
                        communicator */
};
MESSAGE(group_agree_reply,
        FIELD(flags),
        FIELD(least),
        FIELD(communicator),
        FIELD(membership_epoch),
        FIELD_VALUES(ranks, n_ranks, LIMIT_RANKS))

/* Get: the key. List: the page after this key; "": the first page. */
struct group_key_request {
    char key[LIMIT_NAME];
};
MESSAGE(group_key_request, FIELD(key))

struct group_entry {
    char key[LIMIT_NAME];
    uint64_t communicator;
    size_t n_ranks;
    uint32_t *ranks;
    uint32_t n_joined; /* members that are in the group; the others are still
                          expected, or have left */
};
MESSAGE(group_entry,
        FIELD(key),
        FIELD(communicator),
        FIELD_VALUES(ranks, n_ranks, LIMIT_RANKS),
        FIELD(n_joined))

/* The reply to Create, Get and List: one group for Create and Get, a page for
 * List. */
struct groups_reply {
    uint32_t n_more; /* groups after this page */
    size_t n_groups;
    struct group_entry *groups; /* in the order of creation */
};
MESSAGE(groups_reply,
        FIELD(n_more),
        FIELD_STRUCTS(groups, n_groups, group_entry, LIMIT_LIST_PAGE_ENTRIES))

#endif
