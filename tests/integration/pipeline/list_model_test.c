/*
 * tests/integration/pipeline/list_model_test.c - random calls against a model
 *
 * A random script, which is the same on all ranks, sends lists of tensors
 * through pipelines and Megatron's stages, and single tensors, in batches,
 * blocking and started. Now and then a count, a shape or a dtype is not what
 * the other side expects. The model has a queue of what was sent for each pair
 * of ranks, direction and stream, and knows nothing of messages: a receive
 * takes the first entry, and both calls fail if and only if the two differ. A
 * call that succeeds must receive the bytes of that entry, and a barrier in
 * between always succeeds. HOOP_TEST_SEED repeats a run.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/pipeline/pipe_case.h"
#include "integration/reference.h"
#include "pseudo_random.h"

enum {
#if defined(__SANITIZE_THREAD__)
    N_STEPS = 120,
#elif defined(__SANITIZE_ADDRESS__)
    N_STEPS = 250,
#else
    N_STEPS = 600,
#endif
    LIST_MAX = 3,
    QUEUE_MAX = 8,
    SIZES = 4,
    STREAMS = 4,
};

/* The lengths are empty, within one frame, sent whole without a request, and
 * sent in pieces on request. */
static const size_t lengths[SIZES] = {0, 3, 9000, 70000};

enum family {
    FAMILY_PIPE,
    FAMILY_STAGES, /* those of Megatron */
    FAMILY_ALONE,  /* a tensor, or a batch of them */
    FAMILIES,
};

/* A list as one side describes it. */
struct said {
    size_t n;
    struct hoop_tensor tensors[LIST_MAX]; /* without data */
    uint64_t mark;                        /* identifies the bytes of the list */
    bool is_any;                          /* anything may come */
};

/* What both sides say about one direction of a step. */
struct leg {
    uint32_t from;
    uint32_t to;
    struct said sent;
    struct said expected;
};

struct step {
    enum family family;
    bool is_backward;
    bool is_both; /* one leg in each direction, in one call */
    bool is_started;
    uint32_t lane;
    struct leg legs[2];
};

/* What was sent in a stream and has not been received yet. */
struct queue {
    struct said said[QUEUE_MAX];
    size_t first;
    size_t n;
};

struct model {
    struct queue queues[4][4][2][STREAMS]; /* [from][to][direction][stream] */
};

struct player {
    struct rank *rank;
    uint64_t seed;
    hoop_pipeline_t *pipeline;
    hoop_p2p_t *stages[2]; /* batched, and unbatched */
    struct model model;
    uint64_t marks;
};

static bool
draws(struct player *player, size_t one_in)
{
    return draw_below(&player->seed, one_in) == 0;
}

static struct hoop_tensor
tensor_draw(struct player *player)
{
    const size_t n = lengths[draw_below(&player->seed, SIZES)];
    struct hoop_tensor tensor = {.dtype = HOOP_INT32,
                                 .shape = {.n_dims = 2, .dims = {n, 2}}};

    if (draws(player, 4))
        tensor.shape = (struct hoop_shape){.n_dims = 1, .dims = {n}};
    return tensor;
}

/* Gives the tensor another shape, with the same number of elements or not, or
 * another dtype. */
static void
tensor_spoil(struct player *player,
             struct hoop_tensor *tensor,
             enum family family)
{
    const size_t size = tensor->shape.dims[0];

    /* Stages always have the dtype of their communicator. */
    switch (draw_below(&player->seed, family == FAMILY_STAGES ? 1 : 3)) {
    case 0:
        tensor->shape = (struct hoop_shape){.n_dims = 2, .dims = {3, size}};
        return;
    case 1:
        tensor->dtype = HOOP_FLOAT32;
        return;
    default:
        tensor->shape.dims[0] = size + 1;
        return;
    }
}

static void
leg_draw(struct player *player, struct leg *leg, const struct step *step)
{
    const bool is_one = step->family == FAMILY_ALONE;

    leg->sent.n = is_one ? 1 : draw_below(&player->seed, LIST_MAX + 1);
    leg->sent.mark = ++player->marks;
    for (size_t i = 0; i < LIST_MAX; i++)
        leg->sent.tensors[i] = tensor_draw(player);
    leg->expected = leg->sent;
    leg->expected.is_any = step->family != FAMILY_STAGES && draws(player, 4);
    if (!is_one && draws(player, 4))
        leg->expected.n = draw_below(&player->seed, LIST_MAX + 1);
    if (draws(player, 4))
        tensor_spoil(
            player, &leg->expected.tensors[draw_below(&player->seed, LIST_MAX)],
            step->family);
}

static void
step_draw(struct player *player, struct step *step)
{
    const uint32_t size = player->rank->size;
    const uint32_t a = (uint32_t)draw_below(&player->seed, size);
    const uint32_t b = (a + 1) % size;

    *step = (struct step){
        .family = (enum family)draw_below(&player->seed, FAMILIES),
        .is_backward = draws(player, 2),
        .is_both = draws(player, 3),
        .is_started = draws(player, 2),
        .lane = (uint32_t)draw_below(&player->seed, STREAMS),
    };
    /* With stages, the lists of both directions would need the same length. */
    step->is_both &= step->family != FAMILY_STAGES;
    leg_draw(player, &step->legs[0], step);
    leg_draw(player, &step->legs[1], step);
    step->legs[0].from = step->legs[1].to = step->is_backward ? b : a;
    step->legs[0].to = step->legs[1].from = step->is_backward ? a : b;
}

/* The functions below are the model. */

static struct queue *
queue_of(struct player *player, const struct step *step, const struct leg *leg)
{
    const bool is_back = step->is_backward != (leg == &step->legs[1]);
    const size_t stream =
        step->family == FAMILY_PIPE ? step->lane : (size_t)step->family;

    return &player->model.queues[leg->from][leg->to][is_back][stream];
}

static void
model_send(struct queue *queue, const struct said *said)
{
    queue->said[(queue->first + queue->n++) % QUEUE_MAX] = *said;
}

/* Removes the first entry, and returns whether it is what was expected. */
static bool
model_receive(struct queue *queue,
              const struct said *expected,
              struct said *out_head)
{
    *out_head = queue->said[queue->first];
    queue->first = (queue->first + 1) % QUEUE_MAX;
    queue->n--;
    if (out_head->n != expected->n)
        return false;
    for (size_t i = 0; !expected->is_any && i < expected->n; i++) {
        const struct hoop_tensor *sent = &out_head->tensors[i];
        const struct hoop_tensor *other = &expected->tensors[i];

        if (sent->dtype != other->dtype ||
            sent->shape.n_dims != other->shape.n_dims ||
            memcmp(sent->shape.dims, other->shape.dims,
                   sent->shape.n_dims * sizeof(size_t)) != 0)
            return false;
    }
    return true;
}

/* The functions below make and check the lists that are sent and received. */

static size_t
count_of(const struct hoop_tensor *tensor)
{
    size_t count = 1;

    for (uint32_t i = 0; i < tensor->shape.n_dims; i++)
        count *= tensor->shape.dims[i];
    return count;
}

static uint32_t
value_at(uint64_t mark, size_t index, size_t i)
{
    return (uint32_t)(mark * 2654435761U + index * 40503U + i);
}

struct list {
    struct hoop_tensor tensors[LIST_MAX];
    struct hoop_tensor came[LIST_MAX];
    struct hoop_tensors list;
};

static void
list_send(struct list *list, const struct said *said)
{
    *list = (struct list){.list = {said->n, list->tensors, NULL, 0}};
    for (size_t i = 0; i < said->n; i++) {
        const size_t count = count_of(&said->tensors[i]);
        uint32_t *values = malloc(4 * count + 4);

        for (size_t k = 0; values && k < count; k++)
            values[k] = value_at(said->mark, i, k);
        list->tensors[i] = said->tensors[i];
        list->tensors[i].data = values;
    }
}

static void
list_expect(struct list *list, const struct said *said)
{
    *list = (struct list){.list = {said->n, list->tensors, list->came, 77}};
    for (size_t i = 0; i < said->n; i++) {
        list->tensors[i] = said->tensors[i];
        if (said->is_any)
            list->tensors[i].shape.n_dims = HOOP_ANY_SHAPE;
    }
}

static void
list_free(struct list *list)
{
    for (size_t i = 0; i < LIST_MAX; i++) {
        free(list->tensors[i].data);
        hoop_tensor_free(&list->came[i]);
    }
}

static bool
list_came(const struct list *list, const struct said *head)
{
    for (size_t i = 0; i < head->n; i++) {
        const struct hoop_tensor *came = &list->came[i];
        const uint32_t *values = came->data;

        if (came->dtype != head->tensors[i].dtype ||
            !hoop_shape_equal(&came->shape, &head->tensors[i].shape))
            return false;
        for (size_t k = 0; k < count_of(came); k++) {
            if (values[k] != value_at(head->mark, i, k))
                return false;
        }
    }
    return true;
}

/* A failed call must not change the descriptions, nor write any data. */
static bool
list_is_as_given(const struct list *list, const struct said *said)
{
    bool is_same = list->list.n_tensors == said->n;

    for (size_t i = 0; i < said->n; i++)
        is_same &=
            list->tensors[i].dtype == said->tensors[i].dtype &&
            !list->tensors[i].data &&
            list->tensors[i].shape.n_dims ==
                (said->is_any ? HOOP_ANY_SHAPE : said->tensors[i].shape.n_dims);
    return is_same;
}

/* The functions below make the call of each family. A rank may take part in
 * both legs. */

struct part {
    const struct step *step;
    struct list *send; /* NULL: nothing is sent */
    struct list *receive;
    uint32_t peer;
    bool is_next; /* the peer is the next stage */
};

static enum hoop_status
pipe_call(struct player *player, const struct part *part)
{
    const struct hoop_pipe_options options = {
        .lane = part->step->lane, .prev = &part->peer, .next = &part->peer};
    struct hoop_tensors *send = part->send ? &part->send->list : NULL;
    struct hoop_tensors *receive = part->receive ? &part->receive->list : NULL;
    const struct hoop_pipe_exchange exchange =
        part->is_next
            ? (struct hoop_pipe_exchange){.output = send,
                                          .output_grad = receive}
            : (struct hoop_pipe_exchange){.input_grad = send, .input = receive};

    return hoop_pipe_exchange_all(player->pipeline, &exchange, &options);
}

static enum hoop_status
stages_call(struct player *player, const struct part *part)
{
    hoop_p2p_t *p2p = player->stages[part->step->is_started];

    if (part->send)
        return part->is_next
                   ? hoop_p2p_send_forward(p2p, &part->send->list, 0)
                   : hoop_p2p_send_backward(p2p, &part->send->list, 0);
    return part->is_next ? hoop_p2p_recv_backward(p2p, &part->receive->list, 0)
                         : hoop_p2p_recv_forward(p2p, &part->receive->list, 0);
}

static enum hoop_status
alone_call(struct player *player, const struct part *part)
{
    struct hoop_tensor_message messages[2];
    const int64_t sends = part->is_next ? 0 : 1;
    hoop_op_t *ops[2];
    size_t n = 0;

    if (part->send)
        messages[n++] = (struct hoop_tensor_message){
            HOOP_SEND, part->send->tensors, part->peer, sends, NULL};
    if (part->receive)
        messages[n++] = (struct hoop_tensor_message){
            HOOP_RECV, part->receive->tensors, part->peer, 1 - sends,
            part->receive->came};
    if (!part->step->is_started)
        return hoop_batch_tensors(messages, n, player->rank->comm);
    const enum hoop_status status =
        hoop_batch_tensors_start(messages, n, player->rank->comm, ops);
    return status == HOOP_OK ? hoop_wait_all(ops, n, HOOP_FOREVER) : status;
}

static enum hoop_status
part_call(struct player *player, const struct part *part)
{
    static enum hoop_status (*const calls[FAMILIES])(
        struct player *, const struct part *) = {pipe_call, stages_call,
                                                 alone_call};

    return calls[part->step->family](player, part);
}

/* Returns whether the error text names both numbers of tensors, or both
 * tensors. */
static bool
text_names_both(const struct said *sent, const struct said *expected)
{
    char counts[2][32];
    const size_t n[] = {sent->n, expected->n};

    for (size_t i = 0; i < 2; i++)
        snprintf(counts[i], sizeof(counts[i]),
                 n[i] > 0 ? "of %zu)" : "a list of no tensors", n[i]);
    return strstr(hoop_error_text(), "called send_tensor") &&
           strstr(hoop_error_text(), "called recv_tensor") &&
           (sent->n == expected->n ||
            (strstr(hoop_error_text(), counts[0]) &&
             (expected->is_any || strstr(hoop_error_text(), counts[1]))));
}

static int
step_play(struct player *player, const struct step *step)
{
    const struct rank *rank = player->rank;
    const size_t n_legs = step->is_both ? 2 : 1;
    struct list lists[2];
    struct said heads[2];
    struct part part = {.step = step};
    size_t wrong = SIZE_MAX;
    bool has_part = false;

    for (size_t i = 0; i < n_legs; i++) {
        const struct leg *leg = &step->legs[i];
        struct queue *queue = queue_of(player, step, leg);

        model_send(queue, &leg->sent);
        if (!model_receive(queue, &leg->expected, &heads[i]))
            wrong = wrong == SIZE_MAX ? i : wrong;
        if (leg->from == rank->rank) {
            list_send(&lists[i], &leg->sent);
            part.send = &lists[i];
            part.peer = leg->to;
        } else if (leg->to == rank->rank) {
            list_expect(&lists[i], &leg->expected);
            part.receive = &lists[i];
            part.peer = leg->from;
        }
        has_part |= leg->from == rank->rank || leg->to == rank->rank;
    }
    if (!has_part)
        return 0;
    /* Forward data go to the next stage. */
    part.is_next = (step->legs[0].from == rank->rank) != step->is_backward;
    const enum hoop_status status = part_call(player, &part);
    RANK_CHECK(status == (wrong == SIZE_MAX ? HOOP_OK : HOOP_E_MISMATCH));
    for (size_t i = 0; i < n_legs; i++) {
        const struct leg *leg = &step->legs[i];

        if (leg->to == rank->rank) {
            RANK_CHECK(list_is_as_given(&lists[i], &leg->expected));
            RANK_CHECK(status != HOOP_OK || list_came(&lists[i], &heads[i]));
        }
        if (status != HOOP_OK && (n_legs == 1 || step->family == FAMILY_PIPE))
            RANK_CHECK(strstr(hoop_error_text(), "called send_tensor"));
        if (n_legs == 1 && status != HOOP_OK)
            RANK_CHECK(text_names_both(&leg->sent, &leg->expected));
        list_free(&lists[i]);
    }
    return 0;
}

static int
model_body(struct rank *rank)
{
    static const enum hoop_dtype dtype = HOOP_INT32;
    static struct player player;

    player =
        (struct player){.rank = rank, .seed = *(const uint64_t *)rank->input};
    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &player.pipeline) ==
               HOOP_OK);
    for (size_t i = 0; i < 2; i++)
        RANK_CHECK(
            hoop_p2p_create(&(struct hoop_p2p_options){.stages = rank->comm,
                                                       .dtype = &dtype,
                                                       .is_unbatched = i == 1},
                            &player.stages[i]) == HOOP_OK);
    for (size_t i = 0; i < N_STEPS; i++) {
        struct step step;

        step_draw(&player, &step);
        if (step_play(&player, &step) != 0) {
            fprintf(stderr, "step %zu, family %d, seed %" PRIu64 "\n", i,
                    (int)step.family, *(const uint64_t *)rank->input);
            return 1;
        }
        if (i % 50 == 49)
            RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    }
    for (size_t i = 0; i < 2; i++)
        hoop_p2p_free(player.stages[i]);
    hoop_pipeline_free(player.pipeline);
    return 0;
}

static void
calls_end_as_the_model_says(void **state)
{
    uint64_t seed = number_from_environment("HOOP_TEST_SEED", 1);

    for (uint32_t size = 2; size <= 4; size++, seed++) {
        printf("%u ranks, seed %" PRIu64 "\n", size, seed);
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = model_body,
                             .input = &seed,
                         }),
                         0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_as_the_model_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
