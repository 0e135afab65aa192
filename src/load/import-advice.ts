import { readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { isTypeScript } from './import-modules.js';

/** A decorator at the beginning of a line, perhaps after `export`. Lines of comments begin with a star. */
const DECORATOR = /^[ \t]*(?:export[ \t]+(?:default[ \t]+)?)?@[A-Za-z_$(]/m;
const RELATIVE_IMPORT = /(?:from|import|import\(|require\()\s*['"](\.{1,2}\/[^'"]+)['"]/g;
/** The maximum number of files that are searched for the place of an error. */
const MOST_FILES = 200;

const INSTALL_TSX = 'Install tsx: npm install --save-dev tsx.';
const NO_SYNTAX =
  'or write the tool without decorator syntax, as tool({ … })(class { … }) or defineTool({ … })';

/**
 * Returns advice about a file that can't be imported, or `undefined` if Node's message says enough.
 *
 * Node doesn't say where the decorator of an ES module is, so the file and the files that it imports are searched.
 */
export function importAdvice(cause: unknown, path: string, cwd: string): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return `This version of Node imports no TypeScript. ${INSTALL_TSX} Then load the TypeScript file itself`;
  // Other errors of this name are about the exports of a module.
  if (name !== 'SyntaxError' || !/unexpected|invalid|decorator|not supported/i.test(message))
    return undefined;
  // Thrown by code that ran, such as JSON.parse. A compiler's error is thrown inside Node.
  const [thrownAt] = /^ +at .*$/m.exec(cause.stack ?? '') ?? [];
  if (thrownAt !== undefined && !thrownAt.includes('node:')) return undefined;
  const found = decoratorIn(path);
  if (found !== undefined) {
    const how = isTypeScript(found.path)
      ? INSTALL_TSX.replace(/\.$/, ',')
      : 'Name the file .ts and install tsx, compile it first as docs/set-up.md of tooldex shows for your compiler,';
    return `${relative(cwd, found.path)}:${found.line} has a decorator (@), which Node cannot run as it is. ${how} ${NO_SYNTAX}`;
  }
  return isTypeScript(path) ? `Node can only strip types. ${INSTALL_TSX}` : undefined;
}

/** Returns the first decorator in a file, or in the files that it imports by a relative path. */
function decoratorIn(path: string): { readonly path: string; readonly line: number } | undefined {
  const paths = new Set([path]);
  for (const each of paths) {
    const text = readFileSync(each, 'utf8');
    const match = DECORATOR.exec(text);
    if (match !== null) return { path: each, line: text.slice(0, match.index).split('\n').length };
    for (const [, specifier] of text.matchAll(RELATIVE_IMPORT)) {
      const imported = resolve(dirname(each), specifier!);
      if (
        paths.size < MOST_FILES &&
        /\.[cm]?[jt]s$/.test(imported) &&
        statSync(imported, { throwIfNoEntry: false })?.isFile() === true
      )
        paths.add(imported);
    }
  }
  return undefined;
}
