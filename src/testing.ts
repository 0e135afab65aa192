export {
  evaluateSelection,
  type EvaluationOptions,
  type LabelledRequest,
  type SelectionEvaluation,
} from './testing/evaluate-selection.js';
export { FakeProvider, type FakeAnswer } from './testing/fake-provider.js';
export { ManualClock } from './testing/manual-clock.js';
export { runTool, type RunToolOptions, type ToolRun } from './testing/run-tool.js';
export { seededRandom } from './testing/seeded-random.js';
