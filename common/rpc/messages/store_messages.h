/*
 * rpc/messages/store_messages.h - bodies of hoop.v1.Store
 *
 * Keys and values are bytes, LIMIT_STORE_KEY and LIMIT_STORE_VALUE of them at
 * most. Revisions are the store's: each change has its own, counting from 1.
 */

#ifndef RPC_MESSAGES_STORE_MESSAGES_H
#define RPC_MESSAGES_STORE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"

struct pack;

struct store_set_request {
    struct message_span key;
    struct message_span value;
    uint32_t ttl_ms; /* 0: stays */
};

/* Answers Set; the revision that the change made. */
struct store_change_reply {
    uint64_t revision;
};

/* For Get, and for Wait, which is answered when the key exists. */
struct store_get_request {
    struct message_span key;
};

struct store_get_reply {
    uint64_t revision; /* of the key's last change */
    struct message_span value;
};

/* The value is a decimal text; a key that does not exist counts as 0. */
struct store_add_request {
    struct message_span key;
    int64_t delta;
};

struct store_add_reply {
    uint64_t revision;
    int64_t value; /* after the addition */
};

struct store_compare_request {
    struct message_span key;
    bool expects_absent; /* then expected does not matter */
    struct message_span expected;
    struct message_span value;
    uint32_t ttl_ms;
};

/* A comparison that fails is an answer, not an error. */
struct store_compare_reply {
    bool is_swapped;
    bool is_found;             /* whether the key exists now */
    uint64_t revision;         /* of the key's last change */
    struct message_span value; /* what it holds now */
};

struct store_delete_request {
    struct message_span key;
};

struct store_delete_reply {
    bool is_found; /* whether there was such a key */
    uint64_t revision;
};

struct store_multi_get_request {
    size_t n_keys;
    struct message_span *keys;
};

struct store_entry {
    bool is_found;
    uint64_t revision;
    struct message_span key;
    struct message_span value;
};

/* Answers MultiGet, in the order of the keys, and List, in key order. */
struct store_entries_reply {
    uint64_t revision; /* of the store */
    bool is_complete;  /* List: no more keys after the last one here */
    size_t n_entries;
    struct store_entry *entries;
};

struct store_list_request {
    struct message_span prefix;
    struct message_span after; /* begin behind this key; empty: at the first */
    uint32_t n_max;            /* 0: as many as fit an answer */
};

/* A long poll: answered when a key under prefix changes behind since. */
struct store_watch_request {
    struct message_span prefix;
    uint64_t since;
};

enum store_event_kind {
    STORE_EVENT_SET = 1,
    STORE_EVENT_DELETED = 2, /* also by its time to live */
};

struct store_event {
    uint32_t kind;
    uint64_t revision;
    struct message_span key;
    struct message_span value;
};

struct store_watch_reply {
    uint64_t revision; /* since for the next call */
    bool is_gap;       /* events before these are lost: list again */
    size_t n_events;
    struct store_event *events; /* oldest first */
};

void
store_set_request_encode(const struct store_set_request *request,
                         struct pack *pack);
enum hoop_status
store_set_request_decode(struct message_span in,
                         struct store_set_request *out_request);

void
store_change_reply_encode(const struct store_change_reply *reply,
                          struct pack *pack);
enum hoop_status
store_change_reply_decode(struct message_span in,
                          struct store_change_reply *out_reply);

void
store_get_request_encode(const struct store_get_request *request,
                         struct pack *pack);
enum hoop_status
store_get_request_decode(struct message_span in,
                         struct store_get_request *out_request);

void
store_get_reply_encode(const struct store_get_reply *reply, struct pack *pack);
enum hoop_status
store_get_reply_decode(struct message_span in,
                       struct store_get_reply *out_reply);

void
store_add_request_encode(const struct store_add_request *request,
                         struct pack *pack);
enum hoop_status
store_add_request_decode(struct message_span in,
                         struct store_add_request *out_request);

void
store_add_reply_encode(const struct store_add_reply *reply, struct pack *pack);
enum hoop_status
store_add_reply_decode(struct message_span in,
                       struct store_add_reply *out_reply);

void
store_compare_request_encode(const struct store_compare_request *request,
                             struct pack *pack);
enum hoop_status
store_compare_request_decode(struct message_span in,
                             struct store_compare_request *out_request);

void
store_compare_reply_encode(const struct store_compare_reply *reply,
                           struct pack *pack);
enum hoop_status
store_compare_reply_decode(struct message_span in,
                           struct store_compare_reply *out_reply);

void
store_delete_request_encode(const struct store_delete_request *request,
                            struct pack *pack);
enum hoop_status
store_delete_request_decode(struct message_span in,
                            struct store_delete_request *out_request);

void
store_delete_reply_encode(const struct store_delete_reply *reply,
                          struct pack *pack);
enum hoop_status
store_delete_reply_decode(struct message_span in,
                          struct store_delete_reply *out_reply);

void
store_multi_get_request_encode(const struct store_multi_get_request *request,
                               struct pack *pack);
enum hoop_status
store_multi_get_request_decode(struct message_span in,
                               struct store_multi_get_request *out_request);
void
store_multi_get_request_deinit(struct store_multi_get_request *request);

void
store_entries_reply_encode(const struct store_entries_reply *reply,
                           struct pack *pack);
enum hoop_status
store_entries_reply_decode(struct message_span in,
                           struct store_entries_reply *out_reply);
void
store_entries_reply_deinit(struct store_entries_reply *reply);

void
store_list_request_encode(const struct store_list_request *request,
                          struct pack *pack);
enum hoop_status
store_list_request_decode(struct message_span in,
                          struct store_list_request *out_request);

void
store_watch_request_encode(const struct store_watch_request *request,
                           struct pack *pack);
enum hoop_status
store_watch_request_decode(struct message_span in,
                           struct store_watch_request *out_request);

void
store_watch_reply_encode(const struct store_watch_reply *reply,
                         struct pack *pack);
enum hoop_status
store_watch_reply_decode(struct message_span in,
                         struct store_watch_reply *out_reply);
void
store_watch_reply_deinit(struct store_watch_reply *reply);

#endif
