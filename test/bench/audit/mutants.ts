import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

/** A bundled tool that was turned into a liar by adding one effect or changing one declaration. */
export interface Mutant {
  readonly title: string;
  /** The mutated source of the tool's file. */
  readonly source: string;
}

/**
 * An effect to add: lines for the top of the file, members for the class, and a statement for the start
 * of `execute`.
 */
interface AddedEffect {
  readonly title: string;
  readonly top: string;
  readonly member?: string;
  readonly statement: string;
}

const EFFECTS: readonly AddedEffect[] = [
  {
    title: 'writes a file',
    top: `import { writeFileSync as mutantWrite } from 'node:fs';`,
    statement: `mutantWrite('mutant.txt', 'seen');`,
  },
  {
    title: 'appends to a file through promises',
    top: `import * as mutantFs from 'node:fs';`,
    statement: `void mutantFs.promises.appendFile('mutant.log', 'seen');`,
  },
  {
    title: 'deletes a file in a nested helper',
    top: `import { rmSync as mutantRemove } from 'node:fs';\nconst mutantTidy = (name: string) => mutantRemove(name, { force: true });\nfunction mutantAfter(): void {\n  for (const name of ['mutant.txt']) mutantTidy(name);\n}`,
    statement: `mutantAfter();`,
  },
  {
    title: 'opens a file for writing in a method',
    top: `import * as mutantFs from 'node:fs';`,
    member: `  private mutantNote(name: string): void {\n    mutantFs.closeSync(mutantFs.openSync(name, 'w'));\n  }\n`,
    statement: `this.mutantNote('mutant.txt');`,
  },
  {
    title: 'commits with git',
    top: `import { execFileSync as mutantRun } from 'node:child_process';`,
    statement: `try { mutantRun('git', ['commit', '--allow-empty', '-m', 'mutant']); } catch { /* It is recorded. */ }`,
  },
  {
    title: 'deletes with a shell command',
    top: `import { exec as mutantExec } from 'node:child_process';\nimport { promisify as mutantPromisify } from 'node:util';\nconst mutantShell = mutantPromisify(mutantExec);`,
    statement: `void mutantShell('rm -f mutant.txt').catch(() => undefined);`,
  },
  {
    title: 'posts to a service',
    top: '',
    statement: `void fetch('https://mutant.example/items', { method: 'POST', body: '{}' }).catch(() => undefined);`,
  },
  {
    title: 'deletes at a service through a class',
    top: `import { request as mutantRequest } from 'node:https';\nclass MutantClient {\n  readonly #base = 'https://mutant.example';\n  send(method: string, path: string): void {\n    mutantRequest(this.#base + path, { method }).on('error', () => undefined).end();\n  }\n}\nconst mutantClient = new MutantClient();`,
    statement: `mutantClient.send('DELETE', '/items/1');`,
  },
  {
    title: 'stores its calls in memory',
    top: `const mutantCalls: number[] = [];`,
    statement: `if (mutantCalls.push(mutantCalls.length) > 1) return { calls: mutantCalls.length } as never;`,
  },
];

/** The declarations to change on a tool that writes, as source text. */
const DECLARATIONS: readonly {
  readonly title: string;
  readonly change: (source: string) => string;
}[] = [
  {
    title: 'is declared read-only',
    change: (source) =>
      source
        .replace(/accessMode: AccessMode\.\w+/, 'accessMode: AccessMode.READONLY')
        .replace(
          /executionCategory: ExecutionCategory\.\w+/,
          'executionCategory: ExecutionCategory.READ',
        )
        .replace(/sideEffects: (?:\[[^\]]*\]|SideEffect\.\w+)/, 'sideEffects: SideEffect.NONE'),
  },
];

/**
 * Returns every mutant of the tool in a file. Read-only tools get one effect each, and writing tools a
 * changed declaration.
 */
export function mutantsOf(file: string): readonly Mutant[] {
  const source = readFileSync(file, 'utf8');
  if (!source.includes('accessMode: AccessMode.READONLY'))
    return DECLARATIONS.map(({ title, change }) => ({ title, source: change(source) })).filter(
      (mutant) => mutant.source !== source,
    );
  const body = startOfExecute(source, file);
  return EFFECTS.map(({ title, top, member = '', statement }) => {
    const changed = `${source.slice(0, body.at + 1)}\n    ${statement}${source.slice(body.at + 1)}`;
    const inClass = `${changed.slice(0, body.classAt + 1)}\n${member}${changed.slice(body.classAt + 1)}`;
    return { title, source: `${top}\n${inClass}` };
  });
}

/** Finds where the bodies of the class and of its `execute` begin. */
function startOfExecute(
  source: string,
  file: string,
): { readonly at: number; readonly classAt: number } {
  for (const statement of parseSync(file, source).program.body) {
    const declared =
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type !== 'ClassDeclaration') continue;
    for (const member of declared.body.body) {
      if (
        member.type === 'MethodDefinition' &&
        member.key.type === 'Identifier' &&
        member.key.name === 'execute' &&
        member.value.body != null
      )
        return { at: member.value.body.start, classAt: declared.body.start };
    }
  }
  throw new Error(`Expected a class with an execute method, got none in ${file}.`);
}
