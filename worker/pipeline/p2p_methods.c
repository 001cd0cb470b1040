/*
 * pipeline/p2p_methods.c - the calls of Megatron's schedules
 *
 * Six calls take lists and know the ends of the pipeline. Each exchanges with
 * one neighbour, element by element. Two calls transfer what they are given,
 * all at once.
 */

#include <stdio.h>
#include <stdlib.h>

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "pipeline/p2p_communicator.h"
#include "tensor/operand.h"
#include "wire/frame_tensor.h"

enum {
    SEND_PREV = 1 << HOOP_P2P_SEND_PREV,
    RECV_PREV = 1 << HOOP_P2P_RECV_PREV,
    SEND_NEXT = 1 << HOOP_P2P_SEND_NEXT,
    RECV_NEXT = 1 << HOOP_P2P_RECV_NEXT,
};

/* What a stage exchanges with one neighbour in one call. */
struct list_exchange {
    /* the end without that neighbour: LAST has no next */
    enum hoop_p2p_stage end;
    unsigned directions; /* bits of enum hoop_p2p_direction */
    const struct hoop_tensors *send;
    struct hoop_tensors *receive;
};

static enum hoop_status
tensor_list_check(const struct hoop_p2p *p2p,
                  const struct hoop_tensors *list,
                  enum hoop_message_kind kind)
{
    const char *verb = kind == HOOP_SEND ? "send" : "receive";
    enum hoop_status status = HOOP_OK;
    char name[64];

    if (!list)
        return error_raise(HOOP_E_INVALID, "no list of what to %s was given",
                           verb);
    if (!list->tensors && list->n_tensors > 0)
        return error_raise(HOOP_E_INVALID, "the list to %s has no tensors",
                           verb);
    if (list->n_tensors >= FRAME_PART_NUMBERS)
        return error_raise(HOOP_E_INVALID,
                           "the list to %s has %zu tensors, but it may have at "
                           "most %d",
                           verb, list->n_tensors, FRAME_PART_NUMBERS - 1);
    for (size_t i = 0; status == HOOP_OK && i < list->n_tensors; i++) {
        const struct p2p_tensor tensor = {
            &list->tensors[i], list->received ? &list->received[i] : NULL};

        snprintf(name, sizeof(name), "tensor %zu to %s", i, verb);
        status = kind == HOOP_SEND
                     ? operand_check(tensor.tensor, name)
                     : p2p_exchange_check_receive(p2p, &tensor, name);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
list_exchange_check(const struct hoop_p2p *p2p,
                    const struct list_exchange *exchange)
{
    enum hoop_status status = HOOP_OK;

    if (exchange->directions & (SEND_PREV | SEND_NEXT))
        status = tensor_list_check(p2p, exchange->send, HOOP_SEND);
    if (status == HOOP_OK && exchange->directions & (RECV_PREV | RECV_NEXT))
        status = tensor_list_check(p2p, exchange->receive, HOOP_RECV);
    if (status != HOOP_OK)
        return error_pass(status);
    if (exchange->send && exchange->receive &&
        exchange->send->n_tensors != exchange->receive->n_tensors)
        return error_raise(HOOP_E_INVALID,
                           "%zu tensors to send, but %zu to receive: they "
                           "travel in pairs",
                           exchange->send->n_tensors,
                           exchange->receive->n_tensors);
    return HOOP_OK;
}

/* Stands for a list without tensors. */
static const struct hoop_tensor zero_element_tensor = {
    .dtype = HOOP_UINT8,
    .shape = {.n_dims = 1, .dims = {0}},
};

/* The progress of one call. */
struct exchange_progress {
    unsigned directions; /* those that have not failed */
    enum hoop_status status;
    char text[LIMIT_ERROR_TEXT];
};

/* received is [n_tensors], or NULL for an empty list. */
static struct p2p_tensors
list_element_tensors(const struct list_exchange *exchange,
                     unsigned directions,
                     size_t index,
                     struct hoop_tensor *received)
{
    struct p2p_tensors tensors = {0};

    for (uint32_t i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        const bool is_send = neighbour_directions[i].kind == HOOP_SEND;
        const struct hoop_tensors *list =
            is_send ? exchange->send : exchange->receive;

        if (!(directions & 1U << i))
            continue;
        tensors.at[i].tensor =
            list->n_tensors > 0 ? &list->tensors[index] : &zero_element_tensor;
        if (!is_send && received)
            tensors.at[i].received = &received[index];
    }
    return tensors;
}

/* If a tensor does not fit, its direction stops. Any other failure ends the
 * call. */
static void
exchange_progress_fail(struct exchange_progress *progress,
                       enum hoop_status status,
                       unsigned failed)
{
    if (progress->status == HOOP_OK) {
        progress->status = status;
        snprintf(progress->text, sizeof(progress->text), "%s", error_text());
    }
    progress->directions &= status == HOOP_E_MISMATCH ? ~failed : 0;
}

/* An empty list is exchanged as one tensor without elements. */
static enum hoop_status
list_elements_exchange(const struct hoop_p2p *p2p,
                       const struct list_exchange *exchange,
                       struct hoop_tensor *received)
{
    const size_t n_tensors = exchange->send ? exchange->send->n_tensors
                                            : exchange->receive->n_tensors;
    struct exchange_progress progress = {.directions = exchange->directions};

    for (size_t i = 0; i == 0 || (i < n_tensors && progress.directions != 0);
         i++) {
        const struct p2p_tensors tensors =
            list_element_tensors(exchange, progress.directions, i, received);
        unsigned failed;
        const enum hoop_status status = p2p_exchange_list_element(
            p2p, &tensors,
            n_tensors == 0 ? FRAME_PART_EMPTY
                           : frame_part_numbered(n_tensors, i),
            &failed);

        if (status != HOOP_OK)
            exchange_progress_fail(&progress, status, failed);
    }
    return progress.status == HOOP_OK
               ? HOOP_OK
               : error_raise(progress.status, "%s", progress.text);
}

static void
received_list_hand_out(struct hoop_tensors *list,
                       struct hoop_tensor *received,
                       enum hoop_status status)
{
    for (size_t i = 0; i < list->n_tensors; i++) {
        if (status == HOOP_OK && list->received)
            list->received[i] = received[i];
        else if (status != HOOP_OK && !list->tensors[i].data)
            hoop_tensor_free(&received[i]);
    }
    if (status == HOOP_OK)
        list->n_received = list->n_tensors;
}

/* Receives into a list of its own, so that it is handed out whole or not at
 * all. */
static enum hoop_status
tensor_lists_exchange(const struct hoop_p2p *p2p,
                      const struct list_exchange *exchange)
{
    const size_t n_received =
        exchange->receive ? exchange->receive->n_tensors : 0;
    CLEANUP(free) struct hoop_tensor *received = NULL;

    if (n_received > 0) {
        received = calloc(n_received, sizeof(*received));
        if (!received)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tensors",
                               n_received);
    }
    const enum hoop_status status =
        list_elements_exchange(p2p, exchange, received);
    if (exchange->receive)
        received_list_hand_out(exchange->receive, received, status);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
list_exchange_run(const struct hoop_p2p *p2p,
                  struct list_exchange exchange,
                  unsigned stage)
{
    bool is_member;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    if (stage & ~(unsigned)(HOOP_P2P_STAGE_FIRST | HOOP_P2P_STAGE_LAST))
        return error_raise(HOOP_E_INVALID,
                           "stage %#x has bits that are not enum "
                           "hoop_p2p_stage's",
                           stage);
    if (stage & exchange.end) {
        if (exchange.receive)
            exchange.receive->n_received = 0;
        return HOOP_OK;
    }
    status = list_exchange_check(p2p, &exchange);
    if (status == HOOP_OK)
        status = tensor_lists_exchange(p2p, &exchange);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_recv_forward(hoop_p2p_t *p2p,
                      struct hoop_tensors *input,
                      unsigned stage)
{
    return list_exchange_run(
        p2p,
        (struct list_exchange){HOOP_P2P_STAGE_FIRST, RECV_PREV, NULL, input},
        stage);
}

enum hoop_status
hoop_p2p_recv_backward(hoop_p2p_t *p2p,
                       struct hoop_tensors *output_grad,
                       unsigned stage)
{
    return list_exchange_run(p2p,
                             (struct list_exchange){HOOP_P2P_STAGE_LAST,
                                                    RECV_NEXT, NULL,
                                                    output_grad},
                             stage);
}

enum hoop_status
hoop_p2p_send_forward(hoop_p2p_t *p2p,
                      const struct hoop_tensors *output,
                      unsigned stage)
{
    return list_exchange_run(
        p2p,
        (struct list_exchange){HOOP_P2P_STAGE_LAST, SEND_NEXT, output, NULL},
        stage);
}

enum hoop_status
hoop_p2p_send_backward(hoop_p2p_t *p2p,
                       const struct hoop_tensors *input_grad,
                       unsigned stage)
{
    return list_exchange_run(p2p,
                             (struct list_exchange){HOOP_P2P_STAGE_FIRST,
                                                    SEND_PREV, input_grad,
                                                    NULL},
                             stage);
}

enum hoop_status
hoop_p2p_send_forward_recv_backward(hoop_p2p_t *p2p,
                                    const struct hoop_tensors *output,
                                    struct hoop_tensors *output_grad,
                                    unsigned stage)
{
    return list_exchange_run(p2p,
                             (struct list_exchange){HOOP_P2P_STAGE_LAST,
                                                    SEND_NEXT | RECV_NEXT,
                                                    output, output_grad},
                             stage);
}

enum hoop_status
hoop_p2p_send_backward_recv_forward(hoop_p2p_t *p2p,
                                    const struct hoop_tensors *input_grad,
                                    struct hoop_tensors *input,
                                    unsigned stage)
{
    return list_exchange_run(p2p,
                             (struct list_exchange){HOOP_P2P_STAGE_FIRST,
                                                    SEND_PREV | RECV_PREV,
                                                    input_grad, input},
                             stage);
}

enum hoop_status
hoop_p2p_send_forward_recv_forward(hoop_p2p_t *p2p,
                                   const struct hoop_tensor *output,
                                   const struct hoop_tensor *input,
                                   struct hoop_tensor *out_input,
                                   struct hoop_p2p_requests *out_requests)
{
    const struct p2p_tensors tensors = {{
        [HOOP_P2P_SEND_NEXT] = {output, NULL},
        [HOOP_P2P_RECV_PREV] = {input, out_input},
    }};

    return p2p_exchange_run_or_start(p2p, &tensors, out_requests);
}

enum hoop_status
hoop_p2p_send_backward_recv_backward(hoop_p2p_t *p2p,
                                     const struct hoop_tensor *input_grad,
                                     const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *out_output_grad,
                                     struct hoop_p2p_requests *out_requests)
{
    const struct p2p_tensors tensors = {{
        [HOOP_P2P_SEND_PREV] = {input_grad, NULL},
        [HOOP_P2P_RECV_NEXT] = {output_grad, out_output_grad},
    }};

    return p2p_exchange_run_or_start(p2p, &tensors, out_requests);
}
