import { expect, test } from 'vitest';
import { type Check, checkOf } from '../../verification/checks.ts';
import { escapeXml, formatJunit } from '../../verification/junit.ts';
import { formatReport } from '../../verification/report.ts';

const passed = (name: string): Check => ({ name, causes: [] });
const failed = (name: string, text: string): Check => ({
  name,
  causes: [{ text }],
  request: 'GET /api/users/1',
  response: `500 text/html ${'Internal Server Error '.repeat(30)}`,
});
const omitted = new Map([
  ['getUser 500', 'a request cannot make a working server fail'],
  ['getUser 503', 'a request cannot make a working server fail'],
]);

test('reports a passed verification in two lines', () => {
  expect(
    formatReport({ checks: [passed('getUser 200')], omitted, blocked: new Map() }, false),
  ).toBe('2 declared responses were not checked; --verbose explains why.\n1 passed, 0 failed');
});

test('reports a single response that was not checked in the singular', () => {
  const [first] = omitted;
  const report = { checks: [], omitted: new Map(first && [first]), blocked: new Map() };
  expect(formatReport(report, false)).toBe(
    '1 declared response was not checked; --verbose explains why.\n0 passed, 0 failed',
  );
});

test('lists the omitted responses of a verbose report with their reason', () => {
  expect(
    formatReport({ checks: [passed('getUser 200')], omitted, blocked: new Map() }, true).split(
      '\n',
    ),
  ).toEqual([
    'Not checked because a request cannot make a working server fail:',
    '    500: getUser',
    '    503: getUser',
    '',
    '1 passed, 0 failed',
  ]);
});

test('reports a cause once, with its number of checks, two examples and the other names', () => {
  const operations = ['getUser', 'getProfile', 'getSpace', 'logout', 'login'];
  const checks = [
    passed('getUser 200'),
    failed('getUser 404', 'Wrong status: 500'),
    ...operations.map((each) => failed(`${each} 401`, 'Missing header: WWW-Authenticate')),
  ];
  const lines = formatReport({ checks, omitted: new Map(), blocked: new Map() }, false).split('\n');
  expect(lines.filter((line) => !line.startsWith('     '))).toEqual([
    'FAILED  Missing header: WWW-Authenticate (every 401, 5 checks)',
    '  getUser 401',
    '    > GET /api/users/1',
    expect.stringContaining('    < 500 text/html Internal Server Error'),
    '  getProfile 401',
    '    > GET /api/users/1',
    expect.stringContaining('    < 500 text/html Internal Server Error'),
    '  and 3 more:',
    '    401: getSpace, logout, login',
    '',
    'FAILED  Wrong status: 500',
    '  getUser 404',
    '    > GET /api/users/1',
    expect.stringContaining('    < 500 text/html Internal Server Error'),
    '',
    '1 passed, 6 failed',
  ]);
});

test('reports the declared statuses of all checks that got the same wrong one', () => {
  const checks = ['getUser 404', 'getSpace 404', 'login 401'].map((name) => {
    const causes = [{ text: 'Wrong status: 200', expectedStatus: name.split(' ')[1] as string }];
    return { name, causes };
  });
  const verification = { checks, omitted: new Map(), blocked: new Map() };
  expect(formatReport(verification, false)).toContain(
    'FAILED  Wrong status: 200 instead of 401 or 404 (3 checks)\n',
  );
  expect(formatJunit(verification)).toContain(
    '<failure message="Wrong status: 200 instead of 404">',
  );
});

test('reports the same error in several items of a list once per check', () => {
  const differences = [0, 1, 2].map((item) => ({
    message: `At '/messages/${item}/text' Missing required property: text`,
    location: { pointer: `/messages/${item}/text` },
  }));
  const check = checkOf({
    transaction: {
      id: 'downloadAccountData 200',
      host: '127.0.0.1',
      port: '3000',
      fullPath: '/api/profile/data',
      request: { method: 'GET', headers: {}, body: '' },
      expected: { statusCode: '200', headers: {} },
      origin: { resourceName: '' },
      skip: false,
    },
    differences: { body: differences },
  });
  const verification = { checks: [check], omitted: new Map(), blocked: new Map() };
  expect(formatReport(verification, false).split('\n')).toEqual([
    'FAILED  The field "text" is missing',
    '  downloadAccountData 200 at /messages/0/text',
    '    > GET /api/profile/data',
    '',
    '0 passed, 1 failed',
  ]);
  expect(formatJunit(verification)).toContain(
    '<failure message="The field &quot;text&quot; is missing">',
  );
});

test('lists operations that are not implemented, and counts the checks that need them', () => {
  const missing = ['register', 'login', 'logout', 'getUser'];
  const checks = [
    passed('getSpace 404'),
    ...missing.map((each) => failed(each, 'Not implemented')),
  ];
  const blocked = new Map([
    ['getSpace 200', 'register'],
    ['getSpace 401', 'register'],
    ['login rejects a deleted account', 'deleteAccount'],
  ]);
  const lines = formatReport({ checks, omitted: new Map(), blocked }, false).split('\n');
  expect(lines.filter((line) => !/^ {4}( {2}|[<>])/.test(line))).toEqual([
    'FAILED  Not implemented (4 operations)',
    '  register',
    '  login',
    '  and 2 more:',
    '    logout, getUser',
    '',
    '2 checks did not run, because the test data requires register.',
    '1 check did not run, because the test data requires deleteAccount.',
    '1 passed, 4 failed',
  ]);
  const verbose = formatReport({ checks: [], omitted: new Map(), blocked }, true).split('\n');
  expect(verbose).toEqual([
    '2 checks did not run, because the test data requires register:',
    '    200: getSpace',
    '    401: getSpace',
    '',
    '1 check did not run, because the test data requires deleteAccount:',
    '    login rejects a deleted account',
    '',
    '0 passed, 0 failed',
  ]);
});

test('keeps every line of a report within 80 columns', () => {
  const checks = Array.from({ length: 90 }, (_, i) => failed(`operation${i} 200`, 'x'.repeat(200)));
  for (const isVerbose of [false, true]) {
    const lines = formatReport({ checks, omitted, blocked: new Map() }, isVerbose).split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  }
});

test('writes a test case of JUnit XML for every check and every omitted response', () => {
  const check = { ...failed('getUser 404', 'Wrong code: "a" instead of "b"'), response: '404 <a>' };
  const checks = [passed('getUser 200'), check];
  expect(
    formatJunit({ checks, omitted: new Map([['getUser 500', 'a & b']]), blocked: new Map() }),
  ).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="openapi.yaml" tests="3" failures="1" errors="0" skipped="1">
  <testcase classname="getUser" name="getUser 200" />
  <testcase classname="getUser" name="getUser 404"><failure message="Wrong code: &quot;a&quot; instead of &quot;b&quot;">Wrong code: &quot;a&quot; instead of &quot;b&quot;&#10;&gt; GET /api/users/1&#10;&lt; 404 &lt;a&gt;</failure></testcase>
  <testcase classname="getUser" name="getUser 500"><skipped message="a &amp; b" /></testcase>
</testsuite>
`,
  );
});

test('writes no request and response of a failed check without a request into JUnit XML', () => {
  const checks = [{ name: 'getUser 404', causes: [{ text: 'Dredd sent no request' }] }];
  expect(formatJunit({ checks, omitted: new Map(), blocked: new Map() })).toContain(
    '<failure message="Dredd sent no request">Dredd sent no request</failure>',
  );
});

test('marks checks that could not run as skipped in JUnit XML', () => {
  const blocked = new Map([['getSpace 200', 'register']]);
  expect(formatJunit({ checks: [], omitted: new Map(), blocked })).toContain(
    '<testcase classname="getSpace" name="getSpace 200"><skipped message="the test data requires register" /></testcase>',
  );
});

test('replaces characters that XML cannot contain', () => {
  expect(escapeXml('a\u0000\u001b\ufffe\ud800b\u{1f600}\u0085\t')).toBe(
    'a\ufffd\ufffd\ufffd\ufffdb\u{1f600}\u0085&#9;',
  );
});

test('writes the rule and the requests of a failed scenario into JUnit XML', () => {
  const check: Check = {
    name: 'logout: ends the session',
    causes: [{ text: 'getProfile returned 200' }],
    rule: 'Ends the\nsession.',
    exchanges: ['POST /api/auth/logout → 200'],
  };
  const xml = formatJunit({ checks: [check], omitted: new Map(), blocked: new Map() });
  expect(xml).toContain('<testcase classname="logout" name="logout: ends the session">');
  expect(xml).toContain(
    'getProfile returned 200&#10;Contract: Ends the session.&#10;POST /api/auth/logout → 200</failure>',
  );
});
