/*
 * tests/integration/server/hoopd_join_test.c - joins a job of a real hoopd
 *
 * The second half tests its store and its groups.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/random.h"
#include "check.h"
#include "integration/coordinator_clients.h"
#include "integration/daemon.h"
#include "rpc/messages/group_messages.h"

static int
setup(void **state)
{
    static struct daemon daemon;
    const char *arguments[] = {"--lease=30", NULL};

    daemon_start(&daemon, arguments);
    *state = &daemon;
    return 0;
}

static int
teardown(void **state)
{
    daemon_stop(*state);
    return 0;
}

static void
job_open(struct coordinator_clients *coordinator_clients,
         void **state,
         const char *job,
         size_t n_clients)
{
    const struct daemon *daemon = *state;

    coordinator_clients_open(
        coordinator_clients,
        &(struct coordinator_clients_options){.address = daemon->address,
                                              .job = job,
                                              .token = "secret",
                                              .n_clients = n_clients});
}

static void
joiners_init(struct joiner *joiners,
             const struct coordinator_clients *coordinator_clients,
             uint32_t size)
{
    for (size_t i = 0; i < coordinator_clients->n_clients; i++)
        joiner_init(&joiners[i], coordinator_clients->clients[i], size);
}

static void
joiners_deinit(struct joiner *joiners, size_t n_joiners)
{
    for (size_t i = 0; i < n_joiners; i++)
        joiner_deinit(&joiners[i]);
}

/* Every rank must occur once, and all must have the same complete roster. */
static void
world_check(const struct joiner *joiners, uint32_t size)
{
    CLEANUP(free) bool *has_rank = calloc(size, sizeof(*has_rank));

    for (uint32_t i = 0; i < size; i++) {
        const struct join_reply *reply = &joiners[i].reply;

        assert_int_equal(reply->size, size);
        assert_int_equal(reply->n_members, size);
        assert_true(reply->rank < size);
        assert_false(has_rank[reply->rank]);
        has_rank[reply->rank] = true;
        assert_true(reply->epoch == joiners[0].reply.epoch);
        assert_true(reply->seed == joiners[0].reply.seed);
        assert_true(reply->roster[reply->rank].incarnation ==
                    identity_of_incarnation(joiners[i].request.incarnation));
        assert_string_equal(reply->roster[reply->rank].host_id, "testhost");
        assert_string_equal(reply->roster[reply->rank].address,
                            joiners[i].request.address);
    }
}

static void
four_join_and_each_has_a_rank(void **state)
{
    struct joiner joiners[4];
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "four", 4);
    joiners_init(joiners, &coordinator_clients, 4);
    joiners_run(joiners, 4);
    world_check(joiners, 4);
    daemon_expect_log(*state, "four");
    joiners_deinit(joiners, 4);
    coordinator_clients_close(&coordinator_clients);
}

static void
requested_ranks_are_given(void **state)
{
    struct joiner joiners[3];
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "ranks", 3);
    joiners_init(joiners, &coordinator_clients, 3);
    joiners[0].request.rank = 2;
    joiners[1].request.rank = 0;
    joiners_run(joiners, 3);
    world_check(joiners, 3);
    assert_int_equal(joiners[0].reply.rank, 2);
    assert_int_equal(joiners[1].reply.rank, 0);
    assert_int_equal(joiners[2].reply.rank, 1);
    joiners_deinit(joiners, 3);
    coordinator_clients_close(&coordinator_clients);
}

static void
wrong_token_is_refused_on_both_sides(void **state)
{
    const struct daemon *daemon = *state;
    struct joiner right;
    struct joiner wrong;
    struct coordinator_clients coordinator_clients;
    struct coordinator_clients strangers;

    job_open(&coordinator_clients, state, "guarded", 1);
    coordinator_clients_open(&strangers, &(struct coordinator_clients_options){
                                             .address = daemon->address,
                                             .job = "guarded",
                                             .token = "guessed",
                                             .n_clients = 1});
    joiner_init(&right, coordinator_clients.clients[0], 1);
    joiners_run(&right, 1);
    joiner_init(&wrong, strangers.clients[0], 1);
    joiner_start(&wrong);
    assert_int_equal(joiner_wait(&wrong), HOOP_E_UNAUTHENTICATED);
    assert_non_null(strstr(wrong.text, "token"));
    assert_null(strstr(wrong.text, "secret"));
    daemon_expect_log(daemon, "token");
    joiner_deinit(&right);
    coordinator_clients_close(&strangers);
    coordinator_clients_close(&coordinator_clients);
}

static void
late_fifth_is_refused_with_the_reason(void **state)
{
    struct joiner joiners[5];
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "full", 5);
    joiners_init(joiners, &coordinator_clients, 4);
    joiners_run(joiners, 4);
    joiner_start(&joiners[4]);
    /* These members do not watch, so they may be gone. */
    assert_int_equal(joiner_wait(&joiners[4]), HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(joiners[4].text, "full"));
    daemon_expect_log(*state, joiners[4].text);
    joiners_deinit(joiners, 5);
    coordinator_clients_close(&coordinator_clients);
}

static void
duplicate_rank_is_refused_with_the_reason(void **state)
{
    struct joiner joiners[3];
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "twice", 3);
    joiners_init(joiners, &coordinator_clients, 2);
    joiners[0].request.rank = 1;
    joiners[1].request.rank = 1;
    joiner_start(&joiners[0]);
    daemon_expect_log(*state, "twice");
    joiner_start(&joiners[1]);
    assert_int_equal(joiner_wait(&joiners[1]), HOOP_E_EXISTS);
    assert_non_null(strstr(joiners[1].text, "rank 1"));
    daemon_expect_log(*state, joiners[1].text);

    /* The rank that came first is not disturbed. */
    joiner_start(&joiners[2]);
    assert_ok(joiner_wait(&joiners[2]));
    assert_ok(joiner_wait(&joiners[0]));
    assert_int_equal(joiners[0].reply.rank, 1);
    joiners_deinit(joiners, 3);
    coordinator_clients_close(&coordinator_clients);
}

static void
join_deadline_names_what_is_missing_on_both_sides(void **state)
{
    struct joiner joiners[3];
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "short", 3);
    joiners_init(joiners, &coordinator_clients, 4);
    for (uint32_t i = 0; i < 3; i++) {
        joiners[i].request.rank = i == 2 ? 3 : i;
        joiners[i].request.deadline_ms = 2000;
        joiner_start(&joiners[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(joiner_wait(&joiners[i]), HOOP_E_TIMEOUT);
        assert_string_equal(joiners[i].text, joiners[0].text);
    }
    assert_non_null(strstr(joiners[0].text, "3 of 4"));
    assert_non_null(strstr(joiners[0].text, "rank 2"));
    daemon_expect_log(*state, joiners[0].text);
    joiners_deinit(joiners, 3);
    coordinator_clients_close(&coordinator_clients);
}

static void
two_jobs_at_once_then_a_third_of_the_same_name(void **state)
{
    struct joiner joiners[4];
    struct coordinator_clients left;
    struct coordinator_clients right;

    job_open(&left, state, "left", 2);
    job_open(&right, state, "right", 2);
    joiners_init(joiners, &left, 2);
    joiners_init(joiners + 2, &right, 2);
    joiners_run(joiners, 4);
    world_check(joiners, 2);
    world_check(joiners + 2, 2);
    assert_true(joiners[0].reply.epoch != joiners[2].reply.epoch);
    const uint64_t before = joiners[0].reply.epoch;

    assert_ok(member_leave(&joiners[0]));
    assert_ok(member_leave(&joiners[1]));
    joiners_deinit(joiners, 4);
    joiners_init(joiners, &left, 2);
    joiners_run(joiners, 2);
    world_check(joiners, 2);
    assert_true(joiners[0].reply.epoch > before);
    joiners_deinit(joiners, 2);
    coordinator_clients_close(&left);
    coordinator_clients_close(&right);
}

static void
other_protocol_version_is_refused(void **state)
{
    struct joiner joiner;
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "newer", 1);
    joiner_init(&joiner, coordinator_clients.clients[0], 1);
    joiner.request.protocol = RENDEZVOUS_PROTOCOL + 1;
    joiner_start(&joiner);
    assert_int_not_equal(joiner_wait(&joiner), HOOP_OK);
    assert_non_null(strstr(joiner.text, "version"));
    coordinator_clients_close(&coordinator_clients);
}

static void
sixty_four_join_at_once(void **state)
{
    enum {
        MANY = 64
    };
    CLEANUP(free) struct joiner *joiners = calloc(MANY, sizeof(*joiners));
    struct coordinator_clients coordinator_clients;

    job_open(&coordinator_clients, state, "many", MANY);
    joiners_init(joiners, &coordinator_clients, MANY);
    joiners_run(joiners, MANY);
    world_check(joiners, MANY);
    joiners_deinit(joiners, MANY);
    coordinator_clients_close(&coordinator_clients);
}

/* The cases below test the store and the groups of a real hoopd. */

static int
store_setup(void **state)
{
    static struct joined_pair pair;

    joined_pair_start(
        &pair, &(struct joined_pair_options){.job = "store", .n_clients = 4});
    *state = &pair;
    return 0;
}

static int
store_teardown(void **state)
{
    joined_pair_stop(*state);
    return 0;
}

struct store_answer {
    struct coordinator_clients_answer raw;
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
        coordinator_clients_call(client, method, pack, &answer->raw);
    if (status == HOOP_OK)
        assert_ok(store_reply_decode(
            (struct message_span){answer->raw.body, answer->raw.n_body},
            &answer->reply));
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
    const struct joined_pair *pair = *state;

    return pair->coordinator_clients.clients[2];
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
    assert_ok(keys_ask(caller(state), METHOD_STORE_MULTI_GET, keys, &answer));
    assert_int_equal(answer.reply.n_entries, 2);
    assert_value(&answer.reply.entries[0], "one");
    assert_true(answer.reply.entries[0].revision == revision);
    assert_false(answer.reply.entries[1].is_found);
}

static void
counter_adds_from_several_clients(void **state)
{
    const struct joined_pair *pair = *state;
    CLEANUP(store_answer_deinit) struct store_answer answer = {0};
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    for (size_t i = 0; i < 4; i++) {
        store_add_request_encode(&(struct store_add_request){"counter", 5, 0},
                                 &pack);
        assert_ok(store_ask(pair->coordinator_clients.clients[i],
                            METHOD_STORE_ADD, &pack, &answer));
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
    assert_ok(
        store_ask(caller(state), METHOD_STORE_COMPARE_SET, &pack, &answer));
    assert_true(answer.reply.is_applied);
    store_swap_request_encode(&request, &pack);
    assert_ok(
        store_ask(caller(state), METHOD_STORE_COMPARE_SET, &pack, &answer));
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
    assert_ok(keys_ask(caller(state), METHOD_STORE_DELETE, keys, &answer));
    assert_int_equal(answer.reply.counter, 1);
    assert_ok(keys_ask(caller(state), METHOD_STORE_DELETE, keys, &answer));
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
    assert_ok(store_ask(caller(state), METHOD_STORE_LIST, &pack, &answer));
    assert_int_equal(answer.reply.n_entries, 2);
    assert_int_equal(answer.reply.n_more, 1);
    assert_string_equal(answer.reply.entries[0].key, "list/a");
    assert_string_equal(answer.reply.entries[1].key, "list/b");
    store_list_request_encode(
        &(struct store_list_request){"list/", "list/b", 2}, &pack);
    assert_ok(store_ask(caller(state), METHOD_STORE_LIST, &pack, &answer));
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
    assert_ok(keys_ask(caller(state), METHOD_STORE_GET, one, &answer));
    assert_value(&answer.reply.entries[0], value);
}

/* A call that waits, in its own thread. */
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
    const struct joined_pair *pair = *state;
    struct parked parked = {.client = pair->coordinator_clients.clients[3]};

    assert_int_equal(pthread_create(&parked.thread, NULL, wait_run, &parked),
                     0);
    store_set(caller(state), &(struct store_text){"later", "at last"});
    pthread_join(parked.thread, NULL);
    assert_ok(parked.status);
    assert_value(&parked.answer.reply.entries[0], "at last");
    store_answer_deinit_at(&parked.answer);
}

/* Checks that exactly one event has come. */
static void
watch_one(struct rpc_client *client,
          const struct store_watch_request *request,
          struct store_watch_reply *out_reply)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct coordinator_clients_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_watch_request_encode(request, &pack);
    assert_ok(
        coordinator_clients_call(client, METHOD_STORE_WATCH, &pack, &answer));
    assert_ok(store_watch_reply_decode(
        (struct message_span){answer.body, answer.n_body}, out_reply));
    assert_int_equal(out_reply->n_events, 1);
    free(answer.body);
}

static void
watch_tells_the_changes_since(void **state)
{
    CLEANUP(store_watch_reply_deinit) struct store_watch_reply reply = {0};

    const uint64_t before =
        store_set(caller(state), &(struct store_text){"watch/a", "1"});
    store_set(caller(state), &(struct store_text){"other", "1"});
    store_set(caller(state), &(struct store_text){"watch/b", "2"});
    watch_one(caller(state),
              &(struct store_watch_request){"watch/", false, before}, &reply);
    assert_int_equal(reply.events[0].kind, STORE_EVENT_SET);
    assert_string_equal(reply.events[0].key, "watch/b");
}

static void
key_with_a_time_to_live_expires_and_the_watch_tells(void **state)
{
    CLEANUP(store_answer_deinit) struct store_answer set = {0};
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(store_watch_reply_deinit) struct store_watch_reply reply = {0};
    struct store_set_request request = {.key = "brief", .ttl_ms = 50};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_set_request_encode(&request, &pack);
    assert_ok(store_ask(caller(state), METHOD_STORE_SET, &pack, &set));
    watch_one(caller(state),
              &(struct store_watch_request){"brief", true, set.reply.revision},
              &reply);
    assert_int_equal(reply.events[0].kind, STORE_EVENT_EXPIRED);
}

static void
group_is_the_same_for_all_who_create_it(void **state)
{
    const struct joined_pair *pair = *state;
    uint32_t ranks[] = {1, 0};
    uint64_t communicators[2] = {0};

    for (int i = 0; i < 2; i++) {
        const struct joiner *joiner = &pair->joiners[i];
        CLEANUP(pack_deinit) struct pack pack;
        CLEANUP(groups_reply_deinit) struct groups_reply reply = {0};
        struct coordinator_clients_answer answer;

        pack_init(&pack, LIMIT_RPC_MESSAGE);
        group_create_request_encode(
            &(struct group_create_request){
                {joiner->reply.epoch, joiner->request.incarnation},
                "pair",
                2,
                ranks},
            &pack);
        assert_ok(coordinator_clients_call(joiner->client, METHOD_GROUPS_CREATE,
                                           &pack, &answer));
        assert_ok(groups_reply_decode(
            (struct message_span){answer.body, answer.n_body}, &reply));
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
    struct coordinator_clients_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_uint(&pack, 7);
    assert_int_equal(coordinator_clients_call(caller(state), METHOD_STORE_SET,
                                              &pack, &answer),
                     HOOP_E_INVALID);
    free(answer.body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_join_and_each_has_a_rank),
        cmocka_unit_test(requested_ranks_are_given),
        cmocka_unit_test(wrong_token_is_refused_on_both_sides),
        cmocka_unit_test(late_fifth_is_refused_with_the_reason),
        cmocka_unit_test(duplicate_rank_is_refused_with_the_reason),
        cmocka_unit_test(join_deadline_names_what_is_missing_on_both_sides),
        cmocka_unit_test(two_jobs_at_once_then_a_third_of_the_same_name),
        cmocka_unit_test(other_protocol_version_is_refused),
        cmocka_unit_test(sixty_four_join_at_once),
    };
    const struct CMUnitTest store_tests[] = {
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
    return cmocka_run_group_tests(tests, setup, teardown) +
           cmocka_run_group_tests(store_tests, store_setup, store_teardown);
}
