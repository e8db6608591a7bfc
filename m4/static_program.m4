dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_STATIC_PROGRAM(VARIABLE): sets it to the flags that link a program which needs nothing
dnl where it runs; to nothing where there is no libc.a, as in Fedora without glibc-static.
AC_DEFUN([MLAUNCH_STATIC_PROGRAM], [
    AC_MSG_CHECKING([for the flags of static programs])
    saved_LDFLAGS=$LDFLAGS
    $1=
    for flags in -static-pie -static; do
        LDFLAGS="$saved_LDFLAGS $flags"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [$1=$flags; break])
    done
    LDFLAGS=$saved_LDFLAGS
    AC_MSG_RESULT([${$1:-none}])
    AC_SUBST([$1])
])
