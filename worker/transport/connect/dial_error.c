/*
 * transport/connect/dial_error.c - why a peer cannot be connected to, with
 * advice
 *
 * The address is what the peer advertises. This rank cannot see whether the
 * peer has ended or was never there, so the advice says what may be wrong, and
 * which settings change it. The text is short because hoopd keeps 199 bytes of
 * a complaint, and adds what it infers from whose report.
 */

#include "transport/connect/dial_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Where the address is, as seen from this rank. */
enum place {
    PEER_PLACE_SAME_HOST, /* the peer is on this host */
    PEER_PLACE_OTHER_HOST,
    PEER_PLACE_ANY, /* in a row of the table: anywhere */
};

enum {
    DIAL_ERROR_NO_ANSWER = -1, /* nothing answered */
};

/* The first row that fits gives the advice. */
static const struct {
    enum place place;
    int error;
    const char *advice;
} advices[] = {
    {PEER_PLACE_SAME_HOST, ECONNREFUSED, "it has ended, or listens no more"},
    {PEER_PLACE_ANY, ECONNREFUSED,
     "if it lives, set HOOP_PORT to a range that the firewall lets pass, or "
     "HOOP_ADVERTISE"},
    {PEER_PLACE_ANY, ENETUNREACH, "set HOOP_ADVERTISE or HOOP_INTERFACE there"},
    {PEER_PLACE_ANY, EHOSTUNREACH,
     "set HOOP_ADVERTISE or HOOP_INTERFACE there"},
    {PEER_PLACE_ANY, DIAL_ERROR_NO_ANSWER,
     "a firewall? set HOOP_PORT to a range that it lets pass, or "
     "HOOP_ADVERTISE there"},
};

/* Returns NULL if there is no advice. */
static const char *
dial_failure_advice(enum place place, const struct dial_failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(advices); i++) {
        const int error = advices[i].error;
        const bool is_place =
            advices[i].place == PEER_PLACE_ANY || advices[i].place == place;

        if (is_place && (error == DIAL_ERROR_NO_ANSWER
                             ? failure->status == HOOP_E_TIMEOUT
                             : strstr(failure->why, strerror(error)) != NULL))
            return advices[i].advice;
    }
    return NULL;
}

/* Returns the reason without the address that precedes the kernel's text. */
static const char *
dial_failure_reason(const struct dial_failure *failure)
{
    const char *colon = strrchr(failure->why, ':');

    if (failure->was_connected)
        return failure->why;
    if (failure->status == HOOP_E_TIMEOUT)
        return "nothing answers";
    return colon && colon[1] == ' ' ? colon + 2 : failure->why;
}

enum hoop_status
dial_error_raise(const struct roster *roster,
                 const struct dial_failure *failure)
{
    const struct address *advertised = &roster->members[failure->rank].address;
    const bool is_same_host = roster_is_same_node(roster, failure->rank);
    char address[LIMIT_ADDRESS];
    char reason[LIMIT_REPORT_REASON];

    address_format(advertised, address);
    /* The dial went to this host, so its answer says nothing about the peer. */
    if (!failure->was_connected && !is_same_host &&
        address_is_loopback(advertised))
        return error_raise(
            failure->status,
            "rank %u advertises %s, which only its own host "
            "reaches: correct HOOP_ADVERTISE there or, where it is "
            "not set, HOOP_COORDINATOR, which is localhost there",
            failure->rank, address);
    const char *advice =
        failure->was_connected
            ? NULL
            : dial_failure_advice(is_same_host ? PEER_PLACE_SAME_HOST
                                               : PEER_PLACE_OTHER_HOST,
                                  failure);
    snprintf(reason, sizeof(reason), "%s", dial_failure_reason(failure));
    return error_raise(failure->status,
                       "no connection to %s, advertised by rank %u: %s%s%s",
                       address, failure->rank, reason, advice ? "; " : "",
                       advice ? advice : "");
}
