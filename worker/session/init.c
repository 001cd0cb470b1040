/*
 * session/init.c - the process's default session and group
 *
 *   NONE -> JOINING -> READY -> NONE
 *               \_____________/
 *
 * No lock, which a thread that forks could leave taken in the child: only who
 * has made it JOINING writes the two pointers, until it is READY, and who shuts
 * down.
 *
 * No test of its own: tests/integration/init_test.c does it for real.
 */

#include "hoop/init.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/error.h"

enum init_state {
    INIT_NONE,
    INIT_JOINING,
    INIT_READY,
};

static struct {
    _Atomic enum init_state state;
    _Atomic(hoop_session_t *) session; /* READY */
    _Atomic(hoop_group_t *) group;     /* READY */
} standard;

static enum hoop_status
init_begin(void)
{
    enum init_state before = INIT_NONE;

    if (atomic_compare_exchange_strong(&standard.state, &before, INIT_JOINING))
        return HOOP_OK;
    return error_raise(HOOP_E_EXISTS,
                       before == INIT_READY
                           ? "hoop_init() was called before: once per process, "
                             "or again after hoop_shutdown()"
                           : "another thread is in hoop_init()");
}

/* NULL, NULL: it failed, or is over. */
static void
init_end(hoop_session_t *session, hoop_group_t *group)
{
    atomic_store(&standard.session, session);
    atomic_store(&standard.group, group);
    atomic_store(&standard.state, session ? INIT_READY : INIT_NONE);
}

enum hoop_status
hoop_init(const struct hoop_join_options *options)
{
    hoop_session_t *session = NULL;
    hoop_group_t *group = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = init_begin();
    if (status != HOOP_OK)
        return error_pass(status);
    status = hoop_join(options, &session);
    if (status == HOOP_OK)
        status = hoop_group_create(session, NULL, 0, &group);
    if (status != HOOP_OK)
        hoop_leave(STEAL(session));
    init_end(session, group);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
hoop_is_initialized(void)
{
    return atomic_load(&standard.state) == INIT_READY;
}

hoop_session_t *
hoop_default_session(void)
{
    return atomic_load(&standard.session);
}

hoop_group_t *
hoop_default_group(void)
{
    return atomic_load(&standard.group);
}

void
hoop_shutdown(void)
{
    if (!hoop_is_initialized())
        return;
    hoop_session_t *session = hoop_default_session();
    hoop_group_t *group = hoop_default_group();

    init_end(NULL, NULL);
    hoop_group_free(group);
    hoop_leave(session);
}
