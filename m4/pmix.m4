dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_PMIX: have_pmix=yes if libpmix can be used as pmix.pc says, or in the directory of
dnl a version, of which Debian 11's pmix.pc knows nothing. PMIX_CPPFLAGS names that as a system's,
dnl because its macros do not satisfy our warnings.
AC_DEFUN([MLAUNCH_PMIX], [
    PMIX_CPPFLAGS=`echo "$PMIX_CFLAGS" | $SED 's/-I */-isystem /g'`
    pmix_dir=`$PKG_CONFIG --variable=libdir pmix`/pmix2
    pmix_stated=`$PKG_CONFIG --variable=includedir pmix`/pmix.h
    AS_IF([test -f "$pmix_dir/include/pmix.h" && test ! -f "$pmix_stated"],
        [PMIX_CPPFLAGS="$PMIX_CPPFLAGS -isystem $pmix_dir/include"
        PMIX_LIBS="-L$pmix_dir/lib $PMIX_LIBS"])
    AC_SUBST([PMIX_CPPFLAGS])
    saved_CPPFLAGS=$CPPFLAGS saved_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $PMIX_CPPFLAGS" LIBS="$PMIX_LIBS $LIBS"
    AC_CHECK_HEADER([pmix_server.h], [AC_CHECK_FUNC([PMIx_server_init], [have_pmix=yes])])
    CPPFLAGS=$saved_CPPFLAGS LIBS=$saved_LIBS
])
