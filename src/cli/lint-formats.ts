/** How findings are printed: for people, for programs, or as annotations that CI services show beside the code. */
export const LINT_FORMATS = ['table', 'json', 'github'] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];
