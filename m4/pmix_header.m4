dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_PMIX_HEADER: have_pmix=yes if there is a pmix.h where pmix.pc says, or in the directory
dnl of a version, of which Debian 11's pmix.pc knows nothing. PMIX_CPPFLAGS names it as a system's,
dnl because its macros do not satisfy our warnings.
AC_DEFUN([MLAUNCH_PMIX_HEADER], [
    PMIX_CPPFLAGS=`echo "$PMIX_CFLAGS" | $SED 's/-I */-isystem /g'`
    pmix_dir=`$PKG_CONFIG --variable=libdir pmix`/pmix2/include
    AS_IF([test -f "$pmix_dir/pmix.h"], [PMIX_CPPFLAGS="$PMIX_CPPFLAGS -isystem $pmix_dir"])
    AC_SUBST([PMIX_CPPFLAGS])
    saved_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $PMIX_CPPFLAGS"
    AC_CHECK_HEADER([pmix_server.h], [have_pmix=yes])
    CPPFLAGS=$saved_CPPFLAGS
])
