import { type ParameterType, prepareWriteMany } from '../database/prepared.ts';
import type { NewRow } from '../database/schema.ts';
import { assertMessageText } from '../messages/message-text.ts';
import { countWords } from '../text/word-count.ts';
import { deriveId, timeOrNow } from './defaults.ts';
import { findParticipations } from './import-participants.ts';
import { findMessages, findSpaces, findUsers, requireKnown } from './import-references.ts';
import { contentsOf, convertLines, countRecords, type ImportRun, type Line } from './import-run.ts';
import { type AppreciationRecord, BadLineError, type MessageRecord } from './records.ts';

const insertMessages = prepareWriteMany(
  {
    message_id: 'text',
    space_pk: 'bigint',
    author_pk: 'bigint',
    text: 'text',
    word_count: 'bigint',
    created_at: 'text',
  } satisfies Record<keyof NewRow<'messages'>, ParameterType>,
  (db, rows) =>
    db
      .insertInto('messages')
      .values(rows)
      .onConflict((conflict) => conflict.column('message_id').doNothing())
      .returning('pk'),
);

export async function addMessages(
  run: ImportRun,
  records: readonly Line<MessageRecord>[],
): Promise<void> {
  const { trx, report } = run;
  const spaces = await findSpaces(run, records);
  const users = await findUsers(run, records, 'author_id');
  const resolved = convertLines(report, records, (record) => {
    assertMessageText(record.text);
    return {
      record,
      space_pk: requireKnown(spaces, record.space_id, 'space_id').pk,
      user_pk: requireKnown(users, record.author_id, 'author_id'),
    };
  });
  const participations = await findParticipations(run, contentsOf(resolved));
  const valid = convertLines(report, resolved, ({ record, space_pk, user_pk }) => {
    if (!participations.has({ space_pk, user_pk })) {
      throw new BadLineError('has an author who never joined the space');
    }
    return {
      message_id:
        record.message_id ??
        deriveId('message', record.space_id, record.author_id, record.text, record.created_at),
      space_pk,
      author_pk: user_pk,
      text: record.text,
      word_count: countWords(record.text),
      created_at: timeOrNow(record.created_at),
    };
  });
  const added = await insertMessages(trx, contentsOf(valid));
  countRecords(report, valid.length, added.length);
}

const insertAppreciations = prepareWriteMany(
  { message_pk: 'bigint', user_pk: 'bigint', author_pk: 'bigint', created_at: 'text' },
  (db, rows) =>
    db
      .insertInto('appreciations')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('message_pk'),
);

export async function addAppreciations(
  run: ImportRun,
  records: readonly Line<AppreciationRecord>[],
): Promise<void> {
  const { trx, report } = run;
  const users = await findUsers(run, records, 'user_id');
  const messages = await findMessages(run, records);
  const valid = convertLines(report, records, (record) => {
    const userPk = requireKnown(users, record.user_id, 'user_id');
    const message = requireKnown(messages, record.message_id, 'message_id');
    if (message.author_pk === userPk) {
      throw new BadLineError('is an appreciation of one’s own message');
    }
    return {
      message_pk: message.pk,
      user_pk: userPk,
      author_pk: message.author_pk,
      created_at: timeOrNow(record.created_at),
    };
  });
  const added = await insertAppreciations(trx, contentsOf(valid));
  countRecords(report, valid.length, added.length);
}
