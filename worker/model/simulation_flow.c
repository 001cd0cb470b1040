/* model/simulation_flow.c - one step as a flow of bytes, and what follows it */

#include "model/simulation_flow.h"

#include "base/limits.h"

/* A message that is too large to be sent without a grant goes in two parts,
 * with the grant between them: each side sends one message more and receives
 * one more. */
static double
rendezvous_grant_ns(const struct simulation_machine *machine, double bytes)
{
    return bytes > LIMIT_EAGER_WHOLE ? machine->send_ns + machine->receive_ns
                                     : 0;
}

struct simulation_flow
simulation_flow_make(const struct simulation_machine *machine,
                     enum plan_step_type kind,
                     double bytes)
{
    struct simulation_flow flow = {.bytes = bytes};

    switch (kind) {
    case PLAN_SEND:
        flow.message_ns =
            machine->send_ns + rendezvous_grant_ns(machine, bytes);
        flow.byte_ns = machine->send_byte_ns;
        break;
    case PLAN_STORE:
        flow.message_ns =
            machine->receive_ns + rendezvous_grant_ns(machine, bytes);
        flow.is_arrival = true;
        flow.byte_ns = machine->receive_byte_ns;
        break;
    case PLAN_REDUCE:
        flow.message_ns =
            machine->receive_ns + rendezvous_grant_ns(machine, bytes);
        flow.is_arrival = true;
        flow.byte_ns = machine->receive_byte_ns + machine->reduce_byte_ns;
        break;
    case PLAN_COPY:
    case PLAN_POST:
    case PLAN_FETCH:
        flow.byte_ns = machine->copy_byte_ns;
        break;
    case PLAN_COMBINE:
    case PLAN_FETCH_REDUCE:
        flow.byte_ns = machine->reduce_byte_ns;
        break;
    case PLAN_EXPOSE:
        break;
    }
    return flow;
}

static bool
is_one_piece(const struct simulation_flow *flow)
{
    return flow->bytes <= SIMULATION_PIECE;
}

double
simulation_flow_piece_bytes(const struct simulation_flow *flow)
{
    return is_one_piece(flow) ? flow->bytes : SIMULATION_PIECE;
}

double
simulation_flow_processor_ns(const struct simulation_flow *flow)
{
    return flow->message_ns + flow->bytes * flow->byte_ns;
}

/* When the piece after this fraction of the flow has passed. Pieces move at the
 * processor's full speed, even if the flow as a whole waits for others. */
static double
piece_passed_time_ns(const struct simulation_flow *flow, double part)
{
    const double fraction_passed_ns =
        flow->start_ns + part * (flow->end_ns - flow->start_ns) +
        flow->message_ns + simulation_flow_piece_bytes(flow) * flow->byte_ns;

    return is_one_piece(flow) || fraction_passed_ns > flow->end_ns
               ? flow->end_ns
               : fraction_passed_ns;
}

double
simulation_flow_first_piece_ns(const struct simulation_flow *flow)
{
    return piece_passed_time_ns(flow, 0);
}

static double
fraction_passed_ns(const struct simulation_flow *flow, double part)
{
    if (is_one_piece(flow) || part >= 1)
        return flow->end_ns;
    return flow->start_ns + part * (flow->end_ns - flow->start_ns);
}

static void
raise_lower_bound(double *bound_ns, double ns)
{
    if (ns > *bound_ns)
        *bound_ns = ns;
}

void
simulation_flow_delay_after(struct simulation_flow *later,
                            const struct simulation_flow *earlier,
                            const struct simulation_flow_overlap *overlap)
{
    const double last_ns = fraction_passed_ns(earlier, overlap->earlier_end);
    const double common =
        (double)(overlap->later_end - overlap->later_begin) * later->bytes;
    const double piece = simulation_flow_piece_bytes(later);
    const double rest = (common < piece ? common : piece) +
                        (1.0 - (double)overlap->later_end) * later->bytes;

    if (is_one_piece(later))
        raise_lower_bound(&later->start_ns, last_ns);
    else
        raise_lower_bound(
            &later->start_ns,
            piece_passed_time_ns(earlier, overlap->earlier_begin) -
                (double)overlap->later_begin * later->bytes * later->byte_ns);
    raise_lower_bound(&later->end_ns, last_ns + rest * later->byte_ns);
}

void
simulation_flow_delay_to_arrival(struct simulation_flow *later,
                                 double first_ns,
                                 double last_ns)
{
    raise_lower_bound(&later->start_ns,
                      is_one_piece(later) ? last_ns : first_ns);
    raise_lower_bound(&later->end_ns,
                      last_ns +
                          simulation_flow_piece_bytes(later) * later->byte_ns);
}
