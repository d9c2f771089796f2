import { describe, expect, test } from 'vitest';
import { parseBio } from '../../server/accounts/bio.ts';
import { isReserved } from '../../server/accounts/reserved-usernames.ts';
import { parseUsername } from '../../server/accounts/username.ts';
import { DomainError } from '../../server/errors.ts';
import { usernameKey, usernameSkeleton } from '../../server/text/username-keys.ts';
import { countWords } from '../../server/text/word-count.ts';
import { tagKey } from '../../server/text/words/fold.ts';
import bios from '../../verification/vectors/bios.json' with { type: 'json' };
import lookAlikes from '../../verification/vectors/look-alike-usernames.json' with { type: 'json' };
import reservedUsernames from '../../verification/vectors/reserved-usernames.json' with {
  type: 'json',
};
import tags from '../../verification/vectors/tags.json' with { type: 'json' };
import usernames from '../../verification/vectors/usernames.json' with { type: 'json' };
import wordCounts from '../../verification/vectors/word-counts.json' with { type: 'json' };
import unspacedWordCounts from '../../verification/vectors/word-counts-of-unspaced-scripts.json' with {
  type: 'json',
};

// The vectors are in the npm package for those who implement the contract in another language.

describe('The test vectors match the server', () => {
  test.each([...wordCounts.cases, ...unspacedWordCounts.cases])(
    '$text has $words words',
    ({ text, words }) => {
      expect(countWords(text)).toBe(words);
    },
  );

  test.each(usernames.cases)('the username $username is valid: $valid', (each) => {
    if (each.valid) expect(parseUsername(each.username).name).toBe(each.stored);
    else expect(() => parseUsername(each.username)).toThrow(DomainError);
  });

  test.each(lookAlikes.cases)('$first and $second are the same username: $same', (each) => {
    const isSame = [usernameKey, usernameSkeleton].some(
      (keyOf) => keyOf(each.first) === keyOf(each.second),
    );
    expect(isSame).toBe(each.same);
  });

  test.each(reservedUsernames.cases)('$username is reserved: $reserved', (each) => {
    expect(isReserved(each.username)).toBe(each.reserved);
  });

  test.each(tags.cases)('$first and $second are the same tag: $same', (each) => {
    expect(tagKey(each.first) === tagKey(each.second)).toBe(each.same);
  });

  test.each(bios.cases)('a bio of $name is valid: $valid', ({ bio, valid }) => {
    if (valid) expect(() => parseBio(bio)).not.toThrow();
    else expect(() => parseBio(bio)).toThrow(DomainError);
  });
});
