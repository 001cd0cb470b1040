/* codec/tier.tmpl.c - the kernels of one tier, compiled once for each */

#include "codec/tier.h"

extern const struct loss_kernel NAMED(bf16);
extern const struct loss_kernel NAMED(fp16);
extern const struct loss_kernel NAMED(int8);
extern const struct planes_kernel NAMED(planes_1);
extern const struct planes_kernel NAMED(planes_2);
extern const struct planes_kernel NAMED(planes_4);
extern const struct planes_kernel NAMED(planes_8);
extern const struct tier NAMED(tier);

const struct tier NAMED(tier) = {
    .losses = {[LOSS_BF16] = &NAMED(bf16),
               [LOSS_FP16] = &NAMED(fp16),
               [LOSS_INT8] = &NAMED(int8)},
    .planes = {&NAMED(planes_1), &NAMED(planes_2), &NAMED(planes_4),
               &NAMED(planes_8)},
};
