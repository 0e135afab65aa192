import type * as TypeScript from 'typescript';
import { ToolError } from '../../core/errors.js';

type Compiler = typeof TypeScript;

/** The compiler that reads the audited code. Set by `useTypeScript`, because the compiler is an optional package. */
export let ts: Compiler;

/** Sets the compiler. Programs and nodes of one compiler can't be read with another one. */
export function useTypeScript(compiler: Compiler): void {
  ts = compiler;
}

/**
 * Loads the compiler that is installed next to tooldex. TypeScript 7 has no `createProgram`, so
 * `@typescript/typescript6` takes its place.
 *
 * @throws ToolError `MISSING_PACKAGE` if neither can be loaded.
 */
export async function loadTypeScript(): Promise<void> {
  if (ts !== undefined) return;
  const loaded = compilerIn(await installed()) ?? compilerIn(await replacement());
  if (loaded === undefined)
    throw new ToolError(
      'MISSING_PACKAGE',
      "The audit needs TypeScript's compiler API, which isn't installed. Run npm i -D @typescript/typescript6.",
      { details: { package: 'typescript' } },
    );
  useTypeScript(loaded);
}

/** Bundlers build without a package only if its `import()` stands inside a `try`. */
async function installed(): Promise<object> {
  try {
    return await import('typescript');
  } catch {
    return {};
  }
}

async function replacement(): Promise<object> {
  try {
    // Its types are those of the package that it replaces.
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-assertion
    return (await import('@typescript/typescript6' as 'typescript')) as object;
  } catch {
    return {};
  }
}

function compilerIn(loaded: object): Compiler | undefined {
  // The compiler is CommonJS, so its functions can be on the default export.
  const compiler = ('default' in loaded ? loaded.default : loaded) as Partial<Compiler>;
  return compiler.createProgram === undefined ? undefined : (compiler as Compiler);
}
