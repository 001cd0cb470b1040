/*
 * rpc/rpc_call_queue.c - blocking calls that other threads make through a
 * client's loop
 *
 * The waiting thread and the loop share a note, which the last of them frees: a
 * waiter may leave if the loop is stuck, and a client may be destroyed as soon
 * as the answer is in the note. A waiter that is interrupted queues its note
 * once more, so that the loop cancels the call.
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

#include "base/cancel.h"
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

struct note {
    STAILQ_ENTRY(note) link;
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

STAILQ_HEAD(notes, note);

struct rpc_call_queue {
    struct rpc_client *client;
    pthread_mutex_t lock; /* protects notes */
    struct notes notes;
    int wakeup_fd;
    struct loop_watch *wakeup;
};

DEFINE_CLEANUP(struct rpc_call_queue *, rpc_call_queue_destroy)

static struct note *
note_create(const struct rpc_call *call)
{
    struct note *note = calloc(1, sizeof(*note));
    pthread_condattr_t monotonic;

    if (!note)
        return NULL;
    pthread_mutex_init(&note->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&note->is_done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    note->call = call;
    note->n_refs = 2;
    return note;
}

/* Releases the lock, and frees the note with its last reference. */
static void
note_unref(struct note *note)
{
    const bool is_last = --note->n_refs == 0;

    pthread_mutex_unlock(&note->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&note->is_done);
    pthread_mutex_destroy(&note->lock);
    free(note->message);
    free(note->answer.body);
    free(note);
}

/* Called with the lock, which is released. */
static void
note_answer(struct note *note, const struct rpc_answer *answer)
{
    const size_t n_body = answer->body.n_bytes;

    /* The waiter's interruption has queued the note again after it was
     * answered. */
    if (note->has_answer) {
        note_unref(note);
        return;
    }
    note->status = answer->status;
    note->message = strdup(answer->message);
    note->answer.body = n_body ? malloc(n_body) : NULL;
    if (note->answer.body) {
        memcpy(note->answer.body, answer->body.bytes, n_body);
        note->answer.n_body = n_body;
    } else if (n_body) {
        note->status = HOOP_E_EXHAUSTED;
    }
    note->has_answer = true;
    pthread_cond_signal(&note->is_done);
    note_unref(note);
}

static void
note_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct note *note = owner;

    pthread_mutex_lock(&note->lock);
    note_answer(note, answer);
}

static void
note_call(struct note *note, struct rpc_client *client)
{
    pthread_mutex_lock(&note->lock);
    if (!note->call) {
        if (note->id != 0 && !note->has_answer) {
            rpc_client_cancel(client, note->id);
            note->n_refs--;
        }
        note_unref(note);
        return;
    }

    struct rpc_call call = *note->call;
    call.on_answer = note_on_answer;
    call.owner = note;
    const enum hoop_status status = rpc_client_call(client, &call, &note->id);
    if (status == HOOP_OK)
        pthread_mutex_unlock(&note->lock);
    else
        note_answer(note, &(struct rpc_answer){status, error_text(), {0}});
}

static struct note *
call_queue_take(struct rpc_call_queue *call_queue)
{
    pthread_mutex_lock(&call_queue->lock);
    struct note *note = STAILQ_FIRST(&call_queue->notes);
    if (note)
        STAILQ_REMOVE_HEAD(&call_queue->notes, link);
    pthread_mutex_unlock(&call_queue->lock);
    return note;
}

static void
call_queue_on_wakeup(void *owner, enum loop_interest ready)
{
    struct rpc_call_queue *call_queue = owner;
    struct note *note;
    uint64_t rings;

    (void)ready;
    /* Reset the descriptor first: a note that is queued later signals it
     * again. */
    if (read(call_queue->wakeup_fd, &rings, sizeof(rings)) < 0)
        return;
    while ((note = call_queue_take(call_queue)))
        note_call(note, call_queue->client);
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
    STAILQ_INIT(&call_queue->notes);
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
    struct note *note;

    while (call_queue && (note = call_queue_take(call_queue)))
        note_on_answer(note, &(struct rpc_answer){
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
call_queue_put(struct rpc_call_queue *call_queue, struct note *note)
{
    const uint64_t one = 1;

    /* Signal while holding the lock: once the note is taken, the queue may be
     * destroyed. */
    pthread_mutex_lock(&call_queue->lock);
    STAILQ_INSERT_TAIL(&call_queue->notes, note, link);
    /* A write fails only if the counter is full, and then the descriptor is
     * readable already. */
    const ssize_t n = write(call_queue->wakeup_fd, &one, sizeof(one));
    (void)n;
    pthread_mutex_unlock(&call_queue->lock);
}

/* Called with the lock. Returns false if there is no answer by the deadline. */
static bool
note_wait(struct note *note, uint64_t deadline_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(deadline_ns % CLOCK_NS_PER_S),
    };
    int error = 0;

    while (!note->has_answer && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&note->is_done, &note->lock, &until);
    return note->has_answer;
}

static uint64_t
due_ns_of(const struct rpc_call *call)
{
    const int due_ms = call->due_ms ? call->due_ms(call->owner) : -1;

    return due_ms < 0 ? CLOCK_NEVER : clock_deadline_ns((uint64_t)due_ms);
}

/* As note_wait(), but calls on_due when it is due, without the lock. Handle:
 * HOOP_E_TIMEOUT, HOOP_E_CANCELLED (interrupted). */
static enum hoop_status
note_wait_busily(struct note *note,
                 const struct rpc_call *call,
                 uint64_t deadline_ns)
{
    enum hoop_status status = HOOP_OK;

    while (status != HOOP_E_CANCELLED) {
        const uint64_t due_ns = due_ns_of(call);
        const uint64_t asked_ns = interrupt_due_ns();
        const uint64_t next_ns = due_ns < asked_ns ? due_ns : asked_ns;

        if (note_wait(note, next_ns < deadline_ns ? next_ns : deadline_ns))
            return HOOP_OK;
        if (next_ns >= deadline_ns)
            return error_raise(HOOP_E_TIMEOUT,
                               "%s: the event loop does not run", call->method);
        pthread_mutex_unlock(&note->lock);
        if (next_ns == due_ns)
            status = call->on_due(call->owner);
        else if (interrupt_ask())
            status = HOOP_E_CANCELLED;
        if (status == HOOP_E_CANCELLED && call->on_interrupt)
            call->on_interrupt(call->owner);
        pthread_mutex_lock(&note->lock);
    }
    if (note->has_answer ||
        (call->on_interrupt &&
         note_wait(note, clock_deadline_ns(CALL_QUEUE_TAKE_BACK_MS))))
        return HOOP_OK;
    return interrupt_raise();
}

/* Called with the lock, which is released: the waiter leaves. */
static void
note_leave(struct note *note, struct rpc_call_queue *call_queue)
{
    note->call = NULL;
    if (note->id == 0 || note->has_answer) {
        note_unref(note);
        return;
    }
    call_queue_put(call_queue, note);
    pthread_mutex_unlock(&note->lock);
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
    struct note *note = note_create(call);

    if (!note)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a call of %s",
                           call->method);
    call_queue_put(call_queue, note);

    pthread_mutex_lock(&note->lock);
    enum hoop_status status = note_wait_busily(note, call, deadline_ns);
    if (status == HOOP_OK && note->status != HOOP_OK) {
        status =
            error_raise(note->status, "%s", note->message ? note->message : "");
    } else if (status == HOOP_OK) {
        *out_answer = note->answer;
        note->answer.body = NULL;
    }
    note_leave(note, call_queue);
    return status;
}
