/*
 * parallel/transfer.c - one call of a pipeline
 *
 * All parcels are prepared, started together and waited for one by one; then
 * the shares that came are gathered. One failure, and nothing is handed out.
 *
 * No test of its own: tests/integration/pipe_vectors_test.c moves tensors,
 * pipe_test.c holds the errors.
 */

#include "parallel/transfer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "parallel/parcel.h"
#include "parallel/share_gather.h"

/* As many as the part of a message can count. */
static const size_t LIST_MAX = UINT16_MAX;

static enum hoop_status
lists_count(const struct transfer *transfer, size_t *out_n_tensors)
{
    size_t n_tensors = 0;

    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        const struct hoop_tensors *list = transfer->lists[way];

        if (!list)
            continue;
        /* A list of none is told, too. */
        n_tensors += list->n_tensors == 0;
        if (!list->tensors && list->n_tensors > 0)
            return error_raise(HOOP_E_INVALID, "%s has %zu tensors at NULL",
                               transfer_name(way), list->n_tensors);
        if (list->n_tensors > LIST_MAX)
            return error_raise(HOOP_E_INVALID,
                               "%s has %zu tensors, but a list at most %zu",
                               transfer_name(way), list->n_tensors, LIST_MAX);
        n_tensors += list->n_tensors;
    }
    *out_n_tensors = n_tensors;
    return HOOP_OK;
}

static void
parcels_withdraw(struct parcel *parcels, size_t n_parcels)
{
    for (size_t i = 0; i < n_parcels; i++)
        parcel_withdraw(&parcels[i]);
}

/* Of all lists, one after the other. */
static enum hoop_status
parcels_prepare(const struct transfer *transfer, struct parcel *parcels)
{
    struct parcel *parcel = parcels;

    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        const struct hoop_tensors *list = transfer->lists[way];

        for (size_t i = 0; list && (i == 0 || i < list->n_tensors); i++) {
            *parcel = (struct parcel){
                .transfer = transfer,
                .way = way,
                .index = i,
            };
            const enum hoop_status status = parcel_prepare(parcel);
            if (status != HOOP_OK) {
                parcels_withdraw(parcels, (size_t)(parcel - parcels));
                return error_pass(status);
            }
            parcel++;
        }
    }
    return HOOP_OK;
}

/* When one of a list that is received does not fit, nobody needs the rest: what
 * still comes of it is refused, so that its sender is told. */
static enum hoop_status
parcel_wait(const struct parcel *parcel, hoop_op_t *op, bool *is_given_up)
{
    if (*is_given_up)
        engine_cancel((struct op *)op);
    const enum hoop_status status = hoop_wait(op, HOOP_FOREVER);

    if (status == HOOP_E_MISMATCH && parcel_is_received(parcel))
        *is_given_up = true;
    return status;
}

/* The status and text of the first that failed. */
static enum hoop_status
parcels_wait(struct parcel *parcels, hoop_op_t **ops, size_t n_parcels)
{
    bool is_given_up[TRANSFER_WAYS] = {false};
    enum hoop_status first = HOOP_OK;
    char text[LIMIT_ERROR_TEXT];

    for (size_t i = 0; i < n_parcels; i++) {
        struct parcel *parcel = &parcels[i];

        parcel->status = parcel_wait(parcel, ops[i], &is_given_up[parcel->way]);
        if (parcel->status == HOOP_OK || first != HOOP_OK)
            continue;
        first = parcel_raise(parcel);
        snprintf(text, sizeof(text), "%s", error_text());
    }
    return first == HOOP_OK ? HOOP_OK : error_raise(first, "%s", text);
}

static enum hoop_status
parcels_start(struct parcel *parcels,
              hoop_op_t **ops,
              size_t n_parcels,
              hoop_comm_t *stages)
{
    CLEANUP(free)
    struct tensor_message *messages = calloc(n_parcels, sizeof(*messages));

    if (!messages)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_parcels);
    for (size_t i = 0; i < n_parcels; i++)
        messages[i] = parcel_message(&parcels[i]);
    return tensor_message_start(messages, n_parcels, stages, ops);
}

/* Between the stages. */
static enum hoop_status
parcels_move(struct parcel *parcels, size_t n_parcels, hoop_comm_t *stages)
{
    CLEANUP(free) hoop_op_t **ops = calloc(n_parcels, sizeof(hoop_op_t *));

    const enum hoop_status status =
        ops ? parcels_start(parcels, ops, n_parcels, stages)
            : error_raise(HOOP_E_EXHAUSTED, "no memory for %zu operations",
                          n_parcels);
    if (status == HOOP_OK)
        return parcels_wait(parcels, ops, n_parcels);
    for (size_t i = 0; i < n_parcels; i++)
        parcels[i].status = status;
    return error_pass(status);
}

/* Among those who share; status: how the parcels have moved. It is told, too,
 * when they did not. */
static enum hoop_status
parcels_gather(const struct parcel *parcels,
               size_t n_parcels,
               enum hoop_status status)
{
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s", error_text());
    const enum hoop_status gathered = share_gather(parcels, n_parcels);
    if (status != HOOP_OK)
        return error_raise(status, "%s", text);
    return gathered == HOOP_OK ? HOOP_OK : error_pass(gathered);
}

enum hoop_status
transfer_run(const struct transfer *transfer)
{
    CLEANUP(free) struct parcel *parcels = NULL;
    size_t n_parcels = 0;
    enum hoop_status status = lists_count(transfer, &n_parcels);

    if (status != HOOP_OK)
        return error_pass(status);
    if (n_parcels == 0)
        return HOOP_OK;
    parcels = calloc(n_parcels, sizeof(*parcels));
    if (!parcels)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tensors",
                           n_parcels);
    status = parcels_prepare(transfer, parcels);
    if (status != HOOP_OK)
        return error_pass(status);
    status = parcels_move(parcels, n_parcels, transfer->stages);
    if (transfer->sharing)
        status = parcels_gather(parcels, n_parcels, status);
    if (status != HOOP_OK) {
        parcels_withdraw(parcels, n_parcels);
        return error_pass(status);
    }
    for (size_t i = 0; i < n_parcels; i++)
        parcel_hand_out(&parcels[i]);
    return HOOP_OK;
}
