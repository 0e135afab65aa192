export { ListTests } from './list-tests.js';
export { RunTests } from './run-tests.js';
