import { randomUUID } from 'node:crypto';
import * as api from '../generated/sdk.gen.ts';
import type { SpaceCreation, TokenCreation } from '../generated/types.gen.ts';
import { newUsername } from './accounts.ts';
import { operations } from './contract.ts';
import { dataOf } from './exchange.ts';
import { avatar, avatarForm, bodyExampleOf } from './requests.ts';
import { png } from './scenarios/avatars.ts';
import type { World } from './world.ts';

/** What a request has instead of the contract's examples, so that it provokes one response. */
export interface Changes {
  /** By default, that of `creator`. */
  token?: string;
  /** Values of parameters, by name. */
  parameters?: Record<string, string>;
  /** Fields of the JSON body. Ignored if the operation has none. */
  fields?: Record<string, unknown>;
  /** The multipart body. */
  form?: FormData;
  headers?: Record<string, string>;
}

type Change = (world: World) => Changes | Promise<Changes>;

/** Changes by status, for the responses that are not in `changes`. */
export const changesByStatus: Record<string, Change> = {
  400: () => ({ fields: { unknown: true } }),
  401: () => ({ token: 'unknown' }),
  // Of the operations that return 403 only to programs. None of them needs the scope of this token.
  403: ({ programToken }) => ({ token: programToken.access_token }),
  413: () => ({ fields: { padding: 'x'.repeat(32_768) } }),
  415: () => ({ headers: { 'Content-Type': 'text/plain' } }),
  431: () => ({ headers: { 'X-Padding': 'x'.repeat(16_384) } }),
};

/** `creator` sends the requests by default. */
const asCreator = (): Changes => ({});
const asOther = ({ other: { token } }: World): Changes => ({ token });
const asFrequentReporter: Change = async ({ registerFrequentReporter }) => {
  const { token } = await registerFrequentReporter();
  return { token };
};
const inSpace = ({ space_id }: { space_id: string }): Changes => ({ parameters: { space_id } });
const inPrivateSpace = ({ privateSpace }: World): Changes => inSpace(privateSpace);
// Has no effect, because the user has already been removed.
const ofRemoved = ({ removed }: World): Changes => ({ parameters: { user_id: removed.userId } });
const ofParticipant = ({ participant }: World): Changes => ({
  parameters: { user_id: participant.userId },
});
/** A moderator cannot remove moderators. */
const ofModerator: Change = async ({ register, client, creator, space: { space_id } }) => {
  const { token, userId: user_id } = await register();
  await dataOf(api.joinSpace({ client: client(token), path: { space_id } }));
  const path = { space_id, user_id };
  await dataOf(api.appointModerator({ client: client(creator.token), path }));
  return { token, parameters: { user_id } };
};
const takenUsername = ({ other: { username } }: World): Changes => ({ fields: { username } });
const wrongPassword = (): Changes => ({ fields: { currentPassword: 'not the right one' } });
const unknownAddress = (): Changes => ({ fields: { email: `${newUsername()}@example.com` } });
const newRegistration = (world: World): Changes => ({ fields: world.newRegistration() });
const takenRegistration = (world: World): Changes => ({
  fields: { ...world.newRegistration(), username: world.other.username },
});
/** The request repeats one that has created a space, which has been deleted. */
const repeatedCreation: Change = async ({ client, creator }) => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const creation = operations.find(({ operationId }) => operationId === 'createSpace');
  // With all fields of the example, which the repetition has, too.
  const example = creation && (bodyExampleOf(creation) as SpaceCreation | undefined);
  if (!example) throw new Error('createSpace has no example of its body.');
  const body: SpaceCreation = { ...example, title: 'Deleted', visibility: 'private' };
  const caller = client(creator.token);
  const { space_id } = await dataOf(api.createSpace({ client: caller, headers, body }));
  await dataOf(api.deleteSpace({ client: caller, path: { space_id } }));
  return { headers, fields: { ...body } };
};
const usedKey: Change = async (world) => {
  const { headers = {} } = await repeatedCreation(world);
  return { headers };
};
/** A new account, because a server without the limit deletes the account that sends the request. */
const asTemporary: Change = async ({ register }) => ({ token: (await register()).token });
/** Of a new account, because a server without scopes deletes it. */
const asTemporaryProgram: Change = async ({ register, client }) => {
  const { token } = await register();
  const body: TokenCreation = { name: 'Created by the contract check', scopes: ['moderate'] };
  const { access_token } = await dataOf(api.createToken({ client: client(token), body }));
  return { token: access_token };
};
const inNewSession: Change = async ({ logIn, creator }) => ({ token: await logIn(creator) });
const ofNewSession: Change = async ({ openSession }) => ({
  parameters: { session_id: await openSession() },
});
const ofNewToken: Change = async (world) => ({
  ...asOther(world),
  parameters: { token_id: (await world.createToken()).token_id },
});
const inNewSpace: Change = async ({ createSpace }) => inSpace(await createSpace());
const ofNewMessage: Change = async ({ sendMessage }) => {
  const { message_id } = await sendMessage();
  return { parameters: { message_id } };
};
const newName = (): Changes => ({ fields: { username: newUsername() } });
/** Combines a change with that of the status. A server without the check of the status carries the request out. */
const harmless =
  (status: number, change: Change): Change =>
  async (world) => {
    const byStatus = await changesByStatus[status]?.(world);
    const own = await change(world);
    return { ...byStatus, ...own, fields: { ...own.fields, ...byStatus?.fields } };
  };
const unsupportedAvatar = (): Changes => ({ form: avatarForm('This is not an image.') });

/**
 * Changes by the id of the declared response. For 429, the request must count against the limit.
 */
export const changes: Record<string, Change> = {
  // The response must have Answered-Query. No space matches the query with its stop word, `what`, so the results of the
  // query without it follow.
  'searchSpaces 200': ({ word }) => ({ parameters: { q: `what ${word}` } }),
  'searchSpacesByTag 404': () => ({ parameters: { tag: '' } }),

  // On a server that requires verified addresses.
  'changeUsername 403': asCreator,
  'changeBio 403': asCreator,
  'changeProfilePicture 403': asCreator,
  'createSpace 403': asCreator,
  'reportSpace 403': asCreator,
  'reportMessage 403': asCreator,
  'reportUser 403': asCreator,

  'changeUsername 200': newName,
  'changeUsername 409': takenUsername,
  // `other` sends its own username. The request changes nothing, but counts.
  'changeUsername 429': (world) => ({ ...asOther(world), ...takenUsername(world) }),
  // Not as `creator`: restoring the bio of an existing account would then get 429.
  'changeBio 429': asOther,
  'changeProfilePicture 400': () => ({ form: avatarForm() }),
  'changeProfilePicture 413': () => ({ form: avatarForm(png(5_242_881)) }),
  'changeProfilePicture 415': unsupportedAvatar,
  'changeProfilePicture 422': () => ({ form: avatarForm(avatar.subarray(0, -40)) }),
  'changeProfilePicture 429': (world) => ({ ...asOther(world), ...unsupportedAvatar() }),
  'changePassword 200': ({ other: { token, password } }) => ({
    token,
    fields: { currentPassword: password },
  }),
  'changePassword 403': wrongPassword,
  'changePassword 429': (world) => ({ ...asOther(world), ...wrongPassword() }),
  'changeEmail 202': async ({ register }) => {
    const { token, password } = await register();
    return { token, fields: { ...unknownAddress().fields, currentPassword: password } };
  },
  'changeEmail 403': wrongPassword,
  'changeEmail 409': ({ creator, other }) => ({
    fields: { email: other.email, currentPassword: creator.password },
  }),
  'changeEmail 429': (world) => ({ ...asOther(world), ...wrongPassword() }),
  'requestEmailVerification 202': asTemporary,
  'requestEmailVerification 403': asTemporary,
  'requestEmailVerification 429': asOther,
  'deleteAccount 200': asTemporary,
  'deleteAccount 403': asTemporaryProgram,

  'register 201': newRegistration,
  'register 403': newRegistration,
  'register 409': takenRegistration,
  'register 429': takenRegistration,
  // Not of `creator`, because an existing account would keep the session.
  'login 200': async ({ register }) => {
    const { email, password } = await register();
    return { fields: { email, password } };
  },
  'login 403': ({ creator: { email, password } }) => ({ fields: { email, password } }),
  'login 401': unknownAddress,
  'login 429': unknownAddress,
  'requestPasswordReset 202': unknownAddress,
  'requestPasswordReset 403': unknownAddress,
  'requestPasswordReset 429': unknownAddress,
  'resetPassword 200': async ({ register, client, receiveToken }) => {
    const { email } = await register();
    await dataOf(api.requestPasswordReset({ client: client(), body: { email } }));
    return { fields: { token: await receiveToken?.(email, 'reset-password') } };
  },
  'verifyEmail 200': async ({ register, receiveToken }) => {
    const { email } = await register();
    return { fields: { token: await receiveToken?.(email, 'verify-email') } };
  },
  'verifyEmail 409': async ({ register, newRegistration, client, receiveToken }) => {
    const { token, password } = await register();
    const body = newRegistration();
    const change = { email: body.email, currentPassword: password };
    await dataOf(api.changeEmail({ client: client(token), body: change }));
    const link = await receiveToken?.(body.email, 'verify-email');
    await dataOf(api.register({ client: client(), body }));
    return { fields: { token: link } };
  },
  'listTokens 200': asOther,
  // Not as `creator`, because an existing account would keep it.
  'createToken 201': asOther,
  'createToken 409': asOther,
  'createToken 429': asOther,
  'revokeToken 200': ofNewToken,
  'logout 200': inNewSession,
  'logout 400': () => ({ parameters: { everywhere: 'perhaps' } }),
  'endSession 200': ofNewSession,

  'getSpace 304': () => ({ headers: { 'If-None-Match': '*' } }),
  'createSpace 404': repeatedCreation,
  'createSpace 409': asCreator,
  'createSpace 422': usedKey,
  // Not as `creator`, because an existing account would keep the spaces beyond its first page of participations.
  'createSpace 429': asOther,
  'updateSpace 403': asOther,
  'updateSpace 409': (world) => ({ ...inPrivateSpace(world), fields: { visibility: 'public' } }),
  'updateSpace 412': () => ({ headers: { 'If-Match': '"0"' } }),
  'updateSpace 422': usedKey,
  'updateSpace 429': asCreator,
  'deleteSpace 200': inNewSpace,
  'deleteSpace 403': asOther,
  'renewInvitationCode 200': inPrivateSpace,
  'renewInvitationCode 403': asOther,
  'renewInvitationCode 409': asCreator,
  'renewInvitationCode 422': usedKey,
  'renewInvitationCode 429': inPrivateSpace,
  'joinSpace 200': asOther,
  'joinSpace 403': ({ removed: { token } }) => ({ token }),
  'joinSpace 409': ({ otherSpace }) => inSpace(otherSpace),
  'joinSpace 429': asCreator,
  'markRead 403': ({ otherSpace }) => inSpace(otherSpace),
  'markRead 429': asCreator,
  'leaveSpace 200': asOther,
  'leaveSpace 409': asCreator,
  'appointModerator 200': ofParticipant,
  'appointModerator 403': asOther,
  // The user is unknown, the space is not.
  'appointModerator 404': ({ space }) => inSpace(space),
  'appointModerator 409': asCreator,
  'appointModerator 429': ofParticipant,
  'dismissModerator 200': ofParticipant,
  'dismissModerator 403': asOther,
  'listRemovals 403': asOther,
  'removeParticipant 200': ofRemoved,
  'removeParticipant 403': ofModerator,
  // The user is unknown, the space is not.
  'removeParticipant 404': ({ space }) => inSpace(space),
  'removeParticipant 409': asCreator,
  'removeParticipant 429': ofRemoved,
  'undoRemoval 403': asOther,

  'sendMessage 409': asCreator,
  'sendMessage 422': usedKey,
  'sendMessage 429': asCreator,
  'sendMessage 403': ({ otherSpace: { space_id } }) => ({ fields: { space_id } }),
  'getMessage 304': () => ({ headers: { 'If-None-Match': '*' } }),
  'editMessage 403': asOther,
  'editMessage 409': asCreator,
  'editMessage 412': () => ({ headers: { 'If-Match': '"0"' } }),
  'editMessage 422': usedKey,
  'editMessage 429': asCreator,
  'deleteMessage 200': ofNewMessage,
  'deleteMessage 403': asOther,
  'appreciateMessage 200': asOther,
  'appreciateMessage 403': asCreator,
  'appreciateMessage 429': asOther,
  'withdrawAppreciation 200': asOther,

  'blockUser 200': ofParticipant,
  'blockUser 403': asCreator,
  'blockUser 429': ofParticipant,
  'updateParticipation 429': asCreator,
  'listReports 403': asOther,
  'reportSpace 409': asFrequentReporter,
  'reportSpace 429': asCreator,
  'reportMessage 409': asFrequentReporter,
  'reportMessage 429': asCreator,
  'reportUser 409': asFrequentReporter,
  'reportUser 429': asCreator,

  'register 400': harmless(400, newRegistration),
  'register 413': harmless(413, newRegistration),
  'register 415': harmless(415, newRegistration),
  'register 431': harmless(431, newRegistration),
  'changeUsername 413': harmless(413, newName),
  'changeUsername 415': harmless(415, newName),
  'changeUsername 431': harmless(431, newName),
  'changeProfilePicture 431': harmless(431, asOther),
  'deleteAccount 431': harmless(431, asTemporary),
  'logout 431': harmless(431, inNewSession),
  'endSession 431': harmless(431, ofNewSession),
  'createToken 400': harmless(400, asOther),
  'createToken 413': harmless(413, asOther),
  'createToken 415': harmless(415, asOther),
  'createToken 431': harmless(431, asOther),
  'revokeToken 431': harmless(431, ofNewToken),
  'deleteSpace 431': harmless(431, inNewSpace),
  'deleteMessage 431': harmless(431, ofNewMessage),
};
