/*
 * select/link.h - costs of messages and bytes, from HOOP_DEBUG_LINK or typical
 *
 * HOOP_DEBUG_LINK is a list of name=value; each name may occur once:
 *
 *     latency              of a message from one rank to another, 20us
 *     latency_inside       ... inside a node
 *     latency_between      ... between two nodes
 *     overhead             of a message, for its sender and for its receiver
 *     bandwidth            of the wire, 1.2GB/s, 10Gbit/s
 *     bandwidth_inside     ... inside a node
 *     bandwidth_between    ... of a node's interface, each way
 *     socket               bytes that a processor moves into or out of a socket
 *     copy, reduce         bytes that a processor copies or combines
 *     wait                 processor time that a waiting rank takes from the
 *                          others, if ranks outnumber processors
 *     processors           of a node
 */

#ifndef SELECT_LINK_H
#define SELECT_LINK_H

#include "hoop/status.h"

#include "model/machine.h"

/* A machine with a typical 10 Gbit/s network and this host's processors. */
struct simulation_machine
link_typical_machine(void);

/*
 * Set the members of machine that text names. where names the source of text in
 * errors.
 * Handle: HOOP_E_INVALID (the text says what is expected).
 */
enum hoop_status
link_parse_settings(const char *where,
                    const char *text,
                    struct simulation_machine *machine);

#endif
