/** A definition as a server sends it. */
export const ECHO = {
  name: 'echo',
  title: 'Echo',
  description: 'Says the same again',
  inputSchema: {
    type: 'object',
    properties: {
      message: { type: 'string', description: 'What to say' },
      loud: { type: 'boolean', default: false },
    },
    required: ['message'],
  },
  outputSchema: { type: 'object', properties: { said: { type: 'string' } }, required: ['said'] },
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
};
