/*
 * session/init.c - the process's default session and group
 *
 *   NONE -> JOINING -> READY -> NONE
 *               \_____________/
 *
 * The lock is not held while joining, which may take a minute.
 *
 * No test of its own: tests/integration/init_test.c does it for real.
 */

#include "hoop/init.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "base/error.h"

enum init_state {
    INIT_NONE,
    INIT_JOINING,
    INIT_READY,
};

static struct {
    pthread_mutex_t lock;
    enum init_state state;
    hoop_session_t *session; /* READY */
    hoop_group_t *group;     /* READY */
} standard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum hoop_status
init_begin(void)
{
    pthread_mutex_lock(&standard.lock);
    const enum init_state before = standard.state;

    if (before == INIT_NONE)
        standard.state = INIT_JOINING;
    pthread_mutex_unlock(&standard.lock);
    if (before == INIT_NONE)
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
    pthread_mutex_lock(&standard.lock);
    standard.state = session ? INIT_READY : INIT_NONE;
    standard.session = session;
    standard.group = group;
    pthread_mutex_unlock(&standard.lock);
}

enum hoop_status
hoop_init(const struct hoop_join_options *options)
{
    hoop_session_t *session = NULL;
    hoop_group_t *group = NULL;

    error_clear();
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
    pthread_mutex_lock(&standard.lock);
    const bool is_ready = standard.state == INIT_READY;
    pthread_mutex_unlock(&standard.lock);
    return is_ready;
}

hoop_session_t *
hoop_default_session(void)
{
    pthread_mutex_lock(&standard.lock);
    hoop_session_t *session = standard.session;
    pthread_mutex_unlock(&standard.lock);
    return session;
}

hoop_group_t *
hoop_default_group(void)
{
    pthread_mutex_lock(&standard.lock);
    hoop_group_t *group = standard.group;
    pthread_mutex_unlock(&standard.lock);
    return group;
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
