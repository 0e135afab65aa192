import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Returns the declaration file of each entry point, by the part of its name after `tooldex/`. */
export function entryPoints(): Readonly<Record<string, string>> {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly import?: { readonly types: string } }>>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, { import: esm }]) =>
      esm === undefined ? [] : [[name.slice(2) || 'index', `${ROOT}${esm.types}`]],
    ),
  );
}

let program: ts.Program | undefined;

/**
 * Returns a module that exports one function for every function of an entry point, and for every
 * public method and property of its classes. Each returns what the original returns, without naming
 * the type.
 */
export function callersOf(entry: string): string {
  const files = entryPoints();
  program ??= ts.createProgram(Object.values(files), {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
    types: ['node'],
  });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(files[entry]!)!;
  const lines = checker
    .getExportsOfModule(checker.getSymbolAtLocation(file)!)
    .flatMap((symbol) => callersOfExport(checker, symbol));
  const from = entry === 'index' ? 'tooldex' : `tooldex/${entry}`;
  return [`import * as entry from '${from}';`, ...lines, 'export {};'].join('\n');
}

function callersOfExport(checker: ts.TypeChecker, exported: ts.Symbol): string[] {
  const symbol =
    exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const { name } = exported;
  if (symbol.flags & ts.SymbolFlags.Function)
    return [
      `export const call_${name} = (...given: Parameters<typeof entry.${name}>) => entry.${name}(...given);`,
    ];
  if (!(symbol.flags & ts.SymbolFlags.Class)) return [];
  return checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .filter((member) => isPublic(member))
    .map((member) => callerOfMember(name, member));
}

function isPublic({ name, declarations = [] }: ts.Symbol): boolean {
  return (
    /^[a-z]\w*$/i.test(name) &&
    !declarations.some(
      (each) =>
        ts.getCombinedModifierFlags(each) &
          (ts.ModifierFlags.Private | ts.ModifierFlags.Protected) ||
        each.getSourceFile().fileName.includes('/typescript/lib/'),
    )
  );
}

function callerOfMember(className: string, { name, flags }: ts.Symbol): string {
  const holder = `holder: entry.${className}`;
  return flags & ts.SymbolFlags.Method
    ? `export const ${className}_${name} = (${holder}, ...given: Parameters<typeof holder.${name}>) => holder.${name}(...given);`
    : `export const ${className}_${name} = (${holder}) => holder.${name};`;
}
