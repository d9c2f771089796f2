/** The exit code of the service for settings that it cannot use, as in sysexits.h. */
export const EX_CONFIG = 78;
