import { readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { isTypeScript } from './import-modules.js';

/** A decorator where one can stand: at the begin of a line, perhaps after `export`. Comments begin with a star. */
const DECORATOR = /^[ \t]*(?:export[ \t]+(?:default[ \t]+)?)?@[A-Za-z_$(]/m;
const RELATIVE_IMPORT = /(?:from|import|import\(|require\()\s*['"](\.{1,2}\/[^'"]+)['"]/g;
/** The most files that are looked through for the place of an error. */
const MOST_FILES = 200;

const INSTALL_TSX = 'Install tsx: npm install --save-dev tsx.';
const NO_SYNTAX =
  'or write the tool without decorator syntax, as tool({ … })(class { … }) or defineTool({ … })';

/**
 * Returns what to do about a file that could not be imported, where Node's message does not say it; `undefined` where it does.
 *
 * Node names no place when it meets the decorator of an ES module, so the file and those that it imports are looked through.
 */
export function importAdvice(cause: unknown, path: string, cwd: string): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return `This version of Node imports no TypeScript. ${INSTALL_TSX} Then load the TypeScript file itself`;
  // Other errors of this name are about what a module exports.
  if (name !== 'SyntaxError' || !/unexpected|invalid|decorator|not supported/i.test(message))
    return undefined;
  // Thrown by code that ran, as by JSON.parse: what a compiler refuses was thrown within Node.
  const [thrownAt] = /^ +at .*$/m.exec(cause.stack ?? '') ?? [];
  if (thrownAt !== undefined && !thrownAt.includes('node:')) return undefined;
  const found = decoratorIn(path);
  if (found !== undefined) {
    const how = isTypeScript(found.path)
      ? INSTALL_TSX.replace(/\.$/, ',')
      : 'Name the file .ts and install tsx, compile it before with what docs/set-up.md of tooldex has for your compiler,';
    return `${relative(cwd, found.path)}:${found.line} has a decorator (@), which Node cannot run as it stands. ${how} ${NO_SYNTAX}`;
  }
  return isTypeScript(path) ? `Node can only strip types. ${INSTALL_TSX}` : undefined;
}

/** Returns the first decorator of a file, or of those that it imports by a relative path. */
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
