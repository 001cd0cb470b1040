/* session/control_store.c - a job's key-value store, for clients that are no
 * members */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "session/control.h"
#include "wire/pack.h"

static enum hoop_status
store_key_copy(char *to, size_t n_to, const char *from)
{
    if (!from)
        from = "";
    if (strlen(from) >= n_to)
        return error_raise(HOOP_E_INVALID, "a key has %zu bytes, more than %zu",
                           strlen(from), n_to - 1);
    snprintf(to, n_to, "%s", from);
    return HOOP_OK;
}

static enum hoop_status
store_rpc_call(struct hoop_control *control,
               enum method_id method,
               struct pack *pack)
{
    enum hoop_status status = control_call(control, method, pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = store_reply_decode(control_answer_body(control),
                                &control->answer.store);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

static enum hoop_status
store_rpc_call_with_keys(struct hoop_control *control,
                         enum method_id method,
                         const char *const *keys,
                         size_t n_keys)
{
    CLEANUP(pack_deinit) struct pack pack;

    if (n_keys == 0 || n_keys > LIMIT_STORE_KEYS_CALL)
        return error_raise(HOOP_E_INVALID, "%zu keys; a call has 1 to %d",
                           n_keys, LIMIT_STORE_KEYS_CALL);
    for (size_t i = 0; i < n_keys; i++) {
        if (!keys[i])
            return error_raise(HOOP_E_INVALID, "keys[%zu] is NULL", i);
    }
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    /* The cast removes const only: keys are not written. */
    store_keys_request_encode(
        &(struct store_keys_request){
            .n_keys = n_keys,
            .keys = (const char **)(uintptr_t)keys,
        },
        &pack);
    return store_rpc_call(control, method, &pack);
}

static struct hoop_control_value
control_value_from_entry(const struct store_entry *entry)
{
    if (!entry->is_found)
        return (struct hoop_control_value){0};
    return (struct hoop_control_value){
        /* A value of no bytes exists, so its pointer is not NULL. */
        .bytes = entry->value.bytes ? entry->value.bytes : (const void *)"",
        .n_bytes = entry->value.n_bytes,
        .revision = entry->revision,
    };
}

enum hoop_status
hoop_control_get(hoop_control_t *control,
                 const char *key,
                 struct hoop_control_value *out_value)
{
    enum hoop_status status = control_check_argument(control, key, "key");
    if (status == HOOP_OK)
        status = control_check_argument(control, out_value, "out_value");
    if (status == HOOP_OK)
        status = store_rpc_call_with_keys(control, METHOD_STORE_GET, &key, 1);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_reply *reply = &control->answer.store;
    if (reply->n_entries != 1 || !reply->entries[0].is_found)
        return error_raise(HOOP_E_NOT_FOUND, "job '%s' has no key '%s'",
                           control->job, key);
    *out_value = control_value_from_entry(&reply->entries[0]);
    return HOOP_OK;
}

static enum hoop_status
store_rpc_call_for_values(struct hoop_control *control,
                          enum method_id method,
                          const char *const *keys,
                          size_t n_keys)
{
    const enum hoop_status status =
        store_rpc_call_with_keys(control, method, keys, n_keys);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_reply *reply = &control->answer.store;
    if (reply->n_entries != n_keys)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the coordinator answers %zu keys with %zu", n_keys,
                           reply->n_entries);
    struct hoop_control_value *values =
        control_answer_alloc_items(control, n_keys, sizeof(*values));
    if (!values)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < n_keys; i++)
        values[i] = control_value_from_entry(&reply->entries[i]);
    return HOOP_OK;
}

enum hoop_status
hoop_control_multi_get(hoop_control_t *control,
                       const char *const *keys,
                       size_t n_keys,
                       const struct hoop_control_value **out_values)
{
    enum hoop_status status = control_check_argument(control, keys, "keys");
    if (status == HOOP_OK)
        status = control_check_argument(control, out_values, "out_values");
    if (status == HOOP_OK)
        status = store_rpc_call_for_values(control, METHOD_STORE_MULTI_GET,
                                           keys, n_keys);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_values = control->answer.items;
    return HOOP_OK;
}

enum hoop_status
hoop_control_wait(hoop_control_t *control,
                  const char *const *keys,
                  size_t n_keys,
                  const struct hoop_control_value **out_values)
{
    enum hoop_status status = control_check_argument(control, keys, "keys");
    if (status == HOOP_OK)
        status = control_check_argument(control, out_values, "out_values");
    if (status == HOOP_OK)
        status =
            store_rpc_call_for_values(control, METHOD_STORE_WAIT, keys, n_keys);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_values = control->answer.items;
    return HOOP_OK;
}

enum hoop_status
hoop_control_set(hoop_control_t *control,
                 const char *key,
                 const struct hoop_control_value *value)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct store_set_request request = {0};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    enum hoop_status status = control_check_argument(control, value, "value");
    if (status == HOOP_OK)
        status = store_key_copy(request.key, sizeof(request.key), key);
    if (status != HOOP_OK)
        return error_pass(status);
    request.value = (struct message_span){value->bytes, value->n_bytes};
    request.ttl_ms = value->ttl_ms;
    store_set_request_encode(&request, &pack);
    status = store_rpc_call(control, METHOD_STORE_SET, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

enum hoop_status
hoop_control_delete(hoop_control_t *control, const char *key)
{
    enum hoop_status status = control_check_argument(control, key, "key");
    if (status == HOOP_OK)
        status =
            store_rpc_call_with_keys(control, METHOD_STORE_DELETE, &key, 1);
    if (status != HOOP_OK)
        return error_pass(status);
    if (control->answer.store.counter == 0)
        return error_raise(HOOP_E_NOT_FOUND, "job '%s' has no key '%s'",
                           control->job, key);
    return HOOP_OK;
}

enum hoop_status
hoop_control_add(hoop_control_t *control,
                 const char *key,
                 int64_t delta,
                 uint64_t ttl_ms,
                 int64_t *out_sum)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct store_add_request request = {.delta = delta, .ttl_ms = ttl_ms};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    enum hoop_status status = control_check_argument(control, key, "key");
    if (status == HOOP_OK)
        status = control_check_argument(control, out_sum, "out_sum");
    if (status == HOOP_OK)
        status = store_key_copy(request.key, sizeof(request.key), key);
    if (status != HOOP_OK)
        return error_pass(status);
    store_add_request_encode(&request, &pack);
    status = store_rpc_call(control, METHOD_STORE_ADD, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_sum = control->answer.store.counter;
    return HOOP_OK;
}

static enum hoop_status
store_rpc_compare_set(struct hoop_control *control,
                      struct store_swap_request *request)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_swap_request_encode(request, &pack);
    return store_rpc_call(control, METHOD_STORE_COMPARE_SET, &pack);
}

enum hoop_status
hoop_control_compare_set(hoop_control_t *control,
                         const char *key,
                         const struct hoop_control_value *expected,
                         const struct hoop_control_value *value,
                         struct hoop_control_exchange *out_exchange)
{
    struct store_swap_request request = {.expects_absent = !expected};

    enum hoop_status status = control_check_argument(control, key, "key");
    if (status == HOOP_OK)
        status = control_check_argument(control, value, "value");
    if (status == HOOP_OK)
        status = control_check_argument(control, out_exchange, "out_exchange");
    if (status == HOOP_OK)
        status = store_key_copy(request.key, sizeof(request.key), key);
    if (status != HOOP_OK)
        return error_pass(status);
    if (expected)
        request.expected =
            (struct message_span){expected->bytes, expected->n_bytes};
    request.value = (struct message_span){value->bytes, value->n_bytes};
    request.ttl_ms = value->ttl_ms;
    status = store_rpc_compare_set(control, &request);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct store_reply *reply = &control->answer.store;

    *out_exchange =
        (struct hoop_control_exchange){.is_applied = reply->is_applied};
    if (!reply->is_applied && reply->n_entries == 1)
        out_exchange->present = control_value_from_entry(&reply->entries[0]);
    return HOOP_OK;
}

static enum hoop_status
store_rpc_list(struct hoop_control *control,
               const struct hoop_control_scan *scan)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct store_list_request request = {0};

    enum hoop_status status =
        store_key_copy(request.prefix, sizeof(request.prefix), scan->prefix);
    if (status != HOOP_OK)
        return error_pass(status);
    status = store_key_copy(request.after, sizeof(request.after), scan->after);
    if (status != HOOP_OK)
        return error_pass(status);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_list_request_encode(&request, &pack);
    return store_rpc_call(control, METHOD_STORE_LIST, &pack);
}

enum hoop_status
hoop_control_list(hoop_control_t *control,
                  const struct hoop_control_scan *scan,
                  const struct hoop_control_keys **out_keys)
{
    enum hoop_status status = control_check_argument(control, scan, "scan");
    if (status == HOOP_OK)
        status = control_check_argument(control, out_keys, "out_keys");
    if (status == HOOP_OK)
        status = store_rpc_list(control, scan);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct store_reply *reply = &control->answer.store;

    struct hoop_control_key *keys =
        control_answer_alloc_items(control, reply->n_entries, sizeof(*keys));
    if (!keys)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < reply->n_entries; i++)
        keys[i] = (struct hoop_control_key){
            .key = reply->entries[i].key,
            .revision = reply->entries[i].revision,
        };
    control->answer.keys = (struct hoop_control_keys){
        .n_more = reply->n_more,
        .n_keys = reply->n_entries,
        .keys = keys,
        .revision = reply->revision,
    };
    *out_keys = &control->answer.keys;
    return HOOP_OK;
}

static enum hoop_status
store_rpc_watch(struct hoop_control *control,
                const char *prefix,
                uint64_t since)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct store_watch_request request = {.since = since};

    enum hoop_status status =
        store_key_copy(request.prefix, sizeof(request.prefix), prefix);
    if (status != HOOP_OK)
        return error_pass(status);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_watch_request_encode(&request, &pack);
    status = control_call(control, METHOD_STORE_WATCH, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = store_watch_reply_decode(control_answer_body(control),
                                      &control->answer.watch);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static const char *
store_event_kind_name(uint32_t kind)
{
    switch ((enum store_event_kind)kind) {
    case STORE_EVENT_SET:
        return "set";
    case STORE_EVENT_DELETED:
        return "deleted";
    case STORE_EVENT_EXPIRED:
        return "expired";
    }
    return "changed"; /* a kind that only a later coordinator knows */
}

enum hoop_status
hoop_control_watch(hoop_control_t *control,
                   const char *prefix,
                   uint64_t since,
                   const struct hoop_control_events **out_events)
{
    enum hoop_status status =
        control_check_argument(control, out_events, "out_events");
    if (status == HOOP_OK)
        status = store_rpc_watch(control, prefix, since);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_watch_reply *reply = &control->answer.watch;
    struct hoop_control_event *events =
        control_answer_alloc_items(control, reply->n_events, sizeof(*events));
    if (!events)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < reply->n_events; i++)
        events[i] = (struct hoop_control_event){
            .kind = store_event_kind_name(reply->events[i].kind),
            .key = reply->events[i].key,
            .revision = reply->events[i].revision,
        };
    control->answer.events = (struct hoop_control_events){
        .revision = reply->revision,
        .n_events = reply->n_events,
        .events = events,
    };
    *out_events = &control->answer.events;
    return HOOP_OK;
}
