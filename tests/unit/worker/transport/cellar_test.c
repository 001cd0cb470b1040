/* tests/unit/worker/transport/cellar_test.c - transport/cellar.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "transport/cellar.h"

enum {
    MANY = 1000
};

static int
cellar_open(void **state)
{
    struct transport *transport = calloc(1, sizeof(*transport));

    assert_non_null(transport);
    assert_int_equal(cellar_init(transport), HOOP_OK);
    *state = transport;
    return 0;
}

static int
cellar_close(void **state)
{
    cellar_deinit(*state);
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
cellar_find_takes_all_of_the_key(void **state)
{
    struct transport *transport = *state;
    struct arrival *arrivals[MANY];

    for (uint64_t i = 0; i < MANY; i++) {
        const struct flow_key key = key_of(i);

        assert_null(cellar_find(transport, &key));
        arrivals[i] = cellar_add(transport, &key, 0);
        assert_non_null(arrivals[i]);
        assert_true(TAILQ_EMPTY(&arrivals[i]->parts));
    }
    for (uint64_t i = 0; i < MANY; i++) {
        const struct flow_key key = key_of(i);

        assert_ptr_equal(cellar_find(transport, &key), arrivals[i]);
        cellar_remove(transport, arrivals[i]);
        assert_null(cellar_find(transport, &key));
    }
}

/* Nothing of the one before is left in it. */
static void
cellar_add_uses_memory_again(void **state)
{
    struct transport *transport = *state;
    const struct flow_key keys[] = {key_of(1), key_of(2)};
    struct arrival *first = cellar_add(transport, &keys[0], 0);

    first->is_claimed = true;
    first->sequence = 7;
    cellar_remove(transport, first);
    struct arrival *second = cellar_add(transport, &keys[1], 0);
    assert_ptr_equal(second, first);
    assert_false(second->is_claimed);
    assert_int_equal(second->sequence, 0);
    assert_null(cellar_find(transport, &keys[0]));
    cellar_remove(transport, second);
}

static void
cellar_add_of_a_tensor_has_room_for_it(void **state)
{
    struct transport *transport = *state;
    const struct flow_key key = key_of(1);

    cellar_remove(transport, cellar_add(transport, &key, 0));
    struct arrival *arrival = cellar_add(transport, &key, 1);
    assert_int_equal(arrival->n_tensors, 1);
    memset(&arrival->tensors[0], 1, sizeof(arrival->tensors[0]));
    cellar_remove(transport, arrival);
}

static void
cellar_stash_of_few_bytes_is_used_again(void **state)
{
    struct transport *transport = *state;
    struct stash *small = cellar_stash_take(transport, 0);
    struct stash *large = cellar_stash_take(transport, 1 << 16);

    memset(large->bytes, 1, 1 << 16);
    cellar_stash_give(transport, small);
    cellar_stash_give(transport, large);
    cellar_stash_give(transport, NULL);
    struct stash *again = cellar_stash_take(transport, 100);
    assert_ptr_equal(again, small);
    memset(again->bytes, 1, 100);
    large = cellar_stash_take(transport, 1 << 16);
    memset(large->bytes, 1, 1 << 16);
    cellar_stash_give(transport, large);
    cellar_stash_give(transport, again);
}

static void
cellar_stash_give_keeps_only_so_many(void **state)
{
    struct transport *transport = *state;
    struct stash *stashes[MANY];

    for (unsigned i = 0; i < MANY; i++)
        assert_non_null(stashes[i] = cellar_stash_take(transport, 1));
    for (unsigned i = 0; i < MANY; i++)
        cellar_stash_give(transport, stashes[i]);
    assert_true(transport->n_spare_stashes < MANY);
}

static void
cellar_deinit_of_zeroed_memory_is_fine(void **state)
{
    struct transport *transport = calloc(1, sizeof(*transport));

    (void)state;
    assert_non_null(transport);
    cellar_deinit(transport);
    free(transport);
}

#define CELLAR_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, cellar_open, cellar_close)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CELLAR_TEST(cellar_find_takes_all_of_the_key),
        CELLAR_TEST(cellar_add_uses_memory_again),
        CELLAR_TEST(cellar_add_of_a_tensor_has_room_for_it),
        CELLAR_TEST(cellar_stash_of_few_bytes_is_used_again),
        CELLAR_TEST(cellar_stash_give_keeps_only_so_many),
        cmocka_unit_test(cellar_deinit_of_zeroed_memory_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
