/* reshard/resharding.c - saves, loads, redistributes and compares a tensor */

#include "reshard/resharding.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>

#include "reshard/agreement.h"
#include "reshard/amount.h"
#include "reshard/content.h"
#include "reshard/table.h"
#include "train_3d/clock.h"

enum {
    VERDICT_BYTES = 64,
};

static const char tensor_name[] = "tensor";

struct resharding {
    const struct resharding_options *options;
    const struct task *task;
    hoop_session_t *session;
    hoop_comm_t *world;
    hoop_mesh_t *mesh; /* the mesh of original */
    hoop_dtensor_t *original;
    uint64_t digest; /* the hash of original */
    size_t n_differ; /* how many hashes differ */
};

/* A layout into which the tensor is brought. */
struct target {
    const struct layout *layout;
    struct hoop_tensor_spec spec;
    hoop_dtensor_t *dtensor; /* the tensor in this layout */
};

static bool
is_chief(const struct resharding *resharding)
{
    return hoop_comm_rank(resharding->world) == 0;
}

/* Gives all ranks of the world the hash that the ranks of the mesh have
 * computed. */
static enum hoop_status
digest_share(const struct resharding *resharding,
             const struct layout *layout,
             const hoop_dtensor_t *dtensor,
             uint64_t *out_digest)
{
    hoop_comm_t *world = resharding->world;
    uint64_t digest = 0;

    enum hoop_status status =
        agreement_reach(world, hoop_dtensor_digest(dtensor, &digest));
    if (status == HOOP_OK)
        status = agreement_reach(
            world, hoop_broadcast(HOOP_IN_PLACE, &digest, 1, HOOP_UINT64,
                                  layout->first_rank, world));
    if (status == HOOP_OK)
        *out_digest = digest;
    return status;
}

static enum hoop_status
original_fill(const hoop_dtensor_t *original)
{
    const struct hoop_tensor *local = hoop_dtensor_local(original);
    struct hoop_part part;

    if (!local)
        return HOOP_OK;
    const enum hoop_status status = hoop_dtensor_part(original, &part);
    if (status == HOOP_OK)
        content_fill(&part, hoop_dtensor_shape(original), local);
    return status;
}

static enum hoop_status
original_make(struct resharding *resharding)
{
    const struct task *task = resharding->task;

    enum hoop_status status =
        layout_mesh_create(&task->from, resharding->session, &resharding->mesh);
    if (status == HOOP_OK)
        status = hoop_dtensor_create(task->dtype, &task->shape,
                                     &(struct hoop_tensor_spec){
                                         .mesh = resharding->mesh,
                                         .sharding = task->from.sharding,
                                     },
                                     &resharding->original);
    if (status == HOOP_OK)
        status = original_fill(resharding->original);
    status = agreement_reach(resharding->world, status);
    if (status == HOOP_OK)
        status = digest_share(resharding, &task->from, resharding->original,
                              &resharding->digest);
    return status;
}

static enum hoop_status
target_init(struct target *target,
            const struct resharding *resharding,
            const struct layout *layout)
{
    *target = (struct target){
        .layout = layout,
        .spec.sharding = layout->sharding,
    };
    return layout_mesh_create(layout, resharding->session, &target->spec.mesh);
}

static void
target_deinit(struct target *target)
{
    hoop_dtensor_free(target->dtensor);
    hoop_mesh_free(target->spec.mesh);
}

static void
row_tell(const struct resharding *resharding, const struct table_row *row)
{
    if (is_chief(resharding))
        table_add(row, stdout);
}

/* Begins a measurement when all ranks are there. It ends when all have
 * finished. */
static enum hoop_status
part_begin(const struct resharding *resharding, uint64_t *out_begin_ns)
{
    const enum hoop_status status =
        agreement_reach(resharding->world, hoop_barrier(resharding->world));

    *out_begin_ns = clock_ns();
    return status;
}

/* Prints a row that says whether the result is the same as the original. */
static enum hoop_status
target_compare(struct resharding *resharding,
               const struct target *target,
               struct table_row *row)
{
    char verdict[VERDICT_BYTES] = "the same";
    uint64_t digest = 0;
    const enum hoop_status status =
        digest_share(resharding, target->layout, target->dtensor, &digest);

    if (status != HOOP_OK)
        return status;
    if (digest != resharding->digest) {
        resharding->n_differ++;
        snprintf(verdict, sizeof(verdict), "%016" PRIx64 " DIFFERS", digest);
    }
    row->verdict = verdict;
    row_tell(resharding, row);
    return HOOP_OK;
}

/* Changes one bit, as faulty memory would. */
static void
target_damage(const struct target *target)
{
    const struct hoop_tensor *local = hoop_dtensor_local(target->dtensor);
    size_t count = 0;

    if (local && hoop_shape_count(&local->shape, &count) == HOOP_OK &&
        count > 0 && hoop_mesh_coordinate(target->spec.mesh, 0) == 0)
        *(unsigned char *)local->data ^= 1;
}

static enum hoop_status
target_load(struct resharding *resharding, struct target *target)
{
    const struct task *task = resharding->task;
    const struct layout_text text = layout_describe(target->layout);
    struct table_row row = {
        .part = "load",
        .layout = text.text,
        .n_bytes = layout_n_bytes(target->layout, &task->shape, task->dtype),
    };
    uint64_t begin_ns = 0;

    enum hoop_status status = part_begin(resharding, &begin_ns);
    if (status != HOOP_OK)
        return status;
    status = agreement_reach(resharding->world,
                             hoop_checkpoint_load(resharding->options->folder,
                                                  tensor_name, &target->spec,
                                                  &target->dtensor));
    if (status != HOOP_OK)
        return status;
    row.time_ns = clock_ns() - begin_ns;
    if (resharding->options->is_damaged)
        target_damage(target);
    return target_compare(resharding, target, &row);
}

static enum hoop_status
target_redistribute(struct resharding *resharding, struct target *target)
{
    const struct layout_text text = layout_describe(target->layout);
    struct hoop_redistribution plan;
    struct table_row row = {.part = "redistribute", .layout = text.text};
    uint64_t begin_ns = 0;

    enum hoop_status status =
        hoop_redistribute_plan(resharding->original, &target->spec, &plan);
    status = agreement_reach(resharding->world, status);
    if (status == HOOP_OK)
        status = part_begin(resharding, &begin_ns);
    if (status != HOOP_OK)
        return status;
    status = agreement_reach(resharding->world,
                             hoop_dtensor_redistribute(resharding->original,
                                                       &target->spec,
                                                       &target->dtensor));
    if (status != HOOP_OK)
        return status;
    row.time_ns = clock_ns() - begin_ns;
    row.n_bytes = plan.bytes_total;
    return target_compare(resharding, target, &row);
}

/* The loaded tensor is freed before the tensor is redistributed, so that a rank
 * never has more than the original and one result. */
static enum hoop_status
target_run(struct resharding *resharding,
           const struct layout *layout,
           enum hoop_status (*move)(struct resharding *, struct target *))
{
    struct target target;

    enum hoop_status status = agreement_reach(
        resharding->world, target_init(&target, resharding, layout));
    if (status == HOOP_OK)
        status = move(resharding, &target);
    target_deinit(&target);
    return status;
}

static enum hoop_status
target_explain(struct resharding *resharding, struct target *target)
{
    enum hoop_status status = HOOP_OK;

    if (is_chief(resharding)) {
        status = hoop_redistribute_explain(resharding->original, &target->spec,
                                           stdout);
        putchar('\n');
    }
    return agreement_reach(resharding->world, status);
}

static enum hoop_status
original_save(struct resharding *resharding)
{
    const struct layout_text text = layout_describe(&resharding->task->from);
    const struct hoop_named_dtensor named = {
        .name = tensor_name,
        .dtensor = resharding->original,
    };
    uint64_t begin_ns = 0;

    enum hoop_status status = part_begin(resharding, &begin_ns);
    if (status != HOOP_OK)
        return status;
    status = agreement_reach(
        resharding->world,
        hoop_checkpoint_save(resharding->options->folder, &named, 1));
    if (status == HOOP_OK)
        row_tell(resharding, &(struct table_row){
                                 .part = "save",
                                 .layout = text.text,
                                 .n_bytes = task_n_bytes(resharding->task),
                                 .time_ns = clock_ns() - begin_ns,
                                 .verdict = "-",
                             });
    return status;
}

/* Prints, for example, "float32 8192 x 8192, 256 MiB", the layout and the
 * hash. */
static void
original_tell(const struct resharding *resharding)
{
    const struct task *task = resharding->task;

    if (!is_chief(resharding))
        return;
    printf("tensor  %s", hoop_dtype_name(task->dtype));
    for (uint32_t i = 0; i < task->shape.n_dims; i++)
        printf("%s%zu", i == 0 ? " " : " x ", task->shape.dims[i]);
    printf(", %s, on %s\n", amount_describe(task_n_bytes(task)).text,
           layout_describe(&task->from).text);
    printf("hash    %016" PRIx64 "\n\n", resharding->digest);
}

static enum hoop_status
targets_run(struct resharding *resharding)
{
    const struct task *task = resharding->task;
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; status == HOOP_OK && i < task->n_to; i++)
        status = target_run(resharding, &task->to[i], target_explain);
    if (status == HOOP_OK && is_chief(resharding))
        table_begin(stdout);
    if (status == HOOP_OK)
        status = original_save(resharding);
    for (size_t i = 0; status == HOOP_OK && i < task->n_to; i++) {
        status = target_run(resharding, &task->to[i], target_load);
        if (status == HOOP_OK)
            status = target_run(resharding, &task->to[i], target_redistribute);
    }
    return status;
}

/* All ranks return the same status; rank 0 prints the reason. */
static enum hoop_status
verdict_give(const struct resharding *resharding)
{
    if (resharding->n_differ == 0)
        return HOOP_OK;
    if (is_chief(resharding))
        warnx("%zu of %zu hashes differ from that of the original, "
              "%016" PRIx64,
              resharding->n_differ, 2 * resharding->task->n_to,
              resharding->digest);
    return HOOP_E_DATA_LOSS;
}

enum hoop_status
resharding_run(hoop_session_t *session,
               const struct resharding_options *options)
{
    struct resharding resharding = {
        .options = options,
        .task = options->task,
        .session = session,
        .world = hoop_world(session),
    };

    enum hoop_status status = original_make(&resharding);
    if (status == HOOP_OK) {
        original_tell(&resharding);
        status = targets_run(&resharding);
    }
    if (status == HOOP_OK)
        status = verdict_give(&resharding);
    hoop_dtensor_free(resharding.original);
    hoop_mesh_free(resharding.mesh);
    return status;
}
