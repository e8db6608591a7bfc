/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/pickle_value.h"

#include "common/text/text_json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MOST = 1 << 21, /* which take some 100 MB */
    DEPTH_MOST = 32,       /* a dump's is 5; jansson releases values by recursion */

    /* https://docs.python.org/3/library/pickletools.html; those of protocol 2 in torch's files. */
    MARK = '(',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    EMPTY_TUPLE = ')',
    SETITEMS = 'u',
    APPENDS = 'e',
    TUPLE = 't',
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NONE = 'N',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    BINUNICODE = 'X',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    BINGET = 'h',
    LONG_BINGET = 'j',
    GLOBAL = 'c',
    REDUCE = 'R',
    PROTO = 0x80,
    STOP = '.',
};

struct item {
    json_t *value; /* owned; NULL: a mark */
    int depth;
};

struct items {
    struct item *list;
    size_t count, room;
};

struct pickle_reader {
    const uint8_t *at, *end;
    struct items stack, memo;
    size_t pushed;
};

/* Takes over the value, also if it fails. */
static bool items_add(struct pickle_reader *r, struct items *s, json_t *value, int depth)
{
    if (++r->pushed > VALUES_MOST || depth > DEPTH_MOST) {
        json_decref(value);
        return false;
    }
    if (s->count == s->room) {
        struct item *more = realloc(s->list, (s->room * 2 + 64) * sizeof(*more));

        if (!more) {
            json_decref(value);
            return false;
        }
        s->list = more;
        s->room = s->room * 2 + 64;
    }
    s->list[s->count++] = (struct item){value, depth};
    return true;
}

/* Takes over a value that has just been made; NULL: it could not be. */
static bool value_push(struct pickle_reader *r, json_t *value)
{
    return value && items_add(r, &r->stack, value, 0);
}

static void items_cut(struct items *s, size_t count)
{
    while (s->count > count)
        json_decref(s->list[--s->count].value);
}

/* The next `size` bytes; NULL: it ends before. */
static const uint8_t *bytes_take(struct pickle_reader *r, size_t size)
{
    const uint8_t *at = r->at;

    if ((size_t)(r->end - at) < size)
        return NULL;
    r->at += size;
    return at;
}

/* A whole number of `size` bytes, the lowest first. */
static bool whole_take(struct pickle_reader *r, size_t size, uint64_t *out)
{
    const uint8_t *bytes = bytes_take(r, size);

    if (!bytes)
        return false;
    *out = 0;
    for (size_t i = size; i-- > 0;)
        *out = *out << 8 | bytes[i];
    return true;
}

static bool whole_push(struct pickle_reader *r, size_t size, bool is_signed)
{
    uint64_t value = 0;

    if (!whole_take(r, size, &value))
        return false;
    if (is_signed && size < 8 && value >> (size * 8 - 1) & 1)
        value |= ~UINT64_C(0) << (size * 8);
    return value_push(r, json_integer((json_int_t)value));
}

static bool long_push(struct pickle_reader *r)
{
    uint64_t size = 0;

    return whole_take(r, 1, &size) && size <= 8 && whole_push(r, (size_t)size, size > 0);
}

/* The highest byte first. */
static bool float_push(struct pickle_reader *r)
{
    const uint8_t *bytes = bytes_take(r, 8);
    uint64_t bits = 0;
    double value;

    if (!bytes)
        return false;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&value, &bits, sizeof(value));
    /* JSON has no infinity and no NaN. */
    return value_push(r, value - value == 0 ? json_real(value) : json_null());
}

static bool text_push(struct pickle_reader *r)
{
    const uint8_t *bytes;
    uint64_t size = 0;
    char *text;
    bool is_pushed;

    if (!whole_take(r, 4, &size))
        return false;
    bytes = bytes_take(r, (size_t)size);
    if (!bytes)
        return false;
    text = strndup((const char *)bytes, (size_t)size);
    is_pushed = text && value_push(r, text_json(text));
    free(text);
    return is_pushed;
}

/* What is called is never looked at. */
static bool global_push(struct pickle_reader *r)
{
    for (int line = 0; line < 2; line++) {
        const uint8_t *end = memchr(r->at, '\n', (size_t)(r->end - r->at));

        if (!end)
            return false;
        r->at = end + 1;
    }
    return value_push(r, json_null());
}

/* The index behind the last mark. */
static bool mark_find(const struct pickle_reader *r, size_t *out)
{
    for (size_t i = r->stack.count; i-- > 0;) {
        if (r->stack.list[i].value)
            continue;
        *out = i + 1;
        return true;
    }
    return false;
}

static bool has_values(const struct pickle_reader *r, size_t count)
{
    if (r->stack.count < count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!r->stack.list[r->stack.count - 1 - i].value)
            return false;
    return true;
}

/* Puts the items from `first` on into a new array, which takes the place of what is from `base`
 * on. */
static bool tuple_make(struct pickle_reader *r, size_t base, size_t first)
{
    json_t *array = json_array();
    int depth = 1;

    for (size_t i = first; array && i < r->stack.count; i++) {
        if (json_array_append(array, r->stack.list[i].value)) {
            json_decref(array);
            array = NULL;
        } else if (r->stack.list[i].depth >= depth) {
            depth = r->stack.list[i].depth + 1;
        }
    }
    items_cut(&r->stack, base);
    return array && items_add(r, &r->stack, array, depth);
}

static bool tuple_push(struct pickle_reader *r, size_t count)
{
    size_t first = r->stack.count - count;

    return has_values(r, count) && tuple_make(r, first, first);
}

static int container_add(json_t *container, const struct item *items, size_t count)
{
    int failed = 0;

    if (json_is_array(container)) {
        for (size_t i = 0; i < count && !failed; i++)
            failed = json_array_append(container, items[i].value);
        return failed;
    }
    for (size_t i = 0; i + 1 < count && !failed; i += 2) {
        const char *key = json_string_value(items[i].value);

        if (key)
            failed = json_object_set_nocheck(container, key, items[i + 1].value);
    }
    return failed;
}

/* Adds what is behind the last mark to the container before it. Only the stack may hold that: thus
 * a value never holds itself. */
static bool container_fill(struct pickle_reader *r, json_type type)
{
    struct item *into, *list = r->stack.list;
    size_t first;
    int failed;

    if (!mark_find(r, &first) || first < 2)
        return false;
    into = &list[first - 2];
    if (!into->value || json_typeof(into->value) != type || into->value->refcount != 1)
        return false;
    for (size_t i = first; i < r->stack.count; i++)
        if (list[i].depth >= into->depth)
            into->depth = list[i].depth + 1;
    failed = container_add(into->value, list + first, r->stack.count - first);
    items_cut(&r->stack, first - 1);
    return !failed && into->depth <= DEPTH_MOST;
}

static bool memo_put(struct pickle_reader *r, size_t size)
{
    const struct item *top;
    uint64_t index = 0;

    if (!whole_take(r, size, &index) || !has_values(r, 1) || index != r->memo.count)
        return false;
    top = &r->stack.list[r->stack.count - 1];
    return items_add(r, &r->memo, json_incref(top->value), top->depth);
}

static bool memo_get(struct pickle_reader *r, size_t size)
{
    uint64_t index = 0;

    if (!whole_take(r, size, &index) || index >= r->memo.count)
        return false;
    return items_add(r, &r->stack, json_incref(r->memo.list[index].value),
                     r->memo.list[index].depth);
}

/* In place of what is called and its arguments: the first of them. */
static bool call_replace(struct pickle_reader *r)
{
    struct item *arguments;
    json_t *first;

    if (!has_values(r, 2))
        return false;
    arguments = &r->stack.list[r->stack.count - 1];
    if (!json_is_array(arguments->value))
        return false;
    first = json_incref(json_array_get(arguments->value, 0));
    if (!first)
        first = json_null();
    json_decref(arguments[-1].value);
    arguments[-1] = (struct item){first, arguments->depth};
    items_cut(&r->stack, r->stack.count - 1);
    return true;
}

static bool tuple_close(struct pickle_reader *r)
{
    size_t first;

    return mark_find(r, &first) && tuple_make(r, first - 1, first);
}

static bool container_push(struct pickle_reader *r, json_t *value)
{
    return value && items_add(r, &r->stack, value, 1);
}

static bool version_skip(struct pickle_reader *r)
{
    return bytes_take(r, 1);
}

static bool opcode_run(struct pickle_reader *r, uint8_t opcode)
{
    switch (opcode) {
    case PROTO:
        return version_skip(r);
    case MARK:
        return items_add(r, &r->stack, NULL, 0);
    case EMPTY_DICT:
        return container_push(r, json_object());
    case EMPTY_LIST:
    case EMPTY_TUPLE:
        return container_push(r, json_array());
    case SETITEMS:
        return container_fill(r, JSON_OBJECT);
    case APPENDS:
        return container_fill(r, JSON_ARRAY);
    case TUPLE:
        return tuple_close(r);
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        return tuple_push(r, (size_t)(opcode - TUPLE1) + 1);
    case NONE:
        return value_push(r, json_null());
    case NEWTRUE:
    case NEWFALSE:
        return value_push(r, json_boolean(opcode == NEWTRUE));
    case BININT:
        return whole_push(r, 4, true);
    case BININT1:
        return whole_push(r, 1, false);
    case BININT2:
        return whole_push(r, 2, false);
    case LONG1:
        return long_push(r);
    case BINFLOAT:
        return float_push(r);
    case BINUNICODE:
        return text_push(r);
    case BINPUT:
        return memo_put(r, 1);
    case LONG_BINPUT:
        return memo_put(r, 4);
    case BINGET:
        return memo_get(r, 1);
    case LONG_BINGET:
        return memo_get(r, 4);
    case GLOBAL:
        return global_push(r);
    case REDUCE:
        return call_replace(r);
    default:
        return false;
    }
}

json_t *pickle_value_read(const void *bytes, size_t size)
{
    struct pickle_reader r = {.at = bytes, .end = (const uint8_t *)bytes + size};
    json_t *value = NULL;
    bool is_good = true;

    while (is_good && r.at < r.end && *r.at != STOP)
        is_good = opcode_run(&r, *r.at++);
    if (is_good && r.at < r.end && r.stack.count == 1 && has_values(&r, 1))
        value = json_incref(r.stack.list[0].value);
    items_cut(&r.stack, 0);
    items_cut(&r.memo, 0);
    free(r.stack.list);
    free(r.memo.list);
    return value;
}
