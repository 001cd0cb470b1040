/*
 * checkpoint/checkpoint_verify.c - read all files and compare their digests
 *
 * A save may replace the checkpoint meanwhile, so a failure counts only if the
 * index has not changed.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hoop/checkpoint.h"

#include "base/cancel.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "checkpoint/file_reader.h"
#include "checkpoint/folder.h"
#include "checkpoint/piece.h"

enum {
    ATTEMPTS = 100, /* each failed because a save was faster */
    BUFFER_BYTES = 1024 * 1024,
};

static enum hoop_status
checkpoint_file_digest(const struct folder *folder,
                       const struct hoop_checkpoint_file *file,
                       uint64_t *out_digest)
{
    CLEANUP(file_reader_destroy) struct file_reader *file_reader = NULL;
    CLEANUP(digest_destroy) struct digest *digest = NULL;
    CLEANUP(free) uint8_t *buffer = malloc(BUFFER_BYTES);

    if (!buffer)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for reading");
    enum hoop_status status = digest_create(&digest);
    if (status == HOOP_OK)
        status = file_reader_create(folder, file, &file_reader);
    for (uint64_t at = 0; status == HOOP_OK && at < file->n_bytes;
         at += BUFFER_BYTES) {
        const uint64_t n_left = file->n_bytes - at;
        const struct file_range range = {
            at, buffer, n_left < BUFFER_BYTES ? n_left : BUFFER_BYTES};

        status = file_reader_add_range(file_reader, &range);
        if (status == HOOP_OK)
            status = file_reader_read_pending(file_reader);
        digest_add(digest, buffer, range.n_bytes);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_digest = digest_value(digest);
    return HOOP_OK;
}

/* offsets has space for the offsets of all tensors. */
static enum hoop_status
checkpoint_file_verify(const struct folder *folder,
                       const struct checkpoint_manifest *manifest,
                       uint32_t number,
                       uint64_t *offsets)
{
    const struct hoop_checkpoint_file *file = &manifest->files[number];
    uint64_t digest = 0;

    if (piece_file_offsets(manifest, number, offsets) != file->n_bytes)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/index.json gives %s other bytes than its "
                           "tensors make",
                           folder->path, file->name);
    const enum hoop_status status =
        checkpoint_file_digest(folder, file, &digest);
    if (status != HOOP_OK)
        return error_pass(status);
    if (digest != file->digest)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s has the digest %016" PRIx64
                           ", the index says %016" PRIx64 ": it is damaged",
                           folder->path, file->name, digest, file->digest);
    return HOOP_OK;
}

static enum hoop_status
manifest_verify_files(const struct folder *folder,
                      const struct checkpoint_manifest *manifest)
{
    CLEANUP(free)
    uint64_t *offsets =
        calloc(manifest->contents.n_tensors + 1, sizeof(*offsets));

    if (!offsets)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the offsets");
    for (uint32_t i = 0; i < manifest->contents.n_files; i++) {
        const enum hoop_status status =
            checkpoint_file_verify(folder, manifest, i, offsets);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* *out_is_outdated: the checkpoint has been replaced meanwhile. */
static enum hoop_status
folder_verify_checkpoint(const struct folder *folder, bool *out_is_outdated)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;
    CLEANUP(manifest_destroy) struct checkpoint_manifest *now = NULL;
    char text[LIMIT_ERROR_TEXT];

    enum hoop_status status = folder_load_manifest(folder, &manifest);
    if (status != HOOP_OK)
        return error_pass(status);
    status = manifest_verify_files(folder, manifest);
    if (status == HOOP_OK)
        return HOOP_OK;
    snprintf(text, sizeof(text), "%s", error_text());
    *out_is_outdated = folder_load_manifest(folder, &now) == HOOP_OK &&
                       now->token != manifest->token;
    return error_raise(status, "%s", text);
}

enum hoop_status
hoop_checkpoint_verify(const char *folder)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct folder opened = FOLDER_CLOSED;
    bool is_outdated = true;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = folder_open(folder, &opened);
    if (status != HOOP_OK)
        return error_pass(status);
    for (int i = 0; i < ATTEMPTS && is_outdated; i++) {
        is_outdated = false;
        status = folder_verify_checkpoint(&opened, &is_outdated);
    }
    folder_close(&opened);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
