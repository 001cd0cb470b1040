/* parallel/distress.c - a tensor that says: the run has failed */

#include "parallel/distress.h"

#include <string.h>

static const uint8_t distress_name[DISTRESS_NAME] = {
    0x9e, 0x31, 0xd7, 0x5a, 0x04, 0xc2, 0x6f, 0xb8,
    0x13, 0xfd, 0x88, 0x47, 0xe0, 0x2b, 0x71, 0xac,
};

static struct hoop_shape
distress_shape(void)
{
    struct hoop_shape shape = {.n_dims = HOOP_MAX_DIMS};

    for (uint32_t i = 0; i < HOOP_MAX_DIMS - 1; i++)
        shape.dims[i] = 1;
    shape.dims[HOOP_MAX_DIMS - 1] = DISTRESS_BYTES;
    return shape;
}

struct hoop_tensor
distress_pack(const struct distress *distress, uint8_t bytes[DISTRESS_BYTES])
{
    uint8_t *at = bytes;

    memset(bytes, 0, DISTRESS_BYTES);
    memcpy(at, distress_name, DISTRESS_NAME);
    at += DISTRESS_NAME;
    for (unsigned i = 0; i < 4; i++)
        *at++ = (uint8_t)((uint32_t)distress->status >> (8 * i));
    memcpy(at, distress->text, strnlen(distress->text, LIMIT_DISTRESS_TEXT));
    return (struct hoop_tensor){
        .data = bytes,
        .dtype = HOOP_UINT8,
        .shape = distress_shape(),
    };
}

bool
distress_unpack(const struct hoop_tensor *tensor, struct distress *out_distress)
{
    const struct hoop_shape shape = distress_shape();
    uint32_t status = 0;

    if (tensor->dtype != HOOP_UINT8 || !tensor->data ||
        !hoop_shape_equal(&tensor->shape, &shape) ||
        memcmp(tensor->data, distress_name, DISTRESS_NAME) != 0)
        return false;
    const uint8_t *at = (const uint8_t *)tensor->data + DISTRESS_NAME;
    for (unsigned i = 0; i < 4; i++)
        status |= (uint32_t)*at++ << (8 * i);
    /* From outside: it is no success, and its text has an end. */
    out_distress->status =
        status == HOOP_OK ? HOOP_E_UNKNOWN : (enum hoop_status)status;
    memcpy(out_distress->text, at, LIMIT_DISTRESS_TEXT);
    out_distress->text[LIMIT_DISTRESS_TEXT - 1] = '\0';
    return true;
}
