import { isTypeScript } from './import-modules.js';

const INSTALL_TSX = 'Install tsx: npm install --save-dev tsx.';

/**
 * Returns advice for a file that can't be imported, or `undefined` if Node's message is sufficient.
 *
 * Node's messages don't mention decorators, because to Node `@` is just an invalid token.
 */
export function importAdvice(cause: unknown, file: string): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return `This version of Node can't import TypeScript. ${INSTALL_TSX} Then load the TypeScript file itself`;
  if (name !== 'SyntaxError' || !/invalid or unexpected|not supported/i.test(message))
    return undefined;
  return isTypeScript(file)
    ? `Node can only strip types. ${INSTALL_TSX}`
    : "If this file or a file that it imports has a decorator (@), Node can't run it as it is. Give the file the extension .ts and install tsx, compile it first as docs/set-up.md of tooldex shows for your compiler, or write the tool without decorator syntax, as tool({ … })(class { … }) or defineTool({ … })";
}
