/*
 * rpc/messages/group_messages.h - bodies of hoop.v1.Groups
 *
 * A group is a named, ordered set of ranks of one epoch, with the id of its
 * communicator.
 */

#ifndef RPC_MESSAGES_GROUP_MESSAGES_H
#define RPC_MESSAGES_GROUP_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"

struct pack;

struct group_ranks {
    size_t n_ranks;
    uint32_t *ranks;
};

/* Repeating the same name with the same ranks gives the same group. */
struct group_create_request {
    char name[LIMIT_NAME];
    struct group_ranks ranks;
};

/* For Get and Delete; the reply of Delete has no body. */
struct group_name_request {
    char name[LIMIT_NAME];
};

/* Answers Create and Get. */
struct group_reply {
    uint64_t comm; /* id of its communicator */
    uint64_t epoch;
    char name[LIMIT_NAME];
    struct group_ranks ranks; /* group rank -> world rank */
};

/* List: the request has no body. */
struct group_list_reply {
    size_t n_groups;
    struct group_reply *groups; /* in order of their names */
};

void
group_create_request_encode(const struct group_create_request *request,
                            struct pack *pack);
enum hoop_status
group_create_request_decode(struct message_span in,
                            struct group_create_request *out_request);
void
group_create_request_deinit(struct group_create_request *request);

void
group_name_request_encode(const struct group_name_request *request,
                          struct pack *pack);
enum hoop_status
group_name_request_decode(struct message_span in,
                          struct group_name_request *out_request);

void
group_reply_encode(const struct group_reply *reply, struct pack *pack);
enum hoop_status
group_reply_decode(struct message_span in, struct group_reply *out_reply);
void
group_reply_deinit(struct group_reply *reply);

void
group_list_reply_encode(const struct group_list_reply *reply,
                        struct pack *pack);
enum hoop_status
group_list_reply_decode(struct message_span in,
                        struct group_list_reply *out_reply);
void
group_list_reply_deinit(struct group_list_reply *reply);

#endif
