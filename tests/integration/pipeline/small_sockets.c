/*
 * tests/integration/pipeline/small_sockets.c - sockets that hold one segment
 *
 * It is linked with --wrap=socket. Every socket that a program opens or accepts
 * has the smallest buffers that the kernel allows. A single segment of 500
 * bytes fits into them, together with the kernel's own data.
 */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

int
__real_socket(int domain, int type, int protocol);
int
__wrap_socket(int domain, int type, int protocol);

int
__wrap_socket(int domain, int type, int protocol)
{
    static const int segment = 500;
    static const int least = 1;
    const int fd = __real_socket(domain, type, protocol);

    if (fd >= 0 && (type & SOCK_STREAM)) {
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
    }
    return fd;
}
