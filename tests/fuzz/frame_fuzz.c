/* tests/fuzz/frame_fuzz.c - whatever decodes keeps the rules, and comes back */

#include <string.h>

#include "fuzz/fuzz.h"
#include "wire/frame.h"
#include "wire/schema.h"

static void
require_rules(const struct frame *frame)
{
    fuzz_require(frame->kind >= FRAME_COLLECTIVE);
    fuzz_require(frame->kind <= FRAME_GOODBYE);
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

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint8_t header[LIMIT_FRAME_HEADER] = {0};
    struct frame frame;
    struct frame back;

    /* Without a copy when there are enough, so that overreading shows. */
    if (n_bytes < sizeof(header))
        memcpy(header, bytes, n_bytes);
    if (frame_decode(n_bytes < sizeof(header) ? header : bytes, &frame) !=
        HOOP_OK)
        return 0;

    require_rules(&frame);
    frame_encode(&frame, header);
    fuzz_require(frame_decode(header, &back) == HOOP_OK);
    require_same(&frame, &back);
    return 0;
}
