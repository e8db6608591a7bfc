/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_memory.h"

#include "rdma/standin/objects/standin_pin_linux.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

enum { KEY_SHIFT = 8, MRS_AT_ONCE = 64 };

/* --- protection domains ----------------------------------------------------------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct standin_context *c = standin_context(context);
    struct standin_pd *pd;

    standin_lock(c);
    pd = standin_object_create(c, STANDIN_PD, sizeof(*pd), offsetof(struct standin_pd, object),
                               c->device.attr.max_pd);
    if (pd)
        pd->verbs.context = context;
    standin_unlock(c);
    return pd ? &pd->verbs : NULL;
}

int ibv_dealloc_pd(struct ibv_pd *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_pd *pd = standin_pd(verbs);
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &pd->object, "ibv_dealloc_pd")) {
        err = EINVAL;
    } else if (pd->users) {
        standin_break(RULE_IN_USE, c, "protection domain",
                      "ibv_dealloc_pd while %d objects are in it", pd->users);
        err = EBUSY;
    } else {
        standin_object_destroy(c, &pd->object);
    }
    standin_unlock(c);
    return err;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* A kernel or a sandbox without process_vm_readv(2) leaves memcpy(). */
static bool kernel_refuses(void)
{
    return errno == ENOSYS || errno == EPERM;
}

bool standin_memory_read(const void *at, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)at, size};
    ssize_t n = size ? process_vm_readv(getpid(), &here, 1, &there, 1, 0) : 0;

    if (n < 0 && kernel_refuses()) {
        memcpy(to, at, size);
        n = (ssize_t)size;
    }
    return n == (ssize_t)size;
}

bool standin_memory_write(void *at, const void *from, size_t size)
{
    struct iovec here = {(void *)from, size}, there = {at, size};
    ssize_t n = size ? process_vm_writev(getpid(), &here, 1, &there, 1, 0) : 0;

    if (n < 0 && kernel_refuses()) {
        memcpy(at, from, size);
        n = (ssize_t)size;
    }
    return n == (ssize_t)size;
}

/* --- regions ---------------------------------------------------------------------------------- */

struct standin_mr *standin_mr_find(const struct standin_context *c, uint32_t key)
{
    uint32_t index = key >> KEY_SHIFT;

    return index < c->mr_count && c->mrs[index] && c->mrs[index]->verbs.lkey == key ? c->mrs[index]
                                                                                    : NULL;
}

bool standin_mr_has(const struct standin_mr *m, uint64_t address, uint64_t length)
{
    return address >= m->iova && length <= m->verbs.length &&
           address - m->iova <= m->verbs.length - length;
}

void *standin_mr_at(const struct standin_mr *m, uint64_t address)
{
    return (char *)m->verbs.addr + (address - m->iova);
}

/* A free place in the table of regions; -1: no memory. */
static int mr_place(struct standin_context *c)
{
    struct standin_mr **more;
    uint32_t i = 0;

    while (i < c->mr_count && c->mrs[i])
        i++;
    if (i == c->mr_count) {
        more = realloc(c->mrs, (c->mr_count + MRS_AT_ONCE) * sizeof(struct standin_mr *));
        if (!more)
            return -1;
        memset(more + c->mr_count, 0, MRS_AT_ONCE * sizeof(struct standin_mr *));
        c->mrs = more;
        c->mr_count += MRS_AT_ONCE;
    }
    return (int)i;
}

/* True if the range can be read, and written if that is asked for: its pages are populated, as a
 * device's driver pins them. EINVAL is said of memory without that permission, and by kernels
 * before 5.14, which cannot populate; there the first byte of each page is read. */
static bool pages_populate(uintptr_t from, uintptr_t to, uintptr_t page, bool is_written)
{
    char byte;

    if (madvise((void *)from, to - from, is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) ==
        0)
        return true;
    if (errno != EINVAL ||
        (is_written && madvise((void *)from, to - from, MADV_POPULATE_READ) == 0))
        return false;
    for (; from < to; from += page)
        if (!standin_memory_read((void *)from, &byte, 1))
            return false;
    return true;
}

/* Mapped, but neither read nor written here: as memory of a GPU is. Whether a device takes it can
 * only be tried, so that EFAULT is an answer and no rule broken. */
static bool is_foreign(uintptr_t from, uintptr_t to)
{
    char byte;

    return !standin_memory_read((void *)from, &byte, 1) &&
           msync((void *)from, to - from, MS_ASYNC) == 0;
}

static bool mr_is_mapped(const struct standin_context *c, void *address, size_t length, int access)
{
    const bool is_written = access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)address;
    const uintptr_t from = at / page * page, to = (at + length + page - 1) / page * page;

    if (length == 0 || pages_populate(from, to, page, is_written))
        return true;
    if (is_foreign(from, to))
        return false;
    standin_break(RULE_MR_MAPPED, c, "memory region", "%zu bytes at %p, not all of which are %s",
                  length, address, is_written ? "mapped to be written" : "mapped");
    return false;
}

static int mr_check(const struct standin_context *c, const struct ibv_pd *verbs, void *address,
                    size_t length, int access)
{
    const struct standin_pd *pd = (const struct standin_pd *)verbs;

    if (!standin_lives(c, &pd->object, "ibv_reg_mr"))
        return EINVAL;
    if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
        !(access & IBV_ACCESS_LOCAL_WRITE)) {
        standin_break(RULE_MR_ACCESS, c, "memory region", "access flags 0x%x", (unsigned)access);
        return EINVAL;
    }
    if (access & (IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB))
        return EOPNOTSUPP;
    if (length > c->device.attr.max_mr_size) {
        standin_break(RULE_MR_LENGTH, c, "memory region", "%zu bytes, of at most %" PRIu64, length,
                      c->device.attr.max_mr_size);
        return EINVAL;
    }
    return mr_is_mapped(c, address, length, access) ? 0 : EFAULT;
}

static struct ibv_mr *mr_register(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                  int access)
{
    struct standin_context *c = standin_context(pd->context);
    struct standin_mr *m = NULL;
    int err, place = -1;

    standin_lock(c);
    err = mr_check(c, pd, address, length, access);
    if (!err && (place = mr_place(c)) < 0)
        err = ENOMEM;
    if (!err && !standin_pin(address, length)) {
        err = ENOMEM;
    } else if (!err) {
        m = standin_object_create(c, STANDIN_MR, sizeof(*m), offsetof(struct standin_mr, object),
                                  c->device.attr.max_mr);
        err = m ? 0 : errno;
        if (!m)
            standin_unpin(address, length);
    }
    if (m) {
        uint32_t key = (uint32_t)place << KEY_SHIFT | (++c->mr_key & 0xff);

        m->verbs = (struct ibv_mr){.context = pd->context,
                                   .pd = pd,
                                   .addr = address,
                                   .length = length,
                                   .handle = (uint32_t)place,
                                   .lkey = key,
                                   .rkey = key};
        m->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
        m->access = access;
        c->mrs[place] = m;
        standin_pd(pd)->users++;
    }
    standin_unlock(c);
    errno = err ? err : errno;
    return m ? &m->verbs : NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return mr_register(pd, address, length, (uintptr_t)address, access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                               int access)
{
    return mr_register(pd, address, length, iova, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned access)
{
    return mr_register(pd, address, length, iova, (int)access & ~IBV_ACCESS_OPTIONAL_RANGE);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
    errno = EOPNOTSUPP;
    return NULL;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
                 int access)
{
    (void)mr, (void)flags, (void)pd, (void)address, (void)length, (void)access;
    errno = EOPNOTSUPP;
    return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(struct ibv_mr *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_mr *m = (struct standin_mr *)verbs;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &m->object, "ibv_dereg_mr")) {
        err = EINVAL;
    } else {
        /* A device does so, and the requests fail or write where others are now. */
        if (m->requests)
            standin_break(RULE_MR_REQUESTS, c, "memory region",
                          "ibv_dereg_mr of %zu bytes at %p while %d work requests name it",
                          verbs->length, verbs->addr, m->requests);
        c->mrs[verbs->handle] = NULL;
        standin_pd(verbs->pd)->users--;
        standin_unpin(verbs->addr, verbs->length);
        standin_object_destroy(c, &m->object);
    }
    standin_unlock(c);
    return err;
}

void standin_memory_free(struct standin_context *c)
{
    for (uint32_t i = 0; i < c->mr_count; i++)
        if (c->mrs[i])
            standin_unpin(c->mrs[i]->verbs.addr, c->mrs[i]->verbs.length);
    free(c->mrs);
}

/* --- elements of work requests ---------------------------------------------------------------- */

uint64_t standin_sge_length(const struct ibv_sge *list, int count)
{
    uint64_t length = 0;

    for (int i = 0; i < count; i++)
        length += list[i].length;
    return length;
}

enum ibv_wc_status standin_sge_check(const struct standin_context *c, const struct ibv_pd *pd,
                                     const struct ibv_sge *list, int count, bool is_written,
                                     const char *object)
{
    for (int i = 0; i < count; i++) {
        const struct ibv_sge *e = &list[i];
        const struct standin_mr *m;

        if (e->length == 0)
            continue;
        m = standin_mr_find(c, e->lkey);
        if (!m) {
            standin_break(RULE_MR_KEY, c, object, "element %d has the key 0x%x", i, e->lkey);
            return IBV_WC_LOC_PROT_ERR;
        }
        if (m->verbs.pd != pd) {
            standin_break(RULE_ONE_DOMAIN, c, object,
                          "element %d has the key 0x%x of another protection domain", i, e->lkey);
            return IBV_WC_LOC_PROT_ERR;
        }
        if (!standin_mr_has(m, e->addr, e->length)) {
            standin_break(RULE_MR_RANGE, c, object,
                          "element %d is %u bytes at 0x%" PRIx64 ", and the region of key 0x%x has "
                          "%zu at 0x%" PRIx64,
                          i, e->length, e->addr, e->lkey, m->verbs.length, m->iova);
            return IBV_WC_LOC_PROT_ERR;
        }
        if (is_written && !(m->access & IBV_ACCESS_LOCAL_WRITE)) {
            standin_break(RULE_MR_LOCAL_WRITE, c, object, "element %d has the key 0x%x", i,
                          e->lkey);
            return IBV_WC_LOC_PROT_ERR;
        }
    }
    return IBV_WC_SUCCESS;
}

void standin_sge_hold(const struct standin_context *c, const struct ibv_sge *list, int count,
                      int by)
{
    for (int i = 0; i < count; i++) {
        struct standin_mr *m = list[i].length ? standin_mr_find(c, list[i].lkey) : NULL;

        if (m)
            m->requests += by;
    }
}

/* Calls for each part of the range: true as long as all could be copied. */
static bool sge_copy(const struct standin_context *c, const struct ibv_sge *list, int count,
                     uint64_t offset, char *bytes, size_t size, bool is_written)
{
    for (int i = 0; i < count && size; i++) {
        const struct standin_mr *m;
        size_t part;

        if (offset >= list[i].length) {
            offset -= list[i].length;
            continue;
        }
        part = list[i].length - (size_t)offset;
        part = part < size ? part : size;
        m = standin_mr_find(c, list[i].lkey);
        if (!m)
            return false;
        if (!(is_written
                  ? standin_memory_write(standin_mr_at(m, list[i].addr + offset), bytes, part)
                  : standin_memory_read(standin_mr_at(m, list[i].addr + offset), bytes, part))) {
            standin_break(RULE_MR_MAPPED, c, "memory region",
                          "%zu bytes at %p are not mapped any more", m->verbs.length,
                          m->verbs.addr);
            return false;
        }
        bytes += part;
        size -= part;
        offset = 0;
    }
    return size == 0;
}

bool standin_sge_read(const struct standin_context *c, const struct ibv_sge *list, int count,
                      uint64_t offset, void *to, size_t size)
{
    return sge_copy(c, list, count, offset, to, size, false);
}

bool standin_sge_write(const struct standin_context *c, const struct ibv_sge *list, int count,
                       uint64_t offset, const void *from, size_t size)
{
    return sge_copy(c, list, count, offset, (char *)from, size, true);
}
