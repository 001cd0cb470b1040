/*
 * session/control_store.c - the store of a job, for who is no member of it
 *
 * No test of its own: hoopctl_test asks all it can.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "session/control.h"
#include "wire/pack.h"

static enum hoop_status
text_take(char *to, size_t n_to, const char *from)
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
store_ask(struct hoop_control *control,
          enum method_id method,
          struct pack *pack)
{
    enum hoop_status status = control_call(control, method, pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = store_reply_decode(control_body(control), &control->answer.store);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

static enum hoop_status
key_ask(struct hoop_control *control, enum method_id method, const char *key)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_keys_request_encode(
        &(struct store_keys_request){.n_keys = 1, .keys = &key}, &pack);
    return store_ask(control, method, &pack);
}

enum hoop_status
hoop_control_get(hoop_control_t *control,
                 const char *key,
                 struct hoop_control_value *out_value)
{
    enum hoop_status status = control_check(control, key, "key");
    if (status == HOOP_OK)
        status = control_check(control, out_value, "out_value");
    if (status == HOOP_OK)
        status = key_ask(control, METHOD_STORE_GET, key);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_reply *reply = &control->answer.store;
    if (reply->n_entries != 1 || !reply->entries[0].is_found)
        return error_raise(HOOP_E_NOT_FOUND, "job '%s' has no key '%s'",
                           control->job, key);
    *out_value = (struct hoop_control_value){
        .bytes = reply->entries[0].value.bytes,
        .n_bytes = reply->entries[0].value.n_bytes,
        .revision = reply->entries[0].revision,
    };
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
    enum hoop_status status = control_check(control, value, "value");
    if (status == HOOP_OK)
        status = text_take(request.key, sizeof(request.key), key);
    if (status != HOOP_OK)
        return error_pass(status);
    request.value = (struct message_span){value->bytes, value->n_bytes};
    store_set_request_encode(&request, &pack);
    status = store_ask(control, METHOD_STORE_SET, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

enum hoop_status
hoop_control_delete(hoop_control_t *control, const char *key)
{
    enum hoop_status status = control_check(control, key, "key");
    if (status == HOOP_OK)
        status = key_ask(control, METHOD_STORE_DELETE, key);
    if (status != HOOP_OK)
        return error_pass(status);
    if (control->answer.store.counter == 0)
        return error_raise(HOOP_E_NOT_FOUND, "job '%s' has no key '%s'",
                           control->job, key);
    return HOOP_OK;
}

static enum hoop_status
list_ask(struct hoop_control *control, const struct hoop_control_scan *scan)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct store_list_request request = {0};

    enum hoop_status status =
        text_take(request.prefix, sizeof(request.prefix), scan->prefix);
    if (status != HOOP_OK)
        return error_pass(status);
    status = text_take(request.after, sizeof(request.after), scan->after);
    if (status != HOOP_OK)
        return error_pass(status);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_list_request_encode(&request, &pack);
    return store_ask(control, METHOD_STORE_LIST, &pack);
}

enum hoop_status
hoop_control_list(hoop_control_t *control,
                  const struct hoop_control_scan *scan,
                  const struct hoop_control_keys **out_keys)
{
    enum hoop_status status = control_check(control, scan, "scan");
    if (status == HOOP_OK)
        status = control_check(control, out_keys, "out_keys");
    if (status == HOOP_OK)
        status = list_ask(control, scan);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct store_reply *reply = &control->answer.store;

    struct hoop_control_key *keys =
        control_items(control, reply->n_entries, sizeof(*keys));
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
    };
    *out_keys = &control->answer.keys;
    return HOOP_OK;
}
