import { onItem } from '../command-line/on-database.ts';
import { removeMessage } from '../messages/messages.ts';
import { removeSpace } from '../spaces/space-deletion.ts';

export const removeReportedSpace = onItem(
  removeSpace,
  (spaceId) => `There is no space with the id ${spaceId}.`,
  (spaceId) => `The space ${spaceId} and its messages have been deleted.`,
);

export const removeReportedMessage = onItem(
  removeMessage,
  (messageId) => `There is no message with the id ${messageId}.`,
  (messageId) => `The message ${messageId} has been deleted.`,
);
