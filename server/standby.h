/* standby.h - decide when a hoopd starts to serve, and when it ends unused */

#ifndef HOOPD_STANDBY_H
#define HOOPD_STANDBY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "coordinator.h"

/*
 * Wait while another process uses the data, or until one of the signals in
 * ending arrives, which must be blocked. *out_signal is that signal, else 0.
 * Meanwhile the HTTP port reports that the process is up and not ready.
 * Handle: HOOP_E_UNAVAILABLE (the HTTP address is in use).
 */
enum hoop_status
standby_wait(const struct hoop_coordinator_options *options,
             const sigset_t *ending,
             int *out_signal);

/*
 * With --until-empty, hoopd ends when the last member of its jobs has left. If
 * its standard input is a pipe or a socket, the program that started hoopd
 * holds the other end: while that is open hoopd continues, and afterwards it
 * ends as soon as there is no member. Otherwise it also ends if no member joins
 * in time. So its life is bounded, however its starter ends.
 */

enum {
    IDLE_SHUTDOWN_LIMIT_S = 60, /* the default time without a member */
};

struct idle_shutdown {
    uint64_t deadline_ns; /* for the first member to join */
    int input_fd;         /* -1: no starter holds it, or not any more */
    bool had_starter;
};

/* Allow limit_s from now for the first member to join. input_fd is borrowed,
 * and ignored if it is neither a pipe nor a socket. */
void
idle_shutdown_init(struct idle_shutdown *idle_shutdown,
                   uint32_t limit_s,
                   int input_fd);

/* Return whether it is time to end. Does not wait. */
bool
idle_shutdown_is_due(struct idle_shutdown *idle_shutdown,
                     const struct coordinator_member_counts *occupancy,
                     uint64_t now_ns);

#endif
