/*
 * pipeline/p2p_methods.c - the calls of Megatron's schedules
 *
 * Six calls take lists and know the ends of the pipeline. Each exchanges with
 * one neighbour, element by element. Three calls transfer what they are given,
 * all at once.
 */

#include <stdio.h>
#include <stdlib.h>

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "pipeline/p2p_communicator.h"
#include "pipeline/p2p_exchange.h"
#include "wire/frame_tensor.h"

enum neighbour_exchange_parts {
    NEIGHBOUR_EXCHANGE_SEND = 1,
    NEIGHBOUR_EXCHANGE_RECEIVE = 2,
};

/* What a stage exchanges with one neighbour in one call. */
struct neighbour_exchange {
    /* the end without that neighbour: LAST has no next */
    enum hoop_p2p_stage end;
    unsigned parts;
    const struct hoop_tensors *send;
    struct hoop_tensors *receive;
};

static enum hoop_status
p2p_tensor_list_check(const struct hoop_tensors *list, const char *name)
{
    if (!list)
        return error_raise(HOOP_E_INVALID, "no list of what to %s was given",
                           name);
    if (!list->tensors && list->n_tensors > 0)
        return error_raise(HOOP_E_INVALID, "the list to %s has no tensors",
                           name);
    if (list->n_tensors >= FRAME_PART_NUMBERS)
        return error_raise(HOOP_E_INVALID,
                           "the list to %s has %zu tensors, but it may have at "
                           "most %d",
                           name, list->n_tensors, FRAME_PART_NUMBERS - 1);
    return HOOP_OK;
}

static enum hoop_status
send_list_check(const struct hoop_tensors *list)
{
    char name[64];
    enum hoop_status status = p2p_tensor_list_check(list, "send");

    for (size_t i = 0; status == HOOP_OK && i < list->n_tensors; i++) {
        snprintf(name, sizeof(name), "tensor %zu to send", i);
        status = p2p_exchange_check_send(&list->tensors[i], name);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
receive_list_check(const struct hoop_p2p *p2p, const struct hoop_tensors *list)
{
    char name[64];
    enum hoop_status status = p2p_tensor_list_check(list, "receive");

    for (size_t i = 0; status == HOOP_OK && i < list->n_tensors; i++) {
        snprintf(name, sizeof(name), "tensor %zu to receive", i);
        status = p2p_exchange_check_receive(
            p2p, &list->tensors[i], list->received ? &list->received[i] : NULL,
            name);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
neighbour_exchange_check(const struct hoop_p2p *p2p,
                         const struct neighbour_exchange *neighbour_exchange)
{
    enum hoop_status status = HOOP_OK;

    if (neighbour_exchange->parts & NEIGHBOUR_EXCHANGE_SEND)
        status = send_list_check(neighbour_exchange->send);
    if (status == HOOP_OK &&
        neighbour_exchange->parts & NEIGHBOUR_EXCHANGE_RECEIVE)
        status = receive_list_check(p2p, neighbour_exchange->receive);
    if (status != HOOP_OK)
        return error_pass(status);
    if (neighbour_exchange->send && neighbour_exchange->receive &&
        neighbour_exchange->send->n_tensors !=
            neighbour_exchange->receive->n_tensors)
        return error_raise(HOOP_E_INVALID,
                           "%zu tensors to send, but %zu to receive: they "
                           "travel in pairs",
                           neighbour_exchange->send->n_tensors,
                           neighbour_exchange->receive->n_tensors);
    return HOOP_OK;
}

/* Stands for a list without tensors. */
static const struct hoop_tensor zero_element_tensor = {
    .dtype = HOOP_UINT8,
    .shape = {.n_dims = 1, .dims = {0}},
};

/* The progress of one call. */
struct exchange_progress {
    unsigned parts; /* those that have not failed */
    enum hoop_status status;
    char text[LIMIT_ERROR_TEXT];
};

static size_t
neighbour_exchange_n_tensors(
    const struct neighbour_exchange *neighbour_exchange)
{
    return neighbour_exchange->parts & NEIGHBOUR_EXCHANGE_SEND
               ? neighbour_exchange->send->n_tensors
               : neighbour_exchange->receive->n_tensors;
}

/* received is [n_tensors], or NULL for an empty list. */
static struct hoop_p2p_ops
list_element_ops(const struct neighbour_exchange *neighbour_exchange,
                 unsigned parts,
                 size_t index,
                 struct hoop_tensor *received)
{
    const bool is_none = neighbour_exchange_n_tensors(neighbour_exchange) == 0;
    const struct hoop_tensor *send = NULL;
    const struct hoop_tensor *receive = NULL;

    if (parts & NEIGHBOUR_EXCHANGE_SEND)
        send = is_none ? &zero_element_tensor
                       : &neighbour_exchange->send->tensors[index];
    if (parts & NEIGHBOUR_EXCHANGE_RECEIVE)
        receive = is_none ? &zero_element_tensor
                          : &neighbour_exchange->receive->tensors[index];
    if (neighbour_exchange->end == HOOP_P2P_STAGE_LAST)
        return (struct hoop_p2p_ops){
            .send_next = send,
            .recv_next = receive,
            .received_next = received ? &received[index] : NULL,
        };
    return (struct hoop_p2p_ops){
        .send_prev = send,
        .recv_prev = receive,
        .received_prev = received ? &received[index] : NULL,
    };
}

/* If a tensor does not fit, its direction stops. Any other failure ends the
 * call. */
static void
exchange_progress_fail(struct exchange_progress *exchange_progress,
                       enum hoop_status status,
                       unsigned failed)
{
    static const unsigned sends =
        1U << HOOP_P2P_SEND_PREV | 1U << HOOP_P2P_SEND_NEXT;

    if (exchange_progress->status == HOOP_OK) {
        exchange_progress->status = status;
        snprintf(exchange_progress->text, sizeof(exchange_progress->text), "%s",
                 error_text());
    }
    if (failed & sends)
        exchange_progress->parts &= ~(unsigned)NEIGHBOUR_EXCHANGE_SEND;
    if (failed & ~sends)
        exchange_progress->parts &= ~(unsigned)NEIGHBOUR_EXCHANGE_RECEIVE;
    if (status != HOOP_E_MISMATCH)
        exchange_progress->parts = 0;
}

/* An empty list is exchanged as one tensor without elements. */
static enum hoop_status
list_elements_exchange(const struct hoop_p2p *p2p,
                       const struct neighbour_exchange *neighbour_exchange,
                       struct hoop_tensor *received)
{
    const size_t n_tensors = neighbour_exchange_n_tensors(neighbour_exchange);
    struct exchange_progress exchange_progress = {
        .parts = neighbour_exchange->parts};

    for (size_t i = 0;
         i == 0 || (i < n_tensors && exchange_progress.parts != 0); i++) {
        const struct hoop_p2p_ops ops = list_element_ops(
            neighbour_exchange, exchange_progress.parts, i, received);
        unsigned failed;
        const enum hoop_status status = p2p_exchange_list_element(
            p2p, &ops,
            n_tensors == 0 ? FRAME_PART_EMPTY
                           : frame_part_numbered(n_tensors, i),
            &failed);

        if (status != HOOP_OK)
            exchange_progress_fail(&exchange_progress, status, failed);
    }
    return exchange_progress.status == HOOP_OK
               ? HOOP_OK
               : error_raise(exchange_progress.status, "%s",
                             exchange_progress.text);
}

static void
received_list_hand_out(const struct neighbour_exchange *neighbour_exchange,
                       struct hoop_tensor *received,
                       enum hoop_status status)
{
    const struct hoop_tensors *list = neighbour_exchange->receive;

    for (size_t i = 0; received && i < list->n_tensors; i++) {
        if (status == HOOP_OK && list->received)
            list->received[i] = received[i];
        else if (status != HOOP_OK && !list->tensors[i].data)
            hoop_tensor_free(&received[i]);
    }
    if (status == HOOP_OK && list)
        neighbour_exchange->receive->n_received = list->n_tensors;
}

/* Receives into a list of its own, so that it is handed out whole or not at
 * all. */
static enum hoop_status
tensor_lists_exchange(const struct hoop_p2p *p2p,
                      const struct neighbour_exchange *neighbour_exchange)
{
    const size_t n_received = neighbour_exchange->receive
                                  ? neighbour_exchange->receive->n_tensors
                                  : 0;
    CLEANUP(free) struct hoop_tensor *received = NULL;

    if (n_received > 0) {
        received = calloc(n_received, sizeof(*received));
        if (!received)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tensors",
                               n_received);
    }
    const enum hoop_status status =
        list_elements_exchange(p2p, neighbour_exchange, received);
    received_list_hand_out(neighbour_exchange, received, status);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
p2p_stage_exchange_run(const struct hoop_p2p *p2p,
                       const struct neighbour_exchange *neighbour_exchange,
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
    if (stage & neighbour_exchange->end) {
        if (neighbour_exchange->receive)
            neighbour_exchange->receive->n_received = 0;
        return HOOP_OK;
    }
    status = neighbour_exchange_check(p2p, neighbour_exchange);
    if (status == HOOP_OK)
        status = tensor_lists_exchange(p2p, neighbour_exchange);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_recv_forward(hoop_p2p_t *p2p,
                      struct hoop_tensors *input,
                      unsigned stage)
{
    const struct neighbour_exchange neighbour_exchange = {
        .end = HOOP_P2P_STAGE_FIRST,
        .parts = NEIGHBOUR_EXCHANGE_RECEIVE,
        .receive = input};

    return p2p_stage_exchange_run(p2p, &neighbour_exchange, stage);
}

enum hoop_status
hoop_p2p_recv_backward(hoop_p2p_t *p2p,
                       struct hoop_tensors *output_grad,
                       unsigned stage)
{
    const struct neighbour_exchange neighbour_exchange = {
        .end = HOOP_P2P_STAGE_LAST,
        .parts = NEIGHBOUR_EXCHANGE_RECEIVE,
        .receive = output_grad};

    return p2p_stage_exchange_run(p2p, &neighbour_exchange, stage);
}

enum hoop_status
hoop_p2p_send_forward(hoop_p2p_t *p2p,
                      const struct hoop_tensors *output,
                      unsigned stage)
{
    const struct neighbour_exchange neighbour_exchange = {
        .end = HOOP_P2P_STAGE_LAST,
        .parts = NEIGHBOUR_EXCHANGE_SEND,
        .send = output};

    return p2p_stage_exchange_run(p2p, &neighbour_exchange, stage);
}

enum hoop_status
hoop_p2p_send_backward(hoop_p2p_t *p2p,
                       const struct hoop_tensors *input_grad,
                       unsigned stage)
{
    const struct neighbour_exchange neighbour_exchange = {
        .end = HOOP_P2P_STAGE_FIRST,
        .parts = NEIGHBOUR_EXCHANGE_SEND,
        .send = input_grad};

    return p2p_stage_exchange_run(p2p, &neighbour_exchange, stage);
}

enum hoop_status
hoop_p2p_send_forward_recv_backward(hoop_p2p_t *p2p,
                                    const struct hoop_tensors *output,
                                    struct hoop_tensors *output_grad,
                                    unsigned stage)
{
    const struct neighbour_exchange neighbour_exchange = {
        .end = HOOP_P2P_STAGE_LAST,
        .parts = NEIGHBOUR_EXCHANGE_SEND | NEIGHBOUR_EXCHANGE_RECEIVE,
        .send = output,
        .receive = output_grad};

    return p2p_stage_exchange_run(p2p, &neighbour_exchange, stage);
}

enum hoop_status
hoop_p2p_send_backward_recv_forward(hoop_p2p_t *p2p,
                                    const struct hoop_tensors *input_grad,
                                    struct hoop_tensors *input,
                                    unsigned stage)
{
    const struct neighbour_exchange neighbour_exchange = {
        .end = HOOP_P2P_STAGE_FIRST,
        .parts = NEIGHBOUR_EXCHANGE_SEND | NEIGHBOUR_EXCHANGE_RECEIVE,
        .send = input_grad,
        .receive = input};

    return p2p_stage_exchange_run(p2p, &neighbour_exchange, stage);
}

enum hoop_status
hoop_p2p_send_forward_recv_forward(hoop_p2p_t *p2p,
                                   const struct hoop_tensor *output,
                                   const struct hoop_tensor *input,
                                   struct hoop_tensor *out_input,
                                   struct hoop_p2p_requests *out_requests)
{
    const struct hoop_p2p_ops ops = {
        .send_next = output, .recv_prev = input, .received_prev = out_input};

    return p2p_exchange_run_or_start(p2p, &ops, out_requests);
}

enum hoop_status
hoop_p2p_send_backward_recv_backward(hoop_p2p_t *p2p,
                                     const struct hoop_tensor *input_grad,
                                     const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *out_output_grad,
                                     struct hoop_p2p_requests *out_requests)
{
    const struct hoop_p2p_ops ops = {.send_prev = input_grad,
                                     .recv_next = output_grad,
                                     .received_next = out_output_grad};

    return p2p_exchange_run_or_start(p2p, &ops, out_requests);
}

enum hoop_status
hoop_p2p_exchange_all(hoop_p2p_t *p2p, const struct hoop_p2p_ops *ops)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!ops)
        return error_raise(HOOP_E_INVALID, "ops is NULL");
    const enum hoop_status status = p2p_exchange_run_or_start(p2p, ops, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
