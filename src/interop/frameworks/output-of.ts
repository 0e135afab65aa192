import type { InputOf, StandardSchema, ToolSchema } from '../../tool/tool-schema.js';

/** A tool's result as JSON, typed by its output schema, or by the return type of its `execute`. */
export type OutputOf<Out extends ToolSchema, Result> = ToolSchema extends Out
  ? JsonOf<Result>
  : Out extends StandardSchema
    ? JsonOf<InputOf<Out>>
    : unknown;
type JsonOf<Value> = [Value] extends [never]
  ? unknown
  : Value extends undefined | void
    ? null
    : InJson<Value>;
type InJson<Value> = Value extends { toJSON(...key: never): infer Shown }
  ? Shown
  : Value extends object
    ? { [Key in keyof Value]: InJson<Value[Key]> }
    : Value;
