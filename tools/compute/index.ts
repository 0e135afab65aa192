export { Calculate } from './calculate.js';
export { EncodeText } from './encode-text.js';
export { HashText } from './hash-text.js';
export { RandomId } from './random-id.js';
