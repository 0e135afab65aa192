import type {
  jobFields,
  metricsWire,
  skillFields,
  summarizeCapabilities,
  taskFields,
  toolFields,
  toolHealthWire,
  WithCompatibility,
} from './capability-summary.js';

/** A tool in a summary. Times are in seconds since 1970. */
export type ToolWire = WithCompatibility<ReturnType<typeof toolFields>>;

/** A skill in a summary. */
export type SkillWire = WithCompatibility<ReturnType<typeof skillFields>>;

/** A task in a summary. */
export type TaskWire = WithCompatibility<ReturnType<typeof taskFields>>;

/** A job in a summary. Times are in seconds since 1970. */
export type JobWire = WithCompatibility<ReturnType<typeof jobFields>>;

/**
 * A summary of what a persona, or everyone, can do: plain data in snake_case, for dashboards and
 * discovery APIs.
 */
export type CapabilitySummary = Readonly<ReturnType<typeof summarizeCapabilities>>;

export type MetricsWire = ReturnType<typeof metricsWire>;

/** One recent call. The time is in seconds since 1970. */
export interface SampleWire {
  readonly at: number;
  readonly success: boolean;
  readonly latency_ms: number;
}

/** The calls behind the numbers, oldest first. Only in answers about one tool. */
interface WithSamples {
  readonly samples?: readonly SampleWire[];
}

export type ToolHealthWire = ReturnType<typeof toolHealthWire> & {
  readonly tool: WithSamples;
  readonly providers: Readonly<Record<string, WithSamples>>;
};
export type ProviderHealthWire = ToolHealthWire['providers'][string];
