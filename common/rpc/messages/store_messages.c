/* rpc/messages/store_messages.c - bodies of hoop.v1.Store */

#include "rpc/messages/store_messages.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/messages/reader.h"
#include "wire/pack.h"

enum {
    STORE_SET_REQUEST_FIELDS = 3,
    STORE_ADD_REQUEST_FIELDS = 3,
    STORE_SWAP_REQUEST_FIELDS = 5,
    STORE_LIST_REQUEST_FIELDS = 3,
    STORE_WATCH_REQUEST_FIELDS = 3,
    STORE_KEYS_REQUEST_FIELDS = 1,
    STORE_ENTRY_FIELDS = 4,
    STORE_REPLY_FIELDS = 5,
    STORE_EVENT_FIELDS = 3,
    STORE_WATCH_REPLY_FIELDS = 2,
};

static void
span_encode(struct message_span span, struct pack *pack)
{
    pack_bin(pack, span.bytes, span.n_bytes);
}

void
store_set_request_encode(const struct store_set_request *request,
                         struct pack *pack)
{
    pack_array(pack, STORE_SET_REQUEST_FIELDS);
    pack_str(pack, request->key);
    span_encode(request->value, pack);
    pack_uint(pack, request->ttl_ms);
}

enum hoop_status
store_set_request_decode(struct message_span in,
                         struct store_set_request *out_request)
{
    struct store_set_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_SET_REQUEST_FIELDS);
    unpack_text(&unpack, request.key, sizeof(request.key));
    request.value = message_read_bin(&unpack, LIMIT_STORE_VALUE);
    request.ttl_ms = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
store_add_request_encode(const struct store_add_request *request,
                         struct pack *pack)
{
    pack_array(pack, STORE_ADD_REQUEST_FIELDS);
    pack_str(pack, request->key);
    pack_int(pack, request->delta);
    pack_uint(pack, request->ttl_ms);
}

enum hoop_status
store_add_request_decode(struct message_span in,
                         struct store_add_request *out_request)
{
    struct store_add_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_ADD_REQUEST_FIELDS);
    unpack_text(&unpack, request.key, sizeof(request.key));
    request.delta = unpack_int(&unpack);
    request.ttl_ms = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
store_swap_request_encode(const struct store_swap_request *request,
                          struct pack *pack)
{
    pack_array(pack, STORE_SWAP_REQUEST_FIELDS);
    pack_str(pack, request->key);
    pack_bool(pack, request->expects_absent);
    span_encode(request->expected, pack);
    span_encode(request->value, pack);
    pack_uint(pack, request->ttl_ms);
}

enum hoop_status
store_swap_request_decode(struct message_span in,
                          struct store_swap_request *out_request)
{
    struct store_swap_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_SWAP_REQUEST_FIELDS);
    unpack_text(&unpack, request.key, sizeof(request.key));
    request.expects_absent = unpack_bool(&unpack);
    request.expected = message_read_bin(&unpack, LIMIT_STORE_VALUE);
    request.value = message_read_bin(&unpack, LIMIT_STORE_VALUE);
    request.ttl_ms = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
store_list_request_encode(const struct store_list_request *request,
                          struct pack *pack)
{
    pack_array(pack, STORE_LIST_REQUEST_FIELDS);
    pack_str(pack, request->prefix);
    pack_str(pack, request->after);
    pack_uint(pack, request->n_max);
}

enum hoop_status
store_list_request_decode(struct message_span in,
                          struct store_list_request *out_request)
{
    struct store_list_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_LIST_REQUEST_FIELDS);
    unpack_text(&unpack, request.prefix, sizeof(request.prefix));
    unpack_text(&unpack, request.after, sizeof(request.after));
    request.n_max = message_read_u32(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
store_watch_request_encode(const struct store_watch_request *request,
                           struct pack *pack)
{
    pack_array(pack, STORE_WATCH_REQUEST_FIELDS);
    pack_str(pack, request->prefix);
    pack_bool(pack, request->is_whole);
    pack_uint(pack, request->since);
}

enum hoop_status
store_watch_request_decode(struct message_span in,
                           struct store_watch_request *out_request)
{
    struct store_watch_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_WATCH_REQUEST_FIELDS);
    unpack_text(&unpack, request.prefix, sizeof(request.prefix));
    request.is_whole = unpack_bool(&unpack);
    request.since = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
store_keys_request_encode(const struct store_keys_request *request,
                          struct pack *pack)
{
    pack_array(pack, STORE_KEYS_REQUEST_FIELDS);
    pack_array(pack, request->n_keys);
    for (size_t i = 0; i < request->n_keys; i++)
        pack_str(pack, request->keys[i]);
}

enum hoop_status
store_keys_request_decode(struct message_span in,
                          struct store_keys_request *out_request)
{
    CLEANUP(store_keys_request_deinit) struct store_keys_request request = {0};
    struct message_texts texts;
    struct message_items items;
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_KEYS_REQUEST_FIELDS);
    enum hoop_status status = message_list_open(
        &unpack,
        &(struct message_list){LIMIT_STORE_KEYS_CALL, sizeof(*request.keys)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    request.keys = items.first;
    request.n_keys = items.n_items;

    status = message_texts_create(in, request.n_keys, &texts, &request.room);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < request.n_keys; i++)
        request.keys[i] = message_texts_read(&texts, &unpack);

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    request = (struct store_keys_request){0};
    return HOOP_OK;
}

void
store_keys_request_deinit(struct store_keys_request *request)
{
    free(request->keys);
    free(request->room);
    *request = (struct store_keys_request){0};
}

void
store_reply_encode(const struct store_reply *reply, struct pack *pack)
{
    pack_array(pack, STORE_REPLY_FIELDS);
    pack_uint(pack, reply->revision);
    pack_bool(pack, reply->is_applied);
    pack_int(pack, reply->counter);
    pack_uint(pack, reply->n_more);
    pack_array(pack, reply->n_entries);
    for (size_t i = 0; i < reply->n_entries; i++) {
        const struct store_entry *entry = &reply->entries[i];

        pack_array(pack, STORE_ENTRY_FIELDS);
        pack_str(pack, entry->key);
        pack_bool(pack, entry->is_found);
        pack_uint(pack, entry->revision);
        span_encode(entry->value, pack);
    }
}

static void
store_entry_read(struct unpack *unpack,
                 struct message_texts *texts,
                 struct store_entry *entry)
{
    const size_t n_unknown = message_open_array(unpack, STORE_ENTRY_FIELDS);

    entry->key = message_texts_read(texts, unpack);
    entry->is_found = unpack_bool(unpack);
    entry->revision = message_read_u64(unpack);
    entry->value = message_read_bin(unpack, LIMIT_STORE_VALUE);
    unpack_skip(unpack, n_unknown);
}

enum hoop_status
store_reply_decode(struct message_span in, struct store_reply *out_reply)
{
    CLEANUP(store_reply_deinit) struct store_reply reply = {0};
    struct message_texts texts;
    struct message_items items;
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, STORE_REPLY_FIELDS);
    reply.revision = message_read_u64(&unpack);
    reply.is_applied = unpack_bool(&unpack);
    reply.counter = unpack_int(&unpack);
    reply.n_more = message_read_u32(&unpack);
    enum hoop_status status = message_list_open(
        &unpack,
        &(struct message_list){LIMIT_STORE_KEYS_CALL, sizeof(*reply.entries)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.entries = items.first;
    reply.n_entries = items.n_items;

    status = message_texts_create(in, reply.n_entries, &texts, &reply.room);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < reply.n_entries; i++)
        store_entry_read(&unpack, &texts, &reply.entries[i]);

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply = (struct store_reply){0};
    return HOOP_OK;
}

void
store_reply_deinit(struct store_reply *reply)
{
    free(reply->entries);
    free(reply->room);
    *reply = (struct store_reply){0};
}

void
store_watch_reply_encode(const struct store_watch_reply *reply,
                         struct pack *pack)
{
    pack_array(pack, STORE_WATCH_REPLY_FIELDS);
    pack_uint(pack, reply->revision);
    pack_array(pack, reply->n_events);
    for (size_t i = 0; i < reply->n_events; i++) {
        const struct store_event *event = &reply->events[i];

        pack_array(pack, STORE_EVENT_FIELDS);
        pack_uint(pack, event->kind);
        pack_uint(pack, event->revision);
        pack_str(pack, event->key);
    }
}

static void
store_event_read(struct unpack *unpack,
                 struct message_texts *texts,
                 struct store_event *event)
{
    const size_t n_unknown = message_open_array(unpack, STORE_EVENT_FIELDS);

    event->kind = message_read_u32(unpack);
    event->revision = message_read_u64(unpack);
    event->key = message_texts_read(texts, unpack);
    unpack_skip(unpack, n_unknown);
}

enum hoop_status
store_watch_reply_decode(struct message_span in,
                         struct store_watch_reply *out_reply)
{
    CLEANUP(store_watch_reply_deinit) struct store_watch_reply reply = {0};
    struct message_texts texts;
    struct message_items items;
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, STORE_WATCH_REPLY_FIELDS);
    reply.revision = message_read_u64(&unpack);
    enum hoop_status status = message_list_open(
        &unpack,
        &(struct message_list){LIMIT_LIST_PAGE_ENTRIES, sizeof(*reply.events)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.events = items.first;
    reply.n_events = items.n_items;

    status = message_texts_create(in, reply.n_events, &texts, &reply.room);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < reply.n_events; i++)
        store_event_read(&unpack, &texts, &reply.events[i]);

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply = (struct store_watch_reply){0};
    return HOOP_OK;
}

void
store_watch_reply_deinit(struct store_watch_reply *reply)
{
    free(reply->events);
    free(reply->room);
    *reply = (struct store_watch_reply){0};
}
