/* tests/unit/common/wire/frame_fields.h - two frames compared field by field */

#ifndef TESTS_UNIT_COMMON_WIRE_FRAME_FIELDS_H
#define TESTS_UNIT_COMMON_WIRE_FRAME_FIELDS_H

#include "check.h"
#include "wire/schema.h"

static inline void
assert_frames_equal(const struct frame *left, const struct frame *right)
{
#define FIELD_COMPARE(field, type, max)                                        \
    assert_true(left->field == right->field);
    FRAME_FIELDS(FIELD_COMPARE)
}

#endif
