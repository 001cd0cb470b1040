/* tests/unit/common/rpc/reply_cache_test.c - rpc/reply_cache.c */

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "rpc/reply_cache.h"

static const struct reply_cache_bounds small = {
    .n_clients_max = 3,
    .n_replies_max = 2,
    .n_bytes_max = 100000,
};

static int owner;

static struct reply_cache_key
key_of(uint8_t client, uint64_t id)
{
    return (struct reply_cache_key){.client = {{client}}, .id = id};
}

static enum reply_cache_result
begin(struct reply_cache *cache, uint8_t client, uint64_t id)
{
    const struct reply_cache_key key = key_of(client, id);
    struct reply_cache_found found;

    return reply_cache_begin(cache, &key, &owner, &found);
}

static void
finish(struct reply_cache *cache, uint8_t client, uint64_t id, size_t n_bytes)
{
    const struct reply_cache_key key = key_of(client, id);
    uint8_t *reply = calloc(1, n_bytes + 1);

    assert_non_null(reply);
    reply[0] = (uint8_t)id;
    reply_cache_store_reply(cache, &key, (struct message_span){reply, n_bytes});
    free(reply);
}

static int
cache_open(void **state)
{
    struct reply_cache *cache;

    assert_ok(reply_cache_create(&small, &cache));
    *state = cache;
    return 0;
}

static int
cache_close(void **state)
{
    reply_cache_destroy(*state);
    return 0;
}

static void
cache_knows_new_running_and_done(void **state)
{
    struct reply_cache *cache = *state;
    const struct reply_cache_key key = key_of(1, 1);
    struct reply_cache_found found = {0};
    int other;

    assert_false(reply_cache_has_request(cache, &key.client, 1));
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_NEW);
    assert_true(reply_cache_has_request(cache, &key.client, 1));
    assert_int_equal(reply_cache_begin(cache, &key, &other, &found),
                     REPLY_CACHE_RUNNING);
    assert_ptr_equal(found.running, &owner);

    finish(cache, 1, 1, 5);
    assert_true(reply_cache_has_request(cache, &key.client, 1));
    assert_false(reply_cache_has_request(cache, &key.client, 2));
    assert_int_equal(reply_cache_begin(cache, &key, &other, &found),
                     REPLY_CACHE_DONE);
    assert_int_equal(found.reply.n_bytes, 5);
    assert_int_equal(found.reply.bytes[0], 1);

    assert_int_equal(begin(cache, 1, 2), REPLY_CACHE_NEW);
    assert_int_equal(begin(cache, 2, 1), REPLY_CACHE_NEW);
}

static void
cache_reply_without_bytes_is_kept(void **state)
{
    struct reply_cache *cache = *state;

    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_NEW);
    finish(cache, 1, 1, 0);
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_DONE);
}

static void
cache_forgotten_request_is_new_again(void **state)
{
    struct reply_cache *cache = *state;
    const struct reply_cache_key key = key_of(1, 1);

    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_NEW);
    reply_cache_forget(cache, &key);
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_NEW);
}

static void
cache_evicted_reply_is_lost_not_new(void **state)
{
    struct reply_cache *cache = *state;

    for (uint64_t id = 1; id <= 4; id++) {
        assert_int_equal(begin(cache, 1, id), REPLY_CACHE_NEW);
        finish(cache, 1, id, 1);
    }
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_LOST);
    assert_int_equal(begin(cache, 1, 2), REPLY_CACHE_LOST);
    assert_int_equal(begin(cache, 1, 3), REPLY_CACHE_DONE);
    assert_int_equal(begin(cache, 1, 4), REPLY_CACHE_DONE);
    assert_int_equal(begin(cache, 1, 5), REPLY_CACHE_NEW);
}

static void
cache_running_one_is_never_evicted(void **state)
{
    struct reply_cache *cache = *state;

    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_NEW);
    for (uint64_t id = 2; id <= 5; id++) {
        assert_int_equal(begin(cache, 1, id), REPLY_CACHE_NEW);
        finish(cache, 1, id, 1);
    }
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_RUNNING);
    finish(cache, 1, 1, 1);
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_DONE);
}

static void
cache_longest_silent_client_goes_first(void **state)
{
    struct reply_cache *cache = *state;

    for (uint8_t client = 1; client <= 3; client++) {
        assert_int_equal(begin(cache, client, 1), REPLY_CACHE_NEW);
        finish(cache, client, 1, 1);
    }
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_DONE);
    assert_int_equal(begin(cache, 4, 1), REPLY_CACHE_NEW);
    assert_int_equal(reply_cache_count_clients(cache), 3);
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_DONE);
    assert_int_equal(begin(cache, 3, 1), REPLY_CACHE_DONE);
}

static void
cache_knows_a_client_as_long_as_it_has_something_of_it(void **state)
{
    struct reply_cache *cache = *state;
    const struct reply_cache_key first = key_of(1, 1);

    assert_false(reply_cache_has_client(cache, &first.client));
    for (uint8_t client = 1; client <= 3; client++) {
        assert_int_equal(begin(cache, client, 1), REPLY_CACHE_NEW);
        assert_true(reply_cache_has_client(cache, &first.client));
        finish(cache, client, 1, 1);
    }
    assert_int_equal(begin(cache, 4, 1), REPLY_CACHE_NEW);
    assert_false(reply_cache_has_client(cache, &first.client));
}

static void
cache_of_running_requests_alone_is_full(void **state)
{
    struct reply_cache *cache = *state;

    for (uint8_t client = 1; client <= 3; client++)
        assert_int_equal(begin(cache, client, 1), REPLY_CACHE_NEW);
    assert_int_equal(begin(cache, 4, 1), REPLY_CACHE_FULL);
    finish(cache, 2, 1, 1);
    assert_int_equal(begin(cache, 4, 1), REPLY_CACHE_NEW);
}

static void
cache_bytes_are_bounded_over_all_clients(void **state)
{
    struct reply_cache *cache = *state;

    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_NEW);
    finish(cache, 1, 1, 60000);
    assert_int_equal(begin(cache, 2, 1), REPLY_CACHE_NEW);
    finish(cache, 2, 1, 60000);
    assert_in_range(reply_cache_bytes(cache), 60000, 70000);
    assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_LOST);
    assert_int_equal(begin(cache, 2, 1), REPLY_CACHE_DONE);

    /* One that never fits is applied once all the same. */
    assert_int_equal(begin(cache, 3, 1), REPLY_CACHE_NEW);
    finish(cache, 3, 1, 100001);
    assert_in_range(reply_cache_bytes(cache), 0, 10000);
    assert_int_equal(begin(cache, 3, 1), REPLY_CACHE_LOST);
}

/* Whatever happens, no request is ever new twice. */
static enum reply_cache_result
begin_due(struct reply_cache *cache,
          uint8_t client,
          uint64_t id,
          uint64_t due_ms)
{
    struct reply_cache_key key = key_of(client, id);
    struct reply_cache_found found;

    key.due_ms = due_ms;
    return reply_cache_begin(cache, &key, &owner, &found);
}

static void
cache_client_goes_when_nothing_of_it_is_due(void **state)
{
    struct reply_cache *cache = *state;

    assert_int_equal(begin_due(cache, 1, 1, 1000), REPLY_CACHE_NEW);
    assert_int_equal(begin_due(cache, 1, 2, 500), REPLY_CACHE_NEW);
    assert_int_equal(begin_due(cache, 2, 1, 900), REPLY_CACHE_NEW);
    finish(cache, 1, 1, 10);
    finish(cache, 1, 2, 10);
    reply_cache_expire(cache, 1000);
    reply_cache_expire(cache, 1001);
    assert_int_equal(begin(cache, 1, 2), REPLY_CACHE_DONE);

    reply_cache_expire(cache, 1001);
    assert_int_equal(reply_cache_count_clients(cache), 1);
    assert_int_equal(begin(cache, 2, 1), REPLY_CACHE_RUNNING);
    finish(cache, 2, 1, 10);
    reply_cache_expire(cache, 1001);
    assert_int_equal(reply_cache_count_clients(cache), 0);
    assert_int_equal(reply_cache_bytes(cache), 0);
}

/* A retry that came in time may lie in a socket while nobody reads. */
static void
cache_client_stays_while_nobody_has_looked(void **state)
{
    struct reply_cache *cache = *state;

    assert_int_equal(begin_due(cache, 1, 1, 1000), REPLY_CACHE_NEW);
    finish(cache, 1, 1, 10);
    reply_cache_expire(cache, 990);
    reply_cache_expire(cache, 99000);
    assert_int_equal(begin_due(cache, 1, 1, 1000), REPLY_CACHE_DONE);
    reply_cache_expire(cache, 99001);
    assert_int_equal(reply_cache_count_clients(cache), 0);
}

static void
cache_random_requests_are_applied_at_most_once(void **state)
{
    enum {
        N_IDS = 50,
        N_TURNS = 20000,
    };
    struct reply_cache *cache = *state;
    static bool is_applied[3][N_IDS];
    static bool is_running[3][N_IDS];
    uint64_t newest[3] = {0};
    unsigned seed = 12345;

    for (int turn = 0; turn < N_TURNS; turn++) {
        const unsigned client = (unsigned)rand_r(&seed) % 3;
        /* Ids are first sent in order, and again in any. */
        const bool is_next =
            rand_r(&seed) % 8 == 0 && newest[client] + 1 < N_IDS;
        const uint64_t id =
            is_next ? newest[client] + 1
                    : (uint64_t)rand_r(&seed) % (newest[client] + 1);

        newest[client] += is_next;
        if (is_running[client][id] && rand_r(&seed) % 2) {
            finish(cache, (uint8_t)client, id, (size_t)rand_r(&seed) % 40000);
            is_running[client][id] = false;
        } else if (begin(cache, (uint8_t)client, id) == REPLY_CACHE_NEW) {
            assert_false(is_applied[client][id]);
            is_applied[client][id] = true;
            is_running[client][id] = true;
        }
        assert_true(reply_cache_bytes(cache) <= small.n_bytes_max);
    }
}

/* The allocator's own figure is the oracle; a sanitizer's has none. */
static bool
allocator_counts(void)
{
    return mallinfo2().uordblks > 0;
}

static size_t
allocated(void)
{
    const struct mallinfo2 now = mallinfo2();

    return now.uordblks + now.hblkhd;
}

/* How a reply comes to be kept. */
typedef void
storage_read_fn(struct reply_cache *cache,
                const struct reply_cache_key *key,
                struct message_span reply);

static void
reply_finish(struct reply_cache *cache,
             const struct reply_cache_key *key,
             struct message_span reply)
{
    struct reply_cache_found found;

    assert_int_equal(reply_cache_begin(cache, key, &owner, &found),
                     REPLY_CACHE_NEW);
    reply_cache_store_reply(cache, key, reply);
}

static void
reply_revive(struct reply_cache *cache,
             const struct reply_cache_key *key,
             struct message_span reply)
{
    uint8_t stored[32] = {0};

    memcpy(stored, key->client.bytes, sizeof(key->client.bytes));
    stored[23] = (uint8_t)key->id;
    assert_ok(reply_cache_restore(
        cache, (struct message_span){stored, sizeof(stored)}, reply, 0));
}

/* Of 3000 clients. */
struct load {
    uint64_t n_each;
    size_t n_reply;
};

static void
load_keep(struct reply_cache *cache,
          const struct load *load,
          storage_read_fn *keep)
{
    uint8_t *reply = calloc(1, load->n_reply + 1);

    assert_non_null(reply);
    for (unsigned client = 0; client < 3000; client++) {
        struct reply_cache_key key = {
            .client = {{(uint8_t)client, (uint8_t)(client >> 8)}}};

        for (key.id = 1; key.id <= load->n_each; key.id++)
            keep(cache, &key, (struct message_span){reply, load->n_reply});
    }
    free(reply);
}

/* Whatever sizes replies have, and however few each client has. */
static void
expect_counted(storage_read_fn *keep)
{
    static const struct load loads[] = {{1, 244},  {1, 912}, {1, 0},
                                        {40, 244}, {40, 17}, {4, 20000}};
    const struct reply_cache_bounds bounds = {4096, 64, 2 << 20};

    for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
        const size_t before = allocated();
        struct reply_cache *cache = NULL;

        assert_ok(reply_cache_create(&bounds, &cache));
        load_keep(cache, &loads[i], keep);
        if (allocator_counts()) {
            const size_t n_bytes = allocated() - before;

            assert_in_range(reply_cache_bytes(cache), n_bytes - n_bytes / 50,
                            n_bytes + n_bytes / 50);
            assert_true(n_bytes <=
                        bounds.n_bytes_max + bounds.n_bytes_max / 50);
        }
        assert_true(reply_cache_bytes(cache) <= bounds.n_bytes_max);
        while (reply_cache_count_clients(cache) > 0)
            reply_cache_expire(cache, UINT64_MAX);
        assert_int_equal(reply_cache_bytes(cache), 0);
        reply_cache_destroy(cache);
    }
}

static void
cache_counts_what_is_allocated(void **state)
{
    expect_counted(reply_finish);
}

static void
cache_revived_counts_what_is_allocated(void **state)
{
    expect_counted(reply_revive);
}

/* A copy of a cache, as a disk has it. */
struct copy {
    struct copy_row {
        uint8_t key[32];
        size_t n_key_bytes;
        uint8_t value[64];
        size_t n_value_bytes;
    } rows[64];
    size_t n_rows;
};

static void
copy_erase(void *copy_owner, struct message_span key)
{
    struct copy *copy = copy_owner;

    for (size_t i = 0; i < copy->n_rows;) {
        if (copy->rows[i].n_key_bytes >= key.n_bytes &&
            memcmp(copy->rows[i].key, key.bytes, key.n_bytes) == 0)
            memmove(&copy->rows[i], &copy->rows[i + 1],
                    (--copy->n_rows - i) * sizeof(copy->rows[0]));
        else
            i++;
    }
}

static void
copy_put(void *copy_owner, struct message_span key, struct message_span value)
{
    struct copy *copy = copy_owner;
    size_t at = 0;

    copy_erase(copy, key);
    while (at < copy->n_rows &&
           memcmp(copy->rows[at].key, key.bytes, key.n_bytes) < 0)
        at++;
    assert_true(copy->n_rows < 64 && key.n_bytes <= 32 && value.n_bytes <= 64);
    memmove(&copy->rows[at + 1], &copy->rows[at],
            (copy->n_rows++ - at) * sizeof(copy->rows[0]));
    copy->rows[at] = (struct copy_row){.n_key_bytes = key.n_bytes,
                                       .n_value_bytes = value.n_bytes};
    memcpy(copy->rows[at].key, key.bytes, key.n_bytes);
    if (value.n_bytes)
        memcpy(copy->rows[at].value, value.bytes, value.n_bytes);
}

static struct reply_cache *
copy_revive_at(struct copy *copy, uint64_t now_ms)
{
    struct reply_cache *cache;

    assert_ok(reply_cache_create(&small, &cache));
    for (size_t i = 0; i < copy->n_rows; i++)
        assert_ok(reply_cache_restore(
            cache,
            (struct message_span){copy->rows[i].key, copy->rows[i].n_key_bytes},
            (struct message_span){copy->rows[i].value,
                                  copy->rows[i].n_value_bytes},
            now_ms));
    reply_cache_set_journal(
        cache, &(struct reply_cache_journal){copy_put, copy_erase, copy});
    return cache;
}

static struct reply_cache *
copy_revive(struct copy *copy)
{
    return copy_revive_at(copy, 0);
}

/* What ran when it died was not applied; what was finished, was. */
static void
cache_revived_at_any_time_lets_nothing_be_applied_twice(void **state)
{
    enum {
        N_IDS = 50,
        N_TURNS = 5000,
    };
    struct copy copy = {0};
    struct reply_cache *cache = copy_revive(&copy);
    bool is_applied[3][N_IDS] = {0};
    bool is_running[3][N_IDS] = {0};
    unsigned seed = 54321;

    for (int turn = 0; turn < N_TURNS; turn++) {
        const unsigned client = (unsigned)rand_r(&seed) % 3;
        const uint64_t id = 1 + (uint64_t)rand_r(&seed) % (N_IDS - 1);

        if (is_running[client][id]) {
            finish(cache, (uint8_t)client, id, (size_t)rand_r(&seed) % 40);
            is_running[client][id] = false;
            is_applied[client][id] = true;
        } else if (begin(cache, (uint8_t)client, id) == REPLY_CACHE_NEW) {
            assert_false(is_applied[client][id]);
            is_running[client][id] = true;
        }
        if (rand_r(&seed) % 20 == 0) {
            reply_cache_destroy(cache);
            memset(is_running, 0, sizeof(is_running));
            cache = copy_revive(&copy);
        }
    }
    reply_cache_destroy(cache);
}

/* Whatever any clock showed before: the machine may count anew from 0, or
 * not. */
static void
cache_revived_keeps_replies_their_whole_term_anew(void **state)
{
    static const uint64_t nows_ms[] = {7, 1000, 81000, UINT64_MAX - 2000};
    struct copy copy = {0};
    struct reply_cache *cache = copy_revive(&copy);
    struct reply_cache_key key = key_of(1, 1);
    struct reply_cache_found found;

    key.due_ms = 1000;
    key.term_ms = 900;
    assert_int_equal(reply_cache_begin(cache, &key, &owner, &found),
                     REPLY_CACHE_NEW);
    reply_cache_store_reply(cache, &key, (struct message_span){NULL, 0});
    for (size_t i = 0; i < sizeof(nows_ms) / sizeof(*nows_ms); i++) {
        reply_cache_destroy(cache);
        cache = copy_revive_at(&copy, nows_ms[i]);
        reply_cache_expire(cache, nows_ms[i] + 900);
        reply_cache_expire(cache, nows_ms[i] + 901);
        assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_DONE);
    }
    reply_cache_expire(cache, nows_ms[3] + 902);
    assert_int_equal(reply_cache_count_clients(cache), 0);
    assert_int_equal(copy.n_rows, 0);
    reply_cache_destroy(cache);
}

/* Replies that had to go early may still be asked for, for as long as any that
 * the client may ask for; then nothing of it is left. */
static void
cache_revived_keeps_a_floor_for_the_longest_term(void **state)
{
    struct copy copy = {0};
    struct reply_cache *cache = copy_revive(&copy);
    struct reply_cache_found found;

    for (uint64_t id = 1; id <= small.n_replies_max + 1; id++) {
        struct reply_cache_key key = key_of(1, id);

        key.term_ms = id == 1 ? 900 : 100;
        key.due_ms = key.term_ms;
        assert_int_equal(reply_cache_begin(cache, &key, &owner, &found),
                         REPLY_CACHE_NEW);
        reply_cache_store_reply(cache, &key, (struct message_span){NULL, 0});
    }
    for (uint64_t now_ms = 5000; now_ms < 8000; now_ms += 1000) {
        reply_cache_destroy(cache);
        cache = copy_revive_at(&copy, now_ms);
        reply_cache_expire(cache, now_ms + 900);
        reply_cache_expire(cache, now_ms + 901);
        assert_int_equal(begin(cache, 1, 1), REPLY_CACHE_LOST);
        /* Newer requests are not forgotten ones. What runs is not revived. */
        if (now_ms == 5000)
            assert_int_equal(begin(cache, 1, small.n_replies_max + 2),
                             REPLY_CACHE_NEW);
    }
    reply_cache_expire(cache, 7902);
    assert_int_equal(reply_cache_count_clients(cache), 0);
    assert_int_equal(copy.n_rows, 0);
    reply_cache_destroy(cache);
}

/* An earlier release did not say how long. */
static void
cache_revived_keeps_a_floor_without_a_term(void **state)
{
    static const uint8_t key[32] = {1};
    static const uint8_t floor[8] = {0, 0, 0, 0, 0, 0, 0, 5};
    struct reply_cache *cache = *state;

    assert_ok(
        reply_cache_restore(cache, (struct message_span){key, sizeof(key)},
                            (struct message_span){floor, sizeof(floor)}, 0));
    reply_cache_expire(cache, UINT64_MAX - 1);
    reply_cache_expire(cache, UINT64_MAX);
    assert_int_equal(begin(cache, 1, 5), REPLY_CACHE_LOST);
    assert_int_equal(begin(cache, 1, 6), REPLY_CACHE_NEW);
}

static void
cache_revives_no_nonsense(void **state)
{
    static const uint8_t bytes[32] = {1};
    const struct message_span key = {bytes, sizeof(bytes)};
    struct reply_cache *cache = *state;

    assert_int_equal(
        reply_cache_restore(cache, (struct message_span){bytes, 7}, key, 0),
        HOOP_E_DATA_LOSS);
    /* Id 0 has a floor of 16 bytes, or of eight. */
    assert_int_equal(reply_cache_restore(cache, key, key, 0), HOOP_E_DATA_LOSS);
}

#define WITH_CACHE(test)                                                       \
    cmocka_unit_test_setup_teardown(test, cache_open, cache_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CACHE(cache_knows_new_running_and_done),
        WITH_CACHE(cache_reply_without_bytes_is_kept),
        WITH_CACHE(cache_forgotten_request_is_new_again),
        WITH_CACHE(cache_evicted_reply_is_lost_not_new),
        WITH_CACHE(cache_running_one_is_never_evicted),
        WITH_CACHE(cache_longest_silent_client_goes_first),
        WITH_CACHE(cache_knows_a_client_as_long_as_it_has_something_of_it),
        WITH_CACHE(cache_of_running_requests_alone_is_full),
        WITH_CACHE(cache_bytes_are_bounded_over_all_clients),
        cmocka_unit_test(cache_counts_what_is_allocated),
        cmocka_unit_test(cache_revived_counts_what_is_allocated),
        WITH_CACHE(cache_random_requests_are_applied_at_most_once),
        WITH_CACHE(cache_client_goes_when_nothing_of_it_is_due),
        WITH_CACHE(cache_client_stays_while_nobody_has_looked),
        cmocka_unit_test(cache_revived_keeps_replies_their_whole_term_anew),
        cmocka_unit_test(cache_revived_keeps_a_floor_for_the_longest_term),
        WITH_CACHE(cache_revived_keeps_a_floor_without_a_term),
        cmocka_unit_test(
            cache_revived_at_any_time_lets_nothing_be_applied_twice),
        WITH_CACHE(cache_revives_no_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
