/* net/accept_pause.c - pause an accept loop when no connection can be
 * accepted */

#include "net/accept_pause.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

bool
accept_pause_is_needed(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS ||
           error == ENOMEM;
}

/* Return how many descriptors this process may open; 0: not known. */
static uint64_t
descriptors_max(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}

uint64_t
accept_pause_begin(struct accept_pause *pause,
                   const char *port,
                   const char *reason,
                   uint64_t now_ns)
{
    const uint64_t interval_ns = LIMIT_ACCEPT_LOG_MS * CLOCK_NS_PER_MS;

    pause->n_pauses++;
    if (pause->logged_ns && now_ns < pause->logged_ns + interval_ns)
        return LIMIT_ACCEPT_PAUSE_MS;

    log_warning("net",
                "the %s cannot take another connection: %s (this process may "
                "open %" PRIu64 " descriptors); it closes idle connections and "
                "tries again every %d ms (%" PRIu64 " pauses since the last "
                "such line)",
                port, reason, descriptors_max(), LIMIT_ACCEPT_PAUSE_MS,
                pause->n_pauses);
    *pause = (struct accept_pause){.logged_ns = now_ns};
    return LIMIT_ACCEPT_PAUSE_MS;
}
