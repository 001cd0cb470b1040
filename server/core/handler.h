/*
 * core/handler.h - the functions that answer requests
 *
 * The list is in core/event.h. A handler answers or parks the request, or fails;
 * then the reply is made from the error. job is the one that the event names,
 * or NULL where the scope of the request allows it.
 */

#ifndef CORE_HANDLER_H
#define CORE_HANDLER_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;

typedef enum hoop_status
request_handler_fn(struct cluster *cluster,
                   struct job *job,
                   const struct cluster_event *event);

#define REQUEST_HANDLER_DECLARE(kind, handler, scope)                          \
    request_handler_fn handler;
CLUSTER_REQUEST_LIST(REQUEST_HANDLER_DECLARE)

#endif
