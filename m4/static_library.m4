dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_STATIC_LIBRARY(NAME, ARCHIVE, SHARED-FLAG, HEADER): sets NAME_LIBS to the static
dnl archive, so that the agent and the runtime need nothing on a host but libc; where there is no
dnl archive, to the shared library, and adds that to SHARED_LIBRARIES, of which configure warns.
AC_DEFUN([MLAUNCH_STATIC_LIBRARY], [
    AC_CHECK_HEADER([$4], [],
        [AC_MSG_ERROR([$4 is missing: install the library's development package])])
    AC_MSG_CHECKING([for $2])
    $1_LIBS=`$CC -print-file-name=$2`
    AS_CASE([$$1_LIBS], [/*], [],
        [$1_LIBS="$3"
         AS_VAR_APPEND([SHARED_LIBRARIES], [" $3"])])
    AC_MSG_RESULT([$$1_LIBS])
    AC_SUBST([$1_LIBS])
])
