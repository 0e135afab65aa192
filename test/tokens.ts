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
