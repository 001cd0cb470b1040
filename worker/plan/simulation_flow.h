/*
 * plan/simulation_flow.h - one step as a flow of bytes, and what follows it
 *
 * A flow has a begin and an end; in between its bytes pass evenly, in pieces.
 * What depends on its bytes begins when their first piece has passed, and ends
 * when a piece of its own has followed their last:
 *
 *     earlier   |==|==|==|==|==|
 *     later        |==|==|==|==|==|
 *
 * A flow of one piece at most has passed when it has ended.
 */

#ifndef PLAN_SIMULATION_FLOW_H
#define PLAN_SIMULATION_FLOW_H

#include <stdbool.h>

#include "plan/plan.h"
#include "plan/simulation.h"

struct simulation_flow {
    double start_ns; /* at the earliest, until both are settled */
    double end_ns;
    double bytes;
    double message_ns; /* of its processor's time, before the first byte */
    double byte_ns;    /* of its processor's time, for each */
    bool is_arrival;   /* it may wake who waits for it */
};

/* Where two flows touch the same bytes, as parts of each, 0 to 1. */
struct simulation_overlap {
    float earlier_begin;
    float earlier_end;
    float later_begin;
    float later_end;
};

enum {
    /* What is forwarded is what has come when somebody looks: not as much as
     * a frame can hold. */
    SIMULATION_PIECE = 32 * 1024
};

/* A flow that waits for nothing. */
struct simulation_flow
simulation_flow_make(const struct simulation_machine *machine,
                     enum plan_kind kind,
                     double bytes);

/* Bytes that move as one. */
double
simulation_flow_piece(const struct simulation_flow *flow);

/* What it takes of its processor. */
double
simulation_flow_work_ns(const struct simulation_flow *flow);

/* When the first piece has passed. */
double
simulation_flow_first_ns(const struct simulation_flow *flow);

/* earlier is settled: later begins and ends no sooner than it permits. */
void
simulation_flow_follow(struct simulation_flow *later,
                       const struct simulation_flow *earlier,
                       const struct simulation_overlap *overlap);

/* The same when all of later comes out of a wire, from first_ns to last_ns. */
void
simulation_flow_arrive(struct simulation_flow *later,
                       double first_ns,
                       double last_ns);

#endif
