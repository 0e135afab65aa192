import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Node, Program } from 'typescript';
import { Code } from '../code/code.js';
import { ts, useTypeScript } from '../code/typescript.js';
import { wayOf } from '../effect.js';
import { Evaluator } from '../evaluate/evaluator.js';
import { audited } from './audit-tools.js';
import type { ToolAudit } from './judge-tool.js';
import { KnownCalls, type AuditKnowledge } from '../known/known-calls.js';
import { findTools } from '../tools/find-tools.js';

/** The part of a rule's context that the rule uses. */
interface RuleContext {
  readonly cwd: string;
  readonly filename: string;
  readonly options: readonly RuleOptions[];
  readonly sourceCode: { readonly parserServices?: { readonly program?: Program | null } };
  report(problem: { readonly loc: Location; readonly message: string }): void;
}

interface RuleOptions {
  /** The effects of your own packages and programs, as in `auditTools`. @default none */
  readonly known?: AuditKnowledge;
  /** Also reports tools about which the audit can't tell. @default false */
  readonly unknown?: boolean;
}

interface Location {
  readonly start: { readonly line: number; readonly column: number };
  readonly end: { readonly line: number; readonly column: number };
}

interface Found {
  readonly audit: ToolAudit;
  readonly node: Node;
}

const honestMetadata = {
  meta: {
    type: 'problem',
    docs: { description: 'Reports tools that do more than they declare' },
    schema: [
      {
        type: 'object',
        properties: { known: { type: 'object' }, unknown: { type: 'boolean' } },
        additionalProperties: false,
      },
    ],
  },
  create(context: RuleContext) {
    return { Program: () => reportTools(context) };
  },
} as const;

/**
 * An ESLint plugin with the rule `honest-metadata`, which underlines what tools declare wrongly. The
 * rule needs typescript-eslint with type information.
 */
export const plugin = {
  meta: { name: 'tooldex' },
  rules: { 'honest-metadata': honestMetadata },
} as const;

function reportTools(context: RuleContext): void {
  const program = context.sourceCode.parserServices?.program;
  if (program == null)
    throw new Error(
      'tooldex/honest-metadata needs type information. Set parserOptions.projectService of typescript-eslint to true.',
    );
  const [options = {}] = context.options;
  for (const found of auditsIn(program, context, options)) {
    const { findings, unknowns, verdict, name } = found.audit;
    for (const { axis, kind, message, effect } of findings)
      if (kind === 'lies') {
        const way = effect === undefined ? '' : ` ${wayOf(effect)}`;
        context.report({ loc: placeOf(found.node, axis), message: `${name} ${message}.${way}` });
      }
    if (verdict === 'unknown' && options.unknown === true)
      context.report({
        loc: placeOf(found.node, 'name'),
        message: `${name} is unknown: ${unknowns[0]!.call} was not followed.`,
      });
  }
}

/** Returns the compiler that made a program. It lies beside the types of the language. */
function compilerOf(program: Program): typeof ts {
  const library = program.getSourceFiles().find((file) => program.isSourceFileDefaultLibrary(file));
  const folder = library === undefined ? process.cwd() : dirname(library.fileName);
  const require = createRequire(join(folder, 'typescript.js'));
  return require(library === undefined ? 'typescript' : join(folder, 'typescript.js')) as typeof ts;
}

/** Results for a program, kept while the program is the same. */
interface Kept {
  readonly evaluator: Evaluator;
  readonly found: Map<string, readonly Found[]>;
}

const kept = new WeakMap<Program, Kept>();

/** Returns the audits of a file's tools. */
function auditsIn(
  program: Program,
  { cwd, filename }: RuleContext,
  { known }: RuleOptions,
): readonly Found[] {
  useTypeScript(compilerOf(program));
  const { evaluator, found } = kept.get(program) ?? {
    evaluator: new Evaluator(new Code(program, cwd)),
    found: new Map<string, readonly Found[]>(),
  };
  kept.set(program, { evaluator, found });
  const key = `${JSON.stringify(known)} ${filename}`;
  const calls = new KnownCalls(evaluator, known);
  const file = program.getSourceFile(filename);
  const audits =
    found.get(key) ??
    findTools(evaluator, (each) => each === file).map((tool) => ({
      audit: audited(evaluator, calls, tool),
      node: tool.node,
    }));
  found.set(key, audits);
  return audits;
}

/** Returns the place of an option where a tool is declared, or of the whole call. */
function placeOf(node: Node, option: string): Location {
  const file = node.getSourceFile();
  const written = propertyIn(node, option) ?? node;
  const [start, end] = [written.getStart(file), written.getEnd()].map((at) => {
    const { line, character } = file.getLineAndCharacterOfPosition(at);
    return { line: line + 1, column: character };
  });
  return { start: start!, end: end! };
}

function propertyIn(node: Node, option: string): Node | undefined {
  if (ts.isPropertyAssignment(node) && node.name.getText() === option) return node;
  return ts.isFunctionLike(node)
    ? undefined
    : ts.forEachChild(node, (child) => propertyIn(child, option));
}
