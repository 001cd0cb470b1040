/* engine/residue.c - what a tensor lost on its way, for its next call */

#include "engine/residue.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/error_feedback.h"
#include "engine/state.h"
#include "plan/topology.h"

/* One tensor's. given and made are of one piece of memory with it. */
struct residue {
    TAILQ_ENTRY(residue) link;
    const void *place;
    enum call_name name;
    uint64_t signature;
    size_t n_given;
    size_t n_made; /* 0: all that is made stays here */
    uint8_t *given;
    uint8_t *made;
};

static size_t
residue_bytes(const struct residue *residue)
{
    return (residue->n_given + residue->n_made) * sizeof(float);
}

static void
residue_destroy(struct residue *residue)
{
    if (residue)
        free(residue->given);
    free(residue);
}

static bool
is_allreduce(const struct op *op)
{
    return op->call.name == CALL_ALLREDUCE ||
           op->call.name == CALL_ALLREDUCE_COALESCED;
}

/* What all ranks together reduce belongs to them in these parts. */
static struct plan_span
block_of(const struct op *op, uint32_t rank)
{
    return is_allreduce(op) ? block_cut(&op->shape, PLAN_INPUT, rank)
                            : block_given(&op->shape, PLAN_INPUT, rank);
}

/* Zeroed: nothing was lost yet. */
static struct residue *
residue_create(const struct op *op, const void *place)
{
    const struct plan_span last = block_of(op, op->shape.size - 1);
    struct residue *residue = calloc(1, sizeof(*residue));

    if (!residue)
        return NULL;
    residue->place = place;
    residue->name = (enum call_name)op->call.name;
    residue->signature = op->label.signature;
    residue->n_given = last.first + last.count;
    residue->n_made = is_allreduce(op) ? block_of(op, op->shape.rank).count : 0;
    residue->given = calloc(1, residue_bytes(residue) + 1);
    residue->made = residue->given + residue->n_given * sizeof(float);
    if (residue->given)
        return residue;
    residue_destroy(residue);
    return NULL;
}

/* Under the gate. */
static void
residue_take_out(struct residues *residues, struct residue *residue)
{
    TAILQ_REMOVE(&residues->list, residue, link);
    residues->n--;
    residues->n_bytes -= residue_bytes(residue);
}

/* Take the tensor's out of the list; one of another call in its place is of no
 * use any more, and out_stale. Under the gate. */
static struct residue *
residue_take(const struct op *op, const void *place, struct residue **out_stale)
{
    struct residues *residues = &op->channel->residues;
    struct residue *residue;

    TAILQ_FOREACH(residue, &residues->list, link)
    {
        if (residue->place == place &&
            residue->name == (enum call_name)op->call.name)
            break;
    }
    *out_stale = NULL;
    if (!residue)
        return NULL;
    residue_take_out(residues, residue);
    if (residue->signature == op->label.signature)
        return residue;
    *out_stale = residue;
    return NULL;
}

/* All blocks but this rank's own, which is not sent. */
static void
give(const struct op *op, struct residue *residue)
{
    for (uint32_t rank = 0; rank < op->shape.size; rank++) {
        const struct plan_span block = block_of(op, rank);
        const size_t at = block.first * sizeof(float);

        if (block.count == 0)
            continue;
        if (rank == op->shape.rank)
            memcpy(residue->given + at, op->input + at,
                   block.count * sizeof(float));
        else
            error_feedback_apply(op->loss, op->input + at, block.count,
                                 residue->given + at);
    }
}

enum hoop_status
residue_begin(struct op *op, const void *place)
{
    struct engine *engine = op->engine;
    struct residue *stale;

    pthread_mutex_lock(&engine->gate);
    struct residue *residue = residue_take(op, place, &stale);
    pthread_mutex_unlock(&engine->gate);
    residue_destroy(stale);
    if (!residue)
        residue = residue_create(op, place);
    if (!residue)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep what %zu floats lose",
                           op->shape.count);
    give(op, residue);
    op->residue = residue;
    op->input = residue->given;
    op->shape.is_in_place = false;
    return HOOP_OK;
}

void
residue_settle(const struct op *op, uint8_t *to, size_t count)
{
    const struct residue *residue = op->residue;
    const size_t first = block_of(op, op->shape.rank).first * sizeof(float);
    const size_t at = (size_t)(to - op->output) - first;

    if (residue->n_made == 0)
        return;
    error_feedback_apply(op->loss, to, count, residue->made + at);
    loss_round(op->loss, residue->made + at, count, to);
}

/* The oldest of more than there may be, out of the list; NULL: they are not
 * too many. Under the gate. */
static struct residue *
residues_overflow(struct residues *residues)
{
    struct residue *oldest = TAILQ_LAST(&residues->list, residue_list);

    if (residues->n <= LIMIT_RESIDUES &&
        residues->n_bytes <= LIMIT_RESIDUE_BYTES)
        return NULL;
    residue_take_out(residues, oldest);
    return oldest;
}

/* NULL: it has ended. Under the gate. */
static struct channel *
channel_of(const struct op *op)
{
    struct channel *channel;

    TAILQ_FOREACH(channel, &op->engine->channels, link)
    {
        if (channel->id == op->channel_id)
            return channel;
    }
    return NULL;
}

/* What is dropped for it. Under the gate. */
static void
residue_put(struct residues *residues,
            struct residue *residue,
            struct residue_list *out_dropped)
{
    struct residue *oldest;

    TAILQ_INSERT_HEAD(&residues->list, residue, link);
    residues->n++;
    residues->n_bytes += residue_bytes(residue);
    while ((oldest = residues_overflow(residues)))
        TAILQ_INSERT_TAIL(out_dropped, oldest, link);
}

static void
residues_destroy(struct residue_list *list)
{
    struct residue *residue;

    while ((residue = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, residue, link);
        residue_destroy(residue);
    }
}

void
residue_keep(struct op *op)
{
    struct residue_list dropped = TAILQ_HEAD_INITIALIZER(dropped);

    if (!op->residue)
        return;
    pthread_mutex_lock(&op->engine->gate);
    struct channel *channel = channel_of(op);
    if (channel)
        residue_put(&channel->residues, op->residue, &dropped);
    pthread_mutex_unlock(&op->engine->gate);
    if (channel)
        op->residue = NULL;
    residue_drop(op);
    residues_destroy(&dropped);
}

void
residue_drop(struct op *op)
{
    residue_destroy(op->residue);
    op->residue = NULL;
}

void
residue_clear(struct channel *channel)
{
    residues_destroy(&channel->residues.list);
}
