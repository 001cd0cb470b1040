/* tests/fuzz/frame_fuzz.c - whatever decodes keeps the rules, and comes back */

#include <stdbool.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "wire/frame_tensor.h"
#include "wire/schema.h"

static void
require_rules(const struct frame *frame)
{
    fuzz_require(frame->kind >= FRAME_COLLECTIVE);
    fuzz_require(frame->kind <= FRAME_STRIPED);
    fuzz_require(frame->raw <= LIMIT_FRAME_PAYLOAD);
    fuzz_require(frame->stored <= LIMIT_FRAME_PAYLOAD);
    if (frame->kind == FRAME_COLLECTIVE || frame->kind == FRAME_MESSAGE)
        fuzz_require(frame->offset + frame->raw <= frame->total &&
                     frame->offset + frame->raw >= frame->offset);
}

static void
require_same(const struct frame *left, const struct frame *right)
{
#define FIELD_COMPARE(field, type, max)                                        \
    fuzz_require(left->field == right->field);
    FRAME_FIELDS(FIELD_COMPARE)
}

/* What a tensor's sender keeps to, so that its header fits. */
static bool
is_sendable(const struct frame *frame, const struct frame_tensor *tensor)
{
    uint64_t product = 1;

    for (uint32_t i = 0; i < tensor->shape.n_dims; i++) {
        const uint64_t size = tensor->shape.dims[i];

        if (size > 0 && (__builtin_mul_overflow(product, size, &product) ||
                         product > INT64_MAX))
            return false;
    }
    return frame->signature == 0 && frame->step == 0 &&
           frame->call.count == 0 && frame->codec < 128 &&
           frame->call.name < 128 && frame->call.dtype < 128 &&
           frame->call.reduce_op == 0;
}

static void
try_tensor(const uint8_t *in, const struct frame *frame)
{
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame_tensor tensor;
    struct frame_tensor back;

    if (frame_tensor_read(in, &tensor) != HOOP_OK)
        return;
    fuzz_require(tensor.shape.n_dims <= HOOP_MAX_DIMS);
    if (!is_sendable(frame, &tensor))
        return;
    frame_encode(frame, header);
    frame_tensor_append(&tensor, header);
    fuzz_require(frame_tensor_read(header, &back) == HOOP_OK);
    fuzz_require(memcmp(&tensor, &back, sizeof(tensor)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint8_t header[LIMIT_FRAME_HEADER] = {0};
    struct frame frame;
    struct frame back;

    /* Without a copy when there are enough, so that overreading shows. */
    if (n_bytes < sizeof(header))
        memcpy(header, bytes, n_bytes);
    const uint8_t *in = n_bytes < sizeof(header) ? header : bytes;
    if (frame_decode(in, &frame) != HOOP_OK)
        return 0;

    require_rules(&frame);
    try_tensor(in, &frame);
    frame_encode(&frame, header);
    fuzz_require(frame_decode(header, &back) == HOOP_OK);
    require_same(&frame, &back);
    return 0;
}
