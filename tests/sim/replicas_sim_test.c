/*
 * tests/sim/replicas_sim_test.c - results come from one replica, for all groups
 *
 * Between any two process groups of up to eight ranks, with rows of every size
 * that divides a group. Which numbers the ranks have does not count, only which
 * of them are in the source, in the target or in both. From every sharding of a
 * row to every other, forward and backward, the steps of the plan are done with
 * tokens that tell where an element comes from, and compared with a search over
 * all places.
 *
 * The suite takes some of them, others with another REPLICAS_SEED;
 * REPLICAS_STEP=1 takes all, 2.7 million pairs each way.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "mesh/redistribute/participants.h"
#include "mesh/redistribute/redistribution.h"
#include "pseudo_random.h"
#include "replica_oracle.h"
#include "tokens.h"

enum {
    RANKS = 8,
    LAYOUTS = 128,
};

/* Of the pairs that the suite takes; with a sanitizer, fewer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const uint64_t STEP = 2003;
#else
static const uint64_t STEP = 211;
#endif

enum membership {
    IN_SOURCE,
    IN_TARGET,
    IN_BOTH,
    N_MEMBERSHIPS,
};

/* What an axis of a row does: cuts dimension 0 or 1, or what is below. */
enum {
    LEAVES = 2,
    HOLDS_ADDENDS = 3,
};

struct layout {
    struct hoop_mesh_shape mesh;
    struct hoop_sharding sharding;
};

struct listing {
    uint32_t n;
    struct layout layouts[LAYOUTS];
};

static struct listing sources[RANKS + 1]; /* by size of the group */
static struct listing targets[RANKS + 1];
static uint64_t n_seen;
static uint64_t n_done;

/* All uses of the axes of a row, which are those of mesh but the first. */
static void
uses_add(struct listing *listing,
         const struct hoop_mesh_shape *mesh,
         uint32_t n_uses)
{
    uint32_t n_all = 1;

    for (uint32_t axis = 1; axis < mesh->n_axes; axis++)
        n_all *= mesh->sizes[axis] > 1 ? n_uses : 1;
    for (uint32_t i = 0; i < n_all; i++) {
        struct layout *layout = &listing->layouts[listing->n++];
        uint32_t rest = i;

        assert_true(listing->n <= LAYOUTS);
        *layout = (struct layout){.mesh = *mesh, .sharding.is_uneven = true};
        for (uint32_t axis = 1; axis < mesh->n_axes; axis++) {
            const uint32_t use = rest % n_uses;
            struct hoop_axes *axes = use == HOLDS_ADDENDS
                                         ? &layout->sharding.partial
                                         : &layout->sharding.dims[use % 2];

            rest /= n_uses;
            if (use != LEAVES)
                axes->axes[axes->n_axes++] = axis;
        }
    }
}

/* Of a group of n ranks, all T, and all axes that make a row. */
static void
listing_fill(struct listing *listing, uint32_t n, uint32_t n_uses)
{
    listing->n = 0;
    for (uint32_t tp = 1; tp <= n; tp++) {
        struct hoop_mesh_shape mesh = {2, {n / tp, tp}};

        if (n % tp != 0)
            continue;
        uses_add(listing, &mesh, n_uses);
        for (uint32_t first = 2; first < tp; first++) {
            mesh = (struct hoop_mesh_shape){3, {n / tp, first, tp / first}};
            if (tp % first == 0)
                uses_add(listing, &mesh, n_uses);
        }
        mesh = (struct hoop_mesh_shape){4, {1, 2, 2, 2}};
        if (tp == 8)
            uses_add(listing, &mesh, n_uses);
    }
}

/* Two meshes of the same ranks are planned as one. */
static struct redistribution_request
request_refined(const struct redistribution_request *request)
{
    struct redistribution_request refined = *request;
    struct hoop_mesh_shape fine;

    if (request->to.ranks || !mesh_shapes_common_refinement(
                                 &request->from.mesh, &request->to.mesh, &fine))
        return refined;
    refined.from.sharding = refinement_refine_sharding(
        &request->from.mesh, &fine, &request->from.sharding);
    refined.to.sharding = refinement_refine_sharding(&request->to.mesh, &fine,
                                                     &request->to.sharding);
    refined.from.mesh = fine;
    refined.to.mesh = fine;
    return refined;
}

static void
case_run(const struct redistribution_request *request)
{
    const struct redistribution_request planned = request_refined(request);
    CLEANUP(redistribution_unref) struct redistribution *plan = NULL;
    static struct tokens worlds[2];
    struct replica_oracle oracle;
    uint32_t n_places = 1;

    if (redistribution_create(&planned, &plan) != HOOP_OK)
        fail_msg("%s", error_text());
    tokens_begin(&worlds[0], &planned);
    const uint32_t n_steps = redistribution_n_steps(plan);
    for (uint32_t i = 0; i < n_steps; i++) {
        struct tokens_run run = {&planned, plan, i, &worlds[i % 2],
                                 &worlds[(i + 1) % 2]};

        tokens_step(&run);
    }
    replica_oracle_init(&oracle, request);
    for (uint32_t axis = 0; axis < request->to.mesh.n_axes; axis++)
        n_places *= request->to.mesh.sizes[axis];
    for (uint32_t i = 0; i < n_places; i++)
        replica_oracle_check(&oracle, i, &worlds[n_steps % 2]);
    n_done++;
}

/* The source's ranks come first, behind them those that are new. */
static uint32_t
ranks_number(const enum membership *members,
             uint32_t n,
             uint32_t out_targets[RANKS])
{
    uint32_t n_sources = 0;
    uint32_t n_targets = 0;
    uint32_t source = 0;

    for (uint32_t i = 0; i < n; i++)
        n_sources += members[i] != IN_TARGET;
    uint32_t next = n_sources;
    for (uint32_t i = 0; i < n; i++) {
        if (members[i] != IN_SOURCE)
            out_targets[n_targets++] = members[i] == IN_BOTH ? source : next++;
        source += members[i] != IN_TARGET;
    }
    return n_sources;
}

/* From each layout of one group to each of the other, and back. */
static void
groups_run(const enum membership *members, uint32_t n)
{
    static const struct hoop_shape shapes[] = {{2, {4, 6}}, {2, {3, 5}}};
    const uint64_t step = number_from_environment("REPLICAS_STEP", STEP);
    const uint64_t seed = number_from_environment("REPLICAS_SEED", 0);
    uint32_t ranks[RANKS];
    const uint32_t n_sources = ranks_number(members, n, ranks);
    uint32_t n_targets = 0;
    bool is_same = true;

    for (uint32_t i = 0; i < n; i++) {
        n_targets += members[i] != IN_SOURCE;
        is_same = is_same && members[i] == IN_BOTH;
    }
    const struct listing *from = &sources[n_sources];
    const struct listing *to = &targets[n_targets];
    for (uint32_t i = 0; i < from->n * to->n; i++) {
        const struct layout *one = &from->layouts[i / to->n];
        const struct layout *other = &to->layouts[i % to->n];

        if (n_seen++ % step != seed % step)
            continue;
        struct redistribution_request request = {
            .from = {.mesh = one->mesh, .sharding = one->sharding},
            .to = {.mesh = other->mesh,
                   .sharding = other->sharding,
                   .ranks = is_same ? NULL : ranks},
            .n_ranks = n,
            .shape = shapes[n_seen / step % COUNT_OF(shapes)],
            .dtype = HOOP_INT64,
        };
        case_run(&request);
        request.way = REDISTRIBUTION_BACKWARD;
        case_run(&request);
    }
}

static void
results_between_any_groups_come_from_one_replica(void **state)
{
    for (uint32_t n = 1; n <= RANKS; n++) {
        listing_fill(&sources[n], n, HOLDS_ADDENDS + 1);
        listing_fill(&targets[n], n, LEAVES + 1);
    }
    for (uint32_t n = 1; n <= RANKS; n++) {
        uint32_t n_patterns = 1;

        for (uint32_t i = 0; i < n; i++)
            n_patterns *= N_MEMBERSHIPS;
        for (uint32_t i = 0; i < n_patterns; i++) {
            enum membership members[RANKS];
            uint32_t rest = i;

            for (uint32_t j = 0; j < n; j++) {
                members[j] = (enum membership)(rest % N_MEMBERSHIPS);
                rest /= N_MEMBERSHIPS;
            }
            groups_run(members, n);
        }
    }
    printf("%lu plans of %lu pairs of layouts\n", (unsigned long)n_done,
           (unsigned long)n_seen);
    assert_true(n_done > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_between_any_groups_come_from_one_replica),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
