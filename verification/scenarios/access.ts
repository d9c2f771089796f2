import { randomUUID } from 'node:crypto';
import type { Problem } from '../../generated/types.gen.ts';
import { operations } from '../contract.ts';
import {
  CALLERS,
  type CallerName,
  outcomeOf,
  rules,
  VISIBILITIES,
  type Visibility,
} from '../rights.ts';
import { createSpace, join, type Message, type Space, send } from './actions.ts';
import type { Caller, Inputs, OperationId, User } from './caller.ts';
import { equal } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

type Rule = (typeof rules)[number];

/** A space, with a message of each user who has been in it. */
interface Scene {
  space: Space;
  callers: Record<CallerName, Caller>;
  messages: Partial<Record<CallerName, Message>>;
  ids: Record<'former' | 'removed' | 'participant' | 'moderator' | 'creator', string>;
}

/** What operations need besides the ids of the space and the message. */
const otherInputs: Partial<Record<OperationId, (scene: Scene, on: Rule['on']) => Inputs>> = {
  updateSpace: () => ({ title: 'Changed' }),
  appointModerator: ({ ids }) => ({ user_id: ids.participant }),
  dismissModerator: ({ ids }) => ({ user_id: ids.moderator }),
  removeParticipant: ({ ids }, on) => ({
    user_id: on === 'moderator' || on === 'creator' ? ids[on] : ids.former,
  }),
  undoRemoval: ({ ids }) => ({ user_id: ids.removed }),
  markRead: ({ messages }) => ({ message_id: messages.creator?.message_id }),
  sendMessage: ({ space }) => ({ space_id: space.space_id, text: 'Hello' }),
  editMessage: () => ({ text: 'Changed' }),
  reportSpace: () => ({ reason: 'A reason' }),
  reportMessage: () => ({ reason: 'A reason' }),
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
  const [creator, moderator, participant, removed, former, stranger] = (await users(6)) as [
    User,
    User,
    User,
    User,
    User,
    User,
  ];
  const space = await createSpace(creator, { visibility });
  const { space_id } = space;
  await join(space, moderator, participant, removed, former);
  await creator.call('appointModerator', { space_id, user_id: moderator.id });
  const messages: Scene['messages'] = {};
  const authors = Object.entries({ creator, moderator, participant, removed, former });
  for (const [name, user] of authors) messages[name as CallerName] = await send(user, space);
  await former.call('leaveSpace', { space_id });
  await creator.call('removeParticipant', { space_id, user_id: removed.id });
  return {
    space,
    messages,
    callers: { anonymous, stranger, former, removed, participant, moderator, creator },
    ids: {
      former: former.id,
      removed: removed.id,
      participant: participant.id,
      moderator: moderator.id,
      creator: creator.id,
    },
  };
}

/** Returns the inputs of an operation that a caller tries in a scene. */
function inputsFor({ operation: operationId, on }: Rule, name: CallerName, scene: Scene): Inputs {
  const operation = operations.find((each) => each.operationId === operationId);
  const names = operation?.parameters.map((parameter) => parameter.name) ?? [];
  const message = scene.messages[on === 'own message' ? name : 'creator'];
  return {
    space_id: names.includes('space_id') ? scene.space.space_id : undefined,
    message_id: names.includes('message_id') ? message?.message_id : undefined,
    ...otherInputs[operationId]?.(scene, on),
  };
}

/** What must not change through refused requests: the space, its participants, removals and messages. */
async function stateOf({ space: { space_id }, callers: { creator } }: Scene): Promise<unknown> {
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
  for (const name of permitted) {
    await scene.callers[name].call(operation, inputsFor(rule, name, scene));
    if (operation === 'deleteMessage') {
      scene.messages.creator = await send(scene.callers.creator, scene.space);
    }
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
