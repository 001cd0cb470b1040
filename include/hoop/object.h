/* hoop/object.h - bytes of which only their owner knows how many there are
 *
 * Objects are opaque: whatever a program has serialised. Two exchanges in one
 * operation bring the lengths first and then the bytes, so that receivers need
 * to know neither; what else is called in between does not mix in. What comes
 * is allocated here, freed by the caller and not aligned. Length zero is a
 * length. Lengths of more than 2^40 are refused.
 *
 * Order, threads and errors as in hoop/coll.h. Handle (all), besides those:
 * HOOP_E_EXHAUSTED (no memory for what comes; every rank that still needs the
 * one which lacks it learns so). What is handed out is written on HOOP_OK only,
 * by the call that waits; the _start forms borrow its place until then, and the
 * bytes to send, too.
 */

#ifndef HOOP_OBJECT_H
#define HOOP_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/status.h"

HOOP_BEGIN

/*
 * Give every rank a copy of root's n_send bytes. Elsewhere send is not looked
 * at; *out_bytes is the caller's, who gives it to hoop_object_free(), and may be
 * NULL when there are none. On root no copy is made: *out_bytes becomes NULL,
 * *out_n_bytes is n_send, and both may be NULL. Bagua's broadcast_object.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_broadcast_object(const void *send,
                      size_t n_send,
                      void **out_bytes,
                      size_t *out_n_bytes,
                      uint32_t root,
                      hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_broadcast_object_start(const void *send,
                            size_t n_send,
                            void **out_bytes,
                            size_t *out_n_bytes,
                            uint32_t root,
                            hoop_comm_t *comm,
                            hoop_op_t **out_op);

/* NULL is fine. Thread: any. */
HOOP_API void
hoop_object_free(void *bytes);

struct hoop_object {
    const void *bytes;
    size_t n_bytes;
};

/* One of each rank, in rank order. */
struct hoop_objects {
    uint32_t n_objects;
    const struct hoop_object *objects;
};

/*
 * Give every rank all ranks' objects. The content of *out_objects is the
 * caller's, who gives it to hoop_objects_free(). torch's all_gather_object.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgather_object(const void *send,
                      size_t n_send,
                      struct hoop_objects *out_objects,
                      hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgather_object_start(const void *send,
                            size_t n_send,
                            struct hoop_objects *out_objects,
                            hoop_comm_t *comm,
                            hoop_op_t **out_op);

/*
 * Give root all ranks' objects. Elsewhere out_objects is not touched and may be
 * NULL. torch's gather_object.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_object(const void *send,
                   size_t n_send,
                   struct hoop_objects *out_objects,
                   uint32_t root,
                   hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_object_start(const void *send,
                         size_t n_send,
                         struct hoop_objects *out_objects,
                         uint32_t root,
                         hoop_comm_t *comm,
                         hoop_op_t **out_op);

/* Frees the content, which becomes empty. NULL and empty are fine. Thread: any.
 */
HOOP_API void
hoop_objects_free(struct hoop_objects *objects);

HOOP_END

#endif
