/** How findings are printed: for people, for programs, or as annotations that CI services show beside the code. */
export const LINT_FORMATS = ['table', 'json', 'github'] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];

/** Something to mend, as CI services show it beside the code. */
export interface Annotation {
  readonly severity: 'error' | 'warning';
  readonly title: string;
  readonly message: string;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

/** A workflow command of GitHub Actions, which other CI services read too. */
export function annotation({ severity, title, message, file, line }: Annotation): string {
  const place = file === undefined ? '' : `file=${escapeProperty(file)},${line === undefined ? '' : `line=${line},`}`;
  return `::${severity} ${place}title=${escapeProperty(title)}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
