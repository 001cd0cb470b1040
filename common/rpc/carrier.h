/*
 * rpc/carrier.h - the bytes of a control connection, plain or under TLS
 *
 * Non-blocking: HOOP_E_PENDING says that the socket must be waited for, to
 * write if carrier_owes(). Thread: the loop's.
 */

#ifndef RPC_CARRIER_H
#define RPC_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "hoop/status.h"

struct tls;

/* Owns both. */
struct carrier {
    int fd;          /* -1: none */
    struct tls *tls; /* NULL: plain */
};

void
carrier_close(struct carrier *carrier);

/*
 * Some of the spans, at least a byte. Under TLS, what is taken may be owed to
 * the socket: carrier_flush() when it can be written to.
 * Handle: HOOP_E_PENDING; else HOOP_E_UNAVAILABLE, or HOOP_E_UNAUTHENTICATED
 * if TLS ended it.
 */
enum hoop_status
carrier_send(struct carrier *carrier,
             const struct iovec *spans,
             size_t n_spans,
             size_t *out_n_bytes);
/* HOOP_OK: nothing is owed any more. Handle: as above. */
enum hoop_status
carrier_flush(struct carrier *carrier);
bool
carrier_owes(const struct carrier *carrier);

/* At least a byte. Handle: as above; the end is HOOP_E_UNAVAILABLE. */
enum hoop_status
carrier_receive(struct carrier *carrier,
                void *bytes,
                size_t n_room,
                size_t *out_n_bytes);
/* There is more to receive, of which the socket does not tell. */
bool
carrier_is_ready(const struct carrier *carrier);

#endif
