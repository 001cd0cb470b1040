/*
 * net/resolver.h - look up a name without holding up the loop
 *
 * getaddrinfo() may take half a minute and cannot be interrupted: it runs on
 * a thread of its own that ends with the answer. Thread: the loop's.
 */

#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include <stddef.h>

#include "hoop/status.h"

#include "net/address.h"

struct loop;
struct resolver;

/* n_addresses 0: not found, or no answer; why tells. Borrowed for the callback, which
 * may destroy the resolver. */
typedef void
resolver_fn(void *owner,
            const struct address *addresses,
            size_t n_addresses,
            const char *why);

/* text is copied. on_resolved is called once, on the loop. */
enum hoop_status
resolver_start(struct loop *loop,
               const char *text,
               resolver_fn *on_resolved,
               void *owner,
               struct resolver **out_resolver);

/*
 * address_resolve_all() for whose thread may be interrupted meanwhile
 * (base/interrupt.h). Nobody runs the loop but this, and not for numbers.
 * Handle: as that, and HOOP_E_CANCELLED.
 */
enum hoop_status
resolver_wait(struct loop *loop,
              const char *text,
              struct address *out_addresses,
              size_t n_max,
              size_t *out_n);

/* Never blocks: a lookup that still runs is left to itself. NULL is fine. */
void
resolver_destroy(struct resolver *resolver);

#endif
