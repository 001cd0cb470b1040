/*
 * net/resolver.h - look up a name without blocking the loop
 *
 * getaddrinfo() may take half a minute and cannot be interrupted, so it runs on
 * a thread of its own, which ends with the answer. Thread: the loop's.
 */

#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include <stddef.h>

#include "hoop/status.h"

#include "net/address.h"

struct loop;
struct resolver;

/* Called with the result. n_addresses 0: not found, or no answer; why says
 * which. The arguments are borrowed for the callback, which may destroy the
 * resolver. */
typedef void
resolver_fn(void *owner,
            const struct address *addresses,
            size_t n_addresses,
            const char *why);

/* Start a lookup. text is copied. on_resolved is called once, on the loop. */
enum hoop_status
resolver_start(struct loop *loop,
               const char *text,
               resolver_fn *on_resolved,
               void *owner,
               struct resolver **out_resolver);

/*
 * As address_resolve_all(), for a thread that may be interrupted meanwhile
 * (base/interrupt.h). Runs the loop, which must not be running on another
 * thread. Not needed for numeric addresses. Handle: as address_resolve_all(),
 * and HOOP_E_CANCELLED.
 */
enum hoop_status
resolver_wait(struct loop *loop,
              const char *text,
              struct address *out_addresses,
              size_t n_max,
              size_t *out_n);

/* Never blocks: a lookup that is still running is abandoned. NULL is
 * allowed. */
void
resolver_destroy(struct resolver *resolver);

#endif
