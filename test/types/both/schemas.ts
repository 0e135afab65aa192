import type { StandardSchema } from 'tooldex';
import { z } from 'zod';

export const Place = z.object({ city: z.string(), days: z.number().default(1) });
export const Forecast = z.object({ celsius: z.number() });

/** The smallest schema from another library. Its only known part is the Standard Schema interface. */
export interface ForeignSchema<Input, Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: Output } | { readonly issues: readonly { readonly message: string }[] };
    readonly types?: { readonly input: Input; readonly output: Output };
    readonly jsonSchema: { readonly input: (options: { target: string }) => Record<string, unknown> };
  };
  readonly optional: () => ForeignSchema<Input | undefined, Output | undefined>;
}
export declare const ForeignPlace: ForeignSchema<{ city: string }, { city: string; days: number }>;
export declare const ForeignForecast: ForeignSchema<{ celsius: number }, { celsius: number }>;

/** A Standard Schema without types, which the interface allows. */
export declare const Untyped: StandardSchema;

export const JsonPlace = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
export const MutableJsonPlace = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
