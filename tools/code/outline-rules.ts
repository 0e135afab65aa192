/** One declaration in a file: its line, kind and name. */
export interface OutlineEntry {
  readonly line: number;
  readonly kind: string;
  readonly name: string;
  readonly exported: boolean;
  /** Spaces before the declaration. A deeper indent means that it belongs to the one above. */
  readonly indent: number;
}

type Language = 'typescript' | 'javascript' | 'python';

export const LANGUAGE_OF_EXTENSION: ReadonlyMap<string, Language> = new Map<string, Language>([
  ...['.ts', '.tsx', '.mts', '.cts'].map((extension) => [extension, 'typescript'] as const),
  ...['.js', '.jsx', '.mjs', '.cjs'].map((extension) => [extension, 'javascript'] as const),
  ...['.py', '.pyi'].map((extension) => [extension, 'python'] as const),
]);

/**
 * Maximum characters of a line that are examined. Declarations begin early, and minified lines are
 * long.
 */
const LINE_LENGTH = 300;
/** Maximum characters of an export list that are shown. */
const EXPORT_LENGTH = 120;

const WORD = /[\w$#]/;
const MODIFIERS: ReadonlySet<string> = new Set([
  'export',
  'default',
  'declare',
  'abstract',
  'async',
  'public',
  'private',
  'protected',
  'static',
  'override',
  'readonly',
  'get',
  'set',
]);
const SCRIPT_KINDS: ReadonlySet<string> = new Set([
  'function',
  'class',
  'interface',
  'type',
  'enum',
  'namespace',
  'const',
  'let',
  'var',
]);
/** Kinds of values. Only values at the left margin are declarations of the file. */
const VALUE_KINDS: ReadonlySet<string> = new Set(['const', 'let', 'var']);
/** Words that can precede a parenthesis and a brace without being methods. */
const STATEMENTS: ReadonlySet<string> = new Set([
  'if',
  'for',
  'while',
  'switch',
  'catch',
  'with',
  'function',
  'return',
  'await',
  'else',
  'do',
  'new',
  'typeof',
  'throw',
]);

/**
 * Returns the declaration in a line, or undefined. It reads one line at a time, so text that spans
 * lines may look like code.
 */
export function declarationIn(
  text: string,
  line: number,
  language: Language,
): OutlineEntry | undefined {
  const code = text.slice(0, LINE_LENGTH).trim();
  const indent = text.length - text.trimStart().length;
  const found =
    language === 'python' ? pythonDeclaration(code, indent) : scriptDeclaration(code, indent);
  return found && { line, indent, ...found };
}

type Declaration = Pick<OutlineEntry, 'kind' | 'name' | 'exported'>;

function pythonDeclaration(code: string, indent: number): Declaration | undefined {
  const words = code.split(' ').filter((word) => word !== '');
  if (words[0] === 'async') words.shift();
  const [keyword, rest = ''] = words;
  const name = leadingName(rest);
  if ((keyword !== 'def' && keyword !== 'class') || name === '') return undefined;
  const kind = keyword === 'class' ? 'class' : indent > 0 ? 'method' : 'function';
  return { kind, name, exported: indent === 0 && !name.startsWith('_') };
}

function scriptDeclaration(code: string, indent: number): Declaration | undefined {
  let rest = code;
  const modifiers = new Set<string>();
  for (
    let word = leadingName(rest);
    MODIFIERS.has(word) && rest[word.length] === ' ';
    word = leadingName(rest)
  ) {
    modifiers.add(word);
    rest = rest.slice(word.length).trimStart();
  }
  const exported = modifiers.has('export');
  const keyword = leadingName(rest);
  const after = rest.slice(keyword.length);
  if (
    exported &&
    (rest.startsWith('{') ||
      rest.startsWith('*') ||
      (keyword === 'type' && after.trimStart().startsWith('{')))
  )
    return { kind: 'export', name: rest.slice(0, EXPORT_LENGTH), exported };
  if (SCRIPT_KINDS.has(keyword) && (after.startsWith(' ') || after.startsWith('*')))
    return keywordDeclaration(keyword, after, indent, modifiers);
  if (modifiers.has('default')) return { kind: 'export', name: 'default', exported };
  if (indent > 0 && keyword !== '' && !STATEMENTS.has(keyword) && isMethodHead(after))
    return { kind: 'method', name: keyword, exported: false };
  return undefined;
}

function keywordDeclaration(
  keyword: string,
  after: string,
  indent: number,
  modifiers: ReadonlySet<string>,
): Declaration | undefined {
  if (indent > 0 && VALUE_KINDS.has(keyword)) return undefined;
  const start = after.replace('*', ' ').trimStart();
  if (keyword === 'const' && start.startsWith('enum '))
    return {
      kind: 'enum',
      name: leadingName(start.slice(5).trimStart()),
      exported: modifiers.has('export'),
    };
  const found = leadingName(start);
  // `class extends Base` and `function (` have no name of their own.
  const name =
    found !== '' && found !== 'extends' ? found : modifiers.has('default') ? 'default' : '';
  return name === '' ? undefined : { kind: keyword, name, exported: modifiers.has('export') };
}

/**
 * Returns true if a line ends like the head of a method with its body: `(…) … {` or `<…>(…) … {`.
 */
function isMethodHead(after: string): boolean {
  return (
    (after.startsWith('(') || (after.startsWith('<') && after.includes('('))) &&
    after.endsWith('{') &&
    !after.includes('=> {')
  );
}

function leadingName(text: string): string {
  let end = 0;
  while (end < text.length && WORD.test(text[end] ?? '')) end++;
  return text.slice(0, end);
}
