/* state/inventory.c - a rank's tensors, in the order of their names, in blocks
 */

#include "state/inventory.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "tensor/operand.h"

enum {
    /* 64 hashes for the bytes of one: 6 MB of them for 100 GB. */
    BLOCK_BYTES = 256 * 1024,
};

static enum hoop_status
check_named(const struct hoop_named_tensor *named, size_t number)
{
    char name[LIMIT_NAME * 2];

    if (!named->name || !*named->name)
        return error_raise(HOOP_E_INVALID, "tensors[%zu] has no name", number);
    if (strnlen(named->name, LIMIT_STATE_NAME) == LIMIT_STATE_NAME)
        return error_raise(HOOP_E_INVALID,
                           "the name of tensors[%zu] is longer than %d bytes",
                           number, LIMIT_STATE_NAME - 1);
    snprintf(name, sizeof(name), "tensor \"%.200s\"", named->name);
    const enum hoop_status status = operand_check(&named->tensor, name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
check_state(const struct hoop_state *state)
{
    if (!state)
        return error_raise(HOOP_E_INVALID, "state is NULL");
    if (!state->tensors && state->n_tensors > 0)
        return error_raise(HOOP_E_INVALID, "tensors is NULL");
    if (state->block_bytes > 0 && state->block_bytes < LIMIT_STATE_BLOCK_MIN)
        return error_raise(HOOP_E_INVALID,
                           "blocks of %zu bytes are too small: %d at least",
                           state->block_bytes, LIMIT_STATE_BLOCK_MIN);
    for (size_t i = 0; i < state->n_tensors; i++) {
        const enum hoop_status status = check_named(&state->tensors[i], i);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static int
by_name(const void *a, const void *b)
{
    const struct inventory_entry *left = a;
    const struct inventory_entry *right = b;

    return strcmp(left->named->name, right->named->name);
}

static enum hoop_status
check_names_apart(const struct inventory *inventory)
{
    const struct inventory_entry *entries = inventory->entries;

    for (size_t i = 1; i < inventory->n_entries; i++) {
        if (by_name(&entries[i - 1], &entries[i]) == 0)
            return error_raise(HOOP_E_INVALID,
                               "the name \"%.200s\" is there twice",
                               entries[i].named->name);
    }
    return HOOP_OK;
}

static void
number_blocks(struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->n_entries; i++) {
        struct inventory_entry *entry = &inventory->entries[i];
        const size_t n_bytes = operand_bytes(&entry->named->tensor);

        entry->n_bytes = n_bytes;
        entry->first = inventory->n_blocks;
        inventory->n_bytes += n_bytes;
        inventory->n_blocks += n_bytes / inventory->block_bytes +
                               (n_bytes % inventory->block_bytes > 0);
    }
}

enum hoop_status
inventory_create(const struct hoop_state *state,
                 struct inventory **out_inventory)
{
    enum hoop_status status = check_state(state);

    if (status != HOOP_OK)
        return error_pass(status);
    CLEANUP(inventory_destroy)
    struct inventory *inventory =
        calloc(1, sizeof(*inventory) +
                      state->n_tensors * sizeof(struct inventory_entry));
    if (!inventory)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tensors",
                           state->n_tensors);
    inventory->n_entries = state->n_tensors;
    inventory->block_bytes =
        state->block_bytes > 0 ? state->block_bytes : BLOCK_BYTES;
    for (size_t i = 0; i < state->n_tensors; i++)
        inventory->entries[i].named = &state->tensors[i];
    qsort(inventory->entries, inventory->n_entries,
          sizeof(struct inventory_entry), by_name);
    status = check_names_apart(inventory);
    if (status != HOOP_OK)
        return error_pass(status);
    number_blocks(inventory);
    inventory->digests =
        calloc(inventory->n_blocks + 1, sizeof(*inventory->digests));
    if (!inventory->digests)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the hashes of %llu blocks",
                           (unsigned long long)inventory->n_blocks);
    *out_inventory = STEAL(inventory);
    return HOOP_OK;
}

void
inventory_destroy(struct inventory *inventory)
{
    if (!inventory)
        return;
    free(inventory->digests);
    free(inventory);
}

struct digest_wide
inventory_digest(struct inventory *inventory)
{
    for (uint64_t i = 0; i < inventory->n_blocks; i++) {
        const struct inventory_run run = inventory_run(inventory, i, 1);

        inventory->digests[i] = digest_wide_bytes(run.at, run.n_bytes);
    }
    return digest_wide_bytes(inventory->digests,
                             inventory->n_blocks * sizeof(struct digest_wide));
}

/* The last one that begins at or before number: behind those without blocks. */
static size_t
entry_of(const struct inventory *inventory, uint64_t number)
{
    size_t low = 0;
    size_t high = inventory->n_entries;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (inventory->entries[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct inventory_run
inventory_run(const struct inventory *inventory,
              uint64_t number,
              uint64_t n_blocks)
{
    const size_t at = entry_of(inventory, number);
    const struct inventory_entry *entry = &inventory->entries[at];
    const size_t offset = (number - entry->first) * inventory->block_bytes;
    const size_t left = entry->n_bytes - offset;
    const size_t asked = n_blocks * inventory->block_bytes;

    return (struct inventory_run){
        .entry = at,
        .at = (uint8_t *)entry->named->tensor.data + offset,
        .offset = offset,
        .n_bytes = asked < left ? asked : left,
    };
}

uint64_t
inventory_together(const struct inventory *inventory,
                   uint64_t number,
                   uint64_t end)
{
    const size_t at = entry_of(inventory, number);
    const uint64_t behind = at + 1 < inventory->n_entries
                                ? inventory->entries[at + 1].first
                                : inventory->n_blocks;

    return (end < behind ? end : behind) - number;
}
