/* session/away_notice.c - messages to standard error while the coordinator of a
 * member does not answer */

#include "session/away_notice.h"

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

static void
away_notice_schedule(struct away_notice *notice)
{
    const int left_ms = wait_notice_left_ms(&notice->wait);

    if (left_ms >= 0)
        loop_timer_start(notice->timer, (uint64_t)left_ms);
}

static void
away_notice_on_timer(void *owner)
{
    struct away_notice *notice = owner;
    const char *trouble = rpc_client_disconnect_reason(notice->client);
    char text[LIMIT_ERROR_TEXT];

    if (trouble && !trouble[0])
        trouble = "no answer yet";
    snprintf(text, sizeof(text),
             "waiting for hoopd at %s: %.500s; collectives and messages go on, "
             "what asks the coordinator waits",
             notice->config->coordinator,
             trouble ? trouble : "it is connected, but does not answer");
    notice->has_printed = true;
    wait_notice_log(&notice->wait, text);
    away_notice_schedule(notice);
}

enum hoop_status
away_notice_init(struct away_notice *notice,
                 struct loop *loop,
                 struct rpc_client *client,
                 const struct config *config)
{
    notice->config = config;
    notice->client = client;
    const enum hoop_status status =
        loop_timer_create(loop, away_notice_on_timer, notice, &notice->timer);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
away_notice_deinit(struct away_notice *notice)
{
    loop_timer_destroy(notice->timer);
}

void
away_notice_begin(struct away_notice *notice)
{
    if (notice->is_waiting || notice->config->wait_notice_ms == 0)
        return;
    notice->is_waiting = true;
    notice->has_printed = false;
    wait_notice_begin(&notice->wait, notice->config->wait_notice_ms, NULL, 0);
    away_notice_schedule(notice);
}

void
away_notice_end(struct away_notice *notice)
{
    if (!notice->is_waiting)
        return;
    away_notice_stop(notice);
    if (notice->has_printed)
        log_write(LOG_WARNING, "wait", "hoopd at %s is back after %.1f s",
                  notice->config->coordinator,
                  ns_to_seconds(clock_now_ns() - notice->wait.began_ns));
}

void
away_notice_stop(struct away_notice *notice)
{
    notice->is_waiting = false;
    loop_timer_stop(notice->timer);
}
