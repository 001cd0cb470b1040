/* tests/unit/worker/pipeline/single_shape_test.c - one shape, or a list */

#include <string.h>

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "check.h"
#include "pipeline/neighbour.h"

static const struct hoop_variant integers[] = {
    {.kind = HOOP_VARIANT_INTEGER},
    {.kind = HOOP_VARIANT_INTEGER},
    {.kind = HOOP_VARIANT_INTEGER},
};

static struct hoop_variant
list_of(const struct hoop_variant *items, size_t n_items)
{
    return (struct hoop_variant){
        .kind = HOOP_VARIANT_LIST, .n_items = n_items, .items = items};
}

static void
integers_are_a_shape(void **state)
{
    const struct hoop_variant three = list_of(integers, 3);
    const struct hoop_variant one = list_of(integers, 1); /* also [True] */

    assert_true(hoop_is_single_shape(&three));
    assert_true(hoop_is_single_shape(&one));
}

static void
size_of_any_length_is_a_shape(void **state)
{
    struct hoop_variant size = {
        .kind = HOOP_VARIANT_SIZE, .n_items = 3, .items = integers};

    assert_true(hoop_is_single_shape(&size));
    size.n_items = 0;
    size.items = NULL;
    assert_true(hoop_is_single_shape(&size));
}

static void
empty_list_is_no_shape(void **state)
{
    const struct hoop_variant empty = list_of(NULL, 0);

    assert_false(hoop_is_single_shape(&empty));
}

static void
list_of_shapes_is_no_shape(void **state)
{
    const struct hoop_variant pairs[] = {list_of(integers, 2),
                                         list_of(integers, 2)};
    const struct hoop_variant sizes[] = {{.kind = HOOP_VARIANT_SIZE}};
    const struct hoop_variant lists = list_of(pairs, 2);
    const struct hoop_variant objects = list_of(sizes, 1);

    assert_false(hoop_is_single_shape(&lists));
    assert_false(hoop_is_single_shape(&objects));
}

static void
mixed_list_is_no_shape(void **state)
{
    const struct hoop_variant items[] = {{.kind = HOOP_VARIANT_INTEGER},
                                         {.kind = HOOP_VARIANT_TEXT}};
    const struct hoop_variant mixed = list_of(items, 2);

    assert_false(hoop_is_single_shape(&mixed));
}

static void
anything_else_is_no_shape(void **state)
{
    static const enum hoop_variant_kind kinds[] = {
        HOOP_VARIANT_NONE, HOOP_VARIANT_INTEGER, HOOP_VARIANT_TEXT};

    assert_false(hoop_is_single_shape(NULL));
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct hoop_variant variant = {.kind = kinds[i]};

        assert_false(hoop_is_single_shape(&variant));
    }
}

/*
 * The model: every stage makes its transfers one after the other, each a
 * rendezvous that waits until the other end has come to it, as if nothing in
 * between could hold a byte. What completes there completes on any
 * transport.
 */

enum {
    PIPELINE_STAGES_MAX = 8,
    NOTHING = NEIGHBOUR_N_DIRECTIONS /* a stage that is done */
};

/* Which transfers there are: bit s of forward is the one from s to s + 1, of
 * backward the one from s + 1 to s. */
struct model {
    enum neighbour_order order;
    uint32_t size;
    uint32_t forward;
    uint32_t backward;
    uint32_t places[PIPELINE_STAGES_MAX]; /* in the stage's order */
};

static bool
has_transfer(const struct model *model,
             uint32_t rank,
             enum hoop_p2p_direction direction)
{
    const uint32_t prev = (rank + model->size - 1) % model->size;

    switch (direction) {
    case HOOP_P2P_SEND_NEXT:
        return (model->forward >> rank & 1) != 0;
    case HOOP_P2P_RECV_PREV:
        return (model->forward >> prev & 1) != 0;
    case HOOP_P2P_SEND_PREV:
        return (model->backward >> prev & 1) != 0;
    case HOOP_P2P_RECV_NEXT:
        return (model->backward >> rank & 1) != 0;
    }
    return false;
}

static void
skip_what_is_not(struct model *model, uint32_t rank)
{
    const enum hoop_p2p_direction *order =
        neighbour_order_directions(model->order, rank);
    uint32_t *place = &model->places[rank];

    while (*place < NOTHING && !has_transfer(model, rank, order[*place]))
        (*place)++;
}

static bool
meets(const struct model *model, uint32_t rank, uint32_t peer)
{
    if (model->places[peer] >= NOTHING || peer == rank)
        return false;
    const enum hoop_p2p_direction mine =
        neighbour_order_directions(model->order, rank)[model->places[rank]];
    const enum hoop_p2p_direction theirs =
        neighbour_order_directions(model->order, peer)[model->places[peer]];
    return neighbour_directions[mine].kind !=
               neighbour_directions[theirs].kind &&
           neighbour_directions[mine].pass ==
               neighbour_directions[theirs].pass &&
           neighbour_rank(theirs, peer, model->size) == rank;
}

/* Whether anything could be done. */
static bool
advance(struct model *model)
{
    bool is_moved = false;

    for (uint32_t rank = 0; rank < model->size; rank++) {
        skip_what_is_not(model, rank);
        if (model->places[rank] >= NOTHING)
            continue;
        const uint32_t peer = neighbour_rank(
            neighbour_order_directions(model->order, rank)[model->places[rank]],
            rank, model->size);
        skip_what_is_not(model, peer);
        if (!meets(model, rank, peer))
            continue;
        model->places[rank]++;
        model->places[peer]++;
        is_moved = true;
    }
    return is_moved;
}

static bool
completes(enum neighbour_order order,
          uint32_t size,
          uint32_t forward,
          uint32_t backward)
{
    struct model model = {
        .order = order, .size = size, .forward = forward, .backward = backward};

    while (advance(&model))
        continue;
    for (uint32_t rank = 0; rank < size; rank++) {
        if (model.places[rank] < NOTHING)
            return false;
    }
    return true;
}

/* Every set of transfers: open chains, closed rings, one way, both, gaps. */
static void
unbatched_order_never_blocks(void **state)
{
    for (uint32_t size = 2; size <= PIPELINE_STAGES_MAX; size++) {
        for (uint32_t set = 0; set < 1U << 2 * size; set++)
            assert_true(completes(NEIGHBOUR_ORDER_UNBATCHED, size,
                                  set & ((1U << size) - 1), set >> size));
    }
}

/* The model can fail: that is why a batch is started at once. */
static void
batched_order_would_block_on_a_ring(void **state)
{
    for (uint32_t size = 2; size <= PIPELINE_STAGES_MAX; size++) {
        const uint32_t all = (1U << size) - 1;

        assert_false(completes(NEIGHBOUR_ORDER_BATCHED, size, all, all));
    }
}

/* Alone there is no second process to meet: what is sent to next is what is
 * received from prev, both started before either is waited for. */
static void
alone_each_send_has_its_receive(void **state)
{
    for (uint32_t i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++)
        assert_int_equal(neighbour_rank((enum hoop_p2p_direction)i, 0, 1), 0);
    assert_int_equal(neighbour_directions[HOOP_P2P_SEND_NEXT].pass,
                     neighbour_directions[HOOP_P2P_RECV_PREV].pass);
    assert_int_equal(neighbour_directions[HOOP_P2P_SEND_PREV].pass,
                     neighbour_directions[HOOP_P2P_RECV_NEXT].pass);
}

static void
orders_are_megatrons(void **state)
{
    static const enum hoop_p2p_direction expected[][NEIGHBOUR_N_DIRECTIONS] = {
        {HOOP_P2P_SEND_PREV, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT,
         HOOP_P2P_RECV_NEXT},
        {HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_PREV,
         HOOP_P2P_RECV_NEXT},
        {HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_NEXT,
         HOOP_P2P_SEND_PREV},
    };

    for (uint32_t rank = 0; rank < PIPELINE_STAGES_MAX; rank++) {
        assert_memory_equal(
            neighbour_order_directions(NEIGHBOUR_ORDER_BATCHED, rank),
            expected[0], sizeof(expected[0]));
        assert_memory_equal(
            neighbour_order_directions(NEIGHBOUR_ORDER_UNBATCHED, rank),
            expected[1 + rank % 2], sizeof(expected[0]));
    }
}

/* The directions of one kind, in the order in which a rank posts them. */
static void
directions_of_kind(enum neighbour_order order,
                   uint32_t rank,
                   enum hoop_message_kind kind,
                   enum hoop_p2p_direction out_directions[2])
{
    const enum hoop_p2p_direction *all =
        neighbour_order_directions(order, rank);
    uint32_t n = 0;

    for (uint32_t i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        if (neighbour_directions[all[i]].kind == kind)
            out_directions[n++] = all[i];
    }
    assert_int_equal(n, 2);
}

/* Two stages, all four directions, and between them nothing but order: does
 * the k-th send of one meet the k-th receive of its own way? */
static bool
crosses_without_ways(enum neighbour_order order, uint32_t rank)
{
    enum hoop_p2p_direction sends[2];
    enum hoop_p2p_direction receives[2];

    directions_of_kind(order, rank, HOOP_SEND, sends);
    directions_of_kind(order, 1 - rank, HOOP_RECV, receives);
    return neighbour_directions[sends[0]].pass !=
           neighbour_directions[receives[0]].pass;
}

/* With ways as tags, of what one sends there is exactly one receive each,
 * whatever the order. */
static void
expect_ways_pair(enum neighbour_order order, uint32_t rank)
{
    enum hoop_p2p_direction sends[2];
    enum hoop_p2p_direction receives[2];

    directions_of_kind(order, rank, HOOP_SEND, sends);
    directions_of_kind(order, 1 - rank, HOOP_RECV, receives);
    for (uint32_t i = 0; i < 2; i++) {
        const bool is_first = neighbour_directions[sends[i]].pass ==
                              neighbour_directions[receives[0]].pass;
        const enum hoop_p2p_direction met = receives[is_first ? 0 : 1];

        assert_int_equal(neighbour_directions[sends[i]].pass,
                         neighbour_directions[met].pass);
        assert_int_equal(met, sends[i] == HOOP_P2P_SEND_NEXT
                                  ? HOOP_P2P_RECV_PREV
                                  : HOOP_P2P_RECV_NEXT);
    }
    assert_int_not_equal(neighbour_directions[receives[0]].pass,
                         neighbour_directions[receives[1]].pass);
}

static void
two_stages_never_cross(void **state)
{
    static const enum neighbour_order orders[] = {NEIGHBOUR_ORDER_BATCHED,
                                                  NEIGHBOUR_ORDER_UNBATCHED};

    for (uint32_t rank = 0; rank < 2; rank++) {
        for (size_t i = 0; i < COUNT_OF(orders); i++)
            expect_ways_pair(orders[i], rank);
        assert_true(crosses_without_ways(NEIGHBOUR_ORDER_BATCHED, rank));
        assert_false(crosses_without_ways(NEIGHBOUR_ORDER_UNBATCHED, rank));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_a_shape),
        cmocka_unit_test(size_of_any_length_is_a_shape),
        cmocka_unit_test(empty_list_is_no_shape),
        cmocka_unit_test(list_of_shapes_is_no_shape),
        cmocka_unit_test(mixed_list_is_no_shape),
        cmocka_unit_test(anything_else_is_no_shape),
        cmocka_unit_test(orders_are_megatrons),
        cmocka_unit_test(unbatched_order_never_blocks),
        cmocka_unit_test(batched_order_would_block_on_a_ring),
        cmocka_unit_test(alone_each_send_has_its_receive),
        cmocka_unit_test(two_stages_never_cross),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
