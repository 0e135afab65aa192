export {
  evaluateSelection,
  type LabelledRequest,
  type SelectionEvaluation,
} from './testing/evaluate-selection.js';
export { FakeProvider } from './testing/fake-provider.js';
export { ManualClock } from './testing/manual-clock.js';
export { runTool, type ToolRun } from './testing/run-tool.js';
export { seededRandom } from './testing/seeded-random.js';
