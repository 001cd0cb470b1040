/* hoop-perf/byte_size.c - sizes as text: 8, 64K, 256M, 1G */

#include "hoop-perf/byte_size.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char units[] = "KMG";

static bool
unit_ending_is_good(const char *text)
{
    return *text == '\0' || strcasecmp(text, "B") == 0 ||
           strcasecmp(text, "iB") == 0;
}

enum hoop_status
byte_size_parse(const char *text, size_t *out_n_bytes)
{
    char *end = NULL;

    if (!isdigit((unsigned char)text[0]))
        return HOOP_E_INVALID;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0)
        return HOOP_E_RANGE;

    unsigned shift = 0;
    const char *unit =
        *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (!unit_ending_is_good(end))
        return HOOP_E_INVALID;
    if (number > SIZE_MAX >> shift)
        return HOOP_E_RANGE;
    *out_n_bytes = (size_t)number << shift;
    return HOOP_OK;
}

void
byte_size_format(size_t n_bytes, char out_text[static BYTE_SIZE_TEXT])
{
    static const char *const names[] = {"", "K", "M", "G"};
    size_t n_steps = 0;

    while (n_steps < 3 && n_bytes >= 1024 && n_bytes % 1024 == 0) {
        n_bytes /= 1024;
        n_steps++;
    }
    snprintf(out_text, BYTE_SIZE_TEXT, "%zu%s", n_bytes, names[n_steps]);
}
