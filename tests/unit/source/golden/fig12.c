int P1(void); int P2(void); int P3(int n); int P4(int n); int MPI_Barrier(int comm); int printf(const char *, ...); int main(void) { LOUPE_PROCEDURE(0)
{ LOUPE_STATEMENT(1) P1(); }
{ LOUPE_STATEMENT(2) P2(); } return 0; }
int P1(void) { LOUPE_PROCEDURE(3)
return (LOUPE_CALL(4), P3(1)); }
int P2(void) { LOUPE_PROCEDURE(5)
return (LOUPE_CALL(6), P3(2)); }
int P3(int n) { LOUPE_PROCEDURE(7) int i, j, s = 0;
MPI_Barrier(0);
{ LOUPE_STATEMENT(8) s += P4(n); }
{ LOUPE_LOOP(9) for (i = 0; i < 3; i++) { LOUPE_ITERATION(10) {
MPI_Barrier(1);
{ LOUPE_LOOP(11) for (j = 0; j < n; j++) { LOUPE_ITERATION(12) {
{ LOUPE_STATEMENT(13) s += P4(j); } } } } } } } return s; }
int P4(int n) { LOUPE_PROCEDURE(14) return (LOUPE_CALL(15), printf("%d\n", n)); } /* SPDX-License-Identifier: MIT; lines as in Figure 12 of the paper */
int MPI_Barrier(int comm) { return comm; }
