/* dtype/kernel_bool.tmpl.c - combines bools: 0 or not 0; results are 0 or 1 */

#include "dtype/kernel_loop.h"
#include "dtype/kernels.h"

static inline T
bool_or(T left, T right)
{
    return (left | right) != 0;
}

static inline T
bool_and(T left, T right)
{
    return (left != 0) & (right != 0);
}

static inline T
bool_xor(T left, T right)
{
    return (left != 0) ^ (right != 0);
}

static void
any(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, bool_or);
}

static void
both(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, bool_and);
}

static void
either(void *out, const void *left, const void *right, size_t count)
{
    loop_combine(out, left, right, count, bool_xor);
}

extern const struct kernels KERNELS;
const struct kernels KERNELS = {
    .combine =
        {
            [HOOP_SUM] = any,
            [HOOP_PRODUCT] = both,
            [HOOP_MIN] = both,
            [HOOP_MAX] = any,
            [HOOP_BOR] = any,
            [HOOP_BAND] = both,
            [HOOP_BXOR] = either,
        },
};
