/* codec/codec.c - encodes and decodes payloads, one segment at a time */

#include "codec/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "codec/coder.h"

static const struct coder *const coders[] = {
    [CODEC_NONE] = &coder_none,
    [CODEC_ZSTD] = &coder_zstd,
    [CODEC_PLANES] = &coder_planes,
};

enum hoop_status
codec_create(struct codec **out_codec)
{
    struct codec *codec = calloc(1, sizeof(*codec));

    if (!codec)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a codec");
    *out_codec = codec;
    return HOOP_OK;
}

void
codec_destroy(struct codec *codec)
{
    if (!codec)
        return;
    for (size_t i = 0; i < COUNT_OF(coders); i++)
        coders[i]->deinit(codec);
    free(codec->bench);
    free(codec);
}

struct codec_bench *
codec_bench(struct codec *codec)
{
    if (!codec->bench)
        codec->bench = aligned_alloc(64, sizeof(*codec->bench));
    return codec->bench;
}

enum hoop_status
codec_parse(const char *name, enum codec_id *out_id)
{
    for (size_t i = 0; i < COUNT_OF(coders); i++) {
        if (strcmp(name, coders[i]->name) == 0) {
            *out_id = (enum codec_id)i;
            return HOOP_OK;
        }
    }
    return error_raise(HOOP_E_INVALID,
                       "codec '%s' is none of none, zstd and planes", name);
}

const char *
codec_name(enum codec_id id)
{
    assert((size_t)id < COUNT_OF(coders));
    return coders[id]->name;
}

size_t
codec_encode(struct codec *codec,
             enum codec_id id,
             struct codec_block in,
             uint8_t *out,
             size_t out_max)
{
    assert((size_t)id < COUNT_OF(coders));
    assert(in.n_bytes <= LIMIT_FRAME_PAYLOAD);

    if (in.n_bytes < 2)
        return 0;

    /* A result that is not smaller is useless, so leave no room for it. */
    const size_t n_useful = in.n_bytes - 1;

    return coders[id]->encode(codec, in, out,
                              out_max < n_useful ? out_max : n_useful);
}

size_t
codec_encode_lossy(struct codec *codec,
                   uint32_t id,
                   struct codec_block in,
                   uint8_t *out,
                   uint32_t *out_id)
{
    const enum codec_loss loss = id >> CODEC_LOSS_SHIFT;
    const enum codec_id packing = id % (1 << CODEC_LOSS_SHIFT);
    const size_t count = in.n_bytes / sizeof(float);
    const size_t n_narrow = loss_n_stored(loss, count);
    struct codec_bench *bench =
        packing == CODEC_NONE ? NULL : codec_bench(codec);
    size_t n_packed = 0;

    assert(in.n_bytes % sizeof(float) == 0);
    if (bench) {
        const struct codec_block narrow = {bench->narrow, n_narrow,
                                           loss_word_size(loss)};

        loss_store(loss, in.bytes, count, bench->narrow);
        n_packed = codec_encode(codec, packing, narrow, out, n_narrow);
        if (n_packed == 0)
            memcpy(out, bench->narrow, n_narrow);
    } else {
        loss_store(loss, in.bytes, count, out);
    }
    *out_id = codec_with_loss(n_packed > 0 ? packing : CODEC_NONE, loss);
    return n_packed > 0 ? n_packed : n_narrow;
}

/* Return whether in was exactly n_raw bytes of floats, which are now at out. */
static bool
decode_lossy(struct codec *codec,
             uint32_t id,
             struct codec_span in,
             uint8_t *out,
             size_t n_raw)
{
    const enum codec_loss loss = id >> CODEC_LOSS_SHIFT;
    const enum codec_id packing = id % (1 << CODEC_LOSS_SHIFT);
    const size_t count = n_raw / sizeof(float);
    const size_t n_narrow = loss_n_stored(loss, count);

    if (n_raw % sizeof(float) != 0)
        return false;
    if (packing == CODEC_NONE) {
        if (in.n_bytes != n_narrow)
            return false;
        loss_load(loss, in.bytes, count, out);
        return true;
    }
    struct codec_bench *bench = codec_bench(codec);
    if (!bench || !coders[packing]->decode(codec, in, bench->narrow, n_narrow))
        return false;
    loss_load(loss, bench->narrow, count, out);
    return true;
}

static bool
decode(struct codec *codec,
       uint32_t id,
       struct codec_span in,
       uint8_t *out,
       size_t n_raw)
{
    return id >> CODEC_LOSS_SHIFT ? decode_lossy(codec, id, in, out, n_raw)
                                  : coders[id]->decode(codec, in, out, n_raw);
}

enum hoop_status
codec_decode(struct codec *codec,
             uint32_t id,
             struct codec_span in,
             uint8_t *out,
             size_t n_raw)
{
    const size_t packing = id % (1 << CODEC_LOSS_SHIFT);

    if (packing >= COUNT_OF(coders) || id >> CODEC_LOSS_SHIFT >= LOSS_COUNT)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload has codec %u, which is unknown here", id);
    if (n_raw > LIMIT_FRAME_PAYLOAD || in.n_bytes > LIMIT_FRAME_PAYLOAD)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload of %zu bytes, %zu decoded, is too large",
                           in.n_bytes, n_raw);
    if (!decode(codec, id, in, out, n_raw))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload of %zu bytes is damaged: by %s it is not "
                           "%zu bytes",
                           in.n_bytes, coders[packing]->name, n_raw);
    return HOOP_OK;
}
