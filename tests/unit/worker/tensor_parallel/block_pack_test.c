/*
 * tests/unit/worker/tensor_parallel/block_pack_test.c - all_to_all of blocks
 *
 * All ranks are in this process, and the test moves the blocks between the
 * buffers that a collective would use. The value of an element is its place in
 * the whole tensor, so that every index has one correct value.
 */

#include <string.h>

#include "check.h"
#include "tensor_parallel/block_pack.h"

enum {
    N_DIMS = 3,
    N_RANKS_MAX = 3,
    LENGTH = 6, /* of each dimension of the whole tensor */
    N_ELEMENTS = LENGTH * LENGTH * LENGTH,
};

/* One rank's part of the whole tensor. */
struct part {
    struct hoop_tensor tensor;
    int32_t values[N_ELEMENTS];
};

struct exchange {
    uint32_t n_ranks;
    uint32_t gather_dim; /* the inputs are cut along it, the outputs are not */
    uint32_t shard_dim;  /* the outputs are cut along it, the inputs are not */
    struct part inputs[N_RANKS_MAX];
    struct part outputs[N_RANKS_MAX];
    struct collective collectives[N_RANKS_MAX];
};

/* Returns the value of an element of rank's part, whose place there is element.
 * The whole tensor is cut along cut_dim. */
static int32_t
expected_value(const struct part *part,
               uint32_t cut_dim,
               uint32_t rank,
               size_t element)
{
    const size_t *dims = part->tensor.shape.dims;
    const size_t own[N_DIMS] = {element / (dims[1] * dims[2]),
                                element / dims[2] % dims[1], element % dims[2]};
    size_t value = 0;

    for (uint32_t dim = 0; dim < N_DIMS; dim++)
        value =
            value * LENGTH + own[dim] + (dim == cut_dim ? rank * dims[dim] : 0);
    return (int32_t)value;
}

static void
part_init(struct part *part, uint32_t cut_dim, uint32_t n_ranks)
{
    part->tensor = (struct hoop_tensor){
        .data = part->values,
        .dtype = HOOP_INT32,
        .shape = {.n_dims = N_DIMS, .dims = {LENGTH, LENGTH, LENGTH}},
    };
    part->tensor.shape.dims[cut_dim] /= n_ranks;
    memset(part->values, -1, sizeof(part->values));
}

static void
exchange_begin(struct exchange *exchange, uint32_t rank)
{
    struct part *input = &exchange->inputs[rank];
    struct part *output = &exchange->outputs[rank];
    struct collective *collective = &exchange->collectives[rank];
    const struct cuts cut = {1, {{exchange->shard_dim, exchange->n_ranks}}};
    const struct cuts join = {1, {{exchange->gather_dim, exchange->n_ranks}}};
    const struct block_pack_request request = {
        .input = &input->tensor,
        .output = &output->tensor,
        .cut = &cut,
        .join = &join,
    };

    part_init(input, exchange->gather_dim, exchange->n_ranks);
    part_init(output, exchange->shard_dim, exchange->n_ranks);
    for (size_t i = 0; i < N_ELEMENTS / exchange->n_ranks; i++)
        input->values[i] = expected_value(input, exchange->gather_dim, rank, i);
    *collective =
        (struct collective){.send = input->values, .recv = output->values};
    assert_ok(block_pack_attach(collective, &request));
}

/* Every rank receives before the next one does, as if its own sends were slow:
 * what it receives must leave alone what it has to send. */
static void
exchange_move(struct exchange *exchange)
{
    const size_t n_ranks = exchange->n_ranks;
    const size_t n_bytes = N_ELEMENTS / (n_ranks * n_ranks) * sizeof(int32_t);

    for (size_t to = 0; to < n_ranks; to++) {
        for (size_t from = 0; from < n_ranks; from++) {
            const uint8_t *send = exchange->collectives[from].send;
            uint8_t *recv = exchange->collectives[to].recv;

            memcpy(recv + from * n_bytes, send + to * n_bytes, n_bytes);
        }
    }
}

static void
exchange_end(struct exchange *exchange, uint32_t rank)
{
    const struct part *output = &exchange->outputs[rank];
    const struct chain *chain = &exchange->collectives[rank].chain;

    if (chain->finish)
        assert_ok(chain->finish(chain->owner));
    if (chain->destroy)
        chain->destroy(chain->owner);
    for (size_t i = 0; i < N_ELEMENTS / exchange->n_ranks; i++)
        assert_int_equal(output->values[i],
                         expected_value(output, exchange->shard_dim, rank, i));
}

static void
all_to_all_between_any_two_dims_puts_each_element_in_its_place(void **state)
{
    static struct exchange exchange;

    for (uint32_t i = 0; i < 2 * N_DIMS * N_DIMS; i++) {
        exchange.n_ranks = 2 + i % 2;
        exchange.gather_dim = i / 2 % N_DIMS;
        exchange.shard_dim = i / 2 / N_DIMS;
        if (exchange.gather_dim == exchange.shard_dim)
            continue;
        for (uint32_t rank = 0; rank < exchange.n_ranks; rank++)
            exchange_begin(&exchange, rank);
        exchange_move(&exchange);
        for (uint32_t rank = 0; rank < exchange.n_ranks; rank++)
            exchange_end(&exchange, rank);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            all_to_all_between_any_two_dims_puts_each_element_in_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
