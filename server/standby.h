/* standby.h - a hoopd that waits until it is needed */

#ifndef HOOPD_STANDBY_H
#define HOOPD_STANDBY_H

#include <signal.h>

#include "hoop/status.h"

struct hoop_coordinator_options;

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

#endif
