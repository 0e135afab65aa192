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
  const missing = () => ({});
  const second = (): Promise<object> =>
    // Its types are those of the package that it replaces.
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-assertion
    import('@typescript/typescript6' as 'typescript').catch(missing);
  const loaded =
    compilerIn(await import('typescript').catch(missing)) ?? compilerIn(await second());
  if (loaded === undefined)
    throw new ToolError(
      'MISSING_PACKAGE',
      "The audit needs TypeScript's compiler API, which isn't installed. Run npm i -D @typescript/typescript6.",
      { details: { package: 'typescript' } },
    );
  useTypeScript(loaded);
}

function compilerIn(loaded: object): Compiler | undefined {
  // The compiler is CommonJS, so its functions can be on the default export.
  const compiler = ('default' in loaded ? loaded.default : loaded) as Partial<Compiler>;
  return compiler.createProgram === undefined ? undefined : (compiler as Compiler);
}
