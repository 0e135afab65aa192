type Schema = Readonly<Record<string, unknown>>;

/** The schema of an object that has at least these fields. */
export function openObject(fields: readonly string[]): Schema {
  return { type: 'object', required: fields, properties: Object.fromEntries(fields.map((field) => [field, {}])) };
}

/**
 * Returns the schema of a page of a list. Items may have fewer fields if fewer were requested.
 *
 * @param beside the fields beside the list, by name.
 */
export function listSchema(name: string, fields: readonly string[], beside: Readonly<Record<string, Schema>> = {}): Schema {
  const count = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    required: ['count', 'total', 'revision', 'changed', 'next', name, ...Object.keys(beside)],
    properties: {
      count: { ...count, description: 'Items on this page.' },
      total: { ...count, description: 'Items on all pages.' },
      revision: { ...count, description: 'Rises with every change of the catalogue.' },
      changed: { type: 'boolean', description: 'Whether the catalogue has changed since the first page.' },
      next: { type: ['string', 'null'], description: 'The address of the next page.' },
      [name]: { type: 'array', items: { type: 'object', properties: Object.fromEntries(fields.map((field) => [field, {}])) } },
      ...beside,
    },
  };
}
