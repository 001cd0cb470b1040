/* engine/failure/op_history.c - the operations of a context that have ended
 * here */

#include "engine/failure/op_history.h"

#include <stddef.h>

static void
op_history_note_failure(struct op_history *op_history, uint64_t number)
{
    if (number > op_history->failed_newest)
        op_history->failed_newest = number;
}

void
op_history_add(struct op_history *op_history,
               const struct op_history_entry *entry)
{
    op_history->ops[entry->number % OP_HISTORY_ENTRIES] = *entry;
    if (entry->has_failed)
        op_history_note_failure(op_history, entry->number);
}

const struct op_history_entry *
op_history_find(const struct op_history *op_history, uint64_t number)
{
    const struct op_history_entry *entry =
        &op_history->ops[number % OP_HISTORY_ENTRIES];

    return entry->number == number ? entry : NULL;
}

bool
op_history_has_failed(const struct op_history *op_history, uint64_t number)
{
    const struct op_history_entry *entry = op_history_find(op_history, number);

    return entry ? entry->has_failed : number <= op_history->failed_newest;
}

bool
op_history_mark_failed(struct op_history *op_history, uint64_t number)
{
    struct op_history_entry *entry =
        &op_history->ops[number % OP_HISTORY_ENTRIES];

    if (op_history_has_failed(op_history, number))
        return false;
    if (entry->number == number)
        entry->has_failed = true;
    op_history_note_failure(op_history, number);
    return true;
}
