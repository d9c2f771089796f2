import { operations } from '../contract.ts';
import { createSpace, join, type Message, type Space, send } from './actions.ts';
import type { Caller, Inputs, OperationId, User } from './caller.ts';
import { equal } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

/** Everyone who can call an operation on a space or a message in it. */
const CALLERS = ['anonymous', 'stranger', 'former', 'removed', 'participant', 'creator'] as const;
type CallerName = (typeof CALLERS)[number];
type Visibility = 'public' | 'private';

/** A space, with a message of its creator. */
interface Scene {
  space: Space;
  message: Message;
  callers: Record<CallerName, Caller>;
  ids: Record<'former' | 'removed', string>;
}

const NOT_FOUND = 'space_not_found';

/**
 * Who may call the operations on a space or a message: `ok` or the code of the error for each caller, in the order of
 * CALLERS. If the order of two errors is undefined, both codes are possible.
 */
const matrix: Partial<
  Record<OperationId, { inputs?: (scene: Scene) => Inputs } & Record<Visibility, string>>
> = {
  getSpace: {
    public: 'ok ok ok ok ok ok',
    private: `${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok ok`,
  },
  listMessages: {
    public: 'ok ok ok ok ok ok',
    private: `${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok ok`,
  },
  getMessage: {
    public: 'ok ok ok ok ok ok',
    private: 'message_not_found message_not_found message_not_found message_not_found ok ok',
  },
  listParticipants: {
    public: 'unauthenticated ok ok ok ok ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok ok`,
  },
  getParticipation: {
    public:
      'unauthenticated participation_not_found participation_not_found participation_not_found ok ok',
    private:
      'unauthenticated participation_not_found participation_not_found participation_not_found ok ok',
  },
  listRemovals: {
    public:
      'unauthenticated not_space_creator not_space_creator not_space_creator not_space_creator ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} not_space_creator ok`,
  },
  updateSpace: {
    inputs: () => ({ title: 'Changed' }),
    public:
      'unauthenticated not_space_creator not_space_creator not_space_creator not_space_creator ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} not_space_creator ok`,
  },
  renewInvitationCode: {
    public:
      'unauthenticated not_space_creator not_space_creator not_space_creator not_space_creator space_is_public',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} not_space_creator ok`,
  },
  removeParticipant: {
    inputs: ({ ids }) => ({ user_id: ids.former }),
    public:
      'unauthenticated not_space_creator not_space_creator not_space_creator not_space_creator ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} not_space_creator ok`,
  },
  undoRemoval: {
    inputs: ({ ids }) => ({ user_id: ids.removed }),
    public:
      'unauthenticated not_space_creator not_space_creator not_space_creator not_space_creator ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} not_space_creator ok`,
  },
  joinSpace: {
    public: 'unauthenticated ok ok removed_from_space ok ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND}|removed_from_space ok ok`,
  },
  leaveSpace: {
    public: 'unauthenticated ok ok ok ok creator_cannot_leave',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok creator_cannot_leave`,
  },
  markRead: {
    inputs: ({ message }) => ({ message_id: message.message_id }),
    public: 'unauthenticated not_a_participant not_a_participant not_a_participant ok ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok ok`,
  },
  sendMessage: {
    inputs: () => ({ text: 'Hello' }),
    public: 'unauthenticated not_a_participant not_a_participant not_a_participant ok ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok ok`,
  },
  editMessage: {
    inputs: () => ({ text: 'Changed' }),
    public:
      'unauthenticated not_message_author not_message_author not_message_author not_message_author ok',
    private:
      'unauthenticated message_not_found message_not_found message_not_found not_message_author ok',
  },
  appreciateMessage: {
    public: 'unauthenticated ok ok ok ok own_message',
    private: 'unauthenticated message_not_found message_not_found message_not_found ok own_message',
  },
  withdrawAppreciation: {
    public: 'unauthenticated ok ok ok ok ok',
    private: 'unauthenticated message_not_found message_not_found message_not_found ok ok',
  },
  listAppreciations: {
    public: 'unauthenticated ok ok ok ok ok',
    private: 'unauthenticated message_not_found message_not_found message_not_found ok ok',
  },
  deleteMessage: {
    public:
      'unauthenticated not_message_author not_message_author not_message_author not_message_author ok',
    private:
      'unauthenticated message_not_found message_not_found message_not_found not_message_author ok',
  },
  reportSpace: {
    inputs: () => ({ reason: 'A reason' }),
    public: 'unauthenticated ok ok ok ok ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} ok ok`,
  },
  reportMessage: {
    inputs: () => ({ reason: 'A reason' }),
    public: 'unauthenticated ok ok ok ok ok',
    private: 'unauthenticated message_not_found message_not_found message_not_found ok ok',
  },
  deleteSpace: {
    public:
      'unauthenticated not_space_creator not_space_creator not_space_creator not_space_creator ok',
    private: `unauthenticated ${NOT_FOUND} ${NOT_FOUND} ${NOT_FOUND} not_space_creator ok`,
  },
};

/** The operations on a space or a message. Each needs a row of the matrix. */
export const restrictedOperations = operations
  .filter(
    ({ parameters, requestBody }) =>
      parameters.some(({ name }) => name === 'space_id' || name === 'message_id') ||
      JSON.stringify(requestBody ?? {}).includes('MessageCreation'),
  )
  .map(({ operationId }) => operationId as OperationId);

/** Creates a space, and callers with every relation to it. */
async function openScene(visibility: Visibility, { users, anonymous }: Stage): Promise<Scene> {
  const [creator, participant, removed, former, stranger] = (await users(5)) as [
    User,
    User,
    User,
    User,
    User,
  ];
  const space = await createSpace(creator, { visibility });
  const { space_id } = space;
  await join(space, participant, removed, former);
  const message = await send(creator, space);
  await former.call('leaveSpace', { space_id });
  await creator.call('removeParticipant', { space_id, user_id: removed.id });
  return {
    space,
    message,
    callers: { anonymous, stranger, former, removed, participant, creator },
    ids: { former: former.id, removed: removed.id },
  };
}

/** Returns the inputs of an operation that name the space and the message of a scene. */
function inputsFor(operationId: OperationId, scene: Scene): Inputs {
  const operation = operations.find((each) => each.operationId === operationId);
  const names = operation?.parameters.map(({ name }) => name) ?? [];
  return {
    space_id:
      names.includes('space_id') || operationId === 'sendMessage'
        ? scene.space.space_id
        : undefined,
    message_id: names.includes('message_id') ? scene.message.message_id : undefined,
    ...matrix[operationId]?.inputs?.(scene),
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

async function tryAll(operationId: OperationId, visibility: Visibility, stage: Stage) {
  const scene = await openScene(visibility, stage);
  const outcomes = matrix[operationId]?.[visibility].split(' ') ?? [];
  const before = await stateOf(scene);
  const permitted: Caller[] = [];
  for (const [i, name] of CALLERS.entries()) {
    const caller = scene.callers[name];
    const outcome = outcomes[i];
    if (outcome === 'ok') permitted.push(caller);
    else
      await caller.refused(operationId, inputsFor(operationId, scene), outcome?.split('|') ?? []);
  }
  equal(await stateOf(scene), before, `The space after refused requests for ${operationId}`);
  for (const caller of permitted) await caller.call(operationId, inputsFor(operationId, scene));
}

export const access: Scenario[] = restrictedOperations.flatMap((operation) =>
  (['public', 'private'] as const).map((visibility) => ({
    operation,
    sentence: `in a ${visibility} space, exactly those can call it who may`,
    rule: '`public`: anyone can find and read the space. `private`: only participants can read it.',
    run: (stage: Stage) => tryAll(operation, visibility, stage),
  })),
);
