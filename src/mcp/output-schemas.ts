import { ToolError } from '../core/errors.js';
import type { Json } from '../core/plain-data.js';
import { boundInput } from '../tool/input/bound-input.js';
import { compileJsonSchema, type CompiledJsonSchema } from '../json-schema/compile-json-schema.js';
import { jsonSchemaOf } from '../tool/schema/json-schema-of.js';
import type { JsonSchema } from '../tool/schema/standard-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** Bytes of an answer's JSON that are checked: 16 MiB. */
const MOST_BYTES = 16 * 2 ** 20;

interface OutputSchema {
  readonly json: JsonSchema;
  readonly compiled: CompiledJsonSchema;
}

/** What tools promise of their answers. Clients refuse answers that break the promise, so none is made that cannot be checked. */
export class OutputSchemas {
  readonly #known = new WeakMap<ToolEntry, OutputSchema | 'none'>();

  /** The JSON Schema of a tool's answers; `undefined` when there is none of an object, or none that is safe to check. */
  of(entry: ToolEntry): JsonSchema | undefined {
    return this.#schemaOf(entry)?.json;
  }

  /** What is wrong with an answer; `undefined` when nothing is. */
  refusalOf(entry: ToolEntry, answer: Json): string | undefined {
    const schema = this.#schemaOf(entry);
    if (schema === undefined) return undefined;
    try {
      return schema.compiled.check(boundInput(answer, MOST_BYTES))[0]?.message;
    } catch (error) {
      return error instanceof ToolError ? 'expected an answer that can be checked quickly, found one too large for its schema' : 'expected an answer that can be checked';
    }
  }

  #schemaOf(entry: ToolEntry): OutputSchema | undefined {
    let known = this.#known.get(entry);
    if (known === undefined) this.#known.set(entry, (known = read(entry)));
    return known === 'none' ? undefined : known;
  }
}

function read({ outputSchema }: ToolEntry): OutputSchema | 'none' {
  if (outputSchema === undefined) return 'none';
  try {
    const json = jsonSchemaOf(outputSchema, 'output');
    return json['type'] === 'object' ? { json, compiled: compileJsonSchema(json) } : 'none';
  } catch {
    return 'none';
  }
}
