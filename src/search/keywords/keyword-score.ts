import { PRIORITY_BOOST } from '../../core/enum-order.js';
import type { Priority } from '../../core/enums.js';

/** How well a tool's keywords fit a text, and from what that figure comes: `score` is the sum of the three parts. */
export interface KeywordMatchResult {
  readonly toolName: string;
  readonly score: number;
  /** Matched keywords divided by declared ones. */
  readonly base: number;
  /** Mean length of the matched keywords divided by 10, at most 0.2. */
  readonly specificity: number;
  /** CRITICAL 0.3, HIGH 0.2, MEDIUM 0.1, LOW 0.05. */
  readonly priorityBoost: number;
  readonly matchedKeywords: readonly string[];
}

const SPECIFICITY_CAP = 0.2;

/** Scores one tool by the formula in docs/search-and-scoring.md. */
export function scoreKeywords(tool: { readonly name: string; readonly keywords: readonly string[]; readonly priority: Priority }, matchedKeywords: readonly string[]): KeywordMatchResult {
  const base = matchedKeywords.length / tool.keywords.length;
  const lengths = matchedKeywords.reduce((sum, keyword) => sum + keyword.length, 0);
  const specificity = Math.min(lengths / (matchedKeywords.length * 10), SPECIFICITY_CAP);
  const priorityBoost = PRIORITY_BOOST[tool.priority];
  return Object.freeze({ toolName: tool.name, score: base + specificity + priorityBoost, base, specificity, priorityBoost, matchedKeywords: Object.freeze([...matchedKeywords]) });
}
