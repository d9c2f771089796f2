import type { Contract } from '../contract.ts';

interface ResponseObject {
  description?: string;
  'x-problem-codes'?: string[];
}

/**
 * Returns the contract as the reference shows it: each section of its description is a page of its own before the
 * operations, and the descriptions of errors list their codes.
 */
export function referenceDocument(contract: Contract): object {
  const document = structuredClone(contract);
  const [introduction = '', ...sections] = document.info.description.split(/^## /m);
  const pages = sections.map((section) => {
    const [name = '', ...lines] = section.split('\n');
    return { name, description: lines.join('\n').trim() };
  });
  const operationTags = document.tags.map(({ name }) => name);
  document.info.description = introduction;
  document.tags = [...pages, ...document.tags];
  for (const response of responsesOf(document)) {
    const codes = response['x-problem-codes']?.map((code) => `\`${code}\``);
    if (codes) response.description = `${response.description}\n\nCodes: ${codes.join(', ')}`;
  }
  return {
    ...document,
    'x-tagGroups': [
      { name: 'Rules', tags: pages.map(({ name }) => name) },
      { name: 'Operations', tags: operationTags },
    ],
  };
}

function responsesOf({ paths, components }: Contract): ResponseObject[] {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const own = operations.flatMap((operation) =>
    Object.values((operation as { responses?: Record<string, ResponseObject> }).responses ?? {}),
  );
  return [...own, ...Object.values(components.responses ?? {})];
}
