/* session/fork.c - which sessions a fork concerns, and closing their
 * descriptors in the child */

#include "session/fork.h"

#include <pthread.h>

#include "net/wakeup.h"

LIST_HEAD(fork_watch_list, fork_watch);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fork_watch_list watches = LIST_HEAD_INITIALIZER(watches);
static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void
atfork_prepare(void)
{
    pthread_mutex_lock(&lock);
    descriptor_lock();
}

static void
atfork_parent(void)
{
    descriptor_unlock();
    pthread_mutex_unlock(&lock);
}

static void
atfork_child(void)
{
    struct fork_watch *watch;

    if (!LIST_EMPTY(&watches))
        descriptor_close_all();
    LIST_FOREACH(watch, &watches, link)
    {
        watch->on_fork_child(watch->owner);
    }
    LIST_INIT(&watches);
    descriptor_unlock();
    pthread_mutex_unlock(&lock);
}

static void
atfork_handlers_register(void)
{
    /* This fails only for lack of memory; then a child keeps the descriptors
     * that it inherits. */
    (void)pthread_atfork(atfork_prepare, atfork_parent, atfork_child);
}

void
fork_watch_start(struct fork_watch *watch)
{
    pthread_once(&registered, atfork_handlers_register);
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&watches, watch, link);
    pthread_mutex_unlock(&lock);
}

void
fork_watch_stop(struct fork_watch *watch)
{
    pthread_mutex_lock(&lock);
    LIST_REMOVE(watch, link);
    pthread_mutex_unlock(&lock);
}
