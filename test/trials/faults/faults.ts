import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** A change of the server's source text that a programmer could make by mistake. */
export interface Fault {
  /** Counts the faults of all modules. */
  number: number;
  /** Path in the repository. */
  file: string;
  line: number;
  /** Describes the change. */
  kind: string;
  /** The changed source text. */
  text: string;
}

/** The modules that decide what a client sees, without those of operators, storage and the search index. */
const MODULES = [
  'server/handlers/*.ts',
  'server/{accounts,auth,messages,profile,reports,spaces,users}/*.ts',
  'server/account-lifecycle/{deletion,registration}.ts',
  'server/search/{all-spaces,list-choice,order,search,tag-search,text-search}.ts',
  'server/http/{authentication,entity-tags,idempotency-key,pages,problems}.ts',
  'server/pagination.ts',
];

/** Modules with the same patterns for operators and imports, or without an effect on responses. */
const WITHOUT = [
  'server/accounts/{account,old-usernames}.ts',
  'server/auth/{password-hashing,replaced-hashes}.ts',
  // Decides when followers are told. It also polls, so most faults only delay a response.
  'server/messages/followers.ts',
];

const OPERATORS: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
};

/** Methods of query builders that restrict the rows. */
const RESTRICTIONS = ['where', 'whereRef', 'on', 'onRef'];

/** All faults, and the modules with all of them in their source text, each switched by `isPlanted(number)`. */
export function plantFaults(): { faults: Fault[]; sources: Map<string, string> } {
  const faults: Fault[] = [];
  const files = globSync(MODULES, { exclude: WITHOUT }).sort();
  const sources = new Map(files.map((file) => [file, plantIn(file, faults)]));
  return { faults, sources };
}

function plantIn(file: string, faults: Fault[]): string {
  const text = readFileSync(file, 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);

  /** Adds a fault. Returns the expression that is true while it is planted. */
  const plant = (node: ts.Node, kind: string) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    const number = faults.length;
    faults.push({
      number,
      file,
      line: line + 1,
      kind,
      text: node.getText().replaceAll(/\s+/g, ' '),
    });
    return `isPlanted(${number})`;
  };

  /** Returns the source text of a node with the faults in it, and the comments before it. */
  function write(node: ts.Node): string {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node)) {
      return node.getFullText();
    }
    const start = node.getFullStart();
    return text.slice(start, node.getStart()) + writeNode(node);
  }

  function writeChildren(node: ts.Node): string {
    let result = '';
    let end = node.getStart();
    ts.forEachChild(node, (child) => {
      const start = Math.max(child.getFullStart(), end);
      result += text.slice(end, start) + write(child).slice(start - child.getFullStart());
      end = child.getEnd();
    });
    return result + text.slice(end, node.getEnd());
  }

  function writeNode(node: ts.Node): string {
    if (ts.isIfStatement(node)) {
      const condition = `!${plant(node, 'a condition is never met')} && (${write(node.expression)})`;
      const otherwise = node.elseStatement ? ` else ${write(node.elseStatement)}` : '';
      return `if (${condition}) ${write(node.thenStatement)}${otherwise}`;
    }
    if (ts.isConditionalExpression(node)) {
      const isPlanted = plant(node.condition, 'a condition is negated');
      return `(${isPlanted} !== Boolean(${write(node.condition)})) ? ${write(node.whenTrue)} : ${write(node.whenFalse)}`;
    }
    if (ts.isExpressionStatement(node) && isCall(node.expression)) {
      // In a block of its own, so that an `else` after it stays that of the condition around it.
      return `{ if (!${plant(node, 'a statement is missing')}) ${writeChildren(node)} }`;
    }
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression: query, name } = node.expression;
      const rest = () => node.arguments.map(write).join(', ');
      if (
        RESTRICTIONS.includes(name.text) &&
        isQuery(query) &&
        !/\bawait\b/.test(node.arguments.map((each) => each.getText()).join())
      ) {
        const isPlanted = plant(
          node.expression.name,
          `a restriction of a query is missing: ${node.arguments[0]?.getText()}`,
        );
        return `((query) => ${isPlanted} ? query : query.${name.text}(${rest()}))(${write(query)})`;
      }
      const [column, direction] = node.arguments;
      if (name.text === 'orderBy' && column && ts.isStringLiteral(column)) {
        const isPlanted = plant(node.expression.name, `an order is reversed: ${column.getText()}`);
        const reversed = direction?.getText() === "'desc'" ? "'asc'" : "'desc'";
        return `((query) => ${isPlanted} ? query.orderBy(${column.getText()}, ${reversed}) : query.orderBy(${rest()}))(${write(query)})`;
      }
    }
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText();
      const other = OPERATORS[node.operatorToken.kind];
      const [left, right] = [write(node.left), write(node.right)];
      if (other)
        return `(${plant(node, `${operator} is ${other}`)} ? (${left}) ${other} (${right}) : (${left}) ${operator} (${right}))`;
      if (ts.isNumericLiteral(node.right) && /^[-+]$/.test(operator)) {
        return `${left} ${operator} (${right} - (${plant(node, 'a number is one less')} ? 1 : 0))`;
      }
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword && !ts.isLiteralTypeNode(node.parent)) {
      return `!${plant(node.parent, 'true is false')}`;
    }
    if (node.kind === ts.SyntaxKind.FalseKeyword && !ts.isLiteralTypeNode(node.parent)) {
      return plant(node.parent, 'false is true');
    }
    if (
      ts.isVariableDeclaration(node) &&
      node.initializer &&
      ts.isNumericLiteral(node.initializer)
    ) {
      return `${writeChildren(node)} - (${plant(node, 'a limit is one less')} ? 1 : 0)`;
    }
    return writeChildren(node);
  }
  return write(source);
}

function isCall(expression: ts.Expression): boolean {
  return (
    ts.isCallExpression(expression) ||
    (ts.isAwaitExpression(expression) && isCall(expression.expression))
  );
}

/** Whether an expression is a query builder, not an array or another object with a method of the same name. */
function isQuery(expression: ts.Expression): boolean {
  return /selectFrom|updateTable|deleteFrom|\bquery\b|join/i.test(expression.getText());
}
