/*
 * parallel/p2p_exchange.h - tensors to and from the neighbours, as configured
 *
 * The dtype of what is received, whether its shape is expected, and the order:
 * what the communicator says of every transfer is said here, once.
 */

#ifndef PARALLEL_P2P_EXCHANGE_H
#define PARALLEL_P2P_EXCHANGE_H

#include "parallel/p2p_communicator.h"

/* Whether a tensor can be sent, or received to; name is what the texts call it.
 * Nothing is changed. Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_exchange_check_send(const struct hoop_tensor *tensor, const char *name);
enum hoop_status
p2p_exchange_check_receive(const struct hoop_p2p *p2p,
                           const struct hoop_tensor *tensor,
                           const struct hoop_tensor *received,
                           const char *name);

/* Exchange what ops has, each with this place in its list, and wait for it; a
 * failure hands out nothing. out_failed: which directions did fail. Handle:
 * HOOP_E_INVALID, before anything moved. */
enum hoop_status
p2p_exchange_element(const struct hoop_p2p *p2p,
                     const struct hoop_p2p_ops *ops,
                     uint32_t part,
                     unsigned *out_failed);

/*
 * A public call: error_clear(), the checks, then this. With out_requests it is
 * only started: tensors and what they point to are borrowed until they are
 * waited for. No member: nothing. Handle: HOOP_E_INVALID (also: p2p is NULL,
 * a batch is to overlap).
 */
enum hoop_status
p2p_exchange_call(const struct hoop_p2p *p2p,
                  const struct hoop_p2p_ops *ops,
                  struct hoop_p2p_requests *out_requests);

#endif
