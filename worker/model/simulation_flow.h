/*
 * model/simulation_flow.h - one step as a flow of bytes, and what follows it
 *
 * A flow has a start and an end; between them its bytes pass evenly, in pieces.
 * A flow that depends on its bytes starts at the earliest when their first
 * piece has passed, and ends when a piece of its own has followed the last one:
 *
 *     earlier   |==|==|==|==|==|
 *     later        |==|==|==|==|==|
 *
 * A flow of at most one piece has passed when it has ended.
 */

#ifndef MODEL_SIMULATION_FLOW_H
#define MODEL_SIMULATION_FLOW_H

#include <stdbool.h>

#include "model/simulation.h"
#include "plan/plan.h"

struct simulation_flow {
    double start_ns; /* the earliest time, until start and end are settled */
    double end_ns;
    double bytes;
    double message_ns; /* processor time before the first byte */
    double byte_ns;    /* processor time per byte */
    bool is_arrival;   /* its arrival may wake the receiving rank */
};

/* The bytes that two flows share, as fractions of each, from 0 to 1. */
struct simulation_flow_overlap {
    float earlier_begin;
    float earlier_end;
    float later_begin;
    float later_end;
};

enum {
    /* A receiver forwards what has arrived whenever it looks, which is less
     * than a full frame. */
    SIMULATION_PIECE = 32 * 1024
};

/* Returns the flow of a step that depends on nothing. */
struct simulation_flow
simulation_flow_make(const struct simulation_machine *machine,
                     enum plan_step_type kind,
                     double bytes);

/* Bytes that move together. */
double
simulation_flow_piece_bytes(const struct simulation_flow *flow);

/* The processor time that the flow takes. */
double
simulation_flow_processor_ns(const struct simulation_flow *flow);

/* When the first piece has passed. */
double
simulation_flow_first_piece_ns(const struct simulation_flow *flow);

/* Make later, which depends on earlier, start and end no sooner than earlier
 * permits. earlier must be settled. */
void
simulation_flow_delay_after(struct simulation_flow *later,
                            const struct simulation_flow *earlier,
                            const struct simulation_flow_overlap *overlap);

/* The same for a flow whose bytes all come out of a wire between first_ns and
 * last_ns. */
void
simulation_flow_delay_to_arrival(struct simulation_flow *later,
                                 double first_ns,
                                 double last_ns);

#endif
