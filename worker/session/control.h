/*
 * session/control.h - a client of the coordinator that is no member
 *
 * One call at a time: the caller's own thread runs the loop until the answer
 * is there. Nothing is asked between calls.
 */

#ifndef SESSION_CONTROL_H
#define SESSION_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/control.h"
#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/message.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"
#include "rpc/method.h"

struct loop;
struct pack;
struct rpc_client;

/* What the last call handed out. Zeroed memory is empty. */
struct control_answer {
    uint8_t *body;
    size_t n_body;
    struct jobs_reply jobs;
    struct job_reply job;
    struct groups_reply groups;
    struct store_reply store;
    struct store_watch_reply watch;
    struct hoop_control_overview overview;
    struct hoop_control_roster roster;
    struct hoop_control_group_list group_list;
    struct hoop_control_keys keys;
    struct hoop_control_events events;
    void *items; /* of the list in one of these, or values */
};

struct hoop_control {
    struct loop *loop;
    struct rpc_client *client;
    uint32_t timeout_ms;
    uint32_t first_timeout_ms; /* said when it was made */
    char coordinator[LIMIT_ADDRESS];
    char job[LIMIT_NAME];
    enum hoop_status status; /* of the call that runs */
    struct control_answer answer;
};

/* Neither is NULL: name is what argument is called. Begins a public call.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
control_check(const struct hoop_control *control,
              const void *argument,
              const char *name);

/*
 * Forget the last answer, call method with what pack holds (NULL: no body)
 * and keep the body of the answer. Takes the bytes of pack.
 */
enum hoop_status
control_call(struct hoop_control *control,
             enum method_id method,
             struct pack *pack);

/* Borrowed from the last answer. */
struct message_span
control_body(const struct hoop_control *control);

/* Zeroed memory for n_items items, of the answer. NULL: none left. */
void *
control_items(struct hoop_control *control, size_t n_items, size_t n_bytes);

#endif
