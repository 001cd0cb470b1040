/* base/evidence.c - kinds of evidence that a rank is lost, and who decides on
 * them */

#include "base/evidence.h"

#include <string.h>

const char *
evidence_find_reporters(const char *why)
{
    return strstr(why, EVIDENCE_REPORTED_BY);
}

const struct evidence_row evidence_rows[EVIDENCE_KINDS] = {
    [EVIDENCE_TOLD] = {"told", EVIDENCE_FINAL, 0, false, ""},
    [EVIDENCE_ENDED] = {"process ended", EVIDENCE_ALONE, 100, false, ""},
    [EVIDENCE_CLOSED] = {"closed for a reason", EVIDENCE_ALONE, 100, false, ""},
    [EVIDENCE_BROKEN] = {"broken connection", EVIDENCE_COORDINATOR, 250, false,
                         "dead or cut off"},
    [EVIDENCE_SILENT] = {"silence", EVIDENCE_COORDINATOR, 250, true,
                         "stopped, dead or cut off"},
    [EVIDENCE_LEASE] = {"lost lease", EVIDENCE_UNLESS_HEARD, 1250, true,
                        "stopped, dead or cut off"},
    [EVIDENCE_GIVEN_UP] = {"its own word", EVIDENCE_FINAL, 100, false, ""},
};
