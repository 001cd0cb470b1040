/*
 * tune/link.h - what messages and bytes cost: as said by HOOP_DEBUG_LINK, or usual
 *
 * A list of name=value, each once, any of:
 *
 *     latency              from one rank to another, 20us
 *     latency_inside       ... of one node
 *     latency_between      ... of two
 *     overhead             of a message, for its sender and its receiver
 *     bandwidth            of the wire, 1.2GB/s, 10Gbit/s
 *     bandwidth_inside     ... inside a node
 *     bandwidth_between    ... of a node's interface, each way
 *     socket               bytes into a socket or out of it, for a processor
 *     copy, reduce         bytes copied or combined by a processor
 *     wait                 what a rank that waits takes from others, where
 *                          there are more than processors
 *     processors           of a node
 */

#ifndef TUNE_LINK_H
#define TUNE_LINK_H

#include "hoop/status.h"

#include "plan/simulation.h"

/* A host of some years ago with 10 Gbit/s, and the processors of this one. */
struct simulation_machine
link_usual(void);

/*
 * Change in machine what text says. where is where it stands, for errors.
 * Handle: HOOP_E_INVALID (the text says what is expected).
 */
enum hoop_status
link_parse(const char *where,
           const char *text,
           struct simulation_machine *machine);

#endif
