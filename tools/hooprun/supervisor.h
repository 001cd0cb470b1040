/*
 * hooprun/supervisor.h - runs the embedded coordinator in its own process
 *
 * The coordinator has threads, and hooprun forks; separate processes avoid any
 * conflict. The coordinator ends with hooprun, however that ends.
 */

#ifndef HOOPRUN_SUPERVISOR_H
#define HOOPRUN_SUPERVISOR_H

#include <sys/types.h>

#include "hoop/status.h"

enum {
    SUPERVISOR_ADDRESS_MAX = 288,
    SUPERVISOR_TOKEN_MAX = 65, /* 64 hexadecimal digits and the final 0 */
};

struct supervisor {
    pid_t pid;
    int stop_fd; /* closing it stops the coordinator */
    char address[SUPERVISOR_ADDRESS_MAX];
};

/* Make a random token, as text. */
HOOP_NODISCARD enum hoop_status
supervisor_token(char out_token[static SUPERVISOR_TOKEN_MAX]);

/*
 * Fork it and wait until it listens, for example on "127.0.0.1:0". Prints
 * errors to stderr. Handle: HOOP_E_UNAVAILABLE.
 */
HOOP_NODISCARD enum hoop_status
supervisor_start(const char *token,
                 const char *listen,
                 struct supervisor *out_supervisor);

/* Ask it to end and wait for that. May be repeated. */
void
supervisor_stop(struct supervisor *supervisor);

#endif
