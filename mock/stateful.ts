import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildApp } from '../server/app.ts';
import { readConfig } from '../server/config.ts';
import { openContext } from '../server/context.ts';
import { type CollectedMail, createMailbox, mailboxSettings } from '../server/mail/mailbox.ts';
import { openLog } from '../server/process/log.ts';
import { importSample } from '../server/sample/import-sample.ts';
import { createTemporaryFolder } from '../server/system/temporary-folder.ts';

/** The server with sample data in a temporary folder, which is deleted when the process exits. Disposing stops it. */
export interface Application extends AsyncDisposable {
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Returns the mail that the server has sent since the last reset. */
  mails(): readonly CollectedMail[];
  /** Replaces all data with the sample data. */
  reset(): Promise<void>;
}

/** Maximum time for pending requests to finish after a reset. */
const MAX_PENDING_MS = 5_000;

type Instance = Omit<Application, 'reset'>;

/** @param publicUrl the URL at which clients reach the server */
export async function openApplication(publicUrl: string): Promise<Application> {
  const folder = createTemporaryFolder('space-service-mock-');
  const sample = join(folder, 'sample');
  await importSample({ dataDir: sample });
  let current = await openInstance();
  return {
    handle: (incoming, outgoing) => current.handle(incoming, outgoing),
    mails: () => current.mails(),
    async reset() {
      const next = await openInstance();
      const previous = current;
      current = next;
      await previous[Symbol.asyncDispose]();
    },
    [Symbol.asyncDispose]: () => current[Symbol.asyncDispose](),
  };

  async function openInstance(): Promise<Instance> {
    const dataDir = mkdtempSync(join(folder, 'data-'));
    // Faster than another import.
    cpSync(sample, dataDir, { recursive: true });
    return serveData(dataDir, publicUrl);
  }
}

async function serveData(dataDir: string, publicUrl: string): Promise<Instance> {
  const config = readConfig({
    DATA_DIR: dataDir,
    PUBLIC_URL: publicUrl,
    DRAIN_SECONDS: '0',
    // Tests of a front end send more requests than a person.
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    ...mailboxSettings(publicUrl),
  });
  const mailbox = createMailbox();
  const context = await openContext(config, openLog(config), { mail: mailbox });
  const app = await buildApp(context);
  await app.ready();

  const pending = new Set<ServerResponse>();
  return {
    mails: () => mailbox.mails,
    handle(incoming, outgoing) {
      pending.add(outgoing);
      outgoing.once('close', () => pending.delete(outgoing));
      app.routing(incoming, outgoing);
    },
    async [Symbol.asyncDispose]() {
      const finished = Promise.all([...pending].map((response) => once(response, 'close')));
      // Followers of messages and lists get an empty page instead of delaying the reset.
      await context.waits.endAll();
      await Promise.race([finished, sleep(MAX_PENDING_MS)]);
      await app.close();
      await context[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true });
    },
  };
}
