/* SPDX-License-Identifier: MIT */
#include "launcher/commands/draw/topology_drawing.h"

#include "common/text/utf8.h"

static const char *const styles[] = {
    [TOPOLOGY_CABLE_GOOD] = "style=solid, penwidth=3, color=\"#1f77b4\"",
    [TOPOLOGY_CABLE_SLOW] = "style=solid, penwidth=1, color=\"#d95f02\", fontcolor=\"#d95f02\"",
    [TOPOLOGY_CABLE_ONE_WAY] = "style=dashed, dir=forward, color=\"#7b3fa0\"",
    [TOPOLOGY_CABLE_SILENT] = "style=dotted, color=\"#cc2222\", fontcolor=\"#cc2222\"",
};

/* Writes a quoted string. A backslash would begin one of Graphviz's own escapes. */
static void text_draw(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text) {
        uint32_t code = 0;
        size_t length = utf8_read(text, &code);

        if (!length || code < 32 || code == 127)
            fputc('?', to);
        else if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else
            fwrite(text, 1, length, to);
        text += length ? length : 1;
    }
    fputc('"', to);
}

static void cable_draw(const struct topology_cable *l, FILE *to)
{
    fprintf(to, "  n%d -- n%d [%s, taillabel=", l->from, l->to, styles[l->state]);
    text_draw(to, l->from_port);
    fputs(", headlabel=", to);
    text_draw(to, l->to_port);
    if (l->state == TOPOLOGY_CABLE_SLOW)
        fprintf(to, ", label=\"%g Gb/s\"", l->gigabits);
    else if (l->state == TOPOLOGY_CABLE_SILENT)
        fputs(", label=\"nothing comes through\"", to);
    fputs("];\n", to);
}

void topology_dot_draw(const struct topology_picture *p, FILE *to)
{
    fputs("graph wiring {\n  layout=circo;\n  node [shape=box, style=rounded];\n"
          "  edge [fontsize=9];\n",
          to);
    for (int i = 0; i < p->count; i++) {
        fprintf(to, "  n%d [label=", i);
        text_draw(to, p->names[i]);
        fputs("];\n", to);
    }
    for (size_t k = 0; k < p->cable_count; k++)
        cable_draw(&p->cables[k], to);
    for (int i = 0; i < p->count; i++)
        for (int j = i + 1; j < p->count; j++)
            if (!topology_picture_joins(p, i, j))
                fprintf(to,
                        "  n%d -- n%d [style=dotted, color=\"#999999\", fontcolor=\"#777777\", "
                        "label=\"missing\"];\n",
                        i, j);
    fputs("}\n", to);
}
