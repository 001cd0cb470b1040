/* session/loop_thread.c - the background thread of a session, which runs its
 * loop */

#include "session/loop_thread.h"

#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"

static void *
loop_thread_run(void *owner)
{
    loop_run(owner);
    return NULL;
}

enum hoop_status
loop_thread_start(struct loop *loop, pthread_t *out_thread)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(out_thread, NULL, loop_thread_run, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        char why[RESOURCE_LIMIT_TEXT];
        return error_raise(
            HOOP_E_EXHAUSTED, "no background thread: %s",
            resource_error_describe(RESOURCE_THREAD, error, why));
    }
    pthread_setname_np(*out_thread, "hoop");
    return HOOP_OK;
}
