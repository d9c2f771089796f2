import { randomUUID } from 'node:crypto';
import sharp from 'sharp';
import * as api from '../../../generated/sdk.gen.ts';
import type { BioChange, SpaceCreation } from '../../../generated/types.gen.ts';
import { operations } from '../../../server/contract.ts';
import { draw, remember } from '../../support/drawing.ts';
import { bodyExampleOf } from '../../support/requests.ts';
import { ANY, type Changes, spaceValue } from './ledger.ts';
import { drawWhere, TAGS, type TrafficState, type TrafficUser, WORDS } from './traffic-state.ts';

/** A write that should succeed in the expected state. */
export interface Attempt {
  changes: Changes;
  send(): Promise<{ data?: unknown; response?: Response; error?: unknown }>;
  /** Runs after success. Returns changes known only from the response. */
  onSuccess?(data: never): Changes | undefined;
}

/** Relative frequency of each write. */
export const writeShares = {
  sendMessage: 28,
  createSpace: 12,
  joinSpace: 14,
  appreciateMessage: 12,
  updateSpace: 8,
  editMessage: 5,
  deleteMessage: 5,
  leaveSpace: 4,
  appointModerator: 2,
  dismissModerator: 1,
  removeParticipant: 2,
  undoRemoval: 1,
  markRead: 6,
  updateParticipation: 2,
  blockUser: 1,
  unblockUser: 1,
  withdrawAppreciation: 3,
  deleteSpace: 2,
  changeBio: 4,
  changeUsername: 3,
  changeProfilePicture: 3,
  removeProfilePicture: 1,
  reportSpace: 2,
  reportMessage: 2,
  reportUser: 1,
  withdrawSpaceReport: 1,
  withdrawMessageReport: 1,
  withdrawUserReport: 1,
  deleteAccount: 1,
};
export type Write = keyof typeof writeShares;

/** Creates each write of a person; undefined if it needs a target and none exists. */
export interface Writes {
  /**
   * `own` are all people of the writer. A write changes only facts about them, so that each fact is in a single journal.
   */
  create(operation: Write, person: TrafficUser, own: TrafficUser[]): Attempt | undefined;
  /** Creates a registration, which adds a person to `own`. */
  register(own: TrafficUser[]): Attempt;
}

/** Maximum length of each list of users, spaces and messages. It bounds the memory of long runs. */
const MAX_REMEMBERED = 200;
/** Maximum number of open reports of one user. */
const MAX_OPEN_REPORTS = 20;

const bioExample = exampleOf<BioChange>('changeBio');
const spaceExample = exampleOf<SpaceCreation>('createSpace');

/** Returns the contract's example of a body. Writes send its values for the fields that they do not draw. */
function exampleOf<Body>(operationId: Write): Body {
  const operation = operations.find((each) => each.operationId === operationId);
  return (operation && bodyExampleOf(operation)) as Body;
}

const avatars = await Promise.all(
  ['teal', 'coral', 'olive', 'navy'].map(async (background) => {
    const image = sharp({ create: { width: 16, height: 16, channels: 3, background } });
    return new Blob([new Uint8Array(await image.png().toBuffer())]);
  }),
);

export function createWrites(state: TrafficState): Writes {
  const { ledger, client, spaces, messages, people, nextNumber, setId } = state;
  const { userId, spaceId, messageId, drawExisting } = state;

  function newSpace(mark: string) {
    const visibility = Math.random() < 0.85 ? ('public' as const) : ('private' as const);
    const tags = TAGS.filter(() => Math.random() < 0.3);
    return {
      ...spaceExample,
      title: text(`Space${nextNumber()}`, 3),
      description: text(mark, 8),
      visibility,
      tags,
    };
  }

  const writes: Record<Write, (person: TrafficUser, own: TrafficUser[]) => Attempt | undefined> = {
    changeUsername({ mark, token }) {
      const username = `user-${mark.slice(1)}-${nextNumber()}`;
      return {
        changes: { [`username ${mark}`]: username },
        send: () => api.changeUsername({ client, auth: token, body: { username } }),
      };
    },
    changeBio({ mark, token }) {
      const body = { ...bioExample, bio: text(`Bio${nextNumber()}`, 20) };
      const changes = Object.entries(body).map(([name, value]) => [`${name} ${mark}`, value]);
      return {
        changes: Object.fromEntries(changes),
        send: () => api.changeBio({ client, auth: token, body }),
      };
    },
    changeProfilePicture({ mark, token }) {
      const avatar = avatars[nextNumber() % avatars.length] as Blob;
      return {
        changes: { [`avatar ${mark}`]: ANY },
        send: () => api.changeProfilePicture({ client, auth: token, body: { avatar } }),
        onSuccess: ({ profile_picture }: { profile_picture: string }) => ({
          [`avatar ${mark}`]: profile_picture.split('/').pop(),
        }),
      };
    },
    removeProfilePicture({ mark, token }) {
      return {
        changes: { [`avatar ${mark}`]: undefined },
        send: () => api.removeProfilePicture({ client, auth: token }),
      };
    },
    createSpace(person) {
      const mark = `${person.mark}.s${nextNumber()}`;
      const space = newSpace(mark);
      return {
        changes: {
          [`space ${mark}`]: spaceValue(space),
          [`participation ${mark}>${person.mark}`]: 'joined',
          [`read ${mark}>${person.mark}`]: ANY,
        },
        send: () =>
          api.createSpace({
            client,
            auth: person.token,
            headers: newKey(),
            body: space,
          }),
        onSuccess({ space_id }: { space_id: string }) {
          setId(`space ${mark}`, space_id);
          remember(person.spaces, mark, MAX_REMEMBERED);
          remember(person.joined, mark, MAX_REMEMBERED);
          if (space.visibility === 'public') remember(spaces, mark, MAX_REMEMBERED);
          return undefined;
        },
      };
    },
    updateSpace(person) {
      const mark = drawExisting('space', person.spaces);
      if (!mark) return undefined;
      const space = newSpace(mark);
      return {
        changes: { [`space ${mark}`]: spaceValue(space) },
        send: () =>
          api.updateSpace({
            client,
            auth: person.token,
            path: spaceId(mark),
            body: space,
          }),
      };
    },
    deleteSpace(person) {
      const mark = drawExisting('space', person.spaces);
      if (!mark) return undefined;
      return {
        changes: { [`space ${mark}`]: undefined },
        send: () => api.deleteSpace({ client, auth: person.token, path: spaceId(mark) }),
      };
    },
    joinSpace(person) {
      const mark = drawExisting('space', spaces);
      if (!mark || mark.startsWith(`${person.mark}.`)) return undefined;
      const read = `read ${mark}>${person.mark}`;
      const participation = `participation ${mark}>${person.mark}`;
      // Joining again has no effect.
      const role = ledger.value(participation) === 'moderates' ? 'moderates' : 'joined';
      const muted = `muted ${mark}>${person.mark}`;
      const isMuted = hasJoined(person, mark) ? ledger.value(muted) : undefined;
      return {
        changes: { [participation]: role, [read]: ANY, [muted]: isMuted },
        send: () => api.joinSpace({ client, auth: person.token, path: spaceId(mark), body: {} }),
        onSuccess({ read_until }: { read_until: string }) {
          remember(person.joined, mark, MAX_REMEMBERED);
          return { [read]: read_until };
        },
      };
    },
    leaveSpace(person) {
      const mark = drawExisting('space', person.joined);
      if (!mark || mark.startsWith(`${person.mark}.`) || !hasJoined(person, mark)) return undefined;
      return {
        changes: { [`participation ${mark}>${person.mark}`]: 'left' },
        send: () => api.leaveSpace({ client, auth: person.token, path: spaceId(mark) }),
      };
    },
    appointModerator(person, own) {
      const found = drawGuest(person, own, 'joined');
      if (!found) return undefined;
      const { guest, mark } = found;
      const path = { ...spaceId(mark), ...userId(guest.mark) };
      return {
        changes: { [`participation ${mark}>${guest.mark}`]: 'moderates' },
        send: () => api.appointModerator({ client, auth: person.token, path }),
      };
    },
    dismissModerator(person, own) {
      const found = drawGuest(person, own, 'moderates');
      if (!found) return undefined;
      const { guest, mark } = found;
      const path = { ...spaceId(mark), ...userId(guest.mark) };
      return {
        changes: { [`participation ${mark}>${guest.mark}`]: 'joined' },
        send: () => api.dismissModerator({ client, auth: person.token, path }),
      };
    },
    removeParticipant(person, own) {
      const found = drawGuest(person, own, 'joined');
      if (!found) return undefined;
      const { guest, mark } = found;
      const path = { ...spaceId(mark), ...userId(guest.mark) };
      return {
        changes: { [`participation ${mark}>${guest.mark}`]: 'removed' },
        send: () => api.removeParticipant({ client, auth: person.token, path }),
      };
    },
    undoRemoval(person, own) {
      const found = drawGuest(person, own, 'removed');
      if (!found) return undefined;
      const { guest, mark } = found;
      const path = { ...spaceId(mark), ...userId(guest.mark) };
      return {
        changes: { [`participation ${mark}>${guest.mark}`]: 'left' },
        send: () => api.undoRemoval({ client, auth: person.token, path }),
      };
    },
    sendMessage(person) {
      const space = drawExisting('space', person.joined);
      if (!space || !hasJoined(person, space)) return undefined;
      const own = `${person.mark}.m${nextNumber()}`;
      const mark = `${space}>${own}`;
      const { sent, changes } = newText(person, mark);
      const inSpace = messages.filter((each) => each.startsWith(`${space}>`));
      const original = Math.random() < 0.5 ? drawExisting('message', inSpace) : undefined;
      return {
        changes: { ...changes, ...(original && { [`reply ${original}>${own}`]: 'exists' }) },
        send: () =>
          api.sendMessage({
            client,
            auth: person.token,
            headers: newKey(),
            body: {
              ...spaceId(space),
              text: sent,
              reply_to: original ? messageId(original).message_id : null,
            },
          }),
        onSuccess({ message_id }: { message_id: string }) {
          setId(`message ${mark}`, message_id);
          remember(person.messages, mark, MAX_REMEMBERED);
          remember(messages, mark, MAX_REMEMBERED);
          return undefined;
        },
      };
    },
    editMessage(person) {
      const mark = drawExisting('message', person.messages);
      const space = mark?.split('>')[0];
      if (!mark || !space || !hasJoined(person, space)) return undefined;
      const { sent: edited, changes } = newText(person, mark);
      return {
        changes,
        send: () =>
          api.editMessage({
            client,
            auth: person.token,
            headers: newKey(),
            path: messageId(mark),
            body: { text: edited },
          }),
      };
    },
    deleteMessage(person) {
      const mark = drawExisting('message', person.messages);
      if (!mark) return undefined;
      return {
        changes: { [`message ${mark}`]: undefined },
        send: () => api.deleteMessage({ client, auth: person.token, path: messageId(mark) }),
      };
    },
    appreciateMessage(person) {
      const mark = drawExisting('message', messages);
      if (!mark || mark.includes(`>${person.mark}.`)) return undefined;
      return {
        changes: { [`appreciation ${mark}>${person.mark}`]: 'exists' },
        send: () => api.appreciateMessage({ client, auth: person.token, path: messageId(mark) }),
      };
    },
    markRead(person) {
      const mark = drawExisting('message', messages);
      const space = mark?.split('>')[0];
      if (!mark || !space || !hasJoined(person, space)) return undefined;
      const read = `read ${space}>${person.mark}`;
      return {
        changes: { [read]: ANY },
        send: () =>
          api.markRead({
            client,
            auth: person.token,
            path: spaceId(space),
            body: messageId(mark),
          }),
        onSuccess: ({ read_until }: { read_until: string }) => ({ [read]: read_until }),
      };
    },
    updateParticipation(person) {
      const mark = drawExisting('space', person.joined);
      if (!mark || !hasJoined(person, mark)) return undefined;
      const muted = Math.random() < 0.6;
      const body = { muted };
      return {
        changes: { [`muted ${mark}>${person.mark}`]: muted ? 'yes' : undefined },
        send: () =>
          api.updateParticipation({ client, auth: person.token, path: spaceId(mark), body }),
      };
    },
    blockUser(person, own) {
      const blocked = drawWhere(
        own,
        ({ mark }) => mark !== person.mark && ledger.exists(`user ${mark}`),
      );
      if (!blocked) return undefined;
      return {
        changes: { [`block ${person.mark}>${blocked.mark}`]: 'exists' },
        send: () => api.blockUser({ client, auth: person.token, path: userId(blocked.mark) }),
      };
    },
    unblockUser(person, own) {
      const blocked = drawWhere(own, ({ mark }) => ledger.exists(`block ${person.mark}>${mark}`));
      if (!blocked) return undefined;
      return {
        changes: { [`block ${person.mark}>${blocked.mark}`]: undefined },
        send: () => api.unblockUser({ client, auth: person.token, path: userId(blocked.mark) }),
      };
    },
    withdrawAppreciation(person) {
      const mark = drawWhere(messages, (each) =>
        ledger.exists(`appreciation ${each}>${person.mark}`),
      );
      if (!mark) return undefined;
      return {
        changes: { [`appreciation ${mark}>${person.mark}`]: undefined },
        send: () => api.withdrawAppreciation({ client, auth: person.token, path: messageId(mark) }),
      };
    },
    reportSpace(person) {
      const mark = drawExisting('space', spaces);
      if (!mark) return undefined;
      return report(person, mark, (reason) =>
        api.reportSpace({ client, auth: person.token, path: spaceId(mark), body: { reason } }),
      );
    },
    reportMessage(person) {
      const mark = drawExisting('message', messages);
      if (!mark) return undefined;
      return report(person, mark, (reason) =>
        api.reportMessage({ client, auth: person.token, path: messageId(mark), body: { reason } }),
      );
    },
    reportUser(person, own) {
      const reported = drawWhere(own, ({ mark }) => ledger.exists(`user ${mark}`));
      if (!reported) return undefined;
      const path = userId(reported.mark);
      return report(person, reported.mark, (reason) =>
        api.reportUser({ client, auth: person.token, path, body: { reason } }),
      );
    },
    withdrawSpaceReport: (person) =>
      withdraw(person, spaces, (mark) =>
        api.withdrawSpaceReport({ client, auth: person.token, path: spaceId(mark) }),
      ),
    withdrawMessageReport: (person) =>
      withdraw(person, messages, (mark) =>
        api.withdrawMessageReport({ client, auth: person.token, path: messageId(mark) }),
      ),
    withdrawUserReport: (person, own) =>
      withdraw(
        person,
        own.map(({ mark }) => mark),
        (mark) => api.withdrawUserReport({ client, auth: person.token, path: userId(mark) }),
      ),
    deleteAccount({ mark, token }) {
      return {
        changes: { [`user ${mark}`]: undefined },
        send: () => api.deleteAccount({ client, auth: token }),
      };
    },
  };

  /** Returns a text that mentions its author or nobody: other users can change their names at the same time. */
  function newText({ mark: author }: TrafficUser, mark: string) {
    const isMentioned = Math.random() < 0.3;
    const beginning = text(mark, 12);
    const sent = isMentioned ? `${beginning} @${ledger.value(`username ${author}`)}` : beginning;
    const changes: Changes = {
      [`message ${mark}`]: sent,
      [`mention ${mark}>${author}`]: isMentioned ? 'exists' : undefined,
    };
    return { sent, changes };
  }

  /** Reports a space or a message, unless the person has already sent as many reports as can be open. */
  function report(
    person: TrafficUser,
    mark: string,
    send: (reason: string) => ReturnType<Attempt['send']>,
  ): Attempt | undefined {
    if (person.reports >= MAX_OPEN_REPORTS) return undefined;
    person.reports += 1;
    const reason = text(`Report${nextNumber()}`, 10);
    return { changes: { [`report ${mark}>${person.mark}`]: reason }, send: () => send(reason) };
  }

  /** Withdraws a report about one of these rows. */
  function withdraw(
    { mark: reporter }: TrafficUser,
    marks: readonly string[],
    send: (mark: string) => ReturnType<Attempt['send']>,
  ): Attempt | undefined {
    const mark = drawWhere(marks, (each) => ledger.exists(`report ${each}>${reporter}`));
    if (mark === undefined) return undefined;
    return { changes: { [`report ${mark}>${reporter}`]: undefined }, send: () => send(mark) };
  }

  const hasJoined = (person: TrafficUser, space: string) =>
    ['joined', 'moderates'].includes(ledger.value(`participation ${space}>${person.mark}`) ?? '');

  /** Returns another person of the writer whose participation in a space of `host` has this value. */
  function drawGuest(
    host: TrafficUser,
    own: TrafficUser[],
    value: 'joined' | 'moderates' | 'removed',
  ) {
    const found = host.spaces
      .filter((mark) => ledger.exists(`space ${mark}`))
      .flatMap((mark) => own.map((guest) => ({ mark, guest })))
      .filter(
        ({ mark, guest }) =>
          guest !== host && ledger.value(`participation ${mark}>${guest.mark}`) === value,
      );
    return found.length === 0 ? undefined : draw(found);
  }

  function register(own: TrafficUser[]): Attempt {
    const mark = `u${nextNumber()}`;
    const username = `user-${mark.slice(1)}`;
    const body = { username, email: `${mark}@example.org`, password: 'correct horse battery' };
    return {
      changes: { [`user ${mark}`]: 'exists', [`username ${mark}`]: username },
      send: () => api.register({ client, body }),
      onSuccess({ user_id, access_token: token }: { user_id: string; access_token: string }) {
        setId(`user ${mark}`, user_id);
        const person = { mark, token, spaces: [], joined: [], messages: [], reports: 0 };
        own.push(person);
        remember(people, person, MAX_REMEMBERED);
        return undefined;
      },
    };
  }

  return {
    create: (operation, person, own) => writes[operation](person, own),
    register,
  };
}

/** Returns a header. `repetitions.ts` repeats requests with it; here, its row must survive or vanish with the creation. */
const newKey = () => ({ 'Idempotency-Key': randomUUID() });

function text(beginning: string, words: number): string {
  const drawn = Array.from({ length: words }, () => draw(WORDS));
  return [beginning, ...drawn].join(' ');
}
