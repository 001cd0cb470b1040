/*
 * codec/codec.h - payloads coded a segment at a time, by id
 *
 * A codec is a pair of contexts that one connection reuses; a segment is at
 * most LIMIT_FRAME_PAYLOAD raw bytes and stands alone. Thread: one at a time
 * for a context.
 */

#ifndef CODEC_CODEC_H
#define CODEC_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum codec_id {
    CODEC_NONE = 0,
    CODEC_ZSTD = 1,
};

struct codec; /* contexts of every id, made when first needed */

enum hoop_status
codec_create(struct codec **out_codec);
void
codec_destroy(struct codec *codec);

/* "none", "zstd". Handle: HOOP_E_INVALID. */
enum hoop_status
codec_parse(const char *name, enum codec_id *out_id);
const char *
codec_name(enum codec_id id);

struct codec_span {
    const uint8_t *bytes;
    size_t n_bytes;
};

/*
 * Code in into out, which has room for out_max bytes. Returns the stored
 * size, or 0 when coding does not make it smaller: send it raw then.
 */
size_t
codec_encode(struct codec *codec,
             enum codec_id id,
             struct codec_span in,
             uint8_t *out,
             size_t out_max);

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
