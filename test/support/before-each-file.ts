import { beforeEach } from 'vitest';
import { reduceHashingCost } from './hashing-cost.ts';
import { reuseOpenapiValidator } from './openapi-validator.ts';
import { describeRecent, forgetRecent } from './recent.ts';

reduceHashingCost();
reuseOpenapiValidator();

beforeEach(({ onTestFailed }) => {
  forgetRecent();
  onTestFailed(() => {
    const recent = describeRecent();
    if (recent) console.error(`The last requests of the test:\n\n${recent}\n`);
  });
});
