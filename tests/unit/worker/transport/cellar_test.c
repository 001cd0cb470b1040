/* tests/unit/worker/transport/shelf_test.c - transport/shelf.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "transport/shelf.h"

enum {
    MANY = 1000
};

static int
shelf_open(void **state)
{
    struct transport *transport = calloc(1, sizeof(*transport));

    assert_non_null(transport);
    assert_int_equal(shelf_init(transport), HOOP_OK);
    *state = transport;
    return 0;
}

static int
shelf_close(void **state)
{
    shelf_deinit(*state);
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
shelf_find_takes_all_of_the_key(void **state)
{
    struct transport *transport = *state;
    struct arrival *arrivals[MANY];

    for (uint64_t i = 0; i < MANY; i++) {
        const struct flow_key key = key_of(i);

        assert_null(shelf_find(transport, &key));
        arrivals[i] = shelf_add(transport, &key, 0);
        assert_non_null(arrivals[i]);
        assert_true(TAILQ_EMPTY(&arrivals[i]->parts));
    }
    for (uint64_t i = 0; i < MANY; i++) {
        const struct flow_key key = key_of(i);

        assert_ptr_equal(shelf_find(transport, &key), arrivals[i]);
        shelf_remove(transport, arrivals[i]);
        assert_null(shelf_find(transport, &key));
    }
}

/* Nothing of the one before is left in it. */
static void
shelf_add_uses_memory_again(void **state)
{
    struct transport *transport = *state;
    const struct flow_key keys[] = {key_of(1), key_of(2)};
    struct arrival *first = shelf_add(transport, &keys[0], 0);

    first->is_claimed = true;
    first->sequence = 7;
    shelf_remove(transport, first);
    struct arrival *second = shelf_add(transport, &keys[1], 0);
    assert_ptr_equal(second, first);
    assert_false(second->is_claimed);
    assert_int_equal(second->sequence, 0);
    assert_null(shelf_find(transport, &keys[0]));
    shelf_remove(transport, second);
}

static void
shelf_add_of_a_tensor_has_room_for_it(void **state)
{
    struct transport *transport = *state;
    const struct flow_key key = key_of(1);

    shelf_remove(transport, shelf_add(transport, &key, 0));
    struct arrival *arrival = shelf_add(transport, &key, 1);
    assert_int_equal(arrival->n_tensors, 1);
    memset(&arrival->tensors[0], 1, sizeof(arrival->tensors[0]));
    shelf_remove(transport, arrival);
}

static void
shelf_stash_of_few_bytes_is_used_again(void **state)
{
    struct transport *transport = *state;
    struct stash *small = shelf_stash_take(transport, 0);
    struct stash *large = shelf_stash_take(transport, 1 << 16);

    memset(large->bytes, 1, 1 << 16);
    shelf_stash_give(transport, small);
    shelf_stash_give(transport, large);
    shelf_stash_give(transport, NULL);
    struct stash *again = shelf_stash_take(transport, 100);
    assert_ptr_equal(again, small);
    memset(again->bytes, 1, 100);
    large = shelf_stash_take(transport, 1 << 16);
    memset(large->bytes, 1, 1 << 16);
    shelf_stash_give(transport, large);
    shelf_stash_give(transport, again);
}

static void
shelf_stash_give_keeps_only_so_many(void **state)
{
    struct transport *transport = *state;
    struct stash *stashes[MANY];

    for (unsigned i = 0; i < MANY; i++)
        assert_non_null(stashes[i] = shelf_stash_take(transport, 1));
    for (unsigned i = 0; i < MANY; i++)
        shelf_stash_give(transport, stashes[i]);
    assert_true(transport->n_spare_stashes < MANY);
}

static void
shelf_deinit_of_zeroed_memory_is_fine(void **state)
{
    struct transport *transport = calloc(1, sizeof(*transport));

    (void)state;
    assert_non_null(transport);
    shelf_deinit(transport);
    free(transport);
}

#define SHELF_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, shelf_open, shelf_close)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        SHELF_TEST(shelf_find_takes_all_of_the_key),
        SHELF_TEST(shelf_add_uses_memory_again),
        SHELF_TEST(shelf_add_of_a_tensor_has_room_for_it),
        SHELF_TEST(shelf_stash_of_few_bytes_is_used_again),
        SHELF_TEST(shelf_stash_give_keeps_only_so_many),
        cmocka_unit_test(shelf_deinit_of_zeroed_memory_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
