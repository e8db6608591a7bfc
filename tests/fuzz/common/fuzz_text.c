/* SPDX-License-Identifier: MIT */
/*
 * fuzz_text.c: any bytes as the short texts that come from other hosts: an address with its port, a
 * device's port, and a sentence for the terminal.
 */
#include "common/net/address.h"
#include "common/text/port_name.h"
#include "common/text/printable.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static void address(const char *text)
{
    struct address a, again;
    char shown[ADDRESS_TEXT], twice[ADDRESS_TEXT];
    struct fault why = {0};

    address_is_literal(text);
    address_is_loopback(text);
    if (address_parse(&a, text, &why)) {
        check(why.code < 0 && why.text[0]);
        return;
    }
    address_format(&a, shown);
    check(address_parse(&again, shown, &why) == 0);
    address_format(&again, twice);
    check(strcmp(shown, twice) == 0);
}

static void port(const char *text)
{
    char device[PORT_NAME_DEVICE], shown[PORT_NAME_TEXT];
    int number = -1;

    if (!port_name_split(text, device, &number))
        return;
    check(device[0] && number >= 0 && number <= PORT_NAME_MOST);
    port_name_format(shown, device, number);
    check(strncmp(shown, device, strlen(device)) == 0);
}

static void sentence(char *text)
{
    size_t before = strlen(text);

    printable_mend(text, "\n\t");
    check(strlen(text) <= before);
    for (const unsigned char *c = (unsigned char *)text; *c; c++) {
        check((*c >= ' ' && *c != 0x7f) || *c == '\n' || *c == '\t');
        check(*c != 0xc2 || c[1] >= 0xa0);                               /* C1 */
        check(*c != 0xe2 || c[1] != 0x80 || c[2] < 0xaa || c[2] > 0xae); /* U+202A … */
        check(*c != 0xe2 || c[1] != 0x81 || c[2] < 0xa6 || c[2] > 0xa9); /* U+2066 … */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);

    if (!text)
        return 0;
    address(text);
    port(text);
    sentence(text);
    free(text);
    return 0;
}
