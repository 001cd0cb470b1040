/* hooprun/host_list.h - the hosts of a run, as --hosts and --hostfile name them */

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

/* Zeroed memory is an empty one. */
struct host_list {
    uint32_t n_hosts;
    struct listed_host *hosts;
};

/* "a:4,b,[fd00::1]:2"; a host that is named again has so many slots more. False:
 * out_error says what is wrong, and of which part. */
bool
host_list_add(struct host_list *list,
              const char *text,
              char out_error[static HOST_ERROR_BYTES]);

/* A line for each host: "a slots=4", as of Open MPI, "a:4", as of MPICH, or "a";
 * what follows a # is a comment. False as above. */
bool
host_list_read(struct host_list *list,
               const char *path,
               char out_error[static HOST_ERROR_BYTES]);

/* All slots, or as many as n_workers, from the first host on, if that is not 0:
 * how many there are. The other hosts are dropped. */
uint32_t
host_list_fill(struct host_list *list, uint32_t n_workers);

/* Whether commands for the host are run without ssh. */
bool
host_is_this(const char *name);

void
host_list_deinit(struct host_list *list);

#endif
