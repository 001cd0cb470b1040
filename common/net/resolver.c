/*
 * net/resolver.c - look up a name without blocking the loop
 *
 * The thread and the resolver share a lookup, which the last of them frees. The
 * thread signals the lookup's wakeup, an eventfd that the loop watches.
 */

#include "net/resolver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "net/loop.h"

struct lookup {
    atomic_int n_refs;
    int wakeup_fd;
    char text[LIMIT_ADDRESS];
    struct address addresses[LIMIT_RPC_ADDRESSES];
    enum hoop_status status;    /* of address_resolve_all(); written before the
                                wakeup is signalled, as are the next two */
    size_t n_addresses;         /* 0 on failure */
    char why[LIMIT_ERROR_TEXT]; /* the error text of a failure */
};

struct resolver {
    struct lookup *lookup;
    struct loop_watch *wakeup;
    resolver_fn *on_resolved;
    void *owner;
};

DEFINE_CLEANUP(struct resolver *, resolver_destroy)

static void
lookup_unref(struct lookup *lookup)
{
    if (!lookup || atomic_fetch_sub(&lookup->n_refs, 1) > 1)
        return;
    if (lookup->wakeup_fd >= 0)
        close(lookup->wakeup_fd);
    free(lookup);
}

static enum hoop_status
lookup_create(const char *text, struct lookup **out_lookup)
{
    struct lookup *lookup = calloc(1, sizeof(*lookup));

    if (!lookup)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look up '%s'", text);
    atomic_init(&lookup->n_refs, 1);
    snprintf(lookup->text, sizeof(lookup->text), "%s", text);
    lookup->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *out_lookup = lookup;
    return HOOP_OK;
}

static void *
lookup_thread_main(void *owner)
{
    struct lookup *lookup = owner;
    const uint64_t one = 1;
    size_t n = 0;

    lookup->status = address_resolve_all(lookup->text, lookup->addresses,
                                         COUNT_OF(lookup->addresses), &n);
    if (lookup->status != HOOP_OK) {
        snprintf(lookup->why, sizeof(lookup->why), "%s", error_text());
        n = 0;
    }
    lookup->n_addresses = n;

    /* The write cannot fail, because the eventfd is signalled only once. */
    if (write(lookup->wakeup_fd, &one, sizeof(one)) < 0)
        lookup->n_addresses = 0;
    lookup_unref(lookup);
    return NULL;
}

/* Block all signals: the user's signals must not be delivered to a thread that
 * the user did not create. */
static enum hoop_status
lookup_start(struct lookup *lookup)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    atomic_fetch_add(&lookup->n_refs, 1);
    const int error =
        pthread_create(&thread, &attributes, lookup_thread_main, lookup);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);

    if (error == 0)
        return HOOP_OK;
    lookup_unref(lookup);
    char why[RESOURCE_LIMIT_TEXT];
    return error_raise(HOOP_E_EXHAUSTED, "no thread to look up '%s': %s",
                       lookup->text,
                       resource_error_describe(RESOURCE_THREAD, error, why));
}

static void
resolver_on_wakeup(void *owner, enum loop_interest ready)
{
    struct resolver *resolver = owner;
    uint64_t n_signals;

    (void)ready;
    loop_watch_set(resolver->wakeup, LOOP_NOTHING);
    if (read(resolver->lookup->wakeup_fd, &n_signals, sizeof(n_signals)) < 0)
        return;

    /* The callback may destroy the resolver, so keep the lookup that it
     * reads. */
    struct lookup *lookup = resolver->lookup;
    atomic_fetch_add(&lookup->n_refs, 1);
    resolver->on_resolved(resolver->owner, lookup->addresses,
                          lookup->n_addresses, lookup->why);
    lookup_unref(lookup);
}

enum hoop_status
resolver_start(struct loop *loop,
               const char *text,
               resolver_fn *on_resolved,
               void *owner,
               struct resolver **out_resolver)
{
    CLEANUP(resolver_destroy)
    struct resolver *resolver = calloc(1, sizeof(*resolver));

    if (!resolver)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look up '%s'", text);
    resolver->on_resolved = on_resolved;
    resolver->owner = owner;

    enum hoop_status status = lookup_create(text, &resolver->lookup);
    if (status != HOOP_OK)
        return error_pass(status);
    if (resolver->lookup->wakeup_fd < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no descriptor to look up '%s'",
                           text);

    status = loop_watch_create(loop, resolver->lookup->wakeup_fd,
                               resolver_on_wakeup, resolver, &resolver->wakeup);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_watch_set(resolver->wakeup, LOOP_READ);

    status = lookup_start(resolver->lookup);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_resolver = STEAL(resolver);
    return HOOP_OK;
}

void
resolver_destroy(struct resolver *resolver)
{
    if (!resolver)
        return;
    loop_watch_destroy(resolver->wakeup);
    lookup_unref(resolver->lookup);
    free(resolver);
}

static void
wait_on_resolved(void *owner,
                 const struct address *addresses,
                 size_t n_addresses,
                 const char *why)
{
    (void)addresses;
    (void)n_addresses;
    (void)why;
    loop_stop(owner);
}

enum hoop_status
resolver_wait(struct loop *loop,
              const char *text,
              struct address *out_addresses,
              size_t n_max,
              size_t *out_n)
{
    CLEANUP(resolver_destroy) struct resolver *resolver = NULL;
    struct address number;

    if (interrupt_due_ns() == CLOCK_NEVER ||
        address_parse(text, &number) == HOOP_OK)
        return address_resolve_all(text, out_addresses, n_max, out_n);
    enum hoop_status status =
        resolver_start(loop, text, wait_on_resolved, loop, &resolver);
    if (status == HOOP_OK)
        status = loop_run_interruptible(loop);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct lookup *lookup = resolver->lookup;
    if (lookup->status != HOOP_OK)
        return error_raise(lookup->status, "%s", lookup->why);
    *out_n = lookup->n_addresses < n_max ? lookup->n_addresses : n_max;
    memcpy(out_addresses, lookup->addresses, *out_n * sizeof(*out_addresses));
    return HOOP_OK;
}
