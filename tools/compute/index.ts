import { Calculate } from './calculate.js';
import { EncodeText } from './encode-text.js';
import { HashText } from './hash-text.js';
import { RandomId } from './random-id.js';

export { Calculate, EncodeText, HashText, RandomId };

/** The tools that compute something from their input alone. */
export function createComputeTools() {
  return [new Calculate(), new HashText(), new EncodeText(), new RandomId()] as const;
}
