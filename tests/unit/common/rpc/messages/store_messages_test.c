/* tests/unit/common/rpc/messages/store_messages_test.c - Store */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bodies.h"
#include "check.h"
#include "rpc/messages/store_messages.h"
#include "wire/pack.h"

#define SPAN(text)                                                             \
    ((struct message_span){(const uint8_t *)(text), sizeof(text) - 1})

static void
store_reply_travels_whole(void **state)
{
    struct store_entry entries[] = {
        {"a/1", true, 7, SPAN("one\0zero")},
        {"a/2", false, 0, {NULL, 0}},
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(store_reply_deinit) struct store_reply reply = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_reply_encode(&(struct store_reply){.revision = 8,
                                             .is_applied = true,
                                             .counter = INT64_MIN,
                                             .n_more = 3,
                                             .n_entries = 2,
                                             .entries = entries},
                       &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(
        store_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    assert_int_equal(reply.revision, 8);
    assert_true(reply.is_applied);
    assert_true(reply.counter == INT64_MIN);
    assert_int_equal(reply.n_more, 3);
    assert_int_equal(reply.n_entries, 2);
    assert_string_equal(reply.entries[0].key, "a/1");
    assert_int_equal(reply.entries[0].value.n_bytes, 8);
    assert_memory_equal(reply.entries[0].value.bytes, "one\0zero", 8);
    assert_string_equal(reply.entries[1].key, "a/2");
    assert_false(reply.entries[1].is_found);
}

static void
store_keys_of_greatest_size_travel(void **state)
{
    char longest[LIMIT_STORE_KEY + 1];
    const char *keys[] = {longest, "", longest};
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(store_keys_request_deinit) struct store_keys_request request = {0};
    size_t n_bytes = 0;

    memset(longest, 'k', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_keys_request_encode(
        &(struct store_keys_request){.n_keys = 3, .keys = keys}, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(store_keys_request_decode((struct message_span){bytes, n_bytes},
                                        &request));
    assert_int_equal(request.n_keys, 3);
    assert_string_equal(request.keys[0], longest);
    assert_string_equal(request.keys[1], "");
    assert_string_equal(request.keys[2], longest);
}

static void
store_key_too_long_is_refused(void **state)
{
    char key[LIMIT_STORE_KEY + 2];
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct store_set_request request;
    size_t n_bytes = 0;

    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 3);
    pack_str(&pack, key);
    pack_bin(&pack, "v", 1);
    pack_uint(&pack, 0);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(store_set_request_decode(
                         (struct message_span){bytes, n_bytes}, &request),
                     HOOP_E_DATA_LOSS);
}

static void
store_keys_too_many_are_refused(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct store_keys_request request;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 1);
    pack_array(&pack, LIMIT_STORE_KEYS_CALL + 1);
    for (int i = 0; i < LIMIT_STORE_KEYS_CALL + 1; i++)
        pack_str(&pack, "k");
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(store_keys_request_decode(
                         (struct message_span){bytes, n_bytes}, &request),
                     HOOP_E_DATA_LOSS);
}

static void
store_bodies_hold_the_rules_of_bodies(void **state)
{
    const char *keys[] = {"a", "b"};
    struct store_entry entries[] = {{"a", true, 7, SPAN("one")}};
    struct store_event events[] = {{STORE_EVENT_SET, 7, "a"},
                                   {STORE_EVENT_EXPIRED, 8, "b"}};
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_set_request_encode(
        &(struct store_set_request){"k", SPAN("value"), 1000}, &pack);
    body_check("store_set_request", &pack);
    store_add_request_encode(&(struct store_add_request){"k", -5, 0}, &pack);
    body_check("store_add_request", &pack);
    store_swap_request_encode(
        &(struct store_swap_request){"k", false, SPAN("old"), SPAN("new"), 0},
        &pack);
    body_check("store_swap_request", &pack);
    store_list_request_encode(&(struct store_list_request){"a/", "a/1", 10},
                              &pack);
    body_check("store_list_request", &pack);
    store_watch_request_encode(&(struct store_watch_request){"a", true, 7},
                               &pack);
    body_check("store_watch_request", &pack);
    store_keys_request_encode(
        &(struct store_keys_request){.n_keys = 2, .keys = keys}, &pack);
    body_check("store_keys_request", &pack);
    store_reply_encode(&(struct store_reply){.revision = 7,
                                             .n_entries = 1,
                                             .entries = entries},
                       &pack);
    body_check("store_reply", &pack);
    store_watch_reply_encode(&(struct store_watch_reply){.revision = 8,
                                                         .n_events = 2,
                                                         .events = events},
                             &pack);
    body_check("store_watch_reply", &pack);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_reply_travels_whole),
        cmocka_unit_test(store_keys_of_greatest_size_travel),
        cmocka_unit_test(store_key_too_long_is_refused),
        cmocka_unit_test(store_keys_too_many_are_refused),
        cmocka_unit_test(store_bodies_hold_the_rules_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
