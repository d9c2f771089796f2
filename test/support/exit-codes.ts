// The exit codes of the service have the names and values of sysexits.h.

/** The service cannot start now, but may later. */
export const EX_TEMPFAIL = 75;

/** The service cannot use its settings. */
export const EX_CONFIG = 78;
