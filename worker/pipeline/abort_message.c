/* pipeline/abort_message.c - the tensor that tells other stages of a failure */

#include "pipeline/abort_message.h"

#include <string.h>

static const uint8_t abort_message_name[ABORT_MESSAGE_NAME] = {
    0x9e, 0x31, 0xd7, 0x5a, 0x04, 0xc2, 0x6f, 0xb8,
    0x13, 0xfd, 0x88, 0x47, 0xe0, 0x2b, 0x71, 0xac,
};

static struct hoop_shape
abort_message_shape(void)
{
    struct hoop_shape shape = {.n_dims = HOOP_MAX_DIMS};

    for (uint32_t i = 0; i < HOOP_MAX_DIMS - 1; i++)
        shape.dims[i] = 1;
    shape.dims[HOOP_MAX_DIMS - 1] = ABORT_MESSAGE_BYTES;
    return shape;
}

struct hoop_tensor
abort_message_pack(const struct abort_message *abort_message,
                   uint8_t bytes[ABORT_MESSAGE_BYTES])
{
    uint8_t *at = bytes;

    memset(bytes, 0, ABORT_MESSAGE_BYTES);
    memcpy(at, abort_message_name, ABORT_MESSAGE_NAME);
    at += ABORT_MESSAGE_NAME;
    for (unsigned i = 0; i < 4; i++)
        *at++ = (uint8_t)((uint32_t)abort_message->status >> (8 * i));
    memcpy(at, abort_message->text,
           strnlen(abort_message->text, LIMIT_ABORT_MESSAGE_TEXT));
    return (struct hoop_tensor){
        .data = bytes,
        .dtype = HOOP_UINT8,
        .shape = abort_message_shape(),
    };
}

bool
abort_message_unpack(const struct hoop_tensor *tensor,
                     struct abort_message *out_abort_message)
{
    const struct hoop_shape shape = abort_message_shape();
    uint32_t status = 0;

    if (tensor->dtype != HOOP_UINT8 || !tensor->data ||
        !hoop_shape_equal(&tensor->shape, &shape) ||
        memcmp(tensor->data, abort_message_name, ABORT_MESSAGE_NAME) != 0)
        return false;
    const uint8_t *at = (const uint8_t *)tensor->data + ABORT_MESSAGE_NAME;
    for (unsigned i = 0; i < 4; i++)
        status |= (uint32_t)*at++ << (8 * i);
    /* The bytes come from another process: ensure that the status is a failure
     * and that the text is terminated. */
    out_abort_message->status =
        status == HOOP_OK ? HOOP_E_UNKNOWN : (enum hoop_status)status;
    memcpy(out_abort_message->text, at, LIMIT_ABORT_MESSAGE_TEXT);
    out_abort_message->text[LIMIT_ABORT_MESSAGE_TEXT - 1] = '\0';
    return true;
}
