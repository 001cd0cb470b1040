/*
 * model/simulation_host.c - processors and networks, and how long they are busy
 */

#include "model/simulation_host.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

struct simulation_node {
    bool is_oversubscribed; /* it has more ranks than processors */
    struct simulation_busy_until processors;
    struct simulation_busy_until outgoing;
    struct simulation_busy_until incoming;
    /* 1 + the node that sent the last large message; 0: none has. */
    uint32_t last_sender;
};

enum {
    /* About what a switch buffers per port without loss. */
    LARGE_BYTES = 256 * 1024,
};

/*
 * A node that receives from one node and then from another receives from both
 * for a while: their messages meet at its port, which has no room for both, and
 * are sent again. Messages then take longer by this factor. Measured were 1.2
 * to 1.5; there is no such effect if all messages come from one node.
 */
static const double CONTENTION = 1.25;

static double
larger(double one, double other)
{
    return one > other ? one : other;
}

/* Returns the time when the work ends. A message of one piece overtakes larger
 * flows, which move one piece at a time and may still be waiting for their
 * bytes. */
static double
busy_until_add_work(struct simulation_busy_until *queue,
                    const struct simulation_flow *flow,
                    double begin_ns,
                    double work_ns)
{
    queue->all_ns = larger(queue->all_ns, begin_ns) + work_ns;
    if (simulation_flow_piece_bytes(flow) < flow->bytes)
        return queue->all_ns;
    queue->pieces_ns = larger(queue->pieces_ns, begin_ns) + work_ns;
    return queue->pieces_ns;
}

/* Makes all later work wait ns longer. */
static void
busy_until_delay(struct simulation_busy_until *queue, double ns)
{
    queue->all_ns += ns;
    queue->pieces_ns += ns;
}

/* The factor by which a message from that node takes longer at this node's
 * port. */
static double
contention_factor(struct simulation_node *node,
                  uint32_t from,
                  const struct simulation_flow *flow)
{
    const uint32_t last_sender = node->last_sender;

    if (flow->bytes < LARGE_BYTES)
        return 1;
    node->last_sender = from + 1;
    return last_sender == 0 || last_sender == node->last_sender ? 1
                                                                : CONTENTION;
}

enum hoop_status
simulation_hosts_init(struct simulation_hosts *hosts,
                      const struct simulation_machine *machine,
                      const struct simulation_mapping *mapping)
{
    assert(machine->n_processors > 0);

    *hosts = (struct simulation_hosts){
        .machine = machine,
        .mapping = mapping,
        .threads = calloc(mapping->n_vranks, sizeof(*hosts->threads)),
        .nodes = calloc(mapping->n_nodes, sizeof(*hosts->nodes)),
    };
    if (!hosts->threads || !hosts->nodes) {
        simulation_hosts_deinit(hosts);
        return error_raise(HOOP_E_EXHAUSTED, "no memory to simulate %u ranks",
                           mapping->n_vranks);
    }
    for (uint32_t vrank = 0; vrank < mapping->n_vranks; vrank++)
        hosts->nodes[simulation_mapping_node_of(mapping, vrank)]
            .is_oversubscribed = simulation_mapping_node_size(mapping, vrank) >
                                 machine->n_processors;
    return HOOP_OK;
}

void
simulation_hosts_deinit(struct simulation_hosts *hosts)
{
    free(hosts->threads);
    free(hosts->nodes);
    *hosts = (struct simulation_hosts){0};
}

void
simulation_hosts_add_work(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          struct simulation_flow *flow)
{
    struct simulation_node *node =
        &hosts->nodes[simulation_mapping_node_of(hosts->mapping, vrank)];
    const double work_ns = simulation_flow_processor_ns(flow);
    /* All ranks that the virtual rank stands for do the same at this time. */
    const double share =
        (double)hosts->mapping->n_behind / (double)hosts->machine->n_processors;
    const bool is_woken = node->is_oversubscribed && flow->is_arrival &&
                          hosts->threads[vrank].all_ns < flow->start_ns;
    const double thread_ns = busy_until_add_work(&hosts->threads[vrank], flow,
                                                 flow->start_ns, work_ns);
    const double processors_ns = busy_until_add_work(
        &node->processors, flow, flow->start_ns, work_ns * share);

    flow->end_ns = larger(flow->end_ns, larger(thread_ns, processors_ns));
    if (is_woken)
        busy_until_delay(&node->processors, hosts->machine->wait_ns * share);
}

struct simulation_arrival_times
simulation_hosts_transmit(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          uint32_t peer,
                          const struct simulation_flow *flow)
{
    const struct simulation_machine *machine = hosts->machine;
    const double out_ns = simulation_flow_first_piece_ns(flow);
    const double piece = simulation_flow_piece_bytes(flow);

    if (!simulation_mapping_crosses_nodes(hosts->mapping, vrank, peer)) {
        const double link_ns = machine->link_inside_ns;
        const double latency_ns = machine->latency_inside_ns;

        return (struct simulation_arrival_times){
            .first_ns = out_ns + piece * link_ns + latency_ns,
            .last_ns = larger(out_ns + flow->bytes * link_ns,
                              flow->end_ns + piece * link_ns) +
                       latency_ns,
        };
    }

    const double link_ns = machine->link_between_ns;
    const double latency_ns = machine->latency_between_ns;
    const uint32_t peer_vrank =
        simulation_mapping_vrank_of(hosts->mapping, peer);
    struct simulation_node *here =
        &hosts->nodes[simulation_mapping_node_of(hosts->mapping, vrank)];
    struct simulation_node *there =
        &hosts->nodes[simulation_mapping_node_of(hosts->mapping, peer_vrank)];
    const double sent_ns = busy_until_add_work(&here->outgoing, flow, out_ns,
                                               flow->bytes * link_ns);
    const double contention = contention_factor(
        there, simulation_mapping_node_of(hosts->mapping, vrank), flow);
    const double taken_ns =
        busy_until_add_work(&there->incoming, flow, out_ns + latency_ns,
                            flow->bytes * link_ns * contention);
    const double last_ns = larger(
        larger(sent_ns, flow->end_ns + piece * link_ns) + latency_ns, taken_ns);

    return (struct simulation_arrival_times){
        .first_ns = out_ns + piece * link_ns + latency_ns,
        .last_ns = last_ns,
    };
}
