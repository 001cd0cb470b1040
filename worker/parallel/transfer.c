/*
 * parallel/transfer.c - one call of a pipeline
 *
 * All parcels are prepared, started together and waited for one by one; then
 * the shares that came are gathered, and the senders told how that ended: they
 * wait for their lists' closings. One failure, and nothing is handed out.
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
static const size_t LIST_MAX = FRAME_LIST_MAX;

static enum hoop_status
lists_count(const struct transfer *transfer, size_t *out_n_tensors)
{
    size_t n_tensors = 0;

    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        const struct hoop_tensors *list = transfer->lists[way];

        if (!list)
            continue;
        /* A list of none is told, too, and one in shares has a closing. */
        n_tensors += list->n_tensors == 0;
        n_tensors += transfer->sharing != NULL;
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

static enum hoop_status
list_prepare(const struct transfer *transfer,
             enum transfer_way way,
             struct parcel *parcels,
             size_t *n_parcels)
{
    const size_t n_tensors = transfer->lists[way]->n_tensors;
    const size_t n_listed = n_tensors > 0 ? n_tensors : 1;
    struct parcel parcel = {.transfer = transfer, .way = way};
    const size_t n = n_listed + (parcel_has_closing(&parcel) ? 1 : 0);

    for (size_t i = 0; i < n; i++) {
        parcels[*n_parcels] = parcel;
        parcels[*n_parcels].index = i;
        parcels[*n_parcels].is_closing = i == n_listed;
        const enum hoop_status status = parcel_prepare(&parcels[*n_parcels]);
        if (status != HOOP_OK)
            return error_pass(status);
        ++*n_parcels;
    }
    return HOOP_OK;
}

/* Of all lists, one after the other. */
static enum hoop_status
parcels_prepare(const struct transfer *transfer,
                struct parcel *parcels,
                size_t *out_n_parcels)
{
    size_t n_parcels = 0;

    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        const enum hoop_status status =
            transfer->lists[way]
                ? list_prepare(transfer, way, parcels, &n_parcels)
                : HOOP_OK;

        if (status != HOOP_OK) {
            parcels_withdraw(parcels, n_parcels);
            return error_pass(status);
        }
    }
    *out_n_parcels = n_parcels;
    return HOOP_OK;
}

void
transfer_end_fail(struct transfer_end *end, enum hoop_status status)
{
    if (end->status != HOOP_OK)
        return;
    end->status = status;
    snprintf(end->text, sizeof(end->text), "%s", error_text());
}

/* When one of a list that is received does not fit, nobody needs the rest: what
 * still comes of it is refused, so that its sender is told. */
static enum hoop_status
parcel_wait(const struct parcel *parcel, bool *is_given_up)
{
    if (*is_given_up)
        engine_cancel((struct op *)parcel->op);
    const enum hoop_status status = hoop_wait(parcel->op, HOOP_FOREVER);

    if (status == HOOP_E_MISMATCH && parcel_is_received(parcel))
        *is_given_up = true;
    return status;
}

static void
parcels_wait(const struct parcel *parcels,
             size_t n_parcels,
             struct transfer_end *ends)
{
    bool is_given_up[TRANSFER_WAYS] = {false};

    for (size_t i = 0; i < n_parcels; i++) {
        const struct parcel *parcel = &parcels[i];

        if (parcel->is_closing)
            continue;
        const enum hoop_status status =
            parcel_wait(parcel, &is_given_up[parcel->way]);
        if (status != HOOP_OK)
            transfer_end_fail(&ends[parcel->way], parcel_raise(parcel, status));
    }
    for (unsigned way = 0; way < TRANSFER_WAYS; way++)
        ends[way].has_moved = ends[way].status == HOOP_OK;
}

/* All but closings that are received. */
static enum hoop_status
parcels_start(struct parcel *parcels, size_t n_parcels, hoop_comm_t *stages)
{
    CLEANUP(free)
    struct tensor_message *messages = calloc(n_parcels, sizeof(*messages));
    CLEANUP(free) hoop_op_t **ops = calloc(n_parcels, sizeof(hoop_op_t *));
    size_t n_messages = 0;

    if (!messages || !ops)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_parcels);
    for (size_t i = 0; i < n_parcels; i++) {
        if (!parcel_is_late(&parcels[i]))
            messages[n_messages++] = parcel_message(&parcels[i]);
    }
    const enum hoop_status status =
        tensor_message_start(messages, n_messages, stages, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = n_parcels; i > 0; i--) {
        if (!parcel_is_late(&parcels[i - 1]))
            parcels[i - 1].op = ops[--n_messages];
    }
    return HOOP_OK;
}

/* Between the stages. */
static void
parcels_move(struct parcel *parcels,
             size_t n_parcels,
             struct transfer_end *ends)
{
    const enum hoop_status status =
        parcels_start(parcels, n_parcels, parcels->transfer->stages);

    if (status == HOOP_OK) {
        parcels_wait(parcels, n_parcels, ends);
        return;
    }
    for (size_t i = 0; i < n_parcels; i++)
        transfer_end_fail(&ends[parcels[i].way], status);
}

/* Takes it where the list has been gathered; else its sender is told why. */
static void
closing_receive(struct parcel *parcel, struct transfer_end *end)
{
    struct tensor_message message = parcel_message(parcel);
    char text[LIMIT_ERROR_TEXT];

    if (end->status != HOOP_OK) {
        snprintf(text, sizeof(text), "what was received is thrown away: %.980s",
                 end->text);
        message.refusal = text;
    }
    const enum hoop_status status =
        tensor_message_run(&message, 1, parcel->transfer->stages);
    if (status != HOOP_OK)
        transfer_end_fail(end, parcel_raise(parcel, status));
}

/* Of a list that has not moved neither side counts on it. */
static void
closing_confirm(const struct parcel *parcel, struct transfer_end *end)
{
    if (!end->has_moved)
        engine_cancel((struct op *)parcel->op);
    const enum hoop_status status = hoop_wait(parcel->op, HOOP_FOREVER);

    if (status != HOOP_OK)
        transfer_end_fail(end, parcel_raise(parcel, status));
}

/* First what others wait for. */
static void
closings_settle(struct parcel *parcels,
                size_t n_parcels,
                struct transfer_end *ends)
{
    for (size_t i = 0; i < n_parcels; i++) {
        if (parcel_is_late(&parcels[i]) && ends[parcels[i].way].has_moved)
            closing_receive(&parcels[i], &ends[parcels[i].way]);
    }
    for (size_t i = 0; i < n_parcels; i++) {
        if (parcels[i].op && parcels[i].is_closing)
            closing_confirm(&parcels[i], &ends[parcels[i].way]);
    }
}

/* The first list that failed. */
static enum hoop_status
ends_raise(const struct transfer_end *ends)
{
    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        if (ends[way].status != HOOP_OK)
            return error_raise(ends[way].status, "%s", ends[way].text);
    }
    return HOOP_OK;
}

static enum hoop_status
parcels_run(struct parcel *parcels, size_t n_parcels)
{
    const struct transfer *transfer = parcels->transfer;
    struct transfer_end ends[TRANSFER_WAYS];

    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        ends[way].status = HOOP_OK;
        ends[way].has_moved = false;
    }
    parcels_move(parcels, n_parcels, ends);
    if (transfer->tensor_parallel)
        share_gather(parcels, n_parcels, ends);
    if (transfer->sharing)
        closings_settle(parcels, n_parcels, ends);
    const enum hoop_status status = ends_raise(ends);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
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
    status = parcels_prepare(transfer, parcels, &n_parcels);
    if (status != HOOP_OK)
        return error_pass(status);
    status = parcels_run(parcels, n_parcels);
    if (status != HOOP_OK) {
        parcels_withdraw(parcels, n_parcels);
        return error_pass(status);
    }
    for (size_t i = 0; i < n_parcels; i++)
        parcel_hand_out(&parcels[i]);
    return HOOP_OK;
}
