/*
 * codec/codec.h - payloads coded a segment at a time, by id
 *
 * A codec is a pair of contexts that one connection reuses; a segment is at
 * most LIMIT_FRAME_PAYLOAD raw bytes and stands alone. An id has two parts: how
 * bytes are packed, without loss, and above it what was lost of floats before
 * (codec/loss.h), if anything. Thread: one at a time for a context.
 */

#ifndef CODEC_CODEC_H
#define CODEC_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "codec/loss.h"

enum codec_id {
    CODEC_NONE = 0,
    CODEC_ZSTD = 1,
    CODEC_PLANES = 2, /* planes of the bytes of words, each by zstd */
    CODEC_AUTO = 3, /* no id: whoever sends chooses (codec/codec_autotune.h) */
};

enum {
    CODEC_LOSS_SHIFT = 4, /* the upper part of an id on the wire */
};

static inline uint32_t
codec_with_loss(enum codec_id id, enum codec_loss loss)
{
    return (uint32_t)loss << CODEC_LOSS_SHIFT | (uint32_t)id;
}

struct codec; /* contexts of every id, made when first needed */

enum hoop_status
codec_create(struct codec **out_codec);
void
codec_destroy(struct codec *codec);

/* "none", "zstd", "planes". Handle: HOOP_E_INVALID. */
enum hoop_status
codec_parse(const char *name, enum codec_id *out_id);
const char *
codec_name(enum codec_id id);

struct codec_span {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* What is to be coded, and the bytes of a float in it, or of a part of one
 * that is two; 0: they are no floats. */
struct codec_block {
    const uint8_t *bytes;
    size_t n_bytes;
    size_t word_size;
};

/*
 * Code in into out, which has room for out_max bytes. Returns the stored
 * size, or 0 when coding does not make it smaller: send it raw then.
 */
size_t
codec_encode(struct codec *codec,
             enum codec_id id,
             struct codec_block in,
             uint8_t *out,
             size_t out_max);

/*
 * The same of floats that lose what loss says, whole ones; and in whole blocks,
 * but at the end of a message. Never 0: out has room for what
 * loss_n_stored() says, which is taken where packing them makes nothing
 * smaller. *out_id is how they are stored.
 */
size_t
codec_encode_lossy(struct codec *codec,
                   uint32_t id,
                   struct codec_block in,
                   uint8_t *out,
                   uint32_t *out_id);

/*
 * Decode in into exactly n_raw bytes at out. The input is from outside: a
 * lying length or damaged bytes are an error and nothing past out is written.
 * Handle: HOOP_E_DATA_LOSS (also for an unknown id).
 */
enum hoop_status
codec_decode(struct codec *codec,
             uint32_t id,
             struct codec_span in,
             uint8_t *out,
             size_t n_raw);

#endif
