/* codec/coder_none.c - leaves payloads as they are; encoding never pays */

#include <string.h>

#include "codec/coder.h"

static size_t
none_encode(struct codec *codec,
            struct codec_block in,
            uint8_t *out,
            size_t out_max)
{
    (void)codec;
    (void)in;
    (void)out;
    (void)out_max;
    return 0;
}

static bool
none_decode(struct codec *codec,
            struct codec_span in,
            uint8_t *out,
            size_t n_raw)
{
    (void)codec;
    if (in.n_bytes != n_raw)
        return false;
    if (n_raw > 0)
        memcpy(out, in.bytes, n_raw);
    return true;
}

static void
none_deinit(struct codec *codec)
{
    (void)codec;
}

const struct coder coder_none = {
    .name = "none",
    .encode = none_encode,
    .decode = none_decode,
    .deinit = none_deinit,
};
