/* model/machine.h - what messages and bytes cost on a machine */

#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include <stdint.h>

/* Times are in ns; those of bytes are in ns per byte. */
struct simulation_machine {
    /* Per message, however small: time on the sender's processor, time on the
     * receiver's processor, and time between the two. */
    double send_ns;
    double receive_ns;
    double latency_inside_ns;  /* both ranks are on one node */
    double latency_between_ns; /* they are on two nodes */
    /* The wire. Between nodes it is the node's one interface, in each
     * direction. */
    double link_inside_ns;
    double link_between_ns;
    /* Processor time to hand bytes to the kernel, to take them from the kernel,
     * to copy them and to combine them. */
    double send_byte_ns;
    double receive_byte_ns;
    double copy_byte_ns;
    double reduce_byte_ns;
    /* If ranks outnumber the processors of their node: the processor time that
     * a waiting rank takes from the others before it sleeps, each time that a
     * message wakes it. */
    double wait_ns;
    /* Additional time for a byte that is combined in scratch which does not fit
     * the cache that the ranks of a node share. */
    double memory_byte_ns;
    uint64_t cache_bytes;  /* 0: everything fits */
    uint32_t n_processors; /* of one node; at least 1 */
};

#endif
