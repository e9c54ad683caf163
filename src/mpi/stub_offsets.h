/* SPDX-License-Identifier: MIT */
/* Offsets in struct runtime_tls for the assembler; resolve.c checks them. */
#define TLS_FORTRAN_FRAME   8
#define TLS_FORTRAN_ADDRESS 16
#define TLS_FORTRAN_CALL    24
#define TLS_VIA_PMPI        28
#define TLS_READY           32
