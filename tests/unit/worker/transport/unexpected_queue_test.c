/* tests/unit/worker/transport/unexpected_queue_test.c - transport/unexpected_queue.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "transport/peer.h"
#include "transport/unexpected_queue.h"

enum {
    MANY = 1000
};

static int
unexpected_queue_open(void **state)
{
    struct transport *transport = calloc(1, sizeof(*transport));

    assert_non_null(transport);
    assert_ok(unexpected_queue_init(transport));
    *state = transport;
    return 0;
}

static int
unexpected_queue_close(void **state)
{
    unexpected_queue_deinit(*state);
    free(*state);
    return 0;
}

static struct flow_key
key_of(uint64_t i)
{
    return (struct flow_key){
        .comm = 3, .op = i / 4, .step = i % 2, .peer = i / 2 % 2};
}

static void
unexpected_queue_find_takes_all_of_the_key(void **state)
{
    struct transport *transport = *state;
    struct unexpected *arrivals[MANY];

    for (uint64_t i = 0; i < MANY; i++) {
        const struct flow_key key = key_of(i);

        assert_null(unexpected_queue_find(transport, &key));
        arrivals[i] = unexpected_queue_add(transport, &key, 0);
        assert_non_null(arrivals[i]);
        assert_true(TAILQ_EMPTY(&arrivals[i]->parts));
    }
    for (uint64_t i = 0; i < MANY; i++) {
        const struct flow_key key = key_of(i);

        assert_ptr_equal(unexpected_queue_find(transport, &key), arrivals[i]);
        unexpected_queue_remove(transport, arrivals[i]);
        assert_null(unexpected_queue_find(transport, &key));
    }
}

/* Nothing of the one before is left in it. */
static void
unexpected_queue_add_uses_memory_again(void **state)
{
    struct transport *transport = *state;
    const struct flow_key keys[] = {key_of(1), key_of(2)};
    struct unexpected *first = unexpected_queue_add(transport, &keys[0], 0);

    first->is_claimed = true;
    first->sequence = 7;
    unexpected_queue_remove(transport, first);
    struct unexpected *second = unexpected_queue_add(transport, &keys[1], 0);
    assert_ptr_equal(second, first);
    assert_false(second->is_claimed);
    assert_int_equal(second->sequence, 0);
    assert_null(unexpected_queue_find(transport, &keys[0]));
    unexpected_queue_remove(transport, second);
}

static void
unexpected_queue_add_of_a_tensor_has_room_for_it(void **state)
{
    struct transport *transport = *state;
    const struct flow_key key = key_of(1);

    unexpected_queue_remove(transport,
                            unexpected_queue_add(transport, &key, 0));
    struct unexpected *unexpected = unexpected_queue_add(transport, &key, 1);
    assert_int_equal(unexpected->n_tensors, 1);
    memset(&unexpected->tensors[0], 1, sizeof(unexpected->tensors[0]));
    unexpected_queue_remove(transport, unexpected);
}

static void
unexpected_queue_fragment_of_few_bytes_is_used_again(void **state)
{
    struct transport *transport = *state;
    struct fragment *small = unexpected_fragment_alloc(transport, 0);
    struct fragment *large = unexpected_fragment_alloc(transport, 1 << 16);

    memset(large->bytes, 1, 1 << 16);
    unexpected_fragment_free(transport, small);
    unexpected_fragment_free(transport, large);
    unexpected_fragment_free(transport, NULL);
    struct fragment *again = unexpected_fragment_alloc(transport, 100);
    assert_ptr_equal(again, small);
    memset(again->bytes, 1, 100);
    large = unexpected_fragment_alloc(transport, 1 << 16);
    memset(large->bytes, 1, 1 << 16);
    unexpected_fragment_free(transport, large);
    unexpected_fragment_free(transport, again);
}

static void
unexpected_queue_fragment_give_keeps_only_so_many(void **state)
{
    struct transport *transport = *state;
    struct fragment *stashes[MANY];

    for (unsigned i = 0; i < MANY; i++)
        assert_non_null(stashes[i] = unexpected_fragment_alloc(transport, 1));
    for (unsigned i = 0; i < MANY; i++)
        unexpected_fragment_free(transport, stashes[i]);
    assert_true(transport->n_free_fragments < MANY);
}

static void
unexpected_queue_deinit_of_zeroed_memory_is_fine(void **state)
{
    struct transport *transport = calloc(1, sizeof(*transport));

    assert_non_null(transport);
    unexpected_queue_deinit(transport);
    free(transport);
}

#define QUEUE_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, unexpected_queue_open,               \
                                    unexpected_queue_close)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        QUEUE_TEST(unexpected_queue_find_takes_all_of_the_key),
        QUEUE_TEST(unexpected_queue_add_uses_memory_again),
        QUEUE_TEST(unexpected_queue_add_of_a_tensor_has_room_for_it),
        QUEUE_TEST(unexpected_queue_fragment_of_few_bytes_is_used_again),
        QUEUE_TEST(unexpected_queue_fragment_give_keeps_only_so_many),
        cmocka_unit_test(unexpected_queue_deinit_of_zeroed_memory_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
