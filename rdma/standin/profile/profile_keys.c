/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/profile_keys.h"

#include "common/text/number.h"
#include "rdma/standin/profile/notation.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALLOWED = 300, /* bytes of a sentence's end */
    MOST = 1 << 20,
};

enum profile_form {
    FORM_WHOLE, /* a number, or a size with K, M or G, of `size` bytes */
    FORM_WORD,  /* one of `words`, of `size` bytes */
    FORM_WORDS, /* several of them: a uint32_t with a bit for each value */
    FORM_TEXT,  /* `size` bytes with the final 0 */
    FORM_GUID,
    FORM_RATE,
    FORM_DELAY,
    FORM_LOSS,
    FORM_ADDRESSES, /* a struct profile_port */
    FORM_ENDS,
};

struct profile_word {
    const char *name;
    uint32_t value;
};

struct profile_key {
    const char *name;
    enum profile_form form;
    size_t at, size; /* where in the section's struct */
    int64_t min, max;
    const struct profile_word *words;
};

static const struct profile_word answers[] = {{"no", 0}, {"yes", 1}, {NULL, 0}};
static const struct profile_word link_layers[] = {
    {"Ethernet", IBV_LINK_LAYER_ETHERNET}, {"InfiniBand", IBV_LINK_LAYER_INFINIBAND}, {NULL, 0}};
static const struct profile_word qp_types[] = {
    {"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}, {NULL, 0}};
static const struct profile_word opcodes[] = {{"send", IBV_WR_SEND},
                                              {"send_imm", IBV_WR_SEND_WITH_IMM},
                                              {"write", IBV_WR_RDMA_WRITE},
                                              {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
                                              {"read", IBV_WR_RDMA_READ},
                                              {"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
                                              {"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD},
                                              {NULL, 0}};
static const struct profile_word mtus[] = {{"256", IBV_MTU_256},   {"512", IBV_MTU_512},
                                           {"1024", IBV_MTU_1024}, {"2048", IBV_MTU_2048},
                                           {"4096", IBV_MTU_4096}, {NULL, 0}};
static const struct profile_word widths[] = {{"1X", 1}, {"2X", 16}, {"4X", 2},
                                             {"8X", 4}, {"12X", 8}, {NULL, 0}};
static const struct profile_word speeds[] = {{"SDR", 1},   {"DDR", 2},   {"QDR", 4},
                                             {"FDR10", 8}, {"FDR", 16},  {"EDR", 32},
                                             {"HDR", 64},  {"NDR", 128}, {NULL, 0}};
static const struct profile_word gid_types[] = {
    {"v1", IBV_GID_TYPE_ROCE_V1}, {"v2", IBV_GID_TYPE_ROCE_V2}, {NULL, 0}};

#define AT(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define LIMIT(name, min, max)                                                                      \
    {                                                                                              \
#name, FORM_WHOLE, AT(profile_kind, is.attr.name), min, max, NULL                          \
    }

static const struct profile_key network_keys[] = {
    {"seed", FORM_WHOLE, AT(profile_network, seed), 0, INT64_MAX, NULL},
    {NULL, 0, 0, 0, 0, 0, NULL},
};

static const struct profile_key kind_keys[] = {
    {"link_layer", FORM_WORD, AT(profile_kind, port.attr.link_layer), 0, 0, link_layers},
    {"qp_types", FORM_WORDS, AT(profile_kind, is.qp_types), 0, 0, qp_types},
    {"opcodes", FORM_WORDS, AT(profile_kind, is.opcodes), 0, 0, opcodes},
    {"events", FORM_WORD, AT(profile_kind, is.has_events), 0, 0, answers},
    {"ports", FORM_WHOLE, AT(profile_kind, is.attr.phys_port_cnt), 1, FABRIC_PORTS_MOST, NULL},
    {"max_mtu", FORM_WORD, AT(profile_kind, port.attr.max_mtu), 0, 0, mtus},
    {"active_mtu", FORM_WORD, AT(profile_kind, port.attr.active_mtu), 0, 0, mtus},
    {"active_width", FORM_WORD, AT(profile_kind, port.attr.active_width), 0, 0, widths},
    {"active_speed", FORM_WORD, AT(profile_kind, port.attr.active_speed), 0, 0, speeds},
    {"max_msg_sz", FORM_WHOLE, AT(profile_kind, port.attr.max_msg_sz), 256, 1LL << 31, NULL},
    {"max_inline", FORM_WHOLE, AT(profile_kind, is.max_inline), 0, 4096, NULL},
    LIMIT(max_qp, 1, MOST),
    LIMIT(max_qp_wr, 1, MOST),
    LIMIT(max_sge, 1, 256),
    LIMIT(max_sge_rd, 1, 256),
    LIMIT(max_cq, 1, MOST),
    LIMIT(max_cqe, 1, 1 << 24),
    LIMIT(max_mr, 1, MOST),
    LIMIT(max_mr_size, 1, INT64_MAX),
    LIMIT(max_pd, 1, MOST),
    LIMIT(max_ah, 0, MOST),
    LIMIT(max_srq, 0, MOST),
    LIMIT(max_srq_wr, 0, MOST),
    LIMIT(max_srq_sge, 0, 256),
    LIMIT(max_qp_rd_atom, 1, 255),
    LIMIT(max_qp_init_rd_atom, 1, 255),
    LIMIT(local_ca_ack_delay, 0, 31),
    LIMIT(vendor_id, 0, 0xffffff),
    LIMIT(vendor_part_id, 0, UINT32_MAX),
    LIMIT(hw_ver, 0, UINT32_MAX),
    {"fw_ver", FORM_TEXT, AT(profile_kind, is.attr.fw_ver), 0, 0, NULL},
    {"hca_type", FORM_TEXT, AT(profile_kind, hca_type), 0, 0, NULL},
    {"board_id", FORM_TEXT, AT(profile_kind, board_id), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, 0, NULL},
};

static const struct profile_key device_keys[] = {
    {"kind", FORM_TEXT, AT(profile_device, kind_name), 0, 0, NULL},
    {"gids", FORM_ADDRESSES, AT(profile_device, ports[0]), 0, 0, NULL},
    {"gids2", FORM_ADDRESSES, AT(profile_device, ports[1]), 0, 0, NULL},
    {"gid_types", FORM_WORDS, AT(profile_device, gid_types), 0, 0, gid_types},
    {"lid", FORM_WHOLE, AT(profile_device, ports[0].lid), 1, 0xbfff, NULL},
    {"lid2", FORM_WHOLE, AT(profile_device, ports[1].lid), 1, 0xbfff, NULL},
    {"sm_lid", FORM_WHOLE, AT(profile_device, ports[0].sm_lid), 1, 0xbfff, NULL},
    {"sm_lid2", FORM_WHOLE, AT(profile_device, ports[1].sm_lid), 1, 0xbfff, NULL},
    {"netdev", FORM_TEXT, AT(profile_device, ports[0].netdev), 0, 0, NULL},
    {"netdev2", FORM_TEXT, AT(profile_device, ports[1].netdev), 0, 0, NULL},
    {"node_guid", FORM_GUID, AT(profile_device, node_guid), 0, 0, NULL},
    {NULL, 0, 0, 0, 0, 0, NULL},
};

#define LINE_KEYS                                                                                  \
    {"rate", FORM_RATE, AT(profile_wire, rate), 0, 0, NULL},                                       \
        {"delay", FORM_DELAY, AT(profile_wire, delay_ns), 0, 0, NULL},                             \
        {"loss", FORM_LOSS, AT(profile_wire, loss), 0, 0, NULL},                                   \
    {                                                                                              \
        NULL, 0, 0, 0, 0, 0, NULL                                                                  \
    }

static const struct profile_key wire_keys[] = {
    {"ends", FORM_ENDS, AT(profile_wire, ends), 0, 0, NULL},
    LINE_KEYS,
};

static const struct profile_key switch_keys[] = {
    {"ports", FORM_ENDS, AT(profile_wire, ends), 0, 0, NULL},
    LINE_KEYS,
};

static const struct profile_key *const tables[PROFILE_SECTIONS] = {
    [PROFILE_NETWORK] = network_keys, [PROFILE_KIND] = kind_keys,
    [PROFILE_DEVICE] = device_keys,   [PROFILE_WIRE] = wire_keys,
    [PROFILE_SWITCH] = switch_keys,
};

/* --- sentences -------------------------------------------------------------------------------- */

static void allowed_add(char text[ALLOWED], const char *word)
{
    size_t used = strlen(text);

    snprintf(text + used, ALLOWED - used, "%s%s", used ? " " : "", word);
}

static int value_refuse(const struct profile_key *k, const char *value, struct fault *why)
{
    char allowed[ALLOWED] = "";
    const char *rule = k->form == FORM_RATE    ? NOTATION_RATE
                       : k->form == FORM_DELAY ? NOTATION_DELAY
                       : k->form == FORM_LOSS  ? NOTATION_LOSS
                       : k->form == FORM_ENDS  ? NOTATION_PORT
                       : k->form == FORM_GUID  ? "a number of 64 bits, as in 0200:00ff:fe00:0001"
                                               : NOTATION_ADDRESS;

    if (k->form == FORM_TEXT)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s = %.80s: what is allowed is a text of 1 to %zu "
                         "bytes",
                         k->name, value, k->size - 1);
    if (k->form == FORM_WHOLE)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s = %.80s: what is allowed is a number from %lld "
                         "to %lld",
                         k->name, value, (long long)k->min, (long long)k->max);
    if (!k->words)
        return fault_set(why, ML_ERR_ARGUMENT, "%s = %.80s: what is allowed is %s", k->name, value,
                         rule);
    for (const struct profile_word *w = k->words; w->name; w++)
        allowed_add(allowed, w->name);
    return fault_set(why, ML_ERR_ARGUMENT, "%s = %.80s: what is allowed is %s of: %s", k->name,
                     value, k->form == FORM_WORDS ? "some" : "one", allowed);
}

static int key_refuse(const struct profile_key *table, const char *key, struct fault *why)
{
    char allowed[2 * ALLOWED] = "";

    for (const struct profile_key *k = table; k->name; k++) {
        size_t used = strlen(allowed);

        snprintf(allowed + used, sizeof(allowed) - used, "%s%s", used ? " " : "", k->name);
    }
    return fault_set(why, ML_ERR_ARGUMENT, "unknown key %.80s; what is allowed is one of: %s", key,
                     allowed);
}

/* --- values ----------------------------------------------------------------------------------- */

/* Members of the kernel's and libibverbs' structs have all these sizes. */
static void whole_put(void *at, size_t size, uint64_t value)
{
    if (size == 1)
        *(uint8_t *)at = (uint8_t)value;
    else if (size == 2)
        *(uint16_t *)at = (uint16_t)value;
    else if (size == 4)
        *(uint32_t *)at = (uint32_t)value;
    else
        *(uint64_t *)at = value;
}

static bool whole_read(const struct profile_key *k, const char *value, void *at)
{
    int64_t found;

    if (strncmp(value, "0x", 2) == 0) {
        char *end;

        found = (int64_t)strtoull(value + 2, &end, 16);
        if (end == value + 2 || *end || strlen(value) > 17)
            return false;
    } else if (!number_parse_size(value, strlen(value), k->max, &found)) {
        return false;
    }
    if (found < k->min || found > k->max)
        return false;
    whole_put(at, k->size, (uint64_t)found);
    return true;
}

static const struct profile_word *word_find(const struct profile_key *k, const char *text)
{
    for (const struct profile_word *w = k->words; w->name; w++)
        if (strcmp(w->name, text) == 0)
            return w;
    return NULL;
}

static bool word_read(const struct profile_key *k, const char *value, void *at)
{
    const struct profile_word *w = word_find(k, value);

    if (w)
        whole_put(at, k->size, w->value);
    return w;
}

static bool text_read(const struct profile_key *k, const char *value, void *at)
{
    size_t length = strlen(value);

    if (length == 0 || length >= k->size)
        return false;
    memcpy(at, value, length + 1);
    return true;
}

/* As sysfs writes it: four groups of four hexadecimal digits. */
static bool guid_read(const char *value, uint64_t *out)
{
    char digits[17] = "";
    uint8_t bytes[8];

    if (strlen(value) != 19 || value[4] != ':' || value[9] != ':' || value[14] != ':')
        return false;
    for (int i = 0; i < 4; i++)
        memcpy(digits + 4 * i, value + 5 * i, 4);
    if (!hex_parse(digits, bytes, sizeof(bytes)))
        return false;
    *out = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        *out = *out << 8 | bytes[i];
    return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

static int address_add(const struct profile_key *k, const char *word, struct profile_port *p,
                       struct fault *why)
{
    /* Whether the port may have an address of IPv4 is not known yet: profile_check.c. */
    if (!notation_address(word, true, &p->addresses[p->address_count]) ||
        fabric_gid_is_zero(&p->addresses[p->address_count]))
        return value_refuse(k, word, why);
    if (p->address_count == PROFILE_ADDRESSES_MOST)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s: a port has at most %d addresses, as its table has %d GIDs", k->name,
                         PROFILE_ADDRESSES_MOST, FABRIC_GIDS_MOST);
    p->address_count++;
    return 0;
}

static int end_add(const struct profile_key *k, const char *word, struct profile_wire *w, int line,
                   struct fault *why)
{
    struct profile_end end = {.line = line}, *more;

    if (!notation_port(word, end.host, end.device, &end.port))
        return value_refuse(k, word, why);
    more = realloc(w->ends, (size_t)(w->count + 1) * sizeof(end));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    w->ends = more;
    w->ends[w->count++] = end;
    return 0;
}

static int list_read(const struct profile_key *k, const char *value, void *section, int line,
                     struct fault *why)
{
    void *at = (char *)section + k->at;
    char *copy = strdup(value), *save, *word = copy ? strtok_r(copy, " \t,", &save) : NULL;
    int rc = copy ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!rc && !word)
        rc = value_refuse(k, value, why);
    if (!rc && k->form == FORM_WORDS)
        whole_put(at, k->size, 0);
    for (; !rc && word; word = strtok_r(NULL, " \t,", &save)) {
        if (k->form == FORM_ADDRESSES)
            rc = address_add(k, word, at, why);
        else if (k->form == FORM_ENDS)
            rc = end_add(k, word, section, line, why);
        else if (word_find(k, word))
            *(uint32_t *)at |= 1U << word_find(k, word)->value;
        else
            rc = value_refuse(k, word, why);
    }
    free(copy);
    return rc;
}

static int value_read(const struct profile_key *k, const char *value, void *at, struct fault *why)
{
    bool is_read = k->form == FORM_WHOLE   ? whole_read(k, value, at)
                   : k->form == FORM_WORD  ? word_read(k, value, at)
                   : k->form == FORM_TEXT  ? text_read(k, value, at)
                   : k->form == FORM_GUID  ? guid_read(value, at)
                   : k->form == FORM_RATE  ? notation_rate(value, at)
                   : k->form == FORM_DELAY ? notation_delay(value, at)
                                           : notation_loss(value, at);

    return is_read ? 0 : value_refuse(k, value, why);
}

int profile_key_set(struct profile_section *s, const char *key, const char *value, int line,
                    struct fault *why)
{
    const struct profile_key *table = tables[s->kind_of], *k = table;
    bool may_follow, is_list;
    int *given;

    while (k->name && strcmp(k->name, key) != 0)
        k++;
    if (!k->name)
        return key_refuse(table, key, why);
    may_follow = k->form == FORM_ADDRESSES || k->form == FORM_ENDS;
    is_list = may_follow || k->form == FORM_WORDS;
    given = &s->key_lines[k - table];
    if (*given && !may_follow)
        return fault_set(why, ML_ERR_ARGUMENT, "%s is given twice, first in line %d", key, *given);
    if (!*given)
        *given = line;
    return is_list ? list_read(k, value, s, line, why)
                   : value_read(k, value, (char *)s + k->at, why);
}

int profile_key_line(const struct profile_section *s, const char *key)
{
    const struct profile_key *table = tables[s->kind_of];

    for (const struct profile_key *k = table; k->name; k++)
        if (strcmp(k->name, key) == 0)
            return s->key_lines[k - table];
    return 0;
}
