import { contract, type Schema } from '../contract.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

const { schemas } = contract.components;

const boundsOf = (schema: string, field = '') =>
  (field === '' ? schemas[schema] : schemas[schema]?.properties?.[field]) as Schema;

export const server: Scenario[] = [
  {
    operation: 'getServer',
    sentence: 'the limits are those of the requests',
    rule: 'The bounds of values. Lengths are in Unicode code points unless stated otherwise.',
    async run({ anonymous }) {
      const { limits } = await anonymous.call('getServer');
      equal(
        limits,
        {
          min_username_length: boundsOf('Username').minLength,
          max_username_length: boundsOf('Username').maxLength,
          min_password_length: boundsOf('NewPassword').minLength,
          max_password_length: boundsOf('NewPassword').maxLength,
          // In grapheme clusters, which no schema can state.
          max_bio_length: 500,
          max_title_length: boundsOf('SpaceTitle').maxLength,
          max_description_length: boundsOf('SpaceDescription').maxLength,
          max_tags_per_space: boundsOf('TagNames').maxItems,
          max_tag_length: boundsOf('TagNames').items?.maxLength,
          max_message_length: boundsOf('MessageText').maxLength,
          max_reason_length: boundsOf('ReportCreation', 'reason').maxLength,
          max_avatar_bytes: 5_242_880,
        },
        'The limits',
      );
    },
  },
  {
    operation: 'getServer',
    sentence: 'describes the same server to everyone',
    rule: 'Returns what a client should know before it offers something',
    async run({ anonymous, user }) {
      const description = await anonymous.call('getServer');
      equal(await (await user()).call('getServer'), description, 'The server for a user');
      require(description.is_registration_open, 'Registration is closed, but this check has registered');
      const { spaces_per_hour, spaces_per_day } = description.quotas;
      require((spaces_per_hour === null) ===
        (spaces_per_day === null), 'Only one of two quotas is off');
    },
  },
];
