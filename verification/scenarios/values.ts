import type { Problem } from '../../generated/types.gen.ts';
import { contract, operations, type Schema } from '../contract.ts';
import { createConversation, createSpace, type Message, send } from './actions.ts';
import type { Caller, Inputs, OperationId, User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

/** A caller, and valid inputs of an operation with a JSON body, which the scenario may send more than once. */
interface Setting {
  caller: Caller;
  inputs: () => Inputs;
}

/** How to send valid requests. All operations with a JSON body need an entry. */
export const settings: Partial<Record<OperationId, (stage: Stage) => Promise<Setting>>> = {
  register: async ({ anonymous, word }) => ({
    caller: anonymous,
    inputs: () => ({ username: word(), email: `${word()}@example.com`, password: word() }),
  }),
  login: async ({ anonymous, user }) => {
    const { email, password } = (await user()).account;
    return { caller: anonymous, inputs: () => ({ email, password }) };
  },
  changeUsername: async ({ newcomer, word }) => ({
    caller: await newcomer(),
    inputs: () => ({ username: word() }),
  }),
  changeBio: async ({ user }) => ({ caller: await user(), inputs: () => ({ bio: 'A bio.' }) }),
  changePassword: async ({ user }) => {
    const caller = await user();
    const { account } = caller;
    return {
      caller,
      inputs: () => ({ currentPassword: account.password, newPassword: account.password }),
    };
  },
  changeEmail: async ({ newcomer, word }) => {
    const caller = await newcomer();
    const { password } = caller.account;
    return {
      caller,
      inputs: () => ({ email: `${word()}@example.com`, currentPassword: password }),
    };
  },
  requestPasswordReset: async ({ anonymous, word }) => ({
    caller: anonymous,
    inputs: () => ({ email: `${word()}@example.com` }),
  }),
  resetPassword: async ({ anonymous, word }) => ({
    caller: anonymous,
    inputs: () => ({ token: word(), newPassword: word() }),
  }),
  verifyEmail: async ({ anonymous, word }) => ({
    caller: anonymous,
    inputs: () => ({ token: word() }),
  }),
  createToken: async ({ newcomer }) => ({
    caller: await newcomer(),
    inputs: () => ({ name: 'Bot', scopes: ['read'] }),
  }),
  createSpace: async ({ user }) => ({
    caller: await user(),
    inputs: () => ({ title: 'A title', description: '', visibility: 'public', tags: [] }),
  }),
  updateSpace: async ({ user }) => {
    const caller = await user();
    const { space_id } = await createSpace(caller);
    return { caller, inputs: () => ({ space_id, title: 'A title' }) };
  },
  joinSpace: async ({ users }) => {
    const [creator, caller] = (await users(2)) as [User, User];
    const { space_id } = await createSpace(creator);
    return { caller, inputs: () => ({ space_id, invitation_code: 'ignored' }) };
  },
  updateParticipation: async ({ user }) => {
    const caller = await user();
    const { space_id } = await createSpace(caller);
    return { caller, inputs: () => ({ space_id, muted: true }) };
  },
  markRead: async ({ user }) => {
    const caller = await user();
    const { space, messages } = await createConversation(caller, 'public');
    const [{ message_id }] = messages as [Message];
    return { caller, inputs: () => ({ space_id: space.space_id, message_id }) };
  },
  sendMessage: async ({ user }) => {
    const caller = await user();
    const { space_id } = await createSpace(caller);
    return { caller, inputs: () => ({ space_id, text: 'A text' }) };
  },
  editMessage: async ({ user }) => {
    const caller = await user();
    const { message_id } = await send(caller, await createSpace(caller));
    return { caller, inputs: () => ({ message_id, text: 'A text' }) };
  },
  reportSpace: async ({ users }) => {
    const [creator, caller] = (await users(2)) as [User, User];
    const { space_id } = await createSpace(creator);
    return { caller, inputs: () => ({ space_id, reason: 'A reason' }) };
  },
  reportMessage: async ({ users }) => {
    const [creator, caller] = (await users(2)) as [User, User];
    const { messages } = await createConversation(creator, 'public');
    const [{ message_id }] = messages as [Message];
    return { caller, inputs: () => ({ message_id, reason: 'A reason' }) };
  },
  reportUser: async ({ users }) => {
    const [reported, caller] = (await users(2)) as [User, User];
    return { caller, inputs: () => ({ user_id: reported.id, reason: 'A reason' }) };
  },
};

/** Values beyond those that a schema implies, for fields whose description has further rules. */
const furtherValues: Record<string, { valid?: string[]; invalid?: string[] }> = {
  title: {
    invalid: ['a\u202eb', '   ', 'a\u0007b', 'two\nlines', 'nul\0'],
    valid: ['🙂'.repeat(120)],
  },
  description: { invalid: ['a\u202eb', 'a\u0007b', 'tab\tinside'], valid: ['', '🙂'.repeat(500)] },
  text: {
    invalid: ['   ', '\n', 'a\u0007b', 'nul\0'],
    valid: ['\ttabs\nand lines', '🙂'.repeat(2_000)],
  },
  reason: { invalid: ['   ', 'a\u0007b'], valid: ['🙂'.repeat(1_000)] },
  // 500 grapheme clusters of 4 code points each.
  bio: {
    invalid: ['x'.repeat(501), 'a\u0007b', 'tab\t'],
    valid: ['x'.repeat(500), 'e\u0301\u0302\u0303'.repeat(500)],
  },
  device_name: { invalid: ['a\u2066b', '   ', 'a\u0007b', 'two\nlines'], valid: ['🙂'.repeat(64)] },
  name: { invalid: ['a\u2066b', '   ', 'a\u0007b', 'two\nlines'], valid: ['🙂'.repeat(64)] },
  expires_at: {
    invalid: ['2020-01-01T00:00:00.000Z', '2100-02-30T00:00:00.000Z', 'tomorrow'],
    valid: ['2100-01-01T00:00:00Z', '2100-01-01T00:00:00.123456+01:00'],
  },
  tag: { invalid: ['#', 'a\u202eb', 'a\u0007b'] },
  username: { invalid: ['x', '.x.', 'a b ', 'a@b'] },
  email: {
    invalid: [
      'ada',
      'ada@',
      '@example.com',
      'a da@example.com',
      'ada@exa_mple.com',
      'adä@example.com',
    ],
  },
};

/** Fields whose valid values the scenarios of their operation try, because the value must be correct. */
const SPECIFIC = [
  'message_id',
  'reply_to',
  'space_id',
  'currentPassword',
  'password',
  'newPassword',
  'invitation_code',
  'token',
];

/** Operations that need mail, or a token of one, so that this check cannot know the status of a valid request. */
const OF_MAIL: readonly OperationId[] = [
  'changeEmail',
  'requestPasswordReset',
  'resetPassword',
  'verifyEmail',
];

function bodySchema(operationId: OperationId): Schema {
  const operation = operations.find((each) => each.operationId === operationId);
  return resolve(operation?.requestBody?.content['application/json']?.schema ?? {});
}

function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : resolve(contract.components.schemas[name] as Schema);
}

/** Returns a text of this many code points that is valid in the field. */
function textOf(name: string, length: number, unique: string): string {
  if (name === 'email') {
    const rest = `${unique.slice(-20)}@`;
    const domain = `${'d'.repeat(60)}.${'d'.repeat(60)}.${'d'.repeat(60)}.`;
    return `${rest}${domain}${'d'.repeat(Math.max(1, length - rest.length - domain.length))}`;
  }
  return unique.padEnd(length, 'x').slice(0, length);
}

interface Trial {
  value: unknown;
  isValid: boolean;
  what: string;
  /** The code that the error for the value must have, if only one applies. */
  code?: string;
}

/** Returns values just inside and just outside each limit of a field. */
function trialsOf(name: string, schema: Schema, unique: () => string): Trial[] {
  const { minLength, maxLength, minItems, maxItems, items } = schema;
  const trials: Trial[] = [];
  const add = (isValid: boolean, what: string, value: unknown, code?: string) =>
    trials.push({ isValid, what, value, ...(code && { code }) });
  const isText = JSON.stringify(schema.type).includes('string');
  const maximum = name === 'bio' || schema.format === 'date-time' ? undefined : maxLength;
  if (isText) {
    add(false, 'a number', 12, 'wrong_type');
    add(false, 'an object', {}, 'wrong_type');
    if (maximum !== undefined) {
      add(true, `${maximum} characters`, textOf(name, maximum, unique()));
      add(false, `${maximum + 1} characters`, textOf(name, maximum + 1, unique()), 'too_long');
    }
    if (minLength !== undefined) {
      if (minLength > 1)
        add(false, `${minLength - 1} characters`, textOf(name, minLength - 1, unique()));
      else add(false, 'an empty text', '');
    }
    for (const each of furtherValues[name]?.valid ?? [])
      add(true, JSON.stringify(each.slice(0, 30)), each);
    for (const each of furtherValues[name]?.invalid ?? [])
      add(false, JSON.stringify(each.slice(0, 30)), each);
    if (schema.enum) add(false, 'another value', 'neither');
  }
  if (maxItems !== undefined) {
    const item = resolve(items ?? {});
    const list = (count: number) =>
      Array.from({ length: count }, (_, i) => item.enum?.[i % item.enum.length] ?? `${i}x`);
    if (minItems !== undefined) add(false, 'no items', [], 'too_few');
    add(true, `${maxItems} items`, list(maxItems));
    add(false, `${maxItems + 1} items`, list(maxItems + 1), 'too_many');
    add(false, 'no list', 'x', 'wrong_type');
    const itemName = name === 'tags' ? 'tag' : name;
    for (const { value, isValid, what, code } of trialsOf(itemName, item, unique)) {
      add(isValid, `an item with ${what}`, [value], code);
    }
  }
  if (!JSON.stringify(schema).includes('"null"')) add(false, 'null', null, 'wrong_type');
  return trials;
}

/** Requires that an error of a problem is about a field of the body, and has one of the codes. */
function requireError({ errors }: Problem, field: string, what: string, code?: string): void {
  const own = errors.filter((each) => each.in === 'body' && each.pointer?.startsWith(`/${field}`));
  require(own.length > 0, `No error points to "${field}" ${what}`);
  const codes = own.map((each) => each.code);
  if (code)
    require(codes.includes(code), `The code for "${field}" ${what} is ${codes} instead of ${code}`);
}

const CODES = [
  'invalid_request',
  'username_invalid',
  'bio_invalid',
  'password_invalid',
  'email_invalid',
];

async function tryValues(operationId: OperationId, stage: Stage): Promise<void> {
  const setting = settings[operationId];
  if (!setting) throw new Error(`Add ${operationId} to settings in scenarios/values.ts.`);
  const { caller, inputs } = await setting(stage);
  const { properties = {}, required = [] } = bodySchema(operationId);
  for (const [name, property] of Object.entries(properties)) {
    for (const { value, isValid, what, code } of trialsOf(name, resolve(property), stage.word)) {
      const request = { ...inputs(), [name]: value };
      if (!isValid) {
        requireError(await caller.refused(operationId, request, CODES), name, `with ${what}`, code);
      } else if (!SPECIFIC.includes(name) && operationId !== 'register') {
        const { status } = await caller.exchange(operationId, request);
        // An email address that nobody has is valid.
        const accepted = operationId === 'login' && name === 'email' ? [401] : [200, 201];
        // 403: the server sends no mail.
        if (OF_MAIL.includes(operationId)) accepted.push(202, 403);
        require(accepted.includes(
          status,
        ), `${operationId} returned ${status} for "${name}" with ${what}`);
      }
    }
    if (required.includes(name) && !(name in pathOf(operationId))) {
      const request = { ...inputs(), [name]: undefined };
      const problem = await caller.refused(operationId, request, 'invalid_request');
      requireError(problem, name, 'if it is missing', 'missing');
    }
  }
  const unknown = { ...inputs(), unknown_field: 1 };
  const problem = await caller.refused(operationId, unknown, 'invalid_request');
  requireError(problem, 'unknown_field', '', 'unknown_field');
  await caller.exchange(operationId, inputs());
}

function pathOf(operationId: OperationId): Record<string, true> {
  const parameters = operations.find((each) => each.operationId === operationId)?.parameters ?? [];
  return Object.fromEntries(parameters.map(({ name }) => [name, true]));
}

export const jsonOperations = operations
  .filter(({ bodyType }) => bodyType === 'application/json')
  .map(({ operationId }) => operationId as OperationId);

/** The largest JSON body. The contract states it in the description of the status 413. */
const MAX_BODY_BYTES = 32_768;

/** Appends white space, so that a JSON text has this many bytes. */
function padTo(json: string, bytes: number): string {
  return json + ' '.repeat(bytes - Buffer.byteLength(json));
}

const byOperation: Scenario[] = jsonOperations.flatMap((operation) => [
  {
    operation,
    sentence: 'accepts values just inside each limit of its body, and refuses those just outside',
    rule: 'A parameter, the body or a field is missing, malformed or outside the bounds of its schema. `errors` lists the invalid values.',
    run: (stage) => tryValues(operation, stage),
  },
  {
    operation,
    sentence: `accepts a body of ${MAX_BODY_BYTES} bytes, and no malformed, larger or compressed one`,
    rule: 'The JSON body is larger than 32,768 bytes.',
    async run(stage) {
      const setting = settings[operation];
      if (!setting) throw new Error(`Add ${operation} to settings in scenarios/values.ts.`);
      const { caller, inputs } = await setting(stage);
      const path = pathOf(operation);
      const all = Object.entries(inputs());
      const parameters = Object.fromEntries(all.filter(([name]) => name in path));
      const json = JSON.stringify(Object.fromEntries(all.filter(([name]) => !(name in path))));
      const status = async (body: string, headers: Record<string, string> = {}) =>
        (await caller.exchange(operation, parameters, { body, headers })).status;
      if (OF_MAIL.includes(operation)) {
        const usual = await status(json);
        equal(await status(padTo(json, MAX_BODY_BYTES)), usual, 'Status for the longest body');
      } else if (operation !== 'register') {
        require((await status(padTo(json, MAX_BODY_BYTES))) <
          300, `${operation} refuses a body of ${MAX_BODY_BYTES} bytes`);
      }
      equal(await status(padTo(json, MAX_BODY_BYTES + 1)), 413, 'Status for a larger body');
      for (const malformed of ['{', '[]', '"x"', '1', `${json}x`]) {
        equal(await status(malformed), 400, `Status for the body ${malformed}`);
      }
      equal(
        await status(json, { 'content-encoding': 'gzip' }),
        415,
        'Status for a compressed body',
      );
      equal(await status(json, { 'content-type': 'text/plain' }), 415, 'Status for text/plain');
    },
  },
]);

/** Reads whose path contains an id, with the code for an unknown one. */
const unknownIds: [OperationId, string, string][] = [
  ['getSpace', 'space_id', 'space_not_found'],
  ['getMessage', 'message_id', 'message_not_found'],
  ['getUser', 'user_id', 'user_not_found'],
  ['listUserSpaces', 'user_id', 'user_not_found'],
  ['getParticipation', 'space_id', 'participation_not_found'],
  ['listParticipants', 'space_id', 'space_not_found'],
  ['listMessages', 'space_id', 'space_not_found'],
  ['listAppreciations', 'message_id', 'message_not_found'],
  ['endSession', 'session_id', 'session_not_found'],
  ['revokeToken', 'token_id', 'token_not_found'],
];

const ofParameters: Scenario[] = [
  {
    operation: 'getSpace',
    sentence: 'HEAD gets the status and headers of GET',
    rule: '`HEAD` works like `GET`, without a body.',
    async run({ user, anonymous, word }) {
      const ada = await user();
      const { space_id } = await createSpace(ada, { visibility: 'private' });
      const requests: [Caller, OperationId, Inputs][] = [
        [ada, 'getSpace', { space_id }],
        [anonymous, 'getSpace', { space_id }],
        [ada, 'getProfile', {}],
        [anonymous, 'getProfile', {}],
        [anonymous, 'searchSpaces', { q: word() }],
        [anonymous, 'listSpaces', { limit: 0 }],
      ];
      for (const [caller, operationId, inputs] of requests) {
        const get = await caller.exchange(operationId, inputs);
        const head = await caller.head(operationId, inputs);
        equal(head.status, get.status, `Status of HEAD for ${operationId}`);
        for (const name of ['content-type', 'etag', 'cache-control', 'www-authenticate'])
          equal(head.headers.get(name), get.headers.get(name), `${name} of HEAD`);
      }
    },
  },
  {
    operation: 'listSpaces',
    sentence: 'a repeated query parameter is invalid, whatever its value',
    rule: 'A repeated query parameter gets 400',
    async run({ user }) {
      const ada = await user();
      const { space_id } = await createSpace(ada);
      const requests: [OperationId, Inputs][] = [
        ['listSpaces', { limit: 1 }],
        ['listSpaces', { q: 'tea' }],
        ['searchSpaces', { q: 'tea' }],
        ['listParticipations', { sort: 'recent' }],
        ['listMessages', { space_id }],
      ];
      for (const [operationId, inputs] of requests) {
        for (const [name, value] of Object.entries(inputs)) {
          const query = { [name]: String(value) };
          await ada.call(operationId, inputs);
          await ada.refused(operationId, inputs, 'invalid_request', { query });
        }
      }
    },
  },
  ...unknownIds.map(
    ([operation, name, code]): Scenario => ({
      operation,
      sentence: `an id of 64 characters is unknown, a longer or malformed one is invalid`,
      rule: 'An opaque identifier that never changes.',
      async run({ user, word }) {
        const caller = await user();
        for (const id of [word(), word().padEnd(64, 'x'), '_-'])
          await caller.refused(operation, { [name]: id }, code);
        for (const id of [word().padEnd(65, 'x'), 'a~b', 'ä', '%00']) {
          const { errors } = await caller.refused(operation, { [name]: id }, 'invalid_request');
          require(errors.some((each) =>
            JSON.stringify(each).includes(name),
          ), `No error points to ${name}`);
        }
      },
    }),
  ),
  {
    operation: 'searchSpaces',
    sentence: 'a query has at most 200 code points',
    rule: 'The search text, at most 200 code points.',
    async run({ anonymous }) {
      for (const operation of ['searchSpaces', 'listSpaces'] as const) {
        await anonymous.call(operation, { q: '🙂'.repeat(200) });
        await anonymous.call(operation, { q: 'x'.repeat(200) });
        for (const each of ['x', '🙂'])
          await anonymous.refused(operation, { q: each.repeat(201) }, 'invalid_request');
      }
      await anonymous.call('listTags', { prefix: 'x'.repeat(200) });
      await anonymous.refused('listTags', { prefix: 'x'.repeat(201) }, 'invalid_request');
    },
  },
  {
    operation: 'listMessages',
    sentence: 'wait has at most 25 seconds',
    rule: 'How many seconds the server waits until something happens, by default not at all.',
    async run({ user }) {
      const ada = await user();
      const { space } = await createConversation(ada, 'public');
      const { space_id } = space;
      const { newer_cursor: after } = await ada.call('listMessages', { space_id });
      for (const wait of [26, -1, 'x', 0.5])
        await ada.refused('listMessages', { space_id, after, wait }, 'invalid_request');
    },
  },
  {
    operation: 'createSpace',
    sentence: 'an Idempotency-Key has 16 to 128 characters',
    rule: '16 to 128 characters: letters from A to Z, digits, `-` and `_`.',
    async run({ user, word }) {
      const ada = await user();
      const { space_id } = await createSpace(ada);
      const fields = { title: 'Keys', description: '', visibility: 'public', tags: [] };
      const keys = (length: number) => ({
        'Idempotency-Key': word().padEnd(length, '-').slice(0, length),
      });
      for (const length of [16, 128]) {
        await ada.call('createSpace', fields, { headers: keys(length) });
        await ada.call('sendMessage', { space_id, text: 'x' }, { headers: keys(length) });
      }
      for (const headers of [keys(15), keys(129), { 'Idempotency-Key': `${word()} ${word()}` }]) {
        await ada.refused('createSpace', fields, 'invalid_request', { headers });
        await ada.refused('sendMessage', { space_id, text: 'x' }, 'invalid_request', { headers });
      }
    },
  },
  {
    operation: 'register',
    sentence: 'a password has 8 to 256 code points, of any kind',
    rule: '8 to 256 code points. Capitals, digits and symbols are optional.',
    async run({ user, signIn }) {
      const ada = await user();
      const { account } = ada;
      const change = (newPassword: string) => ({ currentPassword: account.password, newPassword });
      for (const password of ['🙂🙃'.repeat(4), ` ${'ä'.repeat(255)}`, 'x y z '.repeat(2)]) {
        await ada.call('changePassword', change(password));
        account.password = password;
        await signIn(ada);
      }
      for (const password of ['🙂🙃🙂🙃🙂🙃🙂', 'x'.repeat(257)]) {
        await ada.refused('changePassword', change(password), [
          'invalid_request',
          'password_invalid',
        ]);
      }
      await signIn(ada);
    },
  },
];

export const values: Scenario[] = [...byOperation, ...ofParameters];
