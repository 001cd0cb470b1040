/*
 * engine/call.c - what a rank called: compared between ranks, named in errors
 */

#include "engine/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dtype/dtype.h"
#include "tensor/layout.h"

enum {
    CALL_PART_TEXT_MAX = 48
};

const struct call_row call_rows[CALL_NAMES] = {
    [CALL_UNKNOWN] = {"nothing known", CALL_HAS_NO_PARAMETERS},
    [CALL_ALLREDUCE] = {"allreduce", CALL_HAS_REDUCE_OP | CALL_NEEDS_ALL_RANKS},
    [CALL_REDUCE] = {"reduce", CALL_HAS_REDUCE_OP | CALL_HAS_ROOT},
    [CALL_BROADCAST] = {"broadcast", CALL_HAS_ROOT},
    [CALL_ALLGATHER] = {"allgather", CALL_NEEDS_ALL_RANKS},
    [CALL_ALLGATHERV] = {"allgatherv", 0},
    [CALL_REDUCE_SCATTER] = {"reduce_scatter",
                             CALL_HAS_REDUCE_OP | CALL_NEEDS_ALL_RANKS},
    [CALL_REDUCE_SCATTERV] = {"reduce_scatterv", CALL_HAS_REDUCE_OP},
    [CALL_BARRIER] = {"barrier", CALL_HAS_NO_PARAMETERS | CALL_NEEDS_ALL_RANKS},
    [CALL_SEND] = {"send", CALL_IS_SEND},
    [CALL_RECV] = {"recv", 0},
    [CALL_GATHER] = {"gather", CALL_HAS_ROOT},
    [CALL_GATHERV] = {"gatherv", CALL_HAS_ROOT},
    [CALL_SCATTER] = {"scatter", CALL_HAS_ROOT},
    [CALL_SCATTERV] = {"scatterv", CALL_HAS_ROOT},
    [CALL_ALLTOALL] = {"alltoall", CALL_NEEDS_ALL_RANKS},
    [CALL_ALLTOALLV] = {"alltoallv", CALL_HAS_NO_COMMON_COUNT},
    [CALL_SCAN] = {"scan", CALL_HAS_REDUCE_OP},
    [CALL_EXSCAN] = {"exscan", CALL_HAS_REDUCE_OP},
    [CALL_BROADCAST_OBJECT] = {"broadcast_object", CALL_HAS_ROOT_ONLY},
    [CALL_GATHER_OBJECT] = {"gather_object", CALL_HAS_ROOT_ONLY},
    [CALL_ALLGATHER_OBJECT] = {"allgather_object", CALL_HAS_NO_PARAMETERS},
    [CALL_ALLREDUCE_COALESCED] = {"allreduce_coalesced", CALL_HAS_REDUCE_OP},
    [CALL_AGREE] = {"agreement on a communicator", CALL_HAS_NO_PARAMETERS},
    [CALL_SEND_TENSOR] = {"send_tensor", CALL_IS_SEND},
    [CALL_RECV_TENSOR] = {"recv_tensor", 0},
    [CALL_RECV_ANY_TENSOR] = {"recv_tensor of any shape",
                              CALL_HAS_NO_PARAMETERS},
    [CALL_REDISTRIBUTE] = {"redistribute", 0},
    [CALL_SCATTER_OBJECT] = {"scatter_object", CALL_HAS_ROOT_ONLY},
    [CALL_SEND_OBJECT] = {"send_object", CALL_IS_SEND},
    [CALL_RECV_OBJECT] = {"recv_object", CALL_HAS_NO_PARAMETERS},
};

void
call_describe(const struct frame_call *call,
              uint64_t number,
              char text[CALL_TEXT_MAX])
{
    const struct call_row *row = call_row(call->name);
    const unsigned parts = row->parts;
    char place[24] = "";
    char count[40] = "";
    char op[32] = "";
    char root[32] = "";

    if (number > 0)
        snprintf(place, sizeof(place), " #%" PRIu64, number);
    if (parts & CALL_HAS_NO_PARAMETERS) {
        snprintf(text, CALL_TEXT_MAX, "%s%s", row->text, place);
        return;
    }
    if (parts & CALL_HAS_ROOT_ONLY) {
        snprintf(text, CALL_TEXT_MAX, "%s%s (root %" PRIu32 ")", row->text,
                 place, call->root);
        return;
    }
    if (parts & CALL_HAS_REDUCE_OP)
        snprintf(op, sizeof(op), ", %s",
                 reduce_op_name((enum hoop_reduce_op)call->reduce_op));
    if (parts & CALL_HAS_ROOT)
        snprintf(root, sizeof(root), ", root %" PRIu32, call->root);
    if (!(parts & CALL_HAS_NO_COMMON_COUNT))
        snprintf(count, sizeof(count), ", %" PRIu64 " elements", call->count);
    snprintf(text, CALL_TEXT_MAX, "%s%s (%s%s%s%s)", row->text, place,
             dtype_name((enum hoop_dtype)call->dtype), count, op, root);
}

/* Describe where a tensor stands in its list. */
static void
tensor_position_describe(uint32_t part, char text[CALL_PART_TEXT_MAX])
{
    text[0] = '\0';
    if (frame_part_is_listed(part))
        snprintf(text, CALL_PART_TEXT_MAX, ", number %u of %u%s",
                 frame_part_index(part) + 1, frame_part_count(part),
                 part & FRAME_PART_IN_SHARES ? ", in shares" : "");
    else if (part > 0)
        snprintf(text, CALL_PART_TEXT_MAX, ", number %u of %u",
                 (part >> 16) + 1, part & INT16_MAX);
}

void
call_describe_message(const struct frame_call *call,
                      uint64_t number,
                      const struct frame_tensor *tensor,
                      char text[CALL_TEXT_MAX])
{
    char place[24] = "";
    char part[CALL_PART_TEXT_MAX];

    call_describe(call, number, text);
    if (!tensor || call->name == CALL_RECV_OBJECT)
        return;
    if (number > 0)
        snprintf(place, sizeof(place), " #%" PRIu64, number);
    if (call->name == CALL_SEND_OBJECT) {
        snprintf(text, CALL_TEXT_MAX, "send_object%s (%zu bytes)", place,
                 tensor->shape.dims[0]);
        return;
    }
    tensor_position_describe(tensor->part, part);
    if (tensor->shape.n_dims == HOOP_ANY_SHAPE) {
        const size_t n_text = strlen(text);
        const bool is_any = call->dtype == FRAME_ANY_DTYPE;

        snprintf(text + n_text, CALL_TEXT_MAX - n_text, "%s%s%s",
                 is_any ? "" : " of ",
                 is_any ? "" : dtype_name((enum hoop_dtype)call->dtype), part);
        return;
    }
    if (frame_part_is_empty(tensor->part)) {
        snprintf(text, CALL_TEXT_MAX, "%s%s (a list of no tensors%s)",
                 call_name_to_string((enum call_name)call->name), place,
                 tensor->part & FRAME_PART_IN_SHARES ? ", in shares" : "");
        return;
    }
    snprintf(text, CALL_TEXT_MAX, "%s%s (%s %.96s%s)",
             call_name_to_string((enum call_name)call->name), place,
             dtype_name((enum hoop_dtype)call->dtype),
             shape_text(&tensor->shape).text, part);
}

const char *
call_name_to_string(enum call_name name)
{
    return call_row(name)->text;
}

bool
call_name_exists(const char *text)
{
    for (size_t i = CALL_UNKNOWN + 1; i < CALL_NAMES; i++) {
        if (strcmp(call_rows[i].text, text) == 0)
            return true;
    }
    return false;
}

/* FNV-1a over 64-bit words, with a final mix. It does not resist an attacker,
 * who would first have to know the token. */
static uint64_t
mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

uint64_t
call_signature(const struct call *call)
{
    uint64_t hash = 0xcbf29ce484222325u;

    hash = mix(hash, call->name);
    hash = mix(hash, call->dtype);
    hash = mix(hash, call->reduce_op);
    hash = mix(hash, call->root);
    /* An alltoallv's total count differs by rank. */
    if (call->name != CALL_ALLTOALLV)
        hash = mix(hash, call->count);
    for (uint32_t i = 0; i < call->n_counts; i++)
        hash = mix(hash, call->counts[i]);
    return hash;
}
