/* checkpoint/fetch.c - read this rank's parts of tensors from the files */

#include "checkpoint/fetch.h"

#include <stdlib.h>

#include "base/error.h"
#include "checkpoint/file.h"
#include "checkpoint/piece.h"
#include "dtype/dtype.h"

/* Whether a file contains anything that this rank wants. */
static bool
file_has_wanted_part(const struct checkpoint_fetch *fetch, uint32_t file)
{
    struct overlap_run run;

    for (size_t i = 0; i < fetch->n_parts; i++) {
        const struct fetch_part *wanted = &fetch->parts[i];
        const struct tensor_piece piece =
            tensor_piece_of_place(fetch->manifest, wanted->number, file);
        struct overlap overlap =
            overlap_of_piece_and_part(&piece, &wanted->part);

        if (overlap_next_run(&overlap, &run))
            return true;
    }
    return false;
}

/* Read what a file contains of a part. offset is where its piece begins. */
static enum hoop_status
part_read_from_file(const struct checkpoint_fetch *fetch,
                    const struct fetch_part *wanted,
                    struct overlap *overlap,
                    uint64_t offset,
                    struct file_reader *file_reader)
{
    const size_t element =
        dtype_size(fetch->manifest->tensors[wanted->number].dtype);
    struct overlap_run run;

    while (overlap_next_run(overlap, &run)) {
        const struct file_range range = {
            .offset = offset + run.from * element,
            .bytes = (uint8_t *)wanted->bytes + run.to * element,
            .n_bytes = run.n_elements * element,
        };
        const enum hoop_status status =
            file_reader_add_range(file_reader, &range);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Read from one file. offsets has space for the offsets of all tensors. */
static enum hoop_status
parts_read_from_file(const struct checkpoint_fetch *fetch,
                     uint32_t file,
                     uint64_t *offsets)
{
    CLEANUP(file_reader_destroy) struct file_reader *file_reader = NULL;
    const struct hoop_checkpoint_file *said = &fetch->manifest->files[file];
    const uint64_t n_bytes = piece_file_offsets(fetch->manifest, file, offsets);

    if (n_bytes != said->n_bytes)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/index.json gives %s %llu bytes, where its "
                           "tensors make %llu",
                           fetch->folder->path, said->name,
                           (unsigned long long)said->n_bytes,
                           (unsigned long long)n_bytes);
    enum hoop_status status =
        file_reader_create(fetch->folder, said, &file_reader);
    for (size_t i = 0; status == HOOP_OK && i < fetch->n_parts; i++) {
        const struct fetch_part *wanted = &fetch->parts[i];
        const struct tensor_piece piece =
            tensor_piece_of_place(fetch->manifest, wanted->number, file);
        struct overlap overlap =
            overlap_of_piece_and_part(&piece, &wanted->part);

        status = part_read_from_file(fetch, wanted, &overlap,
                                     offsets[wanted->number], file_reader);
    }
    if (status == HOOP_OK)
        status = file_reader_read_pending(file_reader);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
fetch_parts_from_files(const struct checkpoint_fetch *fetch)
{
    const uint32_t n_files = fetch->manifest->contents.n_files;
    CLEANUP(free)
    uint64_t *offsets =
        calloc(fetch->manifest->contents.n_tensors + 1, sizeof(*offsets));

    if (!offsets)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the offsets");
    for (uint32_t i = 0; i < n_files; i++) {
        const uint32_t file = (fetch->first_file % n_files + i) % n_files;

        if (!file_has_wanted_part(fetch, file))
            continue;
        const enum hoop_status status =
            parts_read_from_file(fetch, file, offsets);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}
