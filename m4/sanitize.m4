dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_SANITIZE: --enable-sanitize=address,undefined or =thread sets SANITIZE_CFLAGS for all
dnl code but the shim, which is preloaded into programs without a sanitizer.
AC_DEFUN([MLAUNCH_SANITIZE], [
    AC_ARG_ENABLE([sanitize],
        [AS_HELP_STRING([--enable-sanitize=LIST], [compile with -fsanitize=LIST])],
        [], [enable_sanitize=no])
    AS_IF([test "$enable_sanitize" != no],
        [SANITIZE_CFLAGS="-fsanitize=$enable_sanitize -fno-sanitize-recover=all"
         SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fno-omit-frame-pointer"
         AC_DEFINE_UNQUOTED([SANITIZE], ["$enable_sanitize"], [the sanitizers of this build])])
    AC_SUBST([SANITIZE_CFLAGS])
    SANITIZE=$enable_sanitize
    AC_SUBST([SANITIZE])
])
