/** A declaration in a file: its line, kind and name. */
export type OutlineEntry = {
  readonly line: number;
  readonly kind: string;
  readonly name: string;
  readonly exported: boolean;
  /**
   * Number of spaces before the declaration. A declaration with a deeper indent belongs to the
   * declaration above it.
   */
  readonly indent: number;
};

type Language = 'typescript' | 'javascript' | 'python';

export const LANGUAGE_OF_EXTENSION: ReadonlyMap<string, Language> = new Map<string, Language>([
  ...['.ts', '.tsx', '.mts', '.cts'].map((extension) => [extension, 'typescript'] as const),
  ...['.js', '.jsx', '.mjs', '.cjs'].map((extension) => [extension, 'javascript'] as const),
  ...['.py', '.pyi'].map((extension) => [extension, 'python'] as const),
]);

/**
 * Maximum number of characters examined per line. Declarations start early in a line, so examining
 * more characters wouldn't help.
 */
const LINE_LENGTH = 300;
/** Maximum number of characters of an export list that are shown. */
const EXPORT_LENGTH = 120;

/** Matches modifiers, and captures the rest of a TypeScript or JavaScript line. */
const MODIFIED =
  /^((?:(?:export|default|declare|abstract|async|public|private|protected|static|override|readonly|get|set) +)*)(.*)/;
const EXPORT_LIST = /^(?:\*|\{|type *\{)/;
const NAMED =
  /^(function|class|interface|type|enum|namespace|const|let|var)(?=[ *])[ *]*(enum +)?([\w$#]*)/;
/** Keywords that declare values. Only values declared at the left margin are listed. */
const VALUE = /^(?:const|let|var)$/;
/** Matches the start of a method that has a body: `name(…) … {` or `name<…>(…) … {`. */
const METHOD = /^([\w$#]+)(?:\(|<.*\().*\{$/;
/** Keywords that could be mistaken for a method's name, as in `if (…) {`. */
const STATEMENT =
  /^(?:if|for|while|switch|catch|with|function|return|await|else|do|new|typeof|throw)$/;
const PYTHON = /^(?:async +)?(def|class) +([\w$#]+)/;

/**
 * Returns the declaration on a line, or `undefined`. The function sees one line at a time, so it
 * may take a line of a multi-line string for code.
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
  const [, keyword, name = ''] = PYTHON.exec(code) ?? [];
  if (keyword === undefined) return undefined;
  const kind = keyword === 'class' ? 'class' : indent > 0 ? 'method' : 'function';
  return { kind, name, exported: indent === 0 && !name.startsWith('_') };
}

function scriptDeclaration(code: string, indent: number): Declaration | undefined {
  const [, head = '', rest = ''] = MODIFIED.exec(code) ?? [];
  const modifiers = head.split(' ');
  const exported = modifiers.includes('export');
  const isDefault = modifiers.includes('default');
  if (exported && EXPORT_LIST.test(rest))
    return { kind: 'export', name: rest.slice(0, EXPORT_LENGTH), exported };
  const [, keyword, constEnum, found = ''] = NAMED.exec(rest) ?? [];
  if (keyword !== undefined) {
    // `class extends Base` and `function (` have no name.
    const name = found !== '' && found !== 'extends' ? found : isDefault ? 'default' : '';
    const isHidden = name === '' || (indent > 0 && VALUE.test(keyword));
    return isHidden ? undefined : { kind: constEnum ? 'enum' : keyword, name, exported };
  }
  if (isDefault) return { kind: 'export', name: 'default', exported };
  const method = METHOD.exec(rest)?.[1];
  if (indent === 0 || method === undefined || STATEMENT.test(method) || rest.includes('=> {'))
    return undefined;
  return { kind: 'method', name: method, exported: false };
}
