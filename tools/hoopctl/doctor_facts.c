/* hoopctl/doctor_facts.c - collects what a worker on this host would find */

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "clock_ms.h"
#include "hoopctl/doctor.h"
#include "variable.h"

enum {
    MEMORY_BYTES = 16 * 1024 * 1024,
};

static void
text_set(char out_text[static DOCTOR_TEXT], const char *text)
{
    snprintf(out_text, DOCTOR_TEXT, "%.*s", DOCTOR_TEXT - 1, text);
}

static bool
address_print(const struct sockaddr *address,
              socklen_t n_bytes,
              char out_text[static NI_MAXHOST])
{
    return getnameinfo(address, n_bytes, out_text, NI_MAXHOST, NULL, 0,
                       NI_NUMERICHOST) == 0;
}

/* Return whether address is in a list like "10.0.0.12, fd00::2". */
static bool
address_is_listed(const char *list, const char *address)
{
    const size_t n = strlen(address);

    while (*list) {
        const size_t n_this = strcspn(list, ",");

        if (n_this == n && memcmp(list, address, n) == 0)
            return true;
        list += n_this;
        list += strspn(list, ", ");
    }
    return false;
}

bool
doctor_resolve(const char *name, char out_text[static DOCTOR_TEXT])
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    size_t n = 0;

    const int error = getaddrinfo(name, NULL, &hints, &found);
    if (error != 0) {
        text_set(out_text,
                 error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
        return false;
    }
    out_text[0] = '\0';
    for (const struct addrinfo *it = found; it; it = it->ai_next) {
        char host[NI_MAXHOST];

        if (address_print(it->ai_addr, it->ai_addrlen, host) &&
            n + strlen(host) + 3 < DOCTOR_TEXT &&
            !address_is_listed(out_text, host))
            n += (size_t)snprintf(out_text + n, DOCTOR_TEXT - n, "%s%s",
                                  n > 0 ? ", " : "", host);
    }
    freeaddrinfo(found);
    return true;
}

/* Split the first of "node0:4667,node1:4667" into "node0" and "4667". Return
 * false for "node0", "fd00::1" and "[fd00::1]", which have no port. */
static bool
address_cut(const char *addresses,
            char out_host[static DOCTOR_TEXT],
            char out_port[static DOCTOR_TEXT])
{
    char first[DOCTOR_TEXT];

    text_set(first, addresses);
    first[strcspn(first, ",")] = '\0';
    char *colon = strrchr(first, ':');
    if (colon &&
        (first[0] == '[' ? colon[-1] != ']' : colon != strchr(first, ':')))
        colon = NULL;
    text_set(out_port, colon ? colon + 1 : "");
    if (colon)
        *colon = '\0';
    const size_t n = strlen(first);
    const bool has_brackets = first[0] == '[' && first[n - 1] == ']';
    if (has_brackets)
        first[n - 1] = '\0';
    text_set(out_host, first + has_brackets);
    return colon != NULL;
}

/* Return what follows the first of "node0:4667,node1:4667". */
static const char *
addresses_rest(const char *addresses)
{
    addresses += strcspn(addresses, ",");
    return addresses + (*addresses == ',');
}

static void
coordinator_resolve(const char *addresses, struct doctor_facts *facts)
{
    char *found = facts->coordinator_addresses;
    char host[DOCTOR_TEXT];
    char port[DOCTOR_TEXT];
    char text[DOCTOR_TEXT];
    const size_t n_found = strlen(found);

    address_cut(addresses, host, port);
    if (doctor_resolve(host, text)) {
        snprintf(found + n_found, DOCTOR_TEXT - n_found, "%s%s",
                 n_found > 0 ? ", " : "", text);
    } else if (!facts->coordinator_error[0]) {
        text_set(facts->coordinator_error, text);
        text_set(facts->coordinator_unknown, addresses);
        facts->coordinator_unknown[strcspn(addresses, ",")] = '\0';
    }
}

static void
names_find(struct doctor_facts *facts)
{
    char text[DOCTOR_TEXT];

    if (gethostname(facts->own_name, sizeof(facts->own_name) - 1) != 0)
        text_set(facts->own_name, "this host");
    const bool is_known = doctor_resolve(facts->own_name, text);
    text_set(is_known ? facts->own_addresses : facts->own_error, text);
    for (const char *at = facts->coordinator; *at; at = addresses_rest(at))
        coordinator_resolve(at, facts);
}

static void
interface_find(struct doctor_facts *facts, const char *name)
{
    struct ifaddrs *entries = NULL;
    char host[NI_MAXHOST] = "";

    if (getifaddrs(&entries) != 0)
        return;
    for (const struct ifaddrs *it = entries; it && !*host; it = it->ifa_next) {
        if (strcmp(it->ifa_name, name) == 0 && it->ifa_addr &&
            it->ifa_addr->sa_family == AF_INET)
            address_print(it->ifa_addr, sizeof(struct sockaddr_in), host);
    }
    freeifaddrs(entries);
    text_set(facts->advertised, host);
    if (!*host)
        snprintf(facts->advertised_error, DOCTOR_TEXT,
                 "HOOP_INTERFACE=%s has no IPv4 address here; see ip address",
                 name);
}

/* Ask the kernel for its choice, without sending a packet. */
static void
route_find(struct doctor_facts *facts)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    struct sockaddr_storage own = {0};
    socklen_t n_bytes = sizeof(own);
    char host[DOCTOR_TEXT];
    char port[DOCTOR_TEXT];
    char text[NI_MAXHOST];

    for (const char *at = facts->coordinator; *at && !found;
         at = addresses_rest(at)) {
        address_cut(at, host, port);
        if (getaddrinfo(host, port, &hints, &found) != 0)
            found = NULL;
    }
    if (!found)
        return;
    const int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &n_bytes) == 0 &&
        address_print((const struct sockaddr *)&own, n_bytes, text))
        text_set(facts->advertised, text);
    else
        snprintf(facts->advertised_error, DOCTOR_TEXT,
                 "there is no way to %.100s: %s; see ip route", host,
                 strerror(errno));
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
}

static bool
port_is_possible(const char *port)
{
    return *port && port[strspn(port, "0123456789")] == '\0' &&
           strtoul(port, NULL, 10) <= UINT16_MAX;
}

/* Peers are given the first address of a name. */
static void
configured_find(struct doctor_facts *facts, const char *advertise)
{
    char host[DOCTOR_TEXT];
    char port[DOCTOR_TEXT];
    char text[DOCTOR_TEXT];

    const bool has_port = address_cut(advertise, host, port);
    const bool is_known = doctor_resolve(host, text);
    if (is_known)
        text[strcspn(text, ",")] = '\0';
    if (!is_known)
        snprintf(facts->advertised_error, DOCTOR_TEXT,
                 "HOOP_ADVERTISE=%.100s has no address: %.300s", advertise,
                 text);
    else if (has_port && !port_is_possible(port))
        snprintf(facts->advertised_error, DOCTOR_TEXT,
                 "HOOP_ADVERTISE=%.100s has no port from 0 to 65535",
                 advertise);
    else if (strcmp(text, "0.0.0.0") == 0 || strcmp(text, "::") == 0)
        snprintf(facts->advertised_error, DOCTOR_TEXT,
                 "HOOP_ADVERTISE=%.100s is nothing that peers can connect to; "
                 "set it to what other hosts reach, or do not set it",
                 advertise);
    else
        text_set(facts->advertised, text);
}

static void
advertised_find(struct doctor_facts *facts)
{
    const char *advertise = variable("HOOP_ADVERTISE");
    const char *interface = variable("HOOP_INTERFACE");

    facts->is_advertised_set = advertise || interface;
    if (advertise) {
        text_set(facts->advertised_by, "HOOP_ADVERTISE");
        configured_find(facts, advertise);
    } else if (interface) {
        text_set(facts->advertised_by, "HOOP_INTERFACE");
        interface_find(facts, interface);
    } else if (facts->coordinator_addresses[0]) {
        text_set(facts->advertised_by, "on the way to the coordinator");
        route_find(facts);
    }
}

/* Read the settings as a worker does. The token may be missing. */
static void
settings_try(const struct hoop_control_options *options,
             struct doctor_facts *facts)
{
    const bool has_file = options->token_file || variable("HOOP_TOKEN_FILE");
    struct hoop_control_token_text token = {0};

    const enum hoop_status status =
        hoop_control_token(options, "worker", &token);
    explicit_bzero(&token, sizeof(token));
    if (status != HOOP_OK && (status != HOOP_E_NOT_FOUND || has_file))
        text_set(facts->settings_error, hoop_error_text());
}

static void
coordinator_ask(const struct hoop_control_options *options,
                struct doctor_facts *facts)
{
    const struct hoop_control_overview *overview = NULL;
    hoop_control_t *control = NULL;

    enum hoop_status status = hoop_control_create(options, &control);
    if (status == HOOP_OK)
        status = hoop_control_status(control, &overview);
    /* Ask again over the existing connection, so that little time passes
     * between question and answer. */
    const int64_t asked_ms = clock_ms(CLOCK_REALTIME);
    if (status == HOOP_OK)
        status = hoop_control_status(control, &overview);
    if (status == HOOP_OK) {
        text_set(facts->version, overview->version);
        facts->has_clock = overview->clock_ms > 0;
        facts->clock_ahead_ms = (int64_t)overview->clock_ms -
                                (asked_ms + clock_ms(CLOCK_REALTIME)) / 2;
    } else {
        text_set(facts->asked_error, hoop_error_text());
    }
    hoop_control_destroy(control);
}

static void
limits_find(struct doctor_facts *facts)
{
    struct rlimit files = {0};
    struct statvfs shm;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        facts->n_files = files.rlim_cur;
        facts->n_files_most = files.rlim_max;
    }
    facts->has_shm = statvfs("/dev/shm", &shm) == 0;
    if (facts->has_shm)
        facts->shm_bytes = (uint64_t)shm.f_bavail * shm.f_frsize;
}

/* Share memory as the ranks of one host do. */
static void
memory_try(struct doctor_facts *facts)
{
    const int fd = memfd_create("hoopctl", MFD_CLOEXEC);
    struct rlimit file = {0};

    facts->memory_bytes = MEMORY_BYTES;
    getrlimit(RLIMIT_FSIZE, &file);
    if (fd < 0)
        text_set(facts->memory_error, strerror(errno));
    else if (file.rlim_cur < MEMORY_BYTES)
        text_set(facts->memory_error,
                 "files may not be so large (ulimit -f); say ulimit -f "
                 "unlimited before the program");
    else if (posix_fallocate(fd, 0, MEMORY_BYTES) != 0)
        text_set(facts->memory_error,
                 "there is not enough memory; give this host or container "
                 "more");
    if (fd >= 0)
        close(fd);
}

void
doctor_facts_find(const struct hoop_control_options *options,
                  struct doctor_facts *out_facts)
{
    const char *coordinator = options->coordinator
                                  ? options->coordinator
                                  : variable("HOOP_COORDINATOR");

    *out_facts = (struct doctor_facts){0};
    text_set(out_facts->own_version, VERSION_TEXT);
    text_set(out_facts->coordinator, coordinator ? coordinator : "");
    names_find(out_facts);
    advertised_find(out_facts);
    settings_try(options, out_facts);
    if (out_facts->coordinator_addresses[0])
        coordinator_ask(options, out_facts);
    limits_find(out_facts);
    memory_try(out_facts);
}
