/* hooprun/host_list.h - the hosts of a run, from --hosts and --hostfile */

#ifndef HOOPRUN_HOST_LIST_H
#define HOOPRUN_HOST_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HOST_LIST_MAX = 1024,
    HOST_NAME_BYTES = 256,
    HOST_ERROR_BYTES = 512,
};

struct listed_host {
    char name[HOST_NAME_BYTES]; /* as ssh takes it: [user@]host */
    uint32_t n_slots;
};

/* Zeroed: an empty list. */
struct host_list {
    uint32_t n_hosts;
    struct listed_host *hosts;
};

/* Add "a:4,b,[fd00::1]:2". If a host is named again, its slots are added.
 * Return false if it is wrong; out_error says which part, and why. */
bool
host_list_add(struct host_list *list,
              const char *text,
              char out_error[static HOST_ERROR_BYTES]);

/* Read a line for each host: "a slots=4" as in Open MPI, "a:4" as in MPICH, or
 * "a". A # begins a comment. Return false as above. */
bool
host_list_read(struct host_list *list,
               const char *path,
               char out_error[static HOST_ERROR_BYTES]);

/* Use n_workers slots, from the first host on, or all slots if it is 0. Returns
 * the number of workers. The other hosts are dropped. */
uint32_t
host_list_fill(struct host_list *list, uint32_t n_workers);

/* Return whether commands for the host are run without ssh. */
bool
host_is_this(const char *name);

void
host_list_deinit(struct host_list *list);

#endif
