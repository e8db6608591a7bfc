/* SPDX-License-Identifier: MIT */
#include "runtime/steps/reduce_order.h"

#include "runtime/kernel/combiner.h"
#include "runtime/kernel/reduce_op.h"

#include <string.h>

enum { GRAIN = 8192 /* bytes reduced at a time: a first-level cache holds them */ };

static void reduce_order_combine(const struct operands *o, const struct combiner *c, char *sum,
                                 size_t size)
{
    for (size_t done = 0, n; done < size; done += n) {
        n = size - done < c->grain ? size - done : c->grain;
        memcpy(c->work, o->find(o, 0, done), n);
        for (int i = 1; i < o->count; i++)
            combiner_apply(c, c->work, o->find(o, i, done), n);
        memcpy(sum + done, c->work, n);
    }
}

void reduce_order_run(const struct operands *o, const struct call *call, char *sum, size_t size)
{
    reduce_fn *reduce_them = reduce_op(call->type, call->op);
    size_t element = reduce_type_size(call->type);
    _Alignas(64) char partial[GRAIN];

    if (call->combiner) {
        reduce_order_combine(o, call->combiner, sum, size);
        return;
    }
    for (size_t done = 0, n; done < size; done += n) {
        const char *left = o->find(o, 0, done);

        n = size - done < GRAIN ? size - done : GRAIN;
        for (int i = 1; i < o->count; i++) {
            char *into = i == o->count - 1 ? sum + done : partial;

            reduce_them(into, left, o->find(o, i, done), n / element);
            left = into;
        }
    }
}
