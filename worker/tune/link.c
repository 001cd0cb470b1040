/* tune/link.c - costs of messages and bytes, from HOOP_DEBUG_LINK or typical */

#include "tune/link.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"

enum quantity {
    QUANTITY_TIME,
    QUANTITY_RATE,
    QUANTITY_COUNT,
};

/* The range of a value, in ns, in bytes per second or without a unit. */
static const struct {
    double min;
    double max;
    const char *example;
} bounds[] = {
    [QUANTITY_TIME] = {0, 1e9, "a time up to a second, like 20us"},
    [QUANTITY_RATE] = {1e3, 1e13, "a rate like 1.2GB/s or 10Gbit/s"},
    [QUANTITY_COUNT] = {1, 65536, "a whole number from 1 to 65536"},
};

struct unit {
    const char *name;
    enum quantity quantity;
    double factor;
};

static const struct unit units[] = {
    {"ns", QUANTITY_TIME, 1},
    {"us", QUANTITY_TIME, 1e3},
    {"ms", QUANTITY_TIME, 1e6},
    {"s", QUANTITY_TIME, 1e9},
    {"B/s", QUANTITY_RATE, 1},
    {"kB/s", QUANTITY_RATE, 1e3},
    {"MB/s", QUANTITY_RATE, 1e6},
    {"GB/s", QUANTITY_RATE, 1e9},
    {"Mbit/s", QUANTITY_RATE, 1e6 / 8},
    {"Gbit/s", QUANTITY_RATE, 1e9 / 8},
    {"", QUANTITY_COUNT, 1},
};

/* A name of HOOP_DEBUG_LINK and the one or two members that it sets. */
struct key {
    const char *name;
    enum quantity quantity;
    size_t places[2]; /* offsets of doubles in struct simulation_machine */
    size_t n_places;
};

static const struct key keys[] = {
    {"latency",
     QUANTITY_TIME,
     {offsetof(struct simulation_machine, latency_inside_ns),
      offsetof(struct simulation_machine, latency_between_ns)},
     2},
    {"latency_inside",
     QUANTITY_TIME,
     {offsetof(struct simulation_machine, latency_inside_ns)},
     1},
    {"latency_between",
     QUANTITY_TIME,
     {offsetof(struct simulation_machine, latency_between_ns)},
     1},
    {"overhead",
     QUANTITY_TIME,
     {offsetof(struct simulation_machine, send_ns),
      offsetof(struct simulation_machine, receive_ns)},
     2},
    {"bandwidth",
     QUANTITY_RATE,
     {offsetof(struct simulation_machine, link_inside_ns),
      offsetof(struct simulation_machine, link_between_ns)},
     2},
    {"bandwidth_inside",
     QUANTITY_RATE,
     {offsetof(struct simulation_machine, link_inside_ns)},
     1},
    {"bandwidth_between",
     QUANTITY_RATE,
     {offsetof(struct simulation_machine, link_between_ns)},
     1},
    {"socket",
     QUANTITY_RATE,
     {offsetof(struct simulation_machine, send_byte_ns),
      offsetof(struct simulation_machine, receive_byte_ns)},
     2},
    {"copy",
     QUANTITY_RATE,
     {offsetof(struct simulation_machine, copy_byte_ns)},
     1},
    {"reduce",
     QUANTITY_RATE,
     {offsetof(struct simulation_machine, reduce_byte_ns)},
     1},
    {"wait", QUANTITY_TIME, {offsetof(struct simulation_machine, wait_ns)}, 1},
    {"processors", QUANTITY_COUNT, {0}, 0},
};

static uint32_t
processors_here(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

/* Half of the cache that the processors share, because a combination touches
 * the sums and what is added to them. */
static uint64_t
cache_here(void)
{
    const long n_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);

    return n_bytes > 0 ? (uint64_t)n_bytes / 2 : 0;
}

struct simulation_machine
link_usual(void)
{
    return (struct simulation_machine){
        .send_ns = 1500,
        .receive_ns = 1500,
        .latency_inside_ns = 10000,
        .latency_between_ns = 25000,
        .link_inside_ns = 0,
        .link_between_ns = 0.8,
        .send_byte_ns = 0.17,
        .receive_byte_ns = 0.17,
        .copy_byte_ns = 0.05,
        .reduce_byte_ns = 0.05,
        .wait_ns = 4000,
        .memory_byte_ns = 0.15,
        .cache_bytes = cache_here(),
        .n_processors = processors_here(),
    };
}

/* Takes digits with an optional decimal point, in any locale; the rest of the
 * text is the unit. */
static bool
number_take(const char **text, double *out_number)
{
    const char *at = *text;
    double number = 0;
    double scale = 0;
    bool has_digit = false;

    for (; *at; at++) {
        if (*at == '.' && scale == 0) {
            scale = 1;
        } else if (*at >= '0' && *at <= '9') {
            has_digit = true;
            scale /= 10;
            number = scale > 0 ? number + scale * (*at - '0')
                               : number * 10 + (*at - '0');
        } else {
            break;
        }
    }
    *text = at;
    *out_number = number;
    return has_digit;
}

static bool
is_whole(double number)
{
    return number - (double)(uint64_t)number <= 0;
}

static bool
value_parse(const char *text, enum quantity quantity, double *out_value)
{
    double number;

    if (!number_take(&text, &number))
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].quantity != quantity || strcmp(units[i].name, text) != 0)
            continue;
        *out_value = number * units[i].factor;
        if (quantity == QUANTITY_COUNT && !is_whole(number))
            return false;
        return *out_value >= bounds[quantity].min &&
               *out_value <= bounds[quantity].max;
    }
    return false;
}

static enum hoop_status
key_refuse(const char *where, const char *name)
{
    char names[LIMIT_SETTING] = "";
    size_t n_used = 0;

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        n_used += (size_t)snprintf(names + n_used, sizeof(names) - n_used,
                                   "%s%s", i > 0 ? ", " : "", keys[i].name);
    return error_raise(HOOP_E_INVALID,
                       "%s: '%s' is nothing that a link has; there are: %s",
                       where, name, names);
}

static void
value_store(const struct key *key,
            double value,
            struct simulation_machine *machine)
{
    if (key->quantity == QUANTITY_COUNT)
        machine->n_processors = (uint32_t)value;
    if (key->quantity == QUANTITY_RATE)
        value = 1e9 / value;
    for (size_t i = 0; i < key->n_places; i++)
        memcpy((char *)machine + key->places[i], &value, sizeof(value));
}

/* The machine as parsed so far. */
struct parsed {
    struct simulation_machine machine;
    bool is_given[COUNT_OF(keys)];
};

static enum hoop_status
key_take(const char *where,
         size_t number,
         const char *text,
         struct parsed *parsed)
{
    const struct key *key = &keys[number];
    double value;

    if (parsed->is_given[number])
        return error_raise(HOOP_E_INVALID, "%s: %s is said twice", where,
                           key->name);
    if (!value_parse(text, key->quantity, &value))
        return error_raise(HOOP_E_INVALID, "%s: %s=%s: expected is %s", where,
                           key->name, text, bounds[key->quantity].example);
    parsed->is_given[number] = true;
    value_store(key, value, &parsed->machine);
    return HOOP_OK;
}

/* Takes one "name=value". */
static enum hoop_status
item_take(const char *where, char *item, struct parsed *parsed)
{
    char *text = strchr(item, '=');

    if (!text)
        return error_raise(HOOP_E_INVALID,
                           "%s: '%s' is not of the form name=value", where,
                           item);
    *text++ = '\0';
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].name, item) == 0)
            return key_take(where, i, text, parsed);
    return key_refuse(where, item);
}

enum hoop_status
link_parse(const char *where,
           const char *text,
           struct simulation_machine *machine)
{
    struct parsed parsed = {.machine = *machine};
    char copy[LIMIT_SETTING];
    char *rest = copy;
    char *item;

    if (strlen(text) >= sizeof(copy))
        return error_raise(HOOP_E_INVALID, "%s: more than %zu characters",
                           where, sizeof(copy) - 1);
    snprintf(copy, sizeof(copy), "%s", text);
    while (text[0] && (item = strsep(&rest, ","))) {
        const enum hoop_status status = item_take(where, item, &parsed);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *machine = parsed.machine;
    return HOOP_OK;
}
