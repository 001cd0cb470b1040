/* hoop/object.h - bytes of which only their owner knows how many there are
 *
 * Objects are opaque: whatever a program has serialised. In the collectives two
 * exchanges in one operation bring the lengths first and then the bytes, so
 * that receivers need to know neither; what else is called in between does not
 * mix in. A message brings its length itself. What comes is allocated here, freed by the caller and not aligned. Length zero is a
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
#include "hoop/p2p.h"
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

/*
 * Give rank r a copy of send[r], of which root has one for each rank, itself
 * included. Elsewhere send is not looked at and may be NULL. *out_bytes is the
 * caller's, who gives it to hoop_object_free(), and becomes NULL where the
 * object has no bytes. root copies all of them into one buffer. torch's
 * scatter_object_list.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_object(const struct hoop_object *send,
                    void **out_bytes,
                    size_t *out_n_bytes,
                    uint32_t root,
                    hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_object_start(const struct hoop_object *send,
                          void **out_bytes,
                          size_t *out_n_bytes,
                          uint32_t root,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op);

/*
 * hoop_send() of n_send bytes as an object, and hoop_recv() of one from rank
 * source or HOOP_ANY_SOURCE, of whatever length it is. Objects from one rank to
 * another with one tag arrive in the order they were sent. Tags are objects'
 * own, 0 to 2^61: an object meets neither a hoop_recv() nor a
 * hoop_recv_tensor() of its tag. *out_bytes is the caller's, who gives it to
 * hoop_object_free(), and becomes NULL where there are no bytes; source and
 * length are written to *out_received, too, which may be NULL. torch's
 * send_object_list, recv_object_list.
 *
 * Handle: as hoop_send() and hoop_recv(); HOOP_E_EXHAUSTED also for the sender
 * of what the receiver has no memory for. Thread: as in hoop/p2p.h.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send_object(const void *send,
                 size_t n_send,
                 uint32_t dest,
                 int64_t tag,
                 hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send_object_start(const void *send,
                       size_t n_send,
                       uint32_t dest,
                       int64_t tag,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_object(void **out_bytes,
                 size_t *out_n_bytes,
                 uint32_t source,
                 int64_t tag,
                 hoop_comm_t *comm,
                 struct hoop_received *out_received);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_object_start(void **out_bytes,
                       size_t *out_n_bytes,
                       uint32_t source,
                       int64_t tag,
                       hoop_comm_t *comm,
                       struct hoop_received *out_received,
                       hoop_op_t **out_op);

/* Frees the content, which becomes empty. NULL and empty are fine. Thread: any.
 */
HOOP_API void
hoop_objects_free(struct hoop_objects *objects);

HOOP_END

#endif
