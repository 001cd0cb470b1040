/* engine/past.c - the operations of a channel that have ended here */

#include "engine/past.h"

#include <stddef.h>

static void
note_failure(struct past *past, uint64_t number)
{
    if (number > past->failed_newest)
        past->failed_newest = number;
}

void
past_add(struct past *past, const struct past_op *op)
{
    past->ops[op->number % PAST_OPS] = *op;
    if (op->has_failed)
        note_failure(past, op->number);
}

void
past_add_call(struct past *past,
              uint64_t number,
              uint64_t signature,
              const struct frame_call *call)
{
    past->ops[number % PAST_OPS] = (struct past_op){
        .number = number, .signatures = {signature}, .call = *call};
}

const struct past_op *
past_find(const struct past *past, uint64_t number)
{
    const struct past_op *op = &past->ops[number % PAST_OPS];

    return op->number == number ? op : NULL;
}

bool
past_has_failed(const struct past *past, uint64_t number)
{
    const struct past_op *op = past_find(past, number);

    return op ? op->has_failed : number <= past->failed_newest;
}

bool
past_fail(struct past *past, uint64_t number)
{
    struct past_op *op = &past->ops[number % PAST_OPS];

    if (past_has_failed(past, number))
        return false;
    if (op->number == number)
        op->has_failed = true;
    note_failure(past, number);
    return true;
}
