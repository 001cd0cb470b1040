/* codec/tier_plain.c - where nobody has looked what the processor can do */

#include "codec/tier.h"

extern const struct tier codec_tier_plain;

const struct tier *
tier_get(size_t i)
{
    return i == 0 ? &codec_tier_plain : NULL;
}
