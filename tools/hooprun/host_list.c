/* hooprun/host_list.c - the hosts of a run, from --hosts and --hostfile */

#include "hooprun/host_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "hooprun/options.h"

static bool
refuse(char out_error[static HOST_ERROR_BYTES],
       const char *what,
       const char *why)
{
    snprintf(out_error, HOST_ERROR_BYTES, "'%s': %s", what, why);
    return false;
}

/* ssh would take a name that begins with - for an option. */
static bool
name_is_possible(const char *name)
{
    if (*name == '\0' || *name == '-' || strlen(name) >= HOST_NAME_BYTES)
        return false;
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f ||
            strchr("'\"\\$`;&|<>", *c))
            return false;
    }
    return true;
}

static bool
slots_parse(const char *text, uint32_t *out_n_slots)
{
    char *end = NULL;

    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end || strchr(text, '-') || value < 1 ||
        value > OPTIONS_WORKERS_MAX)
        return false;
    *out_n_slots = (uint32_t)value;
    return true;
}

static bool
host_append(struct host_list *list, const char *name, uint32_t n_slots)
{
    for (uint32_t i = 0; i < list->n_hosts; i++) {
        if (strcmp(list->hosts[i].name, name) == 0) {
            list->hosts[i].n_slots += n_slots;
            return true;
        }
    }
    if (!list->hosts)
        list->hosts = calloc(HOST_LIST_MAX, sizeof(*list->hosts));
    const size_t n_bytes = strlen(name) + 1;
    if (!list->hosts || list->n_hosts == HOST_LIST_MAX ||
        n_bytes > HOST_NAME_BYTES)
        return false;

    struct listed_host *host = &list->hosts[list->n_hosts++];
    memcpy(host->name, name, n_bytes);
    host->n_slots = n_slots;
    return true;
}

/* Split "name:4", "[fd00::1]:4", "user@[fd00::1]" or "fd00::1". Return the
 * slots: NULL without a colon, "" if they are missing. Removes the brackets. */
static char *
slots_cut(char *text)
{
    char *open = strchr(text, '[');
    char *shut = open ? strchr(open, ']') : NULL;
    char *colon;

    if (shut) {
        colon = shut[1] == ':' ? shut + 1 : NULL;
        if (!colon && shut[1] != '\0')
            return shut + strlen(shut);
        *shut = '\0';
        memmove(open, open + 1, (size_t)(shut - open));
    } else {
        colon = strchr(text, ':');
        if (colon && strchr(colon + 1, ':'))
            return NULL;
    }
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static bool
host_add(struct host_list *list,
         const char *text,
         const char *slots_told,
         char out_error[static HOST_ERROR_BYTES])
{
    char name[2 * HOST_NAME_BYTES];
    uint32_t n_slots = 1;

    snprintf(name, sizeof(name), "%s", text);
    const char *cut = slots_cut(name);
    const char *slots = slots_told ? slots_told : cut;
    if (slots && !slots_parse(slots, &n_slots))
        return refuse(out_error, text,
                      "HOST:SLOTS is expected, with 1 to 4096 slots");
    if (!name_is_possible(name))
        return refuse(out_error, text, "that is no name of a host");
    if (!host_append(list, name, n_slots))
        return refuse(out_error, text, "1024 hosts are possible");
    return true;
}

bool
host_list_add(struct host_list *list,
              const char *text,
              char out_error[static HOST_ERROR_BYTES])
{
    char *copy = strdup(text);
    char *rest = copy;
    char *part;
    bool is_good = copy != NULL;

    if (!is_good)
        return refuse(out_error, text, "no memory for it");
    while (is_good && (part = strsep(&rest, ",")))
        is_good = host_add(list, part, NULL, out_error);
    free(copy);
    return is_good;
}

static bool
line_add(struct host_list *list,
         char *line,
         char out_error[static HOST_ERROR_BYTES])
{
    static const char blanks[] = " \t\r\n";
    const char *slots = NULL;
    char *rest = NULL;
    char *word;

    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, blanks, &rest);
    if (!name)
        return true;
    while ((word = strtok_r(NULL, blanks, &rest))) {
        if (strncmp(word, "slots=", 6) == 0)
            slots = word + 6;
        else if (strncmp(word, "max_slots=", 10) != 0 &&
                 strncmp(word, "max-slots=", 10) != 0)
            return refuse(out_error, word,
                          "a line is HOST, HOST:SLOTS or HOST slots=SLOTS");
    }
    return host_add(list, name, slots, out_error);
}

bool
host_list_read(struct host_list *list,
               const char *path,
               char out_error[static HOST_ERROR_BYTES])
{
    bool is_good = true;
    size_t n_allocated = 0;
    char *line = NULL;
    FILE *file = fopen(path, "re");

    if (!file)
        return refuse(out_error, path, strerror(errno));
    while (is_good && getline(&line, &n_allocated, file) >= 0)
        is_good = line_add(list, line, out_error);
    free(line);
    fclose(file);
    if (is_good && list->n_hosts == 0)
        return refuse(out_error, path, "no host is named there");
    return is_good;
}

uint32_t
host_list_fill(struct host_list *list, uint32_t n_workers)
{
    uint32_t n_filled = 0;
    uint32_t i = 0;

    for (; i < list->n_hosts && (n_workers == 0 || n_filled < n_workers); i++) {
        struct listed_host *host = &list->hosts[i];

        if (n_workers > 0 && host->n_slots > n_workers - n_filled)
            host->n_slots = n_workers - n_filled;
        n_filled += host->n_slots;
    }
    list->n_hosts = i;
    return n_filled;
}

bool
host_is_this(const char *name)
{
    char own[HOST_NAME_MAX + 1] = "";

    if (strcasecmp(name, "localhost") == 0)
        return true;
    return gethostname(own, sizeof(own) - 1) == 0 && strcasecmp(name, own) == 0;
}

void
host_list_deinit(struct host_list *list)
{
    free(list->hosts);
    *list = (struct host_list){0};
}
