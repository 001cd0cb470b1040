/* session/program_stack.c - where the program is, as its language tells it */

#include "session/program_stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    /* A reader needs a few milliseconds if the interpreter is free. */
    STACK_LOOK_MS = 5,
};

/* Of the process, whose sessions share it. */
static struct {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t is_idle;
    hoop_stack_reader_t *read; /* NULL: the program has named none */
    bool is_reading;
    bool has_read; /* text is what was read last */
    char text[LIMIT_PROGRAM_STACK];
} stack = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .is_idle = PTHREAD_COND_INITIALIZER};

static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void
atfork_prepare(void)
{
    pthread_mutex_lock(&stack.lock);
}

static void
atfork_parent(void)
{
    pthread_mutex_unlock(&stack.lock);
}

/* The child has neither the thread that reads nor those that wait for it. */
static void
atfork_child(void)
{
    stack.is_idle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    stack.is_reading = false;
    stack.has_read = false;
    pthread_mutex_unlock(&stack.lock);
}

static void
atfork_handlers_register(void)
{
    /* This fails only for lack of memory; then a child may tell no stack. */
    (void)pthread_atfork(atfork_prepare, atfork_parent, atfork_child);
}

void
hoop_set_stack_reader(hoop_stack_reader_t *read)
{
    pthread_once(&registered, atfork_handlers_register);
    pthread_mutex_lock(&stack.lock);
    stack.read = read;
    stack.has_read = false;
    /* A reader that has been replaced runs no longer when this returns. */
    while (stack.is_reading)
        pthread_cond_wait(&stack.is_idle, &stack.lock);
    pthread_mutex_unlock(&stack.lock);
}

static void *
reader_run(void *owner)
{
    char text[LIMIT_PROGRAM_STACK] = "";

    (void)owner;
    pthread_mutex_lock(&stack.lock);
    hoop_stack_reader_t *read = stack.read;
    pthread_mutex_unlock(&stack.lock);
    if (read)
        read(text, sizeof(text));
    text[sizeof(text) - 2] = '\0';
    text[sizeof(text) - 1] = '\0';
    /* A text without an end of line says why there is no stack. */
    if (text[0] && !strchr(text, '\n'))
        text[strlen(text)] = '\n';

    pthread_mutex_lock(&stack.lock);
    memcpy(stack.text, text, sizeof(text));
    stack.has_read = read && read == stack.read;
    stack.is_reading = false;
    pthread_cond_broadcast(&stack.is_idle);
    pthread_mutex_unlock(&stack.lock);
    return NULL;
}

/* Start a thread that nobody joins. It blocks all signals. */
static bool
reader_start(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread, &attributes, reader_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

bool
program_stack_ask(void)
{
    pthread_mutex_lock(&stack.lock);
    const bool has_reader = stack.read != NULL;

    if (has_reader && !stack.is_reading) {
        /* What was read for an earlier question is no answer to this one. */
        stack.has_read = false;
        stack.is_reading = reader_start();
    }
    pthread_mutex_unlock(&stack.lock);
    return has_reader;
}

bool
program_stack_is_pending(void)
{
    pthread_mutex_lock(&stack.lock);
    const bool is_reading = stack.is_reading;

    pthread_mutex_unlock(&stack.lock);
    return is_reading;
}

void
program_stack_copy(char text[LIMIT_PROGRAM_STACK])
{
    text[0] = '\0';
    pthread_mutex_lock(&stack.lock);
    if (stack.read && stack.is_reading)
        snprintf(text, LIMIT_PROGRAM_STACK,
                 "its interpreter has not told its stack for %.1f s, as if "
                 "other code held its lock",
                 (double)LIMIT_PROGRAM_STACK_MS / 1000);
    else if (stack.read && stack.has_read)
        memcpy(text, stack.text, LIMIT_PROGRAM_STACK);
    pthread_mutex_unlock(&stack.lock);
}

/* The wait of a session. */

struct stack_wait {
    struct loop_timer *timer;
    uint64_t deadline_ns;
    loop_fn *on_end;
    void *owner;
};

/* The reader is not told who waits for it, so that a session can end while it
 * runs. */
static void
stack_wait_look(void *owner)
{
    struct stack_wait *wait = owner;

    if (program_stack_is_pending() && !clock_is_past(wait->deadline_ns))
        loop_timer_start(wait->timer, STACK_LOOK_MS);
    else
        wait->on_end(wait->owner);
}

enum hoop_status
stack_wait_create(struct loop *loop,
                  loop_fn *on_end,
                  void *owner,
                  struct stack_wait **out_wait)
{
    struct stack_wait *wait = calloc(1, sizeof(*wait));

    if (!wait)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a session");
    wait->on_end = on_end;
    wait->owner = owner;
    const enum hoop_status status =
        loop_timer_create(loop, stack_wait_look, wait, &wait->timer);
    if (status != HOOP_OK) {
        free(wait);
        return error_pass(status);
    }
    *out_wait = wait;
    return HOOP_OK;
}

void
stack_wait_destroy(struct stack_wait *wait)
{
    if (!wait)
        return;
    loop_timer_destroy(wait->timer);
    free(wait);
}

void
stack_wait_start(struct stack_wait *wait)
{
    wait->deadline_ns = clock_deadline_ns(LIMIT_PROGRAM_STACK_MS);
    loop_timer_start(wait->timer, program_stack_ask() ? STACK_LOOK_MS : 0);
}
