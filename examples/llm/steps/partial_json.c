/* SPDX-License-Identifier: MIT */
#include "partial_json.h"

#include <string.h>

enum { DEPTH_MOST = 64, DIGITS_MOST = 15, EXPONENT_MOST = 2, SPACES_MOST = 32 };

enum {
    BEGIN,         /* { */
    FIRST_KEY,     /* " or } */
    KEY,           /* " behind a comma */
    COLON,         /* : */
    VALUE,         /* any value */
    FIRST_VALUE,   /* any value or ] */
    NEXT,          /* , or what closes */
    WHOLE,         /* nothing */
    STRING,        /* characters, or " */
    ESCAPE,        /* behind \ */
    HEX,           /* the first digit behind \u */
    HEX_D,         /* the second one behind d, which must not make a surrogate */
    HEX_ZERO,      /* behind zeros, of which four are too many */
    HEX_MORE,      /* the last ones */
    WORD,          /* letters of true, false or null */
    MINUS,         /* the first digit */
    ZERO,          /* what follows a number, or . or e; no digit */
    DIGITS,        /* the same, or digits */
    POINT,         /* the first digit behind it */
    FRACTION,      /* digits, e, or what follows */
    EXPONENT,      /* sign or digit */
    EXPONENT_SIGN, /* digit */
    EXPONENT_MORE  /* digit or what follows */
};

void partial_json_begin(struct partial_json *p)
{
    *p = (struct partial_json){.state = BEGIN};
}

bool partial_json_is_whole(const struct partial_json *p)
{
    return p->state == WHOLE;
}

static bool is_list(const struct partial_json *p)
{
    return p->lists >> (p->depth - 1) & 1;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The state that follows, and with it a count of 1. */
static bool become(struct partial_json *p, int state)
{
    p->state = (uint8_t)state;
    p->count = 1;
    return true;
}

static bool open_level(struct partial_json *p, bool list)
{
    uint64_t bit = UINT64_C(1) << (p->depth % DEPTH_MOST);

    if (p->depth == DEPTH_MOST)
        return false;
    p->lists = list ? p->lists | bit : p->lists & ~bit;
    p->depth++;
    return become(p, list ? FIRST_VALUE : FIRST_KEY);
}

static bool close_level(struct partial_json *p)
{
    return become(p, --p->depth ? NEXT : WHOLE);
}

static bool open_string(struct partial_json *p, bool is_key)
{
    p->is_key = is_key;
    return become(p, STRING);
}

static bool open_value(struct partial_json *p, char c)
{
    switch (c) {
    case '{':
    case '[':
        return open_level(p, c == '[');
    case '"':
        return open_string(p, false);
    case 't':
    case 'f':
    case 'n':
        p->word = c == 't' ? "true" : c == 'f' ? "false" : "null";
        return become(p, WORD);
    case '-':
        return become(p, MINUS);
    case '0':
        return become(p, ZERO);
    default:
        return is_digit(c) && become(p, DIGITS);
    }
}

/* Behind a value. */
static bool take_next(struct partial_json *p, char c)
{
    if (c == ',')
        return become(p, is_list(p) ? VALUE : KEY);
    return c == (is_list(p) ? ']' : '}') && close_level(p);
}

/* One more digit, if that are not too many. */
static bool take_digit(struct partial_json *p, char c, int most)
{
    return is_digit(c) && p->count++ < most;
}

static bool take_number(struct partial_json *p, char c)
{
    switch (p->state) {
    case MINUS:
        return is_digit(c) && become(p, c == '0' ? ZERO : DIGITS);
    case POINT:
        return is_digit(c) && become(p, FRACTION);
    case EXPONENT:
        if (c == '+' || c == '-')
            return become(p, EXPONENT_SIGN);
        return is_digit(c) && become(p, EXPONENT_MORE);
    case EXPONENT_SIGN:
        return is_digit(c) && become(p, EXPONENT_MORE);
    case EXPONENT_MORE:
        return is_digit(c) ? take_digit(p, c, EXPONENT_MOST) : take_next(p, c);
    default: /* ZERO, DIGITS, FRACTION */
        if (c == '.' && p->state != FRACTION)
            return become(p, POINT);
        if (c == 'e' || c == 'E')
            return become(p, EXPONENT);
        if (is_digit(c))
            return p->state != ZERO && take_digit(p, c, DIGITS_MOST);
        return take_next(p, c);
    }
}

static bool take_hex(struct partial_json *p, char c)
{
    if (is_hex(c) && ++p->count == 4)
        p->state = STRING;
    return is_hex(c);
}

static bool take_string(struct partial_json *p, char c)
{
    switch (p->state) {
    case ESCAPE:
        if (c == 'u')
            return become(p, HEX);
        return c && strchr("\"\\/bfnrt", c) && become(p, STRING);
    case HEX:
        if (c == '0')
            return become(p, HEX_ZERO);
        return is_hex(c) && become(p, c == 'd' || c == 'D' ? HEX_D : HEX_MORE);
    case HEX_ZERO:
        if (c == '0')
            return ++p->count < 4;
        p->state = HEX_MORE;
        return take_hex(p, c);
    case HEX_D:
        return c >= '0' && c <= '7' && become(p, HEX_MORE) && ++p->count;
    case HEX_MORE:
        return take_hex(p, c);
    default:
        if (c == '"')
            return become(p, p->is_key ? COLON : NEXT);
        if (c == '\\')
            return become(p, ESCAPE);
        return (unsigned char)c >= ' ';
    }
}

static bool take_word(struct partial_json *p, char c)
{
    if (c != p->word[p->count])
        return false;
    if (!p->word[++p->count])
        p->state = NEXT;
    return true;
}

/* Behind the first {; a number ends with it. */
static bool take_space(struct partial_json *p)
{
    switch (p->state) {
    case BEGIN:
        return false;
    case ZERO:
    case DIGITS:
    case FRACTION:
    case EXPONENT_MORE:
        p->state = NEXT;
        break;
    default:
        if (p->state > WHOLE)
            return false;
    }
    return ++p->spaces <= SPACES_MOST;
}

static bool take(struct partial_json *p, char c)
{
    bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';

    if (is_space && (p->state < STRING || p->state > HEX_MORE))
        return take_space(p);
    p->spaces = 0;
    switch (p->state) {
    case BEGIN:
        return c == '{' && open_level(p, false);
    case FIRST_KEY:
        return c == '}' ? close_level(p) : c == '"' && open_string(p, true);
    case KEY:
        return c == '"' && open_string(p, true);
    case COLON:
        return c == ':' && become(p, VALUE);
    case FIRST_VALUE:
        return c == ']' ? close_level(p) : open_value(p, c);
    case VALUE:
        return open_value(p, c);
    case NEXT:
        return take_next(p, c);
    case WHOLE:
        return false;
    case WORD:
        return take_word(p, c);
    default:
        return p->state < WORD ? take_string(p, c) : take_number(p, c);
    }
}

bool partial_json_add(struct partial_json *p, const char *bytes, size_t length)
{
    struct partial_json next = *p;

    for (size_t i = 0; i < length; i++) {
        if (!take(&next, bytes[i]))
            return false;
    }
    *p = next;
    return true;
}

char partial_json_next(const struct partial_json *p)
{
    switch (p->state) {
    case BEGIN:
        return '{';
    case FIRST_KEY:
        return '}';
    case COLON:
        return ':';
    case VALUE:
        return 'n';
    case FIRST_VALUE:
        return ']';
    case WORD:
        return p->word[p->count];
    case KEY:
    case STRING:
        return '"';
    case ESCAPE:
        return 'n';
    case HEX_ZERO:
        return '1';
    case HEX:
    case HEX_D:
    case HEX_MORE:
    case MINUS:
    case POINT:
    case EXPONENT:
    case EXPONENT_SIGN:
        return '0';
    default: /* NEXT, and numbers that may end */
        return is_list(p) ? ']' : '}';
    }
}
