import { explainCauses } from './checks.ts';
import { operationIn } from './missing-operations.ts';
import { toOneLine } from './text.ts';
import type { Verification } from './verify.ts';

/** Formats a verification as JUnit XML, with a test case per check, per blocked check and per omitted response. */
export function formatJunit({ checks, omitted, blocked }: Verification): string {
  const failures = checks.filter(({ causes }) => causes.length > 0);
  const checkLines = checks.map((check) => {
    const { name, causes, rule, exchanges = [], request, response = 'no response' } = check;
    if (causes.length === 0) return `${openTestCase(name)} />`;
    const explanations = causes.map((cause) => explainCauses([cause]));
    const exchange = request === undefined ? [] : [`> ${request}`, `< ${response}`];
    const quote = rule === undefined ? [] : [`Contract: ${toOneLine(rule)}`];
    const text = [...explanations, ...quote, ...exchange, ...exchanges].join('\n');
    return `${openTestCase(name)}><failure message="${escapeXml(explanations.join('; '))}">${escapeXml(text)}</failure></testcase>`;
  });
  const skipped = [
    ...omitted,
    ...[...blocked].map(
      ([name, operationId]) => [name, `the test data requires ${operationId}`] as const,
    ),
  ];
  const skippedLines = skipped.map(
    ([name, reason]) =>
      `${openTestCase(name)}><skipped message="${escapeXml(reason)}" /></testcase>`,
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="openapi.yaml" tests="${checks.length + skipped.length}" failures="${failures.length}" errors="0" skipped="${skipped.length}">`,
    ...checkLines,
    ...skippedLines,
    '</testsuite>',
    '',
  ].join('\n');
}

function openTestCase(name: string): string {
  // Reports group test cases by class name.
  const operation = operationIn(name);
  return `  <testcase classname="${escapeXml(operation)}" name="${escapeXml(name)}"`;
}

/** Escapes a text for attributes and elements. XML 1.0 cannot contain most control characters, not even escaped. */
export function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;')
    .replaceAll('\t', '&#9;');
}
