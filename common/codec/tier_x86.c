/* codec/tier_x86.c - which tiers this x86-64 processor runs */

#include "base/cleanup.h"
#include "codec/tier.h"

extern const struct tier codec_tier_plain;
extern const struct tier codec_tier_avx2;

const struct tier *
tier_get(size_t i)
{
    static const struct tier *const tiers[] = {&codec_tier_avx2,
                                               &codec_tier_plain};
    const size_t first = __builtin_cpu_supports("avx2") ? 0 : 1;

    return first + i < COUNT_OF(tiers) ? tiers[first + i] : NULL;
}
