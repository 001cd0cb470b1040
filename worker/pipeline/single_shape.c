/* pipeline/single_shape.c - tells one shape from a list of shapes */

#include "hoop/p2p_communicator.h"

static bool
is_all_integers(const struct hoop_variant *list)
{
    for (size_t i = 0; i < list->n_items; i++) {
        if (list->items[i].kind != HOOP_VARIANT_INTEGER)
            return false;
    }
    return true;
}

bool
hoop_is_single_shape(const struct hoop_variant *variant)
{
    if (!variant)
        return false;
    switch (variant->kind) {
    case HOOP_VARIANT_SIZE:
        return true;
    case HOOP_VARIANT_LIST:
        return variant->n_items > 0 && is_all_integers(variant);
    case HOOP_VARIANT_NONE:
    case HOOP_VARIANT_INTEGER:
    case HOOP_VARIANT_TEXT:
        break;
    }
    return false;
}
