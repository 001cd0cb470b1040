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

#include "base/limits.h"
#include "codec/codec.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* What lies between a payload and its raw bytes: whole words of any size. */
struct codec_bench {
    _Alignas(64) uint8_t words[LIMIT_FRAME_PAYLOAD + 64];
    uint8_t planes[LIMIT_FRAME_PAYLOAD];
    uint8_t narrow[LIMIT_FRAME_PAYLOAD];
    uint8_t mask[LIMIT_FRAME_PAYLOAD / 8];
};

/* Contexts are made by their coder when first needed. */
struct codec {
    struct ZSTD_CCtx_s *zstd_compressor;
    struct ZSTD_CCtx_s *zstd_bytes; /* ... that does not look for repetitions */
    struct ZSTD_DCtx_s *zstd_decompressor;
    struct codec_bench *bench;
};

struct coder {
    const char *name;

    /* The stored size, at most out_max; 0 when that is not enough. */
    size_t (*encode)(struct codec *codec,
                     struct codec_block in,
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
extern const struct coder coder_planes;

/* As coder_zstd's encode, for bytes that hardly ever come in the same order
 * twice: only how frequent each is counts. Faster. */
size_t
coder_zstd_bytes(struct codec *codec,
                 struct codec_block in,
                 uint8_t *out,
                 size_t out_max);

/* The codec's own, made when first asked for; NULL: no memory. */
struct codec_bench *
codec_bench(struct codec *codec);

#endif
