/*
 * codec/coder_planes.c - planes of bytes, each raw or as a zstd frame
 *
 *   word size u8, 1 if zeros are left out else 0, two bytes 0
 *   length u32 of the mask, if zeros are left out, and of every plane
 *   the mask, the planes
 *
 * For dense floats only the exponents' plane compresses, and only it is passed
 * to zstd, so this is faster than zstd over all bytes. A part whose length
 * equals its raw size is raw.
 */

#include <string.h>

#include "codec/coder.h"
#include "codec/planes.h"
#include "codec/tier.h"

enum {
    HEAD_BYTES = 4,
    LENGTH_BYTES = 4,
    PARTS_MAX = 9, /* the mask and eight planes */
    /* With fewer zeros than one in this many, a mask does not pay. */
    ZEROS_ARE_RARE = 32,
    /* Bytes sampled from a plane, to see whether some are frequent: the sum of
     * their squared counts is 16 + 256/1024 of that for random ones. */
    SAMPLED = 1024,
    SQUARES_RANDOM = SAMPLED * (SAMPLED / 256 + 1),
    PLANE_MIN = 64, /* smaller planes are not passed to zstd */
};

const struct planes_kernel *
planes_find(size_t word_size)
{
    const struct tier *tier = tier_get(0);

    switch (word_size) {
    case 1:
        return tier->planes[0];
    case 2:
        return tier->planes[1];
    case 4:
        return tier->planes[2];
    case 8:
        return tier->planes[3];
    default:
        return NULL;
    }
}

/* The payload during encoding. */
struct writing {
    struct codec *codec;
    uint8_t *out;
    size_t n_used;
    size_t out_max;
    uint8_t *lengths;
};

static void
length_write(uint8_t *at, size_t n_bytes)
{
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        at[i] = (uint8_t)(n_bytes >> 8 * i);
}

static size_t
length_read(const uint8_t *at)
{
    size_t n_bytes = 0;

    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        n_bytes |= (size_t)at[i] << 8 * i;
    return n_bytes;
}

/* Return whether a sample of the bytes is distributed as random ones are. */
static bool
looks_random(const uint8_t *bytes, size_t n_bytes)
{
    const size_t apart = n_bytes / SAMPLED;
    /* An odd stride also finds alternating bytes. */
    const size_t stride = apart > 1 ? (apart - 1) | 1 : apart;
    uint32_t counts[256] = {0};
    uint32_t squares = 0;

    if (stride == 0)
        return n_bytes < PLANE_MIN;
    for (size_t i = 0; i < SAMPLED; i++)
        counts[bytes[i * stride]]++;
    for (size_t i = 0; i < 256; i++)
        squares += counts[i] * counts[i];
    return squares < SQUARES_RANDOM + SQUARES_RANDOM / 8;
}

/* Return false if there is no room. */
static bool
part_write(struct writing *writing, const uint8_t *part, size_t n_bytes)
{
    uint8_t *to = writing->out + writing->n_used;
    const size_t n_room = writing->out_max - writing->n_used;
    size_t n_stored = 0;

    if (!looks_random(part, n_bytes) && n_bytes > 1)
        n_stored = coder_zstd_bytes(
            writing->codec,
            (struct codec_block){.bytes = part, .n_bytes = n_bytes}, to,
            n_bytes - 1 < n_room ? n_bytes - 1 : n_room);
    if (n_stored == 0 && n_bytes > n_room)
        return false;
    if (n_stored == 0) {
        memcpy(to, part, n_bytes);
        n_stored = n_bytes;
    }
    length_write(writing->lengths, n_stored);
    writing->lengths += LENGTH_BYTES;
    writing->n_used += n_stored;
    return true;
}

static size_t
planes_encode(struct codec *codec,
              struct codec_block in,
              uint8_t *out,
              size_t out_max)
{
    const struct planes_kernel *kernel = planes_find(in.word_size);
    struct codec_bench *bench = codec_bench(codec);

    if (!kernel || !bench || in.n_bytes % in.word_size != 0)
        return 0;
    const size_t n_words = in.n_bytes / in.word_size;
    const bool has_mask =
        kernel->count_zeros(in.bytes, n_words) > n_words / ZEROS_ARE_RARE;
    const size_t n_parts = in.word_size + has_mask;
    const size_t n_head = HEAD_BYTES + n_parts * LENGTH_BYTES;
    size_t n_left = n_words;

    if (n_head > out_max)
        return 0;
    if (has_mask)
        n_left = kernel->compact(in.bytes, n_words, bench->words, bench->mask);
    else
        kernel->rotate(in.bytes, n_words, bench->words);
    kernel->split(bench->words, n_left, bench->planes);

    struct writing writing = {codec, out, n_head, out_max, out + HEAD_BYTES};
    memcpy(out, (uint8_t[HEAD_BYTES]){(uint8_t)in.word_size, has_mask},
           HEAD_BYTES);
    bool fits =
        !has_mask || part_write(&writing, bench->mask, (n_words + 7) / 8);
    for (size_t p = 0; p < in.word_size && fits; p++)
        fits = part_write(&writing, bench->planes + p * n_left, n_left);
    return fits ? writing.n_used : 0;
}

/* The payload during decoding; it is not trusted. */
struct reading {
    struct codec *codec;
    const uint8_t *lengths;
    const uint8_t *parts;
    const uint8_t *end;
};

static bool
part_read(struct reading *reading, uint8_t *out, size_t n_bytes)
{
    const size_t n_stored = length_read(reading->lengths);
    const struct codec_span part = {.bytes = reading->parts,
                                    .n_bytes = n_stored};

    if (n_stored > n_bytes ||
        n_stored > (size_t)(reading->end - reading->parts))
        return false;
    reading->lengths += LENGTH_BYTES;
    reading->parts += n_stored;
    if (n_stored < n_bytes)
        return coder_zstd.decode(reading->codec, part, out, n_bytes);
    if (n_bytes > 0)
        memcpy(out, part.bytes, n_bytes);
    return true;
}

/* Return how many of n_words are present; more than n_words: too many bits are
 * set. */
static size_t
mask_count(const uint8_t *mask, size_t n_words)
{
    size_t n_left = 0;

    for (size_t i = 0; i < (n_words + 7) / 8; i++) {
        const unsigned pairs = mask[i] - (mask[i] >> 1 & 0x55U);
        const unsigned fours = (pairs & 0x33U) + (pairs >> 2 & 0x33U);

        n_left += (fours + (fours >> 4)) & 0xfU;
    }
    if (n_words % 8 != 0 && mask[n_words / 8] >> n_words % 8 != 0)
        return SIZE_MAX;
    return n_left;
}

static bool
planes_read(struct reading *reading,
            size_t word_size,
            size_t n_words,
            uint8_t *planes)
{
    for (size_t p = 0; p < word_size; p++) {
        if (!part_read(reading, planes + p * n_words, n_words))
            return false;
    }
    return reading->parts == reading->end;
}

static bool
planes_decode(struct codec *codec,
              struct codec_span in,
              uint8_t *out,
              size_t n_raw)
{
    struct codec_bench *bench = codec_bench(codec);

    if (!bench || in.n_bytes < HEAD_BYTES)
        return false;
    const size_t word_size = in.bytes[0];
    const bool has_mask = in.bytes[1] == 1;
    const struct planes_kernel *kernel = planes_find(word_size);
    const size_t n_head = HEAD_BYTES + (word_size + has_mask) * LENGTH_BYTES;

    if (!kernel || in.bytes[1] > 1 || in.bytes[2] != 0 || in.bytes[3] != 0 ||
        in.n_bytes < n_head || n_raw % word_size != 0)
        return false;
    struct reading reading = {codec, in.bytes + HEAD_BYTES, in.bytes + n_head,
                              in.bytes + in.n_bytes};
    const size_t n_words = n_raw / word_size;
    size_t n_left = n_words;

    if (has_mask) {
        if (!part_read(&reading, bench->mask, (n_words + 7) / 8))
            return false;
        n_left = mask_count(bench->mask, n_words);
    }
    if (n_left > n_words ||
        !planes_read(&reading, word_size, n_left, bench->planes))
        return false;
    kernel->merge(bench->planes, n_left, bench->words);
    if (has_mask)
        kernel->expand(bench->words, bench->mask, n_words, out);
    else
        kernel->restore(bench->words, n_words, out);
    return true;
}

static void
planes_deinit(struct codec *codec)
{
    (void)codec;
}

const struct coder coder_planes = {
    .name = "planes",
    .encode = planes_encode,
    .decode = planes_decode,
    .deinit = planes_deinit,
};
