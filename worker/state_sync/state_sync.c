/*
 * state_sync/state_sync.c - bring all ranks to the newest state among them
 *
 * Three agreements (api/internal_collective.h) divide the call. In the first,
 * each rank contributes its version, a hash of its manifest text, and a hash of
 * the hashes of its blocks. If the latter are equal on all ranks, the call is
 * done. Otherwise the first source, a rank that has the newest version,
 * broadcasts the hashes of its blocks, and each rank determines which blocks it
 * lacks. After the second agreement the ranks exchange the bitmaps of missing
 * blocks, and the blocks are transferred. The third agreement confirms that all
 * ranks have succeeded.
 *
 * Whatever can fail on one rank alone is done before an agreement, so that no
 * rank waits for one that has given up.
 */

#include <stdio.h>
#include <string.h>

#include "hoop/object.h"

#include "api/collective.h"
#include "api/internal_collective.h"
#include "api/tags.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/comm.h"
#include "state_sync/block_transfer.h"
#include "state_sync/tensor_manifest.h"

/* Indices of the numbers in an agreement. */
enum {
    AGREE_NUMBER_STATE_VERSION = 0,
    AGREE_NUMBER_MANIFEST_DIGEST,
    AGREE_NUMBER_STATE_DIGEST, /* two numbers */
    AGREE_NUMBER_MISSING_BLOCKS = 0,
    AGREE_NUMBER_MISSING_BYTES,
};

struct state_sync {
    hoop_comm_t *comm;
    uint32_t rank;
    uint32_t size;
    struct agree_status *agree_status;
    struct state_manifest *tensor_manifest;
    struct manifest_text_bytes manifest_text;
    struct digest_128
        *newest_digests;     /* hashes of the newest state, by block */
    uint8_t *missing_blocks; /* bitmap of this rank */
    /* bitmaps of the ranks that lack any blocks, in order of rank */
    uint8_t *missing_blocks_by_rank;
    /* bytes of the bitmap of each rank; 0: it lacks no blocks */
    size_t *counts;
    struct block_transfer_lane *lanes;
    uint32_t *sources; /* ranks that have the newest version */
    uint32_t n_sources;
    bool has_newest_state;
    uint64_t tag;
    struct hoop_state_report report;
};

static void
state_sync_deinit(struct state_sync *sync)
{
    agree_status_destroy(sync->agree_status);
    state_manifest_destroy(sync->tensor_manifest);
    free(sync->manifest_text.bytes);
    free(sync->newest_digests);
    free(sync->missing_blocks);
    free(sync->missing_blocks_by_rank);
    free(sync->counts);
    free(sync->lanes);
    free(sync->sources);
}

/* Allocate everything in advance. Memory that is never touched costs
 * nothing. */
static enum hoop_status
state_sync_allocate(struct state_sync *sync)
{
    const size_t n_missing = missing_blocks_bitmap_bytes(sync->tensor_manifest);

    sync->newest_digests =
        calloc(sync->tensor_manifest->n_blocks + 1, sizeof(struct digest_128));
    sync->missing_blocks = calloc(1, n_missing);
    sync->missing_blocks_by_rank = calloc(sync->size, n_missing);
    sync->counts = calloc(sync->size, sizeof(*sync->counts));
    sync->lanes = calloc(sync->size, sizeof(*sync->lanes));
    sync->sources = calloc(sync->size, sizeof(*sync->sources));
    if (!sync->newest_digests || !sync->missing_blocks ||
        !sync->missing_blocks_by_rank || !sync->counts || !sync->lanes ||
        !sync->sources)
        return error_raise(
            HOOP_E_EXHAUSTED, "no memory to compare %llu blocks of %u ranks",
            (unsigned long long)sync->tensor_manifest->n_blocks, sync->size);
    return HOOP_OK;
}

static enum hoop_status
state_sync_describe_state(struct state_sync *sync,
                          const struct hoop_state *state,
                          uint64_t said[AGREE_STATUS_N_VALUES])
{
    enum hoop_status status =
        state_manifest_create(state, &sync->tensor_manifest);

    if (status == HOOP_OK)
        status =
            state_manifest_to_text(sync->tensor_manifest, &sync->manifest_text);
    if (status == HOOP_OK)
        status = state_sync_allocate(sync);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct digest_128 digest =
        state_manifest_hash_blocks(sync->tensor_manifest);
    said[AGREE_NUMBER_STATE_VERSION] = state->version;
    said[AGREE_NUMBER_MANIFEST_DIGEST] =
        digest_bytes(sync->manifest_text.bytes, sync->manifest_text.n_bytes);
    said[AGREE_NUMBER_STATE_DIGEST] = digest.low;
    said[AGREE_NUMBER_STATE_DIGEST + 1] = digest.high;
    return HOOP_OK;
}

/* Rank odd has other tensors than rank 0. It finds out which, and all ranks
 * fail with its text. */
static enum hoop_status
raise_manifest_mismatch(struct state_sync *sync, uint32_t odd)
{
    CLEANUP(free) void *bytes = NULL;
    size_t n_bytes = 0;

    enum hoop_status status = hoop_broadcast_object(
        sync->manifest_text.bytes, sync->manifest_text.n_bytes,
        sync->rank == 0 ? NULL : &bytes, sync->rank == 0 ? NULL : &n_bytes, 0,
        sync->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (sync->rank == odd) {
        const struct manifest_text_bytes theirs = {bytes, n_bytes};

        status = manifest_text_compare(&sync->manifest_text, &theirs,
                                       hoop_comm_world_rank(sync->comm, 0));
    }
    status = agree_status_exchange(sync->agree_status, status, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    return error_raise(HOOP_E_INTERNAL,
                       "rank %u's tensors have another hash than rank 0's, but "
                       "are the same",
                       odd);
}

/* Determine the sources from what all ranks contributed. */
static void
newest_state_sources_select(struct state_sync *sync)
{
    const struct agree_status_report *reports = sync->agree_status->reports;
    uint64_t newest = 0;

    for (uint32_t rank = 0; rank < sync->size; rank++) {
        if (reports[rank].numbers[AGREE_NUMBER_STATE_VERSION] > newest)
            newest = reports[rank].numbers[AGREE_NUMBER_STATE_VERSION];
    }
    for (uint32_t rank = 0; rank < sync->size; rank++) {
        if (reports[rank].numbers[AGREE_NUMBER_STATE_VERSION] == newest)
            sync->sources[sync->n_sources++] = rank;
    }
    sync->has_newest_state =
        reports[sync->rank].numbers[AGREE_NUMBER_STATE_VERSION] == newest;
    sync->tag = tag_of_library_part(
        TAG_STATE_SYNC_BLOCKS,
        digest_bytes(reports, sync->size * sizeof(*reports)) >> 8);
    sync->report.version = newest;
    sync->report.n_sources = sync->n_sources;
    sync->report.n_blocks = sync->tensor_manifest->n_blocks;
    sync->report.n_bytes = sync->tensor_manifest->n_bytes;
}

static bool
all_states_are_equal(const struct state_sync *sync)
{
    const struct agree_status_report *reports = sync->agree_status->reports;

    for (uint32_t rank = 1; rank < sync->size; rank++) {
        if (memcmp(&reports[rank].numbers[AGREE_NUMBER_STATE_DIGEST],
                   &reports[0].numbers[AGREE_NUMBER_STATE_DIGEST],
                   sizeof(struct digest_128)) != 0)
            return false;
    }
    return true;
}

static enum hoop_status
state_sync_agree_newest(struct state_sync *sync, const struct hoop_state *state)
{
    uint64_t said[AGREE_STATUS_N_VALUES] = {0};

    enum hoop_status status = state_sync_describe_state(sync, state, said);
    status = agree_status_exchange(sync->agree_status, status, said);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t rank = 1; rank < sync->size; rank++) {
        const struct agree_status_report *reports = sync->agree_status->reports;

        if (reports[rank].numbers[AGREE_NUMBER_MANIFEST_DIGEST] !=
            reports[0].numbers[AGREE_NUMBER_MANIFEST_DIGEST])
            return raise_manifest_mismatch(sync, rank);
    }
    newest_state_sources_select(sync);
    if (sync->report.version > 0)
        return HOOP_OK;
    status = agree_status_exchange(
        sync->agree_status,
        error_raise(HOOP_E_PRECONDITION,
                    "neither this rank nor another has a version above 0: "
                    "there is no state to bring"),
        NULL);
    return error_pass(status);
}

/* Check that this source has the same bytes as the first source. */
static enum hoop_status
source_check_same_bytes(const struct state_sync *sync)
{
    const struct state_manifest *tensor_manifest = sync->tensor_manifest;

    for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
        if (digest_128_equal(&tensor_manifest->digests[i],
                             &sync->newest_digests[i]))
            continue;
        const size_t entry =
            state_manifest_byte_range(tensor_manifest, i, 1).entry;
        return error_raise(
            HOOP_E_PRECONDITION,
            "tensor \"%.200s\" holds other bytes than on rank %u, which has "
            "version %llu, too",
            tensor_manifest->entries[entry].named->name,
            hoop_comm_world_rank(sync->comm, sync->sources[0]),
            (unsigned long long)sync->report.version);
    }
    return HOOP_OK;
}

/* Determine the missing blocks of each rank and share them with all ranks. */
static enum hoop_status
missing_blocks_exchange(struct state_sync *sync)
{
    struct missing_blocks_totals sum = {0};

    const size_t n_bytes =
        sync->tensor_manifest->n_blocks * sizeof(struct digest_128);
    if (sync->rank == sync->sources[0])
        memcpy(sync->newest_digests, sync->tensor_manifest->digests, n_bytes);
    enum hoop_status status = internal_broadcast(sync->newest_digests, n_bytes,
                                                 sync->sources[0], sync->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (sync->has_newest_state)
        status = source_check_same_bytes(sync);
    else
        sum = missing_blocks_find(sync->tensor_manifest, sync->newest_digests,
                                  sync->missing_blocks);
    const uint64_t said[AGREE_STATUS_N_VALUES] = {sum.n_blocks, sum.n_bytes};
    status = agree_status_exchange(sync->agree_status, status, said);
    if (status != HOOP_OK)
        return error_pass(status);
    sync->report.blocks_needed = sum.n_blocks;
    sync->report.bytes_needed = sum.n_bytes;
    for (uint32_t rank = 0; rank < sync->size; rank++) {
        const uint64_t *numbers = sync->agree_status->reports[rank].numbers;

        sync->report.bytes_moved += numbers[AGREE_NUMBER_MISSING_BYTES];
        if (numbers[AGREE_NUMBER_MISSING_BLOCKS] > 0)
            sync->counts[rank] =
                missing_blocks_bitmap_bytes(sync->tensor_manifest);
    }
    status =
        internal_allgatherv(sync->missing_blocks, sync->missing_blocks_by_rank,
                            sync->counts, HOOP_UINT8, sync->comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Create the lanes for rank, the number-th of the ranks that lack blocks. Each
 * of these ranks begins with a different source: if each lacks few blocks, they
 * do not all come from the first source. */
static void
transfer_lanes_create(struct state_sync *sync,
                      struct block_transfer *block_transfer,
                      uint32_t rank,
                      uint32_t number)
{
    const uint8_t *missing_blocks =
        sync->missing_blocks_by_rank +
        number * missing_blocks_bitmap_bytes(sync->tensor_manifest);
    const uint64_t n_bytes =
        sync->agree_status->reports[rank].numbers[AGREE_NUMBER_MISSING_BYTES];

    for (uint32_t i = 0; i < sync->n_sources; i++) {
        const uint32_t source = sync->sources[(i + number) % sync->n_sources];
        const struct source_part part = {i, sync->n_sources};

        if (sync->rank != (sync->has_newest_state ? source : rank))
            continue;
        sync->lanes[block_transfer->n_lanes++] = (struct block_transfer_lane){
            .peer = sync->has_newest_state ? rank : source,
            .source_assignment = source_assignment_compute(
                sync->tensor_manifest, missing_blocks, n_bytes, part),
        };
    }
}

/* Check that the blocks received have the hashes that the source announced. */
static enum hoop_status
received_blocks_check(const struct state_sync *sync)
{
    const struct state_manifest *tensor_manifest = sync->tensor_manifest;

    for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
        if (!missing_blocks_has(sync->missing_blocks, i))
            continue;
        const struct state_manifest_byte_range run =
            state_manifest_byte_range(tensor_manifest, i, 1);
        const struct digest_128 digest = digest_128_bytes(run.at, run.n_bytes);

        if (!digest_128_equal(&digest, &sync->newest_digests[i]))
            return error_raise(
                HOOP_E_DATA_LOSS,
                "tensor \"%.200s\", %zu bytes from %zu on: what came is not "
                "what was hashed; does somebody write to it?",
                tensor_manifest->entries[run.entry].named->name, run.n_bytes,
                run.offset);
    }
    return HOOP_OK;
}

static enum hoop_status
missing_blocks_transfer(struct state_sync *sync)
{
    struct block_transfer block_transfer = {
        .comm = sync->comm,
        .kind = sync->has_newest_state ? HOOP_SEND : HOOP_RECV,
        .lanes = sync->lanes,
        .tag = sync->tag,
    };
    uint32_t number = 0;
    uint64_t n_bytes = 0;

    for (uint32_t rank = 0; rank < sync->size; rank++) {
        if (sync->counts[rank] > 0)
            transfer_lanes_create(sync, &block_transfer, rank, number++);
    }
    enum hoop_status status = block_lanes_transfer(&block_transfer, &n_bytes);
    if (status == HOOP_OK && !sync->has_newest_state)
        status = received_blocks_check(sync);
    if (sync->has_newest_state)
        sync->report.bytes_sent = n_bytes;
    status = agree_status_exchange(sync->agree_status, status, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Revoke comm after a loss in missing_blocks_exchange(): ranks that have
 * completed the exchange may wait for blocks of this rank, which lives but
 * gives up here. Before the exchange no rank waits for a single other one, and
 * after it a rank that gives up owes no blocks. So no revocation is needed
 * there, and ranks that have finished can go on with other calls on comm. */
static void
revoke_after_peer_loss(const hoop_comm_t *comm, enum hoop_status status)
{
    char text[LIMIT_ERROR_TEXT];

    if (!status_is_loss(status))
        return;
    snprintf(text, sizeof(text), "%s", error_text());
    context_revoke(comm->context, text);
    (void)error_raise(status, "%s", text);
}

static enum hoop_status
state_sync_run(struct state_sync *sync, const struct hoop_state *state)
{
    enum hoop_status status =
        agree_status_create(sync->comm, &sync->agree_status);

    if (status == HOOP_OK)
        status = state_sync_agree_newest(sync, state);
    if (status == HOOP_OK && all_states_are_equal(sync))
        return HOOP_OK;
    if (status == HOOP_OK) {
        status = missing_blocks_exchange(sync);
        revoke_after_peer_loss(sync->comm, status);
    }
    if (status == HOOP_OK)
        status = missing_blocks_transfer(sync);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_state_sync(const struct hoop_state *state,
                hoop_comm_t *comm,
                struct hoop_state_report *out_report)
{
    bool is_member;
    enum hoop_status status = comm_call_begin(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    struct state_sync sync = {
        .comm = comm,
        .rank = hoop_comm_rank(comm),
        .size = hoop_comm_size(comm),
    };
    context_set_wait_purpose(comm->context, "hoop_state_sync()");
    status = state_sync_run(&sync, state);
    context_set_wait_purpose(comm->context, NULL);
    state_sync_deinit(&sync);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_report)
        *out_report = sync.report;
    return HOOP_OK;
}
