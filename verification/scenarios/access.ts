import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../../generated/types.gen.ts';
import { operations } from '../contract.ts';
import {
  CALLERS,
  type CallerName,
  outcomeOf,
  rules,
  type Target,
  VISIBILITIES,
  type Visibility,
} from '../rights.ts';
import { createSpace, join, type Message, type Space, send } from './actions.ts';
import { type Caller, type Inputs, type OperationId, User } from './caller.ts';
import { equal } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

type Rule = (typeof rules)[number];

/** A space, with a message of each user who has been in it. */
interface Scene {
  space: Space;
  callers: Record<CallerName, Caller>;
  /** Of the callers. */
  messages: Partial<Record<CallerName, Message>>;
  /** On whom others call operations. */
  targets: Record<
    'creator' | 'moderator' | 'participant' | 'former participant' | 'removed user',
    User
  >;
  /** Of `targets`. */
  messagesOf: Partial<Record<Target, Message>>;
}

/** What operations need besides the ids of the space, the message and the user. */
const otherInputs: Partial<Record<OperationId, (scene: Scene) => Inputs>> = {
  updateSpace: () => ({ title: 'Changed' }),
  updateParticipation: () => ({ muted: true }),
  markRead: ({ messages }) => ({ message_id: messages.creator?.message_id }),
  sendMessage: ({ space }) => ({ space_id: space.space_id, text: 'Hello' }),
  editMessage: () => ({ text: 'Changed' }),
  reportSpace: () => ({ reason: 'A reason' }),
  reportMessage: () => ({ reason: 'A reason' }),
};

/** Undoes an effect, as the creator and the user concerned, so that the next caller can have it. */
const restorations: Partial<
  Record<OperationId, (scene: Scene, inputs: Inputs, on: Target) => Promise<unknown>>
> = {
  appointModerator: ({ targets }, inputs) => targets.creator.call('dismissModerator', inputs),
  dismissModerator: ({ targets }, inputs) => targets.creator.call('appointModerator', inputs),
  undoRemoval: ({ targets }, inputs) => targets.creator.call('removeParticipant', inputs),
  async removeParticipant({ targets, space }, inputs, on) {
    await targets.creator.call('undoRemoval', inputs);
    if (on === 'participant') await join(space, targets.participant);
    if (on !== 'moderator') return;
    await join(space, targets.moderator);
    await targets.creator.call('appointModerator', inputs);
  },
  async deleteMessage({ targets, space, messagesOf }, _inputs, on) {
    const author = authors[on];
    if (author) messagesOf[on] = await send(targets[author], space);
  },
};

const authors: Partial<Record<Target, 'creator' | 'moderator' | 'participant'>> = {
  'message of the creator': 'creator',
  'message of a moderator': 'moderator',
  'message of a participant': 'participant',
};

/** The operations on a space or a message. Each needs a rule. */
export const restrictedOperations = operations
  .filter(
    ({ parameters, requestBody }) =>
      parameters.some(({ name }) => name === 'space_id' || name === 'message_id') ||
      JSON.stringify(requestBody ?? {}).includes('MessageCreation'),
  )
  .map(({ operationId }) => operationId as OperationId);

/** Creates a space, and callers with every relation to it. */
async function openScene(visibility: Visibility, { users, anonymous }: Stage): Promise<Scene> {
  const [creator, moderator, participant, removed, former, stranger, ...others] = (await users(
    8,
  )) as [User, User, User, User, User, User, User, User];
  const [otherModerator, otherParticipant] = others;
  const space = await createSpace(creator, { visibility });
  const { space_id } = space;
  await join(space, moderator, participant, removed, former, ...others);
  for (const { id } of [moderator, otherModerator]) {
    await creator.call('appointModerator', { space_id, user_id: id });
  }
  const messages: Scene['messages'] = {};
  const members = Object.entries({ creator, moderator, participant, removed, former });
  for (const [name, user] of members) messages[name as CallerName] = await send(user, space);
  const messagesOf = {
    'message of the creator': messages.creator,
    'message of a moderator': await send(otherModerator, space),
    'message of a participant': await send(otherParticipant, space),
  };
  await former.call('leaveSpace', { space_id });
  await creator.call('removeParticipant', { space_id, user_id: removed.id });
  return {
    space,
    messages,
    messagesOf,
    callers: { anonymous, stranger, former, removed, participant, moderator, creator },
    targets: {
      creator,
      moderator: otherModerator,
      participant: otherParticipant,
      'former participant': former,
      'removed user': removed,
    },
  };
}

/** Returns the inputs of an operation that a caller tries in a scene. */
function inputsFor({ operation: operationId, on }: Rule, name: CallerName, scene: Scene): Inputs {
  const operation = operations.find((each) => each.operationId === operationId);
  const names = operation?.parameters.map((parameter) => parameter.name) ?? [];
  const message = on?.startsWith('own message')
    ? scene.messages[name]
    : scene.messagesOf[on ?? 'message of the creator'];
  return {
    space_id: names.includes('space_id') ? scene.space.space_id : undefined,
    message_id: names.includes('message_id') ? message?.message_id : undefined,
    user_id: names.includes('user_id') ? userOf(scene, name, on)?.id : undefined,
    ...otherInputs[operationId]?.(scene),
  };
}

function userOf({ callers, targets }: Scene, name: CallerName, on: Rule['on']): User | undefined {
  const caller = callers[name];
  if (on === 'caller') return caller instanceof User ? caller : targets.participant;
  return targets[on as keyof Scene['targets']];
}

/** What must not change through refused requests: the space, its participants, removals and messages. */
async function stateOf({ space: { space_id }, targets: { creator } }: Scene): Promise<unknown> {
  return [
    await creator.call('getSpace', { space_id }),
    await creator.call('listParticipants', { space_id }),
    await creator.call('listRemovals', { space_id }),
    (await creator.call('listMessages', { space_id })).items,
  ];
}

/** Tries a request for a hidden space or message. The problem must be the same as for one that does not exist. */
async function tryHidden(
  caller: Caller,
  operation: OperationId,
  inputs: Inputs,
  outcome: string,
): Promise<void> {
  const id = inputs.space_id === undefined ? 'message_id' : 'space_id';
  const problemOf = async (tried: Inputs) => {
    const problem = await caller.refused(operation, tried, outcome);
    return withoutIds(problem, String(tried[id]));
  };
  equal(
    await problemOf(inputs),
    await problemOf({ ...inputs, [id]: randomUUID() }),
    `The problem for ${operation} of a hidden ${id}`,
  );
}

function withoutIds(problem: Problem, id: string): unknown {
  const text = JSON.stringify({ ...problem, request_id: '' });
  return JSON.parse(text.replaceAll(id, 'ID'));
}

async function tryAll(rule: Rule, visibility: Visibility, stage: Stage): Promise<void> {
  const { operation } = rule;
  const scene = await openScene(visibility, stage);
  if (rule.on?.includes('read-only')) {
    const { space_id } = scene.space;
    await scene.callers.creator.call('updateSpace', { space_id, posting: 'moderators' });
  }
  const before = await stateOf(scene);
  const permitted: CallerName[] = [];
  for (const name of CALLERS) {
    const outcome = outcomeOf(rule, name, visibility);
    if (outcome === undefined) continue;
    const [caller, inputs] = [scene.callers[name], inputsFor(rule, name, scene)];
    if (outcome === 'ok') permitted.push(name);
    else if (HIDDEN.includes(outcome)) await tryHidden(caller, operation, inputs, outcome);
    else await caller.refused(operation, inputs, outcome);
  }
  equal(await stateOf(scene), before, `The space after refused requests for ${operation}`);
  const restore = restorations[operation];
  for (const name of permitted) {
    const inputs = inputsFor(rule, name, scene);
    const state = restore && (await stateOf(scene));
    await scene.callers[name].call(operation, inputs);
    if (!restore || !rule.on) continue;
    const isSame = isDeepStrictEqual(await stateOf(scene), state);
    equal(
      isSame,
      rule.idle?.includes(name) ?? false,
      `Whether ${operation} by ${name} has no effect`,
    );
    if (!isSame) await restore(scene, inputs, rule.on);
  }
}

const HIDDEN = ['space_not_found', 'message_not_found'];

export const access: Scenario[] = rules.flatMap((rule) =>
  VISIBILITIES.map((visibility) => ({
    operation: rule.operation,
    sentence: `in a ${visibility} space, exactly those can call it who may${rule.on ? `, on the ${rule.on}` : ''}`,
    rule: '`public`: anyone can find and read the space. `private`: only participants can read it.',
    run: (stage: Stage) => tryAll(rule, visibility, stage),
  })),
);
