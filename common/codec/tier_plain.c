/* codec/tier_plain.c - the only tier, on processors that are not x86-64 */

#include "codec/tier.h"

extern const struct tier codec_tier_plain;

const struct tier *
tier_get(size_t i)
{
    return i == 0 ? &codec_tier_plain : NULL;
}
