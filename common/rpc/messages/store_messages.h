/*
 * rpc/messages/store_messages.h - bodies of hoop.v1.Store
 *
 * Keys are text of at most LIMIT_STORE_KEY bytes; values have at most
 * LIMIT_STORE_VALUE bytes. Each change of the store has its own revision.
 */

#ifndef RPC_MESSAGES_STORE_MESSAGES_H
#define RPC_MESSAGES_STORE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"

struct store_set_request {
    char key[LIMIT_STORE_KEY + 1];
    struct message_span value;
    uint64_t ttl_ms; /* lifetime of the key; 0: unlimited */
};
MESSAGE(store_set_request,
        FIELD(key),
        FIELD_BIN(value, LIMIT_STORE_VALUE),
        FIELD(ttl_ms))

/* Values are int64 in decimal; a missing key counts as 0. */
struct store_add_request {
    char key[LIMIT_STORE_KEY + 1];
    int64_t delta;
    uint64_t ttl_ms; /* 0: unchanged */
};
MESSAGE(store_add_request, FIELD(key), FIELD(delta), FIELD(ttl_ms))

struct store_swap_request {
    char key[LIMIT_STORE_KEY + 1];
    bool expects_absent; /* the key must not exist; otherwise it must hold
                            expected */
    struct message_span expected;
    struct message_span value;
    uint64_t ttl_ms;
};
MESSAGE(store_swap_request,
        FIELD(key),
        FIELD(expects_absent),
        FIELD_BIN(expected, LIMIT_STORE_VALUE),
        FIELD_BIN(value, LIMIT_STORE_VALUE),
        FIELD(ttl_ms))

/* Get, Wait (until all keys exist) and Delete: 1 to LIMIT_STORE_KEYS_CALL
 * keys. */
struct store_keys_request {
    size_t n_keys;
    const char **keys;
    char *room; /* if decoded: memory of the texts */
};
MESSAGE(store_keys_request,
        ROOM(room),
        FIELD_VALUES(keys, n_keys, LIMIT_STORE_KEYS_CALL))

struct store_list_request {
    char prefix[LIMIT_STORE_KEY + 1];
    char after[LIMIT_STORE_KEY + 1]; /* begin after this key; "": begin with
                                        the first */
    uint32_t n_max;                  /* keys per page; 0: as many as allowed */
};
MESSAGE(store_list_request, FIELD(prefix), FIELD(after), FIELD(n_max))

/* A long poll, answered when a key changes after since. */
struct store_watch_request {
    char prefix[LIMIT_STORE_KEY + 1];
    bool is_whole; /* prefix is the whole key */
    uint64_t since;
};
MESSAGE(store_watch_request, FIELD(prefix), FIELD(is_whole), FIELD(since))

struct store_entry {
    const char *key;
    bool is_found;
    uint64_t revision;         /* of its last change */
    struct message_span value; /* List: empty */
};
MESSAGE(store_entry,
        FIELD(key),
        FIELD(is_found),
        FIELD(revision),
        FIELD_BIN(value, LIMIT_STORE_VALUE))

/*
 * The reply to all requests but Watch. Which fields are set:
 * - Set: revision.
 * - Add: revision; counter is the sum.
 * - CompareSet: revision and is_applied; if not applied, entries[0] holds what
 *   is there.
 * - Get and Wait: entries in the order of the keys; a missing key is not an
 *   error of Get.
 * - Delete: revision, and the number of deleted keys in counter.
 * - List: entries in the order of keys without values, and n_more.
 */
struct store_reply {
    uint64_t revision; /* revision of the store; pass it as since to watch
                          from here */
    bool is_applied;
    int64_t counter;
    uint32_t n_more;
    size_t n_entries;
    struct store_entry *entries;
    char *room; /* if decoded: memory of the texts */
};
MESSAGE(store_reply,
        ROOM(room),
        FIELD(revision),
        FIELD(is_applied),
        FIELD(counter),
        FIELD(n_more),
        FIELD_STRUCTS(entries, n_entries, store_entry, LIMIT_STORE_KEYS_CALL))

enum store_event_kind {
    STORE_EVENT_SET = 1,
    STORE_EVENT_DELETED = 2,
    STORE_EVENT_EXPIRED = 3,
};

struct store_event {
    uint32_t kind;
    uint64_t revision;
    const char *key; /* no value is sent: get it, it may be newer already */
};
MESSAGE(store_event, FIELD(kind), FIELD(revision), FIELD(key))

/*
 * Has no events at the deadline of the call: ask again. If the revision is no
 * longer in the history, the status is HOOP_E_RANGE: list the keys again and
 * watch from the revision of that list.
 */
struct store_watch_reply {
    uint64_t revision; /* pass as since in the next call */
    size_t n_events;
    struct store_event *events; /* oldest first */
    char *room;                 /* if decoded: memory of the texts */
};
MESSAGE(store_watch_reply,
        ROOM(room),
        FIELD(revision),
        FIELD_STRUCTS(events, n_events, store_event, LIMIT_LIST_PAGE_ENTRIES))

#endif
