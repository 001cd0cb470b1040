/* reshard/layout.c - reads and describes how a tensor is laid out over ranks */

#include "reshard/layout.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reshard/amount.h"

enum {
    RANKS_MAX = 1 << 20,
};

static const char uneven_word[] = "+uneven";

/* Reads "@4", or nothing. */
static bool
first_rank_parse(const char **text, struct layout *layout)
{
    const char *at = *text;
    uint64_t rank = 0;

    if (*at != '@')
        return true;
    at++;
    if (!isdigit((unsigned char)*at))
        return false;
    for (; isdigit((unsigned char)*at) && rank < RANKS_MAX; at++)
        rank = 10 * rank + (uint64_t)(*at - '0');
    *text = at;
    layout->first_rank = (uint32_t)rank;
    return rank < RANKS_MAX;
}

static bool
mesh_parse(const char **text,
           struct layout *layout,
           struct problem *out_problem)
{
    struct amount_list sizes;
    uint64_t n_ranks = 1;

    if (!amount_list_parse(*text, &sizes, text) ||
        !first_rank_parse(text, layout) || **text != ':')
        return problem_say(out_problem,
                           "a layout begins with the sizes of a mesh (up to "
                           "%d, each at least 1) and a colon, as in 2x4: or, "
                           "from rank 4 on, 2x2@4:",
                           HOOP_MAX_AXES);
    ++*text;
    layout->mesh.n_axes = sizes.n_numbers;
    for (uint32_t i = 0; i < sizes.n_numbers; i++) {
        if (sizes.numbers[i] > RANKS_MAX / n_ranks)
            return problem_say(out_problem, "the mesh has more than %d ranks",
                               RANKS_MAX);
        n_ranks *= sizes.numbers[i];
        layout->mesh.sizes[i] = (uint32_t)sizes.numbers[i];
    }
    layout->n_ranks = (uint32_t)n_ranks;
    return true;
}

/* Reads "R", "S0" or "S01", which must fill the n_bytes. */
static bool
placement_parse(const char *text, size_t n_bytes, struct hoop_axes *out_axes)
{
    struct hoop_axes axes = {0};

    if (n_bytes == 1 && text[0] == 'R') {
        *out_axes = axes;
        return true;
    }
    if (n_bytes < 2 || n_bytes > 1 + HOOP_MAX_AXES || text[0] != 'S')
        return false;
    for (size_t i = 1; i < n_bytes; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        axes.axes[axes.n_axes++] = (uint32_t)(text[i] - '0');
    }
    *out_axes = axes;
    return true;
}

static bool
placement_complain(const char *text,
                   size_t n_bytes,
                   struct problem *out_problem)
{
    const int n_shown = n_bytes < 32 ? (int)n_bytes : 32;

    if (text[0] == 'P')
        return problem_say(out_problem,
                           "\"%.*s\": partial sums cannot be saved; a "
                           "placement is R or S0",
                           n_shown, text);
    return problem_say(out_problem,
                       "\"%.*s\" is no placement, which is R (whole) or S and "
                       "the axes of the mesh that cut, as S0 or S01",
                       n_shown, text);
}

static bool
placements_parse(const char **text,
                 struct layout *layout,
                 struct problem *out_problem)
{
    for (;;) {
        const size_t n_bytes = strcspn(*text, ",+");

        if (layout->n_dims == HOOP_MAX_DIMS)
            return problem_say(out_problem,
                               "there are more placements than a tensor can "
                               "have dimensions, which is %d",
                               HOOP_MAX_DIMS);
        if (!placement_parse(*text, n_bytes,
                             &layout->sharding.dims[layout->n_dims]))
            return placement_complain(*text, n_bytes, out_problem);
        layout->n_dims++;
        *text += n_bytes;
        if (**text != ',')
            return true;
        ++*text;
    }
}

bool
layout_parse(const char *text,
             struct layout *out_layout,
             struct problem *out_problem)
{
    struct layout layout = {0};

    if (!mesh_parse(&text, &layout, out_problem) ||
        !placements_parse(&text, &layout, out_problem))
        return false;
    if (strcmp(text, uneven_word) == 0)
        layout.sharding.is_uneven = true;
    else if (*text != '\0')
        return problem_say(out_problem,
                           "\"%.32s\" is not known: %s is what may follow the "
                           "placements",
                           text, uneven_word);
    *out_layout = layout;
    return true;
}

bool
layout_check(const struct layout *layout,
             const struct hoop_shape *shape,
             uint32_t n_ranks,
             struct problem *out_problem)
{
    if (layout->first_rank + layout->n_ranks > n_ranks)
        return problem_say(out_problem,
                           "the mesh wants ranks %u to %u, but the world has "
                           "%u: start more, as by hooprun -n %u, or choose a "
                           "smaller mesh",
                           layout->first_rank,
                           layout->first_rank + layout->n_ranks - 1, n_ranks,
                           layout->first_rank + layout->n_ranks);
    if (layout->n_dims != shape->n_dims)
        return problem_say(out_problem,
                           "the tensor has %u dimensions, but placements "
                           "are there for %u",
                           shape->n_dims, layout->n_dims);
    if (hoop_sharding_check(&layout->sharding, &layout->mesh, shape) == HOOP_OK)
        return true;
    problem_say(out_problem, "%s", hoop_error_text());
    struct hoop_sharding relaxed = layout->sharding;
    relaxed.is_uneven = true;
    if (hoop_sharding_check(&relaxed, &layout->mesh, shape) != HOOP_OK)
        return false;
    const struct problem inner = *out_problem;
    return problem_say(out_problem, "%.400s (%s behind the layout)", inner.text,
                       uneven_word);
}

enum hoop_status
layout_mesh_create(const struct layout *layout,
                   hoop_session_t *session,
                   hoop_mesh_t **out_mesh)
{
    static const char *const names[HOOP_MAX_AXES] = {"0", "1", "2", "3",
                                                     "4", "5", "6", "7"};
    struct hoop_mesh_axis axes[HOOP_MAX_AXES];
    struct hoop_mesh_options options = {.axes = axes};
    uint32_t *ranks = calloc(layout->n_ranks, sizeof(*ranks));

    if (!ranks)
        return HOOP_E_EXHAUSTED;
    for (uint32_t i = 0; i < layout->n_ranks; i++)
        ranks[i] = layout->first_rank + i;
    for (; options.n_axes < layout->mesh.n_axes; options.n_axes++)
        axes[options.n_axes] = (struct hoop_mesh_axis){
            names[options.n_axes], layout->mesh.sizes[options.n_axes]};
    options.ranks = ranks;
    const enum hoop_status status =
        hoop_mesh_create(session, &options, out_mesh);
    free(ranks);
    return status;
}

uint64_t
layout_n_bytes(const struct layout *layout,
               const struct hoop_shape *shape,
               enum hoop_dtype dtype)
{
    uint64_t n_bytes = 0;

    for (uint32_t place = 0; place < layout->n_ranks; place++) {
        struct hoop_part part;
        size_t count = 0;

        if (hoop_sharding_part(&layout->sharding, &layout->mesh, shape, place,
                               &part) == HOOP_OK &&
            hoop_shape_count(&part.shape, &count) == HOOP_OK)
            n_bytes += (uint64_t)count * hoop_dtype_size(dtype);
    }
    return n_bytes;
}

struct layout_text
layout_describe(const struct layout *layout)
{
    struct layout_text text = {0};
    size_t n_bytes = 0;

    for (uint32_t i = 0; i < layout->mesh.n_axes; i++)
        n_bytes +=
            (size_t)snprintf(text.text + n_bytes, sizeof(text.text) - n_bytes,
                             "%s%u", i == 0 ? "" : "x", layout->mesh.sizes[i]);
    if (layout->first_rank > 0)
        n_bytes +=
            (size_t)snprintf(text.text + n_bytes, sizeof(text.text) - n_bytes,
                             "@%u", layout->first_rank);
    snprintf(text.text + n_bytes, sizeof(text.text) - n_bytes, " %s",
             hoop_sharding_describe(&layout->sharding, layout->n_dims).text);
    return text;
}
