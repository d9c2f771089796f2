// Plain JavaScript, because node-version.js imports it. From sysexits.h; the systemd unit relies on them.

/** The input has bad lines. */
export const EX_DATAERR = 65;

/** Temporary failure: start again. */
export const EX_TEMPFAIL = 75;

/** An error that the operator must fix: do not restart. */
export const EX_CONFIG = 78;
