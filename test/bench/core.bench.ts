import { ToolMetadataRegistry } from '../../src/index.js';
import { madeUpCatalogue } from './catalogues.js';
import { markdownTable, timePerCall, writeSection } from './report.js';

function registryOf(size: number): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(madeUpCatalogue(size));
  return registry;
}
const fixed = (value: number, digits = 2) => value.toFixed(digits);

const sizes = [45, 100_000];
const registries = sizes.map(registryOf);
const questions: Record<string, (registry: ToolMetadataRegistry) => unknown> = {
  'get(name)': (registry) => registry.get('tool_7'),
  getWriteTools: (registry) => registry.getWriteTools(),
  getToolsByStage: (registry) => registry.getToolsByStage('reading'),
  getConflictingTools: (registry) => registry.getConflictingTools('tool_7'),
};
const rows = Object.entries(questions).map(([name, ask]) => {
  const times = registries.map((registry) => timePerCall(() => ask(registry)) * 1000);
  return [name, ...times.map((time) => fixed(time, 1))];
});
const head = ['query', ...sizes.map((size) => `${size.toLocaleString('en')} tools`)];
writeSection(
  'Look-ups',
  `The table shows nanoseconds per query. The first query after a change computes the result, and later queries reuse it.\n\n${markdownTable(head, rows)}`,
);
