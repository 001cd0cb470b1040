/* standby.h - decide when a hoopd starts to serve, and when it ends unused */

#ifndef HOOPD_STANDBY_H
#define HOOPD_STANDBY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "coordinator.h"

/*
 * Waits while another process uses the data, or until one of the signals in
 * ending has come, which *out_signal names; else it is 0. Meanwhile HTTP says
 * that the process is up and not ready. ending: blocked.
 * Handle: HOOP_E_UNAVAILABLE (the HTTP address is in use).
 */
enum hoop_status
standby_wait(const struct hoop_coordinator_options *options,
             const sigset_t *ending,
             int *out_signal);

/*
 * With --until-empty it ends with the last member of its jobs. Where its
 * standard input is a pipe or a socket, the other end is its starter's: as
 * long as that is open it goes on in any case, and then ends as soon as it
 * is empty. Else it ends, too, when nobody has come in time. So it is
 * bounded, however its starter ended.
 */

enum {
    IDLE_SHUTDOWN_LIMIT_S = 60, /* without a member, if nothing else is said */
};

struct idle_shutdown {
    uint64_t deadline_ns; /* for the first member to come */
    int input_fd;         /* -1: nobody holds it, or not any more */
    bool was_held;
};

/* limit_s from now until somebody has joined. input_fd is borrowed; what is neither
 * pipe nor socket says nothing of a starter. */
void
idle_shutdown_init(struct idle_shutdown *idle_shutdown,
                   uint32_t limit_s,
                   int input_fd);

/* Whether it is time to end. Does not wait. */
bool
idle_shutdown_is_due(struct idle_shutdown *idle_shutdown,
                     const struct coordinator_member_counts *occupancy,
                     uint64_t now_ns);

#endif
