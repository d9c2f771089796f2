import { isDeepStrictEqual } from 'node:util';
import {
  type Media,
  type Operation,
  type Operations,
  type Parameter,
  type Response,
  readOperations,
  resolveReference,
  type Schema,
} from '../server/contract.ts';
import { compareSchemas, type Report } from './schema-changes.ts';

type Content = Record<string, Media>;

/** Kinds of components with names that appear in generated clients. */
const NAMED_COMPONENTS = ['schemas', 'parameters', 'securitySchemes'];

/**
 * Returns the changes that break clients of `before` once the server implements `after`, one line each: affected
 * operations, location, change, remedy. A change of a shared schema is one line for all operations that use it.
 */
export function breakingChanges(before: Operations, after: Operations): string[] {
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
  readonly #before: Operations;
  readonly #after: Operations;
  readonly #report: ReportFor;

  constructor(before: Operations, after: Operations, report: ReportFor) {
    this.#before = before;
    this.#after = after;
    this.#report = report;
  }

  compare(): void {
    const locationOf = ({ method, path }: Operation) => `${method} ${path}`;
    const operationsNow = readOperations(this.#after);
    for (const old of readOperations(this.#before)) {
      const location = locationOf(old);
      const now = operationsNow.find((each) => locationOf(each) === location);
      if (now) this.#compareOperations(location, old, now);
      else this.#report(old.operationId, location, 'was removed', 'Keep the operation.');
    }
    for (const kind of NAMED_COMPONENTS) {
      for (const [name, old] of Object.entries(this.#before.components?.[kind] ?? {})) {
        const now = this.#after.components?.[kind]?.[name];
        if (now && kind === 'securitySchemes' && !isSameScheme(old, now)) {
          const remedy = 'Add another scheme instead.';
          this.#report('components', `${kind}/${name}`, 'was changed', remedy);
        }
        if (now !== undefined) continue;
        const remedy = 'Keep the component: clients name a type after it.';
        this.#report('components', `${kind}/${name}`, 'was removed', remedy);
      }
    }
  }

  #compareOperations(location: string, old: Operation, now: Operation): void {
    const { operationId } = old;
    if (now.operationId !== operationId) {
      const remedy = 'Keep the operationId: clients name a function after it.';
      this.#report(operationId, location, `has operationId ${now.operationId} now`, remedy);
    }
    if (now.tag !== old.tag) {
      const remedy = 'Keep the tag: clients name a class after it.';
      this.#report(operationId, location, `has the tag ${now.tag} now`, remedy);
    }
    this.#compareSecurity(location, old, now);
    this.#compareParameters(`${operationId} request`, byLocation(old), byLocation(now));
    this.#compareBodies(`${operationId} request`, old, now);
    for (const [status, response] of Object.entries(old.responses)) {
      const responseNow = now.responses[status];
      const subject = `${operationId} ${status}`;
      if (responseNow) this.#compareResponses(`${subject} response`, response, responseNow);
      else this.#report(subject, 'response', 'was removed', 'Keep the status.');
    }
  }

  /** Security requirements are alternatives. A request that met one of them must still meet one. */
  #compareSecurity(location: string, { operationId, security }: Operation, now: Operation): void {
    for (const old of security) {
      const isStillMet = now.security.some((schemes) =>
        schemes.every((each) => old.includes(each)),
      );
      if (isStillMet) continue;
      const [change, remedy] =
        old.length === 0
          ? ['needs an access token now', 'Keep the token optional.']
          : [`no longer accepts ${old.join(' with ')}`, 'Keep the security scheme.'];
      this.#report(operationId, location, change, remedy);
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

  #compareBodies(
    subject: string,
    { requestBody: old }: Operation,
    { requestBody: now }: Operation,
  ): void {
    if (now?.required && !old?.required) {
      this.#report(subject, 'body', 'is required now', 'Make the body optional.');
    }
    if (old) this.#compareContent(subject, 'request', old.content, now?.content);
  }

  #compareResponses(subject: string, old: Response, now: Response): void {
    const codesNow = now['x-problem-codes'] ?? [];
    for (const code of old['x-problem-codes'] ?? []) {
      if (codesNow.includes(code)) continue;
      this.#report(subject, 'response', `no longer has the code ${code}`, 'Keep the code.');
    }
    if (old.content) this.#compareContent(subject, 'response', old.content, now.content);
    for (const [name, header] of Object.entries(old.headers ?? {})) {
      const location = `header ${name}`;
      const headerNow = now.headers?.[name];
      if (!headerNow) {
        this.#report(subject, location, 'was removed', 'Keep the header.');
        continue;
      }
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
        resolveBefore: (schema) => resolveReference(this.#before, schema),
        resolveAfter: (schema) => resolveReference(this.#after, schema),
        report: (...change) => this.#report(subject, ...change),
      },
      location,
    );
  }
}

function byLocation({ parameters }: Operation): Map<string, Parameter> {
  return new Map(parameters.map((each) => [`${each.in} parameter ${each.name}`, each]));
}

function isSameScheme(old: object, now: object): boolean {
  return isDeepStrictEqual({ ...old, description: '' }, { ...now, description: '' });
}
