/* model/simulation_range.c - ranges of elements of a buffer, and overlaps */

#include "model/simulation_range.h"

bool
simulation_range_has_overlap(const struct simulation_range *one,
                             const struct simulation_range *other)
{
    return one->begin < other->end && other->begin < one->end;
}

bool
simulation_range_covers(const struct simulation_range *outer,
                        const struct simulation_range *inner)
{
    return outer->begin <= inner->begin && inner->end <= outer->end;
}

static float
range_fraction_at(const struct simulation_range *range, size_t at)
{
    return (float)((double)(at - range->begin) /
                   (double)(range->end - range->begin));
}

struct simulation_flow_overlap
simulation_range_overlap(const struct simulation_range *earlier,
                         const struct simulation_range *later)
{
    const size_t begin =
        later->begin > earlier->begin ? later->begin : earlier->begin;
    const size_t end = later->end < earlier->end ? later->end : earlier->end;

    return (struct simulation_flow_overlap){
        .earlier_begin = range_fraction_at(earlier, begin),
        .earlier_end = range_fraction_at(earlier, end),
        .later_begin = range_fraction_at(later, begin),
        .later_end = range_fraction_at(later, end),
    };
}
