dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_WARNINGS: sets WARN_CFLAGS; --enable-werror for CI.
AC_DEFUN([MLAUNCH_WARNINGS], [
    AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])],
        [], [enable_werror=no])
    WARN_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla"
    AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
    AC_SUBST([WARN_CFLAGS])
])
