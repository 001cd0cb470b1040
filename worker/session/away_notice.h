/*
 * session/away_notice.h - messages to standard error while the coordinator of a
 * member does not answer
 *
 * Thread: the loop's, or any before the loop runs and after it has stopped.
 */

#ifndef SESSION_AWAY_NOTICE_H
#define SESSION_AWAY_NOTICE_H

#include <stdbool.h>

#include "hoop/status.h"

#include "base/config.h"
#include "base/log.h"
#include "net/loop.h"
#include "rpc/rpc_client.h"

struct away_notice {
    const struct config *config;
    struct rpc_client *client;
    struct loop_timer *timer;
    struct wait_notice wait; /* used while is_waiting */
    bool is_waiting;
    bool has_printed; /* a notice of the wait has been written */
};

/* Borrows all for life. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
away_notice_init(struct away_notice *notice,
                 struct loop *loop,
                 struct rpc_client *client,
                 const struct config *config);
/* Zeroed memory is fine. */
void
away_notice_deinit(struct away_notice *notice);

/* An answer is awaited. It is if this is called again, too. */
void
away_notice_begin(struct away_notice *notice);
/* The coordinator has answered. Say so if a message said that it was away. */
void
away_notice_end(struct away_notice *notice);
/* Nothing is awaited any more. */
void
away_notice_stop(struct away_notice *notice);

#endif
