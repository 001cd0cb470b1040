/* net/proc.h - this process as other processes of its host see it */

#ifndef NET_PROC_H
#define NET_PROC_H

#include <stdint.h>

#include "hoop/status.h"

/* Get this process's number in the /proc that it sees, which is valid for all
 * processes that share it. Handle: HOOP_E_UNAVAILABLE. Thread: any. */
enum hoop_status
proc_own_pid(uint32_t *out_pid);

#endif
