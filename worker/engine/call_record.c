/* engine/call_record.c - what the flight recorder is told of calls */

#include "engine/call_record.h"

#include "hoop/comm.h"

#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/process.h"
#include "dtype/dtype.h"
#include "engine/failure/wait_diagnosis.h"

/* Returns the number that stands for an algorithm in the record; 0: none. */
static uint16_t
algorithm_record_id(const struct algorithm *algorithm)
{
    size_t n_entries;
    const struct registry_algorithm *all = registry_all_entries(&n_entries);
    const struct registry_algorithm *entry =
        algorithm ? registry_entry_of_algorithm(algorithm) : NULL;

    return entry ? (uint16_t)(entry - all + 1) : 0;
}

/* Say what the numbers of the record mean. */
static void
record_set_names(struct recorder *recorder)
{
    size_t n_entries;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (size_t i = 0; i < n_entries; i++)
        recorder_set_name(recorder, RECORDER_ALGORITHMS, i + 1,
                          entries[i].algorithm->name);
    for (size_t i = 1; i < CALL_NAMES; i++)
        recorder_set_name(recorder, RECORDER_KINDS, i,
                          call_name_to_string((enum call_name)i));
    for (size_t i = 0; i < DTYPE_COUNT; i++)
        recorder_set_name(recorder, RECORDER_DTYPES, i,
                          dtype_name((enum hoop_dtype)i));
    for (size_t i = 0; i < REDUCE_OP_COUNT; i++)
        recorder_set_name(recorder, RECORDER_REDUCE_OPS, i,
                          reduce_op_name((enum hoop_reduce_op)i));
}

enum hoop_status
call_record_start(struct engine *engine)
{
    const struct roster *roster = engine->roster;
    const struct member *self = &roster->members[roster->rank];

    if (!engine->config->recorder.folder[0])
        return HOOP_OK;
    const enum hoop_status status = recorder_create(
        &(struct recorder_options){
            .folder = engine->config->recorder.folder,
            .signal = engine->config->recorder.signal,
            .job = roster->job,
            .host = self->host,
            .epoch = roster->epoch,
            .run = roster->seed,
            .rank = roster->rank,
            .size = roster->size,
            .pid = self->pid,
            .clock_id = monotonic_clock_id(),
        },
        &engine->recorder);
    if (status != HOOP_OK)
        return error_pass(status);
    record_set_names(engine->recorder);
    return HOOP_OK;
}

/* Returns what the record says of a call to begin with. */
static struct recorder_call
call_to_recorder_call(const struct comm_context *context,
                      const struct frame_call *call,
                      size_t element_size)
{
    const unsigned parts = call_row(call->name)->parts;
    const bool has_dtype =
        !(parts & (CALL_HAS_NO_PARAMETERS | CALL_HAS_ROOT_ONLY));

    return (struct recorder_call){
        .comm = context->id - COMM_ID_FIRST,
        .count = has_dtype ? call->count : 0,
        .n_bytes = has_dtype ? call->count * element_size : 0,
        .peer = parts & (CALL_HAS_ROOT | CALL_HAS_ROOT_ONLY) ? call->root
                                                             : HOOP_NO_RANK,
        .kind = (uint8_t)call->name,
        .dtype = has_dtype ? (uint8_t)call->dtype : RECORDER_NO_NAME,
        .reduce_op = parts & CALL_HAS_REDUCE_OP ? (uint8_t)call->reduce_op
                                                : RECORDER_NO_NAME,
        .retries = atomic_load(&context->n_retries),
    };
}

/* Returns the number of an algorithm, as op remembers it. */
static uint16_t
op_algorithm_record_id(struct op *op, const struct algorithm *algorithm)
{
    if (op->cache.recorded != algorithm) {
        op->cache.recorded = algorithm;
        op->cache.recorded_id = algorithm_record_id(algorithm);
    }
    return op->cache.recorded_id;
}

/* The check of a call exchanges bytes. */
static size_t
op_call_element_size(const struct op *op)
{
    return op->run.is_call_check_stage
               ? dtype_size((enum hoop_dtype)op->run.label.call.dtype)
               : op->run.element_size;
}

void
op_record_called(struct op *op)
{
    struct recorder *recorder = op->engine->recorder;

    if (!recorder)
        return;
    struct recorder_call call = call_to_recorder_call(
        op->run.context, &op->run.label.call, op_call_element_size(op));

    call.number = op->run.number;
    if (op_is_message(op)) {
        call.peer = op->run.label.call.root;
        call.tag = op->run.label.tag;
    } else {
        call.algorithm = op_algorithm_record_id(op, op->run.algorithm);
    }
    op->run.record = recorder_called(recorder, &call);
}

/* What is the same for a call like the last one is not found out again. */
static void
recorded_call_set(struct op *op, const struct engine_collective *collective)
{
    const struct frame_call frame_call = call_to_frame_call(&collective->call);

    op->cache.recorded_call = call_to_recorder_call(
        op->run.context, &frame_call, dtype_size(collective->call.dtype));
    op->cache.recorded_call.algorithm =
        op_algorithm_record_id(op, collective->algorithm);
    op->cache.has_recorded_call = true;
}

void
op_record_collective(struct op *op,
                     const struct engine_collective *collective,
                     uint64_t called)
{
    if (!op->cache.has_recorded_call)
        recorded_call_set(op, collective);
    op->cache.recorded_call.number = op->run.number;
    op->cache.recorded_call.retries =
        (uint8_t)atomic_load(&op->run.context->n_retries);
    op->run.record = recorder_called_at(op->engine->recorder,
                                        &op->cache.recorded_call, called);
    op->run.recorded_path = 0;
}

void
op_record_awaited(struct op *op)
{
    const uint32_t rank = op_awaited_rank(op);

    if (rank != HOOP_NO_RANK)
        recorder_waits(op->engine->recorder, op->run.record, rank);
}

/* Say of a receive from which rank of its context which message came. */
static void
record_received(struct recorder_slot *slot,
                const struct comm_context *context,
                const struct recv_request *in)
{
    uint32_t source = 0;

    while (source < context->size && context->ranks[source] != in->key.peer)
        source++;
    recorder_received(
        slot, &(struct recorder_message){
                  .number = in->key.op,
                  .n_bytes = in->total,
                  .peer = source < context->size ? source : HOOP_NO_RANK,
              });
}

void
op_record_end(struct op *op, uint8_t path)
{
    const struct step_flow *flow = &op->message.flow;
    struct recorder_end end = {
        .status = op->run.status,
        .waited_for = HOOP_NO_RANK,
        .path = path | op->run.recorded_path,
    };

    if (op_is_shm(op))
        end.path |= RECORDER_PATH_REGION;
    if (end.status != HOOP_OK)
        end.waited_for = op->failure.details.waited_for;
    else if (op_is_message(op) && flow->is_receive)
        record_received(op->run.record, op->run.context, &flow->in);
    recorder_ended(op->engine->recorder, op->run.record, &end);
    op->run.record = NULL;
}

void
message_record_failed(const struct engine *engine,
                      struct recorder_slot *slot,
                      enum hoop_status status)
{
    recorder_ended(
        engine->recorder, slot,
        &(struct recorder_end){.status = status, .waited_for = HOOP_NO_RANK});
}

void
op_record_failed(struct op *op, enum hoop_status status)
{
    message_record_failed(op->engine, STEAL(op->run.record), status);
}

struct recorder_slot *
message_record_called(struct comm_context *context,
                      const struct engine_message *message,
                      uint64_t number)
{
    struct recorder *recorder = context->engine->recorder;

    if (!recorder)
        return NULL;
    const struct frame_call frame_call = call_to_frame_call(&message->call);
    struct recorder_call call = call_to_recorder_call(
        context, &frame_call, dtype_size(message->call.dtype));

    call.number = number;
    call.peer = message->peer;
    call.tag = message->tag;
    return recorder_called(recorder, &call);
}

void
message_record_received(const struct comm_context *context,
                        struct recorder_slot *slot,
                        const struct recv_request *in)
{
    if (slot)
        record_received(slot, context, in);
}

void
message_record_ended(const struct comm_context *context,
                     struct recorder_slot *slot,
                     const struct engine_message *message)
{
    struct engine *engine = context->engine;

    if (!slot)
        return;
    recorder_ended(
        engine->recorder, slot,
        &(struct recorder_end){
            .status = HOOP_OK,
            .waited_for = HOOP_NO_RANK,
            .path = RECORDER_PATH_INLINE |
                    path_to_rank(engine, context->ranks[message->peer]),
        });
}
