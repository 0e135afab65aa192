import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import type { Declaration, Node, Program, SourceFile } from 'typescript';
import { isPlainObject } from '../../core/plain-data.js';
import { ts } from './typescript.js';

/** A place in code that isn't the program's own: a package, and the names that lead to it. */
export interface OutsidePlace {
  /** The package's name. Node's modules have no prefix, and the language's globals are `global`. */
  readonly pkg: string;
  readonly path: readonly string[];
}

const names = new Map<string, string>();

/** Returns the name in the nearest package.json above a file. */
function packageNameOf(folder: string): string {
  const cached = names.get(folder);
  if (cached !== undefined) return cached;
  const file = join(folder, 'package.json');
  const up = dirname(folder);
  const name = nameIn(file) ?? (up === folder ? '' : packageNameOf(up));
  names.set(folder, name);
  return name;
}

function nameIn(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const data: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isPlainObject(data) && typeof data['name'] === 'string' ? data['name'] : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the package that a module specifier names. */
export function packageIn(specifier: string): string {
  const name = specifier.replace(/^node:/, '');
  const parts = name.split('/');
  if (isBuiltin(specifier)) return parts[0]!;
  return parts.slice(0, name.startsWith('@') ? 2 : 1).join('/');
}

/** Returns the package that a file belongs to. Types of packages count as the package itself. */
export function packageOf(program: Program, file: SourceFile): string {
  if (program.isSourceFileDefaultLibrary(file)) return 'global';
  const name = packageNameOf(dirname(file.fileName));
  if (name === '@types/node' || name === 'undici-types' || name === '@types/web') return 'global';
  const [, types] = /^@types\/(.+)$/.exec(name) ?? [];
  return types === undefined ? name : types.includes('__') ? `@${types.replace('__', '/')}` : types;
}

/** Returns the package and the names of a declaration without code, such as one in a `.d.ts`. */
export function outsidePlaceOf(program: Program, declaration: Declaration): OutsidePlace {
  const path: string[] = [];
  for (let node: Node = declaration; ; node = node.parent) {
    if (ts.isSourceFile(node)) return { pkg: packageOf(program, node), path };
    if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name))
      return moduleIn(node.name.text, path);
    const name = (node as { readonly name?: Node }).name;
    if (name !== undefined && (node.flags & ts.NodeFlags.GlobalAugmentation) === 0) {
      if (ts.isComputedPropertyName(name)) path.unshift(`[${name.expression.getText()}]`);
      else path.unshift((name as { readonly text?: string }).text ?? name.getText());
    }
  }
}

/** Returns the place of a name in a module. The module `process` is a global of the same name. */
function moduleIn(specifier: string, path: readonly string[]): OutsidePlace {
  const pkg = packageIn(specifier);
  return pkg === 'process' ? { pkg: 'global', path: ['process', ...path] } : { pkg, path };
}
