/* transport/shm/cma.c - reading the memory of another process */

#include "transport/shm/cma.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/random.h"

enum hoop_status
cma_export_address(struct cma_cookie *word, struct cma_address *out_place)
{
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK && word->word == 0)
        status = random_fill(&word->word, sizeof(word->word));
    if (status != HOOP_OK)
        return error_pass(status);
    out_place->address = (uint64_t)(uintptr_t)&word->word;
    out_place->word = word->word;
    return HOOP_OK;
}

static enum hoop_status
cma_raise_read_error(const struct cma_process *other, int error)
{
    switch (error) {
    case ESRCH:
        return error_raise(HOOP_E_PEER_LOST, "there is no process %u any more",
                           other->pid);
    case EPERM:
    case ENOSYS:
        return error_raise(HOOP_E_UNAVAILABLE,
                           "the memory of process %u must not be read from "
                           "here: %s; HOOP_CMA=off does without",
                           other->pid, strerror(error));
    default:
        break;
    }
    return error_raise(HOOP_E_DATA_LOSS,
                       "process %u has nothing to be read where it says: %s; "
                       "HOOP_CMA=off does without",
                       other->pid, strerror(error));
}

/* The kernel's interface takes addresses of another process as pointers. */
static struct iovec
remote_iovec(uint64_t address, size_t n_bytes)
{
    return (struct iovec){(void *)(uintptr_t)address, n_bytes};
}

enum hoop_status
cma_read(const struct cma_process *other,
         uint64_t address,
         void *to,
         size_t n_bytes)
{
    uint64_t word = 0;
    const struct iovec here[] = {{&word, sizeof(word)}, {to, n_bytes}};
    const struct iovec far[] = {
        remote_iovec(other->place.address, sizeof(word)),
        remote_iovec(address, n_bytes)};
    const unsigned long n_parts = n_bytes > 0 ? 2 : 1;
    const ssize_t n_read =
        process_vm_readv((pid_t)other->pid, here, n_parts, far, n_parts, 0);

    if (n_read < 0)
        return cma_raise_read_error(other, errno);
    if ((size_t)n_read >= sizeof(word) && word != other->place.word)
        return cma_raise_read_error(other, ESRCH);
    if ((size_t)n_read != sizeof(word) + n_bytes)
        return cma_raise_read_error(other, EFAULT);
    return HOOP_OK;
}
