// Only the summary and its items are exported by name. The types of their parts are declared
// inline, so that a user's generated declarations can contain these types.

interface ItemWire {
  readonly name: string;
  readonly persona: string | null;
  readonly source: string;
  /** Says whether the item fits the requesting persona, and why. */
  readonly compatibility: {
    /** The owner. `null` for shared items. */
    readonly persona: string | null;
    readonly persona_specific: boolean;
    /**
     * True if the requesting persona may use the item. The persona must own the item, or the item
     * must be shared, and the allow-list must admit the persona. Always true if there is no
     * requesting persona.
     */
    readonly matches_request: boolean;
    /**
     * The personas on the item's allow-list. This list is also empty if the item has no allow-list.
     */
    readonly allowlist: readonly string[];
  };
}

interface WorkWire extends ItemWire {
  readonly required_tools: readonly string[];
  /** References to items that don't exist. */
  readonly unresolved: Readonly<Record<'skills' | 'tools' | 'tasks', readonly string[]>>;
}

/** A tool in a summary. Times are in seconds since 1970. */
export interface ToolWire extends ItemWire {
  readonly version: string | null;
  readonly capabilities: readonly string[];
  readonly capability_tags: readonly string[];
  readonly auth_scopes: readonly string[];
  /** The state of the credentials. Contains names of variables, never their values. */
  readonly auth: {
    readonly required: boolean;
    readonly ready: boolean;
    readonly missing: readonly string[];
  };
  readonly health: {
    readonly tool: CallsWire & { readonly samples?: Samples };
    readonly providers: Readonly<
      Record<
        string,
        {
          readonly metrics: MetricsWire;
          /** Counts since recording began, and the provider's state. */
          readonly router: Numbers<
            'successes' | 'failures' | 'consecutive_failures',
            'failure_rate' | 'last_success' | 'last_failure' | 'last_check' | 'backoff_until'
          >;
          readonly last_call: Invocation | null;
          readonly samples?: Samples;
        }
      >
    >;
    readonly last_invocation: (Invocation & { readonly provider: string | null }) | null;
    /** The provider that answered the last successful call. */
    readonly last_success_provider: string | null;
  };
  readonly providers: readonly Readonly<Record<string, unknown>>[];
}

/** A skill in a summary. */
export interface SkillWire extends WorkWire {
  readonly version: string;
  readonly capability_tags: readonly string[];
  readonly required_capabilities: readonly string[];
}

/** A task in a summary. */
export interface TaskWire extends WorkWire {
  readonly summary: string;
  readonly required_skills: readonly string[];
  readonly tags: readonly string[];
}

/** A job in a summary. Times are in seconds since 1970. */
export interface JobWire extends WorkWire {
  readonly summary: string;
  readonly description: string | null;
  readonly personas: readonly string[];
  readonly required_skills: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly available: boolean;
  readonly health: {
    /** Statistics of the recent calls. Averages and rates are `null` if there are no calls. */
    readonly job: MetricsWire & {
      /** The number of calls whose work was still running when they were answered. */
      readonly abandoned: number;
    };
    /** The last run. */
    readonly last_invocation: Invocation | null;
  };
}

/** An object of numbers. The fields named in `Maybe` are `null` until there is a value. */
type Numbers<Always extends string, Maybe extends string> = Readonly<
  Record<Always, number> & Record<Maybe, number | null>
>;

/** One call. The time is in seconds since 1970. */
type Invocation = {
  readonly success: boolean;
  readonly latency_ms: number;
  readonly timestamp: number;
};

/**
 * The calls that the statistics are computed from, oldest first. Present only in responses about a
 * single tool.
 */
type Samples = readonly {
  readonly at: number;
  readonly success: boolean;
  readonly latency_ms: number;
}[];

export type CallsWire = JobWire['health']['job'];
export type MetricsWire = Numbers<
  'total' | 'success' | 'failure',
  'success_rate' | 'average_latency_ms' | 'p95_latency_ms' | 'last_sample_at'
>;
export type ToolHealthWire = ToolWire['health'];
export type ProviderHealthWire = ToolHealthWire['providers'][string];
export type SampleWire = Samples[number];
export type CompatibilityWire = ItemWire['compatibility'];

/**
 * A summary of the capabilities of a persona, or of everyone: plain data in snake_case, for
 * dashboards and discovery APIs.
 */
export interface CapabilitySummary {
  readonly revision: number;
  readonly persona: string | null;
  readonly tools: readonly ToolWire[];
  readonly skills: readonly SkillWire[];
  readonly tasks: readonly TaskWire[];
  readonly jobs: readonly JobWire[];
}
