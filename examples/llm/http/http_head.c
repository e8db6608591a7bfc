/* SPDX-License-Identifier: MIT */
#include "http_head.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void http_head_refuse(struct http_head *h, int status, const char *sentence)
{
    h->status = status;
    h->sentence = sentence;
}

/* The methods that evhttp knows, those with a body first. It has a page of its own for others. */
static const char *const methods[] = {"POST", "PUT", "PATCH", "GET", "HEAD", "DELETE", "OPTIONS"};
enum { METHODS = sizeof(methods) / sizeof(methods[0]), METHODS_WITH_BODY = 3 };

static int method_find(const char *line, size_t length)
{
    int i = 0;

    while (i < METHODS && (strlen(methods[i]) != length || memcmp(methods[i], line, length) != 0))
        i++;
    return i;
}

/* " HTTP/1.1" is all that follows the target. */
static bool is_version(const char *behind)
{
    return behind && strncmp(behind, " HTTP/1.", 8) == 0 && isdigit((unsigned char)behind[8]) &&
           !behind[9];
}

/* What is between "http://" and the path: "name", "name:port" or "[address]:port". */
static bool is_authority(const char *text)
{
    size_t end = strcspn(text, "/?# "), name;

    if (*text == '[')
        name = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
    else
        name = strcspn(text, ":[]@/?# ");
    if (!name || name > end || (*text == '[' && text[name++] != ']'))
        return false;
    return name == end ||
           (text[name] == ':' && name + 1 + strspn(text + name + 1, "0123456789") == end);
}

/* "/path", "*", or a whole URL, as proxies get it. */
static bool is_target(const char *text)
{
    if (strncasecmp(text, "http://", 7) == 0)
        return is_authority(text + 7);
    if (strncasecmp(text, "https://", 8) == 0)
        return is_authority(text + 8);
    return *text == '/' || *text == '*';
}

/* "METHOD /path HTTP/1.1". The version of a line that is cut is
 * evhttp's to judge. */
static void first_line_take(struct http_head *h)
{
    size_t length = strcspn(h->line, " ");
    const char *target = h->line + length + (h->line[length] == ' ');
    bool is_cut = h->line_size > HTTP_LINE_KEPT;
    int method = method_find(h->line, length);

    if (!is_target(target) || (!is_cut && !is_version(strchr(target, ' '))))
        http_head_refuse(h, 400, "this is not a request of HTTP/1.1");
    else if (method == METHODS)
        http_head_refuse(h, 501, "this server knows the methods GET, HEAD and POST");
    h->may_have_body = method < METHODS_WITH_BODY;
}

static void length_take(struct http_head *h, const char *value)
{
    size_t digits = strspn(value, "0123456789");

    if (h->has_length)
        http_head_refuse(h, 400, "the request has Content-Length twice");
    else if (!digits || value[digits])
        http_head_refuse(h, 400, "Content-Length must be a whole number");
    h->has_length = true;
    /* What has more digits is above every bound. */
    h->length = digits > 15 ? UINT64_MAX : strtoull(value, NULL, 10);
}

static void coding_take(struct http_head *h, const char *value)
{
    if (h->is_chunked)
        http_head_refuse(h, 400, "the request has Transfer-Encoding twice");
    else if (strcasecmp(value, "chunked") != 0)
        http_head_refuse(h, 501, "this server knows no Transfer-Encoding but chunked");
    h->is_chunked = true;
}

/* True if the line is "NAME: value". *value is the text behind it, without blanks around it. */
static bool is_field(char *line, const char *name, size_t length, char **value)
{
    size_t end;

    if (strlen(name) != length || strncasecmp(line, name, length) != 0)
        return false;
    *value = line + length + 1;
    *value += strspn(*value, " \t");
    for (end = strlen(*value); end && strchr(" \t", (*value)[end - 1]); end--)
        ;
    (*value)[end] = '\0';
    return true;
}

static void field_take(struct http_head *h)
{
    size_t name = strcspn(h->line, ": \t");
    char *value;

    if (!name || h->line[name] != ':')
        http_head_refuse(h, 400, "a line of the request's head is not NAME: VALUE");
    else if (is_field(h->line, "Content-Length", name, &value))
        length_take(h, h->line_size > HTTP_LINE_KEPT ? "" : value);
    else if (is_field(h->line, "Transfer-Encoding", name, &value))
        coding_take(h, h->line_size > HTTP_LINE_KEPT ? "" : value);
    else if (is_field(h->line, "Expect", name, &value) && strcasecmp(value, "100-continue") != 0)
        http_head_refuse(h, 417, "this server knows no Expect but 100-continue");
}

static void head_end(struct http_head *h)
{
    h->is_whole = true;
    if (h->has_length && h->is_chunked)
        http_head_refuse(h, 400, "the request has both Content-Length and Transfer-Encoding");
    else if (!h->may_have_body && (h->is_chunked || h->length))
        http_head_refuse(h, 400,
                         "a request of this method has no body"); /* evhttp would not read it */
    else if (h->may_have_body && !h->is_chunked && !h->has_length)
        http_head_refuse(h, 411, "the request has no Content-Length");
    else if (h->has_length && h->length > HTTP_BODY_MOST)
        http_head_refuse(h, 413, "the body is longer than the 4 MiB that this server takes");
}

/* A line has ended; its last byte may be the return of CR LF. */
static void line_end(struct http_head *h)
{
    size_t kept = h->line_size < HTTP_LINE_KEPT ? h->line_size : HTTP_LINE_KEPT;

    if (kept && kept == h->line_size && h->line[kept - 1] == '\r')
        h->line_size = --kept;
    h->line[kept] = '\0';
    if (h->lines++ == 0)
        first_line_take(h);
    else if (kept == 0)
        head_end(h);
    else
        field_take(h);
    h->line_size = 0;
}

size_t http_head_take(struct http_head *h, const char *bytes, size_t size)
{
    size_t i = 0;

    while (i < size && !h->is_whole && !h->status) {
        unsigned char c = (unsigned char)bytes[i++];

        if (++h->size > HTTP_HEAD_MOST)
            http_head_refuse(h, 431,
                             "the head of the request is longer than the 16 KiB that this server "
                             "takes");
        else if (c == '\n')
            line_end(h);
        else if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f ||
                 (h->line_size && h->was_return))
            http_head_refuse(h, 400, "the head of the request has a control character");
        else if (h->line_size++ < HTTP_LINE_KEPT)
            h->line[h->line_size - 1] = (char)c;
        h->was_return = c == '\r';
    }
    return i;
}
