import { expect, test } from 'vitest';
import { contract, operations } from '../../server/contract.ts';
import { restrictedOperations } from '../../verification/scenarios/access.ts';
import { scenarios } from '../../verification/scenarios/index.ts';
import { listOperations, readLists } from '../../verification/scenarios/lists.ts';
import { jsonOperations, settings } from '../../verification/scenarios/values.ts';

test('every operation has a scenario in verification/scenarios/', () => {
  const covered = new Set<string>(scenarios.map(({ operation }) => operation));
  const missing = operations.filter(({ operationId }) => !covered.has(operationId));
  expect(missing.map(({ operationId }) => operationId)).toEqual([]);
});

test('every list is read page by page', () => {
  const missing = listOperations.filter((each) => !(readLists as string[]).includes(each));
  expect(missing.map((each) => `Add ${each} to scenarios/lists.ts`)).toEqual([]);
});

test('every operation on a space or message has a rule in verification/rights.ts', () => {
  const tried = scenarios.filter(({ sentence }) => sentence.includes('exactly those can call it'));
  expect(new Set(tried.map(({ operation }) => operation))).toEqual(new Set(restrictedOperations));
});

test('the scenarios try values of every JSON body', () => {
  const missing = jsonOperations.filter((each) => settings[each] === undefined);
  expect(missing.map((each) => `Add ${each} to settings in scenarios/values.ts`)).toEqual([]);
});

test('each scenario quotes the contract', () => {
  const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ');
  const texts: string[] = [];
  JSON.stringify(contract, (_key, value) => {
    if (typeof value === 'string') texts.push(inOneLine(value));
    return value;
  });
  const wrong = scenarios.filter(
    ({ rule }) => !texts.some((text) => text.includes(inOneLine(rule))),
  );
  expect(
    wrong.map(({ operation, rule }) => `${operation}: "${rule}" is not in openapi.yaml`),
  ).toEqual([]);
});

test('no two scenarios have the same name', () => {
  const names = scenarios.map(({ operation, sentence }) => `${operation}: ${sentence}`);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});
