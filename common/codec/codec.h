/*
 * codec/codec.h - encodes and decodes payloads, one segment at a time
 *
 * A codec holds the compression contexts that one connection reuses. A segment
 * has at most LIMIT_FRAME_PAYLOAD raw bytes and is decoded without any other
 * segment. An id has two parts: the lower says how bytes are packed, without
 * loss; the upper says how floats were shortened before that (codec/loss.h), if
 * at all.
 *
 * Thread: one at a time for a codec.
 */

#ifndef CODEC_CODEC_H
#define CODEC_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/config.h"
#include "codec/loss.h"

enum {
    CODEC_LOSS_SHIFT = 4, /* position of the upper part of an id on the wire */
};

static inline uint32_t
codec_with_loss(enum codec_id id, enum codec_loss loss)
{
    return (uint32_t)loss << CODEC_LOSS_SHIFT | (uint32_t)id;
}

struct codec; /* contexts of every id, each made at its first use */

enum hoop_status
codec_create(struct codec **out_codec);
void
codec_destroy(struct codec *codec);

/* "none", "zstd", "planes", ... Handle: HOOP_E_INVALID. */
enum hoop_status
codec_parse(const char *name, enum codec_id *out_id);
const char *
codec_name(enum codec_id id);

struct codec_span {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* What is encoded. word_size is the size in bytes of its floats, or of one part
 * of complex numbers; 0: they are not floats. */
struct codec_block {
    const uint8_t *bytes;
    size_t n_bytes;
    size_t word_size;
};

/*
 * Encode in into out, which has room for out_max bytes. Return the stored size,
 * or 0 if encoding does not make it smaller: then send it raw.
 */
size_t
codec_encode(struct codec *codec,
             enum codec_id id,
             struct codec_block in,
             uint8_t *out,
             size_t out_max);

/*
 * Encode float32s and shorten them as the upper part of id says.
 *
 * in holds whole floats, and whole blocks except at the end of a message. out
 * has room for loss_n_stored() bytes. Never returns 0: if packing does not make
 * the shortened floats smaller, they are stored unpacked. *out_id says how they
 * are stored.
 */
size_t
codec_encode_lossy(struct codec *codec,
                   uint32_t id,
                   struct codec_block in,
                   uint8_t *out,
                   uint32_t *out_id);

/*
 * Decode in into exactly n_raw bytes at out. The input is not trusted: a wrong
 * length or damaged bytes are an error, and nothing beyond out is written.
 * Handle: HOOP_E_DATA_LOSS (also for an unknown id).
 */
enum hoop_status
codec_decode(struct codec *codec,
             uint32_t id,
             struct codec_span in,
             uint8_t *out,
             size_t n_raw);

#endif
