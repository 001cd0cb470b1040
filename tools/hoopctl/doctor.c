/* hoopctl/doctor.c - hoopctl doctor: checks whether this host is fit for
 * workers */

#include "hoopctl/doctor.h"

#include <stdlib.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"
#include "hoopctl/shown.h"

enum {
    PEER_WAIT_MS = 600 * 1000,
};

struct report {
    json_t *checks; /* NULL: a table */
    unsigned n_wrong;
    unsigned n_notes;
};

static void
line_tell(void *owner,
          enum doctor_verdict verdict,
          const char *subject,
          const char *text)
{
    static const char *const words[] = {"ok", "note", "wrong"};
    struct report *report = owner;
    struct shown shown;

    report->n_wrong += verdict == DOCTOR_WRONG;
    report->n_notes += verdict == DOCTOR_NOTE;
    if (report->checks)
        json_array_append_new(report->checks,
                              json_pack("{ss ss so}", "verdict", words[verdict],
                                        "subject", subject, "text",
                                        json_text(text)));
    else
        printf("%-6s %-13s %s\n", words[verdict], subject, show(text, &shown));
}

static void
report_end(struct report *report)
{
    if (report->checks)
        json_print(json_pack("{si si so}", "wrong", (int)report->n_wrong,
                             "notes", (int)report->n_notes, "checks",
                             report->checks));
    else if (report->n_wrong == 0 && report->n_notes == 0)
        printf("nothing is wrong here\n");
    else if (report->n_wrong == 0)
        printf("nothing is wrong here; %u %s\n", report->n_notes,
               report->n_notes == 1 ? "note" : "notes");
    else
        printf("%u %s wrong\n", report->n_wrong,
               report->n_wrong == 1 ? "thing is" : "things are");
}

enum hoop_status
doctor_run(const struct command_call *call)
{
    struct report report = {
        .checks = call->format == COMMAND_JSON ? json_array() : NULL,
    };
    struct doctor_facts facts;
    struct doctor_peer peer;
    char text[DOCTOR_TEXT];
    struct shown shown;

    if (call->is_listening) {
        const uint32_t timeout_ms = call->options->timeout_ms;
        const enum hoop_status status =
            doctor_peer_serve(call->listen_port,
                              timeout_ms > 0 ? timeout_ms : PEER_WAIT_MS, text);
        if (status != HOOP_OK)
            fprintf(stderr, "hoopctl: %s\n", text);
        return status;
    }
    if (call->peer && !doctor_peer_is_named(call->peer)) {
        fprintf(stderr,
                "hoopctl: --peer=%s: HOST:PORT is expected, with a port from 1 "
                "to 65535\n",
                show(call->peer, &shown));
        return HOOP_E_INVALID;
    }
    doctor_facts_find(call->options, &facts);
    doctor_ports_count(&facts);
    doctor_evaluate(&facts, line_tell, &report);
    if (call->peer)
        doctor_peer_try(call->peer, &peer);
    doctor_evaluate_peer(call->peer ? &peer : NULL, line_tell, &report);
    report_end(&report);
    return report.n_wrong == 0 ? HOOP_OK : HOOP_E_INTERNAL;
}
