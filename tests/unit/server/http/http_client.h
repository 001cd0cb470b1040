/* tests/unit/server/http/http_client.h - a client of http.c over a raw socket */

#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "check.h"
#include "http/http.h"

/* Returns the role of those who show token; anybody has none. */
static inline enum role
client_token_role(const char *token)
{
    if (strcmp(token, "figures") == 0)
        return ROLE_METRICS;
    if (strcmp(token, "looks") == 0)
        return ROLE_OPERATOR;
    return strcmp(token, "secret") == 0 ? ROLE_WORKER : ROLE_ANYBODY;
}

/* Returns a socket that is connected to http. The kernel holds some
 * n_receive_bytes for it; 0: as many as it wants. */
static inline int
client_connect_to(const struct http *http, int n_receive_bytes)
{
    const char *port = strrchr(http_address(http), ':') + 1;
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(port)),
        .sin_addr = {htonl(INADDR_LOOPBACK)},
    };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    if (n_receive_bytes > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_receive_bytes,
                   sizeof(n_receive_bytes));
    assert_int_equal(
        connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Reads on until the answer, of less than n_room bytes, holds words; NULL: until
 * the server closes. Returns whether it came to that within wait_ms. */
static inline bool
client_read_until(int fd,
                  const char *words,
                  int wait_ms,
                  size_t n_room,
                  char *answer)
{
    const uint64_t deadline_ns = clock_deadline_ns((uint64_t)wait_ms);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    size_t n_answer = 0;

    answer[0] = '\0';
    while (poll(&poll_fd, 1, clock_left_ms(deadline_ns)) == 1) {
        const ssize_t n = recv(fd, answer + n_answer, n_room - 1 - n_answer, 0);

        if (n <= 0)
            return !words;
        n_answer += (size_t)n;
        answer[n_answer] = '\0';
        if (words && strstr(answer, words))
            return true;
    }
    return false;
}

#endif
