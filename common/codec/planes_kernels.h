/* codec/planes_kernels.h - what planes.tmpl.c is compiled to */

#ifndef CODEC_PLANES_KERNELS_H
#define CODEC_PLANES_KERNELS_H

#include "codec/planes.h"

extern const struct planes_kernel planes_of_2;
extern const struct planes_kernel planes_of_4;
extern const struct planes_kernel planes_of_8;

#endif
