import { compareSchemas, type Report, type Schema } from './schema-changes.ts';

/** The parts of an OpenAPI 3.0 document that clients depend on. */
export interface Contract {
  security?: object[];
  paths: Record<string, PathItem>;
  components?: Record<string, Record<string, object>>;
}

interface Reference {
  $ref: string;
}
interface PathItem {
  parameters?: (Parameter | Reference)[];
  [method: string]: unknown;
}
interface Operation {
  operationId: string;
  security?: object[];
  parameters?: (Parameter | Reference)[];
  requestBody?: RequestBody | Reference;
  responses: Record<string, Response | Reference>;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  style?: string;
  explode?: boolean;
  schema?: Schema;
}
interface RequestBody {
  required?: boolean;
  content: Content;
}
interface Response {
  headers?: Record<string, Header | Reference>;
  content?: Content;
}
interface Header {
  required?: boolean;
  schema?: Schema;
}
type Content = Record<string, { schema?: Schema }>;

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Kinds of components with names that appear in generated clients. */
const NAMED_COMPONENTS = ['schemas', 'parameters', 'securitySchemes'];

/**
 * Returns the changes that break clients of `before` once the server implements `after`, one line each: affected
 * operations, location, change, remedy. A change of a shared schema is one line for all operations that use it.
 */
export function breakingChanges(before: Contract, after: Contract): string[] {
  const subjectsOfChange = new Map<string, Set<string>>();
  new ContractComparison(before, after, (subject, location, change, remedy) => {
    const text = `${location} ${change}. ${remedy}`;
    subjectsOfChange.set(text, (subjectsOfChange.get(text) ?? new Set()).add(subject));
  }).compare();
  return [...subjectsOfChange].map(([text, affected]) => `${abbreviate([...affected])}: ${text}`);
}

function abbreviate(subjects: string[]): string {
  if (subjects.length <= 3) return subjects.join(', ');
  return `${subjects.slice(0, 2).join(', ')} and ${subjects.length - 2} more`;
}

/** Receives a breaking change of a subject, such as `getSpace 200 response`. */
type ReportFor = (subject: string, ...change: Parameters<Report>) => void;

class ContractComparison {
  readonly #before: Contract;
  readonly #after: Contract;
  readonly #report: ReportFor;

  constructor(before: Contract, after: Contract, report: ReportFor) {
    this.#before = before;
    this.#after = after;
    this.#report = report;
  }

  compare(): void {
    for (const [path, item] of Object.entries(this.#before.paths)) {
      for (const method of METHODS) this.#compareOperations(path, item, method);
    }
    for (const kind of NAMED_COMPONENTS) {
      for (const name of Object.keys(this.#before.components?.[kind] ?? {})) {
        if (this.#after.components?.[kind]?.[name] !== undefined) continue;
        const remedy = 'Keep the component: clients name a type after it.';
        this.#report('components', `${kind}/${name}`, 'was removed', remedy);
      }
    }
  }

  #compareOperations(path: string, item: PathItem, method: string): void {
    const old = item[method] as Operation | undefined;
    if (!old) return;
    const { operationId } = old;
    const location = `${method.toUpperCase()} ${path}`;
    const itemNow = this.#after.paths[path];
    const now = itemNow?.[method] as Operation | undefined;
    if (!itemNow || !now) {
      this.#report(operationId, location, 'was removed', 'Keep the operation.');
      return;
    }
    if (now.operationId !== operationId) {
      const remedy = 'Keep the operationId: clients name a function after it.';
      this.#report(operationId, location, `has operationId ${now.operationId} now`, remedy);
    }
    if (needsToken(now, this.#after) && !needsToken(old, this.#before)) {
      this.#report(operationId, location, 'needs an access token now', 'Keep the token optional.');
    }
    this.#compareParameters(
      `${operationId} request`,
      parametersOf(this.#before, item, old),
      parametersOf(this.#after, itemNow, now),
    );
    this.#compareBodies(`${operationId} request`, old, now);
    for (const [status, response] of Object.entries(old.responses)) {
      const responseNow = now.responses[status];
      const subject = `${operationId} ${status}`;
      if (responseNow) {
        this.#compareResponses(
          `${subject} response`,
          resolve(this.#before, response),
          resolve(this.#after, responseNow),
        );
      } else this.#report(subject, 'response', 'was removed', 'Keep the status.');
    }
  }

  #compareParameters(
    subject: string,
    before: Map<string, Parameter>,
    after: Map<string, Parameter>,
  ): void {
    for (const [location, old] of before) {
      const now = after.get(location);
      if (!now) {
        this.#report(subject, location, 'was removed', 'Keep the parameter.');
        continue;
      }
      if (old.style !== now.style || old.explode !== now.explode) {
        this.#report(subject, location, 'is encoded differently', 'Keep style and explode.');
      }
      this.#compareSchemas(subject, 'request', location, old, now);
    }
    for (const [location, { required }] of after) {
      if (!required || before.get(location)?.required) continue;
      this.#report(subject, location, 'is required now', 'Make the parameter optional.');
    }
  }

  #compareBodies(subject: string, before: Operation, after: Operation): void {
    const old = before.requestBody && resolve(this.#before, before.requestBody);
    const now = after.requestBody && resolve(this.#after, after.requestBody);
    if (now?.required && !old?.required) {
      this.#report(subject, 'body', 'is required now', 'Make the body optional.');
    }
    if (old) this.#compareContent(subject, 'request', old.content, now?.content);
  }

  #compareResponses(subject: string, old: Response, now: Response): void {
    if (old.content) this.#compareContent(subject, 'response', old.content, now.content);
    for (const [name, reference] of Object.entries(old.headers ?? {})) {
      const location = `header ${name}`;
      const referenceNow = now.headers?.[name];
      if (!referenceNow) {
        this.#report(subject, location, 'was removed', 'Keep the header.');
        continue;
      }
      const header = resolve(this.#before, reference);
      const headerNow = resolve(this.#after, referenceNow);
      if (header.required && !headerNow.required) {
        this.#report(subject, location, 'is no longer required', 'Always send the header.');
      }
      this.#compareSchemas(subject, 'response', location, header, headerNow);
    }
  }

  #compareContent(
    subject: string,
    direction: 'request' | 'response',
    before: Content,
    after: Content = {},
  ): void {
    for (const [type, old] of Object.entries(before)) {
      const now = after[type];
      if (now) this.#compareSchemas(subject, direction, 'body', old, now);
      else this.#report(subject, 'body', `is no longer ${type}`, 'Keep the content type.');
    }
  }

  #compareSchemas(
    subject: string,
    direction: 'request' | 'response',
    location: string,
    { schema: old = {} }: { schema?: Schema },
    { schema: now = {} }: { schema?: Schema },
  ): void {
    compareSchemas(
      old,
      now,
      {
        direction,
        resolveBefore: (schema) => resolve(this.#before, schema),
        resolveAfter: (schema) => resolve(this.#after, schema),
        report: (...change) => this.#report(subject, ...change),
      },
      location,
    );
  }
}

function parametersOf(
  contract: Contract,
  item: PathItem,
  operation: Operation,
): Map<string, Parameter> {
  const all = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const resolved = all.map((each) => resolve(contract, each));
  return new Map(resolved.map((each) => [`${each.in} parameter ${each.name}`, each]));
}

function needsToken(operation: { security?: object[] }, contract: Contract): boolean {
  const alternatives = operation.security ?? contract.security ?? [];
  return alternatives.length > 0 && alternatives.every((each) => Object.keys(each).length > 0);
}

/** Follows references such as `#/components/schemas/Tag`. */
function resolve<T extends object>(contract: Contract, node: T | Reference): T {
  if (!('$ref' in node) || node.$ref === undefined) return node as T;
  const [root, ...keys] = String(node.$ref).split('/');
  // biome-ignore lint/suspicious/noExplicitAny: any part of an OpenAPI document
  const target = keys.reduce((at: any, key) => at?.[key], contract);
  if (root !== '#' || target === undefined) throw new Error(`Cannot resolve $ref ${node.$ref}.`);
  return resolve(contract, target);
}
