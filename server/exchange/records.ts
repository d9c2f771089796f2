import { Ajv } from 'ajv';
import { findUnstorable } from '../text/storable.ts';

/**
 * The exchange format: newline-delimited JSON, one of these records a line. A record may refer only to records of
 * lines before it, or to what the database holds. Ids and times may be left out where nothing refers to them: ids are
 * then made of what the record says, so that the same line means the same thing again, and times are now.
 */
export type ExchangeRecord =
  | UserRecord
  | SpaceRecord
  | ParticipantRecord
  | MessageRecord
  | AppreciationRecord;

export interface UserRecord {
  type: 'user';
  user_id?: string;
  username: string;
  email: string;
  /** Argon2id in PHC form. Without one nobody can sign in until the operator sets a password. */
  password_hash?: string;
  bio?: string;
  /** The name of a file in the avatars folder, which travels separately. */
  picture?: string;
  is_verified?: boolean;
  created_at?: string;
  updated_at?: string;
}

export interface SpaceRecord {
  type: 'space';
  space_id?: string;
  creator_id: string;
  title: string;
  description?: string;
  visibility?: 'public' | 'private';
  /** Of a private space; made anew if it is left out. */
  invitation_code?: string;
  tags?: string[];
  created_at?: string;
}

export interface ParticipantRecord {
  type: 'participant';
  space_id: string;
  user_id: string;
  joined_at?: string;
  left_at?: string | null;
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

const id = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' };
const time = { type: 'string', format: 'time' };

function record(type: string, required: string[], properties: Record<string, object>): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['type', ...required],
    properties: { type: { const: type }, ...properties },
  };
}

const schemas = {
  user: record('user', ['username', 'email'], {
    user_id: id,
    username: { type: 'string', maxLength: 64 },
    email: { type: 'string', maxLength: 254 },
    password_hash: { type: 'string', maxLength: 500 },
    bio: { type: 'string', maxLength: 2000 },
    picture: { type: 'string', pattern: '^[A-Za-z0-9_-]{22}\\.webp$' },
    is_verified: { type: 'boolean' },
    created_at: time,
    updated_at: time,
  }),
  space: record('space', ['creator_id', 'title'], {
    space_id: id,
    creator_id: id,
    title: { type: 'string', maxLength: 120 },
    description: { type: 'string', maxLength: 500 },
    visibility: { enum: ['public', 'private'] },
    invitation_code: id,
    tags: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 64 } },
    created_at: time,
  }),
  participant: record('participant', ['space_id', 'user_id'], {
    space_id: id,
    user_id: id,
    joined_at: time,
    left_at: { ...time, type: ['string', 'null'] },
  }),
  message: record('message', ['space_id', 'author_id', 'text'], {
    message_id: id,
    space_id: id,
    author_id: id,
    text: { type: 'string', maxLength: 2000 },
    created_at: time,
  }),
  appreciation: record('appreciation', ['message_id', 'user_id'], {
    message_id: id,
    user_id: id,
    created_at: time,
  }),
};

const ajv = new Ajv({
  allowUnionTypes: true,
  formats: {
    time: (text: string) =>
      /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)),
  },
});
const validators = Object.fromEntries(
  Object.entries(schemas).map(([type, schema]) => [type, ajv.compile(schema)]),
);

/** A line that is no good. The message tells why, without the line's number. */
export class BadLine extends Error {}

/** @throws BadLine */
export function parseRecord(line: string): ExchangeRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new BadLine('is not JSON');
  }
  const type =
    typeof value === 'object' && value !== null && 'type' in value ? String(value.type) : '';
  const validate = Object.hasOwn(validators, type) ? validators[type] : undefined;
  if (!validate) throw new BadLine(`has a type other than ${Object.keys(schemas).join(', ')}`);
  if (!validate(value)) {
    const [fault] = validate.errors ?? [];
    const extra = fault?.params.additionalProperty;
    throw new BadLine(
      `${fault?.instancePath.slice(1) || 'the record'} ${fault?.message}${extra ? ` (${extra})` : ''}`,
    );
  }
  // In a well-formed line, only escapes can stand for what cannot be stored.
  const isSuspect = line.includes('\\u') || !line.isWellFormed();
  if (isSuspect && findUnstorable(value) !== undefined) {
    throw new BadLine('holds NUL or half a surrogate pair');
  }
  return value as ExchangeRecord;
}
