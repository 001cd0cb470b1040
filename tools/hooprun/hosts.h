/*
 * hooprun/hosts.h - hooprun's side of the agents on other hosts
 *
 * One ssh per host starts `hooprun --agent` there. All agents must be ready
 * before any worker is started. Secrets are sent through the standard input of
 * ssh. If an agent's input ends, because hooprun or ssh is gone, it kills all
 * that it has started.
 */

#ifndef HOOPRUN_HOSTS_H
#define HOOPRUN_HOSTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hooprun/worker.h"

struct host;
struct hosts;

/* What happens to workers on the hosts. All texts are borrowed for the call. */
struct hosts_events {
    void (*on_started)(void *owner, uint32_t rank, pid_t pid);
    void (*on_output)(void *owner,
                      uint32_t rank,
                      int fd,
                      const char *bytes,
                      size_t n_bytes);
    void (*on_ended)(void *owner, uint32_t rank, int wait_status);
    /* number is the signal that stopped it; 0: it continues. */
    void (*on_stopped)(void *owner, uint32_t rank, int number);
    /* Nothing more is heard of the host's ranks. If it has refused, the run
     * cannot begin and ends with this code. Nothing was printed yet: see
     * host_explain(). */
    void (*on_lost)(void *owner, struct host *host, int code);
};

/* Run ssh for each host. NULL: failed, after printing why to stderr. setup and
 * events are borrowed until hosts_destroy(). */
struct hosts *
hosts_create(const struct worker_setup *setup,
             const struct hosts_events *events,
             void *owner);

/* Say goodbye and wait, for a limited time, until nothing runs there. After a
 * successful run, processes that workers have left continue; otherwise they are
 * killed. */
void
hosts_end_well(struct hosts *hosts);
void
hosts_end(struct hosts *hosts);

void
hosts_destroy(struct hosts *hosts);

/* Return whether all workers were told to start. */
bool
hosts_have_begun(const struct hosts *hosts);

/* How many struct pollfd hosts_poll() fills at most. */
uint32_t
hosts_polls_max(const struct worker_setup *setup);

/* Fill in the descriptors to wait for. Returns their number. */
uint32_t
hosts_poll(struct hosts *hosts, struct pollfd *out_polls);

/* Handle what has come, after poll() on those of hosts_poll(). */
void
hosts_take(struct hosts *hosts, const struct pollfd *polls);

/* Check the deadlines; call at least once a second. */
void
hosts_look(struct hosts *hosts);

/* A child has ended and is not reaped: if it is one of these, reap it and
 * return true. */
bool
hosts_reap(struct hosts *hosts, pid_t pid);

/* Tell the other hosts how a rank has ended. */
void
hosts_notice(struct hosts *hosts, uint32_t rank, int wait_status);

/* The host of a rank. */
struct host *
hosts_of(struct hosts *hosts, uint32_t rank);

const char *
host_name(const struct host *host);

/* Send a signal to the group of a worker there. */
void
host_signal(struct host *host, uint32_t rank, int number);

/* Give the host up, by killing its ssh. */
void
host_abandon(struct host *host);

/* Return whether it could not start its workers, or had not yet done so. */
bool
host_has_refused(const struct host *host);

/* Return the host that has been silent for longer than normal; NULL: none. */
const struct host *
hosts_find_silent(const struct hosts *hosts);

/* Return for how many ms nothing was heard of it. */
int
host_silent_ms(const struct host *host);

/* Print to stderr what happened to the host and what to do, with what it
 * wrote. */
void
host_explain(const struct host *host);

#endif
