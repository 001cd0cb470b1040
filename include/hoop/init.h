/* hoop/init.h - the process's default session and group
 *
 * For programs that join one job and pass no session around. Other sessions
 * may live beside it.
 */

#ifndef HOOP_INIT_H
#define HOOP_INIT_H

#include <stdbool.h>

#include "hoop/api.h"
#include "hoop/group.h"
#include "hoop/session.h"
#include "hoop/status.h"

HOOP_BEGIN

/*
 * hoop_join() as the process's default session, and a default group of all its
 * ranks. options may be NULL: everything from the environment. Once per
 * process, or again after hoop_shutdown(), in a forked child, too.
 * Bagua: init_process_group(); torch.distributed: the same.
 *
 * Handle: HOOP_E_EXISTS (it is initialized, or another thread is in hoop_init()
 * or hoop_shutdown()), and as hoop_join(). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_init(const struct hoop_join_options *options);

/* Bagua: is_initialized(). Thread: any. */
HOOP_API bool
hoop_is_initialized(void);

/* Both are borrowed, and NULL before hoop_init() and after hoop_shutdown().
 * Collectives and messages that are given no communicator take the global one
 * of the default group (hoop/coll.h). Thread: any. */
HOOP_API hoop_session_t *
hoop_default_session(void);
HOOP_API hoop_group_t *
hoop_default_group(void);

/*
 * Free the default group and hoop_leave() the default session. Without one it
 * does nothing, nor while another thread is in hoop_init() or hoop_shutdown().
 * torch.distributed: destroy_process_group().
 * Thread: any, when no other uses either the group or the session.
 */
HOOP_API void
hoop_shutdown(void);

HOOP_END

#endif
