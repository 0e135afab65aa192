import { Calculate } from './calculate.js';
import { EncodeText } from './encode-text.js';
import { HashText } from './hash-text.js';
import { RandomId } from './random-id.js';

export { Calculate, EncodeText, HashText, RandomId };

/** Creates the tools that compute a result from their input alone. */
export function createComputeTools() {
  return [new Calculate(), new HashText(), new EncodeText(), new RandomId()] as const;
}
