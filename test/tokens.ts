import ts from 'typescript';

const K = ts.SyntaxKind;
/** The tokens after which a slash starts a regular expression. After all other tokens, a slash divides. */
const BEFORE_REGEX = new Set<ts.SyntaxKind | undefined>([
  undefined,
  K.OpenParenToken,
  K.CommaToken,
  K.EqualsToken,
  K.ColonToken,
  K.OpenBracketToken,
  K.ExclamationToken,
  K.AmpersandAmpersandToken,
  K.BarBarToken,
  K.QuestionToken,
  K.QuestionQuestionToken,
  K.OpenBraceToken,
  K.CloseBraceToken,
  K.SemicolonToken,
  K.EqualsGreaterThanToken,
  K.ReturnKeyword,
]);

/**
 * Counts the tokens of a file with TypeScript's scanner. Comments and white space don't count, so layout
 * and explanations never make a file larger.
 */
export function tokensOf(text: string, path: string): number {
  const variant = path.endsWith('x') ? ts.LanguageVariant.JSX : ts.LanguageVariant.Standard;
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, variant, text);
  /** The number of open braces in each open template. */
  const templates: number[] = [];
  let count = 0;
  let previous: ts.SyntaxKind | undefined;
  for (let kind = scanner.scan(); kind !== K.EndOfFileToken; kind = scanner.scan()) {
    if ((kind === K.SlashToken || kind === K.SlashEqualsToken) && BEFORE_REGEX.has(previous))
      kind = scanner.reScanSlashToken();
    const braces = templates.at(-1);
    if (kind === K.TemplateHead) templates.push(0);
    else if (braces !== undefined && kind === K.OpenBraceToken)
      templates[templates.length - 1] = braces + 1;
    else if (braces !== undefined && kind === K.CloseBraceToken) {
      if (braces > 0) templates[templates.length - 1] = braces - 1;
      else if ((kind = scanner.reScanTemplateToken(false)) === K.TemplateTail) templates.pop();
    }
    count += 1;
    previous = kind;
  }
  return count;
}

/** A function with a body that isn't inside another one: its tokens, and the functions inside it. */
export interface FunctionSize {
  readonly name: string;
  readonly tokens: number;
  readonly inner: number;
}

/** Measures the outermost functions with a block body in a file. */
export function functionsIn(text: string, path: string): readonly FunctionSize[] {
  const found: FunctionSize[] = [];
  const visit = (node: ts.Node): void => {
    if (!hasBody(node) || !ts.isBlock(node.body)) return ts.forEachChild(node, visit);
    const name = `${path} ${node.name?.getText() ?? ''}`;
    found.push({ name, tokens: tokensOf(node.getText(), path), inner: functionsBelow(node) });
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

function hasBody(node: ts.Node): node is ts.FunctionLikeDeclaration & { readonly body: ts.Node } {
  return ts.isFunctionLike(node) && (node as ts.FunctionLikeDeclaration).body !== undefined;
}

function functionsBelow(node: ts.Node): number {
  let count = 0;
  ts.forEachChild(node, (child) => {
    count += Number(hasBody(child)) + functionsBelow(child);
  });
  return count;
}
