/* rpc/messages/group_messages.c - bodies of hoop.v1.Groups */

#include "rpc/messages/group_messages.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/messages/reader.h"
#include "wire/pack.h"

enum {
    GROUP_CREATE_REQUEST_FIELDS = 4,
    GROUP_JOIN_REQUEST_FIELDS = 4,
    GROUP_JOIN_REPLY_FIELDS = 1,
    GROUP_LEAVE_REQUEST_FIELDS = 3,
    GROUP_AGREE_REQUEST_FIELDS = 8,
    GROUP_AGREE_REPLY_FIELDS = 5,
    GROUP_AWAITED_REQUEST_FIELDS = 3,
    GROUP_AWAITED_REPLY_FIELDS = 3,
    GROUP_KEY_REQUEST_FIELDS = 1,
    GROUP_ENTRY_FIELDS = 4,
    GROUPS_REPLY_FIELDS = 2,
};

static void
ranks_encode(const uint32_t *ranks, size_t n_ranks, struct pack *pack)
{
    pack_array(pack, n_ranks);
    for (size_t i = 0; i < n_ranks; i++)
        pack_uint(pack, ranks[i]);
}

static enum hoop_status
ranks_read(struct unpack *unpack, uint32_t **out_ranks, size_t *out_n_ranks)
{
    struct message_items items;

    const enum hoop_status status = message_list_open(
        unpack, &(struct message_list){LIMIT_RANKS, sizeof(uint32_t)}, &items);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_ranks = items.first;
    *out_n_ranks = items.n_items;
    for (size_t i = 0; i < items.n_items; i++)
        (*out_ranks)[i] = message_read_u32(unpack);
    return HOOP_OK;
}

void
group_create_request_encode(const struct group_create_request *request,
                            struct pack *pack)
{
    pack_array(pack, GROUP_CREATE_REQUEST_FIELDS);
    pack_uint(pack, request->creator.epoch);
    pack_uint(pack, request->creator.incarnation);
    pack_str(pack, request->key);
    ranks_encode(request->ranks, request->n_ranks, pack);
}

enum hoop_status
group_create_request_decode(struct message_span in,
                            struct group_create_request *out_request)
{
    CLEANUP(group_create_request_deinit)
    struct group_create_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_CREATE_REQUEST_FIELDS);
    request.creator.epoch = message_read_u64(&unpack);
    request.creator.incarnation = message_read_u64(&unpack);
    unpack_text(&unpack, request.key, sizeof(request.key));

    enum hoop_status status =
        ranks_read(&unpack, &request.ranks, &request.n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    request.ranks = NULL;
    return HOOP_OK;
}

void
group_create_request_deinit(struct group_create_request *request)
{
    free(request->ranks);
    *request = (struct group_create_request){0};
}

void
group_join_request_encode(const struct group_join_request *request,
                          struct pack *pack)
{
    pack_array(pack, GROUP_JOIN_REQUEST_FIELDS);
    pack_uint(pack, request->member.epoch);
    pack_uint(pack, request->member.incarnation);
    pack_uint(pack, request->number);
    ranks_encode(request->ranks, request->n_ranks, pack);
}

enum hoop_status
group_join_request_decode(struct message_span in,
                          struct group_join_request *out_request)
{
    CLEANUP(group_join_request_deinit) struct group_join_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_JOIN_REQUEST_FIELDS);
    request.member.epoch = message_read_u64(&unpack);
    request.member.incarnation = message_read_u64(&unpack);
    request.number = message_read_u64(&unpack);

    enum hoop_status status =
        ranks_read(&unpack, &request.ranks, &request.n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    request.ranks = NULL;
    return HOOP_OK;
}

void
group_join_request_deinit(struct group_join_request *request)
{
    free(request->ranks);
    *request = (struct group_join_request){0};
}

void
group_join_reply_encode(const struct group_join_reply *reply, struct pack *pack)
{
    pack_array(pack, GROUP_JOIN_REPLY_FIELDS);
    pack_uint(pack, reply->communicator);
}

enum hoop_status
group_join_reply_decode(struct message_span in,
                        struct group_join_reply *out_reply)
{
    struct group_join_reply reply = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, GROUP_JOIN_REPLY_FIELDS);
    reply.communicator = message_read_u64(&unpack);
    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    return HOOP_OK;
}

void
group_leave_request_encode(const struct group_leave_request *request,
                           struct pack *pack)
{
    pack_array(pack, GROUP_LEAVE_REQUEST_FIELDS + 1);
    pack_uint(pack, request->member.epoch);
    pack_uint(pack, request->member.incarnation);
    pack_array(pack, request->n_numbers);
    for (size_t i = 0; i < request->n_numbers; i++)
        pack_uint(pack, request->numbers[i]);
    pack_uint(pack, request->is_withdrawal);
}

enum hoop_status
group_leave_request_decode(struct message_span in,
                           struct group_leave_request *out_request)
{
    CLEANUP(group_leave_request_deinit)
    struct group_leave_request request = {0};
    struct message_items items;
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, GROUP_LEAVE_REQUEST_FIELDS);
    request.member.epoch = message_read_u64(&unpack);
    request.member.incarnation = message_read_u64(&unpack);

    enum hoop_status status = message_list_open(
        &unpack,
        &(struct message_list){LIMIT_GROUP_NUMBERS, sizeof(*request.numbers)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    request.numbers = items.first;
    request.n_numbers = items.n_items;
    for (size_t i = 0; i < items.n_items; i++)
        request.numbers[i] = message_read_u64(&unpack);
    if (n_unknown > 0) {
        request.is_withdrawal = message_read_u32(&unpack);
        n_unknown--;
    }
    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    request.numbers = NULL;
    return HOOP_OK;
}

void
group_leave_request_deinit(struct group_leave_request *request)
{
    free(request->numbers);
    *request = (struct group_leave_request){0};
}

void
group_agree_request_encode(const struct group_agree_request *request,
                           struct pack *pack)
{
    pack_array(pack, GROUP_AGREE_REQUEST_FIELDS);
    pack_uint(pack, request->member.epoch);
    pack_uint(pack, request->member.incarnation);
    pack_uint(pack, request->communicator);
    pack_uint(pack, request->kind);
    pack_uint(pack, request->turn);
    pack_uint(pack, request->flags);
    pack_uint(pack, request->least);
    pack_uint(pack, request->number);
}

enum hoop_status
group_agree_request_decode(struct message_span in,
                           struct group_agree_request *out_request)
{
    struct group_agree_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_AGREE_REQUEST_FIELDS);
    request.member.epoch = message_read_u64(&unpack);
    request.member.incarnation = message_read_u64(&unpack);
    request.communicator = message_read_u64(&unpack);
    request.kind = message_read_u32(&unpack);
    request.turn = message_read_u64(&unpack);
    request.flags = message_read_u64(&unpack);
    request.least = message_read_u64(&unpack);
    request.number = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
group_agree_reply_encode(const struct group_agree_reply *reply,
                         struct pack *pack)
{
    pack_array(pack, GROUP_AGREE_REPLY_FIELDS);
    pack_uint(pack, reply->flags);
    pack_uint(pack, reply->least);
    pack_uint(pack, reply->communicator);
    pack_uint(pack, reply->membership_epoch);
    ranks_encode(reply->ranks, reply->n_ranks, pack);
}

enum hoop_status
group_agree_reply_decode(struct message_span in,
                         struct group_agree_reply *out_reply)
{
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply reply = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_AGREE_REPLY_FIELDS);
    reply.flags = message_read_u64(&unpack);
    reply.least = message_read_u64(&unpack);
    reply.communicator = message_read_u64(&unpack);
    reply.membership_epoch = message_read_u64(&unpack);
    enum hoop_status status = ranks_read(&unpack, &reply.ranks, &reply.n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply.ranks = NULL;
    return HOOP_OK;
}

void
group_agree_reply_deinit(struct group_agree_reply *reply)
{
    free(reply->ranks);
    *reply = (struct group_agree_reply){0};
}

void
group_awaited_request_encode(const struct group_awaited_request *request,
                             struct pack *pack)
{
    pack_array(pack, GROUP_AWAITED_REQUEST_FIELDS);
    pack_uint(pack, request->member.epoch);
    pack_uint(pack, request->member.incarnation);
    pack_uint(pack, request->number);
}

enum hoop_status
group_awaited_request_decode(struct message_span in,
                             struct group_awaited_request *out_request)
{
    struct group_awaited_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_AWAITED_REQUEST_FIELDS);
    request.member.epoch = message_read_u64(&unpack);
    request.member.incarnation = message_read_u64(&unpack);
    request.number = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
group_awaited_reply_encode(const struct group_awaited_reply *reply,
                           struct pack *pack)
{
    pack_array(pack, GROUP_AWAITED_REPLY_FIELDS);
    pack_uint(pack, reply->n_ranks);
    pack_uint(pack, reply->n_present_ranks);
    pack_str(pack, reply->missing);
}

enum hoop_status
group_awaited_reply_decode(struct message_span in,
                           struct group_awaited_reply *out_reply)
{
    struct group_awaited_reply reply = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_AWAITED_REPLY_FIELDS);
    reply.n_ranks = message_read_u32(&unpack);
    reply.n_present_ranks = message_read_u32(&unpack);
    unpack_text(&unpack, reply.missing, sizeof(reply.missing));

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    return HOOP_OK;
}

void
group_key_request_encode(const struct group_key_request *request,
                         struct pack *pack)
{
    pack_array(pack, GROUP_KEY_REQUEST_FIELDS);
    pack_str(pack, request->key);
}

enum hoop_status
group_key_request_decode(struct message_span in,
                         struct group_key_request *out_request)
{
    struct group_key_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, GROUP_KEY_REQUEST_FIELDS);
    unpack_text(&unpack, request.key, sizeof(request.key));

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

static enum hoop_status
group_entry_read(struct unpack *unpack, struct group_entry *group)
{
    const size_t n_unknown = message_open_array(unpack, GROUP_ENTRY_FIELDS);

    unpack_text(unpack, group->key, sizeof(group->key));
    group->communicator = message_read_u64(unpack);
    const enum hoop_status status =
        ranks_read(unpack, &group->ranks, &group->n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    group->n_joined = message_read_u32(unpack);
    unpack_skip(unpack, n_unknown);
    return HOOP_OK;
}

void
groups_reply_encode(const struct groups_reply *reply, struct pack *pack)
{
    pack_array(pack, GROUPS_REPLY_FIELDS);
    pack_uint(pack, reply->n_more);
    pack_array(pack, reply->n_groups);
    for (size_t i = 0; i < reply->n_groups; i++) {
        const struct group_entry *group = &reply->groups[i];

        pack_array(pack, GROUP_ENTRY_FIELDS);
        pack_str(pack, group->key);
        pack_uint(pack, group->communicator);
        ranks_encode(group->ranks, group->n_ranks, pack);
        pack_uint(pack, group->n_joined);
    }
}

enum hoop_status
groups_reply_decode(struct message_span in, struct groups_reply *out_reply)
{
    CLEANUP(groups_reply_deinit) struct groups_reply reply = {0};
    struct message_items items;
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, GROUPS_REPLY_FIELDS);
    reply.n_more = message_read_u32(&unpack);

    enum hoop_status status = message_list_open(
        &unpack,
        &(struct message_list){LIMIT_LIST_PAGE_ENTRIES, sizeof(*reply.groups)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.groups = items.first;
    reply.n_groups = items.n_items;
    for (size_t i = 0; i < reply.n_groups; i++) {
        status = group_entry_read(&unpack, &reply.groups[i]);
        if (status != HOOP_OK)
            return error_pass(status);
    }

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply = (struct groups_reply){0};
    return HOOP_OK;
}

void
groups_reply_deinit(struct groups_reply *reply)
{
    for (size_t i = 0; i < reply->n_groups; i++)
        free(reply->groups[i].ranks);
    free(reply->groups);
    *reply = (struct groups_reply){0};
}
