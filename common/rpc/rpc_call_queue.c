/*
 * rpc/rpc_call_queue.c - blocking calls that other threads make through a
 * client's loop
 *
 * The waiting thread and the loop share a blocking call, which the last of them
 * frees: a waiter may leave if the loop is stuck, and a client may be destroyed
 * as soon as the answer is in the blocking call. A waiter that is interrupted
 * queues its blocking call once more, so that the loop cancels the call.
 */

#include "rpc/rpc_call_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "net/loop.h"
#include "rpc/rpc_client.h"

/* The loop answers at the deadline; if it has not this much later, it is
 * stuck. */
static const uint64_t CALL_QUEUE_GRACE_MS = 2000;

/* How long an interrupted call may still be answered; a signal should be
 * handled within 100 ms. */
static const uint64_t CALL_QUEUE_TAKE_BACK_MS = 40;

struct blocking_call {
    STAILQ_ENTRY(blocking_call) link;
    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t is_done;
    const struct rpc_call *call; /* NULL: the waiter has left */
    int n_refs;
    uint64_t id; /* of the call; 0: it has not started */
    bool has_answer;
    enum hoop_status status;
    char *message;
    struct rpc_call_queue_answer answer;
};

STAILQ_HEAD(blocking_calls, blocking_call);

struct rpc_call_queue {
    struct rpc_client *client;
    pthread_mutex_t lock; /* protects blocking_calls */
    struct blocking_calls blocking_calls;
    int wakeup_fd;
    struct loop_watch *wakeup;
};

DEFINE_CLEANUP(struct rpc_call_queue *, rpc_call_queue_destroy)

static struct blocking_call *
blocking_call_create(const struct rpc_call *call)
{
    struct blocking_call *blocking_call = calloc(1, sizeof(*blocking_call));
    pthread_condattr_t monotonic;

    if (!blocking_call)
        return NULL;
    pthread_mutex_init(&blocking_call->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&blocking_call->is_done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    blocking_call->call = call;
    blocking_call->n_refs = 2;
    return blocking_call;
}

/* Releases the lock, and frees the blocking call with its last reference. */
static void
blocking_call_unref(struct blocking_call *blocking_call)
{
    const bool is_last = --blocking_call->n_refs == 0;

    pthread_mutex_unlock(&blocking_call->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&blocking_call->is_done);
    pthread_mutex_destroy(&blocking_call->lock);
    free(blocking_call->message);
    free(blocking_call->answer.body);
    free(blocking_call);
}

/* Called with the lock, which is released. */
static void
blocking_call_answer(struct blocking_call *blocking_call,
                     const struct rpc_answer *answer)
{
    const size_t n_body = answer->body.n_bytes;

    /* The waiter's interruption has queued the blocking call again after it was
     * answered. */
    if (blocking_call->has_answer) {
        blocking_call_unref(blocking_call);
        return;
    }
    blocking_call->status = answer->status;
    blocking_call->message = strdup(answer->message);
    blocking_call->answer.body = n_body ? malloc(n_body) : NULL;
    if (blocking_call->answer.body) {
        memcpy(blocking_call->answer.body, answer->body.bytes, n_body);
        blocking_call->answer.n_body = n_body;
    } else if (n_body) {
        blocking_call->status = HOOP_E_EXHAUSTED;
    }
    blocking_call->has_answer = true;
    pthread_cond_signal(&blocking_call->is_done);
    blocking_call_unref(blocking_call);
}

static void
blocking_call_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct blocking_call *blocking_call = owner;

    pthread_mutex_lock(&blocking_call->lock);
    blocking_call_answer(blocking_call, answer);
}

static void
blocking_call_start(struct blocking_call *blocking_call,
                    struct rpc_client *client)
{
    pthread_mutex_lock(&blocking_call->lock);
    if (!blocking_call->call) {
        if (blocking_call->id != 0 && !blocking_call->has_answer) {
            rpc_client_cancel(client, blocking_call->id);
            blocking_call->n_refs--;
        }
        blocking_call_unref(blocking_call);
        return;
    }

    struct rpc_call call = *blocking_call->call;
    call.on_answer = blocking_call_on_answer;
    call.owner = blocking_call;
    const enum hoop_status status =
        rpc_client_call(client, &call, &blocking_call->id);
    if (status == HOOP_OK)
        pthread_mutex_unlock(&blocking_call->lock);
    else
        blocking_call_answer(blocking_call,
                             &(struct rpc_answer){status, error_text(), {0}});
}

static struct blocking_call *
call_queue_take(struct rpc_call_queue *call_queue)
{
    pthread_mutex_lock(&call_queue->lock);
    struct blocking_call *blocking_call =
        STAILQ_FIRST(&call_queue->blocking_calls);
    if (blocking_call)
        STAILQ_REMOVE_HEAD(&call_queue->blocking_calls, link);
    pthread_mutex_unlock(&call_queue->lock);
    return blocking_call;
}

static void
call_queue_on_wakeup(void *owner, enum loop_interest ready)
{
    struct rpc_call_queue *call_queue = owner;
    struct blocking_call *blocking_call;
    uint64_t n_signals;

    (void)ready;
    /* Reset the descriptor first: a blocking call that is queued later signals
     * it again. */
    if (read(call_queue->wakeup_fd, &n_signals, sizeof(n_signals)) < 0)
        return;
    while ((blocking_call = call_queue_take(call_queue)))
        blocking_call_start(blocking_call, call_queue->client);
}

enum hoop_status
rpc_call_queue_create(struct loop *loop,
                      struct rpc_client *client,
                      struct rpc_call_queue **out_call_queue)
{
    CLEANUP(rpc_call_queue_destroy)
    struct rpc_call_queue *call_queue = calloc(1, sizeof(*call_queue));

    if (!call_queue)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a client");
    call_queue->client = client;
    pthread_mutex_init(&call_queue->lock, NULL);
    STAILQ_INIT(&call_queue->blocking_calls);
    call_queue->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (call_queue->wakeup_fd < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no event descriptor: %s",
                           strerror(errno));

    const enum hoop_status status =
        loop_watch_create(loop, call_queue->wakeup_fd, call_queue_on_wakeup,
                          call_queue, &call_queue->wakeup);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_watch_set(call_queue->wakeup, LOOP_READ);
    *out_call_queue = STEAL(call_queue);
    return HOOP_OK;
}

void
rpc_call_queue_close(struct rpc_call_queue *call_queue)
{
    struct blocking_call *blocking_call;

    while (call_queue && (blocking_call = call_queue_take(call_queue)))
        blocking_call_on_answer(blocking_call,
                                &(struct rpc_answer){
                                    .status = HOOP_E_CANCELLED,
                                    .message = "the client of the coordinator "
                                               "was closed",
                                });
}

void
rpc_call_queue_destroy(struct rpc_call_queue *call_queue)
{
    if (!call_queue)
        return;
    rpc_call_queue_close(call_queue);
    loop_watch_destroy(call_queue->wakeup);
    if (call_queue->wakeup_fd >= 0)
        close(call_queue->wakeup_fd);
    pthread_mutex_destroy(&call_queue->lock);
    free(call_queue);
}

static void
call_queue_put(struct rpc_call_queue *call_queue,
               struct blocking_call *blocking_call)
{
    const uint64_t one = 1;

    /* Signal while holding the lock: once the blocking call is taken, the queue
     * may be destroyed. */
    pthread_mutex_lock(&call_queue->lock);
    STAILQ_INSERT_TAIL(&call_queue->blocking_calls, blocking_call, link);
    /* A write fails only if the counter is full, and then the descriptor is
     * readable already. */
    const ssize_t n = write(call_queue->wakeup_fd, &one, sizeof(one));
    (void)n;
    pthread_mutex_unlock(&call_queue->lock);
}

/* Called with the lock. Returns false if there is no answer by the deadline. */
static bool
blocking_call_wait(struct blocking_call *blocking_call, uint64_t deadline_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(deadline_ns % CLOCK_NS_PER_S),
    };
    int error = 0;

    while (!blocking_call->has_answer && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&blocking_call->is_done,
                                       &blocking_call->lock, &until);
    return blocking_call->has_answer;
}

static uint64_t
call_due_ns(const struct rpc_call *call)
{
    const int due_ms = call->due_ms ? call->due_ms(call->owner) : -1;

    return due_ms < 0 ? CLOCK_NEVER : clock_deadline_ns((uint64_t)due_ms);
}

/* As blocking_call_wait(), but calls on_due when it is due, without the lock.
 * Handle: HOOP_E_TIMEOUT, HOOP_E_CANCELLED (interrupted). */
static enum hoop_status
blocking_call_wait_with_due(struct blocking_call *blocking_call,
                            const struct rpc_call *call,
                            uint64_t deadline_ns)
{
    enum hoop_status status = HOOP_OK;

    while (status != HOOP_E_CANCELLED) {
        const uint64_t due_ns = call_due_ns(call);
        const uint64_t asked_ns = interrupt_due_ns();
        const uint64_t next_ns = due_ns < asked_ns ? due_ns : asked_ns;

        if (blocking_call_wait(blocking_call,
                               next_ns < deadline_ns ? next_ns : deadline_ns))
            return HOOP_OK;
        if (next_ns >= deadline_ns)
            return error_raise(HOOP_E_TIMEOUT,
                               "%s: the event loop does not run", call->method);
        pthread_mutex_unlock(&blocking_call->lock);
        if (next_ns == due_ns)
            status = call->on_due(call->owner);
        else if (interrupt_check_now())
            status = HOOP_E_CANCELLED;
        if (status == HOOP_E_CANCELLED && call->on_interrupt)
            call->on_interrupt(call->owner);
        pthread_mutex_lock(&blocking_call->lock);
    }
    if (blocking_call->has_answer ||
        (call->on_interrupt &&
         blocking_call_wait(blocking_call,
                            clock_deadline_ns(CALL_QUEUE_TAKE_BACK_MS))))
        return HOOP_OK;
    return interrupt_raise();
}

/* Called with the lock, which is released: the waiter leaves. */
static void
blocking_call_abandon(struct blocking_call *blocking_call,
                      struct rpc_call_queue *call_queue)
{
    blocking_call->call = NULL;
    if (blocking_call->id == 0 || blocking_call->has_answer) {
        blocking_call_unref(blocking_call);
        return;
    }
    call_queue_put(call_queue, blocking_call);
    pthread_mutex_unlock(&blocking_call->lock);
}

enum hoop_status
rpc_call_queue_call(struct rpc_call_queue *call_queue,
                    const struct rpc_call *call,
                    struct rpc_call_queue_answer *out_answer)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const uint64_t limit_ms = call->timeout_ms + CALL_QUEUE_GRACE_MS;
    const uint64_t deadline_ns = clock_deadline_ns(
        limit_ms > call->timeout_ms ? limit_ms : call->timeout_ms);
    struct blocking_call *blocking_call = blocking_call_create(call);

    if (!blocking_call)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a call of %s",
                           call->method);
    call_queue_put(call_queue, blocking_call);

    pthread_mutex_lock(&blocking_call->lock);
    enum hoop_status status =
        blocking_call_wait_with_due(blocking_call, call, deadline_ns);
    if (status == HOOP_OK && blocking_call->status != HOOP_OK) {
        status =
            error_raise(blocking_call->status, "%s",
                        blocking_call->message ? blocking_call->message : "");
    } else if (status == HOOP_OK) {
        *out_answer = blocking_call->answer;
        blocking_call->answer.body = NULL;
    }
    blocking_call_abandon(blocking_call, call_queue);
    return status;
}
