/* coll/accord.c - one outcome for all ranks */

#include "coll/accord.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "coll/once.h"
#include "session/comm.h"

enum {
    WORD_NUMBERS = sizeof(struct accord_word) / sizeof(uint64_t)
};

enum hoop_status
accord_create(hoop_comm_t *comm, struct accord **out_accord)
{
    struct accord *accord = calloc(
        1, sizeof(*accord) + hoop_comm_size(comm) * sizeof(struct accord_word));

    if (!accord) {
        channel_decline(comm->channel, HOOP_E_EXHAUSTED,
                        "it has no memory to agree");
        return error_raise(HOOP_E_EXHAUSTED, "no memory to agree with %u ranks",
                           hoop_comm_size(comm));
    }
    accord->comm = comm;
    *out_accord = accord;
    return HOOP_OK;
}

void
accord_destroy(struct accord *accord)
{
    free(accord);
}

/* Programs end behind a failure. A rank that ends while others have not heard
 * of it would be what they tell of; so none goes before all have. */
static void
failure_await(hoop_comm_t *comm)
{
    if (once_barrier(comm) != HOOP_OK)
        log_debug("coll", "some may not know of a failure: %s", error_text());
}

/* The text of the rank that failed becomes everybody's. */
static enum hoop_status
failure_share(struct accord *accord, uint32_t rank, const char *mine)
{
    const enum hoop_status failure =
        (enum hoop_status)accord->words[rank].status;
    char text[LIMIT_ERROR_TEXT] = "";

    snprintf(text, sizeof(text), "%s", mine);
    const enum hoop_status status =
        once_broadcast(text, sizeof(text), rank, accord->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    text[sizeof(text) - 1] = '\0';
    accord->is_agreed = true;
    failure_await(accord->comm);
    return error_raise(failure, "rank %u: %s",
                       hoop_comm_world_rank(accord->comm, rank), text);
}

enum hoop_status
accord_reach(struct accord *accord,
             enum hoop_status mine,
             const uint64_t numbers[ACCORD_NUMBERS])
{
    const uint32_t size = hoop_comm_size(accord->comm);
    struct accord_word word = {.status = mine};
    char text[LIMIT_ERROR_TEXT] = "";

    if (mine != HOOP_OK)
        snprintf(text, sizeof(text), "%s", error_text());
    if (numbers)
        memcpy(word.numbers, numbers, sizeof(word.numbers));
    accord->is_agreed = false;
    const enum hoop_status status = once_allgather(
        &word, accord->words, WORD_NUMBERS, HOOP_UINT64, accord->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t rank = 0; rank < size; rank++) {
        if (accord->words[rank].status != HOOP_OK)
            return failure_share(accord, rank, text);
    }
    accord->is_agreed = true;
    return HOOP_OK;
}

enum hoop_status
accord_compare(const struct accord *accord, unsigned at, const char *doing)
{
    const uint32_t size = hoop_comm_size(accord->comm);

    for (uint32_t rank = 1; rank < size; rank++) {
        if (accord->words[rank].numbers[at] == accord->words[0].numbers[at])
            continue;
        failure_await(accord->comm);
        return error_raise(HOOP_E_MISMATCH,
                           "rank %u %s other tensors than rank %u, or lays "
                           "them out in another way",
                           hoop_comm_world_rank(accord->comm, rank), doing,
                           hoop_comm_world_rank(accord->comm, 0));
    }
    return HOOP_OK;
}
