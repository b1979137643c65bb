# `./pando package`: a Debian package of the program, the library with its headers, the manual and
# the completion, for sites that build once and install everywhere.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pando)
set(CPACK_PACKAGE_VENDOR "The Pando authors")
set(CPACK_PACKAGE_CONTACT "The Pando authors <pando@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "train convolutional networks on CPUs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Libraries that the program is linked with, by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What a run without flags trains on, and what `pando run` starts instances with.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "dataset-fashion-mnist, openmpi-bin, ca-certificates")
# What programs that are linked with the static library need.
pando_foreign_packages(development ${linked})
list(JOIN development ", " CPACK_DEBIAN_PACKAGE_SUGGESTS)
include(CPack)
