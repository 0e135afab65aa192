import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { postJson, type DetailedTool } from './api.js';

type Schema = Readonly<Record<string, unknown>>;

interface Field {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'json';
  readonly choices: readonly unknown[];
  readonly isRequired: boolean;
  readonly description: string;
}

interface Tried {
  readonly outcome: { readonly status: string };
  readonly events: readonly { readonly type: string }[];
  readonly model_reads: string;
}

/**
 * Returns the form fields for a tool's arguments. A parameter that isn't a single simple value is
 * entered as JSON.
 */
function fieldsOf(parameters: unknown): readonly Field[] {
  const { properties = {}, required = [] } = (parameters ?? {}) as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => {
    const { type, enum: choices, description } = schema;
    const isChoice = Array.isArray(choices);
    const kind = isChoice
      ? 'choice'
      : type === 'string'
        ? 'text'
        : type === 'number' || type === 'integer'
          ? 'number'
          : type === 'boolean'
            ? 'boolean'
            : 'json';
    return {
      name,
      kind,
      choices: isChoice ? (choices as readonly unknown[]) : type === 'boolean' ? [true, false] : [],
      isRequired: required.includes(name),
      description: typeof description === 'string' ? description : '',
    };
  });
}

/** Returns the argument typed in a field, or `undefined` if the field is empty. */
function valueOf({ kind, choices }: Field, text: string): unknown {
  if (text === '') return undefined;
  if (kind === 'text') return text;
  if (kind === 'number') return Number(text);
  if (kind === 'json') return JSON.parse(text) as unknown;
  return choices[Number(text)];
}

/** Lets an operator run a tool with arguments they type, under the server's policy. */
export function TryIt({ tool }: { readonly tool: DetailedTool }) {
  const fields = fieldsOf(tool.parameters);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [tried, setTried] = useState<Tried>();
  const [problem, setProblem] = useState('');
  const [isRunning, setRunning] = useState(false);
  const run = async (event: Event) => {
    event.preventDefault();
    setRunning(true);
    setProblem('');
    try {
      const entries = fields.map((field) => [field.name, valueOf(field, texts[field.name] ?? '')]);
      const input = Object.fromEntries(
        entries.filter(([, value]) => value !== undefined),
      ) as object;
      setTried(await postJson<Tried>('run', { name: tool.name, input }));
    } catch (error) {
      setProblem(
        error instanceof SyntaxError
          ? "One of the fields isn't valid JSON."
          : (error as Error).message,
      );
    }
    setRunning(false);
  };
  const onInput = (name: string) => (event: Event) =>
    setTexts({ ...texts, [name]: (event.target as HTMLInputElement).value });
  return html`
    <form class="try" onSubmit=${(event: Event) => void run(event)}>
      ${fields.map(
        (field) =>
          html`<label>
            <span
              ><bdi>${field.name}</bdi
              >${field.isRequired && html`<span class="required">required</span>`}</span
            >
            <${Control}
              field=${field}
              value=${texts[field.name] ?? ''}
              onInput=${onInput(field.name)}
            />
            ${field.description !== '' && html`<span class="count">${field.description}</span>`}
          </label>`,
      )}
      <button type="submit" class="primary" disabled=${isRunning}>Run</button>
    </form>
    ${problem !== '' && html`<p class="problem" role="alert">${problem}</p>`}
    ${
      tried !== undefined &&
      html`<div role="status">
        <p>Outcome: <strong>${tried.outcome.status}</strong></p>
        ${(
          [
            ['What the model sees', tried.model_reads],
            ['Outcome', JSON.stringify(tried.outcome, null, 2)],
            ['Events', tried.events.map((each) => JSON.stringify(each)).join('\n')],
          ] as const
        ).map(
          ([title, text], index) =>
            html`<details open=${index === 0}>
              <summary>${title}</summary>
              <pre tabindex="0" aria-label=${title}>${text}</pre>
            </details>`,
        )}
      </div>`
    }
  `;
}

interface ControlProps {
  readonly field: Field;
  readonly value: string;
  readonly onInput: (event: Event) => void;
}

function Control({ field: { kind, choices, isRequired }, value, onInput }: ControlProps) {
  if (kind === 'json')
    return html`<textarea
      rows="3"
      required=${isRequired}
      value=${value}
      placeholder="JSON"
      onInput=${onInput}
    ></textarea>`;
  if (kind === 'text' || kind === 'number')
    return html`<input
      type=${kind}
      step="any"
      required=${isRequired}
      value=${value}
      onInput=${onInput}
    />`;
  return html`<select required=${isRequired} onChange=${onInput}>
    <option value=""></option>
    ${choices.map((each, index) => html`<option value=${index}>${JSON.stringify(each)}</option>`)}
  </select>`;
}
