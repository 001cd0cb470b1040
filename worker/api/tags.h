/*
 * api/tags.h - how the tags of one communicator are divided
 *
 * A tag travels as 64 bits. The library also sends messages of its own on a
 * program's communicators. Their tags are disjoint from those that a program
 * can give, and each part of the library has a range of its own:
 *
 *   0 ... 2^62     the program's: hoop_send(), hoop_send_tensor()
 *   2^63           the engine's own measurement: CALL_TAG_LIBRARY_INTERNAL
 *   2^63 + 1 ...   the program's for objects, 0 to 2^61: hoop_send_object()
 *   11ss ssss n... the library's: two bits set, six that name the part, and 56
 *                  that the part uses as it likes
 *
 * A message of one range never matches a receive of another.
 */

#ifndef API_TAGS_H
#define API_TAGS_H

#include <assert.h>
#include <stdint.h>

static const int64_t TAG_USER_MAX = (int64_t)1 << 62;

static const int64_t TAG_OBJECT_MAX = (int64_t)1 << 61;

enum tag_library_namespace {
    TAG_PIPELINE_TENSOR = 0, /* hoop/pipeline.h: tensors between stages */
    TAG_TENSOR_META = 1,     /* hoop_send_tensor_meta() */
    TAG_RING_FORWARD = 2,    /* hoop_ring_forward() */
    TAG_P2P = 3,             /* hoop/p2p_communicator.h: tensors */
    TAG_P2P_SHAPE = 4,       /* the shapes exchanged before them */
    TAG_SCHEDULE_MESSAGE =
        5, /* messages that hoop/schedule_run.h sends itself */
    TAG_STATE_SYNC_BLOCKS = 6, /* hoop/state.h: blocks */
};

/* number must be below 2^56. */
static inline uint64_t
tag_of_library_part(enum tag_library_namespace part, uint64_t number)
{
    assert(number >> 56 == 0);
    return (uint64_t)3 << 62 | (uint64_t)part << 56 | number;
}

/* tag must be between 0 and TAG_OBJECT_MAX. */
static inline uint64_t
tag_of_object(int64_t tag)
{
    return ((uint64_t)1 << 63) + 1 + (uint64_t)tag;
}

#endif
