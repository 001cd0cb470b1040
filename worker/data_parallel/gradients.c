/*
 * data_parallel/gradients.c - reduces gradients while others are being computed
 *
 * Gradients are packed into buckets as they become ready. A bucket is started
 * when it is full and all before it have been started, and proceeds in the
 * background. A gradient that is alone in its bucket is reduced in place.
 *
 * Ranks compare calls, not lists of gradients. So the first bucket of the first
 * step carries the shapes of all, and no other bucket is started before it has
 * succeeded. If the lists differ, one operation fails on every rank, and the
 * communicator remains usable.
 */

#include "data_parallel/gradients.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/gradients.h"

#include "api/collective.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "data_parallel/flat.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"

/* Which gradients are reduced together. */

size_t
buckets_assign_gradients(const size_t *counts,
                         size_t n_gradients,
                         size_t count_max,
                         struct bucket *buckets)
{
    size_t n_buckets = 0;

    for (size_t i = n_gradients; i > 0; i--) {
        const size_t count = counts[i - 1];
        struct bucket *last = n_buckets > 0 ? &buckets[n_buckets - 1] : NULL;

        if (last && (last->count == 0 || (last->count <= count_max &&
                                          count <= count_max - last->count))) {
            last->first = i - 1;
            last->count += count;
            continue;
        }
        buckets[n_buckets++] =
            (struct bucket){.first = i - 1, .end = i, .count = count};
    }
    return n_buckets;
}

enum {
    BUCKET_BYTES_DEFAULT = 25 * 1024 * 1024, /* used for 0, as by torch */
    BUCKET_ALIGNMENT = 64,
    MISSING_GRADIENTS_NAMED_MAX = 8, /* how many an error text names */
};

struct gradient_slot {
    size_t bucket;
    uint8_t *packed; /* its place in the bucket; NULL: reduced in place */
    bool is_ready;
};

struct bucket_reduction {
    struct bucket bucket;
    uint8_t *bytes;
    size_t n_unready_gradients;
    hoop_op_t *op; /* NULL: not started, or already waited for */
};

struct hoop_gradients {
    hoop_comm_t *comm;
    enum hoop_reduce_op op;
    struct flat *flat;
    size_t *agreed; /* bucket_bytes, then the shapes */
    struct gradient_slot *slots;
    struct bucket_reduction
        *bucket_reductions; /* in the order of their starts */
    size_t n_bucket_reductions;
    uint8_t *packed;
    size_t n_started_buckets; /* in this step */
    bool is_layout_agreed;
    bool has_reported_failure; /* a failure has been reported */
    enum hoop_status failure;
    char text[LIMIT_ERROR_TEXT];
};

DEFINE_CLEANUP(struct hoop_gradients *, hoop_gradients_free)

static size_t
n_gradients(const struct hoop_gradients *gradients)
{
    return gradients->flat->n_pieces;
}

/* Stores the first failure of a step for hoop_gradients_wait(). */
static void
gradients_record_failure(struct hoop_gradients *gradients,
                         enum hoop_status status)
{
    if (gradients->failure != HOOP_OK)
        return;
    gradients->failure = status;
    snprintf(gradients->text, sizeof(gradients->text), "%s", error_text());
}

static bool
bucket_is_packed(const struct bucket *bucket)
{
    return bucket->end - bucket->first > 1;
}

/* Returns the bytes of a bucket in the packed memory, where each bucket begins
 * on a cache line. */
static size_t
bucket_packed_bytes(const struct flat *flat, const struct bucket *bucket)
{
    const size_t n_bytes = bucket->count * flat->element_size;

    return bucket_is_packed(bucket) ? (n_bytes + BUCKET_ALIGNMENT - 1) /
                                          BUCKET_ALIGNMENT * BUCKET_ALIGNMENT
                                    : 0;
}

static void
bucket_reset(struct hoop_gradients *gradients,
             struct bucket_reduction *bucket_reduction)
{
    const struct bucket *bucket = &bucket_reduction->bucket;

    bucket_reduction->n_unready_gradients = bucket->end - bucket->first;
    for (size_t i = bucket->first; i < bucket->end; i++)
        gradients->slots[i].is_ready = false;
}

static void
gradients_begin_step(struct hoop_gradients *gradients)
{
    gradients->n_started_buckets = 0;
    for (size_t i = 0; i < gradients->n_bucket_reductions; i++)
        bucket_reset(gradients, &gradients->bucket_reductions[i]);
}

/* Assigns every gradient of a bucket its place. packed is the bucket's
 * memory. */
static void
bucket_assign_memory(struct hoop_gradients *gradients,
                     size_t at,
                     uint8_t *packed)
{
    const struct flat *flat = gradients->flat;
    struct bucket_reduction *bucket_reduction =
        &gradients->bucket_reductions[at];
    const struct bucket *bucket = &bucket_reduction->bucket;

    bucket_reduction->bytes =
        bucket_is_packed(bucket) ? packed : flat->pieces[bucket->first].bytes;
    for (size_t i = bucket->first; i < bucket->end; i++) {
        gradients->slots[i] = (struct gradient_slot){
            .bucket = at,
            .packed = bucket_is_packed(bucket) ? packed : NULL,
        };
        packed += flat->pieces[i].count * flat->element_size;
    }
}

/* Stores the buckets and allocates memory for those that are packed. */
static enum hoop_status
gradients_allocate_buckets(struct hoop_gradients *gradients,
                           const struct bucket *buckets)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < gradients->n_bucket_reductions; i++) {
        gradients->bucket_reductions[i].bucket = buckets[i];
        n_bytes += bucket_packed_bytes(gradients->flat, &buckets[i]);
    }
    gradients->packed =
        aligned_alloc(BUCKET_ALIGNMENT, n_bytes + BUCKET_ALIGNMENT);
    if (!gradients->packed)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to pack %zu bytes of gradients", n_bytes);
    uint8_t *at = gradients->packed;
    for (size_t i = 0; i < gradients->n_bucket_reductions; i++) {
        bucket_assign_memory(gradients, i, at);
        at += bucket_packed_bytes(gradients->flat, &buckets[i]);
    }
    gradients_begin_step(gradients);
    return HOOP_OK;
}

static enum hoop_status
gradients_make_buckets(struct hoop_gradients *gradients, size_t bucket_bytes)
{
    const struct flat *flat = gradients->flat;
    const size_t n = n_gradients(gradients);
    CLEANUP(free) size_t *counts = calloc(n + 1, sizeof(*counts));
    CLEANUP(free) struct bucket *buckets = calloc(n + 1, sizeof(*buckets));

    gradients->slots = calloc(n + 1, sizeof(*gradients->slots));
    gradients->bucket_reductions =
        calloc(n + 1, sizeof(*gradients->bucket_reductions));
    gradients->agreed =
        calloc(flat->n_shape_entries + 1, sizeof(*gradients->agreed));
    if (!counts || !buckets || !gradients->slots ||
        !gradients->bucket_reductions || !gradients->agreed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu gradients", n);
    for (size_t i = 0; i < n; i++)
        counts[i] = flat->pieces[i].count;
    gradients->n_bucket_reductions = buckets_assign_gradients(
        counts, n, bucket_bytes / flat->element_size, buckets);
    gradients->agreed[0] = bucket_bytes;
    memcpy(gradients->agreed + 1, flat->shapes,
           flat->n_shape_entries * sizeof(*flat->shapes));
    const enum hoop_status status =
        gradients_allocate_buckets(gradients, buckets);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
gradients_options_check(const struct hoop_gradients_options *options)
{
    if (!options)
        return error_raise(HOOP_E_INVALID, "options is NULL");
    if (!options->comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    if (options->op != HOOP_SUM && options->op != HOOP_AVG)
        return error_raise(HOOP_E_INVALID,
                           "gradients are reduced with HOOP_SUM or HOOP_AVG, "
                           "not with %s",
                           reduce_op_name(options->op));
    return HOOP_OK;
}

enum hoop_status
hoop_gradients_create(const struct hoop_tensor *gradients,
                      size_t n_gradients,
                      const struct hoop_gradients_options *options,
                      hoop_gradients_t **out_gradients)
{
    CLEANUP(hoop_gradients_free) struct hoop_gradients *created = NULL;
    enum hoop_status status;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_gradients)
        return error_raise(HOOP_E_INVALID, "out_gradients is NULL");
    status = gradients_options_check(options);
    if (status != HOOP_OK)
        return error_pass(status);
    created = calloc(1, sizeof(*created));
    if (!created)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for gradients");
    created->comm = options->comm;
    created->op = options->op;
    status =
        flat_tensors_create(gradients, n_gradients, "gradient", &created->flat);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!reduction_find(created->flat->dtype, options->op))
        return error_raise(HOOP_E_INVALID, "%s of %s has no meaning",
                           reduce_op_name(options->op),
                           dtype_name(created->flat->dtype));
    status = gradients_make_buckets(created, options->bucket_bytes > 0
                                                 ? options->bucket_bytes
                                                 : BUCKET_BYTES_DEFAULT);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_gradients = STEAL(created);
    return HOOP_OK;
}

void
hoop_gradients_free(hoop_gradients_t *gradients)
{
    if (!gradients)
        return;
    for (size_t i = 0; i < gradients->n_bucket_reductions; i++) {
        if (gradients->bucket_reductions[i].op)
            (void)!hoop_wait(gradients->bucket_reductions[i].op, HOOP_FOREVER);
    }
    flat_tensors_destroy(gradients->flat);
    free(gradients->agreed);
    free(gradients->slots);
    free(gradients->bucket_reductions);
    free(gradients->packed);
    free(gradients);
}

size_t
hoop_gradients_n_buckets(const hoop_gradients_t *gradients)
{
    return gradients ? gradients->n_bucket_reductions : 0;
}

static enum hoop_status
bucket_start_allreduce(struct hoop_gradients *gradients,
                       struct bucket_reduction *bucket_reduction)
{
    const bool is_first = !gradients->is_layout_agreed;
    const struct collective collective = {
        .name = CALL_ALLREDUCE_COALESCED,
        .parts = COLL_REDUCES,
        .send = HOOP_IN_PLACE,
        .recv = bucket_reduction->bytes,
        .count = bucket_reduction->bucket.count,
        .agreed = is_first ? gradients->agreed : NULL,
        .n_agreed = is_first ? gradients->flat->n_shape_entries + 1 : 0,
        .dtype = gradients->flat->dtype,
        .op = gradients->op,
    };
    const enum hoop_status status =
        collective_start(&collective, gradients->comm, &bucket_reduction->op);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Returns HOOP_E_PENDING after timeout_ms. */
static enum hoop_status
bucket_wait_allreduce(struct hoop_gradients *gradients,
                      size_t at,
                      int64_t timeout_ms)
{
    struct bucket_reduction *bucket_reduction =
        &gradients->bucket_reductions[at];

    if (!bucket_reduction->op)
        return HOOP_OK;
    const enum hoop_status status = hoop_wait(bucket_reduction->op, timeout_ms);
    if (status == HOOP_E_PENDING)
        return status;
    bucket_reduction->op = NULL;
    if (status != HOOP_OK) {
        gradients_record_failure(gradients, status);
        return error_pass(status);
    }
    gradients->is_layout_agreed = true;
    return HOOP_OK;
}

/* Starts full buckets in order. */
static void
gradients_start_full_buckets(struct hoop_gradients *gradients)
{
    while (gradients->failure == HOOP_OK &&
           gradients->n_started_buckets < gradients->n_bucket_reductions &&
           gradients->bucket_reductions[gradients->n_started_buckets]
                   .n_unready_gradients == 0) {
        /* The second bucket of all waits until the first one has succeeded. */
        if (gradients->n_started_buckets == 1 && !gradients->is_layout_agreed &&
            bucket_wait_allreduce(gradients, 0, 0) != HOOP_OK)
            return;
        const enum hoop_status status = bucket_start_allreduce(
            gradients,
            &gradients->bucket_reductions[gradients->n_started_buckets]);
        if (status != HOOP_OK)
            gradients_record_failure(gradients, status);
        else
            gradients->n_started_buckets++;
    }
}

static enum hoop_status
gradients_check_usable(const struct hoop_gradients *gradients)
{
    if (!gradients)
        return error_raise(HOOP_E_INVALID, "gradients is NULL");
    if (gradients->has_reported_failure)
        return error_raise(HOOP_E_PRECONDITION,
                           "an earlier step failed, free these gradients: %s",
                           gradients->text);
    return HOOP_OK;
}

enum hoop_status
hoop_gradients_ready(hoop_gradients_t *gradients, size_t index)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    const enum hoop_status status = gradients_check_usable(gradients);
    if (status != HOOP_OK)
        return error_pass(status);
    if (index >= n_gradients(gradients))
        return error_raise(HOOP_E_INVALID,
                           "there is no gradient %zu: %zu were given", index,
                           n_gradients(gradients));
    struct gradient_slot *gradient_slot = &gradients->slots[index];
    const struct flat_piece *piece = &gradients->flat->pieces[index];
    if (gradient_slot->is_ready)
        return error_raise(HOOP_E_INVALID,
                           "gradient %zu is ready already in this step", index);
    if (gradient_slot->packed && piece->count > 0)
        memcpy(gradient_slot->packed, piece->bytes,
               piece->count * gradients->flat->element_size);
    gradient_slot->is_ready = true;
    gradients->bucket_reductions[gradient_slot->bucket].n_unready_gradients--;
    gradients_start_full_buckets(gradients);
    return HOOP_OK;
}

static enum hoop_status
gradients_check_all_ready(const struct hoop_gradients *gradients)
{
    char text[MISSING_GRADIENTS_NAMED_MAX * 24] = "";
    size_t n_unready_gradients = 0;
    size_t at = 0;

    for (size_t i = 0; i < n_gradients(gradients); i++) {
        if (gradients->slots[i].is_ready)
            continue;
        if (n_unready_gradients < MISSING_GRADIENTS_NAMED_MAX)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%zu",
                                   n_unready_gradients > 0 ? ", " : "", i);
        n_unready_gradients++;
    }
    if (n_unready_gradients == 0)
        return HOOP_OK;
    return error_raise(
        HOOP_E_PRECONDITION, "%zu of %zu gradients are not ready: %s%s",
        n_unready_gradients, n_gradients(gradients), text,
        n_unready_gradients > MISSING_GRADIENTS_NAMED_MAX ? ", ..." : "");
}

static void
bucket_unpack(struct hoop_gradients *gradients,
              const struct bucket_reduction *bucket_reduction)
{
    const struct flat *flat = gradients->flat;

    for (size_t i = bucket_reduction->bucket.first;
         i < bucket_reduction->bucket.end; i++) {
        const struct flat_piece *piece = &flat->pieces[i];

        if (gradients->slots[i].packed && piece->count > 0)
            memcpy(piece->bytes, gradients->slots[i].packed,
                   piece->count * flat->element_size);
    }
}

/* Waits for everything in progress, also after a failure. */
static void
gradients_wait_all(struct hoop_gradients *gradients)
{
    for (size_t i = 0; i < gradients->n_bucket_reductions; i++) {
        gradients_start_full_buckets(gradients);
        if (bucket_wait_allreduce(gradients, i, HOOP_FOREVER) == HOOP_OK &&
            gradients->failure == HOOP_OK)
            bucket_unpack(gradients, &gradients->bucket_reductions[i]);
    }
}

enum hoop_status
hoop_gradients_wait(hoop_gradients_t *gradients)
{
    enum hoop_status status;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    status = gradients_check_usable(gradients);
    if (status == HOOP_OK)
        status = gradients_check_all_ready(gradients);
    if (status != HOOP_OK)
        return error_pass(status);
    gradients_wait_all(gradients);
    if (gradients->failure != HOOP_OK) {
        gradients->has_reported_failure = true;
        return error_raise(gradients->failure, "%s", gradients->text);
    }
    gradients_begin_step(gradients);
    return HOOP_OK;
}
