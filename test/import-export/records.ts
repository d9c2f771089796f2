/** A valid password hash. */
export const PASSWORD_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export const ada = { type: 'user', user_id: 'ada', username: 'ada', email: 'ada@example.com' };
export const bob = { type: 'user', user_id: 'bob', username: 'bob', email: 'bob@example.com' };
export const bread = {
  type: 'space',
  space_id: 'bread',
  creator_id: 'ada',
  title: 'Bread',
  tags: ['Baking'],
};
export const joined = { type: 'participant', space_id: 'bread', user_id: 'bob' };
export const hello = {
  type: 'message',
  message_id: 'hello',
  space_id: 'bread',
  author_id: 'bob',
  text: 'Hello there',
};
export const liked = { type: 'appreciation', message_id: 'hello', user_id: 'ada' };
export const blocked = { type: 'block', user_id: 'ada', blocked_id: 'bob' };
/** One valid record of each type, and a second user. */
export const validRecords = [ada, bob, bread, joined, hello, liked, blocked];
