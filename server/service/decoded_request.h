/*
 * service/decoded_request.h - turn a request into an event of the core
 *
 * The list of methods (rpc/method.h) says to which kind of event. The core
 * decides what is allowed.
 */

#ifndef SERVICE_DECODED_REQUEST_H
#define SERVICE_DECODED_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"
#include "rpc/envelope.h"
#include "rpc/method.h"

/* The body of any request. */
#define REQUEST_BODY(number, name, effect, need, answer, role, request, ...)   \
    struct request number##_body;
union request_body {
    METHODS(REQUEST_BODY, REQUEST_BODY)
};

/* A decoded body, which the event borrows. Zeroed memory is empty. */
struct decoded_request {
    const struct message_descriptor *descriptor; /* NULL: nothing to free */
    union request_body body;
};

/*
 * Decode the body for method and fill in the event's kind, job, role and
 * arguments. The event borrows decoded_request and envelope. now_ns and
 * deadline_ns are set already; a join may bring its deadline closer.
 * Handle: HOOP_E_DATA_LOSS (the body cannot be decoded), HOOP_E_UNIMPLEMENTED
 * (the core does not serve this method).
 */
enum hoop_status
decoded_request_to_event(struct decoded_request *decoded_request,
                         enum method_id method,
                         const struct envelope_request *envelope,
                         struct cluster_event *event);

/* Return the job of a request, or the default job if it names none. */
const char *
decoded_request_job_name(const struct envelope_request *envelope);

/* Return when a parked reply must leave in order to arrive by deadline_ns. */
uint64_t
decoded_request_reply_by_ns(uint64_t deadline_ns, uint64_t now_ns);

/* Zeroed memory is allowed. */
void
decoded_request_deinit(struct decoded_request *decoded_request);

static inline void
decoded_request_deinit_at(struct decoded_request *at)
{
    decoded_request_deinit(at);
}

#endif
