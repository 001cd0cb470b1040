/*
 * session/control.h - a client of the coordinator that is not a member of a job
 *
 * One call runs at a time: the calling thread runs the loop until the answer
 * has arrived. Between calls the client is idle.
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

/* What the last call returned to the user. Zeroed memory is empty. */
struct control_answer {
    uint8_t *body;
    size_t n_body;
    struct jobs_reply jobs;
    struct job_reply job;
    struct groups_reply groups;
    struct store_reply store;
    struct store_watch_reply watch;
    struct why_reply why;
    struct hoop_control_overview overview;
    struct hoop_control_roster roster;
    struct hoop_control_group_list group_list;
    struct hoop_control_keys keys;
    struct hoop_control_events events;
    struct hoop_control_verdict verdict;
    /* the array that one of these lists points to, or the values */
    void *items;
};

struct hoop_control {
    struct loop *loop;
    struct rpc_client *client;
    uint32_t timeout_ms;
    uint32_t default_timeout_ms; /* set at creation */
    char coordinator[LIMIT_ADDRESS];
    char job[LIMIT_NAME];
    enum hoop_status status; /* of the running call */
    struct control_answer answer;
};

/* Begin a public call: check that neither control nor argument is NULL. name is
 * the argument's name in the error text.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
control_check_argument(const struct hoop_control *control,
                       const void *argument,
                       const char *name);

/*
 * Discard the last answer, call method with the body in pack (NULL: no body)
 * and keep the body of the reply. Takes the bytes out of pack. Blocks until the
 * reply has arrived or the timeout has passed.
 */
enum hoop_status
control_call(struct hoop_control *control,
             enum method_id method,
             struct pack *pack);

/* The body of the last answer. Borrowed until the next call. */
struct message_span
control_answer_body(const struct hoop_control *control);

/* Allocate zeroed memory for n_items items of n_bytes each. The answer owns it.
 * Returns NULL if there is no memory. */
void *
control_answer_alloc_items(struct hoop_control *control,
                           size_t n_items,
                           size_t n_bytes);

/* What a rank of a roster points to. */
struct control_rank_parts {
    struct hoop_control_activity activity;
    struct hoop_control_rank_totals totals;
};

/* Show the members of reply, which lives as long as the answer, as the roster
 * of the answer. ranks and parts have room for all of them. */
void
control_roster_fill(struct hoop_control *control,
                    const struct job_reply *reply,
                    struct hoop_control_rank *ranks,
                    struct control_rank_parts *parts);

#endif
