/*
 * hoopctl/doctor.h - what `hoopctl doctor` has found, and what it says of it
 *
 * Finding and judging are apart: doctor_facts.c and doctor_peer.c look at this
 * host, doctor_evaluate.c makes a line of each fact, with what to change.
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
    DOCTOR_PROBE_BYTES = 256 * 1024, /* what two hosts send each other */
    DOCTOR_WAIT_MS = 3000,           /* for a connection, or for more bytes */
};

/* Text is "" where there is none; an error text says why. */
struct doctor_facts {
    char own_name[DOCTOR_TEXT];
    char own_addresses[DOCTOR_TEXT]; /* "10.0.0.2, fd00::2" */
    char own_error[DOCTOR_TEXT];
    char coordinator[DOCTOR_TEXT]; /* host:port,...; "": none was named */
    char coordinator_addresses[DOCTOR_TEXT]; /* of all that have any */
    char coordinator_unknown[DOCTOR_TEXT];   /* the first that has none */
    char coordinator_error[DOCTOR_TEXT];     /* why */
    char advertised[DOCTOR_TEXT];    /* the address that peers are told */
    char advertised_by[DOCTOR_TEXT]; /* "HOOP_ADVERTISE" ... */
    bool is_advertised_set;          /* by the user */
    char advertised_error[DOCTOR_TEXT];
    char settings_error
        [DOCTOR_TEXT];             /* of HOOP_PORT ..., or of the token file */
    char asked_error[DOCTOR_TEXT]; /* why the coordinator has not answered */
    char version[DOCTOR_TEXT];     /* of the coordinator, if it has answered */
    char own_version[DOCTOR_TEXT];
    bool has_clock;
    int64_t clock_ahead_ms; /* of the coordinator's, against this host's */
    uint64_t n_files;       /* that this process may open */
    uint64_t n_files_most;  /* that it may allow itself */
    uint64_t memory_bytes;  /* of the piece of shared memory that was tried */
    char memory_error[DOCTOR_TEXT];
    uint64_t shm_bytes; /* free in /dev/shm; has_shm */
    bool has_shm;
    char ports[DOCTOR_TEXT]; /* HOOP_PORT, if it is a port or a range */
    unsigned n_ports;
    unsigned n_ports_free;
};

/* With one peer, as --peer sees it. */
struct doctor_peer {
    char peer[DOCTOR_TEXT];          /* host:port */
    char listen_error[DOCTOR_TEXT];  /* "": it can connect to us */
    char connect_error[DOCTOR_TEXT]; /* "": connected */
    uint64_t n_sent;        /* of DOCTOR_PROBE_BYTES, that arrived there */
    char back[DOCTOR_TEXT]; /* where the peer was to connect to */
    char back_error[DOCTOR_TEXT]; /* "": it has connected */
    uint64_t n_received;          /* of DOCTOR_PROBE_BYTES */
    uint32_t mtu;                 /* of the route, as the kernel knows it */
    int64_t clock_ahead_ms;       /* of the peer's */
    char version[DOCTOR_TEXT];    /* of the peer's hoopctl */
    char own_version[DOCTOR_TEXT];
};

enum doctor_verdict {
    DOCTOR_OK,
    DOCTOR_NOTE, /* wrong for some uses */
    DOCTOR_WRONG,
};

/* Told one after the other. */
typedef void
doctor_fn(void *owner,
          enum doctor_verdict verdict,
          const char *subject,
          const char *text);

void
doctor_evaluate(const struct doctor_facts *facts, doctor_fn *tell, void *owner);
/* NULL: no peer was named. */
void
doctor_evaluate_peer(const struct doctor_peer *peer,
                     doctor_fn *tell,
                     void *owner);

/* Look at this host, and ask the coordinator. Waits as hoop_control_status()
 * does. */
void
doctor_facts_find(const struct hoop_control_options *options,
                  struct doctor_facts *out_facts);

/* The addresses of a name, "10.0.0.2, fd00::2". False: out_text says why not. */
bool
doctor_resolve(const char *name, char out_text[static DOCTOR_TEXT]);

/* How many ports of HOOP_PORT can be listened on. */
void
doctor_ports_count(struct doctor_facts *out_facts);

/* Whether it is HOST:PORT. */
bool
doctor_peer_is_named(const char *peer);

/* Try everything with the peer that listens there. */
void
doctor_peer_try(const char *peer, struct doctor_peer *out_peer);

/* Wait so long for one peer, on this port or, with NULL, one of HOOP_PORT, or
 * any, and say so on stdout. Has it all tried. HOOP_E_INVALID: that is no port;
 * HOOP_E_UNAVAILABLE: none is free; HOOP_E_TIMEOUT. out_text says more. */
enum hoop_status
doctor_peer_serve(const char *port,
                  uint32_t timeout_ms,
                  char out_text[static DOCTOR_TEXT]);

#endif
