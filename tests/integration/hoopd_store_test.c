/*
 * tests/integration/hoopd_store_test.c - the store and the groups of a real
 * hoopd
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/crowd.h"
#include "integration/daemon.h"
#include "rpc/messages/group_messages.h"

/* A job of two members, each with a client; [2] and [3] are mere callers. */
struct fixture {
    struct daemon daemon;
    struct crowd crowd;
    struct joiner joiners[2];
};

static int
setup(void **state)
{
    static struct fixture fixture;

    daemon_start(&fixture.daemon, NULL);
    crowd_open(&fixture.crowd,
               &(struct crowd_options){.address = fixture.daemon.address,
                                       .job = "store",
                                       .token = "secret",
                                       .n_clients = 4});
    for (int i = 0; i < 2; i++)
        joiner_init(&fixture.joiners[i], fixture.crowd.clients[i], 2);
    joiners_run(fixture.joiners, 2);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *fixture = *state;

    joiner_deinit(&fixture->joiners[0]);
    joiner_deinit(&fixture->joiners[1]);
    crowd_close(&fixture->crowd);
    daemon_stop(&fixture->daemon);
    return 0;
}

struct store_answer {
    struct crowd_answer raw;
    struct store_reply reply;
};

static void
store_answer_deinit_at(struct store_answer *answer)
{
    store_reply_deinit(&answer->reply);
    free(answer->raw.body);
}

static enum hoop_status
store_ask(struct rpc_client *client,
          enum method_id method,
          struct pack *pack,
          struct store_answer *answer)
{
    store_answer_deinit_at(answer);
    answer->reply = (struct store_reply){0};
    const enum hoop_status status =
        crowd_call(client, method, pack, &answer->raw);
    if (status == HOOP_OK)
        assert_int_equal(
            store_reply_decode(
                (struct message_span){answer->raw.body, answer->raw.n_body},
                &answer->reply),
            HOOP_OK);
    return status;
}

static enum hoop_status
keys_ask(struct rpc_client *client,
         enum method_id method,
         const char **keys,
         struct store_answer *answer)
{
    CLEANUP(pack_deinit) struct pack pack;
    size_t n_keys = 0;

    while (keys[n_keys])
        n_keys++;
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_keys_request_encode(
        &(struct store_keys_request){.n_keys = n_keys, .keys = keys}, &pack);
    return store_ask(client, method, &pack, answer);
}

static struct rpc_client *
caller(void **state)
{
    const struct fixture *fixture = *state;

    return fixture->crowd.clients[2];
}

static void
assert_value(const struct store_entry *entry, const char *value)
{
    assert_true(entry->is_found);
    assert_int_equal(entry->value.n_bytes, strlen(value));
    assert_memory_equal(entry->value.bytes, value, strlen(value));
}

static void
value_that_is_set_is_got(void **state)
{
    const char *keys[] = {"set/a", "set/none", NULL};
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};

    const uint64_t revision =
        store_set(caller(state), &(struct store_text){"set/a", "one"});
    assert_int_equal(
        keys_ask(caller(state), METHOD_STORE_MULTI_GET, keys, &answer),
        HOOP_OK);
    assert_int_equal(answer.reply.n_entries, 2);
    assert_value(&answer.reply.entries[0], "one");
    assert_true(answer.reply.entries[0].revision == revision);
    assert_false(answer.reply.entries[1].is_found);
}

static void
counter_adds_from_several_clients(void **state)
{
    const struct fixture *fixture = *state;
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    for (size_t i = 0; i < 4; i++) {
        store_add_request_encode(&(struct store_add_request){"counter", 5, 0},
                                 &pack);
        assert_int_equal(store_ask(fixture->crowd.clients[i], METHOD_STORE_ADD,
                                   &pack, &answer),
                         HOOP_OK);
        assert_int_equal(answer.reply.counter, 5 * (i + 1));
    }
}

static void
compare_and_set_that_loses_tells_what_is_there(void **state)
{
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};
    CLEANUP(pack_deinit) struct pack pack;
    struct store_swap_request request = {
        .key = "swap",
        .expects_absent = true,
        .value = {(const uint8_t *)"first", 5},
    };

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_swap_request_encode(&request, &pack);
    assert_int_equal(
        store_ask(caller(state), METHOD_STORE_COMPARE_SET, &pack, &answer),
        HOOP_OK);
    assert_true(answer.reply.is_applied);
    store_swap_request_encode(&request, &pack);
    assert_int_equal(
        store_ask(caller(state), METHOD_STORE_COMPARE_SET, &pack, &answer),
        HOOP_OK);
    assert_false(answer.reply.is_applied);
    assert_int_equal(answer.reply.n_entries, 1);
    assert_value(&answer.reply.entries[0], "first");
}

static void
deleted_key_is_gone(void **state)
{
    const char *keys[] = {"gone", NULL};
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};

    store_set(caller(state), &(struct store_text){"gone", "x"});
    assert_int_equal(
        keys_ask(caller(state), METHOD_STORE_DELETE, keys, &answer), HOOP_OK);
    assert_int_equal(answer.reply.counter, 1);
    assert_int_equal(
        keys_ask(caller(state), METHOD_STORE_DELETE, keys, &answer), HOOP_OK);
    assert_int_equal(answer.reply.counter, 0);
}

static void
list_gives_pages_in_order(void **state)
{
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};
    CLEANUP(pack_deinit) struct pack pack;

    store_set(caller(state), &(struct store_text){"list/b", "2"});
    store_set(caller(state), &(struct store_text){"list/a", "1"});
    store_set(caller(state), &(struct store_text){"list/c", "3"});
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_list_request_encode(
        &(struct store_list_request){.prefix = "list/", .n_max = 2}, &pack);
    assert_int_equal(
        store_ask(caller(state), METHOD_STORE_LIST, &pack, &answer), HOOP_OK);
    assert_int_equal(answer.reply.n_entries, 2);
    assert_int_equal(answer.reply.n_more, 1);
    assert_string_equal(answer.reply.entries[0].key, "list/a");
    assert_string_equal(answer.reply.entries[1].key, "list/b");
    store_list_request_encode(
        &(struct store_list_request){"list/", "list/b", 2}, &pack);
    assert_int_equal(
        store_ask(caller(state), METHOD_STORE_LIST, &pack, &answer), HOOP_OK);
    assert_int_equal(answer.reply.n_entries, 1);
    assert_string_equal(answer.reply.entries[0].key, "list/c");
    assert_int_equal(answer.reply.n_more, 0);
}

static void
answer_too_large_is_refused_and_the_next_one_given(void **state)
{
    const char *keys[] = {"large/0", "large/1", "large/2",
                          "large/3", "large/4", NULL};
    const char *one[] = {"large/0", NULL};
    CLEANUP(free) char *value = malloc(LIMIT_STORE_VALUE + 1);
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};

    memset(value, 'v', LIMIT_STORE_VALUE);
    value[LIMIT_STORE_VALUE] = '\0';
    for (int i = 0; keys[i]; i++)
        store_set(caller(state), &(struct store_text){keys[i], value});
    assert_int_equal(
        keys_ask(caller(state), METHOD_STORE_MULTI_GET, keys, &answer),
        HOOP_E_EXHAUSTED);
    assert_int_equal(keys_ask(caller(state), METHOD_STORE_GET, one, &answer),
                     HOOP_OK);
    assert_value(&answer.reply.entries[0], value);
}

/* A call that is parked, in a thread of its own. */
struct parked {
    struct rpc_client *client;
    pthread_t thread;
    enum hoop_status status;
    struct store_answer answer;
};

static void *
wait_run(void *owner)
{
    const char *keys[] = {"later", NULL};
    struct parked *parked = owner;

    parked->status =
        keys_ask(parked->client, METHOD_STORE_WAIT, keys, &parked->answer);
    return NULL;
}

static void
wait_is_answered_when_the_key_is_set(void **state)
{
    const struct fixture *fixture = *state;
    struct parked parked = {.client = fixture->crowd.clients[3]};

    assert_int_equal(pthread_create(&parked.thread, NULL, wait_run, &parked),
                     0);
    store_set(caller(state), &(struct store_text){"later", "at last"});
    pthread_join(parked.thread, NULL);
    assert_int_equal(parked.status, HOOP_OK);
    assert_value(&parked.answer.reply.entries[0], "at last");
    store_answer_deinit_at(&parked.answer);
}

static void
watch_tells_the_changes_since(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(store_watch_reply_deinit) struct store_watch_reply reply = {0};
    struct crowd_answer answer;

    const uint64_t before =
        store_set(caller(state), &(struct store_text){"watch/a", "1"});
    store_set(caller(state), &(struct store_text){"other", "1"});
    store_set(caller(state), &(struct store_text){"watch/b", "2"});
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_watch_request_encode(
        &(struct store_watch_request){"watch/", false, before}, &pack);
    assert_int_equal(
        crowd_call(caller(state), METHOD_STORE_WATCH, &pack, &answer), HOOP_OK);
    assert_int_equal(
        store_watch_reply_decode(
            (struct message_span){answer.body, answer.n_body}, &reply),
        HOOP_OK);
    assert_int_equal(reply.n_events, 1);
    assert_int_equal(reply.events[0].kind, STORE_EVENT_SET);
    assert_string_equal(reply.events[0].key, "watch/b");
    free(answer.body);
}

static void
key_with_a_time_to_live_expires_and_the_watch_tells(void **state)
{
    CLEANUP(store_answer_deinit) struct store_answer set = {0};
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(store_watch_reply_deinit) struct store_watch_reply reply = {0};
    struct store_set_request request = {.key = "brief", .ttl_ms = 50};
    struct crowd_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_set_request_encode(&request, &pack);
    assert_int_equal(store_ask(caller(state), METHOD_STORE_SET, &pack, &set),
                     HOOP_OK);
    store_watch_request_encode(
        &(struct store_watch_request){"brief", true, set.reply.revision},
        &pack);
    assert_int_equal(
        crowd_call(caller(state), METHOD_STORE_WATCH, &pack, &answer), HOOP_OK);
    assert_int_equal(
        store_watch_reply_decode(
            (struct message_span){answer.body, answer.n_body}, &reply),
        HOOP_OK);
    assert_int_equal(reply.n_events, 1);
    assert_int_equal(reply.events[0].kind, STORE_EVENT_EXPIRED);
    free(answer.body);
}

static void
group_is_the_same_for_all_who_create_it(void **state)
{
    const struct fixture *fixture = *state;
    uint32_t ranks[] = {1, 0};
    uint64_t communicators[2] = {0};

    for (int i = 0; i < 2; i++) {
        const struct joiner *joiner = &fixture->joiners[i];
        CLEANUP(pack_deinit) struct pack pack;
        CLEANUP(groups_reply_deinit) struct groups_reply reply = {0};
        struct crowd_answer answer;

        pack_init(&pack, LIMIT_RPC_MESSAGE);
        group_create_request_encode(
            &(struct group_create_request){
                {joiner->reply.epoch, joiner->request.incarnation},
                "pair",
                2,
                ranks},
            &pack);
        assert_int_equal(
            crowd_call(joiner->client, METHOD_GROUPS_CREATE, &pack, &answer),
            HOOP_OK);
        assert_int_equal(
            groups_reply_decode(
                (struct message_span){answer.body, answer.n_body}, &reply),
            HOOP_OK);
        assert_int_equal(reply.n_groups, 1);
        assert_int_equal(reply.groups[0].ranks[0], 1);
        communicators[i] = reply.groups[0].communicator;
        free(answer.body);
    }
    assert_true(communicators[0] > 0);
    assert_true(communicators[0] == communicators[1]);
}

static void
body_that_is_none_is_an_invalid_argument(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct crowd_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_uint(&pack, 7);
    assert_int_equal(
        crowd_call(caller(state), METHOD_STORE_SET, &pack, &answer),
        HOOP_E_INVALID);
    free(answer.body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_that_is_set_is_got),
        cmocka_unit_test(counter_adds_from_several_clients),
        cmocka_unit_test(compare_and_set_that_loses_tells_what_is_there),
        cmocka_unit_test(deleted_key_is_gone),
        cmocka_unit_test(list_gives_pages_in_order),
        cmocka_unit_test(answer_too_large_is_refused_and_the_next_one_given),
        cmocka_unit_test(wait_is_answered_when_the_key_is_set),
        cmocka_unit_test(watch_tells_the_changes_since),
        cmocka_unit_test(key_with_a_time_to_live_expires_and_the_watch_tells),
        cmocka_unit_test(group_is_the_same_for_all_who_create_it),
        cmocka_unit_test(body_that_is_none_is_an_invalid_argument),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
