/** The property of messages with announcements, which the supervisor passes on between workers that have no other way. */
export const ANNOUNCEMENTS = 'announcedEvents';
