/*
 * tests/fuzz/codec_fuzz.c - damaged payloads, and every payload back again
 *
 * Four bytes say codec and raw size, the rest is the stored payload. The rest
 * is also coded and must come back as it was.
 */

#include <string.h>

#include "base/limits.h"
#include "codec/codec.h"
#include "fuzz/fuzz.h"

enum {
    HEAD = 4
};

static uint8_t coded[LIMIT_FRAME_PAYLOAD];

static void
require_comes_back(struct codec *codec, enum codec_id id, struct codec_block in)
{
    const size_t n_stored = codec_encode(codec, id, in, coded, sizeof(coded));

    if (n_stored == 0)
        return;
    fuzz_require(n_stored < in.n_bytes);

    uint8_t *out = malloc(in.n_bytes);
    const struct codec_span stored = {coded, n_stored};
    fuzz_require(codec_decode(codec, id, stored, out, in.n_bytes) == HOOP_OK);
    fuzz_require(memcmp(out, in.bytes, in.n_bytes) == 0);
    free(out);
}

/* Any bytes are floats; in some whole blocks. */
static void
require_rounds_once(struct codec_span in)
{
    const size_t count = in.n_bytes / sizeof(float);
    uint8_t *once = malloc(in.n_bytes + 1);
    uint8_t *twice = malloc(in.n_bytes + 1);

    for (enum codec_loss loss = LOSS_BF16; loss <= LOSS_INT8; loss++) {
        loss_round(loss, in.bytes, count, once);
        loss_round(loss, once, count, twice);
        fuzz_require(memcmp(once, twice, count * sizeof(float)) == 0);
    }
    free(once);
    free(twice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    /* Contexts are reused, as a connection does. */
    static struct codec *codec;

    if (n_bytes < HEAD || n_bytes - HEAD > LIMIT_FRAME_PAYLOAD)
        return 0;
    if (!codec)
        fuzz_require(codec_create(&codec) == HOOP_OK);

    const struct codec_span in = {bytes + HEAD, n_bytes - HEAD};
    const size_t n_raw =
        bytes[1] | (size_t)bytes[2] << 8 | (size_t)(bytes[3] & 7) << 16;
    uint8_t *out = malloc(n_raw > 0 ? n_raw : 1);

    (void)codec_decode(codec, bytes[0], in, out, n_raw);
    free(out);
    require_comes_back(codec, CODEC_ZSTD,
                       (struct codec_block){in.bytes, in.n_bytes, 0});
    for (size_t word_size = 1; word_size <= 8; word_size *= 2)
        require_comes_back(
            codec, CODEC_PLANES,
            (struct codec_block){in.bytes, in.n_bytes, word_size});
    require_rounds_once(in);
    return 0;
}
