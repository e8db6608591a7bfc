/* SPDX-License-Identifier: MIT */
#include "runtime/group/message.h"

#include "runtime/kernel/reduce_op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* The message of a CALL_SEND; `content`: " (float32)", or "". */
static void message_describe_sent(const struct message *m, const char *content,
                                  char text[MESSAGE_TEXT])
{
    char tag[32] = "";

    if (m->root == (int32_t)(MESSAGE_LISTENER - 1)) {
        snprintf(text, MESSAGE_TEXT, "receive of a message with a tag");
        return;
    }
    if (m->root >= 0)
        snprintf(tag, sizeof(tag), " with tag %d", (int)m->root);
    snprintf(text, MESSAGE_TEXT, "message of %" PRIu64 " bytes%s%s", m->count, content, tag);
}

void message_describe(const struct message *m, char text[MESSAGE_TEXT])
{
    enum call_kind kind = call_kind_known(m->kind);
    const char *name = call_names[kind];
    unsigned traits = call_traits[kind];
    char content[32] = "", what[MESSAGE_TEXT] = "", root[32] = "";

    if (traits & CALL_REDUCES)
        message_elements(m, what);
    else if (m->type)
        snprintf(content, sizeof(content), " (%s)", reduce_type_name(m->type - 1));
    if (traits & CALL_HAS_ROOT)
        snprintf(root, sizeof(root), " %s rank %d", traits & CALL_TO_ROOT ? "to" : "from",
                 (int)m->root);

    if (kind == CALL_NONE)
        snprintf(text, MESSAGE_TEXT, "call of unknown kind %u", m->kind);
    else if (kind == CALL_SEND)
        message_describe_sent(m, content, text);
    else if (traits & CALL_REDUCES)
        snprintf(text, MESSAGE_TEXT, "%s of %.100s%s", name, what, root);
    else if (!(traits & CALL_MOVES) || (traits & CALL_VARIES && traits & CALL_READS_ALL))
        snprintf(text, MESSAGE_TEXT, "%s%s", name, content);
    else
        snprintf(text, MESSAGE_TEXT, "%s of %" PRIu64 " bytes%s%s%s", name, m->count,
                 traits & CALL_VARIES ? " in all" : "", content, root);
}

void message_describe_untyped(const struct message *m, char text[MESSAGE_TEXT])
{
    struct message untyped = *m;

    if (!call_kind_has(call_kind_known(m->kind), CALL_REDUCES))
        untyped.type = 0;
    message_describe(&untyped, text);
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

    if (call_kind_has(call_kind_known(came->kind), CALL_REDUCES) || (came->type && want->type))
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
