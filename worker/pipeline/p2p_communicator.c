/* pipeline/p2p_communicator.c - the settings of a P2PCommunicator */

#include "pipeline/p2p_communicator.h"

#include <stdlib.h>

#include "base/error.h"
#include "dtype/dtype.h"

enum hoop_status
p2p_communicator_check_member(const struct hoop_p2p *p2p, bool *out_is_member)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!p2p)
        return error_raise(HOOP_E_INVALID, "p2p is NULL");
    *out_is_member = p2p->size > 0;
    return HOOP_OK;
}

static enum hoop_status
p2p_options_check(const struct hoop_p2p_options *options)
{
    if (!options)
        return error_raise(HOOP_E_INVALID, "options is NULL");
    if (!options->stages)
        return error_raise(HOOP_E_INVALID, "options->stages is NULL");
    if (options->dtype && dtype_size(*options->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)*options->dtype);
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_create(const struct hoop_p2p_options *options, hoop_p2p_t **out_p2p)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_p2p)
        return error_raise(HOOP_E_INVALID, "out_p2p is NULL");
    const enum hoop_status status = p2p_options_check(options);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_p2p *p2p = malloc(sizeof(*p2p));
    if (!p2p)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    *p2p = (struct hoop_p2p){
        .stages = options->stages,
        .rank = hoop_comm_rank(options->stages),
        .size = hoop_comm_size(options->stages),
        .has_dtype = options->dtype != NULL,
        .dtype = options->dtype ? *options->dtype : HOOP_FLOAT32,
        .has_variable_shapes = options->has_variable_shapes,
        .order =
            options->is_unbatched ? P2P_ORDER_UNBATCHED : P2P_ORDER_BATCHED,
    };
    *out_p2p = p2p;
    return HOOP_OK;
}

void
hoop_p2p_free(hoop_p2p_t *p2p)
{
    free(p2p);
}

static uint32_t
p2p_neighbour_rank(const struct hoop_p2p *p2p,
                   enum hoop_p2p_direction direction)
{
    if (!p2p || p2p->size == 0)
        return HOOP_NO_RANK;
    return p2p_direction_peer(direction, p2p->rank, p2p->size);
}

uint32_t
hoop_p2p_next(const hoop_p2p_t *p2p)
{
    return p2p_neighbour_rank(p2p, HOOP_P2P_SEND_NEXT);
}

uint32_t
hoop_p2p_prev(const hoop_p2p_t *p2p)
{
    return p2p_neighbour_rank(p2p, HOOP_P2P_SEND_PREV);
}
