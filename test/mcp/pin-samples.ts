import fc from 'fast-check';

/** As a server sends it. */
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

const text = fc.string({ unit: 'binary', maxLength: 20 });
const key = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', '0', '7', 'a.b', 'a/b', '~'),
);
const data = fc.jsonValue({ maxDepth: 2 });
/** Keys like `__proto__` become keys and no prototype, as when JSON is parsed. */
const members = (value: fc.Arbitrary<unknown>, maxKeys = 4) =>
  fc
    .array(fc.tuple(key, value), { maxLength: maxKeys })
    .map((entries) => Object.fromEntries(entries));

const property = fc.record(
  {
    type: fc.constantFrom('string', 'number', 'array', 'object'),
    description: text,
    default: data,
    enum: fc.array(fc.oneof(text, fc.integer()), { minLength: 1, maxLength: 4 }),
    minLength: fc.nat(),
    items: members(data, 2),
  },
  { requiredKeys: ['type'] },
);
const schema = fc.record(
  {
    type: fc.constant('object'),
    properties: members(property),
    required: fc.array(text, { maxLength: 3 }),
    additionalProperties: fc.boolean(),
  },
  { requiredKeys: ['type', 'properties'] },
);

/** Definitions of foreign tools, with everything that the protocol knows and some that it does not. */
export const definitions = fc
  .record(
    {
      name: fc.string({ minLength: 1, maxLength: 20 }),
      title: text,
      description: text,
      inputSchema: schema,
      outputSchema: schema,
      annotations: fc.record(
        {
          title: text,
          readOnlyHint: fc.boolean(),
          destructiveHint: fc.boolean(),
          idempotentHint: fc.boolean(),
          openWorldHint: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      icons: fc.array(
        fc.record({ src: fc.webUrl(), sizes: fc.array(fc.constantFrom('48x48', 'any')) }),
        { maxLength: 2 },
      ),
      execution: fc.record({ taskSupport: fc.constantFrom('optional', 'required', 'forbidden') }),
      _meta: members(data, 3),
      unknown: data,
    },
    { requiredKeys: ['name', 'inputSchema'] },
    // As it comes over the wire: without -0 and objects that have no prototype.
  )
  .map((definition) => JSON.parse(JSON.stringify(definition)) as typeof definition);
