/* select/link.c - costs of messages and bytes, from HOOP_DEBUG_LINK or
 * typical */

#include "select/link.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"

enum quantity_kind {
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

struct value_unit {
    const char *name;
    enum quantity_kind quantity_kind;
    double factor;
};

static const struct value_unit units[] = {
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
struct link_setting {
    const char *name;
    enum quantity_kind quantity_kind;
    size_t places[2]; /* offsets of doubles in struct simulation_machine */
    size_t n_places;
};

static const struct link_setting keys[] = {
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
available_processor_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

/* Half of the cache that the processors share, because a combination touches
 * the sums and what is added to them. */
static uint64_t
usable_cache_bytes(void)
{
    const long n_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);

    return n_bytes > 0 ? (uint64_t)n_bytes / 2 : 0;
}

struct simulation_machine
link_typical_machine(void)
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
        .cache_bytes = usable_cache_bytes(),
        .n_processors = available_processor_count(),
    };
}

/* Takes digits with an optional decimal point, in any locale; the rest of the
 * text is the unit. */
static bool
number_prefix_parse(const char **text, double *out_number)
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
is_whole_number(double number)
{
    return number - (double)(uint64_t)number <= 0;
}

static bool
quantity_parse(const char *text,
               enum quantity_kind quantity_kind,
               double *out_value)
{
    double number;

    if (!number_prefix_parse(&text, &number))
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].quantity_kind != quantity_kind ||
            strcmp(units[i].name, text) != 0)
            continue;
        *out_value = number * units[i].factor;
        if (quantity_kind == QUANTITY_COUNT && !is_whole_number(number))
            return false;
        return *out_value >= bounds[quantity_kind].min &&
               *out_value <= bounds[quantity_kind].max;
    }
    return false;
}

static enum hoop_status
link_setting_raise_unknown(const char *where, const char *name)
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
simulation_machine_apply_setting(const struct link_setting *link_setting,
                                 double value,
                                 struct simulation_machine *machine)
{
    if (link_setting->quantity_kind == QUANTITY_COUNT)
        machine->n_processors = (uint32_t)value;
    if (link_setting->quantity_kind == QUANTITY_RATE)
        value = 1e9 / value;
    for (size_t i = 0; i < link_setting->n_places; i++)
        memcpy((char *)machine + link_setting->places[i], &value,
               sizeof(value));
}

/* The machine as parsed so far. */
struct parsed {
    struct simulation_machine machine;
    bool is_given[COUNT_OF(keys)];
};

static enum hoop_status
link_setting_parse(const char *where,
                   size_t number,
                   const char *text,
                   struct parsed *parsed)
{
    const struct link_setting *link_setting = &keys[number];
    double value;

    if (parsed->is_given[number])
        return error_raise(HOOP_E_INVALID, "%s: %s is said twice", where,
                           link_setting->name);
    if (!quantity_parse(text, link_setting->quantity_kind, &value))
        return error_raise(HOOP_E_INVALID, "%s: %s=%s: expected is %s", where,
                           link_setting->name, text,
                           bounds[link_setting->quantity_kind].example);
    parsed->is_given[number] = true;
    simulation_machine_apply_setting(link_setting, value, &parsed->machine);
    return HOOP_OK;
}

/* Takes one "name=value". */
static enum hoop_status
link_item_parse(const char *where, char *item, struct parsed *parsed)
{
    char *text = strchr(item, '=');

    if (!text)
        return error_raise(HOOP_E_INVALID,
                           "%s: '%s' is not of the form name=value", where,
                           item);
    *text++ = '\0';
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].name, item) == 0)
            return link_setting_parse(where, i, text, parsed);
    return link_setting_raise_unknown(where, item);
}

enum hoop_status
link_parse_settings(const char *where,
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
        const enum hoop_status status = link_item_parse(where, item, &parsed);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *machine = parsed.machine;
    return HOOP_OK;
}
