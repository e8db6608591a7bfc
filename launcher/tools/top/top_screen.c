/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include "launcher/tools/top/top_screen.h"

#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ESCAPE_MS = 25 /* after which an escape is a key of its own */ };

struct top_screen {
    SCREEN *screen;
    attr_t styles[TOP_STYLE_CURSOR + 1];
};

static void styles_choose(struct top_screen *s)
{
    enum { RED = 1 };

    s->styles[TOP_STYLE_HEAD] = A_BOLD;
    s->styles[TOP_STYLE_TITLE] = A_UNDERLINE;
    s->styles[TOP_STYLE_JOB] = A_BOLD;
    s->styles[TOP_STYLE_BAD] = A_BOLD;
    s->styles[TOP_STYLE_CURSOR] = A_REVERSE;
    if (has_colors() && start_color() == OK && use_default_colors() == OK &&
        init_pair(RED, COLOR_RED, -1) == OK)
        s->styles[TOP_STYLE_BAD] = A_BOLD | COLOR_PAIR(RED);
}

int top_screen_open(struct top_screen **out, struct fault *why)
{
    struct top_screen *s = calloc(1, sizeof(*s));
    const char *term = getenv("TERM");

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    setlocale(LC_CTYPE, "");
    s->screen = newterm(NULL, stdout, stdin);
    if (!s->screen) {
        free(s);
        return fault_set(why, ML_ERR_SYSTEM,
                         "the terminal cannot be used: TERM=%.60s is not known here, or lacks "
                         "what is needed; mlaunch top --batch writes text",
                         term ? term : "");
    }
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    leaveok(stdscr, TRUE);
    curs_set(0);
    styles_choose(s);
    *out = s;
    return 0;
}

void top_screen_close(struct top_screen *s)
{
    if (!s)
        return;
    endwin();
    delscreen(s->screen);
    free(s);
}

size_t top_screen_height(const struct top_screen *s)
{
    (void)s;
    return LINES > 0 ? (size_t)LINES : 1;
}

/* Bytes of the text that a line has room for. In a locale without UTF-8 other characters than those
 * of ASCII become '?'. */
static void line_put(int at, const char *text)
{
    wchar_t wide[TOP_TEXT];
    size_t used = 0;
    mbstate_t state = {0};
    int columns = 0;

    while (*text && used < TOP_TEXT - 1) {
        size_t size = mbrtowc(&wide[used], text, strlen(text), &state);
        int width;

        if (size == (size_t)-1 || size == (size_t)-2 || size == 0) {
            memset(&state, 0, sizeof(state));
            size = 1;
            wide[used] = L'?';
            while ((text[size] & 0xc0) == 0x80)
                size++;
        }
        width = wcwidth(wide[used]);
        if (width < 0) {
            wide[used] = L'?';
            width = 1;
        }
        columns += width;
        if (columns > COLS)
            break;
        text += size;
        used++;
    }
    mvaddnwstr(at, 0, wide, (int)used);
}

void top_screen_draw(struct top_screen *s, const struct top_picture *p, bool is_anew)
{
    erase();
    for (size_t i = 0; i < p->height && (int)i < LINES; i++) {
        attrset((int)s->styles[p->lines[i].style]);
        line_put((int)i, p->lines[i].text);
    }
    attrset(A_NORMAL);
    if (is_anew)
        clearok(curscr, TRUE);
    refresh();
}

static const struct known_key {
    int curses;
    enum top_key key;
} keys[] = {
    {KEY_UP, TOP_KEY_UP},       {KEY_DOWN, TOP_KEY_DOWN},     {KEY_LEFT, TOP_KEY_LEFT},
    {KEY_RIGHT, TOP_KEY_RIGHT}, {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
    {KEY_HOME, TOP_KEY_HOME},   {KEY_END, TOP_KEY_END},       {KEY_RESIZE, TOP_KEY_REDRAW}};

int top_screen_key(struct top_screen *s)
{
    int c = getch();

    (void)s;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (c == keys[i].curses)
            return keys[i].key;
    if (c == KEY_ENTER)
        return '\n';
    return c == ERR ? TOP_KEY_NONE : c < 256 ? c : TOP_KEY_REDRAW;
}

void top_screen_resize(struct top_screen *s)
{
    struct winsize size;

    (void)s;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
}
