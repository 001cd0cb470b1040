/*
 * parallel/itinerary.h - redistributions that were planned, for the next time
 *
 * A program moves tensors the same way again and again, and to find the way
 * costs more than small ones take. A mesh keeps the last few of what begins on
 * it; who uses one holds it, whatever is kept meanwhile.
 */

#ifndef PARALLEL_ITINERARY_H
#define PARALLEL_ITINERARY_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "parallel/redistribution.h"

struct itinerary;

struct itineraries {
    pthread_mutex_t lock;
    TAILQ_HEAD(itinerary_list, itinerary) list; /* the last used first */
    uint32_t n_kept;
};

void
itineraries_init(struct itineraries *itineraries);
void
itineraries_deinit(struct itineraries *itineraries);

/*
 * That of such a request, planned if it is not kept. *out_itinerary is the
 * caller's, who gives it to itinerary_unref(). Handle: as
 * redistribution_create(). Thread (this and the next two): any.
 */
enum hoop_status
itinerary_find(struct itineraries *itineraries,
               const struct redistribution_request *request,
               struct itinerary **out_itinerary);
/* NULL is fine. */
void
itinerary_unref(struct itinerary *itinerary);

const struct redistribution *
itinerary_redistribution(const struct itinerary *itinerary);

#endif
