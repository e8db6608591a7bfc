/* SPDX-License-Identifier: MIT */
#include "runtime/group/message.h"

#include "runtime/kernel/reduce_op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const call_names[] = {
    [CALL_BARRIER] = "barrier",
    [CALL_ALL_REDUCE] = "all_reduce",
    [CALL_REDUCE_SCATTER] = "reduce_scatter",
    [CALL_REDUCE] = "reduce",
    [CALL_ALL_GATHER] = "all_gather",
    [CALL_ALL_TO_ALL] = "all_to_all",
    [CALL_BROADCAST] = "broadcast",
    [CALL_GATHER] = "gather",
    [CALL_SCATTER] = "scatter",
    [CALL_SEND] = "message",
    [CALL_SPLIT] = "split",
    [CALL_ALL_GATHER_V] = "all_gather_v",
    [CALL_ALL_TO_ALL_V] = "all_to_all_v",
    [CALL_SCAN] = "scan",
    [CALL_EXCLUSIVE_SCAN] = "exclusive_scan",
    [CALL_WINDOW] = "window_create",
};

/* "1000 float32 (sum)" */
static void message_elements(const struct message *m, char text[MESSAGE_TEXT])
{
    struct call_elements e = call_elements_of(m->count, m->op);

    if (m->type == CALL_OPERATOR)
        snprintf(text, MESSAGE_TEXT,
                 "%" PRIu64 " elements of %" PRIu64 " bytes (the program's operator, %s)", e.number,
                 e.size, e.is_commutative ? "commutative" : "not commutative");
    else
        snprintf(text, MESSAGE_TEXT, "%" PRIu64 " %s (%s)", m->count, reduce_type_name(m->type),
                 reduce_op_name(m->op));
}

void message_describe(const struct message *m, char text[MESSAGE_TEXT])
{
    const char *name =
        m->kind < sizeof(call_names) / sizeof(call_names[0]) ? call_names[m->kind] : NULL;
    char content[32] = "", elements[MESSAGE_TEXT] = "";

    if (call_is_reduction(m->kind))
        message_elements(m, elements);
    else if (m->type)
        snprintf(content, sizeof(content), " (%s)", reduce_type_name(m->type - 1));

    switch (name ? m->kind : 0) {
    case CALL_ALL_REDUCE:
    case CALL_REDUCE_SCATTER:
    case CALL_SCAN:
    case CALL_EXCLUSIVE_SCAN:
        snprintf(text, MESSAGE_TEXT, "%s of %.100s", name, elements);
        break;
    case CALL_REDUCE:
        snprintf(text, MESSAGE_TEXT, "%s of %.100s to rank %d", name, elements, (int)m->root);
        break;
    case CALL_BROADCAST:
    case CALL_SCATTER:
        snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes%s from rank %d", name, m->count,
                 content, (int)m->root);
        break;
    case CALL_GATHER:
        snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes%s to rank %d", name, m->count,
                 content, (int)m->root);
        break;
    case CALL_SEND:
        if (m->root == (int32_t)(MESSAGE_LISTENER - 1))
            snprintf(text, MESSAGE_TEXT, "receive of a message with a tag");
        else if (m->root >= 0)
            snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes%s with tag %d", name, m->count,
                     content, (int)m->root);
        else
            snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes%s", name, m->count, content);
        break;
    case CALL_ALL_GATHER:
    case CALL_ALL_TO_ALL:
        snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes%s", name, m->count, content);
        break;
    case CALL_ALL_GATHER_V:
        snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes in all%s", name, m->count, content);
        break;
    case CALL_BARRIER:
    case CALL_SPLIT:
    case CALL_ALL_TO_ALL_V:
    case CALL_WINDOW:
        snprintf(text, MESSAGE_TEXT, "%s%s", name, content);
        break;
    default:
        snprintf(text, MESSAGE_TEXT, "call of unknown kind %u", m->kind);
    }
}

static __attribute__((noinline, cold)) int message_mismatch(const struct group *g,
                                                            const struct message *came,
                                                            const struct message *want, int peer,
                                                            struct fault *why)
{
    char theirs[MESSAGE_TEXT], ours[MESSAGE_TEXT], parts[96];
    const char *hint = "";

    if (came->magic != MESSAGE_MAGIC)
        return fault_set(why, ML_ERR_LINK,
                         "rank %d sent something that is not a message (magic %02x): the stream "
                         "is damaged",
                         g->members[peer], came->magic);
    message_describe(came, theirs);
    message_describe(want, ours);
    snprintf(parts, sizeof(parts), ", in parts of other sizes: %" PRIu64 " and %" PRIu64 " bytes",
             came->size, want->size);
    if (strcmp(theirs, ours) == 0)
        hint = came->seq != want->seq     ? ", at another place in the order of calls"
               : came->size != want->size ? parts
                                          : ", but an earlier call of theirs differs, for instance "
                                            "in its root";
    if (came->seq != want->seq && came->kind != CALL_SEND && want->kind != CALL_SEND)
        return fault_set(
            why, ML_ERR_MISMATCH,
            "the ranks' calls don't match: rank %d's %s (its collective call number %" PRIu32
            ") met rank %d's %s (number %" PRIu32 ")%s",
            g->members[peer], theirs, came->seq, g->members[g->rank], ours, want->seq, hint);
    return fault_set(why, ML_ERR_MISMATCH,
                     "the ranks' calls don't match: rank %d's %s met rank %d's %s%s",
                     g->members[peer], theirs, g->members[g->rank], ours, hint);
}

/* True if the headers differ only in that one says no type of what it moves. */
static bool message_has_any_content(const struct message *came, const struct message *want)
{
    struct message same = *came;

    if (call_is_reduction(came->kind) || (came->type && want->type))
        return false;
    same.type = want->type;
    return memcmp(&same, want, sizeof(same)) == 0;
}

int message_check(const struct group *g, const struct message *came, const struct message_op *t,
                  struct fault *why)
{
    struct message want;

    message_fill(&want, &g->call, t);
    if (memcmp(came, &want, sizeof(want)) == 0 || message_has_any_content(came, &want))
        return 0;
    return message_mismatch(g, came, &want, t->peer, why);
}

bool message_has_tag(const struct message *m)
{
    return m->magic == MESSAGE_MAGIC && m->kind == CALL_SEND && m->root >= 0 &&
           m->count == m->size && m->size <= SIZE_MAX / 2 && !m->seq && !m->op && !m->history;
}

int message_types_differ(const struct group *g, const struct message_op *t, uint8_t content,
                         struct fault *why)
{
    const struct call call = {.kind = CALL_SEND};
    struct message_op other = *t;
    struct message came, want;

    other.content = content;
    message_fill(&came, &call, t);
    message_fill(&want, &call, &other);
    return message_mismatch(g, &came, &want, t->peer, why);
}

int message_check_early(const struct group *g, const struct message *came, int peer,
                        struct fault *why)
{
    struct message_op t = {.size = came->size};
    struct message want;

    if (came->magic == MESSAGE_MAGIC &&
        (came->kind == CALL_SEND || (int32_t)(came->seq - g->calls) > 0 ||
         (came->seq == g->calls && came->history == (uint32_t)g->history)))
        return 0;
    message_fill(&want, &g->call, &t);
    return message_mismatch(g, came, &want, peer, why);
}
