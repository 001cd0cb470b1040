/*
 * base/copy.c - find out whether the processor's copy instruction is the
 * fastest
 *
 * Determined once, because CPUID traps in a virtual machine. Threads that ask
 * at the same time get the same result.
 */

#include "base/copy.h"

#ifdef __SSE2__

#include <cpuid.h>
#include <stdatomic.h>

enum {
    FAMILY_ZEN_5 = 0x1a,
};

static bool
cpu_is_amd(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx &&
           c == signature_AMD_ecx && d == signature_AMD_edx;
}

static unsigned
processor_family(void)
{
    unsigned a = 0;
    unsigned b;
    unsigned c;
    unsigned d;

    (void)__get_cpuid(1, &a, &b, &c, &d);
    return ((a >> 8) & 0xf) + ((a >> 20) & 0xff);
}

bool
copy_has_fast_instruction(void)
{
    enum {
        UNKNOWN,
        NO,
        YES,
    };
    static _Atomic int answer = UNKNOWN;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);

    if (known == UNKNOWN) {
        known = cpu_is_amd() && processor_family() >= FAMILY_ZEN_5 ? YES : NO;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == YES;
}

#else

bool
copy_has_fast_instruction(void)
{
    return true;
}

#endif
