/*
 * coll/tags.h - whose tag is whose, on one communicator
 *
 * A tag travels as 64 bits. What the library sends for a program on a
 * communicator that the program may use as well has tags that no program can
 * give, and one part of the library none of another's:
 *
 *   0 ... 2^62     the program's: hoop_send(), hoop_send_tensor()
 *   2^63           the engine's own measurement: CALL_TAG_OWN
 *   2^63 + 1 ...   the program's for objects, 0 to 2^61: hoop_send_object()
 *   11ss ssss n... the library's: two bits set, six that say which part it is,
 *                  and 56 that are this part's affair
 *
 * A message for one matches no receive for another, whatever their peers.
 */

#ifndef COLL_TAGS_H
#define COLL_TAGS_H

#include <assert.h>
#include <stdint.h>

static const int64_t TAG_PROGRAM_MAX = (int64_t)1 << 62;

static const int64_t TAG_OBJECT_MAX = (int64_t)1 << 61;

enum tag_part {
    TAG_PIPELINE = 0,  /* hoop/pipeline.h: tensors between stages */
    TAG_META = 1,      /* ... and hoop_send_tensor_meta() */
    TAG_RING = 2,      /* hoop_ring_forward() */
    TAG_P2P = 3,       /* hoop/p2p_communicator.h: tensors */
    TAG_P2P_SHAPE = 4, /* ... and the shapes exchanged before them */
    TAG_SCHEDULE = 5,  /* hoop/schedule_run.h, where it sends by itself */
    TAG_STATE = 6,     /* hoop/state.h: blocks */
};

/* number is below 2^56. */
static inline uint64_t
tag_of(enum tag_part part, uint64_t number)
{
    assert(number >> 56 == 0);
    return (uint64_t)3 << 62 | (uint64_t)part << 56 | number;
}

/* tag is between 0 and TAG_OBJECT_MAX. */
static inline uint64_t
tag_of_object(int64_t tag)
{
    return ((uint64_t)1 << 63) + 1 + (uint64_t)tag;
}

#endif
