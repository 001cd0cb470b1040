/*
 * codec/coder.h - the implementation of a codec id; private to codec/
 *
 * There is one file per coder. codec.c picks the coder by id and has checked
 * that in and out are at most LIMIT_FRAME_PAYLOAD.
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

/* Work space between a payload and its raw bytes, for words of any size. */
struct codec_bench {
    _Alignas(64) uint8_t words[LIMIT_FRAME_PAYLOAD + 64];
    uint8_t planes[LIMIT_FRAME_PAYLOAD];
    uint8_t narrow[LIMIT_FRAME_PAYLOAD];
    uint8_t mask[LIMIT_FRAME_PAYLOAD / 8];
};

/* Each context is made by its coder at the first use. */
struct codec {
    struct ZSTD_CCtx_s *zstd_compressor;
    struct ZSTD_CCtx_s *zstd_bytes; /* does not look for repetitions */
    struct ZSTD_DCtx_s *zstd_decompressor;
    struct codec_bench *bench;
};

struct coder {
    const char *name;

    /* Return the stored size, at most out_max, or 0 if that is too little. */
    size_t (*encode)(struct codec *codec,
                     struct codec_block in,
                     uint8_t *out,
                     size_t out_max);

    /* Return whether in was exactly n_raw bytes, which are now at out. */
    bool (*decode)(struct codec *codec,
                   struct codec_span in,
                   uint8_t *out,
                   size_t n_raw);

    /* Release this coder's contexts, if any. */
    void (*deinit)(struct codec *codec);
};

extern const struct coder coder_none;
extern const struct coder coder_zstd;
extern const struct coder coder_planes;

/* Encode as coder_zstd does, but without looking for repetitions: only the
 * frequency of each byte counts. Faster. */
size_t
coder_zstd_bytes(struct codec *codec,
                 struct codec_block in,
                 uint8_t *out,
                 size_t out_max);

/* Return the work space of the codec, made at the first call; NULL: no
 * memory. */
struct codec_bench *
codec_bench(struct codec *codec);

#endif
