/*
 * codec/coder_zstd.c - encodes each segment as one zstd frame, at level 1
 *
 * The size that the zstd frame claims is not used: decompression writes to
 * exactly the bytes that the frame's header announced, which zstd does not
 * overrun, and must fill them.
 */

#include <string.h>

/* For literalCompressionMode, which all of 1.4 and 1.5 have. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "codec/coder.h"

enum {
    /* Higher levels are slower than the links hoop runs on. */
    ZSTD_LEVEL = 1,
    /* Looks for repetitions at few places, which is enough for zeros. */
    ZSTD_LEVEL_BYTES = -128,
};

/* Without memory, the payload is sent raw. */
static size_t
zstd_encode(struct codec *codec,
            struct codec_block in,
            uint8_t *out,
            size_t out_max)
{
    if (!codec->zstd_compressor)
        codec->zstd_compressor = ZSTD_createCCtx();
    if (!codec->zstd_compressor)
        return 0;

    const size_t n_stored = ZSTD_compressCCtx(
        codec->zstd_compressor, out, out_max, in.bytes, in.n_bytes, ZSTD_LEVEL);

    return ZSTD_isError(n_stored) ? 0 : n_stored;
}

static ZSTD_CCtx *
bytes_compressor(void)
{
    ZSTD_CCtx *compressor = ZSTD_createCCtx();

    if (!compressor)
        return NULL;
    /* Otherwise such levels do not use Huffman codes. */
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel,
                           ZSTD_LEVEL_BYTES);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_literalCompressionMode,
                           ZSTD_lcm_huffman);
    return compressor;
}

size_t
coder_zstd_bytes(struct codec *codec,
                 struct codec_block in,
                 uint8_t *out,
                 size_t out_max)
{
    if (!codec->zstd_bytes)
        codec->zstd_bytes = bytes_compressor();
    if (!codec->zstd_bytes)
        return 0;
    const size_t n_stored =
        ZSTD_compress2(codec->zstd_bytes, out, out_max, in.bytes, in.n_bytes);

    return ZSTD_isError(n_stored) ? 0 : n_stored;
}

/*
 * The library also reads several frames in a row, skippable frames and its own
 * old formats. A peer sends none of them.
 */
static bool
segment_is_one_frame(struct codec_span in)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

    return in.n_bytes > sizeof(magic) &&
           memcmp(in.bytes, magic, sizeof(magic)) == 0 &&
           ZSTD_findFrameCompressedSize(in.bytes, in.n_bytes) == in.n_bytes;
}

static bool
zstd_decode(struct codec *codec,
            struct codec_span in,
            uint8_t *out,
            size_t n_raw)
{
    if (!codec->zstd_decompressor)
        codec->zstd_decompressor = ZSTD_createDCtx();
    if (!codec->zstd_decompressor || !segment_is_one_frame(in))
        return false;

    /* An error code is a size that no segment has. */
    return ZSTD_decompressDCtx(codec->zstd_decompressor, out, n_raw, in.bytes,
                               in.n_bytes) == n_raw;
}

static void
zstd_deinit(struct codec *codec)
{
    ZSTD_freeCCtx(codec->zstd_compressor);
    ZSTD_freeCCtx(codec->zstd_bytes);
    ZSTD_freeDCtx(codec->zstd_decompressor);
}

const struct coder coder_zstd = {
    .name = "zstd",
    .encode = zstd_encode,
    .decode = zstd_decode,
    .deinit = zstd_deinit,
};
