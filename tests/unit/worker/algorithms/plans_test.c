/*
 * tests/unit/worker/algorithms/plans_test.c - the plans of all algorithms, as text
 *
 * plans_test FOLDER [--write]: FOLDER has a file for each algorithm. It holds what
 * each rank does in some small calls, and what the algorithm costs for numbers of
 * ranks up to 33. --write makes the files again; the difference to the old ones is
 * then what a change of an algorithm does. That plans are right is proved in
 * tests/sim.
 *
 * A line is the plan of a rank; | stands between rounds. I, O and S are the input,
 * the output and the scratch, and O4+2 is two elements of the output from the
 * fourth on. * is the reduction, with the operands on the sides where they stand,
 * and ! follows the last one of a block:
 *
 *   >1 I4+2              sends to rank 1
 *   <1 O4+2              receives from rank 1
 *   I0+2*<1=O0+2!        receives from rank 1, and combines
 *   I0+2=O0+2            copies
 *   S0+2*O0+2=O0+2       combines
 *   post I0+2            to the slot of the round
 *   show1 I0+2           exposes it as the second span
 *   @1:0+2=O0+2          fetches what rank 1 has posted; #1: of its second span
 *   @1                   waits for rank 1
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "check.h"
#include "plan/composition.h"
#include "plan/nodes.h"

enum {
    SIZE_MAX_COUNTED = 33,
    SLOT_CAPACITY = 8,
    ENTRIES_MAX = 100,
};

static const char *folder;
static bool is_rewriting;

struct text {
    char text[64];
};

static struct text
span_text(struct plan_span span)
{
    struct text text;

    snprintf(text.text, sizeof(text.text), "%c%zu+%zu", "IOS"[span.buffer],
             span.first, span.count);
    return text;
}

/* What a step takes from its peer. */
static struct text
fetched_text(const struct plan_step *step)
{
    struct text text;
    int n = snprintf(text.text, sizeof(text.text), "@%u", step->peer);

    if (step->message > 0)
        n += snprintf(text.text + n, sizeof(text.text) - (size_t)n, "#%u",
                      step->message);
    if (step->from.count > 0)
        snprintf(text.text + n, sizeof(text.text) - (size_t)n, ":%zu+%zu",
                 step->from.first, step->from.count);
    return text;
}

/* left and right change places if own is on the left. */
static void
reduction_write(FILE *out,
                const struct plan_step *step,
                const char *left,
                const char *right)
{
    const bool is_left = step->side == PLAN_RECEIVED_IS_LEFT_OPERAND;

    fprintf(out, "%s*%s=%s%s", is_left ? left : right, is_left ? right : left,
            span_text(step->to).text, step->is_final ? "!" : "");
}

static void
step_write(FILE *out, const struct plan_step *step)
{
    const struct text from = span_text(step->from);
    const struct text to = span_text(step->to);
    const struct text fetched = fetched_text(step);
    struct text received;

    snprintf(received.text, sizeof(received.text), "<%u", step->peer);
    switch (step->kind) {
    case PLAN_SEND:
        fprintf(out, ">%u %s", step->peer, from.text);
        return;
    case PLAN_STORE:
        fprintf(out, "<%u %s", step->peer, to.text);
        return;
    case PLAN_REDUCE:
        reduction_write(out, step, received.text, from.text);
        return;
    case PLAN_COPY:
        fprintf(out, "%s=%s", from.text, to.text);
        return;
    case PLAN_COMBINE:
        reduction_write(out, step, from.text, to.text);
        return;
    case PLAN_POST_TO_SLOT:
        fprintf(out, "post %s", from.text);
        return;
    case PLAN_EXPOSE:
        fprintf(out, "show%u %s", step->message, from.text);
        return;
    case PLAN_FETCH:
        fprintf(out, "%s%s%s", fetched.text, step->to.count > 0 ? "=" : "",
                step->to.count > 0 ? to.text : "");
        return;
    case PLAN_FETCH_REDUCE:
        reduction_write(out, step, fetched.text, to.text);
        return;
    }
}

/* ">3 I0+2, <1 O0+2 | >3 O0+2; scratch 4" */
static void
rank_write(FILE *out,
           const struct algorithm *algorithm,
           const struct plan_shape *shape)
{
    struct plan plan = {0};
    const size_t n_scratch = algorithm_n_scratch(algorithm, shape);

    for (uint32_t i = 0; i < algorithm_n_rounds(algorithm, shape); i++) {
        plan_clear(&plan);
        algorithm_plan_round(algorithm, &plan, shape, i);
        assert_ok(plan_status(&plan));
        fprintf(out, "%s", i > 0 ? " |" : "");
        for (size_t j = 0; j < plan.n_steps; j++) {
            fprintf(out, j > 0 ? ", " : " ");
            step_write(out, &plan.steps[j]);
        }
    }
    if (n_scratch > 0)
        fprintf(out, "; scratch %zu", n_scratch);
    fprintf(out, "\n");
    plan_deinit(&plan);
}

/* A call by all ranks, of which only rank 0 is shown if shape has
 * recv_counts. */
struct call {
    const char *title;
    struct plan_shape shape;
};

static const size_t blocks_of_six[] = {3, 1, 2, 4, 0, 6};
static const uint32_t nodes_of_six[] = {0, 1, 1, 2, 0, 2};

/* call_suits() says which of them an algorithm is shown in. */
static const struct call calls[] = {
    {"1 rank, 5 elements", {.size = 1, .count = 5, .granule = 1}},
    {"1 rank, 5 elements, in place",
     {.size = 1, .count = 5, .granule = 1, .is_in_place = true}},
    {"3 ranks, 10 elements", {.size = 3, .count = 10, .root = 1, .granule = 2}},
    {"3 ranks, 10 elements, in place",
     {.size = 3, .count = 10, .root = 1, .granule = 2, .is_in_place = true}},
    {"4 ranks, less than a granule, in place",
     {.size = 4, .count = 3, .granule = 16, .is_in_place = true}},
    {"5 ranks, 10 elements", {.size = 5, .count = 10, .root = 3, .granule = 1}},
    {"6 ranks, 12 elements", {.size = 6, .count = 12, .root = 3, .granule = 1}},
    {"6 ranks, blocks of 3 1 2 4 0 6",
     {.size = 6, .counts = blocks_of_six, .root = 3, .granule = 1}},
    {"6 ranks, blocks of 3 1 2 4 0 6, in place",
     {.size = 6,
      .counts = blocks_of_six,
      .root = 3,
      .granule = 1,
      .is_in_place = true}},
    {"rank 0 of 3, 1 4 2 go and 1 0 1 come, in place",
     {.size = 3,
      .counts = (const size_t[]){1, 4, 2},
      .recv_counts = (const size_t[]){1, 0, 1},
      .is_in_place = true}},
    {"rank 0 of 3, 0 1 1 go, from 0 7 7, and 0 2 3 come, to 0 10 4",
     {.size = 3,
      .counts = (const size_t[]){0, 1, 1},
      .recv_counts = (const size_t[]){0, 2, 3},
      .firsts = (const size_t[]){0, 7, 7},
      .recv_displacements = (const size_t[]){0, 10, 4}}},
};

static bool
call_suits(const struct call *call, const struct registry_algorithm *entry)
{
    const struct plan_shape *shape = &call->shape;
    const bool has_v =
        registry_is_blockwise(entry->collective) && !entry->is_even_only;

    if (shape->recv_counts)
        return entry->algorithm == &algorithm_alltoall_pairwise;
    if (shape->counts)
        return has_v && entry->algorithm != &algorithm_alltoall_pairwise;
    if (shape->size == COUNT_OF(nodes_of_six))
        return entry->needs_nodes && !has_v;
    if (shape->size == 4)
        return entry->collective == COLLECTIVE_ALLREDUCE &&
               !entry->algorithm->is_shm;
    return shape->size != 5 ||
           (!entry->needs_nodes && !entry->algorithm->is_shm && !has_v);
}

static bool
has_root(const struct registry_algorithm *entry)
{
    return entry->collective == COLLECTIVE_BROADCAST ||
           entry->collective == COLLECTIVE_REDUCE ||
           entry->collective == COLLECTIVE_GATHER ||
           entry->collective == COLLECTIVE_SCATTER;
}

static void
call_write(FILE *out,
           const struct call *call,
           const struct registry_algorithm *entry)
{
    struct plan_shape shape = call->shape;
    const bool is_one_line = shape.size == 1 || shape.recv_counts;
    struct plan_nodes *nodes = NULL;

    fprintf(out, "%s", call->title);
    if (shape.size == COUNT_OF(nodes_of_six) && entry->needs_nodes) {
        fprintf(out, ", on nodes 0 1 1 2 0 2");
        assert_ok(plan_nodes_create(nodes_of_six, shape.size, &nodes));
    }
    if (shape.root > 0 && has_root(entry))
        fprintf(out, ", root %u", shape.root);
    else
        shape.root = 0;
    shape.nodes = nodes;
    shape.slot_capacity = (shape.counts ? 4 : 1) * SLOT_CAPACITY;
    shape.has_cma = true;
    fprintf(out, is_one_line ? ":" : "\n");
    for (; shape.rank < (is_one_line ? 1 : shape.size); shape.rank++) {
        if (!is_one_line)
            fprintf(out, "  %u:", shape.rank);
        rank_write(out, entry->algorithm, &shape);
    }
    plan_nodes_destroy(nodes);
}

/* All rounds, appended. The caller's to deinit. */
static struct plan
whole_plan_of(const struct algorithm *algorithm, const struct plan_shape *shape)
{
    struct plan plan = {0};

    for (uint32_t i = 0; i < algorithm_n_rounds(algorithm, shape); i++)
        algorithm_plan_round(algorithm, &plan, shape, i);
    return plan;
}

/* What all ranks do together; most: by one of them. */
struct cost {
    size_t n_rounds;
    size_t n_messages;
    size_t n_elements;
    size_t n_elements_most;
    size_t n_connections;
    size_t n_messages_between; /* nodes */
    size_t n_elements_between;
    size_t n_final;
    size_t n_scratch_most;
    size_t n_scratch_most_in_place;
};

static const struct {
    const char *name;
    size_t offset;
} measures[] = {
    {"rounds", offsetof(struct cost, n_rounds)},
    {"messages", offsetof(struct cost, n_messages)},
    {"elements", offsetof(struct cost, n_elements)},
    {"elements of a rank", offsetof(struct cost, n_elements_most)},
    {"connections", offsetof(struct cost, n_connections)},
    {"final", offsetof(struct cost, n_final)},
    {"scratch", offsetof(struct cost, n_scratch_most)},
    {"scratch in place", offsetof(struct cost, n_scratch_most_in_place)},
    {"between nodes", offsetof(struct cost, n_messages_between)},
    {"elements there", offsetof(struct cost, n_elements_between)},
};

static void
raise_to(size_t *most, size_t value)
{
    if (*most < value)
        *most = value;
}

/* The steps of a rank; returns the elements that it sends or fetches. */
static size_t
steps_count(struct cost *cost,
            const struct plan *plan,
            const struct plan_shape *shape,
            bool are_joined[][SIZE_MAX_COUNTED])
{
    size_t n_elements = 0;

    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        bool *is_joined = &are_joined[shape->rank][step->peer];

        cost->n_final += step->is_final ? step->to.count : 0;
        if (step->kind != PLAN_SEND && step->kind != PLAN_FETCH &&
            step->kind != PLAN_FETCH_REDUCE)
            continue;
        cost->n_messages++;
        n_elements += step->from.count;
        cost->n_connections += !*is_joined;
        *is_joined = are_joined[step->peer][shape->rank] = true;
        if (step->peer % 3 != shape->rank % 3) {
            cost->n_messages_between++;
            cost->n_elements_between += step->from.count;
        }
    }
    return n_elements;
}

/* With nodes, ranks are dealt to three. */
static struct cost
cost_of(const struct registry_algorithm *entry, uint32_t size)
{
    const struct algorithm *algorithm = entry->algorithm;
    bool are_joined[SIZE_MAX_COUNTED][SIZE_MAX_COUNTED] = {{false}};
    uint32_t names[SIZE_MAX_COUNTED];
    struct plan_nodes *nodes = NULL;
    struct cost cost = {0};

    for (uint32_t rank = 0; rank < size; rank++)
        names[rank] = rank % 3;
    if (entry->needs_nodes)
        assert_ok(plan_nodes_create(names, size, &nodes));
    for (uint32_t rank = 0; rank < size; rank++) {
        struct plan_shape shape = {
            .rank = rank,
            .size = size,
            .root = has_root(entry) ? size / 2 : 0,
            .count = registry_is_blockwise(entry->collective) ? 2 : 2 * size,
            .granule = 1,
            .nodes = nodes,
            .slot_capacity = (size_t)2 * size,
            .has_cma = true,
        };
        struct plan plan = whole_plan_of(algorithm, &shape);

        raise_to(&cost.n_rounds, algorithm_n_rounds(algorithm, &shape));
        const size_t n_elements = steps_count(&cost, &plan, &shape, are_joined);
        cost.n_elements += n_elements;
        raise_to(&cost.n_elements_most, n_elements);
        raise_to(&cost.n_scratch_most, algorithm_n_scratch(algorithm, &shape));
        shape.is_in_place = true;
        raise_to(&cost.n_scratch_most_in_place,
                 algorithm_n_scratch(algorithm, &shape));
        plan_deinit(&plan);
    }
    plan_nodes_destroy(nodes);
    return cost;
}

/* A row for each measure that is not always 0, a column for each size. */
static void
costs_write(FILE *out, const struct registry_algorithm *entry)
{
    static const uint32_t sizes[] = {2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    const size_t n_measures = COUNT_OF(measures) - (entry->needs_nodes ? 0 : 2);
    struct cost costs[COUNT_OF(sizes)];

    fprintf(out, "%-18s", "ranks");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        costs[i] = cost_of(entry, sizes[i]);
        fprintf(out, "%6u", sizes[i]);
    }
    for (size_t j = 0; j < n_measures; j++) {
        size_t values[COUNT_OF(sizes)];
        size_t sum = 0;

        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            memcpy(&values[i], (const char *)&costs[i] + measures[j].offset,
                   sizeof(values[i]));
            sum += values[i];
        }
        if (sum > 0)
            fprintf(out, "\n%-18s", measures[j].name);
        for (size_t i = 0; sum > 0 && i < COUNT_OF(sizes); i++)
            fprintf(out, "%6zu", values[i]);
    }
    fprintf(out, "\n");
}

/* Fails with the first line that differs. */
static void
texts_compare(const char *path, const char *is, const char *was)
{
    for (size_t number = 1; strcmp(is, was) != 0; number++) {
        const size_t n_is = strcspn(is, "\n");
        const size_t n_was = strcspn(was, "\n");

        if (n_is != n_was || memcmp(is, was, n_is) != 0)
            fail_msg("%s:%zu: is\n%.*s\nand was\n%.*s\nplans_test FOLDER "
                     "--write takes it over",
                     path, number, (int)n_is, is, (int)n_was, was);
        is += n_is + (is[n_is] != '\0');
        was += n_was + (was[n_was] != '\0');
    }
}

static char *
file_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;

    if (!file)
        fail_msg("there is no %s", path);
    if (getdelim(&text, &size, '\0', file) < 0)
        text = strdup("");
    fclose(file);
    return text;
}

static void
plan_text_is_as_recorded(void **state)
{
    const struct registry_algorithm *entry = *state;
    char path[4096];
    char *is = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&is, &size);

    assert_non_null(out);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (call_suits(&calls[i], entry))
            call_write(out, &calls[i], entry);
    costs_write(out, entry);
    fclose(out);
    snprintf(path, sizeof(path), "%s/%s_%s.txt", folder,
             registry_collective_name(entry->collective),
             entry->algorithm->name);
    if (is_rewriting) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        fputs(is, file);
        assert_int_equal(fclose(file), 0);
    }
    char *was = file_read(path);
    texts_compare(path, is, was);
    free(was);
    free(is);
}

/* Returns the algorithm that entry's uses on a single node, if the registry
 * lacks it; else NULL. */
static const struct algorithm *
unregistered_algorithm(const struct registry_algorithm *entry)
{
    const struct hierarchy *compose = entry->algorithm->compose;
    const struct algorithm *algorithm = compose ? compose->single_node : NULL;

    return algorithm && !registry_entry_of_algorithm(algorithm) ? algorithm
                                                                : NULL;
}

static struct CMUnitTest
entry_test(const struct registry_algorithm *entry)
{
    return (struct CMUnitTest){
        .name = entry->algorithm->name,
        .test_func = plan_text_is_as_recorded,
        .initial_state = (void *)(uintptr_t)entry,
    };
}

int
main(int argc, char **argv)
{
    static struct registry_algorithm others[ENTRIES_MAX];
    struct CMUnitTest tests[2 * ENTRIES_MAX];
    size_t n_entries = 0;
    size_t n_tests = 0;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    assert(argc > 1 && n_entries <= ENTRIES_MAX);
    folder = argv[1];
    is_rewriting = argc > 2 && strcmp(argv[2], "--write") == 0;
    for (size_t i = 0; i < n_entries; i++) {
        others[i].collective = entries[i].collective;
        others[i].algorithm = unregistered_algorithm(&entries[i]);
        tests[n_tests++] = entry_test(&entries[i]);
        if (others[i].algorithm)
            tests[n_tests++] = entry_test(&others[i]);
    }
    return _cmocka_run_group_tests("plans", tests, n_tests, NULL, NULL);
}
