import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Limits, Quotas } from '../../generated/types.gen.ts';
import { MAX_GRAPHEMES } from '../accounts/bio.ts';
import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import { componentSchema, type Schema, version } from '../contract.ts';
import { MAX_AVATAR_BYTES } from '../http/uploads.ts';

export function serverHandlers({ config }: Pick<Context, 'config'>) {
  return {
    getServer: async (_request, reply) => {
      const { siteName, isRegistrationOpen, requiresVerifiedEmail, mail, termsUrl, contact } =
        config;
      return reply.code(200).send({
        name: siteName,
        version,
        is_registration_open: isRegistrationOpen,
        sends_mail: mail !== null,
        requires_verified_email: requiresVerifiedEmail,
        terms_url: termsUrl,
        contact,
        limits,
        quotas: describeQuotas(config),
      });
    },
  } satisfies Partial<RouteHandlers>;
}

const usernames = componentSchema('Username');
const passwords = componentSchema('NewPassword');
const tags = componentSchema('TagNames');

/** Except for bios and avatars, the contract's own bounds of requests. */
const limits: Limits = {
  min_username_length: minLength(usernames),
  max_username_length: maxLength(usernames),
  min_password_length: minLength(passwords),
  max_password_length: maxLength(passwords),
  max_bio_length: MAX_GRAPHEMES,
  max_title_length: maxLength(componentSchema('SpaceTitle')),
  max_description_length: maxLength(componentSchema('SpaceDescription')),
  max_tags_per_space: bound(tags.maxItems),
  max_tag_length: maxLength(tags.items),
  max_message_length: maxLength(componentSchema('MessageText')),
  max_reason_length: maxLength(componentSchema('ReportCreation', 'reason')),
  max_avatar_bytes: MAX_AVATAR_BYTES,
};

function minLength(schema: Schema): number {
  return bound(schema.minLength);
}

function maxLength(schema: Schema | undefined): number {
  return bound(schema?.maxLength);
}

function bound(value: number | undefined): number {
  if (value === undefined) throw new Error('The contract has no such bound.');
  return value;
}

function describeQuotas({ quotas }: Pick<Config, 'quotas'>): Quotas {
  const { rates, maxSpaces, maxParticipations, maxTags, maxSessions, maxTokens } = quotas;
  return {
    max_spaces: maxSpaces,
    max_participations: maxParticipations,
    max_tags: maxTags,
    max_sessions: maxSessions,
    max_tokens: maxTokens,
    spaces_per_hour: rates?.space.perHour ?? null,
    spaces_per_day: rates?.space.perDay ?? null,
    messages_per_hour: rates?.message.perHour ?? null,
    messages_per_day: rates?.message.perDay ?? null,
    changes_per_hour: rates?.change.perHour ?? null,
    changes_per_day: rates?.change.perDay ?? null,
  };
}
