/*
 * state/state_sync.c - every rank gets the newest of their states
 *
 * Accords divide it. In the first, each rank tells its version, what tensors it
 * has and the hash of all its blocks' hashes: where those are the same, that is
 * all. Otherwise the first rank that has the truth tells the hashes of its
 * blocks, and each rank looks which ones it lacks. After the second accord those
 * who lack any tell which, and the blocks go. The third says that all is well
 * everywhere.
 *
 * What can fail on one rank alone is done before an accord, so that no rank
 * waits for one that has given up.
 */

#include <stdio.h>
#include <string.h>

#include "hoop/object.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/status.h"
#include "coll/accord.h"
#include "coll/once.h"
#include "coll/presence.h"
#include "coll/tags.h"
#include "session/comm.h"
#include "state/gaps.h"
#include "state/haul.h"
#include "state/listing.h"

/* What the ranks say in an accord. */
enum {
    BEGIN_VERSION = 0,
    BEGIN_LISTING,
    BEGIN_DIGEST, /* two numbers */
    NEEDS_BLOCKS = 0,
    NEEDS_BYTES,
};

struct sync {
    hoop_comm_t *comm;
    uint32_t rank;
    uint32_t size;
    struct accord *accord;
    struct inventory *inventory;
    struct listing_bytes listing;
    struct digest_wide *truth; /* by block */
    uint8_t *gaps;             /* of this rank */
    uint8_t *all_gaps;         /* of those who lack any, by rank */
    size_t *counts;            /* bytes of them, by rank */
    struct haul_lane *lanes;
    uint32_t *sources; /* ranks that have the truth */
    uint32_t n_sources;
    bool is_source;
    uint64_t tag;
    struct hoop_state_report report;
};

static void
sync_deinit(struct sync *sync)
{
    accord_destroy(sync->accord);
    inventory_destroy(sync->inventory);
    free(sync->listing.bytes);
    free(sync->truth);
    free(sync->gaps);
    free(sync->all_gaps);
    free(sync->counts);
    free(sync->lanes);
    free(sync->sources);
}

/* All that will be needed: what nobody touches is no memory yet. */
static enum hoop_status
room_make(struct sync *sync)
{
    const size_t n_gaps = gaps_bytes(sync->inventory);

    sync->truth =
        calloc(sync->inventory->n_blocks + 1, sizeof(struct digest_wide));
    sync->gaps = calloc(1, n_gaps);
    sync->all_gaps = calloc(sync->size, n_gaps);
    sync->counts = calloc(sync->size, sizeof(*sync->counts));
    sync->lanes = calloc(sync->size, sizeof(*sync->lanes));
    sync->sources = calloc(sync->size, sizeof(*sync->sources));
    if (!sync->truth || !sync->gaps || !sync->all_gaps || !sync->counts ||
        !sync->lanes || !sync->sources)
        return error_raise(
            HOOP_E_EXHAUSTED, "no memory to compare %llu blocks of %u ranks",
            (unsigned long long)sync->inventory->n_blocks, sync->size);
    return HOOP_OK;
}

static enum hoop_status
state_describe(struct sync *sync,
               const struct hoop_state *state,
               uint64_t said[ACCORD_NUMBERS])
{
    enum hoop_status status = inventory_create(state, &sync->inventory);

    if (status == HOOP_OK)
        status = listing_create(sync->inventory, &sync->listing);
    if (status == HOOP_OK)
        status = room_make(sync);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct digest_wide digest = inventory_digest(sync->inventory);
    said[BEGIN_VERSION] = state->version;
    said[BEGIN_LISTING] =
        digest_bytes(sync->listing.bytes, sync->listing.n_bytes);
    said[BEGIN_DIGEST] = digest.low;
    said[BEGIN_DIGEST + 1] = digest.high;
    return HOOP_OK;
}

/* odd has other tensors than rank 0: it finds out which. */
static enum hoop_status
listings_settle(struct sync *sync, uint32_t odd)
{
    CLEANUP(free) void *bytes = NULL;
    size_t n_bytes = 0;

    enum hoop_status status =
        hoop_broadcast_object(sync->listing.bytes, sync->listing.n_bytes,
                              sync->rank == 0 ? NULL : &bytes,
                              sync->rank == 0 ? NULL : &n_bytes, 0, sync->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (sync->rank == odd) {
        const struct listing_bytes theirs = {bytes, n_bytes};

        status = listing_compare(&sync->listing, &theirs,
                                 hoop_comm_world_rank(sync->comm, 0));
    }
    status = accord_reach(sync->accord, status, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    return error_raise(HOOP_E_INTERNAL,
                       "rank %u's tensors have another hash than rank 0's, but "
                       "are the same",
                       odd);
}

/* By what all ranks have said. */
static void
sources_find(struct sync *sync)
{
    const struct accord_word *words = sync->accord->words;
    uint64_t newest = 0;

    for (uint32_t rank = 0; rank < sync->size; rank++) {
        if (words[rank].numbers[BEGIN_VERSION] > newest)
            newest = words[rank].numbers[BEGIN_VERSION];
    }
    for (uint32_t rank = 0; rank < sync->size; rank++) {
        if (words[rank].numbers[BEGIN_VERSION] == newest)
            sync->sources[sync->n_sources++] = rank;
    }
    sync->is_source = words[sync->rank].numbers[BEGIN_VERSION] == newest;
    sync->tag = tag_of(TAG_STATE,
                       digest_bytes(words, sync->size * sizeof(*words)) >> 8);
    sync->report.version = newest;
    sync->report.n_sources = sync->n_sources;
    sync->report.n_blocks = sync->inventory->n_blocks;
    sync->report.n_bytes = sync->inventory->n_bytes;
}

static bool
is_all_the_same(const struct sync *sync)
{
    const struct accord_word *words = sync->accord->words;

    for (uint32_t rank = 1; rank < sync->size; rank++) {
        if (memcmp(&words[rank].numbers[BEGIN_DIGEST],
                   &words[0].numbers[BEGIN_DIGEST],
                   sizeof(struct digest_wide)) != 0)
            return false;
    }
    return true;
}

static enum hoop_status
sync_begin(struct sync *sync, const struct hoop_state *state)
{
    uint64_t said[ACCORD_NUMBERS] = {0};

    enum hoop_status status = state_describe(sync, state, said);
    status = accord_reach(sync->accord, status, said);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t rank = 1; rank < sync->size; rank++) {
        const struct accord_word *words = sync->accord->words;

        if (words[rank].numbers[BEGIN_LISTING] !=
            words[0].numbers[BEGIN_LISTING])
            return listings_settle(sync, rank);
    }
    sources_find(sync);
    if (sync->report.version > 0)
        return HOOP_OK;
    status = accord_reach(
        sync->accord,
        error_raise(HOOP_E_PRECONDITION,
                    "neither this rank nor another has a version above 0: "
                    "there is no state to bring"),
        NULL);
    return error_pass(status);
}

/* One that has the truth, too, has the same. */
static enum hoop_status
source_check(const struct sync *sync)
{
    const struct inventory *inventory = sync->inventory;

    for (uint64_t i = 0; i < inventory->n_blocks; i++) {
        if (digest_wide_equal(&inventory->digests[i], &sync->truth[i]))
            continue;
        const size_t entry = inventory_run(inventory, i, 1).entry;
        return error_raise(
            HOOP_E_PRECONDITION,
            "tensor \"%.200s\" holds other bytes than on rank %u, which has "
            "version %llu, too",
            inventory->entries[entry].named->name,
            hoop_comm_world_rank(sync->comm, sync->sources[0]),
            (unsigned long long)sync->report.version);
    }
    return HOOP_OK;
}

/* Who lacks what, for all to know. */
static enum hoop_status
gaps_tell(struct sync *sync)
{
    struct gaps_sum sum = {0};

    const size_t n_bytes =
        sync->inventory->n_blocks * sizeof(struct digest_wide);
    if (sync->rank == sync->sources[0])
        memcpy(sync->truth, sync->inventory->digests, n_bytes);
    enum hoop_status status =
        once_broadcast(sync->truth, n_bytes, sync->sources[0], sync->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (sync->is_source)
        status = source_check(sync);
    else
        sum = gaps_find(sync->inventory, sync->truth, sync->gaps);
    const uint64_t said[ACCORD_NUMBERS] = {sum.n_blocks, sum.n_bytes};
    status = accord_reach(sync->accord, status, said);
    if (status != HOOP_OK)
        return error_pass(status);
    sync->report.blocks_needed = sum.n_blocks;
    sync->report.bytes_needed = sum.n_bytes;
    for (uint32_t rank = 0; rank < sync->size; rank++) {
        const uint64_t *numbers = sync->accord->words[rank].numbers;

        sync->report.bytes_moved += numbers[NEEDS_BYTES];
        if (numbers[NEEDS_BLOCKS] > 0)
            sync->counts[rank] = gaps_bytes(sync->inventory);
    }
    status = once_allgatherv(sync->gaps, sync->all_gaps, sync->counts,
                             HOOP_UINT8, sync->comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Of those who lack any, the number-th is rank. Each begins with another source,
 * so that few blocks each do not all come from the first. */
static void
lanes_lay(struct sync *sync, struct haul *haul, uint32_t rank, uint32_t number)
{
    const uint8_t *gaps = sync->all_gaps + number * gaps_bytes(sync->inventory);
    const uint64_t n_bytes = sync->accord->words[rank].numbers[NEEDS_BYTES];

    for (uint32_t i = 0; i < sync->n_sources; i++) {
        const uint32_t source = sync->sources[(i + number) % sync->n_sources];
        const struct quota_part part = {i, sync->n_sources};

        if (sync->rank != (sync->is_source ? source : rank))
            continue;
        sync->lanes[haul->n_lanes++] = (struct haul_lane){
            .peer = sync->is_source ? rank : source,
            .quota = quota_of(sync->inventory, gaps, n_bytes, part),
        };
    }
}

/* What has come is what was hashed. */
static enum hoop_status
arrivals_check(const struct sync *sync)
{
    const struct inventory *inventory = sync->inventory;

    for (uint64_t i = 0; i < inventory->n_blocks; i++) {
        if (!gaps_has(sync->gaps, i))
            continue;
        const struct inventory_run run = inventory_run(inventory, i, 1);
        const struct digest_wide digest =
            digest_wide_bytes(run.at, run.n_bytes);

        if (!digest_wide_equal(&digest, &sync->truth[i]))
            return error_raise(
                HOOP_E_DATA_LOSS,
                "tensor \"%.200s\", %zu bytes from %zu on: what came is not "
                "what was hashed; does somebody write to it?",
                inventory->entries[run.entry].named->name, run.n_bytes,
                run.offset);
    }
    return HOOP_OK;
}

static enum hoop_status
blocks_move(struct sync *sync)
{
    struct haul haul = {
        .comm = sync->comm,
        .kind = sync->is_source ? HOOP_SEND : HOOP_RECV,
        .lanes = sync->lanes,
        .tag = sync->tag,
    };
    uint32_t number = 0;
    uint64_t n_bytes = 0;

    for (uint32_t rank = 0; rank < sync->size; rank++) {
        if (sync->counts[rank] > 0)
            lanes_lay(sync, &haul, rank, number++);
    }
    enum hoop_status status = haul_run(&haul, &n_bytes);
    if (status == HOOP_OK && !sync->is_source)
        status = arrivals_check(sync);
    if (sync->is_source)
        sync->report.bytes_sent = n_bytes;
    status = accord_reach(sync->accord, status, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Who has heard all gaps may go on to wait for blocks of those that give up here,
 * and live. Before, nobody waits for one rank alone; and behind it no rank that
 * gives up owes a block. So whoever has finished, and calls other things on comm,
 * can go on with them. */
static void
loss_tell(const hoop_comm_t *comm, enum hoop_status status)
{
    char text[LIMIT_ERROR_TEXT];

    if (!status_is_loss(status))
        return;
    snprintf(text, sizeof(text), "%s", error_text());
    channel_revoke(comm->channel, text);
    (void)error_raise(status, "%s", text);
}

static enum hoop_status
sync_run(struct sync *sync, const struct hoop_state *state)
{
    enum hoop_status status = accord_create(sync->comm, &sync->accord);

    if (status == HOOP_OK)
        status = sync_begin(sync, state);
    if (status == HOOP_OK && is_all_the_same(sync))
        return HOOP_OK;
    if (status == HOOP_OK) {
        status = gaps_tell(sync);
        loss_tell(sync->comm, status);
    }
    if (status == HOOP_OK)
        status = blocks_move(sync);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_state_sync(const struct hoop_state *state,
                hoop_comm_t *comm,
                struct hoop_state_report *out_report)
{
    bool is_member;
    enum hoop_status status = presence_check(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    struct sync sync = {
        .comm = comm,
        .rank = hoop_comm_rank(comm),
        .size = hoop_comm_size(comm),
    };
    channel_set_purpose(comm->channel, "hoop_state_sync()");
    status = sync_run(&sync, state);
    channel_set_purpose(comm->channel, NULL);
    sync_deinit(&sync);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_report)
        *out_report = sync.report;
    return HOOP_OK;
}
