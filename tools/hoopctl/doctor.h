/*
 * hoopctl/doctor.h - the facts that `hoopctl doctor` finds, and their
 * evaluation
 *
 * doctor_facts.c and doctor_peer.c collect facts about this host.
 * doctor_evaluate.c makes a line of each fact, with what to change.
 */

#ifndef HOOPCTL_DOCTOR_H
#define HOOPCTL_DOCTOR_H

#include <hoop/control.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    DOCTOR_TEXT = 512,
    DOCTOR_PROBE_BYTES = 256 * 1024, /* bytes that two hosts send each other */
    DOCTOR_WAIT_MS = 3000,           /* for a connection, or for more bytes */
};

/* A text is "" if it does not apply; an error text says why something
 * failed. */
struct doctor_facts {
    char own_name[DOCTOR_TEXT];
    char own_addresses[DOCTOR_TEXT]; /* "10.0.0.2, fd00::2" */
    char own_error[DOCTOR_TEXT];
    char coordinator[DOCTOR_TEXT]; /* host:port,...; "": none was given */
    char coordinator_addresses[DOCTOR_TEXT]; /* addresses of all names that
                                                have any */
    char coordinator_unknown[DOCTOR_TEXT];   /* the first name that has none */
    char coordinator_error[DOCTOR_TEXT];     /* why that name has none */
    char advertised[DOCTOR_TEXT];    /* the address that peers are given */
    char advertised_by[DOCTOR_TEXT]; /* "HOOP_ADVERTISE" ... */
    bool is_advertised_set;          /* by the user */
    char advertised_error[DOCTOR_TEXT];
    char settings_error
        [DOCTOR_TEXT];             /* of HOOP_PORT ..., or of the token file */
    char asked_error[DOCTOR_TEXT]; /* why the coordinator did not answer */
    char version[DOCTOR_TEXT];     /* of the coordinator, if it answered */
    char own_version[DOCTOR_TEXT];
    bool has_clock;
    int64_t clock_ahead_ms; /* the coordinator's clock minus this host's */
    uint64_t n_files;       /* open files that this process may have */
    uint64_t n_files_most;  /* open files to which it may raise that limit */
    uint64_t memory_bytes;  /* size of the shared memory that was tried */
    char memory_error[DOCTOR_TEXT];
    uint64_t shm_bytes; /* free in /dev/shm; valid if has_shm */
    bool has_shm;
    char ports[DOCTOR_TEXT]; /* HOOP_PORT, if it is a port or a range */
    unsigned n_ports;
    unsigned n_ports_free;
};

/* What was found with one peer, on the side of --peer. */
struct doctor_peer {
    char peer[DOCTOR_TEXT];          /* host:port */
    char listen_error[DOCTOR_TEXT];  /* "": the peer can connect to this host */
    char connect_error[DOCTOR_TEXT]; /* "": connected */
    uint64_t n_sent;        /* of DOCTOR_PROBE_BYTES, how many arrived there */
    char back[DOCTOR_TEXT]; /* where the peer should connect back to */
    char back_error[DOCTOR_TEXT]; /* "": it has connected back */
    uint64_t n_received;          /* of DOCTOR_PROBE_BYTES, how many arrived
                                     here */
    uint32_t mtu;                 /* of the route, as the kernel knows it */
    int64_t clock_ahead_ms;       /* the peer's clock minus this host's */
    char version[DOCTOR_TEXT];    /* of the peer's hoopctl */
    char own_version[DOCTOR_TEXT];
};

enum doctor_verdict {
    DOCTOR_OK,
    DOCTOR_NOTE, /* wrong only for some uses */
    DOCTOR_WRONG,
};

/* Called for each line, in order. */
typedef void
doctor_fn(void *owner,
          enum doctor_verdict verdict,
          const char *subject,
          const char *text);

void
doctor_evaluate(const struct doctor_facts *facts, doctor_fn *tell, void *owner);
/* NULL: no peer was given. */
void
doctor_evaluate_peer(const struct doctor_peer *peer,
                     doctor_fn *tell,
                     void *owner);

/* Collect the facts of this host, and ask the coordinator. Waits as
 * hoop_control_status() does. */
void
doctor_facts_find(const struct hoop_control_options *options,
                  struct doctor_facts *out_facts);

/* Find the addresses of a name, "10.0.0.2, fd00::2". Return false if it has
 * none; out_text says why. */
bool
doctor_resolve(const char *name, char out_text[static DOCTOR_TEXT]);

/* Count the ports of HOOP_PORT that can be listened on. */
void
doctor_ports_count(struct doctor_facts *out_facts);

/* Return whether peer has the form HOST:PORT. */
bool
doctor_peer_is_named(const char *peer);

/* Try everything with the peer that listens there. */
void
doctor_peer_try(const char *peer, struct doctor_peer *out_peer);

/*
 * Wait for one peer for a limited time, and let it try everything.
 *
 * Listens on port or, if that is NULL, on one of HOOP_PORT, or on any, and
 * prints which one to stdout. HOOP_E_INVALID: not a port; HOOP_E_UNAVAILABLE:
 * none is free; HOOP_E_TIMEOUT. out_text says more.
 */
enum hoop_status
doctor_peer_serve(const char *port,
                  uint32_t timeout_ms,
                  char out_text[static DOCTOR_TEXT]);

#endif
