/* codec/codec.c - payloads coded a segment at a time, by id */

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
    free(codec);
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
    return error_raise(HOOP_E_INVALID, "codec '%s' is neither none nor zstd",
                       name);
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
             struct codec_span in,
             uint8_t *out,
             size_t out_max)
{
    assert((size_t)id < COUNT_OF(coders));
    assert(in.n_bytes <= LIMIT_FRAME_PAYLOAD);

    if (in.n_bytes < 2)
        return 0;

    /* What is not smaller is of no use, so there is no room for it. */
    const size_t n_useful = in.n_bytes - 1;

    return coders[id]->encode(codec, in, out,
                              out_max < n_useful ? out_max : n_useful);
}

enum hoop_status
codec_decode(struct codec *codec,
             uint32_t id,
             struct codec_span in,
             uint8_t *out,
             size_t n_raw)
{
    if (id >= COUNT_OF(coders))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload has codec %u, which is unknown here", id);
    if (n_raw > LIMIT_FRAME_PAYLOAD || in.n_bytes > LIMIT_FRAME_PAYLOAD)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload of %zu bytes, %zu decoded, is too large",
                           in.n_bytes, n_raw);
    if (!coders[id]->decode(codec, in, out, n_raw))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload of %zu bytes is damaged: by %s it is not "
                           "%zu bytes",
                           in.n_bytes, coders[id]->name, n_raw);
    return HOOP_OK;
}
