/* base/status.c - the names of the statuses */

#include "base/status.h"

const char *
status_name(enum hoop_status status)
{
    switch (status) {
    case HOOP_OK:
        return "OK";
    case HOOP_E_CANCELLED:
        return "CANCELLED";
    case HOOP_E_UNKNOWN:
        return "UNKNOWN";
    case HOOP_E_INVALID:
        return "INVALID_ARGUMENT";
    case HOOP_E_TIMEOUT:
        return "DEADLINE_EXCEEDED";
    case HOOP_E_NOT_FOUND:
        return "NOT_FOUND";
    case HOOP_E_EXISTS:
        return "ALREADY_EXISTS";
    case HOOP_E_DENIED:
        return "PERMISSION_DENIED";
    case HOOP_E_EXHAUSTED:
        return "RESOURCE_EXHAUSTED";
    case HOOP_E_PRECONDITION:
        return "FAILED_PRECONDITION";
    case HOOP_E_ABORTED:
        return "ABORTED";
    case HOOP_E_RANGE:
        return "OUT_OF_RANGE";
    case HOOP_E_UNIMPLEMENTED:
        return "UNIMPLEMENTED";
    case HOOP_E_INTERNAL:
        return "INTERNAL";
    case HOOP_E_UNAVAILABLE:
        return "UNAVAILABLE";
    case HOOP_E_DATA_LOSS:
        return "DATA_LOSS";
    case HOOP_E_UNAUTHENTICATED:
        return "UNAUTHENTICATED";
    case HOOP_E_PENDING:
        return "PENDING";
    case HOOP_E_PEER_LOST:
        return "PEER_LOST";
    case HOOP_E_MISMATCH:
        return "MISMATCH";
    case HOOP_E_CLOSED:
        return "CLOSED";
    case HOOP_E_RANK_FAILED:
        return "RANK_FAILED";
    }
    return "UNKNOWN";
}
