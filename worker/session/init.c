/*
 * session/init.c - the process's default session and group
 *
 * The default session's states:
 *
 *   NONE -> JOINING -> READY -> LEAVING -> NONE
 *               \_________________________/
 *
 * They have no lock, because a fork could leave it locked in the child. Only
 * the thread that has set JOINING or LEAVING writes the two pointers, until it
 * sets READY or NONE. LEAVING takes the pointers away before anything is freed.
 */

#include "hoop/init.h"

#include <stdatomic.h>

#include "base/error.h"
#include "base/interrupt.h"

enum init_state {
    INIT_NONE,
    INIT_JOINING,
    INIT_READY,
    INIT_LEAVING,
};

static struct {
    _Atomic enum init_state state;
    _Atomic(hoop_session_t *) session; /* NULL unless READY */
    _Atomic(hoop_group_t *) group;     /* NULL unless READY */
} standard;

static enum hoop_status
default_session_begin_join(void)
{
    enum init_state before = INIT_NONE;

    if (atomic_compare_exchange_strong(&standard.state, &before, INIT_JOINING))
        return HOOP_OK;
    if (before == INIT_READY)
        return error_raise(HOOP_E_EXISTS,
                           "hoop_init() was called before: once per process, "
                           "or again after hoop_shutdown()");
    return error_raise(HOOP_E_EXISTS, "another thread is in %s",
                       before == INIT_JOINING ? "hoop_init()"
                                              : "hoop_shutdown()");
}

/* session and group are NULL after a failed join or a shutdown. */
static void
default_session_set(hoop_session_t *session, hoop_group_t *group)
{
    atomic_store(&standard.session, session);
    atomic_store(&standard.group, group);
    atomic_store(&standard.state, session ? INIT_READY : INIT_NONE);
}

enum hoop_status
hoop_init(const struct hoop_join_options *options)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    hoop_session_t *session = NULL;
    hoop_group_t *group = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = default_session_begin_join();
    if (status != HOOP_OK)
        return error_pass(status);
    status = hoop_join(options, &session);
    if (status == HOOP_OK)
        status = hoop_group_create(session, NULL, 0, &group);
    if (status != HOOP_OK)
        hoop_leave(STEAL(session));
    default_session_set(session, group);
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
    CLEANUP(cancel_release) const int held = cancel_hold();
    enum init_state before = INIT_READY;

    if (!atomic_compare_exchange_strong(&standard.state, &before, INIT_LEAVING))
        return;
    hoop_group_t *group = atomic_exchange(&standard.group, NULL);
    hoop_session_t *session = atomic_exchange(&standard.session, NULL);

    hoop_group_free(group);
    hoop_leave(session);
    default_session_set(NULL, NULL);
}
