// A second copy on purpose: tests fail if a value in server/process/exit-codes.js changes. From sysexits.h.

/** Temporary failure: start again. */
export const EX_TEMPFAIL = 75;

/** An error that the operator must fix: do not restart. */
export const EX_CONFIG = 78;
