import { relative } from 'node:path';
import ts from 'typescript';

/** A name that an entry point exports. */
interface Exported {
  readonly name: string;
  readonly symbol: ts.Symbol;
  readonly isType: boolean;
}

/**
 * Describes everything that entry points export, with signatures, and the types that these refer
 * to, without comments. The text depends only on the declarations.
 *
 * @param entries The declaration file of each entry point, by the name that users import.
 */
export function describeApi(
  program: ts.Program,
  entries: Readonly<Record<string, string>>,
  root: string,
): string {
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true });
  const homes = new Map<ts.Symbol, string>();
  const inner = new Set<ts.Symbol>();

  const isOwn = ({ declarations = [] }: ts.Symbol) =>
    declarations.some((declaration) => {
      const path = relative(root, declaration.getSourceFile().fileName);
      const isLocal = !path.startsWith('..') && !path.includes('node_modules');
      return isLocal && ts.isSourceFile(declaration.parent);
    });
  const meant = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const textOf = (symbol: ts.Symbol) =>
    (symbol.declarations ?? []).map((declaration) => {
      collect(declaration);
      const statement = ts.isVariableDeclaration(declaration)
        ? declaration.parent.parent
        : declaration;
      return printer.printNode(ts.EmitHint.Unspecified, statement, declaration.getSourceFile());
    });
  function collect(node: ts.Node): void {
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      if (symbol && isOwn(meant(symbol))) inner.add(meant(symbol));
    }
    ts.forEachChild(node, collect);
  }

  const sections = Object.entries(entries).map(([entry, file]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
    const exported: readonly Exported[] = checker
      .getExportsOfModule(module)
      .map((symbol) => ({
        name: symbol.name,
        symbol: meant(symbol),
        isType:
          !(meant(symbol).flags & ts.SymbolFlags.Value) ||
          symbol.declarations?.some(isTypeOnly) === true,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const namesOf = (isType: boolean) =>
      exported.flatMap((each) => (each.isType === isType ? each.name : [])).join(', ') || '–';
    const code = exported.flatMap(({ name, symbol }) => {
      const home = homes.get(symbol);
      if (home !== undefined) return [`// ${name}: see ${home}`];
      homes.set(symbol, entry);
      return textOf(symbol);
    });
    return `## ${entry}\n\nValues: ${namesOf(false)}\n\nTypes: ${namesOf(true)}\n\n${fence(code)}`;
  });
  const others: string[] = [];
  // A set that grows while it's read also visits what is added to it.
  for (const symbol of inner) if (!homes.has(symbol)) others.push(...textOf(symbol));
  const rest = `## Types that are not exported\n\n${fence(others.sort())}`;
  // Declarations for ES modules and for CommonJS differ only in the extensions of their imports.
  return `${[...sections, rest].join('\n\n')}\n`.replaceAll('.cjs")', '.js")');
}

function isTypeOnly(declaration: ts.Declaration): boolean {
  return (
    ts.isExportSpecifier(declaration) &&
    (declaration.isTypeOnly || declaration.parent.parent.isTypeOnly)
  );
}

function fence(code: readonly string[]): string {
  return `\`\`\`ts\n${code.join('\n')}\n\`\`\``;
}
