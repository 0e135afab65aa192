export {
  loadTools,
  type LoadedTools,
  type LoadOptions,
  type LoadProblem,
} from './load/load-tools.js';
