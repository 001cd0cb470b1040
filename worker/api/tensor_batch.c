/* api/tensor_batch.c - tensors of a list as messages, started together */

#include <stdlib.h>

#include "hoop/tensor.h"

#include "api/comm_call.h"
#include "api/message.h"
#include "api/tensor_message.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Copy the list with tags as they travel; the caller frees *out_list. *comm
 * NULL becomes the default group's. */
static enum hoop_status
tensor_messages_copy(const struct hoop_tensor_message *messages,
                     size_t n_messages,
                     hoop_comm_t **comm,
                     struct tensor_message **out_list)
{
    struct tensor_message *list = calloc(n_messages + 1, sizeof(*list));
    bool is_member;
    const enum hoop_status found = comm_call_begin_or_default(comm, &is_member);

    *out_list = list;
    if (found != HOOP_OK)
        return error_pass(found);
    if (!messages && n_messages > 0)
        return error_raise(HOOP_E_INVALID, "messages is NULL");
    if (!list)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_messages);
    for (size_t i = 0; i < n_messages; i++) {
        const enum hoop_status status =
            message_check_tag(messages[i].tag, *comm);

        if (status != HOOP_OK)
            return error_raise(status, "message %zu of the batch: %s", i,
                               error_text());
        list[i] = (struct tensor_message){
            .kind = messages[i].kind,
            .tensor = messages[i].tensor,
            .received =
                messages[i].kind == HOOP_RECV ? messages[i].received : NULL,
            .peer = messages[i].peer,
            .tag = (uint64_t)messages[i].tag,
        };
    }
    return HOOP_OK;
}

enum hoop_status
hoop_batch_tensors(const struct hoop_tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm)
{
    CLEANUP(free) struct tensor_message *list = NULL;
    const enum hoop_status status =
        tensor_messages_copy(messages, n_messages, &comm, &list);

    return status == HOOP_OK ? tensor_message_run(list, n_messages, comm)
                             : error_pass(status);
}

enum hoop_status
hoop_batch_tensors_start(const struct hoop_tensor_message *messages,
                         size_t n_messages,
                         hoop_comm_t *comm,
                         hoop_op_t **out_ops)
{
    CLEANUP(free) struct tensor_message *list = NULL;
    const enum hoop_status status =
        tensor_messages_copy(messages, n_messages, &comm, &list);

    return status == HOOP_OK
               ? tensor_message_start(list, n_messages, comm, out_ops)
               : error_pass(status);
}
