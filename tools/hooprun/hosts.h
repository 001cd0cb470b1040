/*
 * hooprun/hosts.h - agents on other hosts, as hooprun sees them
 *
 * One ssh for each host starts `hooprun --agent` there. All agents have to be
 * ready before any worker is started. What is secret goes through the standard
 * input of ssh. An agent whose input ends, since hooprun or ssh is gone, kills
 * all that it has started.
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

/* What becomes of workers on the hosts. All text is borrowed for the call. */
struct hosts_events {
    void (*on_started)(void *owner, uint32_t rank, pid_t pid);
    void (*on_output)(void *owner,
                      uint32_t rank,
                      int fd,
                      const char *bytes,
                      size_t n_bytes);
    void (*on_ended)(void *owner, uint32_t rank, int wait_status);
    /* By a signal; 0: it goes on. */
    void (*on_stopped)(void *owner, uint32_t rank, int number);
    /* Nobody hears of its ranks again; if it has refused the run cannot begin, and
     * ends with this code. stderr was not told yet: see host_explain(). */
    void (*on_lost)(void *owner, struct host *host, int code);
};

/* Run ssh for each host. NULL: stderr was told why not. setup and events are
 * borrowed for its life. */
struct hosts *
hosts_create(const struct worker_setup *setup,
             const struct hosts_events *events,
             void *owner);

/* Say goodbye and wait until nothing runs there, in bounded time. Where all went
 * well what workers have left behind runs on, else it is killed. */
void
hosts_end_well(struct hosts *hosts);
void
hosts_end(struct hosts *hosts);

void
hosts_destroy(struct hosts *hosts);

/* Whether all workers were told to start. */
bool
hosts_have_begun(const struct hosts *hosts);

/* How many struct pollfd hosts_poll() fills at most. */
uint32_t
hosts_polls_max(const struct worker_setup *setup);

/* Fill in for what to wait; how many there are. */
uint32_t
hosts_poll(struct hosts *hosts, struct pollfd *out_polls);

/* What has come, as hosts_poll() has asked for it. */
void
hosts_take(struct hosts *hosts, const struct pollfd *polls);

/* Deadlines; call now and then, at least once a second. */
void
hosts_look(struct hosts *hosts);

/* This child has ended and is not reaped: whether it was one of these; it is
 * reaped then. */
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

/* To the group of a worker there. */
void
host_signal(struct host *host, uint32_t rank, int number);

/* Give the host up: as if its ssh was killed. */
void
host_abandon(struct host *host);

/* Whether it could not start its workers, or had not yet done so. */
bool
host_has_refused(const struct host *host);

/* A host of which nothing was heard for longer than it is ever silent; NULL: there
 * is none. */
const struct host *
hosts_find_silent(const struct hosts *hosts);

/* Since when nothing was heard of it. */
int
host_silent_ms(const struct host *host);

/* Say on stderr what became of the host and what to do, with what it said. */
void
host_explain(const struct host *host);

#endif
