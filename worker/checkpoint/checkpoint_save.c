/*
 * checkpoint/checkpoint_save.c - save tensors on all ranks or on none
 *
 * Three agreements (api/internal_collective.h) divide a save. Before the first,
 * each rank checks what it is to save, and the first rank locks the folder and
 * chooses the names of the files. Before the second, the ranks compare parts
 * that several of them hold, and each writes its file to disk. Before the
 * third, the first rank commits.
 *
 * Files that no checkpoint will name are removed at once only if all ranks know
 * that. A rank that has lost the others cannot know, and leaves its file to the
 * next save.
 */

#include <stdbool.h>
#include <stdlib.h>

#include "hoop/checkpoint.h"

#include "api/internal_collective.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "checkpoint/file.h"
#include "checkpoint/folder.h"
#include "checkpoint/piece.h"
#include "checkpoint/request.h"
#include "dtype/dtype.h"
#include "session/comm.h"
#include "tensor/operand.h"

/* Indices of the numbers in an agreement. */
enum {
    AGREE_NUMBER_REQUEST_DIGEST = 0,
    AGREE_NUMBER_GENERATION,
    AGREE_NUMBER_TOKEN,
    AGREE_NUMBER_FILE_BYTES = 0,
    AGREE_NUMBER_FILE_DIGEST,
    AGREE_NUMBER_COMMIT_OUTCOME = 0,
};

struct checkpoint_save {
    struct checkpoint_request request;
    struct folder folder;
    struct agree_status *agree_status;
    struct checkpoint_manifest *manifest;
    uint32_t place;
    struct file_writer *file_writer; /* this rank's file */
};

/* On the first rank: lock the folder, remove what earlier saves have left and
 * choose the generation and token of this save. */
static enum hoop_status
folder_lock_and_clean(struct folder *folder,
                      uint64_t *out_generation,
                      uint64_t *token)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *before = NULL;

    enum hoop_status status = folder_lock(folder);
    if (status == HOOP_OK)
        status = folder_load_manifest(folder, &before);
    if (status == HOOP_E_NOT_FOUND)
        status = HOOP_OK;
    if (status == HOOP_OK)
        status = random_fill(token, sizeof(*token));
    if (status != HOOP_OK)
        return error_pass(status);
    folder_remove_old_files(folder, before);
    *out_generation = before ? before->contents.generation + 1 : 1;
    return HOOP_OK;
}

static enum hoop_status
checkpoint_save_begin(struct checkpoint_save *save, const char *path)
{
    uint64_t said[AGREE_STATUS_N_VALUES] = {0};
    const struct agree_status_report *first = &save->agree_status->reports[0];

    enum hoop_status status = request_to_manifest(
        &save->request, save->agree_status->comm, &save->manifest);
    if (status == HOOP_OK)
        status =
            manifest_digest(save->manifest, &said[AGREE_NUMBER_REQUEST_DIGEST]);
    if (status == HOOP_OK)
        status = folder_open(path, &save->folder);
    if (status == HOOP_OK && save->place == 0)
        status =
            folder_lock_and_clean(&save->folder, &said[AGREE_NUMBER_GENERATION],
                                  &said[AGREE_NUMBER_TOKEN]);
    status = agree_status_exchange(save->agree_status, status, said);
    if (status == HOOP_OK)
        status = agree_status_check_equal(save->agree_status,
                                          AGREE_NUMBER_REQUEST_DIGEST, "saves");
    if (status != HOOP_OK)
        return error_pass(status);
    manifest_set_generation(save->manifest,
                            first->numbers[AGREE_NUMBER_GENERATION],
                            first->numbers[AGREE_NUMBER_TOKEN]);
    return HOOP_OK;
}

/* Whether several ranks hold the same part of any tensor. The result is the
 * same on all ranks. */
static bool
any_part_is_replicated(const struct checkpoint_save *save)
{
    for (size_t i = 0; i < save->manifest->contents.n_tensors; i++) {
        for (uint32_t j = 0; j < save->manifest->contents.n_files; j++) {
            if (piece_first_replica_place(&save->manifest->tensors[i], j) != j)
                return true;
        }
    }
    return false;
}

/* digests holds one digest for each place and tensor, [place][tensor]. */
static enum hoop_status
replica_digests_compare(const struct checkpoint_save *save,
                        const uint64_t *digests)
{
    const size_t n = save->request.n_tensors;

    for (uint32_t place = 0; place < save->manifest->contents.n_files;
         place++) {
        for (size_t i = 0; i < n; i++) {
            const struct hoop_checkpoint_tensor *tensor =
                &save->manifest->tensors[i];
            const uint32_t first = piece_first_replica_place(tensor, place);

            if (digests[place * n + i] != digests[first * n + i])
                return error_raise(
                    HOOP_E_PRECONDITION,
                    "ranks %u and %u have the same part of tensor \"%s\" with "
                    "different bytes: make them the same, or save one of them",
                    hoop_comm_world_rank(save->agree_status->comm, first),
                    hoop_comm_world_rank(save->agree_status->comm, place),
                    tensor->name);
        }
    }
    return HOOP_OK;
}

/* Ranks that hold the same part each write a piece of it. If their bytes
 * differed, a loaded part would be a mixture. */
static enum hoop_status
replicas_compare(const struct checkpoint_save *save)
{
    const size_t n = save->request.n_tensors;
    hoop_comm_t *comm = save->agree_status->comm;

    if (!any_part_is_replicated(save))
        return HOOP_OK;
    CLEANUP(free)
    uint64_t *digests =
        calloc((hoop_comm_size(comm) + (size_t)1) * n, sizeof(*digests));
    if (!digests) {
        context_fail_next_call(comm->context, HOOP_E_EXHAUSTED,
                               "it has no memory to compare tensors");
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to compare %zu tensors of %u ranks", n,
                           hoop_comm_size(comm));
    }
    for (size_t i = 0; i < n; i++) {
        const struct hoop_tensor *local =
            hoop_dtensor_local(save->request.tensors[i].dtensor);

        digests[i] = digest_bytes(local->data, operand_bytes(local));
    }
    enum hoop_status status =
        internal_allgather(digests, digests + n, n, HOOP_UINT64, comm);
    if (status == HOOP_OK)
        status = replica_digests_compare(save, digests + n);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Write this rank's piece of a tensor. */
static enum hoop_status
tensor_piece_write(struct checkpoint_save *save, size_t number)
{
    const struct hoop_tensor *local =
        hoop_dtensor_local(save->request.tensors[number].dtensor);
    const size_t element = dtype_size(local->dtype);
    const struct tensor_piece piece =
        tensor_piece_of_place(save->manifest, number, save->place);

    if (piece.n_elements == 0)
        return HOOP_OK;
    enum hoop_status status = file_writer_append(
        save->file_writer, (const uint8_t *)local->data + piece.first * element,
        piece.n_elements * element);
    if (status == HOOP_OK)
        status = file_writer_pad(save->file_writer, PIECE_ALIGNMENT);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
rank_file_write(struct checkpoint_save *save, struct written_file *out_written)
{
    enum hoop_status status = file_writer_create(
        &save->folder, save->manifest->files[save->place].name,
        &save->file_writer);

    for (size_t i = 0; status == HOOP_OK && i < save->request.n_tensors; i++)
        status = tensor_piece_write(save, i);
    if (status == HOOP_OK)
        status = file_writer_sync_and_close(save->file_writer, out_written);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checkpoint_save_write(struct checkpoint_save *save)
{
    struct written_file written = {0};
    enum hoop_status status = replicas_compare(save);

    if (status == HOOP_OK)
        status = rank_file_write(save, &written);
    const uint64_t said[AGREE_STATUS_N_VALUES] = {written.n_bytes,
                                                  written.digest};

    status = agree_status_exchange(save->agree_status, status, said);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < save->manifest->contents.n_files; i++) {
        const uint64_t *numbers = save->agree_status->reports[i].numbers;

        save->manifest->files[i].n_bytes = numbers[AGREE_NUMBER_FILE_BYTES];
        save->manifest->files[i].digest = numbers[AGREE_NUMBER_FILE_DIGEST];
    }
    return HOOP_OK;
}

/* Commit on the first rank. *out_outcome is what the first rank reports, or
 * FOLDER_COMMIT_UNCERTAIN on a rank that does not receive it. */
static enum hoop_status
checkpoint_save_commit(struct checkpoint_save *save,
                       enum folder_commit_outcome *out_outcome)
{
    enum folder_commit_outcome outcome = FOLDER_COMMIT_UNCHANGED;
    enum hoop_status status = HOOP_OK;

    if (save->place == 0) {
        status = folder_check_files(&save->folder, save->manifest);
        if (status == HOOP_OK)
            status = folder_commit(&save->folder, save->manifest, &outcome);
    }
    const uint64_t said[AGREE_STATUS_N_VALUES] = {outcome};
    status = agree_status_exchange(save->agree_status, status, said);
    *out_outcome =
        save->agree_status->is_agreed
            ? (enum folder_commit_outcome)save->agree_status->reports[0]
                  .numbers[AGREE_NUMBER_COMMIT_OUTCOME]
            : FOLDER_COMMIT_UNCERTAIN;
    /* Clean even if the agreement failed: the first rank may be the only one
     * that knows of the commit. */
    if (outcome == FOLDER_COMMIT_DONE)
        folder_remove_old_files(&save->folder, save->manifest);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checkpoint_save_run(struct checkpoint_save *save, const char *path)
{
    enum folder_commit_outcome outcome = FOLDER_COMMIT_UNCHANGED;
    enum hoop_status status = checkpoint_save_begin(save, path);

    if (status != HOOP_OK)
        return error_pass(status);
    status = checkpoint_save_write(save);
    if (status == HOOP_OK)
        status = checkpoint_save_commit(save, &outcome);
    if (status != HOOP_OK && save->agree_status->is_agreed &&
        outcome == FOLDER_COMMIT_UNCHANGED)
        file_writer_discard(STEAL(save->file_writer));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_checkpoint_save(const char *folder,
                     const struct hoop_named_dtensor *tensors,
                     size_t n_tensors)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct checkpoint_save save = {.request = {tensors, n_tensors},
                                   .folder = FOLDER_CLOSED};
    hoop_comm_t *comm = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = request_comm_of_tensors(&save.request, &comm);
    if (status == HOOP_OK && !hoop_comm_is_member(comm))
        return HOOP_OK;
    if (status == HOOP_OK)
        status = agree_status_create(comm, &save.agree_status);
    if (status == HOOP_OK) {
        save.place = hoop_comm_rank(comm);
        status = checkpoint_save_run(&save, folder);
    }
    file_writer_destroy(save.file_writer);
    manifest_destroy(save.manifest);
    agree_status_destroy(save.agree_status);
    folder_close(&save.folder);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
