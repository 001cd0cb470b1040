/* reshard/amount.c - numbers as people write them: 256M, 8192x8192 */

#include "reshard/amount.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const uint64_t number_max = (uint64_t)1 << 40;

/* Reads a number of decimal digits, from 1 to number_max. */
static bool
number_parse(const char **text, uint64_t *out_number)
{
    const char *at = *text;
    uint64_t number = 0;

    for (; isdigit((unsigned char)*at); at++) {
        number = 10 * number + (uint64_t)(*at - '0');
        if (number > number_max)
            return false;
    }
    if (at == *text || number == 0)
        return false;
    *text = at;
    *out_number = number;
    return true;
}

bool
amount_bytes_parse(const char *text, uint64_t *out_n_bytes)
{
    static const char units[] = "KMG";
    uint64_t number = 0;

    if (!number_parse(&text, &number))
        return false;
    const char *unit =
        *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (text[unit ? 1 : 0] != '\0' || number > number_max >> shift)
        return false;
    *out_n_bytes = number << shift;
    return true;
}

bool
amount_list_parse(const char *text,
                  struct amount_list *out_list,
                  const char **out_rest)
{
    struct amount_list list = {0};

    for (;;) {
        if (list.n_numbers == AMOUNT_LIST_MAX ||
            !number_parse(&text, &list.numbers[list.n_numbers]))
            return false;
        list.n_numbers++;
        if (*text != 'x')
            break;
        text++;
    }
    *out_list = list;
    *out_rest = text;
    return true;
}

struct amount_text
amount_describe(uint64_t n_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const size_t n_units = sizeof(units) / sizeof(units[0]);
    struct amount_text text;
    double number = (double)n_bytes;
    size_t unit = 0;

    for (; unit + 1 < n_units && number >= 1024; unit++)
        number /= 1024;
    snprintf(text.text, sizeof(text.text), "%.4g %s", number, units[unit]);
    return text;
}
