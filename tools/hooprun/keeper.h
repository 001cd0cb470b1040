/*
 * hooprun/keeper.h - the embedded coordinator, in a process of its own
 *
 * The coordinator has threads, and hooprun forks: a process of its own keeps
 * the two apart whatever the order. It ends with hooprun, however that ends.
 */

#ifndef HOOPRUN_KEEPER_H
#define HOOPRUN_KEEPER_H

#include <sys/types.h>

#include "hoop/status.h"

enum {
    KEEPER_ADDRESS_MAX = 288,
    KEEPER_TOKEN_MAX = 65, /* 64 hexadecimal digits and the final 0 */
};

struct keeper {
    pid_t pid;
    int stop_fd; /* closing it stops the coordinator */
    char address[KEEPER_ADDRESS_MAX];
};

/* A token nobody can guess, as text. */
HOOP_NODISCARD enum hoop_status
keeper_token(char out_token[static KEEPER_TOKEN_MAX]);

/*
 * Fork it, wait until it listens, on "127.0.0.1:0" say. Says on stderr what failed.
 *
 * Handle: HOOP_E_UNAVAILABLE.
 */
HOOP_NODISCARD enum hoop_status
keeper_start(const char *token, const char *listen, struct keeper *out_keeper);

/* Ask it to end and wait for that. Repeatable. */
void
keeper_stop(struct keeper *keeper);

#endif
