/*
 * codec/coder.h - what stands behind a codec id
 *
 * One file per coder; codec.c picks by id and checks sizes before: in and out
 * are at most LIMIT_FRAME_PAYLOAD.
 */

#ifndef CODEC_CODER_H
#define CODEC_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* Contexts are made by their coder when first needed. */
struct codec {
    struct ZSTD_CCtx_s *zstd_compressor;
    struct ZSTD_DCtx_s *zstd_decompressor;
};

struct coder {
    const char *name;

    /* The stored size, at most out_max; 0 when that is not enough. */
    size_t (*encode)(struct codec *codec,
                     struct codec_span in,
                     uint8_t *out,
                     size_t out_max);

    /* Whether in was exactly n_raw bytes, which are at out now. */
    bool (*decode)(struct codec *codec,
                   struct codec_span in,
                   uint8_t *out,
                   size_t n_raw);

    /* Release this coder's contexts, if there are any. */
    void (*deinit)(struct codec *codec);
};

extern const struct coder coder_none;
extern const struct coder coder_zstd;

#endif
