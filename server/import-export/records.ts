import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { reservedValues } from '../contract.ts';
import { findUnstorable } from '../text/storable.ts';
import { type AppreciationRecord, appreciationSchema } from './appreciations.ts';
import { type BlockRecord, blockSchema } from './blocks.ts';
import { type MessageRecord, messageSchema } from './messages.ts';
import { type ParticipantRecord, participantSchema } from './participants.ts';
import { BadLineError } from './run.ts';
import { type SpaceRecord, spaceSchema } from './spaces.ts';
import { type UserRecord, userSchema } from './users.ts';

/**
 * A line of the export format, which is newline-delimited JSON. A record can refer to records in earlier lines and in
 * the database.
 *
 * Ids and times are optional. A missing id is derived from the record, so that importing the same line again adds
 * nothing. A user without an id gets a random one, and is recognised by the email address. The default of `created_at`
 * and `joined_at` is the time of the import, and that of `updated_at` is `created_at`. Other missing times are not set.
 */
export type DataRecord =
  | UserRecord
  | SpaceRecord
  | ParticipantRecord
  | MessageRecord
  | AppreciationRecord
  | BlockRecord;

/** The schema of each type. */
export const schemas = {
  user: userSchema,
  space: spaceSchema,
  participant: participantSchema,
  message: messageSchema,
  appreciation: appreciationSchema,
  block: blockSchema,
};

/** Returns the name by which other records refer to this one, which can be invalid; undefined if it has no id. */
export function nameOf(record: DataRecord): string | undefined {
  switch (record.type) {
    case 'user':
      return named('user', record.user_id);
    case 'space':
      return named('space', record.space_id);
    case 'participant':
      return `participant ${record.space_id} ${record.user_id}`;
    case 'message':
      return named('message', record.message_id);
    // Nothing refers to them.
    case 'appreciation':
    case 'block':
      return record.type;
  }
}

function named(type: DataRecord['type'], id: unknown): string | undefined {
  return typeof id === 'string' && id !== '' ? `${type} ${id}` : undefined;
}

/** Longer names of unknown fields are truncated in messages, because a name can be as long as a line. */
const MAX_QUOTED_NAME_LENGTH = 64;

const ajv = new Ajv({
  allowUnionTypes: true,
  formats: { 'date-time': isTime },
  keywords: ['x-pattern-message'],
  // Errors contain the schema, which has the messages of patterns.
  verbose: true,
});

/** Not 24:00:00, which JavaScript reads as the next midnight. */
const RFC_3339_TIME = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Whether a text is an RFC 3339 time whose year in UTC also has four digits. Stored times sort as text. */
function isTime(text: string): boolean {
  if (!RFC_3339_TIME.test(text)) return false;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return false;
  const utc = time.toISOString();
  // Most times come from an export. The other checks take twice as long.
  if (utc === text) return true;
  if (!/^\d/.test(utc)) return false;
  // JavaScript reads February 30 as March 1.
  const [date = ''] = text.split('T');
  return new Date(date).toISOString().startsWith(date);
}

const validators = Object.fromEntries(
  Object.entries(schemas).map(([type, schema]) => [type, ajv.compile(schema)]),
);

/**
 * Parses and validates a line.
 * @throws BadLineError
 */
export function parseRecord(line: string): DataRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new BadLineError('is not JSON');
  }
  const validate = validatorOf(value);
  const record = value as DataRecord;
  const reject = (reason: string) => {
    throw new BadLineError(reason, nameOf(record));
  };
  if (!validate(value)) {
    const [error] = validate.errors ?? [];
    const extra: string | undefined = error?.params.additionalProperty;
    if (extra !== undefined)
      reject(`has the unknown field ${extra.slice(0, MAX_QUOTED_NAME_LENGTH)}`);
    const field = error?.instancePath.slice(1) || 'the record';
    reject(`${field} ${error && (explainError(error, field) ?? error.message)}`);
  }
  // A well-formed line can contain unstorable characters only as escapes, so most lines need no further check.
  const mayBeUnstorable = line.includes('\\u') || !line.isWellFormed();
  if (mayBeUnstorable && findUnstorable(value) !== undefined) {
    reject('contains NUL or an unpaired surrogate');
  }
  return record;
}

/** Returns a clearer message than the default one for errors of some keywords. */
function explainError({ keyword, parentSchema }: ErrorObject, field: string): string | undefined {
  switch (keyword) {
    // `date-time` is the only format.
    case 'format':
      return 'must be an RFC 3339 time from year 0000 to 9999 in UTC';
    // Only `ownIdSchema` uses it.
    case 'not':
      return `must not be ${[...reservedValues(field)].join(' or ')}, which are fixed segments of API paths`;
    case 'pattern':
      return parentSchema?.['x-pattern-message'];
    default:
      return undefined;
  }
}

/**
 * Returns the validator for the type of a record.
 * @throws BadLineError if the value is not an object with a known type
 */
function validatorOf(value: unknown): ValidateFunction {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadLineError('is not a JSON object');
  }
  if (!('type' in value)) throw new BadLineError("the record must have required property 'type'");
  const { type } = value;
  const validate =
    typeof type === 'string' && Object.hasOwn(validators, type) ? validators[type] : undefined;
  if (!validate) throw new BadLineError(`has a type other than ${Object.keys(schemas).join(', ')}`);
  return validate;
}
