import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pages } from '../../../client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import type { Message, Scope, Space } from '../../../generated/types.gen.ts';
import { register, type TestUser } from '../../support/client.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { draw } from '../../support/drawing.ts';
import { type RunningProcess, startProcess, whileRunning } from '../../support/processes.ts';
import { startServer } from '../../support/server.ts';
import { createSpace, joinSpace } from '../../support/spaces.ts';
import { startSwitchingProxy } from '../../support/switching-proxy.ts';
import { findProblemWith, openWorkspace, root, type Workspace } from '../generators/generator.ts';
import { oapiCodegen } from '../generators/oapi-codegen/generator.ts';
import { openapiPythonClient } from '../generators/openapi-python-client/generator.ts';
import { startSpoilingProxy } from './programs/spoiling-proxy.ts';
import { MissingRequirement, type Trial } from './trial.ts';

const SPACES = 100;

/** The spaces of the bot whose proxy hides its keys, so that the trial must find repeated answers. */
const CONTROL_SPACES = 5;

const LINES = 10;

const MAX_CATCH_UP_MS = 120_000;

export const programs: Trial = {
  promise:
    'The example programs answer, copy, send and print everything exactly once, although connections break, the server restarts and the programs are killed.',
  runsOnPostgresql: true,
  async run(scale) {
    const [rounds, messagesPerRound] = scale === 'full' ? [40, 50] : [3, 15];
    const { python, terminal } = await buildPrograms();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'space-service-programs-'));
    await using database = await createTestDatabase();
    const settings = { ...database.settings, DATA_DIR: join(folder.path, 'data') };
    await using switching = await startSwitchingProxy();
    const url = `http://127.0.0.1:${switching.port}`;
    await using proxy = await startSpoilingProxy(url);
    await using control = await startSpoilingProxy(url, { hidesKeys: true });
    await using running = new AsyncDisposableStack();
    let server = await startServer(settings);
    running.defer(() => server[Symbol.asyncDispose]());
    switching.switchTo(server.port);

    const creator = await register(url, 'creator');
    const helper = await register(url, 'helper');
    const forgetful = await register(url, 'forgetful');
    const spaces: Space[] = [];
    for (let i = 0; i < SPACES; i += 1) {
      const space = await createSpace(creator, { title: `No. ${i}` });
      spaces.push(space);
      await joinSpace(helper, space);
      if (i < CONTROL_SPACES) await joinSpace(forgetful, space);
    }
    const tokens: Record<string, string> = {
      helper: await createToken(helper, ['read', 'write']),
      forgetful: await createToken(forgetful, ['read', 'write']),
      mirror: await createToken(creator, ['read']),
      terminal: await createToken(creator, ['read', 'write']),
    };

    const start = (
      name: string,
      [program, ...args]: [string, ...string[]],
      { through = proxy, input = '' } = {},
    ): RunningProcess => {
      const env = {
        SERVER_URL: through.url,
        ACCESS_TOKEN: tokens[name] as string,
        DATABASE: join(folder.path, name),
        // DuckDB looks for its settings there.
        HOME: folder.path,
      };
      return running.use(startProcess(program, args, env, input, folder.path));
    };
    const startBot = () => start('helper', python('mention_bot.py'));
    const startMirror = () => start('mirror', python('mirror.py'));

    start('forgetful', python('mention_bot.py'), { through: control });
    let bot = startBot();
    const { space_id } = spaces[0] as Space;
    // With a pipe, because the end of the input ends the program.
    const shell = ['sh', '-c', 'sleep 86400 | exec "$0" "$1"'] as const;
    const printing = start('terminal', [...shell, terminal, space_id]);
    const lines = Array.from({ length: LINES }, (_, i) => `Line ${i}`);
    const sending = start('terminal', [terminal, space_id], { input: `${lines.join('\n')}\n` });

    const write = createWriter(creator, spaces);
    for (let round = 1; round <= rounds; round += 1) {
      const copying = startMirror();
      for (let i = 0; i < messagesPerRound; i += 1) await write.any();
      await sleep(randomInt(1_000));
      await copying.kill();
      await bot.kill();
      bot = startBot();
      await sleep(randomInt(1_000));
      await server.kill();
      switching.switchTo(null);
      server = await startServer(settings);
      switching.switchTo(server.port);
    }
    assert.equal(await sending.exited, 0, sending.output());

    const deadline = performance.now() + MAX_CATCH_UP_MS;
    const repliesOf = async (user: TestUser) =>
      (await listMessages(creator, spaces)).filter(({ author }) => author.user_id === user.userId);
    const isBehind = async () => (await repliesOf(helper)).length < write.mentioning.size;
    while ((await isBehind()) && performance.now() < deadline) await sleep(300);
    // The bot and the terminal wait, and the bot without keys.
    const isIdle = () => proxy.waiting === 2 && control.waiting === 1;
    // The last start sends again what the bot has not noted as sent.
    await bot.kill();
    bot = startBot();
    await whileRunning(bot, waitUntil(isIdle, deadline));

    const answered = (await repliesOf(helper)).map(({ reply_to }) => reply_to?.message_id);
    assert.deepEqual(answered.toSorted(), [...write.mentioning].toSorted(), bot.output());
    const ofControl = (await repliesOf(forgetful)).map(({ reply_to }) => reply_to?.message_id);
    assert(new Set(ofControl).size < ofControl.length, 'a bot without keys was not found');

    const copying = startMirror();
    assert.equal(await copying.exited, 0, copying.output());
    const messages = await listMessages(creator, spaces);
    const { copied, titles } = await readMirror(python, join(folder.path, 'mirror'));
    assert.deepEqual(
      copied,
      messages.map(({ message_id, text }) => `${message_id} ${text}`).toSorted(),
    );
    assert.deepEqual(titles, spaces.map(({ title }) => title).toSorted());

    const listed = messages.filter((message) => message.space_id === space_id).reverse();
    const texts = listed.map(({ text }) => text);
    assert.deepEqual(
      texts.filter((text) => text.startsWith('Line ')),
      lines,
    );
    const printed = () => printing.stdout().match(/(?<=^\d\d:\d\d [\w-]+: ).*/gm) ?? [];
    await whileRunning(
      printing,
      waitUntil(() => printed().length >= texts.length, deadline),
    );
    assert.deepEqual(printed(), texts);

    const { none, ...faults } = proxy.counts;
    const spoiled = Object.values(faults).reduce((sum, count) => sum + count);
    return `${spoiled} of ${none + spoiled} requests spoiled, ${rounds} restarts, ${2 * rounds + 1} kills of programs: ${answered.length} mentions answered and ${messages.length} messages of ${SPACES} spaces copied once, ${lines.length} lines sent and ${texts.length} printed once; a bot whose keys were hidden answered ${ofControl.length - new Set(ofControl).size} mentions again`;
  },
};

/** Builds the programs with generated clients. */
async function buildPrograms() {
  const generators = [openapiPythonClient, oapiCodegen];
  for (const toolchain of generators.flatMap(({ toolchains }) => toolchains)) {
    const problem = await findProblemWith(toolchain);
    if (problem) throw new MissingRequirement(problem);
  }
  const examples = join(root, 'examples');
  const [forPython, forGo] = (await Promise.all(
    ['python', 'go'].map((name) => openWorkspace({ folder: join(examples, name) })),
  )) as [Workspace, Workspace];
  try {
    await openapiPythonClient.install(forPython);
    await oapiCodegen.install(forGo);
  } catch (error) {
    throw new MissingRequirement(
      `packages are missing: ${(error as Error).message.split('\n')[0]}`,
    );
  }
  await forPython.run(openapiPythonClient.command);
  await forGo.run(oapiCodegen.command);
  await forGo.run('go build -o terminal .');
  const python = (...args: string[]): [string, ...string[]] => [
    join(forPython.cache, 'python/bin/python'),
    ...args.map((arg) => (arg.endsWith('.py') ? join(forPython.folder, arg) : arg)),
  ];
  return { python, terminal: join(forGo.folder, 'terminal') };
}

async function createToken({ client }: TestUser, scopes: Scope[]): Promise<string> {
  const body = { name: 'Example', scopes };
  const { data } = await api.createToken({ client, body, throwOnError: true });
  return data.access_token;
}

/** Returns a function that sends, edits or deletes a message, often in one of the spaces of the control. */
function createWriter({ client }: TestUser, [, ...spaces]: readonly Space[]) {
  const mentioning = new Set<string>();
  const others: string[] = [];
  let count = 0;
  const send = async (text: string) => {
    const near = spaces.slice(0, draw([CONTROL_SPACES - 1, spaces.length]));
    const body = { space_id: draw(near).space_id, text };
    const { data } = await api.sendMessage({ client, body, throwOnError: true });
    return data.message_id;
  };
  return {
    mentioning,
    async any() {
      count += 1;
      const text = `No. ${count} for @helper and @forgetful`;
      const message_id = others.pop();
      switch (count % 5) {
        case 0:
        case 1:
          mentioning.add(await send(text));
          break;
        case 2:
          others.push(await send(`No. ${count}`), await send(`No. ${count}, too`));
          break;
        case 3:
          // The edit adds the mentions.
          if (message_id) {
            const path = { message_id };
            await api.editMessage({ client, path, body: { text }, throwOnError: true });
            mentioning.add(message_id);
          }
          break;
        default:
          if (message_id) {
            await api.deleteMessage({ client, path: { message_id }, throwOnError: true });
          }
      }
    },
  };
}

async function listMessages({ client }: TestUser, spaces: readonly Space[]): Promise<Message[]> {
  const messages: Message[] = [];
  for (const { space_id } of spaces) {
    const list = pages<Message>((cursor) =>
      api.listMessages({ client, query: { space_id, limit: 100, cursor } }),
    );
    for await (const page of list) messages.push(...page);
  }
  return messages;
}

/** Returns what the mirror has: messages with their texts, and titles of spaces. */
async function readMirror(
  python: (...args: string[]) => [string, ...string[]],
  path: string,
): Promise<{ copied: string[]; titles: string[] }> {
  const script = `import duckdb, json, sys
database = duckdb.connect(sys.argv[1])
read = lambda query: [row[0] for row in database.execute(query).fetchall()]
copied = read("SELECT message_id || ' ' || text FROM messages")
print(json.dumps({"copied": copied, "titles": read("SELECT title FROM spaces")}))`;
  const [program, ...args] = python('-c', script, path);
  await using reading = startProcess(program, args);
  const { code, stdout, stderr } = await reading.result;
  assert.equal(code, 0, stderr);
  const { copied, titles } = JSON.parse(stdout);
  return { copied: copied.toSorted(), titles: titles.toSorted() };
}

async function waitUntil(isDone: () => boolean, deadline: number): Promise<void> {
  while (!isDone()) {
    assert(performance.now() < deadline, 'the programs do not catch up');
    await sleep(50);
  }
}
