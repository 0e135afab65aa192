import type { LoadedRegistry } from '../load/loaded-registry.js';
import { table, wrapList } from '../table.js';
import { paint, type Terminal } from '../terminal.js';

/** Prints the tools that fit a request, best first, with the reasons: ranked search, and the keyword formula beside it. */
export function search(terminal: Terminal, { registry }: LoadedRegistry, text: string, limit: number, json: boolean): void {
  const ranked = registry.search(text, { limit });
  const keywords = registry.getToolsMatchingTextScored(text, { maxResults: limit });
  const mandatory = [...registry.getToolsMatchingMandatoryKeywords(text)];
  const categories = [...registry.detectCategoriesFromText(text)];
  if (json) return terminal.out(JSON.stringify({ text, search: ranked, keywords, mandatory, categories }, null, 2));

  const heading = (title: string, note: string) => terminal.out(`${paint(terminal, 'bold', title)}${paint(terminal, 'dim', `  ${note}`)}`);
  if (ranked.length === 0) return terminal.out(`No tool fits ${JSON.stringify(text)}. \`tooldex list\` shows all ${registry.size}.`);
  heading('Search', 'everything known of a tool');
  terminal.out(
    table(terminal, ranked, [
      { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
      { title: 'SCORE', value: ({ score }) => score.toFixed(2), align: 'right' },
      { title: 'WHY', value: ({ explanation }) => explanation, narrow: 'wrap' },
    ]),
  );
  if (keywords.length > 0) {
    heading('\nKeywords', 'matched / declared + specificity + priority');
    terminal.out(keywordTable(terminal, keywords));
  }
  if (mandatory.length > 0) terminal.out(`\n${paint(terminal, 'bold', 'Always offered')}  ${wrapList(terminal, mandatory, 16)}`);
  if (categories.length > 0) terminal.out(`${mandatory.length > 0 ? '' : '\n'}${paint(terminal, 'bold', 'Categories')}  ${wrapList(terminal, categories, 12)}`);
}

type KeywordMatches = ReturnType<LoadedRegistry['registry']['getToolsMatchingTextScored']>;

/** Keyword scores with the parts they are the sum of. */
export function keywordTable(terminal: Terminal, matches: KeywordMatches): string {
  return table(terminal, matches, [
    { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
    { title: 'SCORE', value: ({ score }) => score.toFixed(2), align: 'right' },
    { title: '= BASE', value: ({ base }) => base.toFixed(2), align: 'right' },
    { title: '+ SPEC', value: ({ specificity }) => specificity.toFixed(2), align: 'right' },
    { title: '+ PRIO', value: ({ priorityBoost }) => priorityBoost.toFixed(2), align: 'right' },
    { title: 'KEYWORDS', value: ({ matchedKeywords }) => matchedKeywords.join(', '), narrow: 'wrap' },
  ]);
}
