import { Ajv, type ValidateFunction } from 'ajv';
import { AVATAR_NAME_PATTERN } from '../avatars/store.ts';
import { componentSchema, reservedValues } from '../contract.ts';
import { findUnstorable } from '../text/storable.ts';

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
  | AppreciationRecord;

export interface UserRecord {
  type: 'user';
  user_id?: string;
  username: string;
  /** Whether the username is from before the current rules, so that it may break them or look like another one. */
  has_old_username?: boolean | undefined;
  email: string;
  /** An Argon2 hash, see `isPasswordHash`. Without one, the user cannot sign in until the operator sets a password. */
  password_hash?: string;
  bio?: string;
  /** File name of the avatar. The files are not part of the format. */
  picture?: string;
  is_verified?: boolean;
  created_at?: string;
  updated_at?: string;
  /** When the operator suspended the account. Without it, the account is not suspended. */
  suspended_at?: string;
}

export interface SpaceRecord {
  type: 'space';
  space_id?: string;
  creator_id: string;
  title: string;
  description?: string;
  visibility?: 'public' | 'private';
  /** Only for a private space. At least 22 characters. If it is missing, the import generates one. */
  invitation_code?: string;
  tags?: string[];
  /**
   * The id of each tag. A tag that exists keeps its id. An id that belongs to another tag, or is greater than 2^52, is
   * not used.
   */
  tag_ids?: number[];
  created_at?: string;
}

export interface ParticipantRecord {
  type: 'participant';
  space_id: string;
  user_id: string;
  joined_at?: string;
  left_at?: string | null;
  /** When the creator of the space removed the user. Requires `left_at`. */
  removed_at?: string | null;
}

export interface MessageRecord {
  type: 'message';
  message_id?: string;
  space_id: string;
  author_id: string;
  text: string;
  created_at?: string;
}

export interface AppreciationRecord {
  type: 'appreciation';
  message_id: string;
  user_id: string;
  created_at?: string;
}

const { minLength, maxLength, pattern } = componentSchema('Id');
const id = { type: 'string', minLength, maxLength, pattern };
const time = { type: 'string', format: 'date-time' };

/** Returns the schema of a record's own id. References can be reserved ids, because older versions imported them. */
function ownIdSchema(field: string): object {
  const reserved = [...reservedValues(field)];
  return reserved.length === 0 ? id : { ...id, not: { enum: reserved } };
}

/** Returns the schema of a text with the contract's maximum length. Domain functions check the other rules. */
function textSchema(schema: string, property: string): object {
  const { maxLength } = componentSchema(schema, property);
  if (maxLength === undefined) throw new Error(`${schema}.${property} has no maxLength.`);
  return { type: 'string', maxLength };
}

/** The length of generated codes, 128 random bits in base64url. Shorter ones could be guessed. */
const MIN_INVITATION_CODE_LENGTH = 22;

const tagNames = componentSchema('SpaceCreation', 'tags');

function recordSchema(
  type: string,
  required: string[],
  properties: Record<string, object>,
): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['type', ...required],
    properties: { type: { const: type }, ...properties },
  };
}

const schemas = {
  user: recordSchema('user', ['username', 'email'], {
    user_id: ownIdSchema('user_id'),
    username: textSchema('Registration', 'username'),
    has_old_username: { type: 'boolean' },
    email: textSchema('Registration', 'email'),
    password_hash: { type: 'string', maxLength: 500 },
    bio: textSchema('BioChange', 'bio'),
    picture: { type: 'string', pattern: AVATAR_NAME_PATTERN.source },
    is_verified: { type: 'boolean' },
    created_at: time,
    updated_at: time,
    suspended_at: time,
  }),
  space: recordSchema('space', ['creator_id', 'title'], {
    space_id: ownIdSchema('space_id'),
    creator_id: id,
    title: textSchema('SpaceCreation', 'title'),
    description: textSchema('SpaceCreation', 'description'),
    visibility: { enum: ['public', 'private'] },
    invitation_code: { ...id, minLength: MIN_INVITATION_CODE_LENGTH },
    tags: {
      type: 'array',
      maxItems: tagNames.maxItems,
      items: { type: 'string', maxLength: tagNames.items?.maxLength },
    },
    tag_ids: {
      type: 'array',
      maxItems: tagNames.maxItems,
      items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    },
    created_at: time,
  }),
  participant: recordSchema('participant', ['space_id', 'user_id'], {
    space_id: id,
    user_id: id,
    joined_at: time,
    left_at: { ...time, type: ['string', 'null'] },
    removed_at: { ...time, type: ['string', 'null'] },
  }),
  message: recordSchema('message', ['space_id', 'author_id', 'text'], {
    message_id: ownIdSchema('message_id'),
    space_id: id,
    author_id: id,
    text: textSchema('MessageCreation', 'text'),
    created_at: time,
  }),
  appreciation: recordSchema('appreciation', ['message_id', 'user_id'], {
    message_id: id,
    user_id: id,
    created_at: time,
  }),
};

/** Longer names of unknown fields are truncated in messages, because a name can be as long as a line. */
const MAX_QUOTED_NAME_LENGTH = 64;

const ajv = new Ajv({ allowUnionTypes: true, formats: { 'date-time': isTime } });

/** Not 24:00:00, which JavaScript reads as the next midnight. */
const RFC_3339_TIME = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Whether a text is an RFC 3339 time whose year in UTC also has four digits. Stored times sort as text. */
function isTime(text: string): boolean {
  if (!RFC_3339_TIME.test(text)) return false;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || !/^\d/.test(time.toISOString())) return false;
  // JavaScript reads February 30 as March 1.
  const [date = ''] = text.split('T');
  return new Date(date).toISOString().startsWith(date);
}

const validators = Object.fromEntries(
  Object.entries(schemas).map(([type, schema]) => [type, ajv.compile(schema)]),
);

/** Thrown for an invalid line. The message is the reason, without the line number. */
export class BadLineError extends Error {}

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
  if (!validate(value)) {
    const [error] = validate.errors ?? [];
    const extra: string | undefined = error?.params.additionalProperty;
    if (extra !== undefined) {
      throw new BadLineError(`has the unknown field ${extra.slice(0, MAX_QUOTED_NAME_LENGTH)}`);
    }
    const field = error?.instancePath.slice(1) || 'the record';
    const message = explainKeyword(error?.keyword, field) ?? error?.message;
    throw new BadLineError(`${field} ${message}`);
  }
  // A well-formed line can contain unstorable characters only as escapes, so most lines need no further check.
  const mayBeUnstorable = line.includes('\\u') || !line.isWellFormed();
  if (mayBeUnstorable && findUnstorable(value) !== undefined) {
    throw new BadLineError('contains NUL or an unpaired surrogate');
  }
  return value as DataRecord;
}

/** Returns a clearer message than the default one for errors of some keywords. */
function explainKeyword(keyword: string | undefined, field: string): string | undefined {
  switch (keyword) {
    // `date-time` is the only format.
    case 'format':
      return 'must be an RFC 3339 time from year 0000 to 9999 in UTC';
    // Only `ownIdSchema` uses it.
    case 'not':
      return `must not be ${[...reservedValues(field)].join(' or ')}, which are fixed segments of API paths`;
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
